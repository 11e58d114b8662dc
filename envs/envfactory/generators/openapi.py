"""An OpenAPI 3 document as a list of endpoints: where each is, what it is sent, what it answers with."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from envrl.envs.envfactory.generators.blueprint import plural_of, singular_of, snake
from envrl.envs.errors import DataNotFound, InvalidData, MissingExtra

_METHODS = ("get", "post", "put", "patch", "delete")


class Endpoint(NamedTuple):
    """An operation of the document.

    Attributes:
        path, method: where it is. tool: its name.
        resource: plural, in snake case, of the last named part of the path that is a collection.
        parents: (plural, parameter) of the items that the path goes through before.
        item: whether the path ends at one item. action: what follows the item; "" for nothing.
        body: schema of what is sent, resolved. description: in a line.
        queries: names of the query parameters.
    """

    path: str
    method: str
    tool: str
    resource: str
    parents: tuple[tuple[str, str], ...]
    item: bool
    action: str
    body: Mapping[str, Any]
    description: str
    queries: tuple[str, ...]


def read_document(path: Path) -> dict[str, Any]:
    """An OpenAPI 3 document in JSON or YAML.

    Raises:
        DataNotFound, InvalidData: there is none. MissingExtra: it is YAML, and PyYAML is not installed.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataNotFound(f"no such file: {path}; expected an OpenAPI 3 document") from None
    try:
        if path.suffix == ".json":
            document = json.loads(text)
        else:
            import yaml

            document = yaml.safe_load(text)
    except ImportError as error:
        raise MissingExtra(
            "an OpenAPI document in YAML needs PyYAML: pip install 'envrl[openapi]', or give it as JSON"
        ) from error
    except Exception as error:
        raise InvalidData(
            f"{path}: expected an OpenAPI 3 document, found {' '.join(str(error).split())}"
        ) from error
    if not isinstance(document, dict) or not str(document.get("openapi", "")).startswith("3"):
        found = document.get("swagger", document.get("openapi")) if isinstance(document, dict) else None
        raise InvalidData(
            f"{path}: expected `openapi: 3...`, found {'version ' + str(found) if found else 'none'}"
        )
    return document


def endpoints_of(document: Mapping[str, Any]) -> Iterator[Endpoint]:
    """Every operation whose path is one of collections and items."""
    for path, methods in document.get("paths", {}).items():
        if not isinstance(methods, Mapping):
            continue
        place = _place(path)
        for method in _METHODS:
            described = methods.get(method)
            if place is None or not isinstance(described, Mapping):
                continue
            resource, parents, item, action = place
            parameters = [
                resolved(document, part)
                for part in (*methods.get("parameters", ()), *described.get("parameters", ()))
            ]
            content = resolved(document, described.get("requestBody", {})).get("content", {})
            body = resolved(document, _json_schema(content))
            text = str(described.get("summary") or described.get("description") or "")
            line = text.strip().splitlines()[0] if text.strip() else ""
            queries = tuple(
                str(part["name"]) for part in parameters if part.get("in") == "query" and "name" in part
            )
            tool = snake(str(described.get("operationId") or f"{method} {path}"))[:64]
            yield Endpoint(path, method, tool, resource, parents, item, action, body, line, queries)


def _place(path: str) -> tuple[str, tuple[tuple[str, str], ...], bool, str] | None:
    """(resource, parents, whether one item, action) of a path."""
    parts = [part for part in path.split("/") if part and not re.fullmatch(r"(api|rest|v\d+(\.\d+)?)", part)]
    steps: list[tuple[str, str]] = []  # (name, parameter)
    for part in parts:
        if part.startswith("{"):
            if not steps or steps[-1][1]:
                return None
            steps[-1] = (steps[-1][0], part.strip("{}"))
        else:
            steps.append((snake(part), ""))
    if not steps:
        return None
    *before, (last, parameter) = steps
    if not parameter and before and before[-1][1] and plural_of(singular_of(last)) != last:
        # A word that is no plural after an item is something done to the item.
        *above, (resource, _) = before
        return resource, tuple(above), True, last
    return last, tuple(before), bool(parameter), ""


def _json_schema(content: Mapping[str, Any]) -> Mapping[str, Any]:
    for kind, described in content.items():
        if "json" in kind or kind in ("application/x-www-form-urlencoded", "multipart/form-data", "*/*"):
            schema: Mapping[str, Any] = described.get("schema", {})
            return schema
    return {}


def answer_of(document: Mapping[str, Any], endpoint: Endpoint) -> Mapping[str, Any]:
    """The schema of a record in an endpoint's answers."""
    if endpoint.action:
        return {}
    described = document["paths"][endpoint.path][endpoint.method]
    for status, answer in described.get("responses", {}).items():
        if str(status).startswith("2"):
            schema = resolved(document, _json_schema(resolved(document, answer).get("content", {})))
            if schema.get("type") == "array" or "items" in schema:
                return resolved(document, schema["items"])
            # A page of records is an object with one list in it.
            lists = [resolved(document, part) for part in schema.get("properties", {}).values()]
            lists = [part for part in lists if part.get("type") == "array"]
            if not endpoint.item and endpoint.method == "get" and len(lists) == 1:
                return resolved(document, lists[0].get("items", {}))
            return schema
    return {}


def resolved(document: Mapping[str, Any], schema: Any, depth: int = 0) -> dict[str, Any]:
    """A schema with its reference followed and its parts joined."""
    if not isinstance(schema, Mapping) or depth > 20:
        return {}
    reference = schema.get("$ref")
    if isinstance(reference, str):
        at: Any = document
        for step in reference.removeprefix("#/").split("/"):
            at = at.get(step.replace("~1", "/").replace("~0", "~"), {}) if isinstance(at, Mapping) else {}
        return resolved(document, at, depth + 1)
    whole = {key: value for key, value in schema.items() if key != "allOf"}
    for part in schema.get("allOf", ()):
        found = resolved(document, part, depth + 1)
        properties = {**found.get("properties", {}), **whole.get("properties", {})}
        required = [*whole.get("required", ()), *found.get("required", ())]
        whole = {**found, **whole}
        if properties:
            whole |= {"properties": properties, "required": required}
    for key in ("anyOf", "oneOf"):  # something, or nothing
        options = [resolved(document, part, depth + 1) for part in schema.get(key, ())]
        real = [option for option in options if option.get("type") != "null"]
        if len(real) == 1 and len(options) > 1:
            return {**real[0], "nullable": True}
    return whole
