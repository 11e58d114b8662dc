"""Chains: calls that belong together, and how the values in them hang together. Plain data."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Origin:
    """Where the value of an argument can be found, so that the user need not say it.

    Attributes:
        call: index in the chain of the call whose result has it.
        name: field it stands in; "" for a result that is nothing else.
        clause: fields and values that pick its record in that result, and in everything that can be read.
            Empty where the result has only the one.
        made: the value is an id that the call made.
        entity: the field that says what the record is about, where that is not ``name``.
    """

    call: int
    name: str
    clause: dict[str, Any]
    made: bool = False
    entity: str = ""


@dataclass(frozen=True)
class Ask:
    """Something in a result that the user wants to be told; clause and name as in `Origin`."""

    name: str
    value: Any
    clause: dict[str, Any]


@dataclass(frozen=True)
class ChainCall:
    """One call.

    Attributes:
        tool: as agents call it. toolkit: whose it is.
        arguments: of the call.
        goal: index of the goal that it serves. lookup: it only finds out what the goal needs.
        origins: argument -> where its value is found; the user says the others.
        asks: what the user wants to be told of the result.
    """

    tool: str
    toolkit: str
    arguments: dict[str, Any]
    goal: int
    lookup: bool
    origins: dict[str, Origin] = field(default_factory=dict)
    asks: tuple[Ask, ...] = ()


@dataclass(frozen=True)
class Chain:
    """Calls that lead from initial states to one or more goals.

    Attributes:
        seed: the chain follows from it.
        states: toolkit name -> index of the initial state in its exploration.
        calls: in an order that can be carried out.
    """

    seed: list[int]
    states: dict[str, int]
    calls: tuple[ChainCall, ...]

    @property
    def signature(self) -> str:
        """Equal for chains that do the same."""
        calls = [(call.tool, call.arguments, sorted(call.origins)) for call in self.calls]
        return json.dumps([self.states, calls], sort_keys=True)

    def goals(self) -> list[ChainCall]:
        """The calls that are no lookups."""
        return [call for call in self.calls if not call.lookup]


def write_chains(path: Path, chains: Iterable[tuple[str, Chain]]) -> None:
    """(split, chain) pairs, one a line, as JSON."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for split, chain in chains:
            data = {"split": split, **asdict(chain)}
            file.write(json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n")


def read_chains(path: Path) -> Iterator[tuple[str, Chain]]:
    """What `write_chains` wrote."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            data = json.loads(line)
            yield data.pop("split"), chain_of(data)


def chain_of(data: dict[str, Any]) -> Chain:
    """A chain from JSON data."""
    return Chain(data["seed"], data["states"], tuple(_call(call) for call in data["calls"]))


def _call(data: dict[str, Any]) -> ChainCall:
    origins = {name: Origin(**origin) for name, origin in data["origins"].items()}
    asks = tuple(Ask(**ask) for ask in data["asks"])
    return ChainCall(**{**data, "origins": origins, "asks": asks})
