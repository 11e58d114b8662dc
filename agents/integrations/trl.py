"""Both objectives and our environments inside TRL's GRPOTrainer (extra ``trl``).

`ObjectiveGRPOTrainer` is TRL's trainer with two losses added to its own:

- state prediction on the environment's tokens of the completions themselves, from the log-probabilities that the
  policy loss has computed anyway (tokens of tools and environments stand in multi-turn completions and TRL masks them);
- state prediction and inverse dynamics on rows made of transitions, see `TransitionRows`.

`EnvironmentRollout` plays registered environments as TRL's ``rollout_func``. With both weights 0 the trainer is TRL's
own, bit by bit. The cap on the objectives' gradient that `envrl train` has is not here: TRL sees one loss.
"""

from collections.abc import Callable, MutableSequence, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import Tensor
from trl import GRPOTrainer

from envrl.agents.batches import pad
from envrl.agents.choices import Schedule, Targets
from envrl.agents.objective_rows import SingleStep, inverse_dynamics_rows, single_step_rows, step_weights
from envrl.agents.objectives import ObjectiveRow, coefficient
from envrl.agents.policies.model_policy import ModelPolicy
from envrl.agents.pool import EnvPool
from envrl.agents.prompts import EpisodeFormat, TokenSequence
from envrl.agents.rollout import Episode, Task, rollout
from envrl.wrappers.transition import Transition

Episodes = Sequence[Sequence[Transition]]


@dataclass(frozen=True)
class ObjectiveSettings:
    """Weights of the objectives.

    state_prediction, inverse_dynamics: weights at the start. schedule: how they fall over training. inline: state
    prediction on the environment's tokens of the completions too.
    """

    state_prediction: float = 0.2
    inverse_dynamics: float = 0.2
    schedule: Schedule = "cosine"
    inline: bool = True


class TransitionRows:
    """Draws rows for both objectives from episodes.

    Args:
        format: how text becomes ids, for the tokenizer of the model that is trained.
        episodes: steps in order, one sequence an episode, as `iter_episodes` reads them from a recording; or a function
            that gives the present ones, such as those of the latest rollout.
        count: rows of each objective at a time.
        history: turns that stand before a predicted one.
        targets: ``true``, or ``shuffled`` for the placebo.
        seed: of the draws.
    """

    def __init__(
        self,
        format: EpisodeFormat,
        episodes: Episodes | Callable[[], Episodes],
        count: int = 8,
        history: int = 2,
        targets: Targets = "true",
        seed: int = 0,
    ) -> None:
        self._format, self._episodes, self._count = format, episodes, count
        self._history, self._targets, self._seed = history, targets, seed

    def __call__(self, number: int) -> tuple[list[ObjectiveRow], list[ObjectiveRow]]:
        """(rows of state prediction, rows of inverse dynamics) of the ``number``-th draw."""
        episodes = self._episodes() if callable(self._episodes) else self._episodes
        rng = np.random.default_rng([self._seed, number])
        steps = [
            SingleStep(row, rows[max(0, t - self._history) : t], t, weight)
            for rows in episodes
            for t, (row, weight) in enumerate(zip(rows, step_weights(rows), strict=True))
            if weight
        ]
        drawn = [steps[i] for i in rng.permutation(len(steps))[: self._count]]
        return (
            single_step_rows(self._format, drawn, rng, self._targets),
            inverse_dynamics_rows(self._format, episodes, self._count, rng, self._targets),
        )


class ObjectiveGRPOTrainer(GRPOTrainer):
    """`trl.GRPOTrainer` with state prediction and inverse dynamics in its loss.

    Args:
        objectives: their weights.
        rows: draws rows at each forward, told its number; None leaves state prediction on completions alone.
        arguments, named: of `trl.GRPOTrainer`.
    """

    def __init__(
        self,
        *arguments: Any,
        objectives: ObjectiveSettings | None = None,
        rows: Callable[[int], tuple[list[ObjectiveRow], list[ObjectiveRow]]] | None = None,
        **named: Any,
    ) -> None:
        super().__init__(*arguments, **named)
        self.objectives = objectives or ObjectiveSettings()
        self._rows = rows
        self._completion_logprobs: Tensor | None = None

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        """As TRL's, with the weight of each completion token as a target of state prediction."""
        output = super()._generate_and_score_completions(inputs)
        if self.objectives.inline and self.objectives.state_prediction:
            output["state_targets"] = self._state_targets(output)
        return output

    def _state_targets(self, output: dict[str, Tensor]) -> Tensor:
        mask = output["completion_mask"]
        if isinstance(self.rollout_func, EnvironmentRollout):
            weights = [[*row, *[0.0] * (mask.shape[1] - len(row))] for row in self.rollout_func.targets]
            return torch.tensor(weights, device=mask.device)
        own = output.get("tool_mask")
        return torch.zeros_like(mask).float() if own is None else (mask * (1 - own)).float()

    def _get_per_token_logps_and_entropies(self, *arguments: Any, **named: Any) -> Any:
        result = super()._get_per_token_logps_and_entropies(*arguments, **named)
        if result[0].requires_grad:
            self._completion_logprobs = result[0]
        return result

    def compute_loss(
        self,
        model: Any,
        inputs: Any,
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Tensor:
        """TRL's loss plus the objectives', scaled for gradient accumulation as TRL's is."""
        loss = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        settings, trained = self.objectives, model.training
        logprobs, self._completion_logprobs = self._completion_logprobs, None
        if not trained or not (settings.state_prediction or settings.inverse_dynamics):
            return loss
        factor = coefficient(settings.schedule, self.state.global_step / max(self.state.max_steps, 1))
        states, inverses = self._rows(self._step) if self._rows is not None else ([], [])
        total, weight = loss.new_zeros(()), 0.0
        if settings.state_prediction:
            if "state_targets" in inputs and logprobs is not None:
                targets = inputs["state_targets"]
                total, weight = total - (logprobs * targets).sum(), weight + float(targets.sum())
            more, weight_of_rows = self._row_losses(model, states)
            mean = (total + more) / max(weight + weight_of_rows, 1.0)
            loss = loss + self._scaled("state_prediction", settings.state_prediction * factor, mean)
        if settings.inverse_dynamics and inverses:
            total, weight = self._row_losses(model, inverses)
            loss = loss + self._scaled("inverse_dynamics", settings.inverse_dynamics * factor, total / weight)
        self._metrics["train"]["objectives/factor"].append(factor)
        return loss

    def _scaled(self, name: str, weight: float, mean: Tensor) -> Tensor:
        self._metrics["train"][f"objectives/{name}"].append(mean.item())
        return weight * mean / self.current_gradient_accumulation_steps

    def _row_losses(self, model: Any, rows: Sequence[ObjectiveRow]) -> tuple[Tensor, float]:
        """Summed cross-entropy of rows times their weights, and the sum of these."""
        device = self.accelerator.device
        if not rows:
            return torch.zeros((), device=device), 0.0
        ids = pad([row.ids for row in rows], device)
        length = ids.shape[1]
        weights = torch.tensor([[*r.weights, *[0.0] * (length - len(r.ids))] for r in rows], device=device)
        factors = torch.tensor([row.factor for row in rows], device=device)
        real = torch.tensor([[1] * len(r.ids) + [0] * (length - len(r.ids)) for r in rows], device=device)
        nats = self._cross_entropies(model, ids, real, weights)
        return (nats * weights[:, 1:] * factors[:, None]).sum(), float(weights[:, 1:].sum())

    def _cross_entropies(self, model: Any, ids: Tensor, real: Tensor, weights: Tensor) -> Tensor:
        """Cross-entropy of each id but the first of a row, ``(rows, length - 1)``; of use where its weight is not 0."""
        with self.accelerator.autocast():
            if self.temperature == 1.0:  # TRL's output layer makes no logits that nobody asked for
                labels = ids.masked_fill(weights == 0, -100)
                return -model(input_ids=ids, attention_mask=real, labels=labels, fused_lm_head=True).log_probs
            logits = model(input_ids=ids, attention_mask=real, use_cache=False).logits[:, :-1]
        return torch.nn.functional.cross_entropy(logits.float().transpose(1, 2), ids[:, 1:], reduction="none")


class EnvironmentRollout:
    """TRL's ``rollout_func``: each prompt of the dataset is the id of a task, each completion an episode of it.

    Args:
        envs: environments that are stepped together, as a list or a pool; more prompts are played in turn.
        policy: decides, sampling among all tokens (`GeneratePolicy`), with the model that TRL trains.
        seed: of sampling.
        max_tokens: a longer episode is truncated.
    """

    def __init__(
        self,
        envs: EnvPool | MutableSequence[gymnasium.Env[str, str]],
        policy: ModelPolicy,
        seed: int = 0,
        max_tokens: int | None = None,
    ) -> None:
        self._envs, self._policy, self._seed, self._max_tokens = envs, policy, seed, max_tokens
        self._calls = 0
        #: the latest rollout: its sound episodes' steps, and the weight of each completion token in state prediction
        self.transitions: list[list[Transition]] = []
        self.targets: list[list[float]] = []

    def __call__(self, prompts: Sequence[str], trainer: Any) -> dict[str, list[Any]]:
        """Play an episode for each prompt.

        Returns:
            TRL's fields, and ``episode_return`` for `episode_return`.

        Raises:
            ValueError: the policy does not choose among all tokens, so TRL's log-probabilities would be others.
        """
        tasks = [Task(prompt or None, number) for number, prompt in enumerate(prompts)]
        was_training = trainer.model.training
        trainer.model.eval()
        episodes = rollout(
            self._envs,
            tasks,
            self._policy,
            (self._seed, self._calls),
            label="learner",
            max_tokens=self._max_tokens,
        )
        trainer.model.train(was_training)
        self._calls += 1
        sound = [e for e in episodes if e.fault is None]
        self.transitions = [e.transitions for e in sound]
        rows = [_completion(e) for e in episodes]
        self.targets = [row.pop("targets") for row in rows]
        return {key: [row[key] for row in rows] for key in rows[0]}


def episode_return(completions: Sequence[Any], episode_return: Sequence[float | None], **_: Any) -> list[Any]:
    """A reward function for `EnvironmentRollout`: the sum of an episode's rewards, None for a faulted one."""
    return list(episode_return)


def _completion(episode: Episode) -> dict[str, Any]:
    """An episode as TRL's fields; one that never began is an empty completion without a reward."""
    tokens = episode.sequences[0] if episode.sequences else TokenSequence()
    if not tokens.actions:
        ids = tokens.ids or [0]
        return {
            "prompt_ids": ids,
            "completion_ids": ids[-1:],
            "logprobs": [0.0],
            "env_mask": [0],
            "episode_return": None,
            "targets": [0.0],
        }
    if len(episode.sequences) > 1 or any(d.allowed is not None or d.candidates for d in tokens.decisions):
        raise ValueError(
            "TRL takes one multi-turn completion sampled among all tokens: use GeneratePolicy with Context('concat')"
        )
    start = tokens.actions[0][0]
    end = tokens.replies[-1][1]  # what would lead to another action is no part of the completion
    logprobs, mask, targets = [0.0] * (end - start), [0] * (end - start), [0.0] * (end - start)
    if episode.fault is None:  # else nothing of it is learned from
        for decision in tokens.decisions:
            logprobs[decision.position - start], mask[decision.position - start] = decision.logprob, 1
        for (first, last), weight in zip(tokens.replies, step_weights(episode.transitions), strict=True):
            targets[first - start : last - start] = [weight] * (last - first)
    return {
        "prompt_ids": tokens.ids[:start],
        "completion_ids": tokens.ids[start:end],
        "logprobs": logprobs,
        "env_mask": mask,
        "episode_return": None if episode.fault is not None else float(sum(episode.rewards)),
        "targets": targets,
    }
