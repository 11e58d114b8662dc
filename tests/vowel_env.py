"""An environment in which any text is worth something: write vowels. Two steps an episode."""

from typing import Any

import gymnasium
from gymnasium import spaces


class VowelEnv(gymnasium.Env[str, str]):
    """The reward of a step is the share of vowels in the action."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self) -> None:
        self.observation_space = self.action_space = spaces.Text(1000)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return "Write.", self._info("none")

    def step(self, action: str) -> Any:
        self.steps += 1
        share = sum(c in "aeiou" for c in action) / max(len(action), 1)
        return f"{share:.2f}", share, self.steps == 2, False, self._info("ok")

    def _info(self, status: str) -> dict[str, Any]:
        return {
            "goal": "write vowels",
            "action_status": status,
            "admissible_actions": (),
            "task_id": "vowels",
        }


if "Test/Vowels-v0" not in gymnasium.registry:
    gymnasium.register("Test/Vowels-v0", entry_point="vowel_env:VowelEnv", disable_env_checker=True)
