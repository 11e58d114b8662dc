"""Values that one toolkit gives another: the address of a customer for a mail, the date of a flight for a calendar.

Inside a toolkit the graph says which results fill which arguments. Between toolkits, whose states know nothing of
each other, only arguments that take any value of a kind can be filled, and these are told by their names.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from envrl.envs.envfactory.factory.arena import Arena, Catalog, Find
from envrl.envs.envfactory.factory.arguments import is_text
from envrl.envs.envfactory.factory.clauses import find_clause
from envrl.envs.envfactory.factory.wording import blanks, normal

_SHARE = 0.5  # of the arguments that can be filled from another toolkit
_TRIES = 12


class Loan(NamedTuple):
    """A value from another toolkit: whose it is, where it can be read, and the clause that picks it."""

    toolkit: str
    find: Find
    clause: dict[str, Any]
    value: str


def borrow(arena: Arena, toolkit: str, tool: str, rng: np.random.Generator) -> dict[str, Loan]:
    """Argument -> a value from another toolkit of the arena, for some arguments of a tool; mostly none."""
    others = [name for name in arena.stocks if name != toolkit]
    source = arena.stocks[toolkit].source
    loans: dict[str, Loan] = {}
    for parameter, schema in source.tools[tool].parameters["properties"].items():
        own = parameter in source.nouns or is_text(parameter)  # ids mean nothing elsewhere, texts are quoted
        if own or schema.get("type") != "string" or "enum" in schema or rng.random() >= _SHARE:
            continue
        for other in (others[int(i)] for i in rng.permutation(len(others))):
            loan = _lend(arena, other, parameter, rng)
            if loan is not None:
                loans[parameter] = loan
                break
    return loans


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
