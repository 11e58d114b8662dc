"""Two minimal text environments for the tests of the space: they answer what they are told."""

from typing import Any

import gymnasium
from gymnasium import spaces

from envrl.envs.spaces import FreeText


class EchoEnv(gymnasium.Env[Any, str]):
    """The observation is the action; "end" ends the episode. The first observation depends on the seed."""

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(self, cut: bool = True, render_mode: str | None = None) -> None:
        self.observation_space: Any = FreeText(128)
        self.action_space = FreeText(128)
        self.cut, self.render_mode = cut, render_mode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.count = 0
        return self._see(f"ready {self.np_random.integers(10**6)}"), {}

    def step(self, action: str) -> Any:
        self.count += 1
        return self._see(action[:128] if self.cut else action), 0.0, action == "end", False, {}

    def render(self) -> Any:
        return str(self.count)

    def _see(self, text: str) -> Any:
        return text


class EchoDictEnv(EchoEnv):
    """The same with a dict of texts and a number as its observation."""

    def __init__(self, cut: bool = True, render_mode: str | None = None) -> None:
        super().__init__(cut, render_mode)
        self.observation_space = spaces.Dict(text=FreeText(128), goal=FreeText(32), count=spaces.Discrete(10))

    def _see(self, text: str) -> Any:
        return {"text": text, "goal": "say end", "count": self.count}


for _name, _entry in (("Toy/Echo-v0", "text_envs:EchoEnv"), ("Toy/EchoDict-v0", "text_envs:EchoDictEnv")):
    if _name not in gymnasium.registry:
        gymnasium.register(_name, entry_point=_entry, max_episode_steps=20)
