"""``envrl view``: a run as one HTML page."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from envrl.agents.viewer.view import view as make_page
from envrl.envs.errors import WrongUse


@dataclass(frozen=True)
class ViewConfig:
    """Write a run as one HTML page that needs no network: curves, evaluations, and episodes turn by turn."""

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """folder of a run of `envrl train`, or the output of `envrl eval`"""
    output: Path | None = None
    """where to write the page; RUN/view.html by default"""
    episodes: int = 12
    """episodes to show: the newest of every outcome and kind of task"""
    updates: tuple[int, ...] = ()
    """show only episodes of these updates"""
    model: bool = True
    """ask the newest checkpoint how likely each action was and what it expected to follow (extra `train`)"""


def view(config: ViewConfig) -> None:
    """Write the page and print where it is."""
    if config.episodes < 0:
        raise WrongUse(f"--episodes must be at least 0, got {config.episodes}")
    page = make_page(
        config.run,
        config.episodes,
        config.updates,
        config.model,
        say=lambda text: print(text, file=sys.stderr, flush=True),
    )
    output = config.output or config.run / "view.html"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page, encoding="utf-8")
    print(f"{output} ({len(page.encode()) / 1e6:.1f} MB); open it in a browser")
