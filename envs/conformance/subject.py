"""What is checked, and how a check says what it found."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import gymnasium

from envrl.envs.conformance.walks import Factory, first_difference
from envrl.envs.core import ActionStatus, Info

_LONGEST = 300
_STATUSES = get_args(ActionStatus)


class Skipped(Exception):
    """Raised by a check that does not apply to a subject; the message says why."""


@dataclass(frozen=True)
class Subject:
    """An environment under examination.

    Attributes:
        factory: makes the environment, wrappers and all; a new one at each call.
        seeds: seeds that the checks play with.
        steps: steps of a random walk.
        winning_actions: actions that win from the present state of the unwrapped environment, if known.
        vectors: which vectors to build.
    """

    factory: Factory
    seeds: tuple[int, ...]
    steps: int
    winning_actions: Callable[[Any], Iterable[str]] | None
    vectors: Literal["full", "quick"]

    def env(self) -> Any:
        """A new environment without its wrappers."""
        return self.factory().unwrapped


def claim(holds: bool, what: str, expected: object, found: object, after: Sequence[str] = ()) -> None:
    """Raise AssertionError unless ``holds``; ``after`` are the actions since reset."""
    if not holds:
        trail = f", after the actions {_short(list(after)[-12:])}" if after else ""
        raise AssertionError(f"{what}: expected {_short(expected)}, found {_short(found)}{trail}")


def attempt(what: str, call: Callable[[], Any], after: Sequence[str] = ()) -> Any:
    """The value of ``call()``; AssertionError if it raises."""
    try:
        return call()
    except Exception as error:
        trail = f", after the actions {_short(list(after)[-12:])}" if after else ""
        raise AssertionError(
            f"{what}: expected no exception, found {type(error).__name__}: {_short(str(error))}{trail}"
        ) from error


def look(env: Any) -> tuple[str, dict[str, Any]]:
    """(observation, info) of the present state, without a step."""
    seen: tuple[str, dict[str, Any]] = env.set_state(env.get_state())
    return seen


def claim_info(env: gymnasium.Env[Any, Any], observation: Any, info: Any, after: Sequence[str]) -> None:
    """The observation and the contract's keys of ``info`` have the right types."""
    claim(type(observation) is str, "type of the observation", "str", type(observation).__name__, after)
    claim(
        env.observation_space.contains(observation), "observation", f"a member of {env.observation_space}",
        f"{len(observation)} characters", after,
    )  # fmt: skip
    claim(type(info) is dict, "type of info", "dict", type(info).__name__, after)
    missing = [key for key in Info.__annotations__ if key not in info]
    claim(not missing, "keys of info", f"all of {', '.join(Info.__annotations__)}", f"no {missing}", after)
    for key in ("goal", "task_id", "state_key", "action_status"):
        claim(type(info[key]) is str, f"info[{key!r}]", "a str", info[key], after)
    for key in ("admissible_actions", "action_templates"):
        value = info[key]
        right = type(value) is tuple and all(type(text) is str for text in value)
        claim(right, f"info[{key!r}]", "a tuple of str", value, after)
    for key in ("is_success", "text_cut"):
        claim(type(info[key]) is bool, f"info[{key!r}]", "a bool", info[key], after)
    claim(
        info["fault"] is None or type(info["fault"]) is str,
        "info['fault']",
        "a str or None",
        info["fault"],
        after,
    )
    claim(
        info["action_status"] in _STATUSES, "info['action_status']", _STATUSES, info["action_status"], after
    )
    claim(info["state_key"] != "", "info['state_key']", "a digest", "an empty str", after)
    claim(info["task_id"] != "", "info['task_id']", "an id", "an empty str", after)
    if not after:
        claim(
            info["action_status"] == "none",
            "info['action_status'] after reset",
            "none",
            info["action_status"],
        )
    else:
        claim(
            info["action_status"] != "none", "info['action_status'] after a step", "not none", "none", after
        )


def claim_same(what: str, expected: Any, found: Any, after: list[str] | tuple[str, ...] = ()) -> None:
    """Raise AssertionError at the first place where two JSON-like values differ."""
    difference = first_difference(expected, found)
    if difference is not None:
        path, one, other = difference
        claim(False, f"{what}, at {path}" if path else what, one, other, after)


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    text = text.encode("utf-8", "backslashreplace").decode()  # an error that cannot be printed helps nobody
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"
