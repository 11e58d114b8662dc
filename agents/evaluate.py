"""Evaluation: success on fixed held-out tasks, with an interval and by kind of task."""

from collections.abc import MutableSequence, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import gymnasium

from envrl.agents.policies.model_policy import ModelPolicy
from envrl.agents.rollout import Episode, Progress, Task, rollout
from envrl.agents.statistics import wilson_interval
from envrl.agents.tasks import task_type


@dataclass(frozen=True)
class Evaluation:
    """Result over n episodes; faulted episodes are left out and counted.

    success_rate with its 95 % Wilson interval; mean_return and mean_steps over episodes; by_type: kind of task ->
    (successes, episodes); outcomes: task id -> solved, for paired comparisons.
    """

    n: int
    successes: int
    low: float
    high: float
    mean_return: float
    mean_steps: float
    faulted: int
    by_type: dict[str, tuple[int, int]]
    outcomes: dict[str, bool]

    @property
    def success_rate(self) -> float:
        """Share of episodes that were solved; NaN without episodes."""
        return self.successes / self.n if self.n else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form, with the rate."""
        return {"success_rate": self.success_rate, **asdict(self)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Evaluation":
        """The inverse of `to_dict`."""
        rest = {key: value for key, value in values.items() if key != "success_rate"}
        rest["by_type"] = {kind: tuple(pair) for kind, pair in rest["by_type"].items()}
        return cls(**rest)


def summarize(episodes: Sequence[Episode], env: gymnasium.Env[str, str]) -> Evaluation:
    """Figures of finished episodes."""
    sound = [e for e in episodes if e.fault is None]
    by_type: dict[str, tuple[int, int]] = {}
    for episode in sound:
        kind = task_type(env, episode.task_id)
        won, n = by_type.get(kind, (0, 0))
        by_type[kind] = (won + episode.success, n + 1)
    successes = sum(e.success for e in sound)
    low, high = wilson_interval(successes, len(sound))
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
        outcomes={e.task_id: e.success for e in sound},
    )


def evaluate_policy(
    policy: ModelPolicy,
    envs: MutableSequence[gymnasium.Env[str, str]],
    tasks: Sequence[Task],
    seed: int,
    progress: Progress | None = None,
    timeout: float = 0.0,
    max_tokens: int | None = None,
) -> tuple[Evaluation, list[Episode]]:
    """Play every task once; sampling follows from ``seed``, so evaluations differ by the model alone."""
    if policy.lm is not None:
        policy.lm.model.eval()
    episodes = rollout(
        envs,
        tasks,
        policy,
        (seed,),
        label="evaluation",
        progress=progress,
        timeout=timeout,
        max_tokens=max_tokens,
    )
    if policy.lm is not None:
        policy.lm.model.train()
    return summarize(episodes, envs[0]), episodes
