"""Clauses: which fields of a record tell it from all others, so that a person can mean it without its id."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from envrl.envs.envfactory.delta import same
from envrl.envs.envfactory.factory.wording import normal

_LONGEST = 60
_CANDIDATES = 6


def matching(records: Iterable[Mapping[str, Any]], clause: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The records that have all values of a clause."""
    return [r for r in records if all(key in r and same(r[key], value) for key, value in clause.items())]


def picks_one(records: Iterable[Mapping[str, Any]], clause: Mapping[str, Any], name: str, value: Any) -> bool:
    """Whether all records that a clause covers, at least one, have ``value`` at ``name``."""
    found = matching(records, clause)
    return bool(found) and all(name in record and same(record[name], value) for record in found)


def find_clause(
    record: Mapping[str, Any],
    name: str,
    records: Sequence[Mapping[str, Any]],
    preferred: Sequence[str] = (),
) -> dict[str, Any] | None:
    """The fewest fields of ``record`` that pick its value at ``name`` among ``records``; None if none do.

    Args:
        record: one of the records.
        name: the field that is not to be said.
        records: what the record must be told from.
        preferred: fields that are said in any case if the record has them, and before others.

    >>> rows = [{"id": 1, "kind": "joint", "city": "Oslo"}, {"id": 2, "kind": "joint", "city": "Riga"}]
    >>> find_clause(rows[0], "id", rows)
    {'city': 'Oslo'}
    """
    base = {key: record[key] for key in preferred if key in record and key != name}
    if len(base) == len(preferred) and base and picks_one(records, base, name, record[name]):
        return base
    if len(base) < len(preferred):
        base = {}
    usable = [key for key, value in record.items() if key not in base and _sayable(key, value, name)]
    usable.sort(key=lambda key: _strangeness(record[key]))
    for size in (1, 2):
        for keys in combinations(usable[:_CANDIDATES], size):
            clause = {**base, **{key: record[key] for key in keys}}
            if picks_one(records, clause, name, record[name]):
                return clause
    return None


def _strangeness(value: Any) -> int:
    """Words say more to people than numbers, those more than ids, flags the least."""
    if isinstance(value, str):
        return 2 if any(c.isdigit() for c in value) else 0
    return 3 if isinstance(value, bool) else 1


def _sayable(key: str, value: Any, name: str) -> bool:
    if normal(key) == normal(name):
        return False
    if isinstance(value, str):
        return 0 < len(value) <= _LONGEST and "\n" not in value
    return isinstance(value, bool | int | float)
