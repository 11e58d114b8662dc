"""Games from files: the official folders, the archives they come in, and folders written by others.

A split is indexed once; games are parsed when they are asked for and shared by all environments of the
process. Task ids are ``<split>/<task>/<trial>``, for ``json_2.1.1/<split>/<task>/<trial>/game.tw-pddl``.
"""

import os
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from envrl.envs.alfworld.game import Game
from envrl.envs.alfworld.gamepack import fingerprint
from envrl.envs.alfworld.library import check_task_types, kept_game
from envrl.envs.alfworld.pddl import parse_problem
from envrl.envs.alfworld.sources import GAME_FILE, SPLITS, ArchiveSource, FolderSource, Source
from envrl.envs.errors import DataNotFound, InvalidTask

_DOWNLOAD = "fetch the official games with: envrl data download alfworld"


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
                f"expected games of {list(wanted)} under {split}/<task>/<trial>/{GAME_FILE} in {path}, "
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


#: Opened folders and archives by path, with the state they were in, so that the environments of a process
#: share one index.
_SOURCES: dict[Path, tuple[list[Any], Source]] = {}
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
    folders = [path, *(path / inner / name for inner in ("", "json_2.1.1") for name in ("", *SPLITS))]
    version = [fingerprint(folder) for folder in folders if folder.exists()]
    with _SOURCES_LOCK:
        known, source = _SOURCES.get(path, (None, None))
        if source is None or known != version:
            source = FolderSource(path) if path.is_dir() else ArchiveSource(path)
            _SOURCES[path] = (version, source)
    return OfficialLibrary(path, source, split, task_types)
