"""What a state model looks like to the machinery: its tables, its other fields, and the JSON text of each.

JSON text is the one measure of a state: two values are equal if their texts are, and a copy is what the text
reads as.
"""

import typing
from collections.abc import Callable
from functools import cache
from typing import Any, Generic, NamedTuple, TypeVar

import pydantic
import pydantic_core

from envrl.envs.envfactory.schema import InvalidToolkit

_T = TypeVar("_T")


class Codec(Generic[_T]):
    """JSON text of values of one type, and back.

    Sets are written in the order of their members' texts: their own order depends on the process.
    """

    __slots__ = ("_adapter", "_sets", "fixed", "parse")

    def __init__(self, hint: Any) -> None:
        self._adapter: pydantic.TypeAdapter[_T] = pydantic.TypeAdapter(hint)
        schema = self._adapter.json_schema(mode="serialization")
        self._sets = _mentions(schema, "uniqueItems")
        #: values cannot be changed in place, so that they need no copies
        self.fixed = hint in (str, int, float, bool, type(None)) or typing.get_origin(hint) is typing.Literal
        self.parse: Callable[[bytes], _T] = self._adapter.validate_json

    def text(self, value: _T) -> bytes:
        """The value as JSON. Raises PydanticSerializationError where that cannot be."""
        if self._sets:
            plain = self._adapter.dump_python(value, warnings=False)
            return pydantic_core.to_json(_sorted_sets(plain))
        return self._adapter.serializer.to_json(value, warnings=False)

    def copy(self, value: _T) -> _T:
        """An equal value that shares nothing that can be changed."""
        return self.parse(self.text(value))


class Shape(NamedTuple):
    """Fields of a state model: ``tables`` (dicts; the codec is that of a record) and ``values`` (all others)."""

    kind: type[pydantic.BaseModel]
    tables: dict[str, Codec[Any]]
    values: dict[str, Codec[Any]]
    keys: dict[str, Codec[Any]]


@cache  # classes are few and live as long as the process
def shape_of(kind: type[pydantic.BaseModel]) -> Shape:
    """The shape of a state model.

    Raises:
        InvalidToolkit: the model holds what cannot be saved.
    """
    if kind.__private_attributes__:
        hidden = next(iter(kind.__private_attributes__))
        raise InvalidToolkit(
            f"{kind.__qualname__} has the private attribute {hidden!r}, which is not saved; make it a field"
        )
    if kind.model_config.get("extra") == "allow":
        raise InvalidToolkit(f"{kind.__qualname__} allows extra fields; a state's fields are all declared")
    tables: dict[str, Codec[Any]] = {}
    values: dict[str, Codec[Any]] = {}
    keys: dict[str, Codec[Any]] = {}
    for name, field in kind.model_fields.items():
        try:
            if typing.get_origin(field.annotation) is dict and not field.metadata:
                key, record = typing.get_args(field.annotation)
                tables[name], keys[name] = Codec(record), Codec(key)
            else:
                hint = field.annotation
                values[name] = Codec(typing.Annotated[hint, *field.metadata] if field.metadata else hint)
        except pydantic.errors.PydanticUserError as error:
            raise InvalidToolkit(
                f"{kind.__qualname__}.{name}: {field.annotation} cannot be written as JSON: {error.message}"
            ) from error
    return Shape(kind, tables, values, keys)


def _mentions(schema: Any, key: str) -> bool:
    if isinstance(schema, dict):
        return key in schema or any(_mentions(value, key) for value in schema.values())
    return isinstance(schema, list) and any(_mentions(value, key) for value in schema)


def _sorted_sets(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted_sets(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((_sorted_sets(item) for item in value), key=pydantic_core.to_json)
    if isinstance(value, list | tuple):
        return [_sorted_sets(item) for item in value]
    return value
