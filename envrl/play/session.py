"""A person's game as plain data: what was seen, done, undone and scored. No terminal here."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import gymnasium

from envrl.envs.core import EnvState, TextEnv
from envrl.envs.errors import NoExpert


class Turn(NamedTuple):
    """One action, what was there before it, and what came of it."""

    state: EnvState
    observation: str
    info: dict[str, Any]
    action: str
    next_observation: str
    next_info: dict[str, Any]
    reward: float
    terminated: bool


@dataclass
class Session:
    """A game in progress.

    The environment is made without a `TimeLimit` wrapper (``max_episode_steps=-1``), whose count no snapshot
    could take back; the session counts the steps that were not undone and ends the game itself.

    Args:
        env: a `TextEnv`, possibly wrapped.
        limit: steps until the game ends, or None.
    """

    env: gymnasium.Env[str, str]
    limit: int | None = None
    observation: str = field(default="", init=False)
    info: dict[str, Any] = field(default_factory=dict, init=False)
    turns: list[Turn] = field(default_factory=list, init=False)

    @property
    def inner(self) -> TextEnv:
        """The unwrapped environment."""
        inner = self.env.unwrapped
        assert isinstance(inner, TextEnv)
        return inner

    @property
    def score(self) -> float:
        """Sum of the rewards so far."""
        return sum(turn.reward for turn in self.turns)

    @property
    def terminated(self) -> bool:
        """The environment has ended the game."""
        return bool(self.turns) and self.turns[-1].terminated

    @property
    def over(self) -> bool:
        """Ended, faulted, or out of steps."""
        out_of_steps = self.limit is not None and len(self.turns) >= self.limit
        return self.terminated or self.info["fault"] is not None or out_of_steps

    def outcome(self) -> str:
        """How a game that is over went, in words."""
        steps, score = len(self.turns), self.score
        if self.info["is_success"]:
            return f"Solved in {steps} steps, score {score:g}."
        if self.info["fault"] is not None:
            return f"The environment failed: {self.info['fault']}"
        if self.terminated:
            return f"Ended after {steps} steps, not solved, score {score:g}."
        return f"Out of time after {steps} steps, score {score:g}."

    def begin(self, *, seed: int | None = None, task_id: str | None = None) -> None:
        """Start a task: ``task_id``, else one drawn with ``seed`` (None: the next draw)."""
        options = None if task_id is None else {"task_id": task_id}
        self.observation, self.info = self.env.reset(seed=seed, options=options)
        self.turns.clear()

    def restart(self) -> None:
        """The same task from its beginning."""
        self.begin(task_id=self.info["task_id"])

    def act(self, action: str) -> Turn:
        """Carry out one action."""
        state, observation, info = self.inner.get_state(), self.observation, self.info
        self.observation, reward, terminated, _, self.info = self.env.step(action)
        turn = Turn(state, observation, info, action, self.observation, self.info, float(reward), terminated)
        self.turns.append(turn)
        return turn

    def undo(self) -> bool:
        """Take the last action back; False when there is none."""
        if not self.turns:
            return False
        turn = self.turns.pop()
        self.inner.set_state(turn.state)
        self.observation, self.info = turn.observation, turn.info
        return True

    def hint(self) -> str | None:
        """What the privileged expert would do now, or None when it knows nothing."""
        try:
            plan = self.inner.expert_actions()
        except NoExpert:
            return None
        return plan[0] if plan else None
