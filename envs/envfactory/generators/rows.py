"""Rows of a generated toolkit: small, varied, and whole, so that whatever a row refers to is there too."""

from collections.abc import Mapping
from typing import Any

import numpy as np

Rows = Mapping[str, Mapping[str, Mapping[str, Any]]]
#: plural -> column -> plural that it refers to
References = Mapping[str, Mapping[str, str]]


def draw_rows(
    rows: Rows, references: References, rng: np.random.Generator, count: int = 10
) -> dict[str, Any]:
    """Some rows of each table, and the rows that they refer to.

    Args:
        rows: plural -> id -> row.
        references: which columns refer where.
        rng: draws.
        count: rows of each table to begin with.

    Returns:
        plural -> id -> row, in the order of ``rows``.
    """
    chosen: dict[str, set[str]] = {plural: set() for plural in rows}
    for plural, table in rows.items():
        ids = list(table)
        picked = rng.choice(len(ids), size=min(count, len(ids)), replace=False) if ids else ()
        chosen[plural].update(ids[int(index)] for index in picked)
    return {
        plural: {key: dict(rows[plural][key]) for key in rows[plural] if key in keys}
        for plural, keys in closed(rows, references, chosen).items()
    }


def closed(rows: Rows, references: References, chosen: dict[str, set[str]]) -> dict[str, set[str]]:
    """The chosen ids and all that their rows lead to."""
    waiting = [(plural, key) for plural, keys in chosen.items() for key in sorted(keys)]
    while waiting:
        plural, key = waiting.pop()
        for column, target in references.get(plural, {}).items():
            other = rows[plural][key].get(column)
            if other is not None and other in rows[target] and other not in chosen[target]:
                chosen[target].add(other)
                waiting.append((target, other))
    return chosen
