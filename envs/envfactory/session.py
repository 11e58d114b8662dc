"""`Session`: one toolkit at work in one environment, whatever it is made of.

`ToolkitSession` runs a Python `Toolkit`. A session over something else (a server process, a benchmark's
classes) implements the same protocol.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import pydantic_core

from envrl.envs.envfactory.delta import Change, delta
from envrl.envs.envfactory.schema import ToolSpec
from envrl.envs.envfactory.state import InvalidState, Original, Snapshot, Store
from envrl.envs.envfactory.toolkit import ToolError, Toolkit
from envrl.envs.errors import EnvironmentFault

#: stores of so many initial states are kept for the next reset, of large ones (in characters) fewer
_KEPT, _LARGE = 8, 200_000
#: a value that is read when somebody asks for it: most agents only read the text
SAME_AS_TEXT: Any = object()


class Result:
    """What a call gave.

    Args:
        text: what the agent reads.
        value: the result as JSON data; `SAME_AS_TEXT` if that is what the text says as JSON.
        ok: False where the tool refused; the state is then as before.
    """

    __slots__ = ("_value", "ok", "text")

    def __init__(self, text: str, value: Any, ok: bool) -> None:
        self.text, self.ok, self._value = text, ok, value

    @property
    def value(self) -> Any:
        """The result as JSON data."""
        if self._value is SAME_AS_TEXT:
            self._value = pydantic_core.from_json(self.text)
        return self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and (self.text, self.ok, self.value) == (
            other.text,
            other.ok,
            other.value,
        )

    def __repr__(self) -> str:
        return f"Result({self.text!r}, {self.value!r}, {self.ok})"

    __hash__ = None  # type: ignore[assignment]


class SessionFault(EnvironmentFault):
    """The session cannot go on (its process died, a deadline passed); no fault of the agent."""


class Session(Protocol):
    """One toolkit in one state."""

    @property
    def tools(self) -> Mapping[str, ToolSpec]:
        """The tools by name; the same in every state."""

    def reset(self, state: Any) -> None:
        """Take up an initial state, as the session's source loads it. Raises SessionFault."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        """Call a tool of `tools` with arguments that its `ToolSpec.check` let pass. Raises SessionFault only."""

    def digest(self) -> int:
        """A number of 128 bits: equal iff the states are equal, in every process."""

    def changes(self) -> list[Change]:
        """From the initial to the present state; paths without the toolkit's name."""

    def snapshot(self) -> Any:
        """The present state as a picklable value that later calls do not change."""

    def restore(self, snapshot: Any) -> None:
        """Take up a snapshot made since an equal `reset`, here or in another session. Raises SessionFault."""

    def data(self) -> Any:
        """The present state as JSON data."""

    def close(self) -> None:
        """Let go of processes and files; may be called twice."""


class ToolkitSession:
    """A Python toolkit in this process.

    Args:
        kind: the toolkit's class.
        trusted: take the word of tools marked ``read`` that they change nothing, which is faster; for
            toolkits that passed verification. Otherwise every call is treated as one that may write.
    """

    def __init__(self, kind: type[Toolkit], trusted: bool = False) -> None:
        self._kind, self._trusted = kind, trusted
        self._tools = kind.tools()
        self._methods = {name: kind.method_name(name) for name in self._tools}
        self._reading = {name for name, spec in self._tools.items() if trusted and spec.effect == "read"}
        self._stores: dict[int, Store] = {}
        self._store: Store | None = None
        self._toolkit: Toolkit | None = None

    @property
    def tools(self) -> Mapping[str, ToolSpec]:
        """See `Session`."""
        return self._tools

    def reset(self, state: Original) -> None:
        """See `Session`; the state is an `Original`."""
        store = self._stores.pop(id(state), None)
        if store is None:
            if state.size > _LARGE or len(self._stores) >= _KEPT:
                self._stores.pop(next(iter(self._stores), 0), None)
            store = Store(state)
        else:
            store.reset()
        self._store = self._stores[id(state)] = (
            store  # a store keeps its original, so that the id stays its own
        )
        # A toolkit made anew forgets what it may have put beside its state.
        self._toolkit = self._kind(self._store.root)

    def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        """See `Session`."""
        store, toolkit = self._running
        reading = name in self._reading
        if not reading:
            store.begin()
        try:
            value = getattr(toolkit, self._methods[name])(**arguments)
            if isinstance(value, str):
                text = value
            else:
                text, value = pydantic_core.to_json(value).decode(), SAME_AS_TEXT
        except ToolError as error:
            self._abandon(reading)
            return Result(f"Error: {error}", None, False)
        except (Exception, SystemExit) as error:
            # Verification refuses toolkits that raise anything but ToolError; others must not end the episode.
            self._abandon(reading)
            return Result(f"Error: {name} failed: {type(error).__name__}: {error}", None, False)
        if reading:
            if store.end_reading():
                return Result(f"Error: {name} is marked as reading and changed the state", None, False)
            return Result(text, value, True)
        try:
            store.end(toolkit.state)
        except InvalidState as error:
            toolkit.state = store.root
            return Result(f"Error: {name} left an impossible state: {error}", None, False)
        toolkit.state = store.root
        return Result(text, value, True)

    def digest(self) -> int:
        """See `Session`."""
        return self._running[0].digest

    def changes(self) -> list[Change]:
        """See `Session`."""
        found: list[Change] = []
        for (name, key), (old, new) in sorted(self._running[0].changes().items(), key=lambda c: str(c[0])):
            path = (name,) if key is None else (name, str(key))
            if old is None:
                found.append(Change(path, "add", pydantic_core.from_json(new or b"null")))
            elif new is None:
                found.append(Change(path, "remove"))
            else:
                found += delta(pydantic_core.from_json(old), pydantic_core.from_json(new), path)
        return found

    def snapshot(self) -> Snapshot:
        """See `Session`."""
        return self._running[0].snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """See `Session`."""
        store, _ = self._running
        store.restore(snapshot)
        self._toolkit = self._kind(store.root)

    def data(self) -> dict[str, Any]:
        """See `Session`."""
        return self._running[0].data()

    def close(self) -> None:
        """See `Session`."""

    @property
    def _running(self) -> tuple[Store, Toolkit]:
        assert self._store is not None and self._toolkit is not None, "a session is reset before it is used"
        return self._store, self._toolkit

    def _abandon(self, reading: bool) -> None:
        store, toolkit = self._running
        if reading:
            store.end_reading()
        else:
            store.abandon(toolkit.state)
            toolkit.state = store.root
