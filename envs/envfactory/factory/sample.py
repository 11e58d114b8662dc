"""Stage 4, sample: chains of calls along the graph, producers before consumers, that really run.

A chain has one to three goals. For a goal the sampler finds a call that goes well, then decides which of its
arguments a user would not know: such a value must be found by reading, by a path that the graph knows, in a
record that can be told from all others. Every chain is carried out from the start before it is kept.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from envrl.envs.envfactory.factory.arena import Arena, Catalog, Find, Stock
from envrl.envs.envfactory.factory.borrow import Loan, borrow, borrowers, entity_of, partners
from envrl.envs.envfactory.factory.chain import Ask, Chain, ChainCall, Origin
from envrl.envs.envfactory.factory.clauses import find_clause, matching, picks_one
from envrl.envs.envfactory.factory.leaves import leaves, readable_data, records
from envrl.envs.envfactory.factory.wording import blanks, looks_like_id, normal, words_of
from envrl.envs.envfactory.session import Session

_GOALS = (0.45, 0.8, 1.0)  # cumulative: one, two or three goals
_TOOLKITS = (0.6, 0.9, 1.0)  # cumulative, as far as there are so many
#: share of chains over several toolkits whose toolkits have values for each other, and of their goals with a tool
#: that may take one
_LINKED, _BORROWING = 0.9, 0.75
_WRITE = 0.65  # share of goals that change something
#: probability that a value which can be found is not said: one that looks like an id, and one that people know;
#: for arguments of a goal, and of a call that only finds something out
_HIDE_ID, _HIDE_NAME = (0.85, 0.8), (0.15, 0.0)
_ID_WORDS = (("id",), ("number",), ("key",))
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}|\d{1,2}:\d{2}")
_DEPTH = 2
_TRIES = 14
_FINDS = 8
_MAX_CALLS = 14
_MIN_CONFIDENCE = 0.35


class Rejected(Exception):
    """A draw that led to no chain; the message says why, in a few words that can be counted."""


@dataclass
class Sampler:
    """Draws chains over some toolkits.

    Args:
        stocks: toolkit name -> stock.
        seed: of all chains.
        allowed: toolkit name -> indices of the initial states to use; all where there is no entry.

    Attributes:
        tried, refused: how many draws there were, and why those that failed did.
        used: tool -> how often it was a goal; rare ones are preferred.
    """

    stocks: Mapping[str, Stock]
    seed: int
    allowed: Mapping[str, Sequence[int]] = field(default_factory=dict)
    tried: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)
    _seen: set[str] = field(default_factory=set)
    _sessions: dict[str, Session] = field(default_factory=dict)
    _partners: dict[str, list[str]] = field(default_factory=dict)

    def sample(self) -> Chain | None:
        """The next chain, None for a draw that led to none."""
        number = self.tried
        self.tried += 1
        rng = np.random.default_rng([self.seed, 4, number])
        try:
            chain = self._draw([self.seed, 4, number], rng)
            if chain.signature in self._seen:
                raise Rejected("the same chain as before")
        except Rejected as reason:
            self.refused[str(reason)] += 1
            return None
        self._seen.add(chain.signature)
        self.used.update(call.tool for call in chain.goals())
        return chain

    def close(self) -> None:
        """Close the sessions."""
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()

    def _draw(self, seed: list[int], rng: np.random.Generator) -> Chain:
        goals = int(np.searchsorted(_GOALS, rng.random(), side="right")) + 1
        most = min(int(np.searchsorted(_TOOLKITS, rng.random(), side="right")) + 1, goals, len(self.stocks))
        names = self._toolkits(most, rng)
        states = {}
        for name in sorted(names):
            choice = self.allowed.get(name) or range(len(self.stocks[name].states))
            states[name] = choice[int(rng.integers(len(choice)))]
        draft = _Draft(self._arena(states), rng, self.used)
        for number in range(goals):
            draft.add_goal(names[number % most])
        if {call.toolkit for call in draft.calls} != set(states):
            raise Rejected("a toolkit is not used")
        calls = carry_out(self._arena(states), draft.calls)
        return Chain(seed, states, tuple(calls))

    def _toolkits(self, count: int, rng: np.random.Generator) -> list[str]:
        """Different toolkits, rather such that have values for each other."""
        names = [list(self.stocks)[int(i)] for i in rng.permutation(len(self.stocks))]
        if count > 1 and rng.random() < _LINKED:
            if not self._partners:
                self._partners.update(partners(self.stocks))
            linked = [name for name in names if name in self._partners[names[0]]]
            names = list(dict.fromkeys([names[0], *linked, *names]))
        return names[:count]

    def _arena(self, states: dict[str, int]) -> Arena:
        for name in states:
            if name not in self._sessions:
                self._sessions[name] = self.stocks[name].source.open()
        return Arena({n: self.stocks[n] for n in states}, {n: self._sessions[n] for n in states}, states)


class _Draft:
    """A chain that grows goal by goal, in an arena where its goals are carried out at once."""

    def __init__(self, arena: Arena, rng: np.random.Generator, used: Counter[str]) -> None:
        self._arena, self._rng, self._used = arena, rng, used
        self.calls: list[ChainCall] = []
        self._made: list[tuple[int, str, Any]] = []  # (call, field, id that a goal made)
        self._goals = 0

    def add_goal(self, toolkit: str) -> None:
        """Find a call that goes well, and what must be looked up for it. Raises Rejected."""
        stock, catalog = self._arena.stocks[toolkit], self._arena.catalog(toolkit)
        tool = self._choose(toolkit)
        name, reads = self._arena.name_of(toolkit, tool), stock.source.tools[tool].effect == "read"
        for _ in range(_TRIES):
            arguments, origins = self._arguments(toolkit, tool, stock, catalog)
            loans = borrow(self._arena, toolkit, tool, self._rng) if len(self._arena.stocks) > 1 else {}
            arguments |= {key: loan.value for key, loan in loans.items() if key in arguments}
            before = self._arena.digest()
            result = self._arena.call(name, arguments)
            if result is not None and result.ok and (reads or self._arena.digest() != before):
                break
        else:
            raise Rejected(f"no arguments found for {name}")
        origins |= {key: self._lent(key, loan) for key, loan in loans.items() if key in arguments}
        origins |= self._hide(toolkit, tool, arguments, 0, skip=set(origins))
        data = readable_data(result.value)
        asks = self._asks(data, arguments, origins) if reads else ()
        if reads and not asks:
            raise Rejected("nothing worth asking in a result")
        self.calls.append(ChainCall(name, toolkit, arguments, self._goals, False, origins, asks))
        if len(self.calls) > _MAX_CALLS:
            raise Rejected("too many calls")
        self._goals += 1
        if not reads:
            self._note_made(data, arguments, catalog)

    def _choose(self, toolkit: str) -> str:
        """A tool, rather one that was seldom a goal so far."""
        tools = self._arena.stocks[toolkit].source.tools
        write = self._rng.random() < _WRITE
        if len(self._arena.stocks) > 1 and self._rng.random() < _BORROWING:
            tools = {name: tools[name] for name in borrowers(self._arena, toolkit)} or tools
        names = [n for n, spec in tools.items() if (spec.effect == "write") == write] or list(tools)
        weights = np.cumsum([1.0 / (1 + self._used[self._arena.name_of(toolkit, n)]) for n in names])
        return names[int(np.searchsorted(weights, self._rng.random() * weights[-1], side="right"))]

    def _arguments(
        self, toolkit: str, tool: str, stock: Stock, catalog: Catalog
    ) -> tuple[dict[str, Any], dict[str, Origin]]:
        """Arguments to try, and the origins of those that are ids which an earlier goal made."""
        known = stock.good[self._arena.states[toolkit], tool]
        if known and self._rng.random() < 0.4:
            arguments = dict(known[int(self._rng.integers(len(known)))])
        else:
            arguments = stock.proposer.propose(tool, catalog.pools, self._rng, optional=0.25).arguments
        origins: dict[str, Origin] = {}
        for parameter in arguments:
            for call, name, value in reversed(self._made):
                fits = self.calls[call].toolkit == toolkit and normal(name) == normal(parameter)
                if fits and self._rng.random() < 0.7:
                    arguments[parameter] = value
                    origins[parameter] = Origin(call, name, {}, made=True)
                    break
        return arguments, origins

    def _hide(
        self, toolkit: str, tool: str, arguments: Mapping[str, Any], depth: int, skip: set[str]
    ) -> dict[str, Origin]:
        """Origins for arguments that a user would not know; the lookups they need join the chain."""
        origins: dict[str, Origin] = {}
        properties = self._arena.stocks[toolkit].source.tools[tool].parameters["properties"]
        choices = {name for name, schema in properties.items() if {"enum", "const"} & set(schema)}
        for parameter, value in arguments.items():
            if (
                parameter in skip
                or parameter in choices
                or isinstance(value, bool)
                or not isinstance(value, str | int)
            ):
                continue
            if self._rng.random() >= self._share(toolkit, parameter, value)[min(depth, 1)]:
                continue
            found = self._find(toolkit, tool, parameter, value)
            if found is None:
                continue
            find, clause = found
            if len(self.calls) >= _MAX_CALLS:
                break
            nouns = self._arena.stocks[toolkit].source.nouns
            entity = entity_of(find, parameter, nouns)
            origins[parameter] = Origin(self._look_up(toolkit, find, depth), find.name, clause, entity=entity)
        return origins

    def _share(self, toolkit: str, parameter: str, value: str | int) -> tuple[float, float]:
        """How often a value is hidden, as the argument of a goal and of what a goal needs."""
        if parameter in self._arena.stocks[toolkit].source.nouns:
            return _HIDE_ID
        if isinstance(value, int):  # "order as many as the purchase of last week": only ids are worth finding
            return _HIDE_ID if words_of(parameter)[-1:] in _ID_WORDS else (0.0, 0.0)
        return _HIDE_ID if looks_like_id(value) and not _DATE.match(value) else _HIDE_NAME

    def _lent(self, parameter: str, loan: Loan) -> Origin:
        """The origin of a value from another toolkit; its lookup joins the chain."""
        entity = entity_of(loan.find, parameter, self._arena.stocks[loan.toolkit].source.nouns)
        call = self._look_up(loan.toolkit, loan.find, 0)
        return Origin(call, loan.find.name, loan.clause, entity=entity)

    def _look_up(self, toolkit: str, find: Find, depth: int) -> int:
        """The index of the call that makes the reading; a new call unless there is one already."""
        name = self._arena.name_of(toolkit, find.reading.tool)
        for index, call in enumerate(self.calls):
            if (call.tool, call.arguments) == (name, find.reading.arguments):
                return index
        deeper: dict[str, Origin] = {}
        if depth + 1 < _DEPTH:
            deeper = self._hide(toolkit, find.reading.tool, find.reading.arguments, depth + 1, set())
        self.calls.append(ChainCall(name, toolkit, dict(find.reading.arguments), self._goals, True, deeper))
        return len(self.calls) - 1

    def _find(
        self, toolkit: str, tool: str, parameter: str, value: Any
    ) -> tuple[Find, dict[str, Any]] | None:
        """A reading that shows the value, and the clause that picks it; None if it cannot be described."""
        stock, catalog = self._arena.stocks[toolkit], self._arena.catalog(toolkit)
        edges = {
            (edge.producer, edge.output)
            for edge in stock.graph.producers(tool, parameter)
            if edge.confidence >= _MIN_CONFIDENCE and stock.graph.tools[edge.producer] == "read"
        }
        finds = [
            find
            for find in catalog.finds.get((type(value), value), [])
            if (find.reading.tool, find.name) in edges and value not in find.reading.arguments.values()
        ]
        nouns = stock.source.nouns
        for index in self._rng.permutation(len(finds))[:_FINDS]:
            find = finds[int(index)]
            if find.record is None:
                if sum(1 for _ in leaves(find.reading.value)) == 1:
                    return find, {}
                continue
            noun = nouns.get(entity_of(find, parameter, nouns) or parameter, "")
            clause = find_clause(find.record, find.name, catalog.everything(find.name), blanks(noun))
            if clause is not None:
                return find, clause
        return None

    def _asks(
        self, data: Any, arguments: Mapping[str, Any], origins: Mapping[str, Origin]
    ) -> tuple[Ask, ...]:
        """Something in a result that is worth asking for."""
        said = [*arguments.values(), *(v for call in self.calls for v in call.arguments.values())]
        known = [*origins.values(), *(origin for call in self.calls for origin in call.origins.values())]
        said += [value for origin in known for value in origin.clause.values()]
        given = {str(value) for value in said}
        found = records(data)
        options = [
            (record, key)
            for record in found
            for key, value in record.items()
            if str(value) not in given and _worth_telling(value)
        ]
        for index in self._rng.permutation(len(options)):
            record, key = options[int(index)]
            if len(found) == 1:
                return (Ask(key, record[key], {}),)
            clause = find_clause(record, key, found)
            if clause is not None:
                return (Ask(key, record[key], clause),)
        if not found and _worth_telling(data) and str(data) not in given:
            return (Ask("", data, {}),)
        return ()

    def _note_made(self, data: Any, arguments: Mapping[str, Any], catalog: Catalog) -> None:
        """Ids in the result of a goal that were not there before."""
        for leaf in leaves(data):
            new = (type(leaf.value), leaf.value) not in catalog.finds
            if isinstance(leaf.value, str) and new and leaf.value not in arguments.values() and leaf.name:
                pool = catalog.pools.values(normal(leaf.name), "string")
                if pool and leaf.value not in pool:
                    self._made.append((len(self.calls) - 1, leaf.name, leaf.value))


def carry_out(arena: Arena, calls: Sequence[ChainCall]) -> list[ChainCall]:
    """Carry out a chain from the start and check that every value is found where the chain says.

    Args:
        arena: in its initial states.
        calls: the chain.

    Returns:
        The calls, with the values of what is asked as they really come out.

    Raises:
        Rejected: it does not run, or something is found otherwise.
    """
    results: list[Any] = []
    done: list[ChainCall] = []
    for call in calls:
        for parameter, origin in call.origins.items():
            if not _found_at(results[origin.call], origin, call.arguments[parameter]):
                raise Rejected("a value is not found where it should be")
        result = arena.call(call.tool, call.arguments)
        if result is None or not result.ok:
            raise Rejected("the chain does not run from the start")
        data = readable_data(result.value)
        results.append(data)
        asks = tuple(replace(ask, value=_asked(data, ask)) for ask in call.asks)
        done.append(replace(call, asks=asks))
    return done


def _asked(data: Any, ask: Ask) -> Any:
    found = matching(records(data), ask.clause) if ask.name else [{"": data}]
    if not found or ask.name not in found[0] or not picks_one(found, {}, ask.name, found[0][ask.name]):
        raise Rejected("what is asked is not found")
    if not _worth_telling(found[0][ask.name]):
        raise Rejected("what is asked is not worth telling any more")
    return found[0][ask.name]


def _found_at(data: Any, origin: Origin, value: Any) -> bool:
    if not origin.clause:
        values = [leaf.value for leaf in leaves(data) if leaf.name == origin.name or not origin.name]
        return bool(values) and all(found == value for found in values)
    beside = [leaf.record for leaf in leaves(data) if leaf.name == origin.name and leaf.record is not None]
    return picks_one(beside, origin.clause, origin.name, value)


def _worth_telling(value: Any) -> bool:
    """Whether a value can be told in a sentence and is not guessed at once."""
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, str):
        return 1 < len(value.strip()) <= 80 and "\n" not in value
    return isinstance(value, int | float) and (abs(value) > 12 or value != int(value))
