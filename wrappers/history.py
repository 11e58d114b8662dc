"""Prompts from history: the goal, the last steps, the present observation and the legal actions as one text.

`render_prompt` is the pure function that trainers use; `HistoryPrompt` is the wrapper whose observation is
the prompt. How a prompt looks is a `PromptTemplate`: format strings that can be replaced one by one.
"""

import string
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple, SupportsFloat

import gymnasium
from gymnasium.utils import RecordConstructorArgs

from envrl.envs.spaces import FreeText
from envrl.wrappers.facts import FACTS, InfoReader

_GOAL, _ADMISSIBLE = list(FACTS).index("goal"), list(FACTS).index("admissible_actions")
#: the fields that each format string of a template may use
_FIELDS = {
    "first": ("goal", "observation", "admissible"),
    "later": ("goal", "observation", "admissible", "history", "shown", "steps"),
    "turn": ("number", "observation", "action"),
    "admissible": ("actions",),
    "action": ("action",),
}


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """Format strings of a prompt; a literal brace is written ``{{`` or ``}}``.

    Attributes:
        first: the prompt before any step; fields ``{goal}``, ``{observation}``, ``{admissible}``.
        later: the prompt after some steps; also ``{history}`` (the turns), ``{shown}`` (how many those are)
            and ``{steps}`` (steps taken in all).
        turn: one past step; fields ``{number}`` (from 1), ``{observation}`` (what was seen), ``{action}``.
        turn_separator: stands between turns.
        admissible: the block of legal actions, field ``{actions}``; nothing at all if there are none.
        action: one legal action, field ``{action}``.
        action_separator: stands between actions.

    Raises:
        ValueError: a format string uses a field it does not have.

    >>> PromptTemplate(turn="{number}. {action}").turn
    '{number}. {action}'
    """

    first: str = "Your task: {goal}\n\nYou see: {observation}\n\n{admissible}Your action:"
    later: str = (
        "Your task: {goal}\n\nSteps so far: {steps}. The last {shown}:\n{history}\n\n"
        "Now you see: {observation}\n\n{admissible}Your action:"
    )
    turn: str = "{number}. You saw: {observation}\n   You did: {action}"
    turn_separator: str = "\n"
    admissible: str = "Possible actions:\n{actions}\n\n"
    action: str = "- {action}"
    action_separator: str = "\n"

    def __post_init__(self) -> None:
        for name, allowed in _FIELDS.items():
            try:
                used = [field for _, field, _, _ in string.Formatter().parse(getattr(self, name))]
            except ValueError as error:
                raise ValueError(f"PromptTemplate.{name} is no format string: {error}") from error
            wrong = [field for field in used if field is not None and field not in allowed]
            if wrong:
                known = ", ".join(f"{{{field}}}" for field in allowed)
                raise ValueError(
                    f"PromptTemplate.{name} may use {known}, found {{{wrong[0]}}}; "
                    "write a literal brace twice"
                )


def render_prompt(
    template: PromptTemplate,
    goal: str,
    history: Sequence[tuple[str, str]],
    observation: str,
    admissible: Sequence[str] | None = None,
    *,
    last: int | None = None,
    steps: int | None = None,
    max_length: int | None = None,
) -> str:
    """The prompt for one decision.

    Args:
        template: what the prompt looks like.
        goal: the task in words.
        history: past (observation, action) pairs, oldest first: what was seen, and what was done then.
        observation: what is seen now.
        admissible: legal actions; None or empty leaves their block out.
        last: show only so many of the latest pairs; None shows all that are given.
        steps: steps taken in all, where ``history`` has only the latest.
        max_length: in characters. What does not fit loses the oldest pairs first, then the end of the
            observation; if the rest alone is longer, the end of the prompt is cut.

    >>> template = PromptTemplate(later="{history} | {observation}", turn="{observation} > {action}")
    >>> render_prompt(template, "", [("a door", "open it")], "a hall")
    'a door > open it | a hall'
    """
    steps = len(history) if steps is None else steps
    shown = list(history) if last is None else list(history[len(history) - min(last, len(history)) :])
    actions = template.action_separator.join(
        template.action.format(action=action) for action in admissible or ()
    )
    block = template.admissible.format(actions=actions) if admissible else ""

    def render(turns: list[tuple[str, str]], seen: str) -> str:
        if not turns:
            return template.first.format(goal=goal, observation=seen, admissible=block)
        first = steps - len(turns) + 1
        text = template.turn_separator.join(
            template.turn.format(number=first + n, observation=saw, action=did)
            for n, (saw, did) in enumerate(turns)
        )
        return template.later.format(
            goal=goal, observation=seen, admissible=block, history=text, shown=len(turns), steps=steps
        )

    prompt = render(shown, observation)
    if max_length is None:
        return prompt
    while len(prompt) > max_length and shown:
        del shown[0]
        prompt = render(shown, observation)
    if len(prompt) > max_length:
        prompt = render(shown, observation[: max(0, len(observation) - (len(prompt) - max_length))])
    return prompt[:max_length]


class PromptState(NamedTuple):
    """Snapshot of a `HistoryPrompt`: that of the environment below, and what the prompt needs."""

    below: Any
    observation: str
    history: tuple[tuple[str, str], ...]
    steps: int

    @property
    def terminated(self) -> bool:
        """Whether the episode is over."""
        return bool(getattr(self.below, "terminated", False))


class HistoryPrompt(
    gymnasium.Wrapper[str, str, str, str],
    RecordConstructorArgs,
):
    """The observation becomes a prompt; the observation itself goes to ``info["raw_observation"]``.

    To branch, use `get_state` and `set_state` of this wrapper: a snapshot of it has the history too.

    Args:
        env: an environment with text observations and actions.
        length: how many past (observation, action) pairs the prompt shows; 0 shows none.
        template: a `PromptTemplate`, or a dict of those of its fields that differ from the default.
        show_admissible: list the legal actions, where ``info`` has them.
        max_length: longest prompt, in characters; see `render_prompt` for what is left out.
        info_keys: where a foreign ``info`` has the goal and the actions, as for `RecordTransitions`.

    Raises:
        ValueError: a template with wrong fields, or a negative ``length``.
    """

    def __init__(
        self,
        env: gymnasium.Env[str, str],
        *,
        length: int = 2,
        template: PromptTemplate | Mapping[str, str] | None = None,
        show_admissible: bool = True,
        max_length: int = 32768,
        info_keys: Mapping[str, str] | None = None,
    ) -> None:
        self.template = template if isinstance(template, PromptTemplate) else _template(template or {})
        RecordConstructorArgs.__init__(
            self,
            length=length,
            template=asdict(self.template),
            show_admissible=show_admissible,
            max_length=max_length,
            info_keys=dict(info_keys) if info_keys else None,
        )
        super().__init__(env)
        if length < 0:
            raise ValueError(f"length is the number of past steps to show, expected >= 0, found {length}")
        self.observation_space = FreeText(max_length)
        self._reader = InfoReader(info_keys)
        self._show_admissible, self._max_length = show_admissible, max_length
        self._history: deque[tuple[str, str]] = deque(maxlen=length)
        self._observation, self._steps = "", 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Reset the environment and forget the history."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._history.clear()
        self._observation, self._steps = observation, 0
        return self._prompt(info)

    def step(self, action: str) -> tuple[str, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the environment; the action joins the history."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._history.append((self._observation, action))
        self._observation, self._steps = observation, self._steps + 1
        prompt, info = self._prompt(info)
        return prompt, reward, terminated, truncated, info

    def get_state(self) -> PromptState:
        """A snapshot of the environment and the history."""
        below = self.env.get_wrapper_attr("get_state")()
        return PromptState(below, self._observation, tuple(self._history), self._steps)

    def set_state(self, state: PromptState) -> tuple[str, dict[str, Any]]:
        """Return to a snapshot; gives (prompt, info)."""
        _, info = self.env.get_wrapper_attr("set_state")(state.below)
        self._history.clear()
        self._history.extend(state.history)
        self._observation, self._steps = state.observation, state.steps
        return self._prompt(info)

    def _prompt(self, info: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        facts = self._reader.facts(info)
        prompt = render_prompt(
            self.template,
            facts[_GOAL] or "",
            tuple(self._history),
            self._observation,
            facts[_ADMISSIBLE] if self._show_admissible else None,
            steps=self._steps,
            max_length=self._max_length,
        )
        return prompt, {**info, "raw_observation": self._observation}


def _template(changes: Mapping[str, str]) -> PromptTemplate:
    known = [field.name for field in fields(PromptTemplate)]
    unknown = sorted(set(changes) - set(known))
    if unknown:
        raise ValueError(f"PromptTemplate has {', '.join(known)}; found {unknown[0]!r}")
    return PromptTemplate(**changes)
