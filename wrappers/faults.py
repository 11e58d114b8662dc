"""Faults: an environment that raises, hangs or answers rubbish costs its episode and nothing else.

A faulted episode is masked: it is counted, and learned from in no way. The environment that failed is replaced, since
nobody knows in what state it is.
"""

import math
import signal
import threading
from collections.abc import Iterator, MutableMapping, MutableSequence
from contextlib import contextmanager, suppress
from numbers import Real
from types import FrameType
from typing import Any, NamedTuple

import gymnasium

from envrl.envs.errors import DataNotFound, InvalidData, InvalidTask, MissingExtra

#: mistakes in the settings of a run: another try would end alike, so they end the run
MISTAKES = (DataNotFound, InvalidData, InvalidTask, MissingExtra)


class Fault(NamedTuple):
    """Why an episode cannot be used."""

    reason: str


#: environments by number
Envs = MutableSequence[gymnasium.Env[str, str]] | MutableMapping[int, gymnasium.Env[str, str]]
#: what `reset` gives: (observation, info)
Begun = tuple[str, dict[str, Any]]
#: what `step` gives: (observation, reward, terminated, truncated, info)
Outcome = tuple[str, float, bool, bool, dict[str, Any]]


class TimedOut(Exception):
    """An environment did not answer in time."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimedOut` inside the block after ``seconds``; 0 sets no limit.

    The operating system's alarm does it, so waiting for a socket, sleeping and endless loops are all interrupted. It
    works in the main thread on POSIX systems; elsewhere there is no limit.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if not seconds or not in_main or not hasattr(signal, "SIGALRM"):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise TimedOut(f"no answer within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    # again and again: code that swallows the first exception is interrupted once more
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def safe_reset(
    env: gymnasium.Env[str, str], seed: int | None, options: dict[str, Any] | None, timeout: float
) -> Begun | Fault:
    """``env.reset``, or why it failed.

    Raises:
        EnvRLError: data or task are missing; this would not go away.
    """
    try:
        with time_limit(timeout):
            observation, info = env.reset(seed=seed, options=options)
        return _text(observation), _info(info)
    except MISTAKES:
        raise
    except Exception as error:
        return Fault(f"reset: {error_words(error)}")


def safe_step(env: gymnasium.Env[str, str], action: str, timeout: float) -> Outcome | Fault:
    """``env.step`` with the types it must have, or why it failed."""
    try:
        with time_limit(timeout):
            observation, reward, terminated, truncated, info = env.step(action)
        if not isinstance(reward, Real) or not math.isfinite(reward):
            raise TypeError(f"expected a finite number as reward, got {reward!r}")
        return _text(observation), float(reward), bool(terminated), bool(truncated), _info(info)
    except Exception as error:
        return Fault(f"step: {error_words(error)}")


def renewed(env: gymnasium.Env[str, str], timeout: float) -> gymnasium.Env[str, str]:
    """Another environment like one that failed; the same where it cannot be made again."""
    with suppress(Exception), time_limit(timeout):  # it failed before, and is not used again
        env.close()
    if env.spec is None:
        return env
    try:
        with time_limit(timeout):
            return gymnasium.make(env.spec)
    except Exception:  # its server may be down for now: the next reset tries again
        return env


def reset_in_place(
    envs: Envs,
    index: int,
    seed: int | None,
    options: dict[str, Any] | None,
    timeout: float,
) -> Begun | Fault:
    """`safe_reset` of one environment of several; it is replaced where it failed.

    Raises:
        EnvRLError: data or task are missing.
    """
    begun = safe_reset(envs[index], seed, options, timeout)
    if isinstance(begun, Fault):
        envs[index] = renewed(envs[index], timeout)
    return begun


def step_in_place(envs: Envs, index: int, action: str, timeout: float) -> Outcome | Fault:
    """`safe_step` of one environment of several; it is replaced where it failed."""
    outcome = safe_step(envs[index], action, timeout)
    if isinstance(outcome, Fault):
        envs[index] = renewed(envs[index], timeout)
    return outcome


def _text(observation: Any) -> str:
    if not isinstance(observation, str):
        raise TypeError(f"expected a str as observation, got {type(observation).__name__}")
    return observation


def _info(info: Any) -> dict[str, Any]:
    if not isinstance(info, dict):
        raise TypeError(f"expected a dict as info, got {type(info).__name__}")
    info = dict(info)  # some environments go on to change theirs
    for key in ("admissible_actions", "action_templates"):
        actions = info.get(key)
        if actions is not None:
            if isinstance(actions, str) or not all(isinstance(action, str) for action in actions):
                raise TypeError(f"expected strings in info[{key!r}], got {actions!r:.80}")
            info[key] = tuple(actions)
    if not isinstance(info.get("goal", ""), str):
        raise TypeError(f"expected a str in info['goal'], got {type(info['goal']).__name__}")
    return info


def error_words(error: Exception) -> str:
    """An error on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
