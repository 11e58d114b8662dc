"""Games from files: the official folders, the archives they come in, and folders written by others.

A split is indexed once; games are parsed when they are asked for and shared by all environments of the
process. Task ids are ``<split>/<task>/<trial>``, for ``json_2.1.1/<split>/<task>/<trial>/game.tw-pddl``.
"""

import json
import os
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

from envrl.envs.alfworld.game import Game
from envrl.envs.alfworld.gamepack import (
    FORMAT,
    GamePack,
    cache_path,
    fingerprint,
    is_playable,
    read_game_json,
    write_atomically,
)
from envrl.envs.alfworld.library import check_task_types, kept_game
from envrl.envs.alfworld.pddl import goal_sentence, parse_problem, task_type_of
from envrl.envs.errors import DataNotFound, InvalidTask

_DOWNLOAD = "fetch the official games with: envrl data download alfworld"
_GAME_FILE = "game.tw-pddl"


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
        path = self._folder(split) / name / _GAME_FILE
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
            path = folder / name / _GAME_FILE
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
                status = (Path(trial.path) / _GAME_FILE).stat()
            except OSError:
                continue
            found.append((f"{task.name}/{trial.name}", status.st_size, status.st_mtime_ns))
    return found


@lru_cache(maxsize=64)
def _task_ids(source: Source, split: str, task_types: tuple[str, ...]) -> tuple[str, ...]:
    """Ids of a split; cached because thousands of ids would outweigh all else that an environment holds."""
    return tuple(f"{split}/{name}" for name, kind in source.games(split) if kind in task_types)


class OfficialLibrary:
    """One split of a `Source` as a `GameLibrary`.

    Raises:
        DataNotFound: the split is absent or has no playable game (of these task types).
    """

    def __init__(self, path: Path, source: Source, split: str, task_types: Sequence[str] | None) -> None:
        self._path, self._source = path, source
        wanted = check_task_types(task_types)
        self._ids = _task_ids(source, split, wanted)
        if not self._ids:
            others, left_out = len(source.games(split)), source.left_out(split)
            reason = f"{others} playable games of other types and {left_out} unsolvable or unsupported ones"
            raise DataNotFound(
                f"expected games of {list(wanted)} under {split}/<task>/<trial>/{_GAME_FILE} in {path}, "
                f"found {reason}; {_DOWNLOAD}"
            )

    def task_ids(self) -> Sequence[str]:
        """Ids of the split, sorted."""
        return self._ids

    def load(self, task_id: str) -> Game:
        """The game of this id; other splits of the same folder or archive are accepted.

        Raises:
            InvalidTask: no such game.
        """
        key = (task_id, *self._source.version(*self._split(task_id)))
        return kept_game(key, lambda: self._parse(task_id))

    def game_file(self, task_id: str) -> dict[str, Any]:
        """The whole game file, as the original stack reads it."""
        split, name = self._split(task_id)
        source = self._source.source(split, name)
        if source is None:
            raise self._unknown(task_id)
        return source

    def _parse(self, task_id: str) -> Game:
        split, name = self._split(task_id)
        fields = self._source.read(split, name)
        if fields is None:
            raise self._unknown(task_id)
        return parse_problem(fields["problem"], fields["sentence"], fields["walkthrough"] or (), task_id)

    def _split(self, task_id: str) -> tuple[str, str]:
        if not isinstance(task_id, str) or task_id.count("/") != 2:
            raise self._unknown(task_id)
        split, _, name = task_id.partition("/")
        return split, name

    def _unknown(self, task_id: object) -> InvalidTask:
        return InvalidTask(
            f"no playable game {task_id!r} in {self._path}; an id reads <split>/<task>/<trial>, "
            f"for example {self._ids[0]!r} (see env.unwrapped.task_ids())"
        )


#: Opened folders and archives by path and state, so that many environments of a process share one index.
_SOURCES: dict[tuple[Any, ...], Source] = {}
_SOURCES_LOCK = threading.Lock()


def forget_sources() -> None:
    """Close all folders and archives; the next opening reads their indexes again."""
    with _SOURCES_LOCK:
        _SOURCES.clear()
    _task_ids.cache_clear()


def locate(games: str) -> Path:
    """The folder or archive that ``games`` means.

    ``official`` is ``$ALFWORLD_DATA``, or ``~/.cache/alfworld`` like the original package.

    Raises:
        DataNotFound: there is nothing.
    """
    if games != "official":
        path = Path(games).expanduser()
        hint = "games is 'procedural', 'official', or the path of a folder or archive of games"
    else:
        path = Path(os.environ.get("ALFWORLD_DATA") or "~/.cache/alfworld").expanduser()
        hint = f"set ALFWORLD_DATA to the folder of json_2.1.1, or {_DOWNLOAD}"
    if not path.exists():
        raise DataNotFound(f"expected ALFWorld games at {path}, found nothing there; {hint}; {_DOWNLOAD}")
    return path


def open_official(games: str, split: str, task_types: Sequence[str] | None = None) -> OfficialLibrary:
    """The library of one split.

    Args:
        games: ``official``, a folder, or an archive (see `locate`).
        split: ``train``, ``valid_seen`` or ``valid_unseen``.
        task_types: some of ALFRED's six names, None for all.

    Raises:
        DataNotFound: nothing there, or no playable game in the split.
        InvalidData: a damaged file.
    """
    path = locate(games)
    with _SOURCES_LOCK:
        folders = (path, path / "json_2.1.1", path / split, path / "json_2.1.1" / split)
        key = tuple(part for folder in folders if folder.exists() for part in fingerprint(folder))
        source = _SOURCES.get(key)
        if source is None:
            source = FolderSource(path) if path.is_dir() else ArchiveSource(path)
            _SOURCES[key] = source
    return OfficialLibrary(path, source, split, task_types)
