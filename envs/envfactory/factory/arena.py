"""`Arena`: one to three toolkits in chosen states, to try calls in; and what can be read there."""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from envrl.envs.envfactory.actions import Call
from envrl.envs.envfactory.delta import Change
from envrl.envs.envfactory.factory.arguments import Pools, Proposal, Proposer
from envrl.envs.envfactory.factory.explore import Exploration
from envrl.envs.envfactory.factory.graph import ToolGraph
from envrl.envs.envfactory.factory.leaves import leaves, readable_data
from envrl.envs.envfactory.session import Result, Session
from envrl.envs.envfactory.sources import Source
from envrl.envs.envfactory.toolbox import Toolbox

_READINGS = 60  # tries a tool that reads


class Reading(NamedTuple):
    """A call that reads, and what it gives in the initial state."""

    tool: str
    arguments: dict[str, Any]
    value: Any


class Find(NamedTuple):
    """A place where a value can be read: the reading, the field and the record around it."""

    reading: Reading
    name: str
    record: Mapping[str, Any] | None


@dataclass
class Catalog:
    """What can be read of a toolkit in one state, and values to call its tools with."""

    pools: Pools
    readings: dict[str, list[Reading]] = field(default_factory=lambda: defaultdict(list))
    finds: dict[tuple[type, Any], list[Find]] = field(default_factory=lambda: defaultdict(list))
    #: field -> all records that have it, found out when first needed
    records: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)

    def everything(self, name: str) -> list[Mapping[str, Any]]:
        """All records that can be read and have a field of this name."""
        if name not in self.records:
            seen: dict[str, Mapping[str, Any]] = {}
            for finds in self.finds.values():
                for find in finds:
                    if find.record is not None and name in find.record:
                        seen.setdefault(repr(find.record), find.record)
            self.records[name] = list(seen.values())
        return self.records[name]


@dataclass
class Stock:
    """A source with all that the earlier stages found out about it.

    Attributes:
        source, exploration, graph: the results of those stages.
        states: the loaded initial states, and their ids in task files.
        good: (state, tool) -> arguments that went well there.
        proposer: draws arguments; it keeps learning.
    """

    source: Source
    exploration: Exploration
    graph: ToolGraph
    seed: int = 0
    states: list[Any] = field(init=False)
    good: dict[tuple[int, str], list[dict[str, Any]]] = field(init=False)
    proposer: Proposer = field(init=False)
    _catalogs: dict[int, Catalog] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.states = [self.source.load(json.dumps(data).encode()) for data in self.exploration.states]
        self.good = defaultdict(list)
        self.proposer = Proposer(self.source.tools, sober=True)
        for probe in self.exploration.probes():
            self.proposer.learn(probe.tool, Proposal(probe.arguments, probe.origins), probe.ok)
        for episode in self.exploration.episodes:
            for probe in episode.probes:
                sensible = self.proposer.sensible(probe.tool, Proposal(probe.arguments, probe.origins))
                known = self.good[episode.state, probe.tool]
                odd = "odd" in probe.origins.values()
                if probe.ok and sensible and not odd and probe.arguments not in known:
                    known.append(probe.arguments)

    def state_id(self, index: int) -> str:
        """The id of an initial state in task files."""
        return f"{self.source.name}-{index}"

    def state(self, state_id: str) -> Any:
        """The loaded initial state of an id."""
        return self.states[int(state_id.rpartition("-")[2])]

    def catalog(self, index: int) -> Catalog:
        """What can be read in a state; found out once."""
        if index not in self._catalogs:
            self._catalogs[index] = self._read(index)
        return self._catalogs[index]

    def _read(self, index: int) -> Catalog:
        catalog, rng = Catalog(Pools()), np.random.default_rng([self.seed, 3, index])
        catalog.pools.take(self.exploration.states[index])
        session = self.source.open()
        try:
            session.reset(self.states[index])
            for name, spec in self.source.tools.items():
                if spec.effect != "read":
                    continue
                tried: list[dict[str, Any]] = []
                known = self.good[index, name][: _READINGS // 2]
                for attempt in range(_READINGS if spec.parameters.get("properties") else 1):
                    arguments = (
                        known[attempt]
                        if attempt < len(known)
                        else self.proposer.propose(name, catalog.pools, rng, optional=0.15).arguments
                    )
                    if arguments in tried:
                        continue
                    tried.append(arguments)
                    checked, _ = spec.check(arguments)
                    result = session.call(name, checked) if checked is not None else None
                    if result is not None and result.ok:
                        self._keep(catalog, Reading(name, arguments, readable_data(result.value)))
        finally:
            session.close()
        return catalog

    @staticmethod
    def _keep(catalog: Catalog, reading: Reading) -> None:
        catalog.readings[reading.tool].append(reading)
        catalog.pools.take(reading.value, reading.tool)
        for leaf in leaves(reading.value):
            catalog.finds[type(leaf.value), leaf.value].append(Find(reading, leaf.name, leaf.record))


class Arena:
    """Toolkits that are called together, under the names that agents use.

    Args:
        stocks: toolkit name -> stock.
        states: toolkit name -> index of its initial state.
    """

    def __init__(
        self, stocks: Mapping[str, Stock], sessions: Mapping[str, Session], states: Mapping[str, int]
    ) -> None:
        self.stocks, self.states = dict(stocks), dict(states)
        self.toolbox = Toolbox({name: stock.source for name, stock in stocks.items()})
        self._sessions = dict(sessions)
        for name, session in self._sessions.items():
            session.reset(self.stocks[name].states[states[name]])

    def catalog(self, toolkit: str) -> Catalog:
        """What can be read of a toolkit in its initial state."""
        return self.stocks[toolkit].catalog(self.states[toolkit])

    def name_of(self, toolkit: str, tool: str) -> str:
        """The name by which agents call a tool of a toolkit."""
        return self.toolbox.name_of(toolkit, tool)

    def call(self, name: str, arguments: Mapping[str, Any]) -> Result | None:
        """Call a tool; None if the schema refuses the arguments."""
        checked, _ = self.toolbox.check(Call(name, dict(arguments)))
        if checked is None:
            return None
        toolkit, spec = self.toolbox.place(name)
        return self._sessions[toolkit].call(spec.name, checked)

    def digest(self) -> tuple[int, ...]:
        """Of all states."""
        return tuple(session.digest() for session in self._sessions.values())

    def changes(self) -> list[Change]:
        """From the initial states on, paths with the toolkits' names."""
        return [
            Change((name, *change.path), change.op, change.value)
            for name, session in self._sessions.items()
            for change in session.changes()
        ]

    def snapshot(self) -> dict[str, Any]:
        """Of all states."""
        return {name: session.snapshot() for name, session in self._sessions.items()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Take up a snapshot."""
        for name, session in self._sessions.items():
            session.restore(snapshot[name])
