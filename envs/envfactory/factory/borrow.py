"""Values that one toolkit gives another: the address of a customer for a mail, the date of a flight for a calendar.

Inside a toolkit the graph says which results fill which arguments. Between toolkits, whose states know nothing of
each other, only arguments that take any value of a kind can be filled, and these are told by their names.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from envrl.envs.envfactory.factory.arena import Arena, Catalog, Find, Stock
from envrl.envs.envfactory.factory.arguments import is_text
from envrl.envs.envfactory.factory.clauses import find_clause
from envrl.envs.envfactory.factory.wording import blanks, normal
from envrl.envs.envfactory.sources import Source

_SHARE = 0.85  # of the arguments that can be filled from another toolkit
_TRIES = 12


class Loan(NamedTuple):
    """A value from another toolkit: whose it is, where it can be read, and the clause that picks it."""

    toolkit: str
    find: Find
    clause: dict[str, Any]
    value: str


def takes(source: Source, tool: str) -> list[str]:
    """Arguments of a tool that take any value of a kind: no ids, which mean nothing elsewhere, and no free text."""
    return [
        parameter
        for parameter, schema in source.tools[tool].parameters["properties"].items()
        if schema.get("type") == "string"
        and "enum" not in schema
        and parameter not in source.nouns
        and not is_text(parameter)
    ]


def borrowers(arena: Arena, toolkit: str) -> list[str]:
    """Tools of a toolkit that another toolkit of the arena has values for."""
    source = arena.stocks[toolkit].source
    fields = {name for other in arena.stocks if other != toolkit for name in _lendable(arena.stocks[other])}
    return [
        tool
        for tool in source.tools
        if any(_same_kind(name, parameter) for name in fields for parameter in takes(source, tool))
    ]


def partners(stocks: Mapping[str, Stock]) -> dict[str, list[str]]:
    """Toolkit -> those that have values for it, or that it has values for."""
    wants = {
        name: {parameter for tool in stock.source.tools for parameter in takes(stock.source, tool)}
        for name, stock in stocks.items()
    }
    linked = {
        (one, other)
        for one in stocks
        for other in stocks
        if one != other and any(_same_kind(f, p) for f in _lendable(stocks[other]) for p in wants[one])
    }
    return {
        name: [other for other in stocks if (name, other) in linked or (other, name) in linked]
        for name in stocks
    }


def borrow(arena: Arena, toolkit: str, tool: str, rng: np.random.Generator) -> dict[str, Loan]:
    """Argument -> a value from another toolkit of the arena, for some arguments of a tool; mostly none."""
    others = [name for name in arena.stocks if name != toolkit]
    loans: dict[str, Loan] = {}
    for parameter in takes(arena.stocks[toolkit].source, tool):
        if rng.random() >= _SHARE:
            continue
        for other in (others[int(i)] for i in rng.permutation(len(others))):
            loan = _lend(arena, other, parameter, rng)
            if loan is not None:
                loans[parameter] = loan
                break
    return loans


def _lendable(stock: Stock) -> set[str]:
    """Fields of results that may fill an argument elsewhere."""
    reads = {name for name, spec in stock.source.tools.items() if spec.effect == "read"}
    nouns = stock.source.nouns
    return {
        output.name
        for output in stock.graph.fields
        if output.tool in reads and output.kind == "string" and output.name and output.name not in nouns
    }


def _lend(arena: Arena, other: str, parameter: str, rng: np.random.Generator) -> Loan | None:
    catalog, nouns = arena.catalog(other), arena.stocks[other].source.nouns
    finds = [
        (find, value)
        for (kind, value), found in catalog.finds.items()
        if kind is str and value
        for find in found
        if find.record is not None and _same_kind(find.name, parameter)
    ]
    for index in rng.permutation(len(finds))[:_TRIES]:
        find, value = finds[int(index)]
        clause = _clause(catalog, find, nouns)
        if (
            value not in find.reading.arguments.values()
            and clause is not None
            and value not in clause.values()
        ):
            return Loan(other, find, clause, value)
    return None


def _clause(catalog: Catalog, find: Find, nouns: Mapping[str, str]) -> dict[str, Any] | None:
    entity = entity_of(find, "", nouns)
    everything = catalog.everything(find.name)
    return find_clause(find.record or {}, find.name, everything, blanks(nouns.get(entity, "")))


def entity_of(find: Find, parameter: str, nouns: Mapping[str, str]) -> str:
    """The field that names what the record of a find is about, "" if that is the thing found itself.

    Args:
        find: where the value is read.
        parameter: the argument that it fills.
        nouns: of the toolkit where it is read.
    """
    record = find.record or {}
    if parameter in nouns and set(blanks(nouns[parameter])) <= set(record):
        return ""
    others = (key for key in record if key in nouns and normal(key) != normal(find.name))
    return next((key for key in others if set(blanks(nouns[key])) <= set(record)), "")


def _same_kind(name: str, parameter: str) -> bool:
    """Whether two names say that their values are of one kind: an ``owner_email`` is an ``email``."""
    one, other = normal(name), normal(parameter)
    last = one.rpartition("_")[2]
    return one == other or (last == other.rpartition("_")[2] and last != "name")
