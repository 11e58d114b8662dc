"""``metrics.jsonl``: one JSON object an update, appended and synced, cut back to a checkpoint on resume."""

import json
import math
import os
from pathlib import Path
from typing import Any

#: keys of every object, in this order; a value that does not apply is null
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


class MetricsFile:
    """Appends metrics of updates.

    Args:
        path: the file; created when the first object is written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, values: dict[str, Any]) -> None:
        """Write one object; pinned keys first and always there, NaN as null."""
        row = {key: values.get(key) for key in KEYS} | values
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
        rows = [row for row in self.read() if row["update"] <= update]
        partial = self.path.with_name(f".{self.path.name}.part")
        partial.write_text("".join(json.dumps(row) + "\n" for row in rows))
        partial.replace(self.path)
