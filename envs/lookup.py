"""Environments by name: short forms of ids, and error messages that say what to change."""

import difflib
import json
from typing import Any

import gymnasium
from gymnasium.error import Error as GymnasiumError

from envrl.envs.errors import WrongUse


def full_env_id(name: str) -> str:
    """The registered id for ``name``: itself, or what a short form (``alfworld``) stands for.

    Ids of other packages pass as they are, also in the form ``package:Id-v0``.

    Raises:
        WrongUse: nothing of this name is registered.
    """
    if name in gymnasium.registry or ":" in name:
        return name
    ours = [env_id for env_id in gymnasium.registry if env_id.startswith("EnvRL/")]
    short = {env_id.split("/", 1)[1].lower(): env_id for env_id in ours}
    short |= {key.rsplit("-v", 1)[0]: env_id for key, env_id in short.items()}
    if name.lower() in short:
        return short[name.lower()]
    near = difflib.get_close_matches(name, [*ours, *short], n=1)
    hint = f"; did you mean {short.get(near[0], near[0])}?" if near else ""
    raise WrongUse(f"no environment is called {name!r}; EnvRL has {', '.join(ours)}{hint}")


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
    env_id = full_env_id(name)
    try:
        return gymnasium.make(env_id, **make_kwargs, **kwargs)
    except GymnasiumError as error:
        raise WrongUse(str(error)) from error
    except ModuleNotFoundError as error:
        raise WrongUse(f"cannot make {name!r}: {error}; install the package that registers it") from error
    except (TypeError, ValueError) as error:
        raise WrongUse(f"{name} cannot be made with {json.dumps(kwargs, default=repr)}: {error}") from error
