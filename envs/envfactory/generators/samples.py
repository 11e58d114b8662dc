"""Rows for tables of which only the columns are known: plausible, consistent, and the same for the same seed."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from envrl.envs.envfactory.generators.blueprint import Column, Table
from envrl.envs.envfactory.toolkits.names import CITIES, FIRST, LAST

_T = TypeVar("_T")

_ADJECTIVES = (
    "Amber",
    "Birch",
    "Coral",
    "Dusty",
    "Elm",
    "Frosty",
    "Golden",
    "Hazel",
    "Ivory",
    "Jolly",
    "Kind",
    "Lunar",
)
_NOUNS = (
    "Anchor",
    "Bridge",
    "Cloud",
    "Dune",
    "Ember",
    "Field",
    "Grove",
    "Harbor",
    "Island",
    "Jetty",
    "Kite",
    "Lantern",
)
_PERSONS = {"name", "owner", "author", "customer", "contact", "user", "person", "full"}


def make_rows(tables: Sequence[Table], count: int, rng: np.random.Generator) -> tuple[Table, ...]:
    """The tables with ``count`` rows each; columns that refer to a table hold ids of its rows."""
    ids = {table.singular: [f"{table.prefix}{100 + number}" for number in range(count)] for table in tables}
    filled = []
    for table in tables:
        rows: dict[str, dict[str, Any]] = {}
        used: dict[str, set[Any]] = {column.name: set() for column in table.columns}
        for key in ids[table.singular]:
            rows[key] = {}
            for column in table.columns:
                value = _value(table, column, ids, rng)
                while column.unique and value is not None and value in used[column.name]:
                    other = _value(table, replace(column, optional=False), ids, rng)
                    value = f"{other} {len(used[column.name])}"
                used[column.name].add(value)
                rows[key][column.name] = value
        filled.append(replace(table, rows=rows))
    return tuple(filled)


def _value(table: Table, column: Column, ids: dict[str, list[str]], rng: np.random.Generator) -> Any:
    if column.optional and rng.random() < 0.2:
        return None
    if column.refers:
        return _one(ids[column.refers], rng)
    if column.choices:
        return _one(column.choices, rng)
    if column.kind == "boolean":
        return bool(rng.random() < 0.5)
    if column.kind == "integer":
        low, high = _range(column, 1, 99)
        return int(rng.integers(math.ceil(low), max(math.floor(high), math.ceil(low)) + 1))
    if column.kind == "number":
        low, high = _range(column, 1, 500)
        return min(max(round(float(rng.uniform(low, high)), 2), low), high)
    return _text(table, set(column.name.split("_")), rng)


def _range(column: Column, low: float, high: float) -> tuple[float, float]:
    """The column's bounds; where it has none, what is common, as wide as that."""
    if column.low is not None:
        return column.low, column.high if column.high is not None else column.low + high - low
    if column.high is not None:
        return min(low, column.high - high + low), column.high
    return low, high


def _text(table: Table, words: set[str], rng: np.random.Generator) -> str:
    first, last = _one(FIRST, rng), _one(LAST, rng)
    if words & {"email", "mail"}:
        return f"{first}.{last}@example.org".lower()
    if words & {"phone", "mobile", "fax"}:
        return f"+47 {rng.integers(10**7, 10**8)}"
    if words & {"date", "day", "birthday", "on"}:
        return f"2025-{rng.integers(1, 13):02}-{rng.integers(1, 29):02}"
    if words & {"time", "at", "timestamp", "created", "updated"}:
        return f"2025-{rng.integers(1, 13):02}-{rng.integers(1, 29):02}T{rng.integers(8, 18):02}:00:00Z"
    if words & {"city", "town", "location", "place"}:
        return _one(CITIES, rng)
    if words & {"address", "street"}:
        return f"{rng.integers(1, 90)} {_one(_NOUNS, rng)} Street"
    if words & {"url", "link", "website", "href", "image"}:
        return f"https://example.org/{_one(_NOUNS, rng).lower()}/{rng.integers(1, 1000)}"
    if words & _PERSONS and (
        set(table.singular.split("_")) & (_PERSONS | {"employee", "member"}) or not words & {"name"}
    ):
        return f"{first} {last}"
    return f"{_one(_ADJECTIVES, rng)} {_one(_NOUNS, rng)}"


def _one(options: Sequence[_T], rng: np.random.Generator) -> _T:
    return options[int(rng.integers(len(options)))]
