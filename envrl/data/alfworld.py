"""Where ALFWorld's official games lie, and whether each one is sound."""

import os
from collections.abc import Callable
from pathlib import Path

from envrl.data.sources import Part
from envrl.envs.alfworld.gamepack import is_playable, read_game_json
from envrl.envs.alfworld.pddl import parse_game
from envrl.envs.errors import EnvRLError

#: games of each official split that ALFWorld plays
SPLITS = {"train": 3553, "valid_seen": 140, "valid_unseen": 134}


def data_folder() -> Path:
    """``$ALFWORLD_DATA``, else ``~/.cache/alfworld``: the folder of the original alfworld package."""
    return Path(os.environ.get("ALFWORLD_DATA") or "~/.cache/alfworld").expanduser()


def count_games(folder: Path) -> int:
    """Game files under ``folder``, in the splits that count."""
    return sum(len(_game_files(folder, split)) for split in SPLITS)


def check_games(folder: Path, progress: Callable[[], None] = lambda: None) -> tuple[Part, ...]:
    """Read and parse every game of every official split.

    Games that ALFWorld leaves out (not solvable, movable receptacles, slicing) are not counted.
    """
    return tuple(_check_split(folder, split, expected, progress) for split, expected in SPLITS.items())


def _check_split(folder: Path, split: str, expected: int, progress: Callable[[], None]) -> Part:
    found, broken = 0, []
    for path in _game_files(folder, split):
        name = "/".join(path.parts[-3:-1])
        try:
            data = read_game_json(path.read_bytes(), str(path))
            if is_playable(name, data):
                parse_game(data, f"{split}/{name}")
                found += 1
        except (OSError, EnvRLError) as error:
            broken.append((str(path), str(error)))
        progress()
    return Part(split, found, expected, tuple(broken))


def _game_files(folder: Path, split: str) -> list[Path]:
    games = sorted((folder / "json_2.1.1" / split).glob("*/*/game.tw-pddl"))
    return games or sorted((folder / split).glob("*/*/game.tw-pddl"))
