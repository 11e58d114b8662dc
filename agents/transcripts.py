"""Transcripts: how an episode is kept while it is played, as what the policy reads next and as rows to train on.

Two contexts. ``concat``: one multi-turn sequence, every turn appended as it happens, so that the key-value cache
lives on and one forward trains the whole episode. ``step``: one row a step, whose prompt shows the last turns, so that
a long episode costs no long sequence. Ids that a policy sampled are taken over as they are, never made from text again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from envrl.agents.choices import ContextKind
from envrl.agents.prompts import ActionMenu, Decision, EpisodeFormat, Offer, TokenSequence
from envrl.wrappers.transition import Transition


class Choice(NamedTuple):
    """An action: its text, its ids, and its decisions with positions relative to the first id (step is 0).

    written: the whole response, where it is more than the action.
    """

    text: str
    ids: tuple[int, ...]
    decisions: list[Decision]
    written: str | None = None


class Transcript(Protocol):
    """An episode in progress."""

    @property
    def format(self) -> EpisodeFormat:
        """How its parts become ids."""

    @property
    def prompt(self) -> Any:
        """What a policy decides on now: all ids so far for a model, messages for a chat endpoint."""

    @property
    def sequences(self) -> list[TokenSequence]:
        """Training rows of the steps so far; together they hold each step once, in order."""

    def begin(self, goal: str, observation: str, offer: Offer) -> None:
        """The episode was reset."""

    def turn(self, choice: Choice, observation: str, goal: str, offer: Offer) -> None:
        """An action was taken; the rest is what came of it."""


@dataclass(frozen=True)
class Context:
    """How much of an episode a policy sees, and in what rows it is trained.

    kind: ``concat`` or ``step``. last: turns before the present one that a ``step`` prompt shows. longest: in tokens;
    a ``step`` prompt that would be longer shows fewer turns (0: no limit). A prompt without turns is left as it is.
    """

    kind: ContextKind = "concat"
    last: int = 2
    longest: int = 0

    def transcript(self, format: EpisodeFormat) -> "Transcript":
        """An empty transcript."""
        if self.kind == "concat":
            return ConcatTranscript(format)
        return StepTranscript(format, self.last, self.longest)


class ConcatTranscript:
    """The episode as one growing sequence."""

    def __init__(self, format: EpisodeFormat) -> None:
        self.format, self._tokens = format, TokenSequence()

    @property
    def prompt(self) -> list[int]:
        """All ids so far."""
        return self._tokens.ids

    @property
    def sequences(self) -> list[TokenSequence]:
        """The one sequence."""
        return [self._tokens]

    def begin(self, goal: str, observation: str, offer: Offer) -> None:
        """Write the opening."""
        self._tokens.ids += self.format.prompt(goal, (), observation, offer, 0)

    def turn(self, choice: Choice, observation: str, goal: str, offer: Offer) -> None:
        """Append the action, the reply, and the cue for the next action."""
        _append(self._tokens, choice, self.format.reply(observation))
        self._tokens.ids += self.format.cue(goal, offer)


class StepTranscript:
    """A row a step: a prompt with the last turns, the action, the reply."""

    def __init__(self, format: EpisodeFormat, last: int, longest: int = 0) -> None:
        self.format, self._last, self._longest = format, last, longest
        self._history: list[tuple[str, str]] = []
        self._observation = ""
        self._next: list[int] = []
        self._done: list[TokenSequence] = []

    @property
    def prompt(self) -> list[int]:
        """The present prompt."""
        return self._next

    @property
    def sequences(self) -> list[TokenSequence]:
        """One row for each step."""
        return self._done

    def begin(self, goal: str, observation: str, offer: Offer) -> None:
        """Write the first prompt."""
        self._observation = observation
        self._next = self._prompt(goal, observation, offer)

    def turn(self, choice: Choice, observation: str, goal: str, offer: Offer) -> None:
        """Close the row of this step and write the next prompt."""
        row = TokenSequence(self._next)
        _append(row, choice, self.format.reply(observation))
        self._done.append(row)
        self._history.append((self._observation, choice.text))
        self._observation = observation
        self._next = self._prompt(goal, observation, offer)

    def _prompt(self, goal: str, observation: str, offer: Offer) -> list[int]:
        """With as many of the last turns as there is room for."""
        steps = len(self._history)
        shown = min(self._last, steps)
        while True:
            ids = self.format.prompt(goal, self._history[steps - shown :], observation, offer, steps)
            if not shown or not self._longest or len(ids) <= self._longest:
                return ids
            shown -= 1


def _append(tokens: TokenSequence, choice: Choice, reply: tuple[list[int], tuple[int, int]]) -> None:
    start, step = len(tokens.ids), len(tokens.actions)
    tokens.decisions += [d._replace(position=start + d.position, step=step) for d in choice.decisions]
    tokens.ids += choice.ids
    end = len(tokens.ids)
    tokens.actions.append((start, end - 1))
    ids, (first, last) = reply
    tokens.ids += ids
    tokens.replies.append((end + first, end + last))


class Demonstrator(Protocol):
    """A policy, as far as it takes recorded actions for its own."""

    def demonstrated(self, action: str, offer: Offer) -> Choice:
        """The action with the decisions that the policy would have had to take; none if it could not choose it."""


def transcribe(
    transcript: Transcript,
    transitions: Sequence[Transition],
    menu: ActionMenu | None = None,
    policy: Demonstrator | None = None,
) -> list[tuple[Sequence[Transition], TokenSequence]]:
    """A recorded episode as training rows, by the same transcript that a rollout writes.

    Args:
        transcript: a new one.
        transitions: the steps of one episode, in order.
        menu: which actions the prompts offer.
        policy: whose decisions the actions become; without it the rows carry none.

    Returns:
        (steps, tokens) of each row.
    """
    offers = [offer_of(row, menu or ActionMenu()) for row in transitions]
    first = transitions[0]
    transcript.begin(first.goal, first.observation, offers[0])
    for step, row in enumerate(transitions):
        if policy is None:
            choice = Choice(row.action, transcript.format.action(row.action), [])
        else:
            choice = policy.demonstrated(row.action, offers[step])
        transcript.turn(choice, row.next_observation, row.goal, offers[min(step + 1, len(offers) - 1)])
    return list(rows_of(transitions, transcript.sequences))


def sequence_of(format: EpisodeFormat, transitions: Sequence[Transition]) -> TokenSequence:
    """Consecutive steps as one sequence without decisions."""
    ((_, tokens),) = transcribe(ConcatTranscript(format), transitions)
    return tokens


def rows_of(
    transitions: Sequence[Transition], sequences: Sequence[TokenSequence]
) -> Iterator[tuple[Sequence[Transition], TokenSequence]]:
    """Each training row of an episode with the steps that it holds."""
    start = 0
    for tokens in sequences:
        end = start + len(tokens.actions)
        yield transitions[start:end], tokens
        start = end


def offer_of(row: Transition, menu: ActionMenu) -> Offer:
    """What stood to choose from at a recorded step."""
    return menu.offer(
        {"admissible_actions": row.admissible_actions, "action_templates": row.extras.get("action_templates")}
    )
