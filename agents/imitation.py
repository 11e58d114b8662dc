"""The supervised stage: imitate expert episodes while predicting states and actions on the same rows."""

from collections.abc import Sequence

import numpy as np

from envrl.agents.auxiliary import Objectives, total_weight
from envrl.agents.batches import epoch
from envrl.agents.config import TrainConfig
from envrl.agents.heads import Heads
from envrl.agents.models import LanguageModel
from envrl.agents.optimizers import Optimizers, bounded, learning_rate_factor, take_gradients
from envrl.agents.policies.distributions import policy_forward
from envrl.agents.policies.model_policy import ModelPolicy
from envrl.agents.processes import Processes
from envrl.agents.prompts import EpisodeFormat
from envrl.agents.samples import Recorded, recorded_rows
from envrl.envs.errors import EnvRLError
from envrl.wrappers.transition import Transition


def demonstrations(episodes: Sequence[Sequence[Transition]], policy: ModelPolicy) -> list[Recorded]:
    """Episodes in tokens; actions of lost episodes are not imitated, their steps still teach the objectives.

    Raises:
        EnvRLError: no action of any episode is one that the policy could have chosen.
    """
    found = [
        row
        for rows in episodes
        for row in recorded_rows(list(rows), policy, decisions=bool(rows[-1].is_success))
    ]
    if not any(row.tokens.decisions for row in found):
        won = sum(bool(rows[-1].is_success) for rows in episodes)
        raise EnvRLError(
            f"nothing to imitate: of {len(found)} recorded episodes {won} were won, and in none of these the policy "
            "could have chosen an action; record episodes that are won, or use --policy generate where actions are "
            "free text"
        )
    return found


class Imitation:
    """The supervised stage, update by update; batches follow from (seed, update) alone.

    Args:
        lm: the model that learns.
        heads: with the objectives' output layer, where they have one.
        optimizers: their learning rates are the peak of a warm-up and cosine decay.
        data: demonstrations.
        format: tokens of an episode.
        config: settings of the run.
        processes: that share the work.
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
        processes: Processes,
    ) -> None:
        self._lm, self._optimizers, self._data = lm, optimizers, data
        self._objectives = Objectives(lm, heads, format, config, processes)
        self._config, self._processes = config, processes
        self._epoch, self._before = -1, 0
        self._batches: list[list[int]] = []

    def update(self, index: int) -> dict[str, float]:
        """Learn from the ``index``-th batch; losses per token (nats)."""
        config, objectives = self._config, self._objectives
        batch = [self._data[i] for i in self._batch(index)]
        rng = np.random.default_rng([config.seed, 11, index])
        on_the_side = config.aux_targets == "shuffled" or config.aux_mode == "rows"
        figures = self._backward(batch, inline=config.sft_state_prediction > 0 and not on_the_side)
        if config.sft_state_prediction and on_the_side:
            rows = objectives.state_rows(batch, rng)
            figures["loss/state_prediction"] = objectives.backward(rows, config.sft_state_prediction)
        if config.sft_inverse_dynamics:
            rows = objectives.inverse_rows(batch, rng)
            if rows:
                figures["loss/inverse_dynamics"] = objectives.backward(rows, config.sft_inverse_dynamics)
        parameters = self._optimizers.parameters
        gradients = take_gradients(parameters)
        self._processes.add(gradients)
        gradients, _ = bounded(gradients, config.max_grad_norm)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        self._optimizers.step(learning_rate_factor(index, config.sft_updates, self.WARMUP, self.FLOOR))
        return self._processes.add_figures(figures)

    def _backward(self, batch: Sequence[Recorded], inline: bool) -> dict[str, float]:
        """Backward through the loss of the actions, with ``inline`` through state prediction's on the same forward.

        Returns:
            This process's part of their means.
        """
        mine = self._processes.share(batch, lambda d: len(d.tokens.ids))
        decisions = sum(len(d.tokens.decisions) for d in batch)
        if not mine:
            if self._lm.is_sharded:
                self._lm.idle().backward()
            return {}
        figures = {}
        hidden, logprobs, _ = policy_forward(self._lm, [d.tokens for d in mine])
        loss = hidden.sum() * 0.0
        if decisions:
            loss = loss - logprobs.sum() / decisions
            figures["loss/action"] = float(loss.detach())
        if inline:
            count = total_weight([self._objectives.row(d) for d in batch])
            total, _ = self._objectives.loss(hidden, [self._objectives.row(d) for d in mine])
            mean = total / max(count, 1.0)
            loss = loss + self._config.sft_state_prediction * mean
            figures["loss/state_prediction"] = float(mean.detach())
        loss.backward()
        return figures

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
