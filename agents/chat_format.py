"""The format of any causal language model: its chat template, one message a turn.

    system: what to do | user: goal, observation, actions | assistant: action | user: observation, actions | ...

Turns are appended, never encoded again; what the model has sampled stays as it is, thoughts included, also where the
template would drop them from earlier turns.
"""

from collections.abc import Sequence

from envrl.agents.chat_frames import find_frames
from envrl.agents.chat_texts import ChatTexts
from envrl.agents.models import LanguageModel
from envrl.agents.prompts import Offer, TokenSequence
from envrl.agents.transcripts import sequence_of
from envrl.wrappers.transition import Transition

_INVERSE = "You see what was there before and after one action in a text environment. Answer with the action."


class ChatFormat:
    """Tokens of the parts of an episode as messages of a conversation; an `EpisodeFormat`.

    Args:
        lm: the model whose tokenizer encodes and whose chat template frames messages.
        texts: what messages say.
        max_observation_tokens: longer observations are cut at the end.
    """

    def __init__(
        self, lm: LanguageModel, texts: ChatTexts | None = None, max_observation_tokens: int = 1024
    ) -> None:
        self.lm, self.texts, self._cut = lm, texts or ChatTexts(), max_observation_tokens
        self._frames = find_frames(lm)
        self.stop = self._frames.stop
        self._cue, self._after = self._frame(self._frames.cue), self._frame(self._frames.after_answer)

    def prompt(
        self, goal: str, history: Sequence[tuple[str, str]], observation: str, offer: Offer, steps: int
    ) -> list[int]:
        """System message, and a user message with the goal, the last turns and the observation."""
        shown = [(self._shortened(seen), done) for seen, done in history]
        text = self.texts.opening(goal, shown, self._shortened(observation), offer, steps)
        return [*self._head(self.texts.system), *self.lm.encode(text), *self._cue]

    def cue(self, goal: str, offer: Offer) -> list[int]:
        """The list of actions, where there is one, and the start of an answer."""
        return [*self.lm.encode(self.texts.listing(offer)), *self._cue]

    def action(self, text: str) -> tuple[int, ...]:
        """Ids of an answer with this action, and the token that ends an answer."""
        return (*self.lm.encode(self.texts.answer(text)), self.stop)

    def reply(self, observation: str) -> tuple[list[int], tuple[int, int]]:
        """The rest of the answer's frame, the start of a user message, and the observation."""
        ids = self.lm.encode(observation)[: self._cut]
        start = len(self._after)
        return [*self._after, *ids], (start, start + len(ids))

    def inverse(
        self, observation: str, next_observation: str, action: str
    ) -> tuple[list[int], tuple[int, int]]:
        """A conversation that asks which action led from one observation to the next."""
        before, after = self._shortened(observation), self._shortened(next_observation)
        question = f"Before:\n{before}\n\nAfter:\n{after}\n\nWhich action was it?"
        ids = [*self._head(_INVERSE), *self.lm.encode(question), *self._cue]
        answer = self.lm.encode(action)
        return [*ids, *answer], (len(ids), len(ids) + len(answer))

    def sequence(self, transitions: Sequence[Transition]) -> TokenSequence:
        """Consecutive recorded steps as one sequence without decisions."""
        return sequence_of(self, transitions)

    def _head(self, instructions: str) -> list[int]:
        """Everything before the text of the first user message."""
        frames, system = self._frames, self.lm.encode(instructions)
        if frames.has_system:
            return [*self._frame(frames.opening), *system, *self._frame(frames.before_user)]
        return [*self._frame(frames.opening), *system, *self.lm.encode("\n\n")]

    def _frame(self, text: str) -> list[int]:
        """Ids of a part of the template, special tokens as what they are."""
        return list(self.lm.tokenizer(text, add_special_tokens=False)["input_ids"]) if text else []

    def _shortened(self, observation: str) -> str:
        ids = self.lm.encode(observation)
        return observation if len(ids) <= self._cut else self.lm.decode(ids[: self._cut])
