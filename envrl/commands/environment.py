"""Keyword arguments of environments as the command line takes them."""

import json
from collections.abc import Sequence
from typing import Any

from tyro.constructors import PrimitiveConstructorSpec, PrimitiveTypeInfo

from envrl.envs.errors import WrongUse


def parse_env_kwargs(words: Sequence[str]) -> dict[str, Any]:
    """Keyword arguments from ``key=value`` words and JSON objects; later ones win.

    A value is read as JSON where it is JSON (``5``, ``true``, ``["a"]``), else as a plain string.

    >>> parse_env_kwargs(["split=valid_seen", "steps=5", '{"split": "train"}'])
    {'split': 'train', 'steps': 5}

    Raises:
        WrongUse: a word is neither.
    """
    kwargs: dict[str, Any] = {}
    for word in words:
        if word.lstrip().startswith("{"):
            try:
                kwargs |= json.loads(word)
            except json.JSONDecodeError as error:
                raise WrongUse(f'{word!r} is not JSON ({error}); expected {{"key": value}}') from error
            continue
        key, equals, text = word.partition("=")
        if not equals or not key.isidentifier():
            raise WrongUse(f"expected key=value or a JSON object, got {word!r}")
        try:
            kwargs[key] = json.loads(text)
        except json.JSONDecodeError:
            kwargs[key] = text
    return kwargs


def kwargs_rule(field: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    """How tyro reads a field of type ``dict[str, Any]``, or that or None: see `parse_env_kwargs`."""
    if field.type not in (dict[str, Any], dict[str, Any] | None):
        return None
    return PrimitiveConstructorSpec(
        nargs="*",
        metavar="[KEY=VALUE|JSON ...]",
        instance_from_str=parse_env_kwargs,
        is_instance=lambda value: value is None or isinstance(value, dict),
        str_from_instance=lambda value: [f"{key}={json.dumps(item)}" for key, item in (value or {}).items()],
    )
