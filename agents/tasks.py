"""Making environments and choosing tasks."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np

import envrl.envs.core
from envrl.agents.pool import EnvPool, LocalPool, RayPool
from envrl.agents.rollout import Task
from envrl.agents.workers import ray_actors
from envrl.envs.lookup import make_env


def make_envs(
    env_id: str, count: int, split: str | None, env_kwargs: dict[str, Any]
) -> list[gymnasium.Env[str, str]]:
    """``count`` environments of one kind.

    Args:
        env_id: Gymnasium id, or its short form (``alfworld``).
        count: how many.
        split: given as the argument ``split``; None or ``""`` gives none.
        env_kwargs: other arguments.

    Raises:
        WrongUse: there is no such environment, or it does not take these arguments.
    """
    arguments = {**env_kwargs, "split": split} if split else dict(env_kwargs)
    return [make_env(env_id, arguments, disable_env_checker=True) for _ in range(count)]


def make_pool(
    workers: str, env_id: str, count: int, split: str | None, env_kwargs: dict[str, Any]
) -> EnvPool:
    """``count`` environments of one kind.

    Args:
        workers: ``local`` or ``ray:N``.
        env_id, count, split, env_kwargs: as for `make_envs`.

    Raises:
        ValueError: ``workers`` is neither.
        MissingExtra: Ray is asked for and not installed.
    """
    actors = ray_actors(workers)
    if not actors:
        return LocalPool(make_envs(env_id, count, split, env_kwargs))
    (example,) = make_envs(env_id, 1, split, env_kwargs)
    return RayPool(example, count, actors)


def task_ids(env: gymnasium.Env[str, str]) -> Sequence[str] | None:
    """Ids of the environment's split, or None for one that does not name its tasks."""
    inner = env.unwrapped
    return inner.task_ids() if isinstance(inner, envrl.envs.core.TextEnv) else None


def training_tasks(
    ids: Sequence[str] | None, groups: int, group_size: int, rng: np.random.Generator
) -> list[Task]:
    """``group_size`` episodes of each of ``groups`` tasks drawn with replacement.

    An environment that does not name its tasks gets one seed a group.
    """
    tasks = []
    for group in range(groups):
        if ids is None:
            seed = int(rng.integers(2**31))
            tasks += [Task(None, group, seed)] * group_size
        else:
            tasks += [Task(ids[int(rng.integers(len(ids)))], group)] * group_size
    return tasks


def evaluation_tasks(ids: Sequence[str] | None, count: int) -> list[Task]:
    """The first ``count`` tasks of the split, the same at every call; fewer if it has fewer."""
    if ids is None:
        return [Task(None, i, seed=10_000 + i) for i in range(count)]
    return [Task(ids[i], i) for i in range(min(count, len(ids)))]


def task_type(env: gymnasium.Env[str, str], task_id: str) -> str:
    """The kind of a task, for results by kind; ``""`` where the environment knows none."""
    inner = env.unwrapped
    return inner.task_type(task_id) if isinstance(inner, envrl.envs.core.TextEnv) else ""


def count_types(env: gymnasium.Env[str, str], tasks: Sequence[Task]) -> Counter[str]:
    """How many tasks of each kind."""
    return Counter(task_type(env, task.task_id or "") for task in tasks)
