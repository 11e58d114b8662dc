"""``envrl train``: a run by the settings of a file and of the command line, or what it would take."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import tyro

from envrl.agents.config import TrainConfig
from envrl.agents.settings_file import load_settings


@dataclass(frozen=True)
class TrainCommand:
    """Train an agent, or go on with a run."""

    config: Path | None = None
    """YAML or JSON file with settings by name (``lr: 1e-6``); options on the command line win."""
    dry_run: bool = False
    """Train nothing: print what the run would need and do (memory, batches, stages, first prompt)."""
    launch: Path | None = None
    """For a dry run: the accelerate configuration that the run is for; by default it is as this process."""
    settings: tyro.conf.OmitArgPrefixes[TrainConfig] = field(default_factory=TrainConfig)

    def __post_init__(self) -> None:
        if self.launch is not None and not self.dry_run:
            raise ValueError(
                "--launch is for --dry-run; a run is launched by: accelerate launch --config_file FILE -m envrl train"
            )

    @classmethod
    def defaults(cls, words: Sequence[str]) -> "TrainCommand":
        """The defaults of the options, by the file that the command line names.

        Args:
            words: what follows ``envrl train``.

        Raises:
            WrongUse: the file cannot be used.
        """
        path = None
        for word, following in zip(words, [*words[1:], None], strict=True):
            if word == "--config":
                path = following
            elif word.startswith("--config="):
                path = word.removeprefix("--config=")
        if path is None or path.startswith("-"):
            return cls()
        return cls(Path(path), settings=load_settings(Path(path), TrainConfig))


def run(command: TrainCommand) -> None:
    """Train, or say what training would take.

    Raises:
        DataNotFound: games, recordings or a model are missing.
        EnvRLError: the output folder holds another run, or there is none to go on with.
    """
    if command.dry_run:
        from envrl.agents.planning.dry_run import dry_run

        dry_run(command.settings, command.launch)
        return
    from envrl.agents.trainer import train

    train(command.settings)
