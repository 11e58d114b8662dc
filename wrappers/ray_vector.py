"""`RayVectorEnv`: a Gymnasium vector whose environments run in Ray actors, on one machine or many (extra ``ray``)."""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from envrl.envs.errors import EnvRLError
from envrl.wrappers.env_worker import Face, Stepped
from envrl.wrappers.faults import Begun, Fault, Outcome
from envrl.wrappers.ray_actors import EnvActors, Lost

#: how often an episode is begun where actors die: the first one after a machine was lost may be put on it once more
_TRIES = 3


class RayVectorEnv(VectorEnv[Any, Any, Any]):
    """Environments in Ray actors, several in each.

    Those of one actor share its process and what that keeps, such as the product index of WebShop. They take their
    turns; actors work at the same time. Seeds, options (with ``reset_mask``), infos and autoreset modes are those of
    `gymnasium.vector.AsyncVectorEnv`, as is that an exception in an environment is raised here.

    An actor that dies is replaced and ends the episodes in it: their step repeats the last observation with reward 0,
    ``truncated`` and the reason in ``info["fault"]``. What was set with `set_attr` is lost with it.

    `try_reset` and `try_step` serve environments of text one by one, for callers that run episodes of their own, and
    turn every failure into a `Fault`. They leave the state of `reset` and `step` alone: use one pair or the other.

    Args:
        env: id in a form that brings its module along (``envrl:EnvRL/WebShop-v0``), or a spec. Actors import the
            entry point, so a machine needs the package that has it.
        num_envs: environments.
        num_actors: processes that they are spread over, evenly.
        env_kwargs: arguments of the environment.
        autoreset_mode: what follows the end of an episode.
        actor_options: of each actor (``num_cpus``, ``resources``, ``runtime_env``, ...), see ``ray.remote``.

    Raises:
        MissingExtra: Ray is not installed.
        ValueError: ``num_actors`` does not lie in 1 .. ``num_envs``.
        EnvRLError: the environment cannot be made (DataNotFound, ...), or its actors do not start.
    """

    def __init__(
        self,
        env: str | EnvSpec,
        num_envs: int,
        num_actors: int,
        *,
        env_kwargs: Mapping[str, Any] | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        actor_options: Mapping[str, Any] | None = None,
    ) -> None:
        if not 1 <= num_actors <= num_envs:
            raise ValueError(f"num_actors must lie in 1 .. num_envs ({num_envs}), got {num_actors}")
        self.num_envs, self.autoreset_mode = num_envs, AutoresetMode(autoreset_mode)
        self._actors = EnvActors(_spec(env, env_kwargs or {}), num_envs, num_actors, actor_options)
        try:
            face = self._common_face()
        except BaseException:
            self._actors.close()
            raise
        self.metadata = {**face.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = face.render_mode
        self.single_observation_space, self.single_action_space = face.observation_space, face.action_space
        self.observation_space = batch_space(face.observation_space, num_envs)
        self.action_space = batch_space(face.action_space, num_envs)
        self._observations: list[Any] = [None] * num_envs
        self._infos: list[dict[str, Any]] = [{} for _ in range(num_envs)]
        self._ended = np.zeros(num_envs, dtype=np.bool_)

    # ---- Gymnasium's interface -------------------------------------------------------------------------

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in every environment, or in those of the array ``options["reset_mask"]``.

        Args:
            seed: of the first environment, counted up for the others; or one for each.
            options: given to each environment, but for ``reset_mask``.

        Returns:
            Observations as in `observation_space`, and infos.
        """
        self._require_open()
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
        if seeds is None:
            seeds = [None] * self.num_envs
        if len(seeds) != self.num_envs:
            raise ValueError(f"expected a seed for each of {self.num_envs} environments, got {len(seeds)}")
        options = None if options is None else dict(options)
        chosen = self._chosen(options)
        begun = self._begin([(i, seeds[i], options) for i in chosen])
        infos: dict[str, Any] = {}
        for i, (observation, info) in zip(chosen, begun, strict=True):
            self._observations[i], self._infos[i], self._ended[i] = observation, info, False
            infos = self._add_info(infos, info, i)
        return self._batch(), infos

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Take one step in every environment.

        Args:
            actions: as in `action_space`.

        Returns:
            Observations, rewards ``(num_envs,)``, terminated ``(num_envs,)``, truncated ``(num_envs,)``, infos.

        Raises:
            ResetNeeded: an episode has ended and nothing resets it (``Disabled``).
        """
        self._require_open()
        if self.autoreset_mode == AutoresetMode.DISABLED and self._ended.any():
            raise ResetNeeded(
                f"episodes of environments {np.flatnonzero(self._ended).tolist()} have ended; reset them with "
                "options={'reset_mask': ...}"
            )
        begin = self._ended if self.autoreset_mode == AutoresetMode.NEXT_STEP else np.zeros_like(self._ended)
        steps = self._step_all([*iterate(self.action_space, actions)], begin)
        infos: dict[str, Any] = {}
        for i, step in enumerate(steps):
            self._observations[i], self._infos[i] = step.observation, step.info
            if step.begun is not None:
                ended = {"final_obs": step.observation, "final_info": step.info}
                infos = self._add_info(infos, ended, i)
                self._observations[i], self._infos[i] = step.begun
            infos = self._add_info(infos, self._infos[i], i)
        rewards = np.array([step.reward for step in steps], dtype=np.float64)
        terminated = np.array([step.terminated for step in steps], dtype=np.bool_)
        truncated = np.array([step.truncated for step in steps], dtype=np.bool_)
        if self.autoreset_mode != AutoresetMode.SAME_STEP:
            self._ended = terminated | truncated
        return self._batch(), rewards, terminated, truncated, infos

    def render(self) -> tuple[Any, ...]:
        """What each environment renders."""
        return self.call("render")

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The attribute of each environment, called with the arguments where it is a method."""
        self._require_open()
        return tuple(self._ask("call", [(i, name, args, kwargs) for i in range(self.num_envs)]))

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of each environment."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of each environment, to one value or to a list or tuple of one each."""
        self._require_open()
        each = values if isinstance(values, list | tuple) else [values] * self.num_envs
        if len(each) != self.num_envs:
            raise ValueError(f"expected a value for each of {self.num_envs} environments, got {len(each)}")
        self._ask("set_attr", [(i, name, value) for i, value in enumerate(each)])

    def close_extras(self, **kwargs: Any) -> None:
        """Close the environments and end their actors."""
        self._actors.close()

    # ---- one by one ------------------------------------------------------------------------------------

    def try_reset(
        self, requests: Sequence[tuple[int, int | None, dict[str, Any] | None]], timeout: float = 0.0
    ) -> list[Begun | Fault]:
        """Begin an episode for each (environment, seed, options).

        An environment that fails is made anew. Where an actor dies, the new one is asked, up to three in all.

        Args:
            requests: which, and how.
            timeout: seconds that one environment may take; 0 waits for ever.

        Raises:
            EnvRLError: data or a task are missing: another try would end alike.
        """
        self._require_open()
        answers = self._actors.run("try_reset", requests, timeout, tries=_TRIES)
        return [Fault(f"reset: {a.reason}") if isinstance(a, Lost) else a for a in answers]

    def try_step(self, requests: Sequence[tuple[int, str]], timeout: float = 0.0) -> list[Outcome | Fault]:
        """Take one step for each (environment, action); as `try_reset`, but nothing is asked twice."""
        self._require_open()
        answers = self._actors.run("try_step", requests, timeout)
        return [Fault(f"step: {a.reason}") if isinstance(a, Lost) else a for a in answers]

    # ---- inside ----------------------------------------------------------------------------------------

    def _common_face(self) -> Face:
        faces: list[Face] = self._ask("describe", [(i,) for i in range(self.num_envs)])
        for face in faces:
            for found, first in zip(face[:2], faces[0][:2], strict=True):
                if found != first:
                    raise RuntimeError(
                        f"environments of a vector have equal spaces, found {first} and {found}"
                    )
        return faces[0]

    def _chosen(self, options: dict[str, Any] | None) -> list[int]:
        """Takes ``reset_mask`` out of the options; the environments that it names, else all."""
        if options is None or "reset_mask" not in options:
            return list(range(self.num_envs))
        mask = options.pop("reset_mask")
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise ValueError(
                f"expected options['reset_mask'] to be a boolean array of shape ({self.num_envs},), got {mask!r}"
            )
        if not mask.any():
            raise ValueError("expected options['reset_mask'] to name at least one environment, found none")
        return np.flatnonzero(mask).tolist()

    def _begin(
        self, requests: Sequence[tuple[int, int | None, dict[str, Any] | None]]
    ) -> list[tuple[Any, dict[str, Any]]]:
        return self._ask("reset", requests, tries=_TRIES)

    def _step_all(self, actions: Sequence[Any], begin: np.ndarray) -> list[Stepped]:
        same_step = self.autoreset_mode == AutoresetMode.SAME_STEP
        requests = [(i, action, bool(begin[i])) for i, action in enumerate(actions)]
        steps = self._actors.run("step", requests, same_step)
        lost = {i: step for i, step in enumerate(steps) if isinstance(step, Lost)}
        anew = [i for i in lost if begin[i] or same_step]
        begun = dict(zip(anew, self._begin([(i, None, None) for i in anew]), strict=True))
        for i, step in lost.items():
            if begin[i]:
                steps[i] = Stepped(begun[i][0], 0.0, False, False, begun[i][1])
            else:
                info = {**self._infos[i], "fault": f"step: {step.reason}"}
                steps[i] = Stepped(self._observations[i], 0.0, False, True, info, begun.get(i))
        return steps

    def _ask(self, method: str, requests: Sequence[tuple[Any, ...]], tries: int = 1) -> list[Any]:
        answers = self._actors.run(method, requests, tries=tries)
        for answer in answers:
            if isinstance(answer, Lost):
                raise EnvRLError(f"{method} of environments in a Ray actor: {answer.error}")
        return answers

    def _batch(self) -> Any:
        space = self.single_observation_space
        empty: Any = create_empty_array(space, n=self.num_envs, fn=np.zeros)
        return concatenate(space, self._observations, empty)

    def _require_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError("this RayVectorEnv is closed; make another one")


def _spec(env: str | EnvSpec, kwargs: Mapping[str, Any]) -> EnvSpec:
    """The spec behind an id, with these arguments."""
    if isinstance(env, str):
        module, _, name = env.rpartition(":")
        if module:
            importlib.import_module(module)
        env = gymnasium.spec(name)
    return replace(env, kwargs={**env.kwargs, **kwargs})
