"""The two auxiliary objectives: predict the next observation, and the action that led to it.

Both are token cross-entropies over rows of ids with a weight on each target token, so they can be used with any
causal language model and any training loop: build rows, run the model, call `weighted_cross_entropy`.

State prediction reads the observation tokens of the episode's own sequence: the history, the observation and the
action stand before them. Inverse dynamics has rows of its own: two observations, then the action between them.
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from envrl.agents.models import LanguageModel
from envrl.agents.prompts import EpisodeFormat, TokenSequence
from envrl.wrappers.transition import Transition

Targets = Literal["true", "shuffled"]
Schedule = Literal["cosine", "linear", "constant"]
#: a state-prediction target has at most this many tokens
MAX_TARGET_TOKENS = 256


class ObjectiveRow(NamedTuple):
    """A training row: ids, and the weight of each as a target (0 for context). Both have the row's length."""

    ids: list[int]
    weights: list[float]


def coefficient(schedule: Schedule, progress: float) -> float:
    """Factor on an objective's weight at ``progress`` in [0, 1] of training; cosine is ``(1 + cos(pi p)) / 2``."""
    if schedule == "cosine":
        return 0.5 * (1 + math.cos(math.pi * progress))
    return 1.0 - progress if schedule == "linear" else 1.0


def step_weight(row: Transition, seen: bool) -> float:
    """How much a step counts: nothing if faulted or malformed, a tenth if its answer says nothing new.

    Args:
        row: the step.
        seen: the same answer to the same action occurred before in the episode.
    """
    if row.fault is not None or row.action_status == "malformed":
        return 0.0
    return 0.1 if seen or row.action_status == "inadmissible" else 1.0


def step_weights(transitions: Sequence[Transition]) -> list[float]:
    """`step_weight` of each step of an episode."""
    answers: set[tuple[str, str]] = set()
    weights = []
    for row in transitions:
        answer = (row.action, row.next_observation)
        weights.append(step_weight(row, answer in answers))
        answers.add(answer)
    return weights


def state_prediction_row(tokens: TokenSequence, transitions: Sequence[Transition]) -> ObjectiveRow:
    """The episode's sequence with its raw next observations as targets (inline: no pass of its own is needed)."""
    weights = [0.0] * len(tokens.ids)
    for (start, end), weight in zip(tokens.replies, step_weights(transitions), strict=True):
        end = min(end, start + MAX_TARGET_TOKENS)
        weights[start:end] = [weight] * (end - start)
    return ObjectiveRow(tokens.ids, weights)


def shuffled_state_prediction_rows(
    sequences: Sequence[TokenSequence], episodes: Sequence[Sequence[Transition]], rng: np.random.Generator
) -> list[ObjectiveRow]:
    """The placebo: the same rows with all next observations of the batch permuted.

    Targets keep their distribution and lose their relation to the state and the action.
    """
    replies = [s.ids[a:b] for s in sequences for a, b in s.replies]
    order = iter(rng.permutation(len(replies)))
    rows = []
    for sequence, transitions in zip(sequences, episodes, strict=True):
        ids: list[int] = []
        weights: list[float] = []
        done = 0
        for (start, end), weight in zip(sequence.replies, step_weights(transitions), strict=True):
            context = sequence.ids[done:start]
            reply = replies[int(next(order))]
            scored = min(len(reply), MAX_TARGET_TOKENS)
            ids += [*context, *reply]
            weights += [0.0] * len(context) + [weight] * scored + [0.0] * (len(reply) - scored)
            done = end
        ids += sequence.ids[done:]
        weights += [0.0] * (len(sequence.ids) - done)
        rows.append(ObjectiveRow(ids, weights))
    return rows


def inverse_dynamics_rows(
    format: EpisodeFormat,
    episodes: Sequence[Sequence[Transition]],
    count: int,
    rng: np.random.Generator,
    targets: Targets = "true",
) -> list[ObjectiveRow]:
    """Rows that ask for the action between two observations.

    Args:
        format: tokens of an episode.
        episodes: where steps are drawn from.
        count: at most this many rows, drawn without replacement among steps of full weight.
        rng: draws the steps and, for ``shuffled``, permutes the next observations.
        targets: ``true``, or ``shuffled`` for the placebo.
    """
    steps = [row for ep in episodes for row, w in zip(ep, step_weights(ep), strict=True) if w == 1.0]
    drawn = [steps[i] for i in rng.permutation(len(steps))[:count]]
    after = [row.next_observation for row in drawn]
    if targets == "shuffled":
        after = [after[i] for i in rng.permutation(len(after))]
    rows = []
    for row, next_observation in zip(drawn, after, strict=True):
        ids, (start, end) = format.inverse(row.observation, next_observation, row.action)
        rows.append(ObjectiveRow(ids, [float(start <= i < end) for i in range(len(ids))]))
    return rows


def weighted_cross_entropy(
    lm: LanguageModel, hidden: Tensor, rows: Sequence[ObjectiveRow]
) -> tuple[Tensor, float]:
    """Sum of the target tokens' cross-entropies times their weights, and the sum of the weights.

    Args:
        lm: the model.
        hidden: ``(batch, length, width)`` of the right-padded rows.
        rows: the batch.

    Returns:
        (scalar sum, total weight); their ratio is the token mean.
    """
    at = [(r, t) for r, row in enumerate(rows) for t in range(1, len(row.ids)) if row.weights[t]]
    if not at:
        return hidden.sum() * 0.0, 0.0
    index, position = zip(*at, strict=True)
    before = torch.tensor(position, device=hidden.device) - 1
    logits = lm.logits(hidden[list(index), before])
    target = torch.tensor([rows[r].ids[t] for r, t in at], device=hidden.device)
    weight = torch.tensor([rows[r].weights[t] for r, t in at], device=hidden.device)
    loss = functional.cross_entropy(logits, target, reduction="none")
    return (loss * weight).sum(), float(weight.sum())
