"""Losses of the policy update: pure functions over flat tensors of decisions."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from envrl.agents.choices import Reduction


def clipped_policy_loss(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    clip: float = 0.2,
    dual_clip: float = 3.0,
    clip_high: float | None = None,
) -> Tensor:
    """PPO's clipped surrogate with dual clip, negated, for each decision.

    Args:
        logprobs: ``(n,)`` under the policy that learns.
        old_logprobs: ``(n,)`` under the policy that acted.
        advantages: ``(n,)``.
        clip: the ratio counts within ``1 - clip .. 1 + clip`` (arXiv 1707.06347, eq. 7).
        dual_clip: with a negative advantage the loss is at most ``dual_clip * |advantage|`` (arXiv 1912.09729); 0
            lifts the bound.
        clip_high: another upper range, ``1 + clip_high`` (arXiv 2503.14476, clip-higher).

    Returns:
        ``(n,)`` losses; the caller reduces them.
    """
    ratio = torch.exp(logprobs - old_logprobs)
    high = clip if clip_high is None else clip_high
    surrogate = torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + high) * advantages)
    if not dual_clip:
        return -surrogate
    bounded = torch.maximum(surrogate, dual_clip * advantages)
    return -torch.where(advantages < 0, bounded, surrogate)


def k3_divergence(logprobs: Tensor, reference_logprobs: Tensor) -> Tensor:
    """Unbiased, non-negative estimate of KL(policy || reference) for each decision, ``(n,)``.

    Source: J. Schulman, "Approximating KL divergence", estimator k3.
    """
    log_ratio = reference_logprobs - logprobs
    return torch.exp(log_ratio) - log_ratio - 1


def clipped_value_loss(values: Tensor, old_values: Tensor, targets: Tensor, clip: float = 0.0) -> Tensor:
    """Half the squared error of a critic for each state, ``(n,)``.

    Args:
        values: ``(n,)`` of the critic that learns.
        old_values: ``(n,)`` of the critic at the rollout.
        targets: ``(n,)``.
        clip: when positive, the larger of the errors of the value and of the value held within ``clip`` of the old
            one (as in OpenAI's PPO); 0 takes the plain error.
    """
    error = (values - targets).square()
    if clip:
        held = old_values + (values - old_values).clamp(-clip, clip)
        error = torch.maximum(error, (held - targets).square())
    return 0.5 * error


class Part(NamedTuple):
    """What a row of a batch is of its episode.

    decisions: of the row. share: of the episode's rows. whole: decisions of the whole episode.
    """

    decisions: int
    share: float
    whole: int


def decision_weights(
    parts: Sequence[Part], reduction: Reduction, length: int = 1
) -> tuple[list[float], float]:
    """How the losses of all decisions of a batch become one number: ``(losses * weight).sum() / divisor``.

    An episode may have several rows, of which a minibatch holds some; then it counts there for its share.

    Args:
        parts: of each row of the batch.
        reduction: ``token`` is the mean over decisions (long episodes count more; DAPO). ``sequence`` is the mean over
            episodes of each one's mean (GRPO as published). ``constant`` divides by the number of episodes times a
            fixed length (Dr. GRPO).
        length: that fixed length.

    Returns:
        (weight of each decision of a row, for each row; divisor). Episodes without decisions count for nothing
        under ``sequence``.
    """
    if reduction == "token":
        return [1.0] * len(parts), float(max(sum(part.decisions for part in parts), 1))
    if reduction == "constant":
        return [1.0] * len(parts), (sum(part.share for part in parts) or 1.0) * length
    acting = sum(part.share for part in parts if part.whole)
    return [1.0 / part.whole if part.whole else 0.0 for part in parts], acting or 1.0
