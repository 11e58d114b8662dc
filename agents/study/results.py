"""What the finished runs of a study say: success by arm, differences between arms, curves over environment steps."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from envrl.agents.metrics import MetricsFile
from envrl.agents.statistics import crossed_bootstrap_interval
from envrl.agents.study.arms import ARMS, ArmName
from envrl.agents.study.config import StudyConfig
from envrl.agents.study.plan import Run


@dataclass(frozen=True)
class Point:
    """Held-out success of one run after so many environment steps (the demonstrations' steps included)."""

    env_steps: int
    success_rate: float


@dataclass(frozen=True)
class RunResult:
    """One finished run.

    outcomes: task -> share of its samples that were solved, at the end. curve: every evaluation, in order.
    """

    arm: ArmName
    seed: int
    outcomes: dict[str, float]
    curve: list[Point]
    env_steps: int
    wall_s: float

    @property
    def success_rate(self) -> float:
        """Mean over tasks at the end."""
        return float(np.mean(list(self.outcomes.values())))


@dataclass(frozen=True)
class Difference:
    """An arm against another on the same seeds and tasks.

    mean, low, high: of the difference in success, with the interval of a bootstrap over seeds and tasks. by_seed: of
    each seed.
    """

    against: ArmName
    mean: float
    low: float
    high: float
    by_seed: dict[int, float]


@dataclass(frozen=True)
class ArmResult:
    """An arm over its finished seeds.

    mean, low, high: final success with the interval of a bootstrap over seeds and tasks. curve: (environment steps,
    success), both means over seeds at the same evaluation.
    """

    arm: ArmName
    runs: list[RunResult]
    tasks: int
    mean: float
    low: float
    high: float
    curve: list[Point]
    difference: Difference | None

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form; outcomes of single tasks are left out."""
        return {
            "title": ARMS[self.arm].title,
            "success_rate": self.mean,
            "interval": [self.low, self.high],
            "tasks": self.tasks,
            "seeds": {
                run.seed: {
                    "success_rate": run.success_rate,
                    "env_steps": run.env_steps,
                    "wall_s": run.wall_s,
                    "curve": [asdict(point) for point in run.curve],
                }
                for run in self.runs
            },
            "curve": [asdict(point) for point in self.curve],
            "difference": None if self.difference is None else asdict(self.difference),
        }


def read_run(run: Run) -> RunResult:
    """The results of a finished run.

    Raises:
        ValueError: it is not finished, or was not evaluated.
    """
    state = run.state
    if state is None or state["stage"] != "done" or not state["results"]:
        raise ValueError(f"{run.folder} is not a finished run with evaluations")
    points = [Point(env_steps, result["success_rate"]) for _, result, env_steps, _ in state["results"]]
    points += [
        Point(row["env_steps"], row["eval/success_rate"])
        for row in MetricsFile(run.folder / "metrics.jsonl").read()
        if row["eval/success_rate"] is not None
    ]
    _, last, env_steps, wall_s = state["results"][-1]
    outcomes = {task: float(np.mean(solved)) for task, solved in last["outcomes"].items()}
    return RunResult(
        run.arm, run.seed, outcomes, sorted(points, key=lambda point: point.env_steps), env_steps, wall_s
    )


def summarize(config: StudyConfig, runs: Sequence[RunResult]) -> list[ArmResult]:
    """Results by arm, in the order of the study; arms without a finished run are left out.

    Differences are against ``rl``, or the first arm where there is none, on the seeds that both have finished.
    """
    found: dict[ArmName, dict[int, RunResult]] = {arm: {} for arm in config.arms}
    for run in runs:
        found[run.arm][run.seed] = run
    base: ArmName = "rl" if "rl" in found else config.arms[0]
    return [
        _arm(arm, of_seeds, None if arm == base else (base, found[base]), config.confidence)
        for arm, of_seeds in found.items()
        if of_seeds
    ]


def _arm(
    arm: ArmName,
    runs: Mapping[int, RunResult],
    against: tuple[ArmName, Mapping[int, RunResult]] | None,
    confidence: float,
) -> ArmResult:
    table = _table(list(runs.values()))
    low, high = crossed_bootstrap_interval(table.tolist(), confidence)
    difference = None
    if against is not None and runs.keys() & against[1].keys():
        difference = _difference(runs, *against, confidence)
    return ArmResult(
        arm,
        list(runs.values()),
        table.shape[1],
        float(table.mean()),
        low,
        high,
        _mean_curve([run.curve for run in runs.values()]),
        difference,
    )


def _difference(
    runs: Mapping[int, RunResult], name: ArmName, others: Mapping[int, RunResult], confidence: float
) -> Difference:
    seeds = [seed for seed in runs if seed in others]
    both = _table([runs[seed] for seed in seeds] + [others[seed] for seed in seeds])
    table = both[: len(seeds)] - both[len(seeds) :]
    low, high = crossed_bootstrap_interval(table, confidence)
    by_seed = {seed: float(row.mean()) for seed, row in zip(seeds, table, strict=True)}
    return Difference(name, float(table.mean()), low, high, by_seed)


def _table(runs: Sequence[RunResult]) -> np.ndarray:
    """Outcomes ``(runs, tasks)`` over the tasks that all runs have (one that faulted is missing in a run)."""
    tasks = [task for task in runs[0].outcomes if all(task in run.outcomes for run in runs)]
    return np.array([[run.outcomes[task] for task in tasks] for run in runs])


def _mean_curve(curves: Sequence[Sequence[Point]]) -> list[Point]:
    """Means over runs of the same schedule, evaluation by evaluation."""
    return [
        Point(
            round(float(np.mean([p.env_steps for p in points]))),
            float(np.mean([p.success_rate for p in points])),
        )
        for points in zip(*curves, strict=False)
    ]


def to_json(config: StudyConfig, arms: Sequence[ArmResult], missing: Sequence[str]) -> str:
    """The whole result as JSON.

    Args:
        config: of the study.
        arms: the results.
        missing: names of runs that are not finished.
    """
    settings = json.loads(config.train.to_json())
    report = {
        "arms": {arm.arm: arm.to_dict() for arm in arms},
        "missing": list(missing),
        "confidence": config.confidence,
        "stages": config.stages,
        "settings": settings,
    }
    return json.dumps(report, indent=1, allow_nan=False) + "\n"
