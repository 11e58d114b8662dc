"""Values of the states of an episode: what the critic says where the policy is about to act."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from envrl.agents.batches import bucket, pad
from envrl.agents.heads import ValueHead
from envrl.agents.models import LanguageModel
from envrl.agents.prompts import TokenSequence


def acting_positions(tokens: TokenSequence) -> list[int]:
    """Index of the last token before each action, ``(steps,)``: all that the policy has seen when it acts."""
    return [start - 1 for start, _ in tokens.actions]


def values_at(head: ValueHead, hidden: Tensor, sequences: Sequence[TokenSequence]) -> Tensor:
    """Differentiable values of the states of a batch.

    Args:
        head: the critic.
        hidden: ``(batch, length, width)`` of the right-padded sequences.
        sequences: the batch.

    Returns:
        ``(steps of all sequences, in order,)``.
    """
    rows = [r for r, s in enumerate(sequences) for _ in s.actions]
    positions = [p for s in sequences for p in acting_positions(s)]
    return head(hidden[rows, positions])


@torch.no_grad()
def state_values(
    lm: LanguageModel,
    head: ValueHead,
    sequences: Sequence[TokenSequence],
    ended: Sequence[bool],
    batch_tokens: int,
) -> list[np.ndarray]:
    """Values of each episode's states and of the state after its last step.

    Args:
        lm: the model.
        head: the critic.
        sequences: the episodes.
        ended: whether the last state is worth nothing: the episode is over.
        batch_tokens: tokens of a forward pass.

    Returns:
        ``(steps + 1,)`` for each episode.
    """
    out: list[np.ndarray] = [np.zeros(0)] * len(sequences)
    for indices in bucket([len(s.ids) for s in sequences], batch_tokens):
        batch = [sequences[i] for i in indices]
        hidden = lm.hidden(pad([s.ids for s in batch], lm.device))
        for row, i in enumerate(indices):
            values = head(hidden[row, [*acting_positions(batch[row]), len(batch[row].ids) - 1]])
            out[i] = values.double().cpu().numpy()
            if ended[i]:
                out[i][-1] = 0.0
    return out
