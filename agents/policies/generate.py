"""The generate policy: free text, token by token, from which the action is read.

Token in, token out: the ids that were sampled and their log-probabilities are what is trained on, whatever text they
make; nothing is encoded again. A response from which no action can be read goes to the environment as it is, which
calls it malformed.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from envrl.agents.models import LanguageModel
from envrl.agents.policies.decoding import Decoding
from envrl.agents.policies.local_policy import LocalPolicy
from envrl.agents.policies.model_policy import Session
from envrl.agents.policies.response import parse_response
from envrl.agents.prompts import ActionMenu, Decision, EpisodeFormat, Offer
from envrl.agents.transcripts import Choice, Context

_END = "</action>"


class GeneratePolicy(LocalPolicy):
    """Writes responses; a `ModelPolicy`.

    Args:
        lm: the model.
        format: tokens of an episode.
        menu: which admissible actions prompts list.
        temperature: of the softmax; 0 takes the most probable token.
        context: what a prompt shows.
        longest: most tokens of a response; a longer one is cut off.
    """

    def __init__(
        self,
        lm: LanguageModel,
        format: EpisodeFormat,
        menu: ActionMenu | None = None,
        temperature: float = 1.0,
        context: Context | None = None,
        longest: int = 512,
    ) -> None:
        if temperature < 0 or longest < 1:
            raise ValueError(f"temperature must be >= 0 and longest >= 1, got {temperature} and {longest}")
        super().__init__(lm, format, menu, temperature, context, longest)

    def begin(self, rngs: Sequence[np.random.Generator]) -> Session:
        """Start one episode for each generator; they are decoded as one batch and sampled apart."""
        return GenerateSession(self, rngs)

    def demonstrated(self, action: str, offer: Offer) -> Choice:
        """The response that holds the action; every token of it is a decision."""
        ids = self.format.action(action)
        return Choice(action, ids, [Decision(i, 0, None, 0.0) for i in range(len(ids))])


class GenerateSession:
    """Episodes in flight, one row each."""

    def __init__(self, policy: GeneratePolicy, rngs: Sequence[np.random.Generator]) -> None:
        self._policy, self._decoding = policy, Decoding(policy.lm, rngs, policy.temperature, uneven=True)

    def keep(self, rows: list[int]) -> None:
        """Drop all rows but these."""
        self._decoding.keep(rows)

    def choose(self, prompts: Sequence[Sequence[int]], offers: Sequence[Offer | None]) -> list[Choice | None]:
        """One response for each row that acts; see `envrl.agents.policies.model_policy.Session`."""
        policy, decoding = self._policy, self._decoding
        acting = [row for row, offer in enumerate(offers) if offer is not None]
        responses = {row: Response(policy) for row in acting}
        for row in acting:
            decoding.start(row, prompts[row])
        writing = acting
        while writing:
            logits = decoding.logits(writing)[writing]
            for row, draw in zip(
                writing, decoding.sample(writing, logits, [None] * len(writing)), strict=True
            ):
                responses[row].take(*draw)
                decoding.push(row, responses[row].ids[-1:])
            writing = [row for row in writing if not responses[row].done]
        return [responses[row].choice() if row in responses else None for row in range(len(offers))]


class Writer(Protocol):
    """What a `Response` must know of a policy."""

    lm: LanguageModel
    format: EpisodeFormat
    longest: int


class Response:
    """A response while it is written.

    Args:
        policy: whose.
    """

    def __init__(self, policy: Writer) -> None:
        self._policy = policy
        self._stops = {policy.format.stop, policy.lm.tokenizer.eos_token_id}
        self.ids: list[int] = []
        self._decisions: list[Decision] = []

    def take(self, token: int, logprob: float, entropy: float = 0.0) -> None:
        """The next id."""
        self._decisions.append(Decision(len(self.ids), 0, None, logprob, entropy))
        self.ids.append(token)

    @property
    def done(self) -> bool:
        """Whether it has ended: by a token that ends it, by the end of the action, or by its length."""
        if self.ids[-1] in self._stops or len(self.ids) >= self._policy.longest:
            return True
        lm = self._policy.lm
        return ">" in lm.token_texts[self.ids[-1]] and lm.decode(self.ids[-len(_END) :]).endswith(_END)

    def choice(self) -> Choice:
        """The finished response; what ends it is appended if it was not sampled."""
        ended = self.ids[-1] in self._stops
        text = self._policy.lm.decode(self.ids[:-1] if ended else self.ids)
        action = parse_response(text)
        ids = tuple(self.ids) if ended else (*self.ids, self._policy.format.stop)
        if action is None:
            return Choice(text, ids, self._decisions)
        return Choice(action, ids, self._decisions, None if action == text else text)
