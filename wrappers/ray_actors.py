"""`EnvActors`: environments spread over Ray actors, and what becomes of them when an actor dies."""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gymnasium.envs.registration import EnvSpec

from envrl.envs.errors import MissingExtra
from envrl.wrappers.env_worker import EnvWorker

#: so little of a CPU that any number of actors finds room; with none at all Ray does not spread them evenly
_OPTIONS = {"scheduling_strategy": "SPREAD", "num_cpus": 0.001}
#: seconds that actors have to close their environments
_CLOSING = 10.0


class Lost(NamedTuple):
    """The answer of an actor that died. error: what Ray says of it, many lines."""

    error: str

    @property
    def reason(self) -> str:
        """The same on one line."""
        return f"the Ray actor died: {self.error.partition(chr(10))[0]}"


class EnvActors:
    """Actors with environments of one kind, numbered through; the first ones have one more where they do not divide.

    Ray is started where it is not yet: connected to the cluster of ``RAY_ADDRESS`` or of ``ray start``, else on this
    machine until the process ends.

    Args:
        spec: what they make.
        num_envs, num_actors: how many.
        actor_options: of ``ray.remote``: ``num_cpus``, ``resources``, ``runtime_env``, ... By default actors are spread
            over the machines and hold no CPU.

    Raises:
        MissingExtra: Ray is not installed.
    """

    def __init__(
        self, spec: EnvSpec, num_envs: int, num_actors: int, actor_options: Mapping[str, Any] | None = None
    ) -> None:
        try:
            import ray
            from ray.exceptions import ObjectLostError, OutOfMemoryError, RayActorError
        except ImportError as error:
            raise MissingExtra(
                "environments in Ray actors need ray; install it with: pip install 'envrl[ray]'"
            ) from error
        if not ray.is_initialized():
            ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.WARNING)
        self._ray, self._spec = ray, spec
        self._deaths = (RayActorError, OutOfMemoryError, ObjectLostError)
        self._actor: Any = ray.remote(EnvWorker).options(**{**_OPTIONS, **(actor_options or {})})
        #: environment -> (its actor, its number there)
        self._places = [
            (actor, number)
            for actor in range(num_actors)
            for number in range(num_envs // num_actors + (actor < num_envs % num_actors))
        ]
        #: handles of the actors; one that dies is replaced
        self.actors: list[Any] = [self._actor.remote(spec) for _ in range(num_actors)]

    def run(
        self, method: str, requests: Sequence[tuple[Any, ...]], *arguments: Any, tries: int = 1
    ) -> list[Any]:
        """Call a method of `EnvWorker` in all actors at once.

        Args:
            method: its name.
            requests: each begins with the number of an environment.
            arguments: the other arguments of the method.
            tries: how often a request is put to a new actor before it counts as lost.

        Returns:
            An answer for each request, in order; `Lost` where the actor died.

        Raises:
            Exception: what the method raised, once all actors have answered.
        """
        answers: list[Any] = [Lost("")] * len(requests)
        for _ in range(tries):
            left = [i for i, answer in enumerate(answers) if isinstance(answer, Lost)]
            for i, answer in zip(
                left, self._ask(method, [requests[i] for i in left], arguments), strict=True
            ):
                answers[i] = answer
        return answers

    def close(self) -> None:
        """Close the environments and end the actors."""
        if self._ray.is_initialized():
            closing = [actor.close.remote() for actor in self.actors]
            if closing:
                self._ray.wait(closing, num_returns=len(closing), timeout=_CLOSING)
            for actor in self.actors:
                self._ray.kill(actor)
        self.actors = []

    def _ask(self, method: str, requests: Sequence[tuple[Any, ...]], arguments: tuple[Any, ...]) -> list[Any]:
        by_actor: dict[int, list[int]] = defaultdict(list)
        for i, request in enumerate(requests):
            by_actor[self._places[request[0]][0]].append(i)
        pending = {
            actor: getattr(self.actors[actor], method).remote(
                [(self._places[requests[i][0]][1], *requests[i][1:]) for i in mine], *arguments
            )
            for actor, mine in by_actor.items()
        }
        answers: list[Any] = [None] * len(requests)
        raised: Exception | None = None
        for actor, mine in by_actor.items():
            try:
                found = self._ray.get(pending[actor])
            except self._deaths as error:
                found = [Lost(str(error))] * len(mine)
                self._replace(actor)
            except self._ray.exceptions.RayTaskError as error:
                raised = error.cause
                raised.add_note(str(error))  # with the traceback in the actor
                continue
            for i, answer in zip(mine, found, strict=True):
                answers[i] = answer
        if raised is not None:
            raise raised
        return answers

    def _replace(self, actor: int) -> None:
        self._ray.kill(self.actors[actor])  # where it is only out of reach
        self.actors[actor] = self._actor.remote(self._spec)
