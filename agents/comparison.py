"""Two models on the same tasks: the difference in success, its interval, and whether chance explains it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from envrl.agents.evaluate import Evaluation
from envrl.agents.statistics import bootstrap_interval, mcnemar, sign_flip_test
from envrl.envs.errors import WrongUse


@dataclass(frozen=True)
class Difference:
    """Over the same tasks: success of the first model less that of the second, with a bootstrap interval over tasks."""

    tasks: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """Two models on the tasks that both played; a task's success is the share of its samples that solved it.

    overall, by_type: differences. only_first, only_second: tasks on which the one did better than the other. test,
    p_value: McNemar's exact test where each task was played once, else random flips of signs (the same test for
    shares); small if the models differ.
    """

    overall: Difference
    by_type: dict[str, Difference]
    only_first: int
    only_second: int
    test: str
    p_value: float

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        return asdict(self)


def compare(first: Evaluation, second: Evaluation, kinds: Mapping[str, str]) -> Comparison:
    """Compare two evaluations.

    Args:
        first, second: of the two models; tasks that faulted in either are left out.
        kinds: the kind of each task.

    Raises:
        WrongUse: they have no task in common.
    """
    tasks = [task for task in first.outcomes if task in second.outcomes]
    if not tasks:
        raise WrongUse(
            "the two evaluations have no task in common: play the same tasks of the same split with both models"
        )
    differences = {task: _rate(first.outcomes[task]) - _rate(second.outcomes[task]) for task in tasks}
    by_kind: dict[str, list[float]] = {}
    for task in tasks:
        by_kind.setdefault(kinds.get(task, ""), []).append(differences[task])
    ahead = sum(d > 0 for d in differences.values())
    behind = sum(d < 0 for d in differences.values())
    once = all(len(e.outcomes[task]) == 1 for e in (first, second) for task in tasks)
    return Comparison(
        _difference(list(differences.values())),
        {kind: _difference(values) for kind, values in sorted(by_kind.items())}
        if set(by_kind) != {""}
        else {},
        ahead,
        behind,
        "McNemar, exact" if once else "sign flips",
        mcnemar(ahead, behind) if once else sign_flip_test(list(differences.values())),
    )


def _rate(samples: list[bool]) -> float:
    return sum(samples) / len(samples)


def _difference(values: list[float]) -> Difference:
    low, high = bootstrap_interval(values)
    return Difference(len(values), sum(values) / len(values), low, high)
