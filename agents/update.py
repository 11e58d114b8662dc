"""The policy update: clipped policy gradient plus both objectives, their gradient capped, in one step."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from envrl.agents.batches import bucket, pad
from envrl.agents.config import TrainConfig
from envrl.agents.losses import clipped_policy_loss, k3_divergence
from envrl.agents.models import LanguageModel
from envrl.agents.objectives import (
    ObjectiveRow,
    inverse_dynamics_rows,
    shuffled_state_prediction_rows,
    state_prediction_row,
    weighted_cross_entropy,
)
from envrl.agents.optimizers import Optimizers, norm, take_gradients
from envrl.agents.policies.constrained import decision_logprobs
from envrl.agents.prompts import EpisodeFormat, TokenSequence
from envrl.wrappers.transition import Transition


@dataclass(frozen=True)
class Sample:
    """An episode to learn from: its rows, its tokens, and the advantage of each of its steps."""

    transitions: Sequence[Transition]
    tokens: TokenSequence
    advantages: np.ndarray

    @property
    def informative(self) -> bool:
        """Whether any of its actions was better or worse than others."""
        return bool(np.any(self.advantages != 0)) and bool(self.tokens.decisions)


@dataclass(frozen=True)
class Recorded:
    """A recorded episode for the objectives alone."""

    transitions: Sequence[Transition]
    tokens: TokenSequence


def policy_update(
    lm: LanguageModel,
    reference: LanguageModel | None,
    optimizers: Optimizers,
    samples: Sequence[Sample],
    recorded: Sequence[Recorded],
    format: EpisodeFormat,
    config: TrainConfig,
    aux_factor: float,
    lr_factor: float,
    rng: np.random.Generator,
) -> dict[str, float]:
    """One update: ``config.minibatches`` optimiser steps over the samples.

    Args:
        lm: the model that learns.
        reference: the policy that the divergence is measured from, or None.
        optimizers: stepped once a minibatch.
        samples: the rollout; episodes whose advantages are all 0 cost no policy forward, and a minibatch of
            such episodes makes no step unless the objectives are uncapped.
        recorded: episodes of other policies, for the objectives.
        format: tokens of an episode.
        config: settings of the run.
        aux_factor: factor on both objectives' weights now.
        lr_factor: factor on the learning rate now.
        rng: draws minibatches and objective rows.

    Returns:
        Means over minibatches: losses, entropy, gradient norms.
    """
    order = rng.permutation(len(samples))
    sums: dict[str, float] = {}
    steps = 0
    for part in (order[i :: config.minibatches] for i in range(config.minibatches)):
        chosen = [samples[i] for i in part]
        informative = [s for s in chosen if s.informative]
        if not informative and (config.aux_cap or not aux_factor):
            continue  # no policy gradient, so a capped objective has none either
        count = sum(len(s.tokens.decisions) for s in chosen)
        metrics = _policy_gradient(lm, reference, informative, count, config)
        gradients = take_gradients(optimizers.parameters)
        size = norm(gradients)
        metrics["grad/policy"] = size
        scale = min(1.0, config.max_grad_norm / (size + 1e-9))
        gradients = [g * scale for g in gradients]
        if aux_factor > 0:
            metrics |= _objective_gradient(lm, chosen, recorded, format, config, rng)
            extra = take_gradients(optimizers.parameters)
            extra_size = norm(extra)
            weight = aux_factor
            if config.aux_cap and extra_size > 0:
                weight = min(weight, config.aux_cap * size * scale / extra_size)
            metrics["grad/objectives"], metrics["aux/weight"] = extra_size, weight
            gradients = [g + weight * e for g, e in zip(gradients, extra, strict=True)]
        for parameter, gradient in zip(optimizers.parameters, gradients, strict=True):
            parameter.grad = gradient
        optimizers.step(lr_factor)
        steps += 1
        for key, value in metrics.items():
            sums[key] = sums.get(key, 0.0) + value
    return {key: value / steps for key, value in sums.items()}


def _policy_gradient(
    lm: LanguageModel,
    reference: LanguageModel | None,
    samples: Sequence[Sample],
    count: int,
    config: TrainConfig,
) -> dict[str, float]:
    """Backward through the policy loss, a mean over ``count`` decisions of the minibatch."""
    totals = {"loss/policy": 0.0, "loss/kl": 0.0, "policy/entropy": 0.0, "policy/clipped": 0.0}
    decisions = 0
    for indices in bucket([len(s.tokens.ids) for s in samples], config.batch_tokens):
        batch = [samples[i] for i in indices]
        sequences = [s.tokens for s in batch]
        ids = pad([s.ids for s in sequences], lm.device)
        logprobs, entropy = decision_logprobs(lm, lm.hidden(ids), sequences, config.temperature)
        old = torch.tensor([d.logprob for s in sequences for d in s.decisions], device=lm.device)
        advantages = torch.tensor(
            [float(s.advantages[d.step]) for s in batch for d in s.tokens.decisions], device=lm.device
        )
        losses = clipped_policy_loss(logprobs, old, advantages, config.clip, config.dual_clip)
        loss = losses.sum()
        if reference is not None:
            with torch.no_grad():
                base, _ = decision_logprobs(reference, reference.hidden(ids), sequences, config.temperature)
            divergence = k3_divergence(logprobs, base)
            loss = loss + config.kl * divergence.sum()
            totals["loss/kl"] += float(divergence.detach().sum())
        if config.entropy:
            loss = loss - config.entropy * entropy.sum()
        (loss / count).backward()
        with torch.no_grad():
            totals["loss/policy"] += float(losses.sum())
            totals["policy/entropy"] += float(entropy.sum())
            totals["policy/clipped"] += float(((logprobs - old).exp() - 1).abs().gt(config.clip).sum())
        decisions += len(old)
    return {
        key: value / max(count if key == "loss/policy" else decisions, 1) for key, value in totals.items()
    }


def _objective_gradient(
    lm: LanguageModel,
    samples: Sequence[Sample],
    recorded: Sequence[Recorded],
    format: EpisodeFormat,
    config: TrainConfig,
    rng: np.random.Generator,
) -> dict[str, float]:
    """Backward through both objectives at their full weights; the caller scales the gradient."""
    episodes: list[Sample | Recorded] = list(samples[: config.aux_episodes])
    if recorded:
        share = round(config.transitions_share * len(episodes))
        drawn = rng.choice(len(recorded), size=min(share, len(recorded)), replace=False)
        episodes = episodes[: len(episodes) - len(drawn)] + [recorded[i] for i in drawn]
    transitions = [e.transitions for e in episodes]
    metrics = {}
    if config.state_prediction:
        if config.aux_targets == "true":
            rows = [state_prediction_row(e.tokens, e.transitions) for e in episodes]
        else:
            rows = shuffled_state_prediction_rows([e.tokens for e in episodes], transitions, rng)
        metrics["loss/state_prediction"] = _backward(lm, rows, config.state_prediction, config.batch_tokens)
    if config.inverse_dynamics:
        rows = inverse_dynamics_rows(format, transitions, config.aux_rows, rng, config.aux_targets)
        metrics["loss/inverse_dynamics"] = _backward(lm, rows, config.inverse_dynamics, config.batch_tokens)
    return metrics


def _backward(lm: LanguageModel, rows: Sequence[ObjectiveRow], weight: float, batch_tokens: int) -> float:
    """Backward through ``weight`` times the token mean over all rows; returns the token mean."""
    count = sum(w for row in rows for w in row.weights[1:])
    if not count:
        return 0.0
    mean = 0.0
    for indices in bucket([len(row.ids) for row in rows], batch_tokens):
        batch = [rows[i] for i in indices]
        total: Tensor
        total, _ = weighted_cross_entropy(lm, lm.hidden(pad([r.ids for r in batch], lm.device)), batch)
        (weight * total / count).backward()
        mean += float(total.detach()) / count
    return mean
