"""What a study consists of: its runs, and which of them are done."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from envrl.agents import checkpoint
from envrl.agents.config import TrainConfig
from envrl.agents.study.arms import ArmName, arm_settings
from envrl.agents.study.config import StudyConfig
from envrl.envs.errors import EnvRLError

#: settings of a run that change none of its numbers
_FREE = {"resume", "output", "checkpoint_every", "keep_checkpoints", "demonstrations"}


@dataclass(frozen=True)
class Run:
    """One run of a study."""

    arm: ArmName
    seed: int
    config: TrainConfig

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"{self.arm}-{self.seed}"

    @property
    def folder(self) -> Path:
        """Where it writes."""
        return self.config.output

    @property
    def state(self) -> dict[str, Any] | None:
        """Position and results at the newest checkpoint; None before the first."""
        last = checkpoint.newest(self.folder / "checkpoints")
        return None if last is None else checkpoint.load_state(last)

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do."""
        state = self.state
        return state is not None and state["stage"] == "done"


def plan(config: StudyConfig) -> list[Run]:
    """All runs of a study, seed by seed, so that an interrupted one has whole seeds to compare.

    Raises:
        EnvRLError: a run that is there already has other settings.
        ValueError: an arm needs a weight that the settings do not give.
    """
    runs = []
    for seed in config.seeds:
        demonstrations = config.train.demonstrations
        if demonstrations is None and config.train.sft_episodes:
            demonstrations = demonstrations_folder(config, seed)
        for arm in config.arms:
            settings = arm_settings(arm, config.train, config.stages)
            settings = replace(
                settings,
                seed=seed,
                output=config.output / f"{arm}-{seed}",
                resume=True,
                demonstrations=demonstrations,
                threads=settings.threads or 1,
            )
            runs.append(Run(arm, seed, settings))
    for run in runs:
        _refuse_other_settings(run)
    return runs


def demonstrations_folder(config: StudyConfig, seed: int) -> Path:
    """Where the expert episodes lie that the runs of a seed share."""
    return config.output / "demonstrations" / f"seed-{seed}"


def _refuse_other_settings(run: Run) -> None:
    path = run.folder / "config.json"
    if not path.exists():
        return
    before, now = json.loads(path.read_text()), json.loads(run.config.to_json())
    differing = [
        f"{key}: {before[key]!r} then, {value!r} now"
        for key, value in now.items()
        if key not in _FREE and key in before and before[key] != value
    ]
    if differing:
        raise EnvRLError(
            f"{run.folder} was run with other settings ({'; '.join(differing)}); choose another --output, or remove it"
        )
