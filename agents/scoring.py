"""Scoring candidate actions: the log-probability of each of many continuations of one prompt.

All candidates go into one row behind the prompt. What they share is computed once: they form a tree of tokens, a mask
lets each token see the prompt and its own ancestors only, and each starts at the prompt's next position. The result
equals that of one forward per candidate, without padding and without repeating prompt or prefixes. Gradients flow
through it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from envrl.agents.cache import grouped_attention
from envrl.agents.candidates import CandidateTree
from envrl.agents.models import LanguageModel


def packed_logprobs(lm: LanguageModel, prompt: Sequence[int], candidates: Sequence[Sequence[int]]) -> Tensor:
    """Total log-probability of each candidate after the prompt, in one forward.

    Args:
        lm: the model.
        prompt: ids, at least one.
        candidates: ids of each continuation, at least one each.

    Returns:
        ``(candidates,)``, differentiable.

    Raises:
        ValueError: an empty prompt, no candidates, or an empty candidate.
    """
    _check(prompt, candidates)
    tree = CandidateTree(candidates)
    branched = branched_hidden(lm, [prompt], [[tree]], [[len(prompt)]])
    return tree.totals(lm, branched.before(0, 0), branched.nodes(0, 0))


@dataclass(frozen=True)
class BranchedHidden:
    """Hidden states of sequences with trees beside them.

    hidden: ``(batch, length, width)`` of the right-padded sequences.
    """

    hidden: Tensor
    _beside: Tensor
    _places: Sequence[Sequence[int]]
    _starts: Sequence[Sequence[int]]

    def before(self, row: int, tree: int) -> Tensor:
        """``(width,)`` of the token before a tree."""
        return self.hidden[row, self._places[row][tree] - 1]

    def nodes(self, row: int, tree: int) -> Tensor:
        """``(nodes, width)`` of a tree."""
        return self._beside[row, self._starts[row][tree] : self._starts[row][tree + 1]]


def branched_hidden(
    lm: LanguageModel,
    sequences: Sequence[Sequence[int]],
    trees: Sequence[Sequence[CandidateTree]],
    places: Sequence[Sequence[int]],
) -> BranchedHidden:
    """One forward over sequences and the trees that branch off them.

    Args:
        lm: the model.
        sequences: ids of each row.
        trees: those of each row.
        places: for each tree the position in its sequence where it branches off: it sees all ids before.
    """
    length = max(map(len, sequences))
    starts = [[0, *_cumulative([len(t) for t in row])] for row in trees]
    width = length + max(s[-1] for s in starts)
    ids = torch.zeros(len(sequences), width, dtype=torch.long)
    position = torch.arange(width).repeat(len(sequences), 1)
    visible = torch.eye(width, dtype=torch.bool).repeat(len(sequences), 1, 1)  # pads see themselves
    visible[:, :length, :length] = torch.ones(length, length, dtype=torch.bool).tril()
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = torch.tensor(sequence)
        for tree, place, start in zip(trees[row], places[row], starts[row], strict=False):
            if not len(tree):
                continue
            at = slice(length + start, length + start + len(tree))
            ids[row, at] = torch.tensor(tree.ids)
            position[row, at] = place + torch.tensor(tree.depths)
            visible[row, at, :place] = True
            visible[row, at, at] = tree.ancestors()
    device = lm.device
    with grouped_attention(lm):
        hidden = lm.backbone()(
            input_ids=ids.to(device),
            attention_mask=visible[:, None].to(device),
            position_ids=position.to(device),
            use_cache=False,
        ).last_hidden_state
    return BranchedHidden(hidden[:, :length], hidden[:, length:], places, starts)


def naive_logprobs(lm: LanguageModel, prompt: Sequence[int], candidates: Sequence[Sequence[int]]) -> Tensor:
    """The same by one forward per candidate: what `packed_logprobs` is tested and measured against."""
    _check(prompt, candidates)
    scores = []
    for candidate in candidates:
        ids = torch.tensor([[*prompt, *candidate]], device=lm.device)
        hidden = lm.hidden(ids)[0, len(prompt) - 1 : -1]
        logprobs = torch.log_softmax(lm.logits(hidden), -1)
        scores.append(logprobs.gather(1, torch.tensor(candidate, device=lm.device)[:, None]).sum())
    return torch.stack(scores)


def _cumulative(lengths: Sequence[int]) -> list[int]:
    out, total = [], 0
    for length in lengths:
        total += length
        out.append(total)
    return out


def _check(prompt: Sequence[int], candidates: Sequence[Sequence[int]]) -> None:
    if not prompt or not candidates or not all(candidates):
        raise ValueError(
            f"scoring needs a prompt and candidates of at least one token each, got a prompt of {len(prompt)} "
            f"and candidates of {[len(c) for c in candidates]}"
        )
