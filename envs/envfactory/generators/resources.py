"""The endpoints of an API as a blueprint: its resources become tables, its operations tools on them.

What an API does inside is not in its description. What can be told from paths, methods and schemas is taken: a
collection and its items (``/pets``, ``/pets/{petId}``), collections of an item (``/owners/{ownerId}/pets``), and
actions that set a state (``POST /orders/{orderId}/cancel`` where the schema knows ``cancelled``). Everything else is
left out, and the generated file says so.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from envrl.envs.envfactory.generators.blueprint import (
    Blueprint,
    Column,
    Operation,
    Table,
    prefixes,
    singulars_of,
    snake,
)
from envrl.envs.envfactory.generators.openapi import Endpoint, answer_of, endpoints_of, resolved
from envrl.envs.envfactory.generators.samples import make_rows
from envrl.envs.errors import InvalidData

_ROWS = 40
_KINDS = {"string": "string", "integer": "integer", "number": "number", "boolean": "boolean"}


def api_blueprint(document: Mapping[str, Any], name: str) -> Blueprint:
    """What is generated from a document.

    Args:
        document: as `read_document` gives it. name: of the toolkit, in snake case.

    Raises:
        InvalidData: it has no collection that could be a table.
    """
    left_out: list[str] = []
    endpoints = list(endpoints_of(document))
    schemas: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        for schema in (answer_of(document, endpoint), endpoint.body):
            if schema.get("properties"):
                known = schemas.setdefault(endpoint.resource, {})
                fields = {key: resolved(document, part) for key, part in schema["properties"].items()}
                # The most telling schema of a resource is that of its answers; what is sent adds to it.
                known.setdefault("properties", {}).update(
                    {key: part for key, part in fields.items() if key not in known.get("properties", {})}
                )
                known.setdefault("required", list(schema.get("required", ())))
    singulars = singulars_of(schemas)
    short = prefixes(singulars.values())
    tables = {
        plural: _table(plural, singulars, short, schema, endpoints, left_out)
        for plural, schema in schemas.items()
    }
    if not tables:
        raise InvalidData(
            f"{name}: expected paths with collections such as /pets and /pets/{{petId}}, found none"
        )
    operations: dict[str, Operation] = {}
    for endpoint in endpoints:
        operation = _operation(endpoint, tables) if endpoint.resource in tables else None
        if operation is None:
            left_out.append(
                f"{endpoint.method.upper()} {endpoint.path}: no rule says what it does to a table"
            )
        else:
            operations.setdefault(operation.tool, operation)
    used = {operation.table for operation in operations.values()}
    used |= {c.refers for t in tables.values() if t.singular in used for c in t.columns if c.refers}
    kept = tuple(table for table in tables.values() if table.singular in used)
    title = str(document.get("info", {}).get("title") or name.replace("_", " "))
    filled = tuple(_open_to_doubles(table) for table in make_rows(kept, _ROWS, np.random.default_rng(0)))
    return Blueprint(name, " ".join(title.split()), filled, tuple(operations.values()), tuple(left_out))


def _table(
    plural: str,
    singulars: Mapping[str, str],
    short: Mapping[str, str],
    schema: Mapping[str, Any],
    endpoints: list[Endpoint],
    left_out: list[str],
) -> Table:
    singular = singulars[plural]
    keys = {"id", f"{singular}_id", "uuid"}
    by_item = [e for e in endpoints if e.resource == plural and e.item]
    parameters = {match for e in by_item for match in re.findall(r"\{(\w+)\}", e.path)[-1:]}
    keys |= {snake(name) for name in parameters if name in schema["properties"]}
    columns: list[Column] = []
    for name, part in schema["properties"].items():
        word = snake(name)
        if word in keys:
            continue
        column = _column(word, part, name in schema.get("required", ()), singulars)
        if column is None:
            left_out.append(f"{plural}.{name}: neither a text nor a number")
        elif column.name not in {singular, *(other.name for other in columns)}:
            columns.append(column)
    # Items that are reached through another item belong to it.
    for parent, _ in dict.fromkeys(e.parents[-1] for e in endpoints if e.resource == plural and e.parents):
        if parent in singulars and all(column.refers != singulars[parent] for column in columns):
            columns.insert(0, Column(snake(singulars[parent]), refers=singulars[parent]))
    words = ("name", "title", "label", "email", "username", "code")
    label = next(
        (c.name for word in words for c in columns if word in c.name.split("_") and c.kind == "string"), ""
    )
    marked = tuple(replace(column, unique=column.name == label and not column.choices) for column in columns)
    return Table(plural, singular, short[singular], marked, {}, label)


def _open_to_doubles(table: Table) -> Table:
    """The rows of the beginning have different labels; a document does not say that later ones must."""
    return replace(table, columns=tuple(replace(column, unique=False) for column in table.columns))


def _column(
    word: str, part: Mapping[str, Any], required: bool, singulars: Mapping[str, str]
) -> Column | None:
    kind = part.get("type")
    kind = next((k for k in kind if k != "null"), None) if isinstance(kind, list) else kind
    stem = re.sub(r"_(id|key|number)$", "", word)
    text = str(part.get("description", ""))
    if kind == "object" and "id" in part.get("properties", {}):
        stem, kind = word, "string"  # a record within a record: its id stands for it
    if kind not in _KINDS and "enum" not in part:
        return None
    if kind is None and part.get("enum") and all(type(value) is int for value in part["enum"]):
        kind = "integer"
    optional = bool(part.get("nullable")) or not required
    if stem in singulars.values() and (stem != word or (kind == "string" and "properties" in part)):
        return Column(snake(stem), "string", optional, refers=stem, description=text)
    kept = str if kind in (None, "string") else int if kind == "integer" else ()
    choices = tuple(value for value in part.get("enum", ()) if isinstance(value, kept))
    low, high = (_bound(part.get(key)) for key in ("minimum", "maximum"))
    column = Column(word, _KINDS.get(kind or "string", "string"), optional, choices, description=text)  # type: ignore[arg-type]
    return replace(column, low=low, high=high) if kind in ("integer", "number") else column


def _bound(value: Any) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _operation(endpoint: Endpoint, tables: Mapping[str, Table]) -> Operation | None:
    table = tables[endpoint.resource]
    key, tool, text = table.singular, endpoint.tool, endpoint.description
    names = {column.name for column in table.columns}
    if endpoint.action:
        value = _state_after(endpoint.action, table)
        return value and Operation(tool, "move", key, (value[0],), value=value[1], description=text)
    given = _known(endpoint.body.get("properties", {}), names)
    if endpoint.item:
        if endpoint.method == "get":
            return Operation(tool, "get", key, description=text)
        if endpoint.method == "delete":
            return Operation(tool, "remove", key, description=text)
        return Operation(tool, "set", key, given, description=text) if given else None
    parent = endpoint.parents[-1][0] if endpoint.parents else ""
    owner = next(
        (c.name for c in table.columns if parent in tables and c.refers == tables[parent].singular), ""
    )
    if endpoint.method == "get":
        if owner:
            return Operation(tool, "find", key, (owner,), description=text)
        return Operation(tool, "list", key, _known(endpoint.queries, names), description=text)
    if endpoint.method == "post":
        # What is neither sent nor known from the path the API itself begins with, where that can be guessed.
        asked = [c.name for c in table.columns if not (c.optional or c.choices or c.kind == "boolean")]
        first = dict.fromkeys([*([owner] if owner else []), *asked])
        rest = [name for name in given if name not in first]
        return Operation(tool, "add", key, (*first, *rest), (owner,) if owner else (), description=text)
    return None


def _known(names: Iterable[str], columns: set[str]) -> tuple[str, ...]:
    """The columns that names stand for, whether or not they say that what they hold is an id."""
    words = [snake(name) for name in names]
    found = [word if word in columns else snake(re.sub(r"_(id|key|number)$", "", word)) for word in words]
    return tuple(name for name in dict.fromkeys(found) if name in columns)


def _state_after(action: str, table: Table) -> tuple[str, str] | None:
    """(column, value) that an action most likely sets: ``cancel`` makes an order ``cancelled``."""
    stem = action.rstrip("e")[: max(4, len(action) - 2)]
    for column in table.columns:
        for choice in column.choices:
            if isinstance(choice, str) and choice.lower().startswith(stem):
                return column.name, choice
    return None
