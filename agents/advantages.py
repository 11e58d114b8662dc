"""Advantages: how good each action was against others of its group. Pure functions over NumPy arrays.

An algorithm is a function ``(EpisodeBatch, AdvantageConfig) -> list of arrays``, one advantage a step of every
episode; to add one, write it here and name it in `ALGORITHMS`. Faulted episodes must be taken out before (see
`envrl.agents.trainer`): they are in no group's statistics.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

#: below this standard deviation a group has no differences to learn from
_FLAT = 1e-6


@dataclass(frozen=True)
class EpisodeBatch:
    """What advantages are computed from.

    rewards: per episode, its step rewards. groups: per episode, its group id (episodes of one task).
    anchors: per episode and step, what identifies the state it acted in (GiGPO).
    """

    rewards: Sequence[Sequence[float]]
    groups: Sequence[int]
    anchors: Sequence[Sequence[Hashable]]


@dataclass(frozen=True)
class AdvantageConfig:
    """Options of the algorithms.

    gamma: discount of the episode's return. step_gamma: discount of the return from a step on (GiGPO).
    step_weight: weight of the step advantage (GiGPO's omega). normalize_std: divide by the group's standard deviation.
    """

    gamma: float = 0.96
    step_gamma: float = 0.96
    step_weight: float = 1.0
    normalize_std: bool = True


def discounted_returns(rewards: Sequence[float], gamma: float) -> np.ndarray:
    """Return from each step on, ``sum_k gamma^k r_{t+k}``, shape ``(steps,)``."""
    out = np.zeros(len(rewards))
    total = 0.0
    for t in range(len(rewards) - 1, -1, -1):
        total = rewards[t] + gamma * total
        out[t] = total
    return out


def group_relative(
    values: Sequence[float] | np.ndarray, keys: Sequence[Hashable], normalize_std: bool = True
) -> np.ndarray:
    """Each value against the mean of those with the same key.

    Args:
        values: ``(n,)``.
        keys: ``(n,)`` group of each value.
        normalize_std: divide by the group's (population) standard deviation.

    Returns:
        ``(n,)``; 0 in a group of one and in a group whose values are all equal.
    """
    given = np.asarray(values, dtype=float)
    members: dict[Hashable, list[int]] = defaultdict(list)
    for i, key in enumerate(keys):
        members[key].append(i)
    out = np.zeros(len(given))
    for index in members.values():
        group = given[index]
        deviation = group.std()
        if len(index) > 1 and deviation > _FLAT:
            out[index] = (group - group.mean()) / (deviation if normalize_std else 1.0)
    return out


def grpo(batch: EpisodeBatch, config: AdvantageConfig) -> list[np.ndarray]:
    """GRPO with statistics over the episodes of a group (arXiv 2402.03300, outcome supervision).

    The return is discounted from the first step, so that of two successes the shorter is better.
    """
    returns = [float(discounted_returns(r, config.gamma)[0]) if len(r) else 0.0 for r in batch.rewards]
    relative = group_relative(returns, batch.groups, config.normalize_std)
    return [np.full(len(r), a) for r, a in zip(batch.rewards, relative, strict=True)]


def gigpo(batch: EpisodeBatch, config: AdvantageConfig) -> list[np.ndarray]:
    """GiGPO (arXiv 2505.10978): GRPO's advantage plus one among steps of a group that share an anchor state.

    A step whose anchor occurs once in its group has step advantage 0.
    """
    episode = grpo(batch, config)
    values = np.concatenate(
        [discounted_returns(r, config.step_gamma) for r in batch.rewards] or [np.zeros(0)]
    )
    keys = [(g, a) for g, anchors in zip(batch.groups, batch.anchors, strict=True) for a in anchors]
    step = group_relative(values, keys, config.normalize_std)
    ends = np.cumsum([len(r) for r in batch.rewards])
    return [e + config.step_weight * step[end - len(e) : end] for e, end in zip(episode, ends, strict=True)]


Algorithm = Literal["grpo", "gigpo"]
ALGORITHMS: dict[Algorithm, Callable[[EpisodeBatch, AdvantageConfig], list[np.ndarray]]] = {
    "grpo": grpo,
    "gigpo": gigpo,
}
