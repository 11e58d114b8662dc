"""Where ALFWorld's official games lie, and whether each one is sound."""

import json
import os
from collections.abc import Callable
from pathlib import Path

from envrl.data.sources import Part
from envrl.envs.alfworld.pddl import parse_game
from envrl.envs.errors import EnvRLError

#: games of each official split that ALFWorld plays
SPLITS = {"train": 3553, "valid_seen": 140, "valid_unseen": 134}
_ROOT = "json_2.1.1"
_FIELDS = ("pddl_domain", "pddl_problem", "grammar", "solvable", "walkthrough")


def data_folder() -> Path:
    """``$ALFWORLD_DATA``, else ``~/.cache/alfworld``: the folder of the original alfworld package."""
    return Path(os.environ.get("ALFWORLD_DATA") or "~/.cache/alfworld").expanduser()


def count_games(folder: Path) -> int:
    """Game files under ``folder``, in the splits that count."""
    return sum(len(_game_files(folder, split)) for split in SPLITS)


def check_games(folder: Path, progress: Callable[[], None] = lambda: None) -> tuple[Part, ...]:
    """Read and parse every game of every official split."""
    return tuple(_check_split(folder, split, expected, progress) for split, expected in SPLITS.items())


def _check_split(folder: Path, split: str, expected: int, progress: Callable[[], None]) -> Part:
    found, broken = 0, []
    for path in _game_files(folder, split):
        try:
            found += _check_game(path, split)
        except (ValueError, KeyError, OSError, EnvRLError) as error:
            broken.append((str(path), f"{type(error).__name__}: {error}"))
        progress()
    return Part(split, found, expected, tuple(broken))


def _game_files(folder: Path, split: str) -> list[Path]:
    return sorted((folder / _ROOT / split).glob("*/*/game.tw-pddl"))


def _check_game(path: Path, split: str) -> bool:
    """Whether the game counts: ALFWorld leaves out what its planner could not solve and movable receptacles.

    Raises:
        ValueError: the file is not a game.
    """
    data = json.loads(path.read_text(encoding="utf-8"))
    missing = [field for field in _FIELDS if field not in data] if isinstance(data, dict) else list(_FIELDS)
    if missing:
        raise ValueError(f"expected a JSON object with {', '.join(_FIELDS)}; {', '.join(missing)} missing")
    task, trial = path.parts[-3:-1]
    if not data["solvable"] or "movable" in task.lower() or "Sliced" in task:
        return False
    parse_game(data, f"{split}/{task}/{trial}")
    return True
