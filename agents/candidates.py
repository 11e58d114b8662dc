"""Candidate actions as a tree of tokens: what they share is computed once."""

from collections.abc import Sequence

import torch
from torch import Tensor

from envrl.agents.models import LanguageModel


class CandidateTree:
    """Candidates as a tree of tokens, without the last token of each, which predicts nothing that is scored.

    Args:
        candidates: ids of each; an empty one has no tokens and total 0.

    Attributes:
        ids, depths: token and depth (0 for first tokens) of each node; parents stand before their children.
        parents: index of each node's parent, -1 for first tokens.
    """

    def __init__(self, candidates: Sequence[Sequence[int]]) -> None:
        self.ids: list[int] = []
        self.depths: list[int] = []
        self.parents: list[int] = []
        children: dict[tuple[int, int], int] = {}
        self._edges: list[tuple[int, int, int]] = []  # candidate, node before, token
        self._count = len(candidates)
        for number, candidate in enumerate(candidates):
            at = -1
            for depth, token in enumerate(candidate):
                self._edges.append((number, at, token))
                if depth == len(candidate) - 1:
                    break
                child = children.get((at, token))
                if child is None:
                    child = children[at, token] = len(self.ids)
                    self.ids.append(token)
                    self.depths.append(depth)
                    self.parents.append(at)
                at = child

    def __len__(self) -> int:
        return len(self.ids)

    def ancestors(self) -> Tensor:
        """``(nodes, nodes)``: whether the second is the first or stands above it."""
        seen = torch.eye(len(self), dtype=torch.bool)
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                seen[node] |= seen[parent]
        return seen

    def totals(self, lm: LanguageModel, before: Tensor, nodes: Tensor) -> Tensor:
        """Total log-probability of each candidate, ``(candidates,)``.

        Args:
            lm: the model.
            before: ``(width,)`` hidden state of the prompt's last token.
            nodes: ``(nodes, width)`` hidden states of the tree.
        """
        return self.totals_of(lm.logits(torch.cat([before[None], nodes])))

    def totals_of(self, logits: Tensor) -> Tensor:
        """As `totals`, from the logits ``(1 + nodes, vocabulary)`` after the prompt and after each node."""
        number, at, token = (torch.tensor(x, device=logits.device) for x in zip(*self._edges, strict=True))
        chosen = torch.log_softmax(logits, -1)[at + 1, token]
        return chosen.new_zeros(self._count).index_add(0, number, chosen)
