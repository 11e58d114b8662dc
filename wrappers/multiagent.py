"""Two agents in one conversation, as PettingZoo environments: who helps, and the user who is helped.

`DialogueParallel` and `DialogueAEC` are two faces of the tasks of ``EnvRL/EnvFactory-v0``. The agent has the
toolkits' tools; the user knows what it wants and, in tasks with ``user_tools``, has tools of its own (dual
control). Both get the task's reward. Needs the extra ``pettingzoo``.
"""

from collections.abc import Sequence
from typing import Any

from gymnasium import spaces

from envrl.envs.envfactory.dialogue import ROLES
from envrl.envs.envfactory.reward import RewardKind
from envrl.envs.errors import MissingExtra
from envrl.wrappers.dialogue_table import DialogueTable, Observation

try:
    from pettingzoo import AECEnv, ParallelEnv
except ImportError as error:
    raise MissingExtra(
        "envrl.wrappers.multiagent needs pettingzoo; install it with: pip install 'envrl[pettingzoo]'"
    ) from error


class DialogueParallel(ParallelEnv[str, Observation, str]):
    """Both submit a text at each step; that of the one who is not on turn is not looked at.

    Observations are ``{"text": what is seen, "on_turn": 1 or 0}``. The one on turn calls tools, as in
    ``EnvRL/EnvFactory-v0``, and stays on turn until it says something. The user leaves with ``###DONE###``;
    then the task is judged and both get its reward.

    Args:
        suite, split, toolkits, tasks, reward: as for ``EnvRL/EnvFactory-v0``.
        max_steps: actions of both together until the dialogue is truncated.
        max_text_length: longest text of observations and actions, in characters.
        render_mode: ``ansi`` or None.

    >>> env = DialogueParallel(max_steps=4)
    >>> observations, infos = env.reset(seed=0)
    >>> observations["agent"]["on_turn"], observations["user"]["on_turn"]
    (1, 0)
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - PettingZoo's own form
        "name": "envrl_dialogue_v0",
        "render_modes": ["ansi"],
        "is_parallelizable": True,
    }

    def __init__(
        self,
        suite: str = "builtin",
        split: str = "train",
        toolkits: Sequence[str] | None = None,
        tasks: str | None = None,
        reward: RewardKind = "strict",
        max_steps: int = 60,
        max_text_length: int = 16384,
        render_mode: str | None = None,
    ) -> None:
        self._table = DialogueTable(suite, split, toolkits, tasks, reward, max_steps, max_text_length)
        self.possible_agents = list(ROLES)
        self.agents: list[str] = []
        self.render_mode = render_mode

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The same object at each call."""
        return self._table.observation_spaces[agent]  # type: ignore[index]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The same object at each call."""
        return self._table.action_spaces[agent]  # type: ignore[index]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Start the task of ``options["task_id"]``, else one drawn from the split. Raises InvalidTask."""
        self._table.start(seed, options)
        self.agents = list(ROLES)
        table = self._table
        return {r: table.observation(r) for r in ROLES}, {r: table.info(r) for r in ROLES}

    def step(
        self, actions: dict[str, str]
    ) -> tuple[
        dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]
    ]:
        """Carry out the text of the one on turn. Raises KeyError where that is missing."""
        table = self._table
        if not self.agents:
            return {}, {}, {}, {}, {}
        table.act(actions[table.dialogue.turn])
        terminated, truncated, reward = table.terminated, table.truncated, table.reward
        if terminated or truncated:
            self.agents = []
        return (
            {role: table.observation(role) for role in ROLES},
            dict.fromkeys(ROLES, reward),
            dict.fromkeys(ROLES, terminated),
            dict.fromkeys(ROLES, truncated),
            {role: table.info(role) for role in ROLES},
        )

    def render(self) -> str | None:
        """The dialogue so far when ``render_mode="ansi"``, else None."""
        return "\n".join(self._table.lines) if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Close the toolkits' sessions."""
        self._table.dialogue.close()


class DialogueAEC(AECEnv[str, Observation, str]):
    """The two act one at a time; ``agent_selection`` is the one on turn, often several times in a row.

    Args: see `DialogueParallel`, as for observations and rewards.

    >>> env = DialogueAEC(max_steps=4)
    >>> env.reset(seed=0)
    >>> env.agent_selection
    'agent'
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - PettingZoo's own form
        "name": "envrl_dialogue_v0",
        "render_modes": ["ansi"],
        "is_parallelizable": False,
    }

    def __init__(
        self,
        suite: str = "builtin",
        split: str = "train",
        toolkits: Sequence[str] | None = None,
        tasks: str | None = None,
        reward: RewardKind = "strict",
        max_steps: int = 60,
        max_text_length: int = 16384,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        self._table = DialogueTable(suite, split, toolkits, tasks, reward, max_steps, max_text_length)
        self.possible_agents = list(ROLES)
        self.agents: list[str] = []
        self.render_mode = render_mode

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The same object at each call."""
        return self._table.observation_spaces[agent]  # type: ignore[index]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The same object at each call."""
        return self._table.action_spaces[agent]  # type: ignore[index]

    def observe(self, agent: str) -> Observation:
        """What one of the two sees."""
        return self._table.observation(agent)  # type: ignore[arg-type]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start the task of ``options["task_id"]``, else one drawn from the split. Raises InvalidTask."""
        self._table.start(seed, options)
        self.agents = list(ROLES)
        self.rewards = dict.fromkeys(ROLES, 0.0)
        self._cumulative_rewards = dict.fromkeys(ROLES, 0.0)
        self.terminations = dict.fromkeys(ROLES, False)
        self.truncations = dict.fromkeys(ROLES, False)
        self.infos = {role: self._table.info(role) for role in ROLES}
        self.agent_selection = self._table.dialogue.turn

    def step(self, action: str) -> None:
        """Carry out a text of the one on turn; None once the dialogue is over."""
        selected, table = self.agent_selection, self._table
        if self.terminations[selected] or self.truncations[selected]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[selected] = 0.0
        table.act(action)
        self.rewards = dict.fromkeys(ROLES, table.reward)
        self.terminations = dict.fromkeys(ROLES, table.terminated)
        self.truncations = dict.fromkeys(ROLES, table.truncated)
        self.infos = {role: table.info(role) for role in ROLES}
        self.agent_selection = table.dialogue.turn
        self._accumulate_rewards()

    def render(self) -> str | None:
        """The dialogue so far when ``render_mode="ansi"``, else None."""
        return "\n".join(self._table.lines) if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Close the toolkits' sessions."""
        self._table.dialogue.close()
