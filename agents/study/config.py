"""`StudyConfig`: every setting of a study, one documented field each."""

from dataclasses import dataclass, field
from pathlib import Path

from envrl.agents.config import TrainConfig
from envrl.agents.study.arms import ARMS, ArmName, Stages


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
