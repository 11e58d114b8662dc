"""Environments named on the command line: ids, keyword arguments, and the error messages about both."""

import difflib
import json
from collections.abc import Sequence
from typing import Any

import gymnasium
from gymnasium.error import Error as GymnasiumError
from tyro.constructors import PrimitiveConstructorSpec, PrimitiveTypeInfo

from envrl.envs.errors import EnvRLError
from envrl.registration import ENVS


class WrongUse(EnvRLError, ValueError):
    """The command line asks for something that does not exist or cannot be."""


def full_env_id(name: str) -> str:
    """The registered id for ``name``: itself, or what a short form (``alfworld``) stands for.

    Ids of other packages pass as they are, also in the form ``package:Id-v0``.

    Raises:
        WrongUse: nothing of this name is registered.
    """
    if name in gymnasium.registry or ":" in name:
        return name
    short = {env_id.split("/", 1)[1].lower(): env_id for env_id in ENVS}
    short |= {key.rsplit("-v", 1)[0]: env_id for key, env_id in short.items()}
    if name.lower() in short:
        return short[name.lower()]
    near = difflib.get_close_matches(name, [*ENVS, *short], n=1)
    hint = f"; did you mean {short.get(near[0], near[0])}?" if near else ""
    raise WrongUse(f"no environment is called {name!r}; EnvRL has {', '.join(ENVS)}{hint}")


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


def kwargs_rule(field: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[dict[str, Any]] | None:
    """How tyro reads a field of type ``dict[str, Any]``: see `parse_env_kwargs`."""
    if field.type != dict[str, Any]:
        return None
    return PrimitiveConstructorSpec(
        nargs="*",
        metavar="[KEY=VALUE|JSON ...]",
        instance_from_str=parse_env_kwargs,
        is_instance=lambda value: isinstance(value, dict),
        str_from_instance=lambda value: [f"{key}={json.dumps(item)}" for key, item in value.items()],
    )


def make_env(name: str, kwargs: dict[str, Any], **make_kwargs: Any) -> gymnasium.Env[str, str]:
    """``gymnasium.make`` with errors that say what to change.

    Args:
        name: as for `full_env_id`.
        kwargs: keyword arguments of the environment.
        make_kwargs: those of ``gymnasium.make`` itself.

    Raises:
        WrongUse: no such environment, or it does not take these arguments.
        DataNotFound, MissingExtra: as the environment says.
    """
    try:
        return gymnasium.make(full_env_id(name), **make_kwargs, **kwargs)
    except GymnasiumError as error:
        raise WrongUse(str(error)) from error
    except ModuleNotFoundError as error:
        raise WrongUse(f"cannot make {name!r}: {error}; install the package that registers it") from error
    except (TypeError, ValueError) as error:
        raise WrongUse(f"{name} cannot be made with {json.dumps(kwargs, default=repr)}: {error}") from error
