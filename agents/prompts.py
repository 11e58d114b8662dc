"""What an episode is in tokens, and what a format must offer to write one.

A `TokenSequence` is a training row: ids, the tokens (or whole actions) that were free to be others, and where actions
and observations lie in it. An `EpisodeFormat` knows how text becomes ids for one kind of model: with structure tokens
of its own (`envrl.agents.tagged_format`) or with the chat template of the model (`envrl.agents.chat_format`).
`envrl.agents.transcripts` puts the parts together, turn by turn.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from envrl.agents.models import LanguageModel
from envrl.wrappers.transition import Transition


class Excluded(tuple[int, ...]):
    """Ids that could not be chosen, where all others could: the complement of a plain tuple of allowed ids."""

    __slots__ = ()


#: ids that a token was chosen from: a plain tuple lists them, `Excluded` lists the others, None is all
Allowed = tuple[int, ...] | Excluded | None


class Candidates(NamedTuple):
    """A choice among whole actions by their total log-probabilities.

    ids: each candidate's; an empty one stands for whatever begins like none of the others. chosen: index.
    per_token: totals are divided by the number of tokens.
    """

    ids: tuple[tuple[int, ...], ...]
    chosen: int
    per_token: bool = False


class Decision(NamedTuple):
    """One choice that was free to be another: of a token, or of a whole action.

    position: index of the token, or of the action's first token, in the sequence. step: index of the action in the
    sequence. allowed: ids the token was chosen from. logprob, entropy: log-probability under the policy that sampled
    it, and that policy's entropy there (0 in demonstrations). candidates: the actions to choose from, where the choice
    was of an action.
    """

    position: int
    step: int
    allowed: Allowed
    logprob: float
    entropy: float = 0.0
    candidates: Candidates | None = None


@dataclass
class TokenSequence:
    """An episode, or one step of it, in tokens.

    ids: the whole sequence. decisions: its free tokens, in order. actions, replies: per step the half-open span of
    the action's text and of the raw next observation.
    """

    ids: list[int] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    actions: list[tuple[int, int]] = field(default_factory=list)
    replies: list[tuple[int, int]] = field(default_factory=list)

    @property
    def cost(self) -> int:
        """Tokens that a forward for the policy runs over: the ids, and those of actions not taken."""
        scored = [d.candidates.ids for d in self.decisions if d.candidates is not None]
        return len(self.ids) + sum(max(0, len(c) - 1) for ids in scored for c in ids)


class Offer(NamedTuple):
    """What a policy may do now: concrete actions, and templates of open ones (``search[<query>]``)."""

    actions: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()


@dataclass(frozen=True)
class ActionMenu:
    """Which admissible actions a policy is offered.

    exclude: exact actions to leave out while others remain (such as ``help``).
    """

    exclude: tuple[str, ...] = ()

    def choices(self, admissible: Iterable[str], others: bool = False) -> list[str]:
        """The offered actions, in the environment's order.

        Args:
            admissible: the legal actions.
            others: there is something else to choose, so that all of them may be left out.
        """
        admissible = list(admissible)
        return [a for a in admissible if a not in self.exclude] or ([] if others else admissible)

    def offer(self, info: Mapping[str, Any]) -> Offer:
        """What ``info`` of an environment offers."""
        templates = tuple(info.get("action_templates") or ())
        return Offer(
            tuple(self.choices(info.get("admissible_actions") or (), others=bool(templates))), templates
        )


class EpisodeFormat(Protocol):
    """How the parts of an episode become ids for one model.

    lm: the model whose tokenizer encodes. stop: id that ends an action; no action holds it, so none is the
    beginning of another.
    """

    lm: LanguageModel
    stop: int

    def prompt(
        self, goal: str, history: Sequence[tuple[str, str]], observation: str, offer: Offer, steps: int
    ) -> list[int]:
        """Everything before an action: an opening (no history), or a window on the last turns.

        Args:
            goal: the task in words.
            history: the latest (observation, action) pairs, oldest first.
            observation: what is seen now.
            offer: what can be done now.
            steps: steps taken so far, of which ``history`` has the latest.
        """

    def action(self, text: str) -> tuple[int, ...]:
        """Ids of an action, `stop` at their end."""

    def reply(self, observation: str) -> tuple[list[int], tuple[int, int]]:
        """What follows an action: (ids, span in them of the raw observation)."""

    def cue(self, goal: str, offer: Offer) -> list[int]:
        """What stands between a reply and the next action."""

    def inverse(
        self, observation: str, next_observation: str, action: str
    ) -> tuple[list[int], tuple[int, int]]:
        """A row that asks which action led from one observation to the next: (ids, span of the action's text)."""

    def sequence(self, transitions: Sequence[Transition]) -> TokenSequence:
        """Consecutive recorded steps as one sequence without decisions."""
