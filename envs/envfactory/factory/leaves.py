"""Values inside JSON data, each with the name of the field it stands in and the record around it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Scalar = str | int | float | bool


class Leaf(NamedTuple):
    """A value in a result or state.

    name: of the field; of the list for a value in a list; of the table for its keys. value: the value.
    record: the object it stands in; None for a bare value. key: it is a key of the table, no value.
    """

    name: str
    value: Scalar
    record: Mapping[str, Any] | None
    key: bool = False


def leaves(data: Any, name: str = "", record: Mapping[str, Any] | None = None) -> Iterator[Leaf]:
    """All scalar values of JSON data from left to right, and the keys of tables.

    An object whose values are all objects is taken for a table: its keys are values of their own.

    >>> [leaf[:2] for leaf in leaves({"accounts": {"A1": {"kind": "joint"}}, "today": "Monday"})]
    [('accounts', 'A1'), ('kind', 'joint'), ('today', 'Monday')]
    """
    if isinstance(data, Mapping):
        table = is_table(data)
        for key, value in data.items():
            if table:
                yield Leaf(name, key, value, True)
                yield from leaves(value, name, value)
            else:
                yield from leaves(value, key, data)
    elif isinstance(data, list | tuple):
        for item in data:
            yield from leaves(item, name, record)
    elif data is not None:
        yield Leaf(name, data, record)


def is_table(data: Any) -> bool:
    """Whether an object maps ids to records and does not itself have fields."""
    return (
        isinstance(data, Mapping)
        and bool(data)
        and all(isinstance(value, Mapping) for value in data.values())
    )


def records(data: Any) -> list[Mapping[str, Any]]:
    """The objects a result is made of: itself, or the members of the list, or of its only list."""
    if isinstance(data, Mapping):
        lists = [value for value in data.values() if isinstance(value, list)]
        if (
            len(lists) == 1
            and len(data) <= 2
            and lists[0]
            and all(isinstance(item, Mapping) for item in lists[0])
        ):
            return list(lists[0])
        return [data]
    if isinstance(data, list):
        return [item for item in data if isinstance(item, Mapping)]
    return []


def readable_data(value: Any) -> Any:
    """A tool's result as data: text that is JSON (many servers answer so) is read."""
    if isinstance(value, str) and value[:1] in "{[":
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
