"""Losses of the policy update: pure functions over flat tensors of decisions."""

import torch
from torch import Tensor


def clipped_policy_loss(
    logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, clip: float = 0.2, dual_clip: float = 3.0
) -> Tensor:
    """PPO's clipped surrogate with dual clip, negated, for each decision.

    Args:
        logprobs: ``(n,)`` under the policy that learns.
        old_logprobs: ``(n,)`` under the policy that acted.
        advantages: ``(n,)``.
        clip: the ratio counts within ``1 - clip .. 1 + clip`` (arXiv 1707.06347, eq. 7).
        dual_clip: with a negative advantage the loss is at most ``dual_clip * |advantage|`` (arXiv 1912.09729).

    Returns:
        ``(n,)`` losses; the caller reduces them.
    """
    ratio = torch.exp(logprobs - old_logprobs)
    surrogate = torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages)
    bounded = torch.maximum(surrogate, dual_clip * advantages)
    return -torch.where(advantages < 0, bounded, surrogate)


def k3_divergence(logprobs: Tensor, reference_logprobs: Tensor) -> Tensor:
    """Unbiased, non-negative estimate of KL(policy || reference) for each decision, ``(n,)``.

    Source: J. Schulman, "Approximating KL divergence", estimator k3.
    """
    log_ratio = reference_logprobs - logprobs
    return torch.exp(log_ratio) - log_ratio - 1
