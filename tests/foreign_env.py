"""A text environment as somebody else would write it, plain Gymnasium, its own info keys, a reused dict."""

import string
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces


class ForeignEnv(gymnasium.Env[str, str]):
    """Count down from n; ``info`` is one dict that every step changes in place."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, start: int = 3) -> None:
        self.observation_space = spaces.Text(100, min_length=0, charset=string.printable)
        self.action_space = spaces.Text(20, min_length=0, charset=string.printable)
        self.start = start
        self.info: dict[str, Any] = {"admissible_commands": [], "score": np.float32(0)}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.left = self.start
        self.info["admissible_commands"][:] = [f"say {self.left}"]
        self.info["won"] = np.bool_(False)
        return f"{self.left} left", self.info

    def step(self, action: str) -> Any:
        self.left -= 1
        self.info["admissible_commands"][:] = [f"say {self.left}"]
        self.info["score"] = np.float32(self.start - self.left)
        self.info["grid"] = np.arange(2)
        self.info["engine"] = object()
        self.info["won"] = np.bool_(self.left == 0)
        return f"{self.left} left", np.float32(self.left == 0), self.left == 0, False, self.info


if "Foreign/Countdown-v0" not in gymnasium.registry:
    gymnasium.register("Foreign/Countdown-v0", entry_point="foreign_env:ForeignEnv", disable_env_checker=True)
