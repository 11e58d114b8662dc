"""Game files on disk: a folder of them, or an archive. Either is indexed once and read at random.

The layout is that of the official data, ``json_2.1.1/<split>/<task>/<trial>/game.tw-pddl``.
"""

import json
import os
import threading
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

from envrl.envs.alfworld.gamepack import (
    FORMAT,
    GamePack,
    cache_path,
    fingerprint,
    is_playable,
    read_game_json,
    write_atomically,
)
from envrl.envs.alfworld.pddl import goal_sentence, task_type_of

GAME_FILE = "game.tw-pddl"
SPLITS = ("train", "valid_seen", "valid_unseen")


class Source(Protocol):
    """Games on disk."""

    def __hash__(self) -> int:
        """By identity: one object is one opening."""

    def games(self, split: str) -> Sequence[tuple[str, str]]:
        """(``<task>/<trial>``, task type) of the playable games of a split, sorted."""

    def left_out(self, split: str) -> int:
        """How many games of the split are unsolvable or unsupported."""

    def version(self, split: str, name: str) -> tuple[Any, ...]:
        """Changes when the file of the game changes."""

    def read(self, split: str, name: str) -> Mapping[str, Any] | None:
        """Problem, sentence and walkthrough of a game, None if there is none of that name."""

    def source(self, split: str, name: str) -> dict[str, Any] | None:
        """The whole game file."""


class ArchiveSource:
    """The games of a ``.tar.xz``, ``.tar.gz``, ``.tar`` or ``.zip``."""

    def __init__(self, path: Path) -> None:
        self._pack = GamePack(path)
        self._version = tuple(fingerprint(path))
        self.read, self.source = self._pack.read, self._pack.source

    def version(self, split: str, name: str) -> tuple[Any, ...]:
        """Path, size and time of change of the archive."""
        return self._version

    def games(self, split: str) -> Sequence[tuple[str, str]]:
        """(``<task>/<trial>``, task type) of the playable games of a split, sorted."""
        return self._pack.index.get(split, [])

    def left_out(self, split: str) -> int:
        """How many games of the split are unsolvable or unsupported."""
        return self._pack.skipped.get(split, 0)


class FolderSource:
    """The games of a folder: one that holds ``json_2.1.1``, that folder itself, or that of a split."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._index: dict[str, tuple[list[tuple[str, str]], int]] = {}

    def games(self, split: str) -> Sequence[tuple[str, str]]:
        """(``<task>/<trial>``, task type) of the playable games of a split, sorted."""
        return self._indexed(split)[0]

    def left_out(self, split: str) -> int:
        """How many games of the split are unsolvable or unsupported."""
        return self._indexed(split)[1]

    def read(self, split: str, name: str) -> Mapping[str, Any] | None:
        """Problem, sentence and walkthrough of a game, None if there is none of that name."""
        game = self.source(split, name)
        if game is None or not is_playable(name, game):
            return None
        sentence = goal_sentence(game["grammar"], name)
        return {"problem": game["pddl_problem"], "sentence": sentence, "walkthrough": game.get("walkthrough")}

    def version(self, split: str, name: str) -> tuple[Any, ...]:
        """Path, size and time of change of the file."""
        path = self._file(split, name)
        return tuple(fingerprint(path)) if path is not None else ()

    def source(self, split: str, name: str) -> dict[str, Any] | None:
        """The whole game file."""
        path = self._file(split, name)
        return read_game_json(path.read_bytes(), str(path)) if path is not None else None

    def _file(self, split: str, name: str) -> Path | None:
        # An id must not lead out of the folder.
        if {"", ".", ".."} & {split, *name.split("/")}:
            return None
        path = self._folder(split) / name / GAME_FILE
        return path if path.is_file() else None

    def _folder(self, split: str) -> Path:
        for folder in (self._root / "json_2.1.1" / split, self._root / split):
            if folder.is_dir():
                return folder
        return self._root if self._root.name == split else self._root / split

    def _indexed(self, split: str) -> tuple[list[tuple[str, str]], int]:
        with self._lock:
            if split not in self._index:
                self._index[split] = self._scan(self._folder(split))
            return self._index[split]

    def _scan(self, folder: Path) -> tuple[list[tuple[str, str]], int]:
        """Playable games and the number of the others; kept in the cache folder until a file changes."""
        found = sorted(_game_files(folder))
        digest = blake2b(json.dumps([FORMAT, found]).encode("utf-8", "surrogatepass")).hexdigest()
        cache = cache_path(folder, ".index")
        try:
            stored = json.loads(cache.read_bytes())
            if stored["digest"] == digest:
                return [(name, kind) for name, kind in stored["games"]], int(stored["left_out"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
        games = []
        for name, _, _ in found:
            path = folder / name / GAME_FILE
            game = read_game_json(path.read_bytes(), str(path))
            if is_playable(name, game):
                games.append((name, task_type_of(game["pddl_problem"], str(path))))
        left_out = len(found) - len(games)
        content = json.dumps({"digest": digest, "games": games, "left_out": left_out})
        write_atomically(cache, [content.encode()])
        return games, left_out


def _game_files(folder: Path) -> list[tuple[str, int, int]]:
    """(``<task>/<trial>``, size, time of change) of the game files two levels below a folder."""
    found: list[tuple[str, int, int]] = []
    if not folder.is_dir():
        return found
    for task in os.scandir(folder):
        if not task.is_dir():
            continue
        for trial in os.scandir(task.path):
            try:
                status = (Path(trial.path) / GAME_FILE).stat()
            except OSError:
                continue
            found.append((f"{task.name}/{trial.name}", status.st_size, status.st_mtime_ns))
    return found
