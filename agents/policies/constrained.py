"""The constrained policy: token softmax masked by the trie of admissible actions.

Log-probabilities are exact (the mask is part of the distribution), only tokens at which admissible actions branch are
sampled, and the tail of an action that is decided is appended without a forward pass.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from envrl.agents.cache import RaggedDecoder
from envrl.agents.models import LanguageModel
from envrl.agents.prompts import ActionMenu, Decision, EpisodeFormat, TokenSequence

_MASKED = -1e9


class Choice(NamedTuple):
    """An action: its text, its ids, and its decisions with positions relative to the first id (step is 0)."""

    text: str
    ids: tuple[int, ...]
    decisions: list[Decision]


class ConstrainedPolicy:
    """Samples actions among the admissible ones.

    Args:
        lm: the model.
        format: tokens of an episode.
        menu: which admissible actions are offered.
        temperature: of the softmax; 0 takes the most probable token at each branching.
    """

    def __init__(
        self,
        lm: LanguageModel,
        format: EpisodeFormat,
        menu: ActionMenu | None = None,
        temperature: float = 1.0,
    ) -> None:
        if temperature < 0:
            raise ValueError(f"temperature must be >= 0, got {temperature}")
        self.lm, self.format, self.menu, self.temperature = lm, format, menu or ActionMenu(), temperature

    def begin(self, rngs: Sequence[np.random.Generator]) -> "ConstrainedSession":
        """Start one episode for each generator; they are decoded as one batch and sampled apart."""
        return ConstrainedSession(self, rngs)


class ConstrainedSession:
    """Episodes in flight: one decoder row each, with ids that are decided and not yet fed."""

    def __init__(self, policy: ConstrainedPolicy, rngs: Sequence[np.random.Generator]) -> None:
        self._policy, self._rngs = policy, list(rngs)
        self._decoder = RaggedDecoder(policy.lm, len(rngs))
        self._unfed: list[list[int]] = [[] for _ in rngs]

    @property
    def rows(self) -> int:
        """How many rows are left."""
        return len(self._unfed)

    def keep(self, rows: list[int]) -> None:
        """Drop all rows but these."""
        self._decoder.keep(rows)
        self._unfed = [self._unfed[r] for r in rows]
        self._rngs = [self._rngs[r] for r in rows]

    def choose(
        self, new: Sequence[Sequence[int]], admissible: Sequence[Sequence[str] | None]
    ) -> list[Choice | None]:
        """One action for each row that acts.

        Args:
            new: ids that each row's sequence gained since its last choice (opening, or reply and cue).
            admissible: each row's admissible actions; None for a row that does not act.

        Returns:
            The choices, None for rows that do not act.

        Raises:
            ValueError: a row that acts has no admissible action (open templates need the `generate` policy).
        """
        branches: dict[int, _Branching] = {}
        for row, actions in enumerate(admissible):
            if actions is None:
                continue
            if not actions:
                raise ValueError(
                    "the constrained policy found no admissible action; use --policy generate for open actions"
                )
            self._unfed[row] += new[row]
            names: dict[tuple[int, ...], str] = {}
            for text in self._policy.menu.choices(actions):
                names.setdefault(self._policy.format.action(text), text)
            branches[row] = _Branching(names)
        undecided = list(branches)
        while True:
            for row in undecided:
                self._unfed[row] += branches[row].forced()
            undecided = [row for row in undecided if not branches[row].decided]
            if not undecided:
                break
            feed: list[list[int]] = [[] for _ in self._unfed]
            for row in undecided:
                feed[row], self._unfed[row] = self._unfed[row], []
            logits = self._decoder.feed(feed)[undecided]
            allowed = [branches[row].allowed() for row in undecided]
            for row, token, logprob in zip(undecided, *self._sample(undecided, logits, allowed), strict=True):
                branches[row].take(token, logprob)
                self._unfed[row].append(token)
        return [branches[row].choice() if row in branches else None for row in range(self.rows)]

    def _sample(
        self, rows: list[int], logits: Tensor, allowed: list[tuple[int, ...]]
    ) -> tuple[list[int], list[float]]:
        temperature = self._policy.temperature
        logprobs = masked_log_softmax(logits, allowed, temperature or 1.0)
        if temperature == 0:
            tokens = logprobs.argmax(-1)
        else:
            draws = torch.tensor([self._rngs[row].random() for row in rows], device=logits.device)
            tokens = inverse_cdf(logprobs.exp(), draws)
        return tokens.tolist(), logprobs.gather(1, tokens[:, None]).squeeze(1).tolist()


class _Branching:
    """The walk of one action down the trie of its candidates."""

    def __init__(self, names: dict[tuple[int, ...], str]) -> None:
        self._names, self._left = names, list(names)
        self._ids: list[int] = []
        self._decisions: list[Decision] = []
        self._allowed: tuple[int, ...] = ()

    @property
    def decided(self) -> bool:
        return len(self._left) == 1

    def forced(self) -> list[int]:
        """Ids that all remaining candidates share from here on; they become part of the action."""
        shared: list[int] = []
        depth = len(self._ids)
        if self.decided:
            shared = list(self._left[0][depth:])
        else:
            while len({c[depth + len(shared)] for c in self._left}) == 1:
                shared.append(self._left[0][depth + len(shared)])
        self._ids += shared
        return shared

    def allowed(self) -> tuple[int, ...]:
        depth = len(self._ids)
        self._allowed = tuple(sorted({c[depth] for c in self._left}))
        return self._allowed

    def take(self, token: int, logprob: float) -> None:
        depth = len(self._ids)
        self._decisions.append(Decision(depth, 0, self._allowed, logprob))
        self._ids.append(token)
        self._left = [c for c in self._left if c[depth] == token]

    def choice(self) -> Choice:
        ids = tuple(self._ids)
        return Choice(self._names[ids], ids, self._decisions)


def masked_log_softmax(
    logits: Tensor, allowed: Sequence[tuple[int, ...] | None], temperature: float = 1.0
) -> Tensor:
    """Log-probabilities of the softmax over each row's allowed ids.

    Args:
        logits: ``(rows, vocabulary)``.
        allowed: ids each row may choose from; None for all.
        temperature: divides the logits.

    Returns:
        ``(rows, vocabulary)``; ids that are not allowed are at about -1e9.
    """
    rows = [r for r, ids in enumerate(allowed) if ids is not None for _ in ids]
    columns = [i for ids in allowed if ids is not None for i in ids]
    mask = torch.full_like(logits, _MASKED)
    mask[[r for r, ids in enumerate(allowed) if ids is None]] = 0.0
    mask[rows, columns] = 0.0
    return torch.log_softmax(logits / temperature + mask, -1)


def inverse_cdf(probabilities: Tensor, draws: Tensor) -> Tensor:
    """Sample each row with a uniform draw of its own, so that a row's sample depends on no other row.

    Args:
        probabilities: ``(rows, n)``, each row sums to 1.
        draws: ``(rows,)`` in [0, 1).

    Returns:
        ``(rows,)``: the first index whose cumulative probability exceeds the draw; never one of probability 0.
    """
    cumulative = probabilities.double().cumsum(-1)
    wanted = draws.double() * cumulative[:, -1]
    return torch.searchsorted(cumulative, wanted[:, None], right=True).squeeze(1)


def decision_logprobs(
    lm: LanguageModel, hidden: Tensor, sequences: Sequence[TokenSequence], temperature: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Log-probabilities of the decisions of a batch under the present model.

    Args:
        lm: the model.
        hidden: ``(batch, length, width)`` of the right-padded sequences.
        sequences: the batch.
        temperature: the one the decisions were sampled with.

    Returns:
        (log-probabilities, entropies), each ``(decisions of all sequences, in order,)``.
    """
    rows = [r for r, s in enumerate(sequences) for _ in s.decisions]
    before = [d.position - 1 for s in sequences for d in s.decisions]
    chosen = torch.tensor([s.ids[d.position] for s in sequences for d in s.decisions], device=hidden.device)
    logits = lm.logits(hidden[rows, before])
    logprobs = masked_log_softmax(logits, [d.allowed for s in sequences for d in s.decisions], temperature)
    entropy = -(logprobs.exp() * logprobs.clamp(min=-100)).sum(-1)
    return logprobs.gather(1, chosen[:, None]).squeeze(1), entropy
