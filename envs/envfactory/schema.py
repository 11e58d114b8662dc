"""Tool schemas from Python functions: type hints become JSON schema, a Google docstring becomes descriptions.

Arguments are checked the way the schema says, strictly: a number in quotes is no number, an argument that the
schema does not name is refused.
"""

import inspect
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

import pydantic
import pydantic_core
import typing_extensions

from envrl.envs.errors import EnvRLError

Effect = Literal["read", "write"]

#: names that OpenAI-style tool calling accepts
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SECTION = re.compile(r"(Args|Arguments|Returns|Raises|Yields|Examples?|Notes?):\s*$")
_ENTRY = re.compile(r"(\w+)(?: \([^)]*\))?:\s*(.*)")
_SHOWN_COMPLAINTS = 3


class InvalidToolkit(EnvRLError):
    """A toolkit class cannot be used as it is written; the message names the place and the cure."""


class ArgumentChecker(Protocol):
    """Checks the arguments of a call against a tool's schema."""

    def __call__(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str]:
        """(keyword arguments for the tool, ""), or (None, what is wrong with them)."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as agents see it, and how its arguments are checked.

    Attributes:
        name: as agents call it.
        effect: ``read`` never changes the state.
        description: what it does, in words.
        parameters: JSON schema of the arguments object.
        check: see `ArgumentChecker`.
        returns: JSON schema of the result; empty where nothing is known.
        phrases: ways in which a user asks for it, with ``{argument}`` blanks.
    """

    name: str
    effect: Effect
    description: str
    parameters: Mapping[str, Any]
    check: ArgumentChecker
    returns: Mapping[str, Any]
    phrases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InvalidToolkit(
                f"tool name {self.name!r}: expected 1 to 64 letters, digits, underscores or hyphens"
            )

    @property
    def required(self) -> tuple[str, ...]:
        """Names of the arguments that must be given."""
        return tuple(self.parameters.get("required", ()))

    def openai(self) -> dict[str, Any]:
        """The tool in OpenAI's format."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}

    def signature(self) -> str:
        """One line for a prompt: ``transfer(source: string, amount: number = 1) - Move money.``."""
        words = []
        for name, schema in self.parameters.get("properties", {}).items():
            word = f"{name}: {type_words(schema)}"
            if name not in self.required:
                word += f" = {_json(schema['default'])}" if "default" in schema else "?"
            words.append(word)
        return f"{self.name}({', '.join(words)}) - {self.description.splitlines()[0]}"


def type_words(schema: Mapping[str, Any]) -> str:
    """A schema in a word or two: ``string``, ``integer[]``, ``"low"|"high"``, ``string|null``."""
    if "enum" in schema:
        return "|".join(_json(value) for value in schema["enum"])
    if "const" in schema:
        return _json(schema["const"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return "|".join(dict.fromkeys(type_words(option) for option in schema[key]))
    kind = schema.get("type", "object" if "$ref" in schema or "properties" in schema else "any")
    if isinstance(kind, list):
        return "|".join(kind)
    if kind == "array":
        return f"{type_words(schema.get('items', {}))}[]"
    return str(kind)


def spec_of(
    function: Callable[..., Any], name: str, effect: Effect, phrases: tuple[str, ...] = ()
) -> ToolSpec:
    """The spec of a method that stands in a class body.

    Args:
        function: its first parameter is ``self``; all others have type hints.
        name: of the tool.
        effect, phrases: of the tool.

    Raises:
        InvalidToolkit: hints are missing, or pydantic knows no schema for a type.
    """
    place = f"{function.__qualname__}"
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except Exception as error:
        raise InvalidToolkit(f"{place}: its type hints cannot be read: {error}") from error
    description, notes = read_docstring(inspect.getdoc(function) or "")
    if not description:
        raise InvalidToolkit(f"{place}: expected a docstring that says what the tool does")
    fields: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise InvalidToolkit(f"{place}: a tool takes named parameters only, found {parameter}")
        if parameter.name not in hints:
            raise InvalidToolkit(f"{place}: parameter {parameter.name!r} needs a type hint")
        hint: Any = hints[parameter.name]
        if parameter.name in notes:
            hint = Annotated[hint, pydantic.Field(description=notes[parameter.name])]
        if parameter.default is parameter.empty:
            hint = typing_extensions.Required[hint]
        else:
            defaults[parameter.name] = parameter.default
        fields[parameter.name] = hint
    checker, schema = _checker(place, fields)
    for key, default in defaults.items():
        schema["properties"][key]["default"] = pydantic_core.to_jsonable_python(default)
    schema.setdefault("properties", {})
    for phrase in phrases:
        unknown = set(re.findall(r"\{(\w*)\}", phrase)) - set(fields)
        if unknown:
            raise InvalidToolkit(
                f"{place}: the phrase {phrase!r} has a blank for {unknown.pop()!r}, no parameter"
            )
    returns = _return_schema(place, hints.get("return"))
    return ToolSpec(name, effect, description, schema, checker, returns, phrases)


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """(description, argument -> description) of a Google-style docstring.

    >>> read_docstring("Pay a bill.\\n\\nArgs:\\n    bill: its number,\\n        as printed\\n")
    ('Pay a bill.', {'bill': 'its number, as printed'})
    """
    body: list[str] = []
    notes: dict[str, str] = {}
    section, name = "", ""
    for line in text.splitlines():
        header = _SECTION.match(line)
        if header is not None:
            section = header.group(1)
        elif not section:
            body.append(line.strip())
        elif section in ("Args", "Arguments") and line.strip():
            indent = len(line) - len(line.lstrip())
            entry = _ENTRY.match(line.strip())
            if entry is not None and indent <= 4:
                name = entry.group(1)
                notes[name] = entry.group(2).strip()
            elif name:
                notes[name] = f"{notes[name]} {line.strip()}".strip()
    return "\n".join(body).strip(), notes


class _Checker:
    """Strict validation by pydantic, through JSON so that dates, enums and models are read as JSON says."""

    __slots__ = ("_to_json", "_validate")

    def __init__(self, adapter: "pydantic.TypeAdapter[Any]") -> None:
        self._validate, self._to_json = adapter.validator.validate_json, pydantic_core.to_json

    def __call__(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str]:
        try:
            return self._validate(self._to_json(arguments)), ""
        except pydantic.ValidationError as error:
            return None, complaint(error)
        except (ValueError, RecursionError) as error:  # lone surrogates, nesting without end
            return None, f"not valid JSON: {error}"


def complaint(error: pydantic.ValidationError) -> str:
    """A validation error in one line: ``amount: Input should be a valid number``."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}" for item in found]
    more = len(lines) - _SHOWN_COMPLAINTS
    return "; ".join(lines[:_SHOWN_COMPLAINTS]) + (f"; and {more} more" if more > 0 else "")


def _checker(place: str, fields: dict[str, Any]) -> tuple[_Checker, dict[str, Any]]:
    # A TypedDict and no model: parameters may then have any name, "json" or "copy" too.
    shape = typing_extensions.TypedDict("Arguments", fields, total=False)  # type: ignore[misc]
    config = pydantic.ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    shape.__pydantic_config__ = config  # type: ignore[attr-defined]
    try:
        adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(shape)
        return _Checker(adapter), _without_titles(adapter.json_schema())
    except pydantic.errors.PydanticUserError as error:
        raise InvalidToolkit(f"{place}: no JSON schema for its parameters: {error.message}") from error


def _return_schema(place: str, hint: Any) -> dict[str, Any]:
    if hint is None or hint is type(None):
        return {}
    try:
        return _without_titles(pydantic.TypeAdapter(hint).json_schema(mode="serialization"))
    except pydantic.errors.PydanticUserError as error:
        raise InvalidToolkit(f"{place}: no JSON schema for what it returns: {error.message}") from error


def _without_titles(schema: Any, inside: str = "") -> Any:
    """The schema without pydantic's titles, which repeat the names; a property may be called ``title``."""
    if isinstance(schema, dict):
        kept = (
            schema.items() if inside == "properties" else ((k, v) for k, v in schema.items() if k != "title")
        )
        return {key: _without_titles(value, "" if inside == "properties" else key) for key, value in kept}
    if isinstance(schema, list):
        return [_without_titles(item) for item in schema]
    return schema


def _json(value: Any) -> str:
    return pydantic_core.to_json(value).decode()
