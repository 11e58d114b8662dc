"""A rollout to learn from without playing one: expert episodes, whole (won) and cut short (lost)."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from envrl.agents.config import TrainConfig
from envrl.agents.heads import Heads
from envrl.agents.models import LanguageModel
from envrl.agents.optimizers import Optimizers
from envrl.agents.policies.constrained import ConstrainedPolicy
from envrl.agents.policies.distributions import policy_forward
from envrl.agents.policy_gradient import Learner
from envrl.agents.rollout import Episode
from envrl.agents.samples import recorded_rows
from envrl.agents.tagged_format import TaggedFormat
from envrl.wrappers.transition import Transition


def episodes_of(lm: LanguageModel, played: Sequence[Sequence[Transition]]) -> list[Episode]:
    """Three episodes of each of two tasks, with the log-probabilities of ``lm`` as those of the policy that acted."""
    policy = ConstrainedPolicy(lm, TaggedFormat(lm))
    episodes = []
    for group in range(2):
        for number, kept in enumerate((1.0, 0.7, 0.4)):
            rows = list(played[2 * group + number % 2])
            rows = rows[: max(2, round(kept * len(rows)))]
            if number:
                rows[-1] = replace(rows[-1], reward=0.0, is_success=False, terminated=False, truncated=True)
            (row,) = recorded_rows(rows, policy, decisions=True)
            with torch.no_grad():
                forward = policy_forward(lm, [row.tokens])
            row.tokens.decisions = [
                d._replace(logprob=p, entropy=h)
                for d, p, h in zip(
                    row.tokens.decisions, forward.logprobs.tolist(), forward.entropy.tolist(), strict=True
                )
            ]
            episodes.append(Episode(group, f"task-{group}", rows, [row.tokens]))
    return episodes


def learner_of(lm: LanguageModel, config: TrainConfig, heads: Heads | None = None) -> Learner:
    """A learner with AdamW over the model and its heads."""
    heads = heads or Heads()
    return Learner(lm, None, heads, Optimizers(lm.model, config.lr, heads=heads), TaggedFormat(lm), config)
