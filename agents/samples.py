"""What an update learns from: episodes with the advantage of each step, made from a rollout."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from envrl.agents.advantages import EpisodeBatch, value_targets
from envrl.agents.algorithms import ALGORITHMS
from envrl.agents.config import TrainConfig
from envrl.agents.critic import state_values
from envrl.agents.heads import Heads
from envrl.agents.models import LanguageModel
from envrl.agents.objectives import step_weights
from envrl.agents.prompts import EpisodeFormat, TokenSequence
from envrl.agents.rollout import Episode
from envrl.wrappers.transition import Transition


@dataclass(frozen=True)
class Sample:
    """An episode to learn from.

    transitions: its rows. tokens: the same in tokens. weights: of its steps in the objectives. advantages: of each
    step. values, value_targets: of each step under the critic that saw the rollout, and what it should have said; None
    without a critic. factor: on the objectives' losses of its steps.
    """

    transitions: Sequence[Transition]
    tokens: TokenSequence
    weights: Sequence[float]
    advantages: np.ndarray
    values: np.ndarray | None = None
    value_targets: np.ndarray | None = None
    factor: float = 1.0

    @property
    def informative(self) -> bool:
        """Whether any of its actions was better or worse than others, or its values can be learned."""
        if self.value_targets is not None:
            return True
        return bool(np.any(self.advantages != 0)) and bool(self.tokens.decisions)


@dataclass(frozen=True)
class Recorded:
    """A recorded episode for the objectives alone."""

    transitions: Sequence[Transition]
    tokens: TokenSequence
    weights: Sequence[float]
    factor: float = 1.0


def recorded_samples(episodes: Iterable[Sequence[Transition]], format: EpisodeFormat) -> list[Recorded]:
    """Recorded episodes in tokens."""
    return [Recorded(rows, format.sequence(rows), step_weights(rows)) for rows in episodes]


def make_samples(
    episodes: Sequence[Episode], config: TrainConfig, lm: LanguageModel, heads: Heads
) -> list[Sample]:
    """Episodes with advantages; faulted ones leave their group before its statistics.

    Args:
        episodes: a rollout.
        config: settings of the run.
        lm: the model, where the algorithm asks a critic.
        heads: with the critic, where the algorithm has one.
    """
    recipe = ALGORITHMS[config.algorithm]
    sound = [e for e in episodes if e.fault is None and e.transitions]
    rewards = [step_rewards(e.transitions, config) for e in sound]
    anchors = [
        [t.state_key if config.anchor == "state_key" else _anchor(t) for t in e.transitions] for e in sound
    ]
    values: list[np.ndarray] = []
    if heads.value is not None:
        ended = [not (config.bootstrap and e.transitions[-1].truncated) for e in sound]
        values = state_values(lm, heads.value, [e.tokens for e in sound], ended, config.batch_tokens)
    batch = EpisodeBatch(rewards, [e.group for e in sound], anchors, values)
    advantages = recipe.advantages(batch, config.advantage)
    targets = value_targets(batch, config.advantage) if values else []
    factors = _return_factors(sound) if config.aux_by_return else [1.0] * len(sound)
    return [
        Sample(
            e.transitions,
            e.tokens,
            step_weights(e.transitions),
            advantages[i],
            values[i][:-1] if values else None,
            targets[i] if values else None,
            factors[i],
        )
        for i, e in enumerate(sound)
    ]


def step_rewards(transitions: Sequence[Transition], config: TrainConfig) -> list[float]:
    """The reward that is learned from: the environment's, scaled, less the penalty of an invalid action."""
    return [
        config.reward_scale * t.reward - config.invalid_penalty * (t.action_status != "ok")
        for t in transitions
    ]


def _return_factors(episodes: Sequence[Episode]) -> list[float]:
    """One minus the mean return of each episode's group, within 0 and 1: what is solved needs no more dynamics."""
    returns: dict[int, list[float]] = defaultdict(list)
    for episode in episodes:
        returns[episode.group].append(sum(episode.rewards))
    return [float(np.clip(1.0 - np.mean(returns[e.group]), 0.0, 1.0)) for e in episodes]


def _anchor(row: Any) -> tuple[str, tuple[str, ...]]:
    """What the agent sees: the observation and what it can do (which tells what it holds)."""
    return row.observation, row.admissible_actions
