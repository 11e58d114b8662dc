"""The format of `tiny`: structure tokens of its own.

An episode is one sequence; every turn appends to it, so the key-value cache of a rollout is never recomputed and one
forward trains all decisions of an episode:

    <bos> o_0 <goal> g <act> a_0 <obs> o_1 <goal> g <act> a_1 <obs> o_2 ...

The goal is repeated before each action: a small model then attends to it from nearby. ``<obs>`` ends an action, so no
action is a prefix of another.
"""

from collections.abc import Sequence

from envrl.agents.models import LanguageModel
from envrl.agents.prompts import Offer, TokenSequence
from envrl.agents.transcripts import sequence_of
from envrl.wrappers.transition import Transition


class TaggedFormat:
    """Tokens of the parts of an episode for a model whose tokenizer has `SPECIAL_TOKENS`; an `EpisodeFormat`.

    Args:
        lm: the model whose tokenizer encodes.
        max_observation_tokens: longer observations are cut at the end.
    """

    def __init__(self, lm: LanguageModel, max_observation_tokens: int = 1024) -> None:
        self.lm, self._cut = lm, max_observation_tokens
        self._bos, self._goal, self._act, self.stop, self._next, self._inverse = map(
            lm.token_id, ("<bos>", "<goal>", "<act>", "<obs>", "<next>", "<inverse>")
        )
        self._actions: dict[str, tuple[int, ...]] = {}

    def observation(self, text: str) -> tuple[int, ...]:
        """Ids of a raw observation."""
        return self.lm.encode(text)[: self._cut]

    def prompt(
        self, goal: str, history: Sequence[tuple[str, str]], observation: str, offer: Offer, steps: int
    ) -> list[int]:
        """Everything before an action, in the same form whether an episode begins here or a window on it."""
        ids = [self._bos]
        for seen, done in history:
            ids += [*self.observation(seen), *self.cue(goal, offer), *self.action(done)]
        return [*ids, *self.observation(observation), *self.cue(goal, offer)]

    def cue(self, goal: str, offer: Offer) -> list[int]:
        """What stands between an observation and the next action."""
        return [self._goal, *self.lm.encode(goal), self._act]

    def action(self, text: str) -> tuple[int, ...]:
        """Ids of an action with the token that ends it; observation tokens follow directly."""
        ids = self._actions.get(text)
        if ids is None:
            if len(self._actions) >= LanguageModel.CACHE_SIZE:
                self._actions.clear()
            ids = self._actions[text] = (*self.lm.encode(text), self.stop)
        return ids

    def reply(self, observation: str) -> tuple[list[int], tuple[int, int]]:
        """The observation alone."""
        ids = [*self.observation(observation)]
        return ids, (0, len(ids))

    def inverse(
        self, observation: str, next_observation: str, action: str
    ) -> tuple[list[int], tuple[int, int]]:
        """A row that asks which action led from one observation to the next: (ids, span of the action's text)."""
        ids = [self._bos, *self.observation(observation), self._next, *self.observation(next_observation)]
        ids.append(self._inverse)
        start = len(ids)
        ids += self.lm.encode(action)
        return ids, (start, len(ids))

    def sequence(self, transitions: Sequence[Transition]) -> TokenSequence:
        """Consecutive recorded steps as one sequence without decisions."""
        return sequence_of(self, transitions)
