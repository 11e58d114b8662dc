"""The coin environment with failures at set places."""

import os
import random
import time
from collections.abc import Mapping
from typing import Any

import gymnasium
from toy_env import ToyEnv

#: what a failing step does; each but "reported" is outside the contract
KINDS = ("raise", "die", "no text", "no number", "not finite", "no info", "no actions", "reported", "reset")


def drawn_fault(task_id: str, share: float) -> tuple[int, str]:
    """Where and how a task fails when a share of all does: (step, kind); (-1, "") if not at all."""
    rng = random.Random(task_id)
    return (rng.randrange(4), rng.choice(KINDS)) if rng.random() < share else (-1, "")


class FaultyEnv(ToyEnv):
    """As `ToyEnv`, but some tasks fail.

    Args:
        faults: task -> (step at which it fails, kind): one of `KINDS`; ``hang`` and ``loop``, which do not answer;
            ``exit`` and ``exit at reset``, which end the process.
        share: so many of the other tasks fail too, as `drawn_fault` says.
    """

    def __init__(
        self, faults: Mapping[str, tuple[int, str]] | None = None, share: float = 0.0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._faults, self._share, self._dead, self._at = faults or {}, share, False, 0

    def _failure(self, task_id: str) -> tuple[int, str]:
        return self._faults.get(task_id) or drawn_fault(task_id, self._share)

    def reset(self, **kwargs: Any) -> Any:
        if self._dead:
            raise BrokenPipeError("the process is gone")
        out = super().reset(**kwargs)
        self._at = 0
        kind = self._failure(out[1]["task_id"])[1]
        if kind == "reset":
            raise ConnectionError("nobody there")
        if kind == "exit at reset":
            os._exit(1)
        return out

    def step(self, action: str) -> Any:
        if self._dead:
            raise BrokenPipeError("the process is gone")
        observation, reward, terminated, truncated, info = super().step(action)
        at, kind = self._failure(info["task_id"])
        self._at += 1
        if self._at - 1 != at:
            return observation, reward, terminated, truncated, info
        if kind == "raise":
            raise RuntimeError("out of luck")
        if kind == "die":
            self._dead = True
            raise BrokenPipeError("the process is gone")
        if kind == "exit":
            os._exit(1)
        if kind == "hang":
            time.sleep(60)
        if kind == "loop":
            while True:
                pass
        if kind == "reported":
            return observation, 0.0, False, True, {**info, "fault": "the server is gone"}
        return {
            "no text": (None, reward, terminated, truncated, info),
            "no number": (observation, "1", terminated, truncated, info),
            "not finite": (observation, float("nan"), terminated, truncated, info),
            "no info": (observation, reward, terminated, truncated, None),
            "no actions": (
                observation,
                reward,
                terminated,
                truncated,
                {**info, "admissible_actions": "look"},
            ),
        }[kind]

    def close(self) -> None:
        if self._dead:
            raise BrokenPipeError("the process is gone")


if "Test/Faulty-v0" not in gymnasium.registry:
    gymnasium.register(
        "Test/Faulty-v0", entry_point="faulty_env:FaultyEnv", max_episode_steps=4, disable_env_checker=True
    )
