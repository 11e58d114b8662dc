"""``metrics.jsonl`` and ``imitation.jsonl``: a JSON object an update, appended and synced, cut back on resume."""

import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from envrl.agents.rollout import Episode, is_invalid

#: keys of every object of the reinforcement stage, in this order; a value that does not apply is null
KEYS = (
    "update",
    "env_steps",
    "wall_s",
    "train/success_rate",
    "train/return",
    "eval/success_rate",
    "loss/policy",
    "loss/kl",
    "loss/state_prediction",
    "loss/inverse_dynamics",
    "aux/lambda",
    "policy/entropy",
    "policy/invalid_rate",
    "rollout/faulted",
    "time/rollout_s",
    "time/update_s",
)
#: the same of an update of the supervised stage
IMITATION_KEYS = (
    "update",
    "wall_s",
    "loss/action",
    "loss/state_prediction",
    "loss/inverse_dynamics",
)


class MetricsFile:
    """Appends metrics of updates.

    Args:
        path: the file; created when the first object is written.
        keys: those that every object has.
    """

    def __init__(self, path: Path, keys: Sequence[str] = KEYS) -> None:
        self.path, self._keys = path, keys

    def append(self, values: dict[str, Any]) -> None:
        """Write one object; pinned keys first and always there, NaN as null."""
        row = {key: values.get(key) for key in self._keys} | values
        row = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def read(self) -> list[dict[str, Any]]:
        """All objects; a line cut off by a crash is left out."""
        if not self.path.exists():
            return []
        rows = []
        for line in self.path.read_text().splitlines():
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                break
        return rows

    def cut(self, update: int) -> None:
        """Drop objects of updates after ``update`` (lost when the run was killed, and now done again)."""
        if not self.path.exists():
            return
        rows = [row for row in self.read() if row["update"] <= update]
        partial = self.path.with_name(f".{self.path.name}.part")
        partial.write_text("".join(json.dumps(row) + "\n" for row in rows))
        partial.replace(self.path)


def rollout_metrics(episodes: Sequence[Episode]) -> dict[str, float]:
    """Figures of a rollout; faulted episodes are counted and left out, means without a sound one are NaN."""
    sound = [e for e in episodes if e.fault is None]
    steps = [t for e in sound for t in e.transitions]
    count = len(sound) or float("nan")  # without a sound episode nothing is known
    return {
        "train/success_rate": sum(e.success for e in sound) / count,
        "train/return": sum(sum(e.rewards) for e in sound) / count,
        "episode/steps": len(steps) / count,
        "policy/invalid_rate": sum(map(is_invalid, steps)) / max(len(steps), 1),
        "rollout/faulted": len(episodes) - len(sound),
    }
