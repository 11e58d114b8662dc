"""Probabilities of actions under the constrained policy, all of them from one forward."""

from collections.abc import Sequence

import torch
from torch import Tensor

from envrl.agents.candidates import CandidateTree


class BranchTree(CandidateTree):
    """Candidates whose totals are log-probabilities of the walk down their trie: at each branching a softmax over the
    tokens that go on, as `envrl.agents.policies.constrained` samples them. They sum to 1.

    Args:
        candidates: ids of each; none is the beginning of another.
        temperature: of the softmax at a branching.
    """

    def __init__(self, candidates: Sequence[Sequence[int]], temperature: float = 1.0) -> None:
        super().__init__(candidates)
        self._temperature = temperature

    def totals_of(self, logits: Tensor) -> Tensor:
        """Log-probability of each candidate, ``(candidates,)``, from logits ``(1 + nodes, vocabulary)``."""
        number, at, token = (torch.tensor(x, device=logits.device) for x in zip(*self._edges, strict=True))
        # candidates that share a way share its edges: each edge counts once at its branching
        edges, of_edge = torch.stack([at + 1, token]).unique(dim=1, return_inverse=True)
        before, values = edges[0], logits[edges[0], edges[1]] / self._temperature
        nodes = logits.shape[0]
        highest = values.new_full((nodes,), -torch.inf).scatter_reduce(0, before, values, "amax")
        total = values.new_zeros(nodes).index_add(0, before, (values - highest[before]).exp())
        logprobs = values - highest[before] - total[before].log()
        return logits.new_zeros(self._count).index_add(0, number, logprobs[of_edge])
