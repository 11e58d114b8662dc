"""The objectives of a minibatch: which episodes and rows they learn from, and their gradient."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from envrl.agents.batches import bucket, pad
from envrl.agents.config import TrainConfig
from envrl.agents.heads import Heads
from envrl.agents.models import LanguageModel
from envrl.agents.objective_rows import (
    SingleStep,
    inverse_dynamics_rows,
    most_uncertain,
    shuffled_state_prediction_rows,
    single_step_rows,
    state_prediction_row,
)
from envrl.agents.objectives import ObjectiveRow, weighted_loss
from envrl.agents.processes import Processes
from envrl.agents.prompts import ActionMenu, EpisodeFormat
from envrl.agents.samples import Recorded, Sample

Episodes = Sequence[Sample | Recorded]


@dataclass(frozen=True)
class Objectives:
    """Both objectives as a run has set them.

    Args:
        lm: the model that learns.
        heads: with the objectives' own output layer, where they have one.
        format: tokens of an episode.
        config: settings of the run.
        processes: that share the forwards.
    """

    lm: LanguageModel
    heads: Heads
    format: EpisodeFormat
    config: TrainConfig
    processes: Processes = field(default_factory=Processes)

    def episodes(
        self, samples: Sequence[Sample], recorded: Sequence[Recorded], share: float, rng: np.random.Generator
    ) -> list[Sample | Recorded]:
        """Episodes of a minibatch to learn from: its first ones, and recorded ones in the place of the last.

        Args:
            samples: the minibatch.
            recorded: episodes of other policies.
            share: how much of the result is recorded.
            rng: draws the recorded ones.
        """
        count = self.config.aux_episodes or len(samples)
        chosen: list[Sample | Recorded] = list(samples[:count])
        if not recorded:
            return chosen
        wanted = min(round(share * len(chosen)), len(recorded))
        drawn = rng.choice(len(recorded), size=wanted, replace=False)
        return chosen[: len(chosen) - wanted] + [recorded[i] for i in drawn]

    def state_rows(self, episodes: Episodes, rng: np.random.Generator) -> list[ObjectiveRow]:
        """State prediction's rows that need a forward of their own."""
        config = self.config
        if config.aux_mode == "rows":
            menu = ActionMenu(config.exclude_actions)
            return single_step_rows(self.format, self._steps(episodes, rng), rng, config.aux_targets, menu)
        if config.aux_targets == "shuffled":
            return shuffled_state_prediction_rows(
                [e.tokens for e in episodes],
                [e.weights for e in episodes],
                rng,
                [e.factor for e in episodes],
            )
        return [self.row(e) for e in episodes]

    def row(self, episode: Sample | Recorded) -> ObjectiveRow:
        """An episode's own sequence as a row of state prediction."""
        share = self.config.aux_entropy_share
        return state_prediction_row(episode.tokens, episode.weights, episode.factor, share)

    def inverse_rows(self, episodes: Episodes, rng: np.random.Generator) -> list[ObjectiveRow]:
        """Inverse dynamics' rows."""
        return inverse_dynamics_rows(
            self.format,
            [e.transitions for e in episodes],
            self.config.aux_rows,
            rng,
            self.config.aux_targets,
            [e.weights for e in episodes],
            [e.factor for e in episodes],
        )

    def _steps(self, episodes: Episodes, rng: np.random.Generator) -> list[SingleStep]:
        """Steps drawn for rows of their own."""
        config = self.config
        found = []
        for e in episodes:
            chosen = most_uncertain(e.tokens, config.aux_entropy_share)
            for t, (row, weight, taken) in enumerate(zip(e.transitions, e.weights, chosen, strict=True)):
                if weight and taken:
                    before = e.transitions[max(0, t - config.aux_history) : t]
                    found.append(SingleStep(row, before, row.step, weight, e.factor))
        return [found[i] for i in rng.permutation(len(found))[: config.aux_rows]]

    def loss(self, hidden: Tensor, rows: Sequence[ObjectiveRow]) -> tuple[Tensor, float]:
        """`weighted_loss` with the run's output layer and token loss."""
        head = self.lm.logits if self.heads.objectives is None else self.heads.objectives
        return weighted_loss(head, hidden, rows, self.config.aux_loss, self.config.aux_mae_clip)

    def backward(self, rows: Sequence[ObjectiveRow], weight: float, count: float | None = None) -> float:
        """Backward through ``weight`` times the mean over the target tokens of rows in forwards of their own.

        Args:
            rows: the rows.
            weight: of the mean.
            count: the mean's denominator, where other rows share it; by default these rows' own.

        Returns:
            This process's part of the mean.
        """
        count = total_weight(rows) if count is None else count
        if not count:
            return 0.0
        mean = 0.0
        mine = self.processes.share(rows, lambda row: len(row.ids))
        batches = bucket([len(row.ids) for row in mine], self.config.batch_tokens)
        for indices in self.processes.rounds(batches, self.lm.is_sharded):
            if indices is None:
                self.lm.idle().backward()
                continue
            batch = [mine[i] for i in indices]
            total, _ = self.loss(self.lm.hidden(pad([r.ids for r in batch], self.lm.device)), batch)
            (weight * total / count).backward()
            mean += float(total.detach()) / count
        return mean

    def separate(self, episodes: Episodes, rng: np.random.Generator) -> dict[str, float]:
        """Backward through both objectives at their full weights, in forwards of their own; parts of their means."""
        config, metrics = self.config, {}
        if config.state_prediction:
            rows = self.state_rows(episodes, rng)
            metrics["loss/state_prediction"] = self.backward(rows, config.state_prediction)
        if config.inverse_dynamics:
            rows = self.inverse_rows(episodes, rng)
            metrics["loss/inverse_dynamics"] = self.backward(rows, config.inverse_dynamics)
        return metrics


def total_weight(rows: Sequence[ObjectiveRow]) -> float:
    """Sum of the weights of target tokens (the first id of a row is no target)."""
    return sum(w for row in rows for w in row.weights[1:])
