"""Episodes decoded as one batch: what each row has been fed, what waits to be, and its own stream of randomness."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from envrl.agents.cache import RaggedDecoder
from envrl.agents.candidates import CandidateTree
from envrl.agents.models import LanguageModel
from envrl.agents.policies.distributions import inverse_cdf, masked_log_softmax
from envrl.agents.policies.walk import Walk
from envrl.agents.prompts import Allowed


class Draw(NamedTuple):
    """An id or index that was sampled, its log-probability, and the entropy of what it was sampled from."""

    chosen: int
    logprob: float
    entropy: float


class Decoding:
    """Rows of a batch. Of a prompt that begins like the last one only the rest is fed.

    Args:
        lm: the model.
        rngs: one generator a row; what it samples depends on no other row.
        temperature: of the softmax; 0 takes the most probable id.
        uneven: rows take very different numbers of tokens.
    """

    def __init__(
        self,
        lm: LanguageModel,
        rngs: Sequence[np.random.Generator],
        temperature: float,
        uneven: bool = False,
    ) -> None:
        self._decoder = RaggedDecoder(lm, len(rngs), skip_idle=uneven)
        self._rngs, self.temperature = list(rngs), temperature
        self._fed: list[list[int]] = [[] for _ in rngs]
        self._waiting: list[list[int]] = [[] for _ in rngs]

    @property
    def rows(self) -> int:
        """How many rows are left."""
        return len(self._fed)

    def keep(self, rows: list[int]) -> None:
        """Drop all rows but these."""
        self._decoder.keep(rows)
        self._fed = [self._fed[r] for r in rows]
        self._waiting = [self._waiting[r] for r in rows]
        self._rngs = [self._rngs[r] for r in rows]

    def start(self, row: int, prompt: Sequence[int]) -> None:
        """Set a row to a prompt; the part that its cache holds already is kept."""
        fed = self._fed[row]
        shared = len(fed)
        if prompt[:shared] != fed:
            shared = next(
                (i for i, (a, b) in enumerate(zip(fed, prompt, strict=False)) if a != b), len(prompt)
            )
        shared = min(shared, len(prompt) - 1)  # the logits after its last id are wanted
        if shared < len(fed):
            self._decoder.truncate(row, shared)
            del fed[shared:]
        self._waiting[row] = list(prompt[shared:])

    def push(self, row: int, ids: Sequence[int]) -> None:
        """Append ids that are decided; they are fed when the row's next logits are wanted."""
        self._waiting[row] += ids

    def logits(self, rows: Sequence[int]) -> Tensor:
        """Feed what waits in these rows; logits ``(rows of the batch, vocabulary)``, of use in these rows alone."""
        feed: list[list[int]] = [[] for _ in self._fed]
        for row in rows:
            feed[row], self._waiting[row] = self._waiting[row], []
        logits = self._decoder.feed(feed)
        for fed, new in zip(self._fed, feed, strict=True):
            fed += new
        return logits

    def totals(self, trees: Mapping[int, CandidateTree]) -> dict[int, Tensor]:
        """Total log-probability of each row's candidates after what it holds."""
        logits = self.logits(list(trees))
        scored = self._decoder.score([trees.get(row) for row in range(self.rows)], logits)
        return {row: totals for row, totals in enumerate(scored) if totals is not None}

    def sample(self, rows: Sequence[int], logits: Tensor, allowed: Sequence[Allowed]) -> list[Draw]:
        """One id for each row, among those allowed.

        Args:
            rows: whose generators draw.
            logits: ``(len(rows), vocabulary)``.
            allowed: for each row.
        """
        return self.draw(rows, masked_log_softmax(logits, allowed, self.temperature or 1.0))

    def draw(self, rows: Sequence[int], logprobs: Tensor) -> list[Draw]:
        """One index for each row from its log-probabilities ``(len(rows), n)``."""
        probabilities = logprobs.exp()
        if self.temperature == 0:
            chosen = logprobs.argmax(-1)
        else:
            draws = torch.tensor([self._rngs[row].random() for row in rows], device=logprobs.device)
            chosen = inverse_cdf(probabilities, draws)
        entropies = -(probabilities * logprobs.clamp(min=-100)).sum(-1)
        taken = logprobs.gather(1, chosen[:, None]).squeeze(1)
        return list(map(Draw, chosen.tolist(), taken.tolist(), entropies.tolist()))

    def walk(self, walks: Mapping[int, Walk]) -> None:
        """Bring the walk of each row to its end; the ids of the actions wait in the rows."""
        undecided = list(walks)
        while True:
            for row in undecided:
                self.push(row, walks[row].forced())
            undecided = [row for row in undecided if not walks[row].done]
            if not undecided:
                return
            logits = self.logits(undecided)[undecided]
            allowed = [walks[row].allowed() for row in undecided]
            for row, draw in zip(undecided, self.sample(undecided, logits, allowed), strict=True):
                before = len(walks[row].ids)
                walks[row].take(*draw)
                self.push(row, walks[row].ids[before:])
