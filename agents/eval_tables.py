"""What `envrl eval` prints: success by kind of task, pass@k, and the comparison of two models."""

from collections.abc import Mapping

from rich.table import Table

from envrl.agents.comparison import Comparison, Difference
from envrl.agents.evaluate import Evaluation
from envrl.agents.statistics import Interval, success_interval


def sample_counts(samples: int) -> list[int]:
    """The k of pass@k that are reported: powers of two up to the number of samples, and that number."""
    return sorted({2**i for i in range(samples.bit_length()) if 2**i <= samples} | {samples})


def success_table(
    result: Evaluation, kinds: Mapping[str, str], samples: int = 1, interval: Interval | None = None
) -> Table:
    """Success by kind of task, with 95 % intervals.

    Args:
        result: the evaluation.
        kinds: the kind of each task.
        samples: of each task.
        interval: how intervals are made.
    """
    table = Table(title=f"Success, {result.mean_steps:.1f} steps an episode, {result.faulted} faulted")
    for heading in ("task", "solved", "episodes", "rate", "95 % interval"):
        table.add_column(heading, justify="left" if heading == "task" else "right")
    groups: dict[str, list[list[bool]]] = {}
    for task, solved in result.outcomes.items():
        groups.setdefault(kinds.get(task, ""), []).append(solved)
    rows = dict(sorted(groups.items())) if set(groups) != {""} else {}
    rows["all"] = list(result.outcomes.values())
    for kind, outcomes in rows.items():
        won, n = sum(map(sum, outcomes)), sum(map(len, outcomes))
        low, high = success_interval(outcomes, interval)
        table.add_row(kind, str(won), str(n), f"{won / max(n, 1):.1%}", f"{low:.1%} - {high:.1%}")
    if samples > 1:
        words = (f"pass@{k} {result.pass_at(k):.1%}" for k in sample_counts(samples))
        table.caption = ", ".join(words)
    return table


def comparison_table(comparison: Comparison) -> Table:
    """Differences by kind of task, in points; above 0 in favour of the first model."""
    table = Table(title="Difference on the same tasks, in points")
    for heading in ("task", "tasks", "difference", "95 % interval"):
        table.add_column(heading, justify="left" if heading == "task" else "right")
    for kind, difference in [*comparison.by_type.items(), ("all", comparison.overall)]:
        table.add_row(kind, str(difference.tasks), _points(difference.mean), _interval(difference))
    table.caption = (
        f"better on {comparison.only_first}, worse on {comparison.only_second}\n"
        f"{comparison.test}: p = {comparison.p_value:.3g}"
    )
    return table


def _points(share: float) -> str:
    return f"{100 * share:+.1f}"


def _interval(difference: Difference) -> str:
    return f"{_points(difference.low)} to {_points(difference.high)}"
