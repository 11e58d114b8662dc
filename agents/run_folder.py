"""The folder of a training run: what lies where in it, and what of it belongs to the checkpoint a run goes on from."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from envrl.agents import checkpoint
from envrl.agents.config import TrainConfig
from envrl.agents.metrics import IMITATION_KEYS, MetricsFile
from envrl.envs.errors import EnvRLError

#: settings that a resumed run may have other than before: none changes its numbers
_FREE = frozenset(
    {
        "resume",
        "output",
        "checkpoint_every",
        "keep_checkpoints",
        "env_timeout",
        "rollout_workers",
        "endpoint",
        "endpoint_timeout",
        "processes",
        "trackers",
    }
)


class RunFolder:
    """Files of one run.

    Args:
        config: settings of the run; its ``output`` is the folder.
    """

    def __init__(self, config: TrainConfig) -> None:
        self._config = config
        self.path = config.output
        self.checkpoints = self.path / "checkpoints"
        self.transitions = self.path / "transitions"
        self.metrics = MetricsFile(self.path / "metrics.jsonl")
        self.imitation_metrics = MetricsFile(self.path / "imitation.jsonl", IMITATION_KEYS)

    def open(self, writes: bool) -> Path | None:
        """Make the folder, or find the run in it.

        Args:
            writes: whether this process is the one that writes to it.

        Returns:
            The checkpoint to go on from; None for a new run.

        Raises:
            EnvRLError: there is a run already, or the one to resume has other settings or no checkpoint.
        """
        config, settings = self._config, self.path / "config.json"
        resumed = checkpoint.newest(self.checkpoints) if config.resume else None
        if config.resume and resumed is None and self.metrics.path.exists():
            raise EnvRLError(f"{self.path} has metrics and no checkpoint; start a new run in another folder")
        if writes and not config.resume and settings.exists():
            raise EnvRLError(
                f"{self.path} holds a run already; add --resume to go on with it, or choose another --output"
            )
        self.path.mkdir(parents=True, exist_ok=True)
        if config.resume and settings.exists():
            _refuse_other_settings(json.loads(settings.read_text()), config)
        if resumed is None and writes:
            settings.write_text(config.to_json())
            self.imitation_metrics.cut(0)  # of a run that was killed before its first checkpoint
        return resumed

    def shards(self) -> list[str]:
        """Names of the files of transitions so far."""
        return sorted(p.name for p in self.transitions.glob("*.parquet"))

    def drop_after(self, state: dict[str, Any]) -> None:
        """Remove metrics and transitions of updates after a checkpoint: they are done again.

        Args:
            state: of the checkpoint.
        """
        done = {"imitation": 0, "reinforcement": state["update"]}
        self.metrics.cut(done.get(state["stage"], self._config.updates))
        if state["stage"] == "imitation":
            self.imitation_metrics.cut(state["update"])
        for name in set(self.shards()) - set(state["shards"]):
            (self.transitions / name).unlink()

    def contents(self) -> Iterator[tuple[str, Path]]:
        """What a user may look for in it, as (name, path); what the run has not made is left out."""
        for title, path in (
            ("metrics", self.metrics.path),
            ("metrics of imitation", self.imitation_metrics.path),
            ("checkpoints", self.checkpoints),
            ("transitions", self.transitions),
            ("demonstrations", self._config.demonstrations or self.path / "demonstrations"),
        ):
            if path.exists():
                yield title, path


def _refuse_other_settings(before: dict[str, Any], config: TrainConfig) -> None:
    """A resumed run has the settings of the run it resumes, but for those that do not change its numbers."""
    now = json.loads(config.to_json())
    defaults = json.loads(TrainConfig().to_json())  # of settings that came after the run began
    differing = [
        f"{k}: {before.get(k, defaults[k])!r} then, {now[k]!r} now"
        for k in now
        if k not in _FREE and before.get(k, defaults[k]) != now[k]
    ]
    if differing:
        raise EnvRLError(
            f"cannot resume with other settings ({'; '.join(differing)}); start a new run instead"
        )
