"""`Blueprint`: tables and the operations on them, from which a toolkit is written.

Whatever a toolkit is generated from is first turned into a blueprint; only what writes the toolkit knows Python, and
only what reads the source knows databases or API descriptions.
"""

import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["string", "integer", "number", "boolean"]
#: get: one row by id. list: all rows, or some. find: rows with a value in a column. add: a new row. set: columns of
#: a row. move: a column of a row to a fixed value. remove: a row.
Deed = Literal["get", "list", "find", "add", "set", "move", "remove"]

#: names that pydantic's models or Python keep for themselves
_TAKEN = {
    "found",
    "gone",
    "key",
    "row",
    "copy",
    "dict",
    "json",
    "schema",
    "construct",
    "validate",
    "fields",
    "self",
    "cls",
    "state",
    "type",
}


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: as an argument is called. kind: of its values.
        optional: may be empty.
        choices: the only values, where they are few words or whole numbers.
        refers: singular of the table whose ids stand here.
        unique: no value stands twice.
        description: of the source.
        low, high: bounds of a number.
    """

    name: str
    kind: Kind = "string"
    optional: bool = False
    choices: tuple[str | int, ...] = ()
    refers: str = ""
    unique: bool = False
    description: str = ""
    low: int | float | None = None
    high: int | float | None = None

    @property
    def words(self) -> str:
        """The name as people write it."""
        return self.name.replace("_", " ").strip()


@dataclass(frozen=True)
class Table:
    """A table; its ids are the keys of ``rows`` and an argument called like the singular.

    Attributes:
        plural, singular: names, in snake case. prefix: of new ids.
        columns: without the id.
        rows: id -> column -> value.
        label: column by which people know a row; "" for none.
    """

    plural: str
    singular: str
    prefix: str
    columns: tuple[Column, ...]
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    label: str = ""

    @property
    def words(self) -> str:
        """The singular as people write it."""
        return self.singular.replace("_", " ")

    def column(self, name: str) -> Column:
        """A column by name. Raises KeyError."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)


@dataclass(frozen=True)
class Operation:
    """A tool.

    Attributes:
        tool: its name. deed: what it does. table: singular.
        columns: that it takes as arguments, beside the id for ``get``, ``set``, ``move`` and ``remove``; for ``list``
            they are filters that may be left out.
        must: those that have to be given although they may be empty.
        value: what ``move`` sets its one column to.
        description: one line; "" for a plain one.
    """

    tool: str
    deed: Deed
    table: str
    columns: tuple[str, ...] = ()
    must: tuple[str, ...] = ()
    value: str = ""
    description: str = ""


@dataclass(frozen=True)
class Blueprint:
    """A toolkit to be written.

    Attributes:
        name: of the class, in snake case. title: in words.
        tables, operations: what it is made of.
        left_out: what of the source became no tool, and why.
    """

    name: str
    title: str
    tables: tuple[Table, ...]
    operations: tuple[Operation, ...]
    left_out: tuple[str, ...] = ()

    def table(self, singular: str) -> Table:
        """A table by its singular. Raises KeyError."""
        for table in self.tables:
            if table.singular == singular:
                return table
        raise KeyError(singular)


def snake(text: str) -> str:
    """A name in snake case that Python takes.

    >>> snake("orderID"), snake("First Name"), snake("2nd"), snake("class")
    ('order_id', 'first_name', 'n2nd', 'class_')
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", text)
    name = re.sub(r"[^a-zA-Z0-9]+", "_", words).strip("_").lower() or "value"
    name = f"n{name}" if name[0].isdigit() else name
    return f"{name}_" if keyword.iskeyword(name) or name in _TAKEN or name.startswith("model_") else name


def singular_of(plural: str) -> str:
    """The singular of an English plural, by rule.

    >>> [singular_of(word) for word in ("categories", "boxes", "orders", "addresses", "news", "statuses")]
    ['category', 'box', 'order', 'address', 'news_item', 'status']
    """
    for ending, instead in (
        ("ies", "y"),
        ("sses", "ss"),
        ("xes", "x"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("uses", "us"),
    ):
        if plural.endswith(ending) and len(plural) > len(ending) + 1:
            return plural[: -len(ending)] + instead
    if plural.endswith("s") and not plural.endswith(("ss", "us", "is", "news")):
        return plural[:-1]
    return f"{plural}_item" if plural.endswith("news") else plural


def singulars_of(plurals: Iterable[str]) -> dict[str, str]:
    """The singulars of several names, all different.

    >>> singulars_of(["item", "items"])
    {'item': 'item', 'items': 'items_item'}
    """
    found: dict[str, str] = {}
    for plural in plurals:
        singular = singular_of(snake(plural))
        while singular in found.values():
            singular = (
                f"{snake(plural)}_item" if singular == singular_of(snake(plural)) else f"{singular}_item"
            )
        found[plural] = singular
    return found


def plural_of(singular: str) -> str:
    """The plural of an English noun, by rule.

    >>> [plural_of(word) for word in ("category", "box", "order", "address", "day")]
    ['categories', 'boxes', 'orders', 'addresses', 'days']
    """
    if singular.endswith("y") and singular[-2:-1] not in "aeiou":
        return f"{singular[:-1]}ies"
    return f"{singular}es" if singular.endswith(("s", "x", "ch", "sh")) else f"{singular}s"


def prefixes(singulars: Iterable[str]) -> dict[str, str]:
    """Different short prefixes for ids.

    >>> prefixes(["order", "owner", "pet"])
    {'order': 'O', 'owner': 'OW', 'pet': 'P'}
    """
    found: dict[str, str] = {}
    for singular in singulars:
        letters = singular.replace("_", "").upper()
        tries = (letters[:length] for length in range(1, len(letters) + 1))
        free = (prefix for prefix in tries if prefix not in found.values())
        found[singular] = next(free, f"{letters}X")
    return found
