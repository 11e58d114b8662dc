"""How an episode becomes tokens.

An episode is one sequence; every turn appends to it, so the key-value cache of a rollout is never recomputed and one
forward trains all decisions of an episode:

    <bos> o_0 <goal> g <act> a_0 <obs> o_1 <goal> g <act> a_1 <obs> o_2 ...

The goal is repeated before each action: a small model then attends to it from nearby. The token after an action's
text ends the action (``<obs>`` for `tiny`), so no action is a prefix of another.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from envrl.agents.models import LanguageModel
from envrl.wrappers.transition import Transition


class Decision(NamedTuple):
    """One token that was free to be another.

    position: index in the sequence. step: index of the action. allowed: ids the policy could choose from, None when
    it could choose any. logprob: log-probability under the policy that sampled it (0 in demonstrations).
    """

    position: int
    step: int
    allowed: tuple[int, ...] | None
    logprob: float


@dataclass
class TokenSequence:
    """An episode in tokens.

    ids: the whole sequence. decisions: its free tokens, in order. actions, replies: per step the half-open span of
    the action's text and of the raw next observation.
    """

    ids: list[int] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    actions: list[tuple[int, int]] = field(default_factory=list)
    replies: list[tuple[int, int]] = field(default_factory=list)


class EpisodeFormat:
    """Tokens of the parts of an episode for a model whose tokenizer has `SPECIAL_TOKENS`.

    Args:
        lm: the model whose tokenizer encodes.
        max_observation_tokens: longer observations are cut at the end.
    """

    def __init__(self, lm: LanguageModel, max_observation_tokens: int = 1024) -> None:
        self._lm, self._cut = lm, max_observation_tokens
        self._bos, self._goal, self._act, self._obs, self._next, self._inverse = map(
            lm.token_id, ("<bos>", "<goal>", "<act>", "<obs>", "<next>", "<inverse>")
        )
        self._actions: dict[str, tuple[int, ...]] = {}

    def observation(self, text: str) -> tuple[int, ...]:
        """Ids of a raw observation."""
        return self._lm.encode(text)[: self._cut]

    def opening(self, goal: str, observation: str) -> list[int]:
        """Everything before the first action."""
        return [self._bos, *self.observation(observation), *self.cue(goal)]

    def cue(self, goal: str) -> list[int]:
        """What stands between an observation and the next action."""
        return [self._goal, *self._lm.encode(goal), self._act]

    def action(self, text: str) -> tuple[int, ...]:
        """Ids of an action with the token that ends it; observation tokens follow directly."""
        ids = self._actions.get(text)
        if ids is None:
            if len(self._actions) >= LanguageModel.CACHE_SIZE:
                self._actions.clear()
            ids = self._actions[text] = (*self._lm.encode(text), self._obs)
        return ids

    def inverse(
        self, observation: str, next_observation: str, action: str
    ) -> tuple[list[int], tuple[int, int]]:
        """A row that asks which action led from one observation to the next: (ids, span of the action's text)."""
        ids = [self._bos, *self.observation(observation), self._next, *self.observation(next_observation)]
        ids.append(self._inverse)
        start = len(ids)
        ids += self._lm.encode(action)
        return ids, (start, len(ids))

    def sequence(self, transitions: Sequence[Transition], menu: "ActionMenu | None" = None) -> TokenSequence:
        """A recorded episode in tokens.

        Args:
            transitions: the steps of one episode, in order.
            menu: when given, actions become decisions among the admissible ones, as a constrained policy sees them.

        Returns:
            The sequence; steps whose action was not among the admissible ones carry no decisions.
        """
        first = transitions[0]
        out = TokenSequence(self.opening(first.goal, first.observation))
        for step, row in enumerate(transitions):
            action = self.action(row.action)
            if menu is not None:
                candidates = [self.action(a) for a in menu.choices(row.admissible_actions or ())]
                start = len(out.ids)
                for offset, allowed in free_tokens(action, candidates):
                    out.decisions.append(Decision(start + offset, step, allowed, 0.0))
            self.append(out, action, row.next_observation, row.goal)
        return out

    def append(
        self, out: TokenSequence, action: tuple[int, ...], next_observation: str, goal: str
    ) -> list[int]:
        """Append one turn to a sequence; returns the ids after the action (reply and cue)."""
        start = len(out.ids)
        out.ids += action
        out.actions.append((start, len(out.ids) - 1))
        reply = self.observation(next_observation)
        out.replies.append((len(out.ids), len(out.ids) + len(reply)))
        tail = [*reply, *self.cue(goal)]
        out.ids += tail
        return tail


@dataclass(frozen=True)
class ActionMenu:
    """Which admissible actions a policy is offered.

    exclude: exact actions to leave out while others remain (such as ``help``).
    """

    exclude: tuple[str, ...] = ()

    def choices(self, admissible: Iterable[str]) -> list[str]:
        """The offered actions, in the environment's order."""
        admissible = list(admissible)
        return [a for a in admissible if a not in self.exclude] or admissible


def free_tokens(
    chosen: tuple[int, ...], candidates: Iterable[tuple[int, ...]]
) -> list[tuple[int, tuple[int, ...]]]:
    """Positions of ``chosen`` at which the trie of candidates branches.

    Args:
        chosen: ids of the action, one of ``candidates``.
        candidates: ids of all actions; none is a prefix of another.

    Returns:
        (offset, sorted ids allowed there) of each branching; empty if ``chosen`` is not a candidate.
    """
    left = list(candidates)
    if chosen not in left:
        return []
    out = []
    for offset, token in enumerate(chosen):
        if len(left) == 1:
            break
        allowed = {c[offset] for c in left}
        if len(allowed) > 1:
            out.append((offset, tuple(sorted(allowed))))
            left = [c for c in left if c[offset] == token]
    return out
