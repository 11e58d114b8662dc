"""`RecordTransitions`: writes every step of an environment to Parquet shards while it runs as before."""

import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, SupportsFloat

import gymnasium
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from envrl.envs.core import TextEnv
from envrl.wrappers.facts import InfoReader, offered
from envrl.wrappers.recording import SPEC_KEY
from envrl.wrappers.shards import ShardWriter


class RecordTransitions(
    gymnasium.Wrapper[str, str, str, str],
    RecordConstructorArgs,
):
    """Appends one row a step to a folder of Parquet shards; see `Transition` for the columns.

    It works with any environment whose observations and actions are text. Facts that ``info`` does not hold
    become ``""`` or null; other JSON-able ``info`` keys go to the column ``extras``.

    Wrap the single environment, inside a vector: a vector's autoreset step is no transition. Steps after the
    end of an episode are not recorded either. To go back to a snapshot call `set_state` of this wrapper, not
    that of the unwrapped environment: what follows is recorded as an episode of its own.

    A shard is written at ``max_rows`` rows or ``max_seconds`` after its first row, also when no further step
    comes, and by `close`. A killed process loses at most the open shard.

    Args:
        env: an environment with text observations and actions.
        path: folder of the recording; any number of environments and processes may write to it at once.
        run_id: name of the session in every row; a new one is made if it is None.
        policy: who acts, in every row.
        split: data split in every row; None takes the environment's attribute ``split`` if it has one.
        info_keys: where a foreign ``info`` has the facts: ``{"admissible_actions": "admissible_commands"}``.
        max_rows: most rows of a shard.
        max_seconds: longest time a row waits for the disk.

    Raises:
        TypeError: the observations or actions are not text.
        ValueError: there is an autoreset below this wrapper, or ``info_keys`` names no column.

    >>> env = RecordTransitions(gymnasium.make("envrl:EnvRL/ALFWorld-v0"), "recordings/a")  # doctest: +SKIP
    """

    def __init__(
        self,
        env: gymnasium.Env[str, str],
        path: str | Path,
        *,
        run_id: str | None = None,
        policy: str = "",
        split: str | None = None,
        info_keys: Mapping[str, str] | None = None,
        max_rows: int = 4096,
        max_seconds: float = 5.0,
    ) -> None:
        RecordConstructorArgs.__init__(
            self,
            path=str(path),
            run_id=run_id,
            policy=policy,
            split=split,
            info_keys=dict(info_keys) if info_keys else None,
            max_rows=max_rows,
            max_seconds=max_seconds,
        )
        _require_text(env)
        super().__init__(env)
        _require_no_autoreset(env)
        self._reader = InfoReader(info_keys, trusted=_keeps_contract(env))
        self._run_id = run_id or f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{uuid.uuid4().hex[:8]}"
        self._policy = policy
        own_split = getattr(env.unwrapped, "split", None)
        self._split = split if split is not None else own_split if isinstance(own_split, str) else ""
        self._env_id = (
            env.spec.id
            if env.spec
            else f"{type(env.unwrapped).__module__}:{type(env.unwrapped).__qualname__}"
        )
        spec = _spec_json(env)
        self.writer = ShardWriter(
            path,
            max_rows=max_rows,
            max_seconds=max_seconds,
            metadata={SPEC_KEY.decode(): spec} if spec else {},
        )
        self._episodes = 0
        self._running = False
        self._marks: dict[str, Any] = {}
        self._offered: dict[str, Any] = {}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Reset the environment and begin a new episode of the recording."""
        self._running = False
        observation, info = self.env.reset(seed=seed, options=options)
        self._begin(observation, info)
        return observation, info

    def step(self, action: str) -> tuple[str, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the environment and record the transition."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if self._running:
            self._record(
                action,
                _text("observation", observation),
                float(reward),
                bool(terminated),
                bool(truncated),
                info,
            )
        return observation, reward, terminated, truncated, info

    def get_state(self) -> Any:
        """The snapshot that the environment below gives."""
        return self.env.get_wrapper_attr("get_state")()

    def set_state(self, state: Any) -> tuple[str, dict[str, Any]]:
        """Return to a snapshot; what follows is recorded as a new episode."""
        observation, info = self.env.get_wrapper_attr("set_state")(state)
        self._begin(observation, info)
        self._marks = {"restored": True}
        self._running = not (getattr(state, "terminated", False) or info.get("fault"))
        return observation, info

    def close(self) -> None:
        """Write what is left of the recording and close the environment."""
        self.writer.close()
        super().close()

    def _begin(self, observation: str, info: dict[str, Any]) -> None:
        self._observation = _text("observation", observation)
        self._facts = self._reader.facts(info)
        self._episode_id = f"{self.writer.name}-{self._episodes:06d}"
        self._episodes += 1
        self._step = 0
        self._marks = {}
        self._offered = offered(info)
        self._running = True

    def _record(
        self,
        action: str,
        observation: str,
        reward: float,
        terminated: bool,
        truncated: bool,
        info: dict[str, Any],
    ) -> None:
        goal, task_id, admissible, _, _, state_key, _ = self._facts
        self._facts = self._reader.facts(info)
        _, _, next_admissible, status, success, next_state_key, fault = self._facts
        # Values in the order of `Transition`: building one would cost as much as the rest of this method.
        self.writer.append_values(
            (
                self._run_id,
                self._env_id,
                self._episode_id,
                task_id or "",
                self._split,
                self._step,
                goal or "",
                self._observation,
                _text("action", action),
                observation,
                reward,
                terminated,
                truncated,
                status,
                success,
                admissible,
                next_admissible,
                state_key,
                next_state_key,
                fault,
                self._policy,
                (self._offered | self._reader.extras(info) | self._marks) or None,
            )
        )
        self._observation, self._marks, self._offered = observation, {}, offered(info)
        self._step += 1
        self._running = not (terminated or truncated)


def _text(what: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(
            f"RecordTransitions records text: expected the {what} to be a str, found {type(value).__name__}. "
            "Put it below the wrapper that changes text into something else"
        )
    return value


def _require_text(env: gymnasium.Env[Any, Any]) -> None:
    if not isinstance(env, gymnasium.Env):
        raise TypeError(
            f"RecordTransitions wraps a single gymnasium.Env, found {type(env).__name__}; "
            "wrap each environment inside a vector: its autoreset steps are no transitions"
        )
    for what, space in (("observation", env.observation_space), ("action", env.action_space)):
        # Third-party text spaces need not be subclasses of Text: values are checked as they come.
        foreign = not type(space).__module__.startswith("gymnasium.")
        if not isinstance(space, spaces.Text) and not foreign:
            raise TypeError(
                f"RecordTransitions records text: expected the {what} space to be gymnasium.spaces.Text or "
                f"envrl.envs.spaces.FreeText, found {space}. Put it below the wrapper that changes text into "
                "something else, or turn the values into text first (TransformObservation, TransformAction)"
            )


def _require_no_autoreset(env: gymnasium.Env[Any, Any]) -> None:
    layer: Any = env
    while isinstance(layer, gymnasium.Wrapper):
        if isinstance(layer, gymnasium.wrappers.Autoreset):
            raise ValueError(
                "an Autoreset below RecordTransitions would make resets look like steps: expected "
                "Autoreset(RecordTransitions(env, ...)), found RecordTransitions(Autoreset(env), ...)"
            )
        layer = layer.env


def _keeps_contract(env: gymnasium.Env[Any, Any]) -> bool:
    """Whether ``info`` is as `TextEnv` made it: no wrapper of a third party may have changed it on the way."""
    layer: Any = env
    while isinstance(layer, gymnasium.Wrapper):
        if type(layer).__module__.partition(".")[0] not in ("gymnasium", "envrl"):
            return False
        layer = layer.env
    return isinstance(layer, TextEnv)


def _spec_json(env: gymnasium.Env[Any, Any]) -> str | None:
    try:
        return env.spec.to_json() if env.spec else None
    except (TypeError, ValueError):  # the spec holds a callable: the recording goes without it
        return None
