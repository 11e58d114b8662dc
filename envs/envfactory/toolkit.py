"""`Toolkit`: a state and the tools that read and change it, as an ordinary Python class.

    class AccountState(pydantic.BaseModel):
        balances: dict[str, float]

    class Bank(Toolkit):
        State = AccountState

        @classmethod
        def sample_state(cls, rng: numpy.random.Generator) -> AccountState: ...

        @tool(effect="write")
        def transfer(self, source: str, target: str, amount: float) -> str:
            \"\"\"Move money between accounts.\"\"\"

Whatever a tool remembers belongs into the state: an environment saves it, loads it and takes it back when a
tool fails. Time and new ids come from the state as well, so that the same calls always give the same result.
"""

import re
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
import pydantic

from envrl.envs.envfactory.schema import Effect, InvalidToolkit, ToolSpec, spec_of

_MARK = "__envrl_tool__"
_Method = TypeVar("_Method", bound=Callable[..., Any])


class ToolError(Exception):
    """Bad use of a tool; the message is what the agent reads. The state stays as it was before the call."""


class _Mark(NamedTuple):
    effect: Effect
    name: str | None
    phrases: tuple[str, ...]


def tool(
    *, effect: Effect, name: str | None = None, phrases: Sequence[str] | str = ()
) -> Callable[[_Method], _Method]:
    """Mark a method of a `Toolkit` as a tool.

    Args:
        effect: ``read`` for one that never changes the state, else ``write``.
        name: what agents call it; the method's name by default.
        phrases: a way, or several, in which a user asks for it, with ``{argument}`` blanks for all required arguments:
            ``"Move {amount} from {source} to {target}."``. Generated tasks use them.
    """
    if effect not in ("read", "write"):
        raise InvalidToolkit(f"@tool(effect=...) is 'read' or 'write', got {effect!r}")

    def mark(method: _Method) -> _Method:
        setattr(
            method, _MARK, _Mark(effect, name, (phrases,) if isinstance(phrases, str) else tuple(phrases))
        )
        return method

    return mark


class Toolkit:
    """Base of toolkits. A subclass sets ``State``, writes `sample_state` and marks methods with `tool`.

    Args:
        state: a ``State``, the data of one as `save` gives it, or None for a sampled one.

    Attributes:
        State: pydantic model of the whole state. Fields of type ``dict[str, Record]`` are tables: large ones
            cost nothing to reset, and a change costs what the changed record costs.
        name: what task files call the toolkit; the class's name in snake case by default.
        policy: rules for the agent, in words; part of the first observation.
        unordered: patterns of paths (`envrl.envs.envfactory.delta`) at which order does not matter; keys of
            new records in a table count as order.
        ignored: patterns of paths that are no part of a task's goal (free text, time stamps).
        nouns: argument name -> how people refer to such a thing, with blanks for fields of the records that
            tools return: ``{"account": "the {kind} account of {owner}"}``. Generated tasks use them where a
            user does not know the id.
    """

    State: ClassVar[type[pydantic.BaseModel]]
    name: ClassVar[str]
    policy: ClassVar[str] = ""
    unordered: ClassVar[tuple[str, ...]] = ()
    ignored: ClassVar[tuple[str, ...]] = ()
    nouns: ClassVar[Mapping[str, str]] = {}
    state: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()

    def __init__(self, state: pydantic.BaseModel | Mapping[str, Any] | None = None) -> None:
        kind = self._state_class()
        if state is None:
            state = self.sample_state(np.random.default_rng(0))
        self.state = state if isinstance(state, kind) else kind.model_validate(state)

    @classmethod
    def sample_state(cls, rng: np.random.Generator) -> pydantic.BaseModel:
        """A plausible initial state, drawn with ``rng`` alone."""
        raise InvalidToolkit(
            f"{cls.__qualname__} needs a classmethod sample_state(cls, rng) -> {cls.__name__}.State"
        )

    def save(self) -> dict[str, Any]:
        """The state as JSON data."""
        data: dict[str, Any] = self.state.model_dump(mode="json")
        return data

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> Self:
        """A toolkit in the state that `save` gave."""
        return cls(cls._state_class().model_validate(data))

    @classmethod
    def tools(cls) -> dict[str, ToolSpec]:
        """Tool name -> spec, in the order of the class body (inherited ones first).

        Raises:
            InvalidToolkit: a tool has no usable schema, or there is none.
        """
        return cls._collected()[0]

    @classmethod
    def method_name(cls, name: str) -> str:
        """The method behind a tool."""
        return cls._collected()[1][name]

    _found: ClassVar[tuple[dict[str, ToolSpec], dict[str, str]]]

    @classmethod
    def _collected(cls) -> tuple[dict[str, ToolSpec], dict[str, str]]:
        """(tool -> spec, tool -> method), found out once. Threads may do so side by side: all find the same."""
        if "_found" not in cls.__dict__:
            marked = cls._marked().values()
            if not marked:
                raise InvalidToolkit(f"{cls.__qualname__} has no tools; mark methods with @tool(effect=...)")
            cls._found = (
                {spec.name: spec for spec, _ in marked},
                {spec.name: method for spec, method in marked},
            )
        return cls._found

    @classmethod
    def _marked(cls) -> dict[str, tuple[ToolSpec, str]]:
        found: dict[str, tuple[ToolSpec, str]] = {}
        for base in reversed(cls.__mro__):
            for attribute, value in list(vars(base).items()):
                mark = getattr(value, _MARK, None)
                if mark is not None:
                    found[attribute] = (
                        spec_of(value, mark.name or attribute, mark.effect, mark.phrases),
                        attribute,
                    )
                else:
                    found.pop(attribute, None)
        names = [spec.name for spec, _ in found.values()]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InvalidToolkit(f"{cls.__qualname__}: two tools are called {twice[0]!r}")
        return found

    @classmethod
    def _state_class(cls) -> type[pydantic.BaseModel]:
        kind = getattr(cls, "State", None)
        if not (isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)):
            raise InvalidToolkit(
                f"{cls.__qualname__}.State must be a pydantic.BaseModel class, found {kind!r}"
            )
        return kind


def next_id(prefix: str, taken: Container[str], first: int = 1) -> str:
    """The first of ``prefix1``, ``prefix2``, ... (from ``first`` on) that is not taken.

    >>> next_id("T", {"T1": 0, "T2": 0})
    'T3'
    """
    number = first
    while f"{prefix}{number}" in taken:
        number += 1
    return f"{prefix}{number}"
