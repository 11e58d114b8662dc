"""A SQLite file or a folder of CSV files as a blueprint: its tables, and the tools that people would have on them.

Keys and references are taken from the database where it declares them, else from names and values: ``customer_id``
refers to ``customers`` where all its values are ids there. Ids get a prefix (``17`` becomes ``O17``), so that an id
in a sentence cannot be taken for an amount.
"""

import csv
import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from envrl.envs.envfactory.generators.blueprint import (
    Blueprint,
    Column,
    Kind,
    Operation,
    Table,
    plural_of,
    prefixes,
    singular_of,
    singulars_of,
    snake,
)
from envrl.envs.envfactory.generators.rows import closed
from envrl.envs.errors import DataNotFound, InvalidData

#: rows of a table that go into the toolkit: enough to draw many small states from
_MOST_ROWS = 200
_MOST_CHOICES = 8
_MOST_TOOLS = 24
_LABELS = ("name", "title", "label", "email", "code", "description")
_LONG = 60
#: numbers as they are written; with a leading zero or a plus it is a code or a telephone number
_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?")
_TRUTHS = {"true": True, "false": False}
_WORD = re.compile(r"[a-z][a-z0-9_-]{0,29}|[A-Z][A-Z0-9_]{0,29}")


class RawTable(NamedTuple):
    """A table as it stands in the source.

    Attributes:
        name: there. columns: names there.
        rows: values, None where there is none.
        key: the column of ids; "" where there is none.
        references: column -> table that it refers to.
        required: columns that must not be empty, as far as the source says.
    """

    name: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    key: str
    references: Mapping[str, str]
    required: frozenset[str]


def sqlite_tables(path: Path) -> list[RawTable]:
    """The tables of a SQLite file. Raises DataNotFound, InvalidData."""
    if not path.is_file():
        raise DataNotFound(f"no such file: {path}; expected a SQLite database")
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            names = [
                row[0]
                for row in database.execute(
                    "select name from sqlite_master where type = 'table' order by rowid"
                )
                if not row[0].startswith("sqlite_")
            ]
            return [_sqlite_table(database, name) for name in names]
    except sqlite3.DatabaseError as error:
        raise InvalidData(f"{path}: expected a SQLite database, found {error}") from error


def csv_tables(folder: Path) -> list[RawTable]:
    """The CSV files of a folder, each a table with a header. Raises DataNotFound, InvalidData."""
    files = sorted(folder.glob("*.csv"))
    if not files:
        raise DataNotFound(f"expected CSV files in {folder}, found none")
    tables = []
    for file in files:
        with file.open(encoding="utf-8-sig", newline="") as text:
            try:
                first = text.readline()
                text.seek(0)
                delimiter = max(",;\t", key=first.count)  # spreadsheets of many countries write semicolons
                header, *lines = [line for line in csv.reader(text, delimiter=delimiter) if line]
            except (ValueError, csv.Error, UnicodeDecodeError) as error:
                raise InvalidData(
                    f"{file}: expected a header and rows, found {error or 'nothing'}"
                ) from error
        if any(len(line) != len(header) for line in lines) or len(set(header)) < len(header):
            raise InvalidData(
                f"{file}: expected as many values in each row as the header has different names"
            )
        rows = (
            list(zip(*(_typed(column) for column in zip(*lines, strict=True)), strict=True)) if lines else []
        )
        tables.append(RawTable(file.stem, tuple(header), rows, "", {}, frozenset()))
    return tables


def table_blueprint(raw: Sequence[RawTable], name: str, title: str) -> Blueprint:
    """What is generated from tables.

    Args:
        raw: the tables.
        name: of the toolkit, in snake case. title: in words.

    Raises:
        InvalidData: there is nothing to make a toolkit of.
    """
    usable = [table for table in raw if table.rows]
    left_out = [f"table {table.name}: it is empty" for table in raw if not table.rows]
    if not usable:
        raise InvalidData(f"{title}: expected a table with rows, found none")
    keyed = [table if table.key else table._replace(key=_guess_key(table)) for table in usable]
    linked = [
        table._replace(references=table.references or _guess_references(table, keyed)) for table in keyed
    ]
    singulars = singulars_of(table.name for table in linked)
    short = prefixes(singulars.values())
    ids = {table.name: _ids(table, short[singulars[table.name]]) for table in linked}
    left_out += [line for table in linked for line in _dangling(table, ids)]
    made = [_table(table, singulars, short, ids) for table in linked]
    references = {
        table.plural: {c.name: plural_of_singular(made, c.refers) for c in table.columns if c.refers}
        for table in made
    }
    kept = closed(
        {table.plural: table.rows for table in made},
        references,
        {table.plural: set(list(table.rows)[:: max(1, -(-len(table.rows) // _MOST_ROWS))]) for table in made},
    )
    tables = tuple(
        Table(
            t.plural,
            t.singular,
            t.prefix,
            t.columns,
            {k: r for k, r in t.rows.items() if k in kept[t.plural]},
            t.label,
        )
        for t in made
    )
    operations = _operations(tables)
    reached = {operation.table for operation in operations}
    left_out += [
        f"table {table.plural}: the {_MOST_TOOLS} tools are those of the tables before it"
        for table in tables
        if table.singular not in reached
    ]
    return Blueprint(name, title, tables, operations, tuple(left_out))


def plural_of_singular(tables: Sequence[Table], singular: str) -> str:
    """The plural of a table."""
    return next(table.plural for table in tables if table.singular == singular)


# ---- reading ---------------------------------------------------------------------------------------------


def _sqlite_table(database: sqlite3.Connection, name: str) -> RawTable:
    quoted = '"' + name.replace('"', '""') + '"'
    described = list(database.execute(f"pragma table_info({quoted})"))
    keys = [column[1] for column in described if column[5]]
    references = {
        row[3]: target
        for row in database.execute(f"pragma foreign_key_list({quoted})")
        if (target := _refers_to_key(database, row[2], row[4]))
    }
    rows = list(database.execute(f"select * from {quoted}"))
    columns = tuple(column[1] for column in described)
    usable = [i for i, column in enumerate(columns) if not any(isinstance(row[i], bytes) for row in rows)]
    return RawTable(
        name,
        tuple(columns[i] for i in usable),
        [tuple(row[i] for i in usable) for row in rows],
        keys[0] if len(keys) == 1 else "",
        references,
        frozenset(column[1] for column in described if column[3]),
    )


def _refers_to_key(database: sqlite3.Connection, table: str, column: str | None) -> str:
    """The name of the table (SQLite takes names in any case) if it is its key that is referred to, else ""."""
    exact = database.execute(
        "select name from sqlite_master where type = 'table' and lower(name) = lower(?)", (table,)
    ).fetchone()
    if exact is None:
        return ""
    quoted = '"' + exact[0].replace('"', '""') + '"'
    keys = [row[1] for row in database.execute(f"pragma table_info({quoted})") if row[5]]
    fits = len(keys) == 1 and (column is None or column.lower() == keys[0].lower())
    return str(exact[0]) if fits else ""


def _typed(column: Sequence[str]) -> list[Any]:
    """The texts of a column as whole numbers, numbers or truth values where all are; None where empty."""
    filled = [text.strip() for text in column if text.strip()]

    for pattern, change in ((_WHOLE, int), (_DECIMAL, float)):
        if filled and all(pattern.fullmatch(text) for text in filled):
            return [change(text.strip()) if text.strip() else None for text in column]
    if filled and all(text.lower() in _TRUTHS for text in filled):
        return [_TRUTHS[text.strip().lower()] if text.strip() else None for text in column]
    return [text.strip() or None for text in column]


# ---- keys and references ---------------------------------------------------------------------------------


def _values(table: RawTable, column: str) -> list[Any]:
    index = table.columns.index(column)
    return [row[index] for row in table.rows]


def _guess_key(table: RawTable) -> str:
    singular = singular_of(snake(table.name))
    wanted = {"id", f"{singular}_id", f"{singular}id", "key", f"{singular}_number", f"{singular}_no", "uuid"}
    for column in table.columns:
        values = _values(table, column)
        if snake(column) in wanted and None not in values and len(set(values)) == len(values):
            return column
    return ""


def _guess_references(table: RawTable, others: Sequence[RawTable]) -> dict[str, str]:
    found = {}
    for column in table.columns:
        stem = re.sub(r"_(id|key|no|number)$", "", snake(column))
        for other in others:
            if (
                column == table.key
                or not other.key
                or stem == snake(column)
                or stem != singular_of(snake(other.name))
            ):
                continue
            ids = set(_values(other, other.key))
            if all(value is None or value in ids for value in _values(table, column)):
                found[column] = other.name
    return found


def _ids(table: RawTable, prefix: str) -> dict[Any, str]:
    """Value of the key -> id; row number -> id where there is no key."""
    values = _values(table, table.key) if table.key else list(range(1, len(table.rows) + 1))
    return {value: f"{prefix}{value}" if isinstance(value, int) else str(value) for value in values}


# ---- the blueprint ---------------------------------------------------------------------------------------


def _table(
    raw: RawTable,
    singulars: Mapping[str, str],
    short: Mapping[str, str],
    ids: Mapping[str, Mapping[Any, str]],
) -> Table:
    singular = singulars[raw.name]
    columns: list[Column] = []
    places: list[tuple[int, Column]] = []
    for index, name in enumerate(raw.columns):
        if name == raw.key:
            continue
        target = raw.references.get(name, "")
        values = [row[index] for row in raw.rows]
        known = [ids[target].get(value) for value in values] if target in ids else []
        if any(known):
            values = known
        else:
            target = ""
        column = _column(name, values, singulars.get(target, ""), name in raw.required)
        taken = {singular, *(other.name for other in columns)}
        while column.name in taken:
            column = Column(f"{column.name}_value", *_but_name(column))
        columns.append(column)
        places.append((index, column))
    keys = list(ids[raw.name].values())
    rows = {}
    for key, row in zip(keys, raw.rows, strict=True):
        rows[key] = {
            column.name: _cell(
                row[index], column, ids[raw.references[raw.columns[index]]] if column.refers else {}
            )
            for index, column in places
        }
    label = next((c.name for word in _LABELS for c in columns if word in c.name.split("_") and c.unique), "")
    plural = snake(plural_of(singular))
    return Table(plural, singular, short[singular], tuple(columns), rows, label)


def _dangling(raw: RawTable, ids: Mapping[str, Mapping[Any, str]]) -> list[str]:
    """What of the table's references leads nowhere, in words."""
    lines = []
    for column, target in raw.references.items():
        lost = {
            value for value in _values(raw, column) if value is not None and value not in ids.get(target, {})
        }
        if lost and target in ids:
            example = min(map(str, lost))
            lines.append(
                f"{raw.name}.{column}: {len(lost)} values that no row of {target} has, such as {example}"
            )
    return lines


def _but_name(column: Column) -> tuple[Any, ...]:
    return (column.kind, column.optional, column.choices, column.refers, column.unique, column.description)


def _column(name: str, values: Sequence[Any], refers: str, required: bool) -> Column:
    filled = [value for value in values if value is not None]
    optional = len(filled) < len(values) or (not required and not filled)
    words = snake(name)
    if refers:
        return Column(snake(re.sub(r"_(id|key|no|number)$", "", words)), "string", optional, refers=refers)
    if filled and all(isinstance(value, bool) for value in filled):
        return Column(words, "boolean", optional)
    if filled and all(isinstance(value, int) for value in filled):
        return Column(words, "integer", optional, unique=False)
    if filled and all(isinstance(value, int | float) for value in filled):
        return Column(words, "number", optional)
    texts = [str(value) for value in filled]
    different = sorted(set(texts))
    few = 1 < len(different) <= _MOST_CHOICES and len(texts) >= 2 * len(different)
    # Words of a program, and not names of people or towns, of which there may be others.
    choices = tuple(different) if few and all(_WORD.fullmatch(text) for text in different) else ()
    unique = len(different) == len(texts) and not optional and all(len(text) <= _LONG for text in different)
    return Column(words, "string", optional, choices, unique=unique and not choices)


def _cell(value: Any, column: Column, ids: Mapping[Any, str]) -> Any:
    if value is None:
        return None
    if column.refers:
        return ids.get(value)
    kinds: dict[Kind, Any] = {"string": str, "integer": int, "number": float, "boolean": bool}
    return kinds[column.kind](value)


def _operations(tables: Sequence[Table]) -> tuple[Operation, ...]:
    """Tools for all tables: fewer of each kind where there are many tables."""
    for finds, sets in ((3, 2), (2, 1), (1, 1), (1, 0)):
        made = [operation for table in tables for operation in _of_table(table, finds, sets)]
        if len(made) <= _MOST_TOOLS:
            return tuple(made)
    return tuple(made[:_MOST_TOOLS])


def _few(table: Table, column: Column) -> bool:
    """Whether the same values stand in a column again and again."""
    values = [row[column.name] for row in table.rows.values()]
    return bool(column.choices) or len(values) >= 2 * len(set(values))


def _of_table(table: Table, finds: int, sets: int) -> list[Operation]:
    key, many = table.singular, table.plural
    sought = [c for c in table.columns if c.refers] + [c for c in table.columns if c.name == table.label]
    sought += [c for c in table.columns if c.kind == "string" and c not in sought and _few(table, c)]
    plain = [c for c in table.columns if not c.refers and c.name != table.label]
    changed = sorted(plain, key=lambda c: (not c.choices, c.kind == "string", c.unique))
    made = [Operation(f"get_{key}", "get", key)]
    made += [Operation(f"find_{many}_by_{c.name}", "find", key, (c.name,)) for c in sought[:finds]]
    if not sought:
        made.append(Operation(f"list_{many}", "list", key))
    made.append(Operation(f"add_{key}", "add", key, tuple(c.name for c in table.columns)))
    made += [Operation(f"set_{key}_{c.name}", "set", key, (c.name,)) for c in changed[:sets]]
    made.append(Operation(f"remove_{key}", "remove", key))
    return made
