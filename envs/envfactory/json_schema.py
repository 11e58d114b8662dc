"""Arguments checked against a JSON schema that somebody else wrote: a server, an API document, a benchmark.

The keywords that tool schemas use are enforced, all others are taken as remarks. One rule is added: an argument
that the schema does not name is refused unless the schema says that it may be there, for a wrong name is what
an agent gets wrong most often and what servers pass over in silence.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import pydantic_core

from envrl.envs.envfactory.delta import same

_SHOWN_COMPLAINTS = 3
_KINDS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "number": lambda value: _is_number(value) and math.isfinite(value),
    "integer": lambda value: _is_number(value) and math.isfinite(value) and value == int(value),
}
#: keyword -> (kind it is about, whether a value keeps it, words)
_BOUNDS: dict[str, tuple[str, Callable[[Any, Any], bool], str]] = {
    "minimum": ("number", lambda value, bound: value >= bound, "should be at least {}"),
    "maximum": ("number", lambda value, bound: value <= bound, "should be at most {}"),
    "exclusiveMinimum": ("number", lambda value, bound: value > bound, "should be above {}"),
    "exclusiveMaximum": ("number", lambda value, bound: value < bound, "should be below {}"),
    "minLength": ("string", lambda value, bound: len(value) >= bound, "should have at least {} characters"),
    "maxLength": ("string", lambda value, bound: len(value) <= bound, "should have at most {} characters"),
    "minItems": ("array", lambda value, bound: len(value) >= bound, "should have at least {} items"),
    "maxItems": ("array", lambda value, bound: len(value) <= bound, "should have at most {} items"),
}


class SchemaChecker:
    """An `envrl.envs.envfactory.schema.ArgumentChecker` for a JSON schema.

    Args:
        schema: of the arguments object.

    >>> check = SchemaChecker({"properties": {"n": {"type": "integer"}}, "required": ["n"]})
    >>> check({"n": 3})
    ({'n': 3}, '')
    >>> check({"m": 3})
    (None, "n: is missing; m: no such argument; there are 'n'")
    """

    __slots__ = ("_names", "_schema")

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        closed = "properties" in schema or not schema.get("patternProperties")
        named = schema.get("properties", {})
        self._names = named if closed and schema.get("additionalProperties", False) is False else None

    def __call__(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str]:
        """(the arguments, ""), or (None, what is wrong with them)."""
        try:
            pydantic_core.to_json(arguments)
        except (ValueError, RecursionError) as error:  # lone surrogates, nesting without end
            return None, f"not valid JSON: {error}"
        try:
            found = list(self._complaints(dict(arguments)))
        except RecursionError:  # a schema whose reference leads to itself says nothing
            found = []
        if not found:
            return dict(arguments), ""
        more = len(found) - _SHOWN_COMPLAINTS
        return None, "; ".join(found[:_SHOWN_COMPLAINTS]) + (f"; and {more} more" if more > 0 else "")

    def _complaints(self, arguments: dict[str, Any]) -> Iterator[str]:
        for path, words in complaints(arguments, self._schema, self._schema):
            yield f"{path or 'arguments'}: {words}"
        if self._names is not None:
            known = ", ".join(map(repr, self._names)) or "none"
            for name in arguments:
                if name not in self._names:
                    yield f"{name}: no such argument; there are {known}"


def complaints(value: Any, schema: Any, root: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """(place, what is wrong) for every way in which a value breaks a schema.

    Args:
        value: JSON data.
        schema: a schema, or True or False.
        root: the schema in which ``$ref`` of the form ``#/...`` is looked up.
        path: of the value, with dots.
    """
    if schema is False:
        yield path, "nothing may stand here"
    if not isinstance(schema, Mapping):
        return
    if "$ref" in schema:
        target = _resolve(schema["$ref"], root)
        if target is not None:
            yield from complaints(value, target, root, path)
    kinds = schema.get("type")
    if kinds is not None:
        kinds = [kinds] if isinstance(kinds, str) else kinds
        allowed = [*kinds, "null"] if schema.get("nullable") else kinds
        known = [kind for kind in allowed if kind in _KINDS]
        if known and not any(_KINDS[kind](value) for kind in known):
            yield path, f"should be {_article(kinds)}, found {_kind(value)}"
            return
    if "enum" in schema and not any(same(value, option) for option in schema["enum"]):
        yield path, f"should be one of {', '.join(map(_text, schema['enum']))}"
    if "const" in schema and not same(value, schema["const"]):
        yield path, f"should be {_text(schema['const'])}"
    for keyword, (kind, keeps, words) in _BOUNDS.items():
        bound = schema.get(keyword)
        if _is_number(bound) and _KINDS[kind](value) and not keeps(value, bound):
            yield path, words.format(bound)
    if isinstance(value, str) and "pattern" in schema:
        pattern = _pattern(schema["pattern"])
        if pattern is not None and not pattern.search(value):
            yield path, f"should match {schema['pattern']}"
    yield from _combined(value, schema, root, path)
    if isinstance(value, dict):
        yield from _of_object(value, schema, root, path)
    elif isinstance(value, list):
        yield from _of_list(value, schema, root, path)


def _combined(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], path: str) -> Any:
    for part in schema.get("allOf", ()):
        yield from complaints(value, part, root, path)
    for keyword in ("anyOf", "oneOf"):
        if keyword not in schema:
            continue
        tries = [list(complaints(value, option, root, path)) for option in schema[keyword]]
        fitting = sum(not found for found in tries)
        if not fitting:
            # The option that comes nearest is what was most likely meant: the one whose complaint lies deepest.
            yield from max(tries, key=lambda found: max(place.count(".") for place, _ in found))
        elif keyword == "oneOf" and fitting > 1:
            yield path, "fits several of the forms of which it should fit one"
    if "not" in schema and not list(complaints(value, schema["not"], root, path)):
        yield path, "is what it must not be"


def _of_object(value: dict[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], path: str) -> Any:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield _below(path, name), "is missing"
    extra = schema.get("additionalProperties", True)
    patterns = [(_pattern(pattern), part) for pattern, part in schema.get("patternProperties", {}).items()]
    for name, item in value.items():
        parts = [part for pattern, part in patterns if pattern is not None and pattern.search(name)]
        if name in properties:
            parts.append(properties[name])
        for part in parts or ([extra] if path else [extra] if isinstance(extra, Mapping) else []):
            yield from complaints(item, part, root, _below(path, name))


def _of_list(value: list[Any], schema: Mapping[str, Any], root: Mapping[str, Any], path: str) -> Any:
    first = schema.get("prefixItems", ())
    for index, item in enumerate(value):
        part = first[index] if index < len(first) else schema.get("items", True)
        yield from complaints(item, part, root, _below(path, str(index)))
    if schema.get("uniqueItems") and any(
        same(item, other) for i, item in enumerate(value) for other in value[:i]
    ):
        yield path, "should have no item twice"


def _resolve(reference: Any, root: Mapping[str, Any]) -> Any:
    """What a reference inside the document stands for; None for one that leads out of it."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    at: Any = root
    for step in reference[1:].strip("/").split("/") if reference != "#" else ():
        step = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(at, Mapping) or step not in at:
            return None
        at = at[step]
    return at


@lru_cache(maxsize=1024)  # schemas are few; a pattern that Python cannot read is no reason to refuse a call
def _pattern(text: str) -> re.Pattern[str] | None:
    try:
        return re.compile(text)
    except (re.error, TypeError):
        return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind(value: Any) -> str:
    return next(
        name
        for name in ("null", "boolean", "integer", "number", "string", "array", "object", "other")
        if (name == "other" or _KINDS[name](value))
    )


def _article(kinds: list[str]) -> str:
    return " or ".join(
        f"{'an' if kind[0] in 'aio' else 'a'} {kind}" if kind != "null" else kind for kind in kinds
    )


def _text(value: Any) -> str:
    return pydantic_core.to_json(value).decode()


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
