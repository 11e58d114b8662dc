"""Evaluation: success on fixed held-out tasks, with an interval and by kind of task."""

from collections.abc import MutableSequence, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import gymnasium

from envrl.agents.policies.model_policy import ModelPolicy
from envrl.agents.pool import EnvPool, as_pool
from envrl.agents.processes import Processes
from envrl.agents.rollout import Episode, Progress, Task, rollout
from envrl.agents.statistics import Interval, pass_at_k, success_interval
from envrl.agents.tasks import task_type


@dataclass(frozen=True)
class Evaluation:
    """Result over n episodes, of which faulted ones are left out and counted.

    low, high: 95 % interval of the success rate, see `success_interval`. mean_return, mean_steps: over episodes.
    by_type: kind of task -> (successes, episodes). outcomes: task id (the task's number where the environment names
    none) -> whether each of its samples solved it, for paired comparisons and pass@k.
    """

    n: int
    successes: int
    low: float
    high: float
    mean_return: float
    mean_steps: float
    faulted: int
    by_type: dict[str, tuple[int, int]]
    outcomes: dict[str, list[bool]]

    @property
    def success_rate(self) -> float:
        """Share of episodes that were solved; NaN without episodes."""
        return self.successes / self.n if self.n else float("nan")

    def pass_at(self, k: int) -> float:
        """Chance that one of ``k`` samples solves a task, mean over the tasks that have so many; NaN without any."""
        rates = [pass_at_k(len(o), sum(o), k) for o in self.outcomes.values() if len(o) >= k]
        return sum(rates) / len(rates) if rates else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form, with the rate."""
        return {"success_rate": self.success_rate, **asdict(self)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Evaluation":
        """The inverse of `to_dict`; other keys are left out."""
        rest = {field.name: values[field.name] for field in fields(cls)}
        rest["by_type"] = {kind: tuple(pair) for kind, pair in rest["by_type"].items()}
        return cls(**rest)


def summarize(
    episodes: Sequence[Episode], env: gymnasium.Env[str, str], interval: Interval | None = None
) -> Evaluation:
    """Figures of finished episodes.

    Args:
        episodes: several of a task are its samples.
        env: for kinds of tasks.
        interval: how ``low`` and ``high`` are made.
    """
    sound = [e for e in episodes if e.fault is None]
    by_type: dict[str, tuple[int, int]] = {}
    outcomes: dict[str, list[bool]] = {}
    for episode in sound:
        task = episode.task_id or f"#{episode.group}"
        outcomes.setdefault(task, []).append(episode.success)
        kind = task_type(env, episode.task_id)
        won, n = by_type.get(kind, (0, 0))
        by_type[kind] = (won + episode.success, n + 1)
    successes = sum(e.success for e in sound)
    low, high = success_interval(list(outcomes.values()), interval)
    count = max(len(sound), 1)
    return Evaluation(
        n=len(sound),
        successes=successes,
        low=low,
        high=high,
        mean_return=sum(sum(e.rewards) for e in sound) / count,
        mean_steps=sum(len(e.transitions) for e in sound) / count,
        faulted=len(episodes) - len(sound),
        by_type=dict(sorted(by_type.items())),
        outcomes=outcomes,
    )


def evaluate_policy(
    policy: ModelPolicy,
    envs: EnvPool | MutableSequence[gymnasium.Env[str, str]],
    tasks: Sequence[Task],
    seed: int,
    progress: Progress | None = None,
    timeout: float = 0.0,
    max_tokens: int | None = None,
    samples: int = 1,
    interval: Interval | None = None,
    processes: Processes | None = None,
) -> tuple[Evaluation, list[Episode]]:
    """Play every task ``samples`` times; sampling follows from ``seed``, so evaluations differ by the model alone.

    The first sample of each task is the same however many there are. Several processes share the episodes.
    """
    processes = processes or Processes()
    everything = [task for _ in range(samples) for task in tasks]
    own = processes.slice(len(everything))
    if policy.lm is not None:
        policy.lm.model.eval()
    pool = as_pool(envs)
    episodes = rollout(
        pool,
        everything[own],
        policy,
        (seed,),
        label="evaluation",
        first=own.start,
        progress=progress,
        timeout=timeout,
        max_tokens=max_tokens,
    )
    episodes = processes.gather(episodes)
    if policy.lm is not None:
        policy.lm.model.train()
    return summarize(episodes, pool.example, interval), episodes
