"""Advantages: how good each action was against others of its group. Pure functions over NumPy arrays.

An advantage function is ``(EpisodeBatch, AdvantageConfig) -> list of arrays``, one advantage a step of every episode;
to add one, write it here and name it in `envrl.agents.algorithms`. Faulted episodes must be taken out before (see
`envrl.agents.samples`): they are in no group's statistics.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

#: below this standard deviation a group has no differences to learn from
_FLAT = 1e-6


@dataclass(frozen=True)
class EpisodeBatch:
    """What advantages are computed from.

    rewards: per episode, its step rewards. groups: per episode, its group id (episodes of one task).
    anchors: per episode and step, what identifies the state it acted in (GiGPO). values: per episode, a critic's value
    of the state of each step and of the state after the last one, ``(steps + 1,)`` (PPO).
    """

    rewards: Sequence[Sequence[float]]
    groups: Sequence[int]
    anchors: Sequence[Sequence[Hashable]]
    values: Sequence[np.ndarray] = ()


@dataclass(frozen=True)
class AdvantageConfig:
    """Options of the algorithms.

    gamma: discount of the episode's return. step_gamma: discount of the return from a step on (GiGPO, REINFORCE++,
    PPO). step_weight: weight of the step advantage (GiGPO's omega). normalize_std: divide by the standard deviation.
    leave_one_out: compare with the mean of the others instead of the mean of all. gae_lambda: PPO's trade of the
    critic's bias against the return's variance.
    """

    gamma: float = 0.96
    step_gamma: float = 0.96
    step_weight: float = 1.0
    normalize_std: bool = True
    leave_one_out: bool = False
    gae_lambda: float = 0.95


def discounted_returns(rewards: Sequence[float], gamma: float) -> np.ndarray:
    """Return from each step on, ``sum_k gamma^k r_{t+k}``, shape ``(steps,)``."""
    out = np.zeros(len(rewards))
    total = 0.0
    for t in range(len(rewards) - 1, -1, -1):
        total = rewards[t] + gamma * total
        out[t] = total
    return out


def group_relative(
    values: Sequence[float] | np.ndarray,
    keys: Sequence[Hashable],
    normalize_std: bool = True,
    leave_one_out: bool = False,
) -> np.ndarray:
    """Each value against the mean of those with the same key.

    Args:
        values: ``(n,)``.
        keys: ``(n,)`` group of each value.
        normalize_std: divide by the group's (population) standard deviation.
        leave_one_out: the mean of the group's other members instead of that of all.

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
            if leave_one_out:  # v - (sum - v) / (n - 1) = (v - mean) n / (n - 1)
                out[index] *= len(index) / (len(index) - 1)
    return out


def whiten(values: np.ndarray, scale: bool = True) -> np.ndarray:
    """Values ``(n,)`` minus their mean, over their (population) standard deviation if ``scale``; 0 if all are equal."""
    if len(values) == 0 or values.std() <= _FLAT:
        return np.zeros(len(values))
    return (values - values.mean()) / (values.std() if scale else 1.0)


def gae(rewards: Sequence[float], values: np.ndarray, gamma: float, lam: float) -> np.ndarray:
    """Generalised advantage estimation (arXiv 1506.02438, eq. 16), ``(steps,)``.

    Args:
        rewards: ``(steps,)``.
        values: ``(steps + 1,)``; the last one is the value of the state after the episode, 0 where it ended.
        gamma: discount.
        lam: 0 trusts the critic (one-step error), 1 the return.
    """
    out = np.zeros(len(rewards))
    total = 0.0
    for t in range(len(rewards) - 1, -1, -1):
        error = rewards[t] + gamma * values[t + 1] - values[t]
        total = error + gamma * lam * total
        out[t] = total
    return out


def _per_episode(values: np.ndarray, batch: EpisodeBatch) -> list[np.ndarray]:
    """Values of all steps of the batch, cut into episodes."""
    return np.split(values, np.cumsum([len(r) for r in batch.rewards])[:-1]) if batch.rewards else []


def grpo(batch: EpisodeBatch, config: AdvantageConfig) -> list[np.ndarray]:
    """GRPO with statistics over the episodes of a group (arXiv 2402.03300, outcome supervision).

    The return is discounted from the first step, so that of two successes the shorter is better.
    """
    returns = [float(discounted_returns(r, config.gamma)[0]) if len(r) else 0.0 for r in batch.rewards]
    relative = group_relative(returns, batch.groups, config.normalize_std, config.leave_one_out)
    return [np.full(len(r), a) for r, a in zip(batch.rewards, relative, strict=True)]


def rloo(batch: EpisodeBatch, config: AdvantageConfig) -> list[np.ndarray]:
    """RLOO (arXiv 2402.14740): an episode's return minus the mean return of the others of its group."""
    return grpo(batch, replace(config, normalize_std=False, leave_one_out=True))


def dr_grpo(batch: EpisodeBatch, config: AdvantageConfig) -> list[np.ndarray]:
    """Dr. GRPO (arXiv 2503.20783): no division by the standard deviation, which favours easy and hard tasks.

    Its other half, a loss that is not divided by an episode's own length, is the reduction ``constant``.
    """
    return grpo(batch, replace(config, normalize_std=False, leave_one_out=False))


def gigpo(batch: EpisodeBatch, config: AdvantageConfig) -> list[np.ndarray]:
    """GiGPO (arXiv 2505.10978): GRPO's advantage plus one among steps of a group that share an anchor state.

    A step whose anchor occurs once in its group has step advantage 0.
    """
    episode = grpo(batch, config)
    values = np.concatenate(
        [discounted_returns(r, config.step_gamma) for r in batch.rewards] or [np.zeros(0)]
    )
    keys = [(g, a) for g, anchors in zip(batch.groups, batch.anchors, strict=True) for a in anchors]
    step = group_relative(values, keys, config.normalize_std, config.leave_one_out)
    return [e + config.step_weight * s for e, s in zip(episode, _per_episode(step, batch), strict=True)]


def reinforce_plus_plus(batch: EpisodeBatch, config: AdvantageConfig) -> list[np.ndarray]:
    """REINFORCE++ (arXiv 2501.03262): returns from each step on, normalised over the whole batch, no critic.

    The paper takes the divergence off the reward; here it stays in the loss (`kl`).
    """
    returns = [discounted_returns(r, config.step_gamma) for r in batch.rewards]
    flat = whiten(np.concatenate([*returns, np.zeros(0)]), config.normalize_std)
    return _per_episode(flat, batch)


def reinforce_plus_plus_baseline(batch: EpisodeBatch, config: AdvantageConfig) -> list[np.ndarray]:
    """REINFORCE++ with baseline (arXiv 2501.03262): returns minus the group's mean, then over the batch.

    For groups of several episodes of a task; the statistics of the batch are over its steps.
    """
    relative = np.concatenate([*dr_grpo(batch, config), np.zeros(0)])
    return _per_episode(whiten(relative, config.normalize_std), batch)


def ppo(batch: EpisodeBatch, config: AdvantageConfig) -> list[np.ndarray]:
    """PPO's advantages (arXiv 1707.06347): GAE over the steps of an episode, normalised over the batch.

    Raises:
        ValueError: the batch has no critic's values.
    """
    raw = np.concatenate([*_gae(batch, config), np.zeros(0)])
    return _per_episode(whiten(raw, config.normalize_std), batch)


def value_targets(batch: EpisodeBatch, config: AdvantageConfig) -> list[np.ndarray]:
    """What the critic should have said: advantage (before normalisation) plus value, ``(steps,)`` an episode."""
    return [a + v[:-1] for a, v in zip(_gae(batch, config), batch.values, strict=True)]


def _gae(batch: EpisodeBatch, config: AdvantageConfig) -> list[np.ndarray]:
    if len(batch.values) != len(batch.rewards):
        raise ValueError(
            f"PPO needs a critic's values of each episode, found {len(batch.values)} for {len(batch.rewards)}"
        )
    return [
        gae(r, v, config.step_gamma, config.gae_lambda)
        for r, v in zip(batch.rewards, batch.values, strict=True)
    ]
