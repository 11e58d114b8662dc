"""The two auxiliary objectives: predict the next observation, and the action that led to it.

Both are token losses over rows of ids with a weight on each target token, so they can be used with any causal language
model and any training loop: build rows, run the model, call `weighted_loss` on its hidden states, or `row_tensors` and a
loss of your own.

State prediction reads the observation tokens of the episode's own sequence: the history, the observation and the
action stand before them. Inverse dynamics has rows of its own: two observations, then the action between them.
"""

import math
from collections.abc import Callable, Sequence
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
Mode = Literal["pass", "inline", "rows"]
TokenLoss = Literal["cross_entropy", "clipped_mae"]
#: a state-prediction target has at most this many tokens
MAX_TARGET_TOKENS = 256


class ObjectiveRow(NamedTuple):
    """A training row.

    ids: the row. weights: of each id as a target, 0 for context. factor: on the row's loss; it does not count in the
    mean's denominator, so that halving it in all rows halves the loss.
    """

    ids: list[int]
    weights: list[float]
    factor: float = 1.0


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


def most_uncertain(tokens: TokenSequence, share: float) -> list[bool]:
    """Which steps are among those where the policy was least sure of its action.

    Args:
        tokens: an episode; the entropy of a step is the sum over its decisions.
        share: of the steps to choose, at least one of them.

    Returns:
        One truth value a step; all of them where nothing is known of any entropy (recorded episodes).
    """
    entropy = [0.0] * len(tokens.actions)
    for decision in tokens.decisions:
        entropy[decision.step] += decision.entropy
    if not any(entropy):
        return [True] * len(entropy)
    count = max(1, round(share * len(entropy)))
    chosen = set(sorted(range(len(entropy)), key=lambda i: -entropy[i])[:count])
    return [i in chosen for i in range(len(entropy))]


def state_prediction_row(
    tokens: TokenSequence, weights: Sequence[float], factor: float = 1.0, entropy_share: float = 1.0
) -> ObjectiveRow:
    """A sequence with its raw next observations as targets.

    Args:
        tokens: an episode, or a part of one.
        weights: of its steps, see `step_weights`.
        factor: the row's.
        entropy_share: learn from this share of the steps only, see `most_uncertain`.
    """
    if entropy_share < 1.0:
        weights = [w * c for w, c in zip(weights, most_uncertain(tokens, entropy_share), strict=True)]
    targets = [0.0] * len(tokens.ids)
    for (start, end), weight in zip(tokens.replies, weights, strict=True):
        end = min(end, start + MAX_TARGET_TOKENS)
        targets[start:end] = [weight] * (end - start)
    return ObjectiveRow(tokens.ids, targets, factor)


def single_step_rows(
    format: EpisodeFormat,
    steps: Sequence[tuple[Sequence[Transition], float, float]],
    rng: np.random.Generator,
    targets: Targets = "true",
) -> list[ObjectiveRow]:
    """State prediction in rows of its own: a few turns, the action, and the observation that came of it.

    Args:
        format: tokens of an episode.
        steps: (the step and the turns shown before it, weight, factor) of each row.
        rng: permutes the observations for ``shuffled``.
        targets: ``true``, or ``shuffled`` for the placebo.
    """
    parts = []
    for window, weight, factor in steps:
        tokens = format.sequence(window)
        start, end = tokens.replies[-1]
        parts.append((tokens.ids[:start], tokens.ids[start:end][:MAX_TARGET_TOKENS], weight, factor))
    replies = [reply for _, reply, _, _ in parts]
    if targets == "shuffled":
        replies = [replies[i] for i in rng.permutation(len(replies))]
    return [
        ObjectiveRow([*context, *reply], [0.0] * len(context) + [weight] * len(reply), factor)
        for (context, _, weight, factor), reply in zip(parts, replies, strict=True)
    ]


def shuffled_state_prediction_rows(
    sequences: Sequence[TokenSequence],
    weights: Sequence[Sequence[float]],
    rng: np.random.Generator,
    factors: Sequence[float] | None = None,
) -> list[ObjectiveRow]:
    """The placebo: the same rows with all next observations of the batch permuted.

    Targets keep their distribution and lose their relation to the state and the action.

    Args:
        sequences: the rows in tokens.
        weights: of the steps of each, see `step_weights`.
        rng: draws the permutation.
        factors: of each row; 1 by default.
    """
    replies = [s.ids[a:b] for s in sequences for a, b in s.replies]
    order = iter(rng.permutation(len(replies)))
    rows = []
    for number, (sequence, steps) in enumerate(zip(sequences, weights, strict=True)):
        ids: list[int] = []
        scored_weights: list[float] = []
        done = 0
        for (start, end), weight in zip(sequence.replies, steps, strict=True):
            context = sequence.ids[done:start]
            reply = replies[int(next(order))]
            scored = min(len(reply), MAX_TARGET_TOKENS)
            ids += [*context, *reply]
            scored_weights += [0.0] * len(context) + [weight] * scored + [0.0] * (len(reply) - scored)
            done = end
        ids += sequence.ids[done:]
        scored_weights += [0.0] * (len(sequence.ids) - done)
        rows.append(ObjectiveRow(ids, scored_weights, factors[number] if factors else 1.0))
    return rows


def inverse_dynamics_rows(
    format: EpisodeFormat,
    episodes: Sequence[Sequence[Transition]],
    count: int,
    rng: np.random.Generator,
    targets: Targets = "true",
    weights: Sequence[Sequence[float]] | None = None,
    factors: Sequence[float] | None = None,
) -> list[ObjectiveRow]:
    """Rows that ask for the action between two observations.

    Args:
        format: tokens of an episode.
        episodes: where steps are drawn from.
        count: at most this many rows, drawn without replacement among steps of full weight.
        rng: draws the steps and, for ``shuffled``, permutes the next observations.
        targets: ``true``, or ``shuffled`` for the placebo.
        weights: of each episode's steps; by default `step_weights`.
        factors: of each episode's rows; 1 by default.
    """
    weights = weights or [step_weights(episode) for episode in episodes]
    steps = [
        (row, factors[number] if factors else 1.0)
        for number, episode in enumerate(episodes)
        for row, w in zip(episode, weights[number], strict=True)
        if w == 1.0
    ]
    drawn = [steps[i] for i in rng.permutation(len(steps))[:count]]
    after = [row.next_observation for row, _ in drawn]
    if targets == "shuffled":
        after = [after[i] for i in rng.permutation(len(after))]
    rows = []
    for (row, factor), next_observation in zip(drawn, after, strict=True):
        ids, (start, end) = format.inverse(row.observation, next_observation, row.action)
        rows.append(ObjectiveRow(ids, [float(start <= i < end) for i in range(len(ids))], factor))
    return rows


def token_losses(
    logits: Tensor, targets: Tensor, loss: TokenLoss = "cross_entropy", mae_clip: float = 0.95
) -> Tensor:
    """Loss of each target token.

    Args:
        logits: ``(n, vocabulary)``.
        targets: ``(n,)`` ids.
        loss: ``cross_entropy``; or ``clipped_mae``: one minus the probability of the target, which is half the mean
            absolute error against the one-hot target and bounded, so that tokens nobody could foresee do not dominate
            (after PaW, arXiv 2606.02388; the form of the clip is ours).
        mae_clip: a loss above it has no gradient: the token counts as noise.

    Returns:
        ``(n,)``.
    """
    entropies = functional.cross_entropy(logits, targets, reduction="none")
    if loss == "cross_entropy":
        return entropies
    return (1.0 - torch.exp(-entropies)).clamp(max=mae_clip)


def weighted_loss(
    logits: Callable[[Tensor], Tensor],
    hidden: Tensor,
    rows: Sequence[ObjectiveRow],
    loss: TokenLoss = "cross_entropy",
    mae_clip: float = 0.95,
) -> tuple[Tensor, float]:
    """Sum of the target tokens' losses times their weights, and the sum of the weights.

    Args:
        logits: the output layer, hidden states ``(n, width)`` -> ``(n, vocabulary)``: the model's own or an adapter.
        hidden: ``(batch, length, width)`` of the right-padded rows.
        rows: the batch.
        loss, mae_clip: see `token_losses`.

    Returns:
        (scalar sum, total weight without the rows' factors); their ratio is the token mean.
    """
    at = [(r, t) for r, row in enumerate(rows) for t in range(1, len(row.ids)) if row.weights[t]]
    if not at:
        return hidden.sum() * 0.0, 0.0
    index, position = zip(*at, strict=True)
    before = torch.tensor(position, device=hidden.device) - 1
    target = torch.tensor([rows[r].ids[t] for r, t in at], device=hidden.device)
    weight = torch.tensor([rows[r].weights[t] for r, t in at], device=hidden.device)
    losses = token_losses(logits(hidden[list(index), before]), target, loss, mae_clip) * weight
    if any(row.factor != 1.0 for row in rows):
        losses = losses * torch.tensor([rows[r].factor for r in index], device=hidden.device)
    return losses.sum(), float(weight.sum())


def weighted_cross_entropy(
    lm: LanguageModel, hidden: Tensor, rows: Sequence[ObjectiveRow]
) -> tuple[Tensor, float]:
    """`weighted_loss` with the model's own output layer and cross-entropy."""
    return weighted_loss(lm.logits, hidden, rows)
