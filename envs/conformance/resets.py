"""Checks of resets: Gymnasium's own, the keys of ``info``, tasks and seeds."""

import math
import random
import warnings
from functools import partial
from typing import Any

import numpy as np
from gymnasium.utils.env_checker import check_env

from envrl.envs.conformance.subject import Subject, attempt, claim, claim_info, claim_same, look
from envrl.envs.conformance.walks import Walker, facts, walk
from envrl.envs.errors import InvalidTask


def check_gymnasium(subject: Subject) -> None:
    """Gymnasium's own `check_env` passes, without a warning."""
    env = subject.env()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        attempt("gymnasium's check_env", lambda: check_env(env, skip_render_check=env.spec is None))
    env.close()


def check_info(subject: Subject) -> None:
    """``info`` has the contract's keys and types; rewards and flags are in order."""
    env = subject.env()
    for seed in subject.seeds:
        walker, trail = Walker(seed), list[str]()
        observation, info = env.reset(seed=seed)
        claim_info(env, observation, info, [])
        for _ in range(subject.steps):
            trail.append(walker.pick(info))
            step = partial(env.step, trail[-1])
            observation, reward, terminated, truncated, info = attempt("step", step, trail)
            claim_info(env, observation, info, trail)
            number = isinstance(reward, int | float | np.floating) and math.isfinite(reward)
            claim(number, "reward", "a finite number", reward, trail)
            flags = (terminated, truncated)
            claim(
                all(type(flag) is bool for flag in flags), "terminated, truncated", "two bool", flags, trail
            )
            # Time limits belong to the registration: by itself an environment truncates on a fault only.
            claim(
                truncated == (info["fault"] is not None),
                "truncated",
                "True iff there is a fault",
                flags,
                trail,
            )
            if terminated or truncated:
                break


def check_tasks(subject: Subject) -> None:
    """``reset(options={"task_id": ...})`` brings a task back exactly; what is none is refused."""
    env, other = subject.env(), subject.env()
    ids = env.task_ids()
    claim(len(ids) > 0, "task_ids()", "at least one", "none")
    for task_id in dict.fromkeys((ids[0], ids[len(ids) // 2], ids[len(ids) - 1])):
        claim(type(task_id) is str, "task_ids()", "str", task_id)
        begun = _begin(env, task_id)
        claim(begun[1]["task_id"] == task_id, f"reset to task {task_id!r}", task_id, begun[1]["task_id"])
        walker, info = Walker(0), begun[1]
        for _ in range(subject.steps // 2):
            info = env.step(walker.pick(info))[4]
        for what, again in (("the same", _begin(env, task_id)), ("another", _begin(other, task_id))):
            claim_same(f"task {task_id!r} begun again in {what} environment", begun, again)
    env.reset(options={"task_id": ids[0]})
    before = look(env)
    for wrong, error in (
        ({"task_id": "no such task \x00"}, InvalidTask),
        ({"no such option": 1}, ValueError),
    ):
        try:
            env.reset(options=wrong)
            found = "none"
        except Exception as caught:
            found = type(caught).__name__
            if isinstance(caught, error):
                continue
        raise AssertionError(f"reset(options={wrong!r}): expected {error.__name__}, found {found}")
    claim_same("the running task after a reset that was refused", before, look(env))


def check_seeds(subject: Subject) -> None:
    """A seed fixes tasks and answers; other seeds give other tasks; no global generator is used."""
    one, other = subject.env(), subject.env()
    globals_before = repr((random.getstate(), np.random.get_state()))
    for seed in subject.seeds:
        said = walk(one, seed, subject.steps)
        for what, env in (("another", other), ("the same", one)):
            again = walk(env, seed, subject.steps)
            claim_same(f"the walk of seed {seed} again in {what} environment", said, again)
    drawn = {one.reset(seed=seed)[1]["task_id"] for seed in range(32)}
    if len(one.task_ids()) > 1:
        claim(len(drawn) > 1, "tasks of 32 seeds", "several", drawn)
    globals_after = repr((random.getstate(), np.random.get_state()))
    claim(globals_before == globals_after, "global random generators", "untouched", "advanced or seeded")


def _begin(env: Any, task_id: str) -> list[Any]:
    observation, info = env.reset(seed=0, options={"task_id": task_id})
    return [observation, facts(info)]
