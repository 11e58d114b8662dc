"""What a run's folder tells of it, without its model: settings, metrics, evaluations."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envrl.agents.metrics import MetricsFile
from envrl.agents.statistics import wilson_interval
from envrl.envs.errors import DataNotFound, InvalidData

#: more updates than this are thinned out evenly: a chart is no wider
MOST_ROWS = 1500


@dataclass(frozen=True)
class Run:
    """A run of `envrl train`, or the output of `envrl eval`.

    path: its folder. settings: of ``config.json``, or those that an evaluation was made with. metrics, imitation: one
    object an update of the reinforcement and of the supervised stage. evaluations: one object an evaluation, in order.
    position: of the newest checkpoint, {} without one.
    """

    path: Path
    settings: dict[str, Any]
    metrics: list[dict[str, Any]]
    imitation: list[dict[str, Any]]
    evaluations: list[dict[str, Any]]
    position: dict[str, Any]

    @property
    def recording(self) -> Path:
        """Where its episodes lie, if there are any."""
        return self.path / "transitions"


def read_run(path: Path) -> Run:
    """Read a run.

    Raises:
        DataNotFound: there is none at ``path``.
        InvalidData: a file of it is damaged.
    """
    for name in ("config.json", "evaluation.json"):
        if (path / name).is_file():
            break
    else:
        raise DataNotFound(
            f"no run at {path}: expected a folder with config.json that `envrl train --output` made, "
            "or one with evaluation.json from `envrl eval --output`"
        )
    if name == "evaluation.json":
        result = _read_json(path / name)
        settings = result.pop("settings", {})
        return Run(path, settings, [], [], [_evaluation("evaluation", result, None, None)], {})
    position = _newest_state(path / "checkpoints")
    evaluations = [_evaluation(*entry) for entry in position.get("results", [])]
    metrics, imitation = (MetricsFile(path / f).read() for f in ("metrics.jsonl", "imitation.jsonl"))
    return Run(path, _read_json(path / name), metrics, imitation, evaluations, position)


def columns(metrics: list[dict[str, Any]]) -> dict[str, list[float | None]]:
    """Metrics column by column, thinned out; only numbers."""
    step = math.ceil(len(metrics) / MOST_ROWS) or 1
    # counted from the end: the newest update is always among them
    rows = metrics[::-1][::step][::-1]
    keys = list(dict.fromkeys(key for row in rows for key in row))
    found = {key: [_number(row.get(key)) for row in rows] for key in keys}
    return {key: values for key, values in found.items() if any(value is not None for value in values)}


def _evaluation(
    stage: str, result: dict[str, Any], env_steps: int | None, wall_s: float | None
) -> dict[str, Any]:
    kinds = []
    for kind, (won, n) in result.get("by_type", {}).items():
        low, high = wilson_interval(won, n)
        kinds.append({"kind": kind, "won": won, "n": n, "low": low, "high": high})
    keys = ("success_rate", "low", "high", "n", "successes", "mean_steps", "mean_return", "faulted")
    return {
        "stage": stage,
        "env_steps": env_steps,
        "wall_s": wall_s,
        "kinds": kinds if [k["kind"] for k in kinds] != [""] else [],
        **{key: _number(result.get(key)) for key in keys},
    }


def _newest_state(checkpoints: Path) -> dict[str, Any]:
    states = [
        _read_json(file) for file in checkpoints.glob("*/state.json") if not file.parent.name.startswith(".")
    ]
    return max(states, key=lambda state: state["serial"], default={})


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InvalidData(f"{path} is not JSON ({error}); the run's folder is damaged") from error


def _number(value: Any) -> float | None:
    """A finite number, shortened to what a chart can show; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value if isinstance(value, int) else float(f"{value:.6g}")
