"""Policies without a model: the experts, an explorer, and chance."""

import re
from collections.abc import Callable
from typing import Any, Protocol

import gymnasium
import numpy as np

from envrl.envs.errors import NoExpert

_BLANK = re.compile(r"<[^<>]*>")


class Policy(Protocol):
    """Chooses the actions of an episode."""

    def begin(self, env: gymnasium.Env[str, str], rng: np.random.Generator) -> None:
        """An episode of ``env`` has just been reset; ``rng`` is the episode's own."""

    def act(self, observation: str, info: dict[str, Any]) -> str:
        """The next action."""


class RandomPolicy:
    """Any legal action; an open action's blank is filled with words of the goal.

    Args:
        by_verb: draw the action's first word first, so that many ``go to`` do not crowd out the one ``open``;
            else every action is alike likely.
    """

    def __init__(self, by_verb: bool = False) -> None:
        self._by_verb = by_verb

    def begin(self, env: gymnasium.Env[str, str], rng: np.random.Generator) -> None:
        """Take up the episode."""
        self._env, self._rng = env, rng

    def act(self, observation: str, info: dict[str, Any]) -> str:
        """A legal action, or a sample of the action space where the environment names none."""
        offered = [*info.get("admissible_actions", ()), *info.get("action_templates", ())]
        if not offered:
            return str(self._env.action_space.sample())
        if self._by_verb:
            verb = self._one_of(list(dict.fromkeys(action.split(" ")[0] for action in offered)))
            offered = [action for action in offered if action.split(" ")[0] == verb]
        choice = self._one_of(offered)
        return _BLANK.sub(lambda blank: self._words(info), choice)

    def _one_of(self, items: list[str]) -> str:
        return items[int(self._rng.integers(len(items)))]

    def _words(self, info: dict[str, Any]) -> str:
        words = info.get("goal", "").split() or ["anything"]
        first = int(self._rng.integers(len(words)))
        return " ".join(words[first : first + int(self._rng.integers(1, 4))])


class PrivilegedPolicy:
    """Follows the privileged expert's plan, made once at the start."""

    def begin(self, env: gymnasium.Env[str, str], rng: np.random.Generator) -> None:
        """Ask for the plan. Raises NoExpert where there is none."""
        self._plan = list(env.unwrapped.expert_actions())  # type: ignore[attr-defined]

    def act(self, observation: str, info: dict[str, Any]) -> str:
        """The plan's next action."""
        if not self._plan:
            raise NoExpert("the expert's plan is at its end and the task is not solved")
        return str(self._plan.pop(0))


class ImitablePolicy:
    """Asks the expert that sees what the agent sees; acts at random with probability ``epsilon``."""

    def __init__(self, epsilon: float = 0.0) -> None:
        self._epsilon, self._random = epsilon, RandomPolicy(by_verb=True)

    def begin(self, env: gymnasium.Env[str, str], rng: np.random.Generator) -> None:
        """Take up the episode. Raises NoExpert where there is none."""
        self._env, self._rng = env, rng
        self._random.begin(env, rng)
        self._advice()

    def act(self, observation: str, info: dict[str, Any]) -> str:
        """The expert's next action, or a random one: by the mixture, or where the expert is at a loss."""
        if self._epsilon and self._rng.random() < self._epsilon:
            return self._random.act(observation, info)
        try:
            return self._advice()
        except NoExpert:
            return self._random.act(observation, info)

    def _advice(self) -> str:
        actions = self._env.unwrapped.expert_actions(privileged=False)  # type: ignore[attr-defined]
        if not actions:
            raise NoExpert("the imitable expert has no action")
        return str(actions[0])


#: by name: made from the share of random actions that ``explorer`` takes
SCRIPTED: dict[str, Callable[[float], Policy]] = {
    "expert": lambda epsilon: PrivilegedPolicy(),
    "imitable": lambda epsilon: ImitablePolicy(),
    "explorer": lambda epsilon: ImitablePolicy(epsilon),
    "random": lambda epsilon: RandomPolicy(),
}
