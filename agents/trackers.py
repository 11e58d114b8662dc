"""Experiment trackers (TensorBoard, Weights & Biases, Trackio, ...) through accelerate, beside `metrics.jsonl`."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from accelerate.tracking import LOGGER_TYPE_TO_CLASS, GeneralTracker
from accelerate.utils import LoggerType

from envrl.agents.config import TrainConfig
from envrl.envs.errors import MissingExtra, WrongUse


class Trackers:
    """Some trackers of one run; a context manager that ends them.

    Args:
        names: as accelerate calls them; none makes nothing.
        config: settings of the run, which the trackers keep; files go to ``trackers/`` in its folder.

    Raises:
        WrongUse: accelerate does not know a name.
        MissingExtra: a tracker's package is not installed.
    """

    def __init__(self, names: Sequence[str], config: TrainConfig) -> None:
        self._trackers = [_start(name, config.output) for name in names]
        flat = {
            key: value if isinstance(value, int | float | str | bool) else json.dumps(value)
            for key, value in json.loads(config.to_json()).items()
            if value is not None
        }
        for tracker in self._trackers:
            tracker.store_init_configuration(flat)

    def log(self, row: dict[str, Any]) -> None:
        """One update's figures; those that are missing are left out."""
        known = {key: value for key, value in row.items() if isinstance(value, int | float)}
        for tracker in self._trackers:
            tracker.log(known, step=row["update"])

    def __enter__(self) -> "Trackers":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for tracker in self._trackers:
            tracker.finish()


def _start(name: str, folder: Path) -> GeneralTracker:
    known = [str(each) for each in LoggerType if each is not LoggerType.ALL]
    if name not in known:
        raise WrongUse(f"unknown tracker {name!r}; accelerate knows {', '.join(sorted(known))}")
    kind: Any = LOGGER_TYPE_TO_CLASS[name]
    place = (str(folder / "trackers"),) if kind.requires_logging_directory else ()
    try:
        tracker = kind(folder.name, *place)
        tracker.start()
    except ImportError as error:
        raise MissingExtra(f"the tracker {name} needs a package: {error}; pip install {name}") from error
    return tracker
