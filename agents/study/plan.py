"""What a study consists of: its settings, its runs, and which of them are done."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from envrl.agents import checkpoint
from envrl.agents.config import TrainConfig
from envrl.agents.study.arms import ARMS, ArmName, Stages, arm_settings
from envrl.envs.errors import EnvRLError

#: settings of a run that change none of its numbers
_FREE = {"resume", "output", "checkpoint_every", "keep_checkpoints", "demonstrations"}


def _base() -> TrainConfig:
    return TrainConfig(eval_every=10)


@dataclass(frozen=True)
class StudyConfig:
    """Train the same agent with and without the objectives over several seeds and compare."""

    output: Path = Path("runs/study")
    """Folder of the study: one folder a run, ``report.md``, ``report.json``, ``curves.svg``."""
    arms: tuple[ArmName, ...] = tuple(ARMS)
    """``rl`` (reward only), ``envrl`` (both objectives), ``sp`` (state prediction only), ``id`` (inverse dynamics
    only), ``placebo`` (both, with shuffled targets)."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """One run an arm and seed; the runs of a seed share demonstrations, tasks and initial weights."""
    stages: Stages = "both"
    """Where the arms differ: in imitation and reinforcement, or in reinforcement alone."""
    parallel: int = 1
    """Runs at a time, each a process of its own with ``train.threads`` threads (one by default)."""
    confidence: float = 0.95
    """Coverage of the intervals."""
    train: TrainConfig = field(default_factory=_base)
    """Settings that all runs share; its ``output``, ``seed`` and ``resume`` are the study's business."""

    def __post_init__(self) -> None:
        if not self.arms or len(set(self.arms)) != len(self.arms):
            raise ValueError(f"arms must be different ones and at least one, got {list(self.arms)}")
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise ValueError(f"seeds must be different ones and at least one, got {list(self.seeds)}")
        if self.parallel < 1:
            raise ValueError(f"parallel must be at least 1, got {self.parallel}")
        if not 0 < self.confidence < 1:
            raise ValueError(f"confidence must lie between 0 and 1, got {self.confidence}")
        if not self.train.eval_episodes:
            raise ValueError("a study compares held-out success: set --train.eval-episodes above 0")


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
