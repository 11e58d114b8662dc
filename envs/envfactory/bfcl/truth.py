"""What the ground truth of a task leads to, and the benchmark's check of a turn against it."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from envrl.envs.envfactory.actions import Call, write_call
from envrl.envs.envfactory.bfcl.backends import Backends
from envrl.envs.envfactory.bfcl.tasks import BFCLTask, find_task, tools_of


class Truth(NamedTuple):
    """What the ground truth leads to.

    Attributes:
        initial: snapshot of the backends. calls: number of calls in each turn.
        states: the backends after each turn. results: texts of each turn's calls.
        unusual: calls of the ground truth that break their tool's schema (in four of the 800 tasks a number is
            given as a word); only these are let through to the backend, as the benchmark's harness does.
    """

    initial: bytes
    calls: tuple[int, ...]
    states: tuple[Backends, ...]
    results: tuple[tuple[str, ...], ...]
    unusual: tuple[Call, ...]

    def wants(self, text: str) -> bool:
        """Whether a result is one of the ground truth's; some of these are errors."""
        return any(text in results for results in self.results)

    def passes(self, turn: int, results: Sequence[str], called: bool, backends: Backends) -> bool:
        """The benchmark's check at the end of a turn; a turn without a ground truth always passes.

        Args:
            turn: that ends. results: texts of all results so far. called: whether something was called in it.
            backends: as they stand.
        """
        if not self.calls[turn]:
            return True
        missing = Counter(self.results[turn]) - Counter(results)
        return called and not missing and backends.equal(self.states[turn])


@lru_cache(maxsize=256)  # shared by the environments of a process; never changed
def truth_of(task_id: str) -> Truth:
    """Play a task's ground truth. Raises InvalidTask, DataNotFound."""
    task = find_task(task_id)
    backends, owners = fresh_backends(task), owners_of(task)
    initial, states, results = backends.snapshot(), [], []
    for calls in task.truth:
        texts = [backends.call(owners[call.name], call.name, call.arguments).text for call in calls]
        results.append(tuple(texts))
        reached = fresh_backends(task)
        reached.restore(backends.snapshot())
        states.append(reached)
    tools = task.tools
    unusual = [
        call for calls in task.truth for call in calls if tools[call.name].check(call.arguments)[0] is None
    ]
    return Truth(initial, tuple(map(len, task.truth)), tuple(states), tuple(results), tuple(unusual))


@lru_cache(maxsize=1024)  # texts of at most 800 tasks
def _reference(task_id: str) -> tuple[str, ...]:
    steps: list[str] = []
    for calls in find_task(task_id).truth:
        steps += [write_call(call.name, call.arguments) for call in calls]
        steps.append("Done." if calls else "I cannot do this yet.")
    return tuple(steps)


def reference(task: BFCLTask) -> list[str]:
    """The ground truth as action texts: calls, and a message at the end of each turn."""
    return list(_reference(task.id))


def fresh_backends(task: BFCLTask) -> Backends:
    """The backends of a task in their initial state."""
    return Backends(task.classes, task.config, task.category == "long_context")


def owners_of(task: BFCLTask) -> dict[str, str]:
    """Tool name -> backend."""
    return {name: kind for kind in task.classes for name in tools_of(kind)}
