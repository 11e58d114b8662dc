"""What an update learns from: episodes with the advantage of each step, made from a rollout."""

import itertools
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from envrl.agents.advantages import EpisodeBatch, value_targets
from envrl.agents.algorithms import ALGORITHMS
from envrl.agents.config import TrainConfig
from envrl.agents.critic import state_values
from envrl.agents.heads import Heads, ValueHead
from envrl.agents.losses import Part
from envrl.agents.models import LanguageModel
from envrl.agents.objective_rows import step_weights
from envrl.agents.policies.model_policy import ModelPolicy
from envrl.agents.prompts import TokenSequence
from envrl.agents.rollout import Episode, is_invalid
from envrl.agents.transcripts import transcribe
from envrl.envs.errors import WrongUse
from envrl.wrappers.transition import Transition


@dataclass(frozen=True)
class Sample:
    """An episode to learn from, or with several rows an episode one of them.

    transitions: its steps. tokens: the same in tokens. weights: of its steps in the objectives. advantages: of each
    step. values, value_targets: of each step under the critic that saw the rollout, and what it should have said; None
    without a critic. factor: on the objectives' losses of its steps. rows, decisions: of the whole episode; None where
    this is all of it.
    """

    transitions: Sequence[Transition]
    tokens: TokenSequence
    weights: Sequence[float]
    advantages: np.ndarray
    values: np.ndarray | None = None
    value_targets: np.ndarray | None = None
    factor: float = 1.0
    rows: int = 1
    decisions: int | None = None

    @property
    def part(self) -> Part:
        """What it is of its episode, for the reduction of the loss."""
        own = len(self.tokens.decisions)
        return Part(own, 1.0 / self.rows, own if self.decisions is None else self.decisions)

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


def recorded_rows(
    transitions: Sequence[Transition], policy: ModelPolicy, decisions: bool = False
) -> list[Recorded]:
    """A recorded episode as training rows; with the decisions that the policy would have taken, if asked for."""
    rows = transcribe(policy.transcript(), transitions, policy.menu, policy if decisions else None)
    weights = iter(step_weights(transitions))
    return [Recorded(steps, tokens, list(itertools.islice(weights, len(steps)))) for steps, tokens in rows]


def recorded_samples(episodes: Iterable[Sequence[Transition]], policy: ModelPolicy) -> list[Recorded]:
    """Recorded episodes as training rows without decisions."""
    return [row for transitions in episodes for row in recorded_rows(transitions, policy)]


def make_samples(
    episodes: Sequence[Episode], config: TrainConfig, lm: LanguageModel, heads: Heads
) -> list[Sample]:
    """Episodes with advantages; faulted ones leave their group before its statistics.

    Args:
        episodes: a rollout.
        config: settings of the run.
        lm: the model, where the algorithm asks a critic.
        heads: with the critic, where the algorithm has one.

    Raises:
        WrongUse: steps are to be compared by a key of their states that the environment does not give.
    """
    recipe = ALGORITHMS[config.algorithm]
    sound = [e for e in episodes if e.fault is None and e.transitions]
    rewards = [step_rewards(e.transitions, config) for e in sound]
    anchors = [[_anchor(t, config) for t in e.transitions] for e in sound]
    values: list[np.ndarray] = []
    if heads.value is not None:
        ended = [not (config.bootstrap and e.transitions[-1].truncated) for e in sound]
        values = _episode_values(lm, heads.value, sound, ended, config.batch_tokens)
    batch = EpisodeBatch(rewards, [e.group for e in sound], anchors, values)
    advantages = recipe.advantages(batch, config.advantage)
    targets = value_targets(batch, config.advantage) if values else []
    factors = _return_factors(sound) if config.aux_by_return else [1.0] * len(sound)
    samples = []
    for i, episode in enumerate(sound):
        weights, start = step_weights(episode.transitions), 0
        decisions = sum(len(tokens.decisions) for tokens in episode.sequences)
        for tokens in episode.sequences:
            at = slice(start, start + len(tokens.actions))
            start = at.stop
            samples.append(
                Sample(
                    episode.transitions[at],
                    tokens,
                    weights[at],
                    advantages[i][at],
                    values[i][:-1][at] if values else None,
                    targets[i][at] if values else None,
                    factors[i],
                    len(episode.sequences),
                    decisions,
                )
            )
    return samples


def _episode_values(
    lm: LanguageModel, head: ValueHead, episodes: Sequence[Episode], ended: Sequence[bool], batch_tokens: int
) -> list[np.ndarray]:
    """`state_values` of each episode, of whose rows each may hold some of its steps."""
    last = [
        s is e.sequences[-1] and over for e, over in zip(episodes, ended, strict=True) for s in e.sequences
    ]
    rows = iter(state_values(lm, head, [s for e in episodes for s in e.sequences], last, batch_tokens))
    found = [list(itertools.islice(rows, len(e.sequences))) for e in episodes]
    return [np.concatenate([*(v[:-1] for v in parts), parts[-1][-1:]]) for parts in found]


def step_rewards(transitions: Sequence[Transition], config: TrainConfig) -> list[float]:
    """The reward that is learned from: scaled, less the penalty of an invalid action.

    It is the environment's, or 1 for the step that solves the task and 0 for all others.
    """
    rewards = [t.reward for t in transitions]
    if config.reward == "success":
        solved = [bool(t.is_success) for t in transitions]
        rewards = [float(now and not before) for before, now in itertools.pairwise([False, *solved])]
    return [
        config.reward_scale * reward - config.invalid_penalty * is_invalid(t)
        for reward, t in zip(rewards, transitions, strict=True)
    ]


def _return_factors(episodes: Sequence[Episode]) -> list[float]:
    """One minus the mean return of each episode's group, within 0 and 1: what is solved needs no more dynamics."""
    returns: dict[int, list[float]] = defaultdict(list)
    for episode in episodes:
        returns[episode.group].append(sum(episode.rewards))
    return [float(np.clip(1.0 - np.mean(returns[e.group]), 0.0, 1.0)) for e in episodes]


def _anchor(row: Transition, config: TrainConfig) -> Hashable:
    """What the agent sees: the observation and what it can do (which tells what it holds); or the state's key."""
    if config.anchor == "observation":
        return row.observation, row.admissible_actions
    if row.state_key is None and config.algorithm == "gigpo":
        raise WrongUse(
            f"anchor=state_key compares steps by info['state_key'], which {row.env_id} does not give; "
            "set anchor=observation"
        )
    return row.state_key
