"""The losses of the two objectives: predict the next observation, and the action that led to it.

Both are token losses over rows of ids with a weight on each target token, so they can be used with any causal language
model and any training loop: build rows (`envrl.agents.objective_rows`), run the model, call `weighted_loss` on its
hidden states.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from envrl.agents.choices import Schedule, TokenLoss
from envrl.agents.models import LanguageModel


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
    length = hidden.shape[1]
    before = torch.tensor([r * length + t - 1 for r, t in at], device=hidden.device)
    target = torch.tensor([rows[r].ids[t] for r, t in at], device=hidden.device)
    weight = torch.tensor([rows[r].weights[t] for r, t in at], device=hidden.device)
    losses = token_losses(logits(hidden.flatten(0, 1)[before]), target, loss, mae_clip) * weight
    if any(row.factor != 1.0 for row in rows):
        losses = losses * torch.tensor([rows[r].factor for r, _ in at], device=hidden.device)
    return losses.sum(), float(weight.sum())


def weighted_cross_entropy(
    lm: LanguageModel, hidden: Tensor, rows: Sequence[ObjectiveRow]
) -> tuple[Tensor, float]:
    """`weighted_loss` with the model's own output layer and cross-entropy."""
    return weighted_loss(lm.logits, hidden, rows)
