"""The policy update: clipped policy gradient plus both objectives, their gradient capped, in one step.

The cap needs the norms of two gradients. With the objectives in forwards of their own both are there at every step.
Inline, state prediction shares the policy's forward and, to be nearly free, its backward too; so the norms are measured
at the first step of an update, where the losses go backward one after the other, and the weight that they allow is kept
for the update's other steps: between steps of one update weights and data hardly change.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from torch import Tensor

from envrl.agents.auxiliary import total_weight
from envrl.agents.config import TrainConfig
from envrl.agents.optimizers import Pocket, bounded, norm
from envrl.agents.policy_gradient import Learner, SharedForward, policy_backward
from envrl.agents.samples import Recorded, Sample


def policy_update(
    learner: Learner,
    samples: Sequence[Sample],
    recorded: Sequence[Recorded],
    *,
    aux_factor: float,
    recorded_share: float,
    lr_factor: float,
    rng: np.random.Generator,
) -> dict[str, float]:
    """One update: ``config.epochs`` passes over the samples of ``config.minibatches`` optimiser steps each.

    Args:
        learner: who learns.
        samples: the rollout; episodes whose advantages are all 0 cost no policy forward (unless there is a divergence
            or an entropy bonus), and a minibatch of such episodes makes no step unless the objectives are uncapped.
        recorded: episodes of other policies, for the objectives.
        aux_factor: factor on both objectives' weights now.
        recorded_share: how much of the objectives' episodes is recorded now.
        lr_factor: factor on the learning rate now.
        rng: draws minibatches and objective rows.

    Returns:
        Means over those minibatches that have the figure: losses, entropy, gradient norms.
    """
    config = learner.config
    inline = config.aux_mode == "inline" and config.aux_targets == "true" and config.state_prediction > 0
    seen: dict[str, list[float]] = defaultdict(list)
    allowed: float | None = None if config.aux_cap else aux_factor
    for part in _minibatches(len(samples), config, rng):
        chosen = [samples[i] for i in part]
        informative = [s for s in chosen if _has_gradient(s, config)]
        if not chosen:
            continue  # there are fewer samples than minibatches
        if not informative and (config.aux_cap or not aux_factor):
            continue  # no policy gradient, so a capped objective has none either
        if inline and aux_factor > 0:
            # episodes that the policy learns from come first: their forward is paid for
            ordered = informative + [s for s in chosen if not s.informative]
            episodes = learner.objectives.episodes(ordered, recorded, recorded_share, rng)
            gradients, metrics, allowed = _joint_step(
                learner, chosen, informative, episodes, aux_factor, allowed, rng
            )
        else:
            gradients, metrics = _policy_step(learner, chosen, informative)
            if aux_factor > 0:
                episodes = learner.objectives.episodes(chosen, recorded, recorded_share, rng)
                metrics |= learner.processes.add_figures(learner.objectives.separate(episodes, rng))
                extra = learner.take_gradients()
                gradients = _add_capped(gradients, extra, aux_factor, config, metrics)
        for parameter, gradient in zip(learner.optimizers.parameters, gradients, strict=True):
            parameter.grad = gradient
        learner.optimizers.step(lr_factor)
        for key, value in metrics.items():
            seen[key].append(value)
    return {key: sum(values) / len(values) for key, values in seen.items()}


def _has_gradient(sample: Sample, config: TrainConfig) -> bool:
    """Whether the policy's loss moves on a sample: divergence and entropy do not depend on advantages."""
    return sample.informative or bool((config.kl or config.entropy) and sample.tokens.decisions)


def _minibatches(count: int, config: TrainConfig, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Places of the samples of each optimiser step; every pass has an order of its own."""
    for _ in range(config.epochs):
        order = rng.permutation(count)
        for i in range(config.minibatches):
            yield order[i :: config.minibatches]


def _policy_step(
    learner: Learner, chosen: Sequence[Sample], informative: Sequence[Sample]
) -> tuple[list[Tensor], dict[str, float]]:
    """The policy's gradient of a minibatch, scaled down to the largest norm allowed, and its figures."""
    metrics = learner.processes.add_figures(policy_backward(learner, chosen, informative))
    gradients, metrics["grad/policy"] = bounded(learner.take_gradients(), learner.config.max_grad_norm)
    return gradients, metrics


def _joint_step(
    learner: Learner,
    chosen: Sequence[Sample],
    informative: Sequence[Sample],
    episodes: Sequence[Sample | Recorded],
    aux_factor: float,
    allowed: float | None,
    rng: np.random.Generator,
) -> tuple[list[Tensor], dict[str, float], float]:
    """The gradient of a minibatch with state prediction on the policy's forward, its figures, the factor allowed.

    Args:
        learner, chosen, informative: as for `_policy_step`.
        episodes: what the objectives learn from.
        aux_factor: factor on both objectives' weights now.
        allowed: factor within the cap; None measures it.
        rng: draws objective rows.
    """
    config, objectives, parameters = learner.config, learner.objectives, learner.optimizers.parameters
    forwarded = {id(s) for s in informative}
    rows = {id(e): objectives.row(e) for e in episodes if id(e) in forwarded}
    others = objectives.state_rows([e for e in episodes if id(e) not in forwarded], rng)
    count = total_weight([*rows.values(), *others])
    pocket = Pocket(parameters)
    shared = SharedForward(objectives, rows, config.state_prediction / max(count, 1.0), pocket, allowed)
    parts = policy_backward(learner, chosen, informative, shared)
    weight = 1.0 if allowed is None else allowed

    def beside() -> None:
        """What has no place in the policy's forward."""
        mean = objectives.backward(others, weight * config.state_prediction, count)
        parts["loss/state_prediction"] = shared.total / max(count, 1.0) + mean
        if config.inverse_dynamics:
            inverse = objectives.inverse_rows(episodes, rng)
            parts["loss/inverse_dynamics"] = objectives.backward(inverse, weight * config.inverse_dynamics)

    if allowed is not None:
        beside()
        metrics = learner.processes.add_figures(parts)
        gradients, metrics["grad/policy"] = bounded(learner.take_gradients(), config.max_grad_norm)
        metrics["aux/weight"] = allowed
        return gradients, metrics, allowed
    with pocket:
        beside()
    metrics = learner.processes.add_figures(parts)
    gradients, metrics["grad/policy"] = bounded(learner.take_gradients(), config.max_grad_norm)
    extra = learner.summed(pocket.take())
    gradients = _add_capped(gradients, extra, aux_factor, config, metrics)
    ratio = metrics["grad/policy"] / max(metrics["grad/objectives"], 1e-12)
    return gradients, metrics, min(aux_factor, config.aux_cap * ratio)


def _add_capped(
    gradients: list[Tensor],
    extra: list[Tensor],
    factor: float,
    config: TrainConfig,
    metrics: dict[str, float],
) -> list[Tensor]:
    """Add the objectives' gradient, held at a share of the policy's norm; both norms go into the metrics."""
    size = metrics["grad/policy"]
    scale = min(1.0, config.max_grad_norm / (size + 1e-9))
    extra_size = norm(extra)
    weight = factor
    if config.aux_cap and extra_size > 0:
        weight = min(weight, config.aux_cap * size * scale / extra_size)
    metrics["grad/objectives"], metrics["aux/weight"] = extra_size, weight
    return [g + weight * e for g, e in zip(gradients, extra, strict=True)]
