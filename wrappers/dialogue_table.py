"""`DialogueTable`: what the PettingZoo faces of a conversation are made of: spaces, observations, infos, rewards."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gymnasium import spaces
from gymnasium.utils import seeding

from envrl.envs.envfactory.dialogue import ROLES, Dialogue, Role
from envrl.envs.envfactory.library import TaskLibrary
from envrl.envs.envfactory.reward import RewardKind
from envrl.envs.spaces import FreeText

Observation = dict[str, Any]


class DialogueTable:
    """What both faces are made of: a dialogue, its spaces, and what the two have seen and earned.

    Args: see `envrl.wrappers.multiagent.DialogueParallel`.
    """

    def __init__(
        self,
        suite: str,
        split: str,
        toolkits: Sequence[str] | None,
        tasks: str | None,
        reward: RewardKind,
        max_steps: int,
        max_text_length: int,
    ) -> None:
        self.library = TaskLibrary(suite if tasks is None else Path(tasks), split, toolkits)
        self.dialogue = Dialogue(self.library)
        self.reward_kind, self.max_steps, self._longest = reward, max_steps, max_text_length
        self.steps = 0
        self.task_id = ""
        self.lines: list[str] = []
        self._random = seeding.np_random(None)[0]
        self.observation_spaces = {
            role: spaces.Dict({"text": FreeText(max_text_length), "on_turn": spaces.Discrete(2)})
            for role in ROLES
        }
        self.action_spaces = {role: FreeText(max_text_length) for role in ROLES}

    def start(self, seed: int | None, options: Mapping[str, Any] | None) -> None:
        """Begin a task. Options other than ``task_id`` are ignored, as PettingZoo's own tests want it."""
        if seed is not None:
            self._random = seeding.np_random(seed)[0]
        wanted = (options or {}).get("task_id")
        ids = self.library.ids
        self.task_id = ids[int(self._random.integers(len(ids)))] if wanted is None else wanted
        self.dialogue.start(self.task_id)
        self.steps = 0
        self.lines = [self.dialogue.views["agent"].text]

    def act(self, action: str) -> None:
        """Carry out an action of the one on turn."""
        role = self.dialogue.turn
        self.dialogue.act(action)
        self.steps += 1
        self.lines += [
            f"{role}> {action}",
            *(view.text for view in self.dialogue.views.values() if view.text),
        ]

    @property
    def terminated(self) -> bool:
        """The user has left."""
        return self.dialogue.ended

    @property
    def truncated(self) -> bool:
        """There were too many steps, or a fault."""
        return not self.terminated and (self.steps >= self.max_steps or self.dialogue.fault is not None)

    @property
    def reward(self) -> float:
        """Of the finished dialogue; 0 before."""
        parts = self.dialogue.parts
        if parts is None:
            return 0.0
        return float(parts.success) if self.reward_kind == "strict" else parts.partial

    def observation(self, role: Role) -> Observation:
        """What one of the two sees; texts are cut to the space."""
        text = self.dialogue.views[role].text[: self._longest]
        return {"text": text, "on_turn": int(role == self.dialogue.turn)}

    def info(self, role: Role) -> dict[str, Any]:
        """Task, tools and what came of the last action."""
        parts = self.dialogue.parts
        return {
            "task_id": self.task_id,
            "tools": self.dialogue.tools(role),
            "action_status": self.dialogue.views[role].status,
            "is_success": parts is not None and parts.success,
            "reward_parts": {} if parts is None else parts._asdict(),
            "fault": self.dialogue.fault,
        }
