"""The policy's gradient of a minibatch: clipped surrogate, divergence, entropy, critic, batch by batch.

State prediction can ride on the same forward: then its loss goes backward with the policy's, or right after it with its
gradient kept apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from envrl.agents.auxiliary import Objectives
from envrl.agents.batches import bucket
from envrl.agents.config import TrainConfig
from envrl.agents.critic import values_at
from envrl.agents.heads import Heads
from envrl.agents.losses import clipped_policy_loss, clipped_value_loss, decision_weights, k3_divergence
from envrl.agents.models import LanguageModel
from envrl.agents.objectives import ObjectiveRow
from envrl.agents.optimizers import Optimizers, Pocket, take_gradients
from envrl.agents.policies.distributions import policy_forward
from envrl.agents.processes import Processes
from envrl.agents.prompts import EpisodeFormat
from envrl.agents.samples import Sample


@dataclass(frozen=True)
class Learner:
    """Who learns, and how.

    lm: the model. reference: the policy that the divergence is measured from, or None. heads: the critic and the
    objectives' output layer. optimizers: of all of them. format: tokens of an episode. config: settings of the run.
    processes: that share the work.
    """

    lm: LanguageModel
    reference: LanguageModel | None
    heads: Heads
    optimizers: Optimizers
    format: EpisodeFormat
    config: TrainConfig
    processes: Processes = field(default_factory=Processes)

    @property
    def objectives(self) -> Objectives:
        """Both objectives."""
        return Objectives(self.lm, self.heads, self.format, self.config, self.processes)

    def take_gradients(self) -> list[Tensor]:
        """The gradients of all processes together; the parameters' are cleared."""
        return self.summed(take_gradients(self.optimizers.parameters))

    def summed(self, gradients: list[Tensor]) -> list[Tensor]:
        """The same list, of which each process held its part."""
        self.processes.add(gradients)
        return gradients


@dataclass
class SharedForward:
    """State prediction on the policy's forward: ``scale`` times the summed loss of each sample's row.

    weight: what it is added to the policy's loss with; None keeps its gradient apart, in ``pocket``.
    """

    objectives: Objectives
    rows: dict[int, ObjectiveRow]
    scale: float
    pocket: Pocket
    weight: float | None
    total: float = field(default=0.0)

    def loss(self, hidden: Tensor, samples: Sequence[Sample]) -> Tensor | None:
        """The scaled loss of those samples that have a row; None if none has."""
        held = [i for i, s in enumerate(samples) if id(s) in self.rows]
        if not held:
            return None
        total, _ = self.objectives.loss(hidden[held], [self.rows[id(samples[i])] for i in held])
        self.total += float(total.detach())
        return self.scale * total


def policy_backward(
    learner: Learner,
    chosen: Sequence[Sample],
    informative: Sequence[Sample],
    shared: SharedForward | None = None,
) -> dict[str, float]:
    """Backward through the policy's loss (and the critic's) of a minibatch; all its episodes count in the means.

    Args:
        learner: who learns.
        chosen: the minibatch.
        informative: those of it that have a gradient.
        shared: state prediction on the same forward.

    Returns:
        This process's part of the means: losses, entropy, share of clipped decisions.
    """
    lm, config = learner.lm, learner.config
    reduction = config.effective("reduction")
    each, divisor = decision_weights([s.part for s in chosen], reduction, config.loss_length)
    weight_of = {id(s): w for s, w in zip(chosen, each, strict=True)}
    states = sum(len(s.tokens.actions) for s in chosen)
    totals = {"loss/policy": 0.0, "loss/kl": 0.0, "policy/entropy": 0.0, "policy/clipped": 0.0}
    value_loss = 0.0
    decisions = sum(len(s.tokens.decisions) for s in informative)
    mine = learner.processes.share(informative, lambda s: s.tokens.cost)
    batches = _batches(mine, config.batch_tokens, shared)
    for batch in learner.processes.rounds(batches, lm.is_sharded):
        if batch is None:
            _idle(learner)
            continue
        sequences = [s.tokens for s in batch]
        hidden, logprobs, entropy = policy_forward(lm, sequences, config.temperature)
        old = torch.tensor([d.logprob for s in sequences for d in s.decisions], device=lm.device)
        advantages = torch.tensor(
            [float(s.advantages[d.step]) for s in batch for d in s.tokens.decisions], device=lm.device
        )
        weights = torch.tensor(
            [weight_of[id(s)] for s in batch for _ in s.tokens.decisions], device=lm.device
        )
        high = config.effective("clip_high")
        losses = weights * clipped_policy_loss(logprobs, old, advantages, config.clip, config.dual_clip, high)
        loss = losses.sum()
        if learner.reference is not None:
            with torch.no_grad():
                base = policy_forward(learner.reference, sequences, config.temperature).logprobs
            divergence = k3_divergence(logprobs, base)
            if config.kl_unbiased:
                divergence = divergence * torch.exp(logprobs - old)
            loss = loss + config.kl * (weights * divergence).sum()
            totals["loss/kl"] += float(divergence.detach().sum())
        if config.entropy:
            loss = loss - config.entropy * (weights * entropy).sum()
        loss = loss / divisor
        if learner.heads.value is not None:
            errors = _value_errors(learner, hidden, batch)
            loss = loss + config.value_weight * errors.sum() / states
            value_loss += float(errors.detach().sum()) / states
        _backward(loss, hidden, batch, shared)
        with torch.no_grad():
            totals["loss/policy"] += float(losses.sum())
            totals["policy/entropy"] += float(entropy.sum())
            change = (logprobs - old).exp() - 1
            above = change > (config.clip if high is None else high)
            totals["policy/clipped"] += float((above | (change < -config.clip)).sum())
    metrics = {
        key: value / max(divisor if key == "loss/policy" else decisions, 1) for key, value in totals.items()
    }
    return metrics if learner.heads.value is None else {**metrics, "loss/value": value_loss}


def _idle(learner: Learner) -> None:
    """The forwards and the backward of a batch, without one."""
    nothing = learner.lm.idle()
    if learner.reference is not None:
        with torch.no_grad():
            learner.reference.idle()
    nothing.backward()


def _batches(
    samples: Sequence[Sample], batch_tokens: int, shared: SharedForward | None
) -> list[list[Sample]]:
    """Samples in batches of similar length.

    Where state prediction goes backward a second time, its samples are apart from the others, which need it not.
    """
    apart = {} if shared is None or shared.weight is not None else shared.rows
    held = [s for s in samples if id(s) in apart]
    rest = [s for s in samples if id(s) not in apart]
    return [
        [part[i] for i in indices]
        for part in (held, rest)
        for indices in bucket([s.tokens.cost for s in part], batch_tokens)
    ]


def _backward(loss: Tensor, hidden: Tensor, batch: Sequence[Sample], shared: SharedForward | None) -> None:
    extra = None if shared is None else shared.loss(hidden, batch)
    if shared is None or extra is None:
        loss.backward()
    elif shared.weight is None:
        loss.backward(retain_graph=True)
        with shared.pocket:
            extra.backward()
    else:
        (loss + shared.weight * extra).backward()


def _value_errors(learner: Learner, hidden: Tensor, batch: Sequence[Sample]) -> Tensor:
    """The critic's loss of each state of a batch."""
    assert learner.heads.value is not None
    values = values_at(learner.heads.value, hidden, [s.tokens for s in batch])
    old = torch.tensor(np.concatenate([s.values for s in batch]), dtype=values.dtype, device=values.device)
    targets = torch.tensor(
        np.concatenate([s.value_targets for s in batch]), dtype=values.dtype, device=values.device
    )
    return clipped_value_loss(values, old, targets, learner.config.value_clip)
