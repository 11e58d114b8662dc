"""Pools of environments: what a rollout steps together, in this process or in Ray actors."""

from collections.abc import MutableSequence, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Protocol

import gymnasium

from envrl.wrappers.faults import Begun, Fault, Outcome, reset_in_place, step_in_place
from envrl.wrappers.ray_vector import RayVectorEnv

#: begin an episode: (environment, seed, options)
ResetRequest = tuple[int, int | None, dict[str, Any] | None]
#: go on with one: (environment, action)
StepRequest = tuple[int, str]


class EnvPool(Protocol):
    """Environments of text that are asked together and answer in order.

    One that fails answers with a `Fault` and is made anew; the others do not notice.
    """

    def __len__(self) -> int:
        """How many environments there are; requests name them by number."""

    @property
    def example(self) -> gymnasium.Env[str, str]:
        """An environment of this process, to ask for ids and kinds of tasks."""

    def env_id(self, index: int) -> str:
        """The id that recorded rows give an environment."""

    def reset(self, requests: Sequence[ResetRequest], timeout: float) -> list[Begun | Fault]:
        """Begin an episode for each request.

        Args:
            requests: which environments, and how.
            timeout: seconds that each of them may take; 0 waits for ever.

        Raises:
            EnvRLError: data or a task are missing.
        """

    def step(self, requests: Sequence[StepRequest], timeout: float) -> list[Outcome | Fault]:
        """Take one step for each request."""

    def close(self) -> None:
        """Close all environments."""


class LocalPool:
    """Environments of this process, one after the other.

    Args:
        envs: those that fail are replaced in it.
    """

    def __init__(self, envs: MutableSequence[gymnasium.Env[str, str]]) -> None:
        self._envs = envs

    def __len__(self) -> int:
        return len(self._envs)

    @property
    def example(self) -> gymnasium.Env[str, str]:
        """The first one."""
        return self._envs[0]

    def env_id(self, index: int) -> str:
        """See `EnvPool`."""
        return env_id(self._envs[index])

    def reset(self, requests: Sequence[ResetRequest], timeout: float) -> list[Begun | Fault]:
        """See `EnvPool`."""
        return [reset_in_place(self._envs, *request, timeout) for request in requests]

    def step(self, requests: Sequence[StepRequest], timeout: float) -> list[Outcome | Fault]:
        """See `EnvPool`."""
        return [step_in_place(self._envs, *request, timeout) for request in requests]

    def close(self) -> None:
        """See `EnvPool`."""
        for env in self._envs:
            with suppress(Exception):  # they are not used again
                env.close()


class RayPool:
    """Environments in Ray actors (extra ``ray``).

    Args:
        example: what they are like.
        count: how many.
        actors: processes that they are spread over, at most one an environment.

    Raises:
        MissingExtra: Ray is not installed.
        ValueError: ``example`` was not made by `gymnasium.make`, so that others cannot be made like it.
    """

    def __init__(self, example: gymnasium.Env[str, str], count: int, actors: int) -> None:
        if example.spec is None:
            raise ValueError(
                f"expected an environment made by gymnasium.make, found {env_id(example)} without a spec"
            )
        self.example = example
        self._vector = RayVectorEnv(example.spec, count, min(actors, count))

    def __len__(self) -> int:
        return self._vector.num_envs

    def env_id(self, index: int) -> str:
        """See `EnvPool`."""
        return self._id

    @cached_property
    def _id(self) -> str:
        return env_id(self.example)

    def reset(self, requests: Sequence[ResetRequest], timeout: float) -> list[Begun | Fault]:
        """See `EnvPool`."""
        return self._vector.try_reset(requests, timeout)

    def step(self, requests: Sequence[StepRequest], timeout: float) -> list[Outcome | Fault]:
        """See `EnvPool`."""
        return self._vector.try_step(requests, timeout)

    def close(self) -> None:
        """See `EnvPool`."""
        self._vector.close()
        with suppress(Exception):
            self.example.close()


def as_pool(envs: EnvPool | MutableSequence[gymnasium.Env[str, str]]) -> EnvPool:
    """A pool as it is, a list of environments as a `LocalPool`."""
    return LocalPool(envs) if isinstance(envs, MutableSequence) else envs


def env_id(env: gymnasium.Env[Any, Any]) -> str:
    """The registered id of an environment, else its class as ``module:name``."""
    if env.spec is not None:
        return env.spec.id
    return f"{type(env.unwrapped).__module__}:{type(env.unwrapped).__name__}"
