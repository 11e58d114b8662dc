"""The conformance kit: `check_text_env` finds out whether an environment keeps the contract.

The contract is that of `envrl.envs.core`. The kit serves environments of any origin, registered or not:

    from envrl.envs.testing import check_text_env

    check_text_env("EnvRL/ALFWorld-v0", kwargs={"split": "valid_seen"})
    check_text_env(MyEnv)
    check_text_env(MyEnv, kwargs={"size": 3}, winning_actions=lambda env: ["open box", "take coin"])

A check that fails raises AssertionError with what was expected, what was found and the actions before it.
"""

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium

from envrl.envs.conformance import rebuilding, resets, states, steps, vectors
from envrl.envs.conformance.subject import Skipped, Subject, claim
from envrl.envs.conformance.walks import Factory

#: what the kit needs of the unwrapped environment, besides Gymnasium's interface
_METHODS = ("get_state", "set_state", "task_ids", "describe_state", "classify_action", "expert_actions")

#: the checks by name, in order: what later ones build on comes first
CHECKS: dict[str, Callable[[Subject], None]] = {
    "info": resets.check_info,
    "gymnasium": resets.check_gymnasium,
    "tasks": resets.check_tasks,
    "seeds": resets.check_seeds,
    "snapshots": states.check_snapshots,
    "actions": steps.check_actions,
    "admissible": steps.check_admissible,
    "state_keys": states.check_state_keys,
    "end": steps.check_end,
    "experts": steps.check_experts,
    "spec": rebuilding.check_spec,
    "processes": rebuilding.check_processes,
    "vectors": vectors.check_vectors,
}


@dataclass(frozen=True)
class Conformance:
    """What `check_text_env` found: the checks that passed, and those that did not apply, with the reason."""

    passed: tuple[str, ...]
    skipped: dict[str, str]

    def __str__(self) -> str:
        lines = [f"passed: {', '.join(self.passed)}"]
        return "\n".join(lines + [f"skipped: {name} ({reason})" for name, reason in self.skipped.items()])


def check_text_env(
    make: str | Callable[..., gymnasium.Env[Any, Any]],
    *,
    kwargs: Mapping[str, Any] | None = None,
    seeds: Sequence[int] = (0, 1, 2),
    steps: int = 30,
    winning_actions: Callable[[Any], Iterable[str]] | None = None,
    vectors: Literal["full", "quick"] = "full",
    only: Collection[str] | None = None,
    skip: Collection[str] = (),
) -> Conformance:
    """Check that an environment keeps the contract.

    Args:
        make: a registered id, or a class or function that makes the environment. Other processes must be able
            to import what it is made of.
        kwargs: arguments for ``make``.
        seeds: seeds to play with.
        steps: length of a random walk.
        winning_actions: given the unwrapped environment at the start of a task, actions that win it; by
            default the privileged expert is asked, and without one the end is sought at random.
        vectors: ``full`` builds all 12 kinds of async vector, ``quick`` three of them.
        only: names of `CHECKS` to run; all by default.
        skip: names of `CHECKS` to leave out.

    Returns:
        The names of what passed, and why the rest does not apply.

    Raises:
        AssertionError: a check failed.
        ValueError: ``only`` or ``skip`` names no check.
    """
    unknown = sorted((set(only or ()) | set(skip)) - set(CHECKS))
    if unknown:
        raise ValueError(f"checks are {', '.join(CHECKS)}; found {unknown[0]!r}")
    subject = Subject(_factory(make, dict(kwargs or {})), tuple(seeds), steps, winning_actions, vectors)
    env = subject.env()
    missing = [name for name in _METHODS if not callable(getattr(env, name, None))]
    claim(not missing, "methods of the environment", "those of envrl.envs.core.TextEnv", f"no {missing}")
    passed, skipped = [], {}
    for name, check in CHECKS.items():
        if name in skip or (only is not None and name not in only):
            continue
        try:
            check(subject)
            passed.append(name)
        except Skipped as reason:
            skipped[name] = str(reason)
        except AssertionError as error:
            raise AssertionError(f"[{name}] {error}") from error
        except Exception as error:
            raise AssertionError(
                f"[{name}] expected no exception, found {type(error).__name__}: {error}"
            ) from error
    return Conformance(tuple(passed), skipped)


def _factory(make: str | Callable[..., gymnasium.Env[Any, Any]], kwargs: dict[str, Any]) -> Factory:
    if isinstance(make, str):
        # A spec and not the id: another process need not have registered it.
        spec = gymnasium.spec(make)
        return functools.partial(gymnasium.make, spec, **kwargs)
    return functools.partial(make, **kwargs) if kwargs else make
