"""Evaluation of a model behind a chat endpoint: messages in, text out, no token ids."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from envrl.agents.chat_texts import ChatTexts
from envrl.agents.models import LanguageModel
from envrl.agents.policies.endpoint import Endpoint
from envrl.agents.policies.response import parse_response
from envrl.agents.prompts import ActionMenu, EpisodeFormat, Offer, TokenSequence
from envrl.agents.transcripts import Choice, Context
from envrl.wrappers.faults import Fault

Message = dict[str, str]


class ChatEndpointPolicy:
    """A model behind a chat endpoint; a `ModelPolicy` that cannot be trained.

    Args:
        endpoint: the server.
        texts: what messages say.
        menu: which admissible actions they list.
        temperature: of the server's softmax.
        context: ``concat`` sends the whole conversation, ``step`` one message with the last turns.
        longest: most tokens of a response.
    """

    lm: LanguageModel | None = None

    def __init__(
        self,
        endpoint: Endpoint,
        texts: ChatTexts,
        menu: ActionMenu | None = None,
        temperature: float = 0.4,
        context: Context | None = None,
        longest: int = 512,
    ) -> None:
        self.endpoint, self.texts, self.menu = endpoint, texts, menu or ActionMenu()
        self.temperature, self.context, self.longest = temperature, context or Context(), longest

    def transcript(self) -> "MessageTranscript":
        """An empty conversation."""
        return MessageTranscript(self.texts, self.context)

    def begin(self, rngs: Sequence[np.random.Generator]) -> "ChatSession":
        """Start one episode for each generator, which seeds its requests."""
        return ChatSession(self, rngs)

    def demonstrated(self, action: str, offer: Offer) -> Choice:
        """The answer that holds the action; it has no ids."""
        return Choice(action, (), [], self.texts.answer(action))


class MessageTranscript:
    """An episode as a conversation in text; a `Transcript` without training rows."""

    def __init__(self, texts: ChatTexts, context: Context) -> None:
        self._texts, self._context = texts, context
        self._later: list[Message] = []
        self._opening = ""
        self._history: list[tuple[str, str]] = []
        self._observation = ""

    @property
    def format(self) -> EpisodeFormat:
        """There is none: the server makes ids of the text."""
        raise TypeError("a conversation with a chat endpoint has no token ids")

    @property
    def prompt(self) -> list[Message]:
        """The messages so far."""
        system, first = ("system", self._texts.system), ("user", self._opening)
        return [{"role": role, "content": text} for role, text in (system, first)] + self._later

    @property
    def sequences(self) -> list[TokenSequence]:
        """None at all."""
        return []

    def begin(self, goal: str, observation: str, offer: Offer) -> None:
        """The first message."""
        self._observation = observation
        self._opening = self._texts.opening(goal, (), observation, offer, 0)

    def turn(self, choice: Choice, observation: str, goal: str, offer: Offer) -> None:
        """Append what was written and what came of it; or write the one message anew."""
        self._history.append((self._observation, choice.text))
        self._observation = observation
        if self._context.kind == "concat":
            self._later += [
                {"role": "assistant", "content": choice.written or choice.text},
                {"role": "user", "content": observation + self._texts.listing(offer)},
            ]
            return
        shown = self._history[len(self._history) - min(self._context.last, len(self._history)) :]
        self._opening = self._texts.opening(goal, shown, observation, offer, len(self._history))


class ChatSession:
    """Episodes in flight."""

    def __init__(self, policy: ChatEndpointPolicy, rngs: Sequence[np.random.Generator]) -> None:
        self._policy, self._rngs = policy, list(rngs)

    def keep(self, rows: list[int]) -> None:
        """Drop all rows but these."""
        self._rngs = [self._rngs[row] for row in rows]

    def choose(
        self, prompts: Sequence[list[Message]], offers: Sequence[Offer | None]
    ) -> list[Choice | Fault | None]:
        """One answer for each row that acts; see `envrl.agents.policies.model_policy.Session`."""
        policy = self._policy
        acting = [row for row, offer in enumerate(offers) if offer is not None]
        requests = [
            {
                "model": policy.endpoint.model,
                "messages": prompts[row],
                "max_tokens": policy.longest,
                "temperature": policy.temperature,
                "seed": int(self._rngs[row].integers(2**31)),
            }
            for row in acting
        ]
        out: list[Choice | Fault | None] = [None] * len(offers)
        answers = policy.endpoint.post_all("chat/completions", requests)
        for row, answer in zip(acting, answers, strict=True):
            out[row] = answer if isinstance(answer, Fault) else _read(answer)
        return out


def _read(answer: Any) -> Choice | Fault:
    try:
        text = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError) as error:
        return Fault(f"endpoint: unusable answer ({type(error).__name__}: {error})")
    if not isinstance(text, str):
        return Fault(f"endpoint: expected a text as content, got {type(text).__name__}")
    action = parse_response(text)
    return Choice(text if action is None else action, (), [], text)
