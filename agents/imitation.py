"""The supervised stage: imitate expert episodes while predicting states and actions on the same rows."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from envrl.agents.auxiliary import Objectives
from envrl.agents.batches import epoch, pad
from envrl.agents.config import TrainConfig
from envrl.agents.heads import Heads
from envrl.agents.models import LanguageModel
from envrl.agents.objectives import ObjectiveRow
from envrl.agents.optimizers import Optimizers, learning_rate_factor
from envrl.agents.policies.distributions import policy_forward
from envrl.agents.policies.model_policy import ModelPolicy
from envrl.agents.prompts import EpisodeFormat
from envrl.agents.samples import Recorded, recorded_rows
from envrl.wrappers.transition import Transition


def demonstrations(episodes: Sequence[Sequence[Transition]], policy: ModelPolicy) -> list[Recorded]:
    """Episodes in tokens; actions of lost episodes are not imitated, their steps still teach the objectives."""
    return [
        row
        for rows in episodes
        for row in recorded_rows(list(rows), policy, decisions=bool(rows[-1].is_success))
    ]


class Imitation:
    """The supervised stage, update by update; batches follow from (seed, update) alone.

    Args:
        lm: the model that learns.
        heads: with the objectives' output layer, where they have one.
        optimizers: their learning rates are the peak of a warm-up and cosine decay.
        data: demonstrations.
        format: tokens of an episode.
        config: settings of the run.
    """

    WARMUP = 20
    FLOOR = 0.1

    def __init__(
        self,
        lm: LanguageModel,
        heads: Heads,
        optimizers: Optimizers,
        data: Sequence[Recorded],
        format: EpisodeFormat,
        config: TrainConfig,
    ) -> None:
        self._lm, self._optimizers, self._data = lm, optimizers, data
        self._objectives, self._config = Objectives(lm, heads, format, config), config
        self._epoch, self._before = -1, 0
        self._batches: list[list[int]] = []

    def update(self, index: int) -> dict[str, float]:
        """Learn from the ``index``-th batch; losses per token (nats)."""
        config = self._config
        batch = [self._data[i] for i in self._batch(index)]
        rng = np.random.default_rng([config.seed, 11, index])
        sequences = [d.tokens for d in batch]
        hidden, logprobs, _ = policy_forward(self._lm, sequences)
        metrics = {}
        loss = hidden.sum() * 0.0
        if any(s.decisions for s in sequences):
            loss = loss - logprobs.mean()
            metrics["loss/action"] = -float(logprobs.detach().mean())
        if config.sft_state_prediction:
            if config.aux_targets == "true" and config.aux_mode != "rows":
                total, weight = self._objectives.loss(hidden, [self._objectives.row(d) for d in batch])
            else:
                total, weight = self._forward(self._objectives.state_rows(batch, rng))
            mean = total / max(weight, 1.0)
            loss = loss + config.sft_state_prediction * mean
            metrics["loss/state_prediction"] = float(mean.detach())
        if config.sft_inverse_dynamics:
            rows = self._objectives.inverse_rows(batch, rng)
            if rows:
                total, weight = self._forward(rows)
                loss = loss + config.sft_inverse_dynamics * total / weight
                metrics["loss/inverse_dynamics"] = float(total.detach()) / weight
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._optimizers.parameters, config.max_grad_norm)
        self._optimizers.step(learning_rate_factor(index, config.sft_updates, self.WARMUP, self.FLOOR))
        return metrics

    def _forward(self, rows: Sequence[ObjectiveRow]) -> tuple[Tensor, float]:
        """Summed loss and weight of rows in a forward of their own."""
        return self._objectives.loss(self._lm.hidden(pad([r.ids for r in rows], self._lm.device)), rows)

    def _batch(self, index: int) -> list[int]:
        # Epochs have different numbers of batches; a resumed run walks through them again, which is cheap.
        if index < self._before:
            self._epoch, self._batches, self._before = -1, [], 0
        while index >= self._before + len(self._batches):
            self._before += len(self._batches)
            self._epoch += 1
            rng = np.random.default_rng([self._config.seed, 10, self._epoch])
            lengths = [len(d.tokens.ids) for d in self._data]
            self._batches = epoch(lengths, self._config.sft_batch_tokens, rng)
        return self._batches[index - self._before]
