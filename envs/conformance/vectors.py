"""Check that an environment does in a Gymnasium vector exactly what it does alone."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from envrl.envs.conformance.subject import Subject, attempt, claim
from envrl.envs.conformance.walks import Walker, facts
from envrl.envs.errors import NoExpert

_ENVS = 2
_SHOWN_TEXTS = ("goal", "task_id", "state_key", "action_status", "admissible_actions", "is_success")


def check_vectors(subject: Subject) -> None:
    """Sync and async vectors: shared memory and pipes, spawn and forkserver, all autoreset modes."""
    for what, build in _vectors(subject):
        vector = attempt(f"building a {what}", build)
        try:
            attempt(f"a {what}", partial(_play, subject, vector))
        except BaseException:
            vector.close(**({"terminate": True} if isinstance(vector, AsyncVectorEnv) else {}))
            raise
        vector.close()


def _vectors(subject: Subject) -> Iterator[tuple[str, Callable[[], VectorEnv]]]:
    makes = [subject.factory] * _ENVS
    for mode in AutoresetMode:
        yield f"SyncVectorEnv ({mode.value})", partial(SyncVectorEnv, makes, autoreset_mode=mode)
    combinations = [
        (shared, context, mode)
        for shared in (True, False)
        for context in ("spawn", "forkserver")
        for mode in AutoresetMode
    ]
    if subject.vectors == "quick":
        combinations = [
            (True, "spawn", AutoresetMode.NEXT_STEP),
            (False, "forkserver", AutoresetMode.SAME_STEP),
            (True, "spawn", AutoresetMode.DISABLED),
        ]
    for shared, context, mode in combinations:
        yield (
            f"AsyncVectorEnv ({'shared memory' if shared else 'pipes'}, {context}, {mode.value})",
            partial(AsyncVectorEnv, makes, shared_memory=shared, context=context, autoreset_mode=mode),
        )


def _play(subject: Subject, vector: VectorEnv) -> None:
    """Play in the vector and in single environments side by side, to the end of a plan or ``steps`` long."""
    alone = [_Single(subject, seed) for seed in range(_ENVS)]
    observations, infos = vector.reset(seed=0)  # env n gets seed n
    for n, single in enumerate(alone):
        _claim_equal(n, single.reset(n), observations[n], infos, [])
    length = min(4 * subject.steps, max(subject.steps, 2 + max(len(single.plan) for single in alone)))
    for _ in range(length):
        actions = tuple(single.choose() for single in alone)
        observations, rewards, terminated, truncated, infos = vector.step(actions)
        # In the other order, so that environments that share something do not go wrong alike.
        for n, single in reversed(list(enumerate(alone))):
            expected = single.step(actions[n], vector.metadata["autoreset_mode"])
            found = (float(rewards[n]), bool(terminated[n]), bool(truncated[n]))
            claim(found == expected[2], f"reward and flags of env {n}", expected[2], found, single.trail)
            _claim_equal(n, expected[:2], observations[n], infos, single.trail)
            if expected[3] is not None:
                claim(infos["final_obs"][n] == expected[3], "final_obs", expected[3], infos["final_obs"][n])
        ended = np.array([single.ended for single in alone])
        if vector.metadata["autoreset_mode"] == AutoresetMode.DISABLED and ended.any():
            observations, infos = vector.reset(options={"reset_mask": ended})
            for n in np.flatnonzero(ended).tolist():
                _claim_equal(n, alone[n].reset(None), observations[n], infos, [])


def _claim_equal(
    n: int, expected: tuple[str, dict[str, Any]], observation: Any, infos: dict[str, Any], trail: list[str]
) -> None:
    claim(observation == expected[0], f"observation of env {n}", expected[0], observation, trail)
    for key in _SHOWN_TEXTS:
        found = infos[key][n]
        found = found.item() if isinstance(found, np.generic) else found
        claim(found == expected[1][key], f"infos[{key!r}] of env {n}", expected[1][key], found, trail)


class _Single:
    """One environment by itself, which does what a vector does with its own at the end of an episode."""

    def __init__(self, subject: Subject, seed: int) -> None:
        self._env, self._subject, self._walker = subject.factory(), subject, Walker(seed)
        self.ended, self.trail, self.plan = False, list[str](), list[str]()

    def reset(self, seed: int | None) -> tuple[str, dict[str, Any]]:
        observation, self._info = self._env.reset(seed=seed)
        self.ended, self.trail, self.plan = False, [], self._find_plan()
        return observation, facts(self._info)

    def choose(self) -> str:
        """The next action of a winning plan if one is known, so that the end is met; else a random one."""
        n = len(self.trail)
        return self.plan[n] if n < len(self.plan) else self._walker.pick(self._info)

    def step(
        self, action: str, mode: AutoresetMode
    ) -> tuple[str, dict[str, Any], tuple[float, bool, bool], Any]:
        """(observation, info, (reward, terminated, truncated), final observation) as a vector has them."""
        if self.ended and mode == AutoresetMode.NEXT_STEP:
            return *self.reset(None), (0.0, False, False), None
        observation, reward, terminated, truncated, self._info = self._env.step(action)
        self.trail.append(action)
        self.ended = terminated or truncated
        flags = (float(reward), terminated, truncated)
        if self.ended and mode == AutoresetMode.SAME_STEP:
            return *self.reset(None), flags, observation
        return observation, facts(self._info), flags, None

    def _find_plan(self) -> list[str]:
        env: Any = self._env.unwrapped
        if self._subject.winning_actions:
            return list(self._subject.winning_actions(env))
        try:
            return list(env.expert_actions())
        except NoExpert:
            return []
