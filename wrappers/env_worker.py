"""`EnvWorker`: what one process of a `RayVectorEnv` does. It knows its environments and nothing of Ray."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import gymnasium
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec

from envrl.wrappers.faults import MISTAKES, Begun, Fault, Outcome, error_words, reset_in_place, step_in_place


class Face(NamedTuple):
    """What an environment looks like from outside."""

    observation_space: spaces.Space[Any]
    action_space: spaces.Space[Any]
    metadata: dict[str, Any]
    render_mode: str | None


class Stepped(NamedTuple):
    """What one step gave. ``begun``: (observation, info) of the next episode, where that was begun too."""

    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]
    begun: tuple[Any, dict[str, Any]] | None = None


class EnvWorker:
    """Environments of one kind in one process; each is made when it is first needed.

    Methods take requests, each of which begins with the number that an environment has here, and answer them in order.
    Those named ``try_...`` turn failures into a `Fault` and replace the environment that failed; the others raise.

    Args:
        spec: what to make; this process must be able to import its entry point.
    """

    def __init__(self, spec: EnvSpec) -> None:
        self._spec = spec
        self.envs: dict[int, gymnasium.Env[Any, Any]] = {}

    def describe(self, requests: Sequence[tuple[int]]) -> list[Face]:
        """Spaces, metadata and render mode of each environment."""
        envs = [self._env(index) for (index,) in requests]
        return [
            Face(env.observation_space, env.action_space, dict(env.metadata), env.render_mode) for env in envs
        ]

    def reset(
        self, requests: Sequence[tuple[int, int | None, dict[str, Any] | None]]
    ) -> list[tuple[Any, dict[str, Any]]]:
        """Begin an episode for each (environment, seed, options)."""
        return [self._env(index).reset(seed=seed, options=options) for index, seed, options in requests]

    def step(self, requests: Sequence[tuple[int, Any, bool]], reset_ended: bool) -> list[Stepped]:
        """Take one step for each (environment, action, whether to begin an episode instead).

        Args:
            requests: what to do.
            reset_ended: begin the next episode at once where one ends.
        """
        return [self._step(*request, reset_ended) for request in requests]

    def call(self, requests: Sequence[tuple[int, str, tuple[Any, ...], dict[str, Any]]]) -> list[Any]:
        """The value of an attribute, called where it can be, for each (environment, name, arguments)."""
        found = [(self._env(index).get_wrapper_attr(name), *rest) for index, name, *rest in requests]
        return [value(*args, **kwargs) if callable(value) else value for value, args, kwargs in found]

    def set_attr(self, requests: Sequence[tuple[int, str, Any]]) -> list[None]:
        """Set an attribute for each (environment, name, value)."""
        for index, name, value in requests:
            self._env(index).set_wrapper_attr(name, value)
        return [None] * len(requests)

    def try_reset(
        self, requests: Sequence[tuple[int, int | None, dict[str, Any] | None]], timeout: float
    ) -> list[Begun | Fault]:
        """As `reset`, for environments of text; raises only for mistakes that another try would not mend."""
        return [self._try_reset(*request, timeout) for request in requests]

    def try_step(self, requests: Sequence[tuple[int, str]], timeout: float) -> list[Outcome | Fault]:
        """One step for each (environment, action), for environments of text."""
        return [
            step_in_place(self.envs, index, action, timeout)
            if index in self.envs
            else Fault("step: the environment was made anew and not reset")
            for index, action in requests
        ]

    def close(self) -> None:
        """Close all environments."""
        for env in self.envs.values():
            with suppress(Exception):  # they are not used again
                env.close()
        self.envs.clear()

    def _env(self, index: int) -> gymnasium.Env[Any, Any]:
        if index not in self.envs:
            self.envs[index] = gymnasium.make(self._spec)
        return self.envs[index]

    def _step(self, index: int, action: Any, begin: bool, reset_ended: bool) -> Stepped:
        env = self._env(index)
        if begin:
            observation, info = env.reset()
            return Stepped(observation, 0.0, False, False, info)
        observation, reward, terminated, truncated, info = env.step(action)
        begun = env.reset() if reset_ended and (terminated or truncated) else None
        return Stepped(observation, float(reward), bool(terminated), bool(truncated), info, begun)

    def _try_reset(
        self, index: int, seed: int | None, options: dict[str, Any] | None, timeout: float
    ) -> Begun | Fault:
        try:
            self._env(index)
        except MISTAKES:
            raise
        except Exception as error:
            return Fault(f"reset: {error_words(error)}")
        return reset_in_place(self.envs, index, seed, options, timeout)
