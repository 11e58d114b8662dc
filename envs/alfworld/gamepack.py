"""A cache of the games of an archive: one file, each game compressed by itself, an index in front.

A ``.tar.xz`` can only be read from front to back. It is read once; after that any game is one small read
away. The PDDL domain and the grammar (less the goal sentence) are kept once, as the official games share
them.

The pack belongs to the user's cache folder, is written atomically, and is built anew without a word when it
is damaged, of another format, or made from another state of the archive.
"""

import json
import os
import tarfile
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from lzma import LZMAError
from pathlib import Path
from typing import Any

from envrl.envs.alfworld.pddl import TASK_LINE, goal_sentence, task_type_of
from envrl.envs.errors import DataNotFound, InvalidData

#: raise when what is written below changes
FORMAT = 1
_MAGIC = b"envrl alfworld pack\n"
_SENTENCE = "\x00"


def cache_folder() -> Path:
    """``envrl/alfworld`` in the user's cache folder (``$XDG_CACHE_HOME``, else ``~/.cache``)."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "envrl" / "alfworld"


def fingerprint(path: Path) -> list[Any]:
    """What a cache was made from: path, size and time of change."""
    status = path.stat()
    return [str(path.resolve()), status.st_size, status.st_mtime_ns]


def cache_path(path: Path, ending: str) -> Path:
    """Where the cache of ``path`` lies."""
    name = blake2b(str(path.resolve()).encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
    return cache_folder() / f"{name}{ending}"


def write_atomically(path: Path, parts: Iterable[bytes]) -> bool:
    """Write a file under a temporary name and rename it; False where the folder cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    except OSError:
        return False
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(parts)
        os.replace(temporary, path)  # noqa: PTH105 - the two names are in one folder
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        return False
    return True


def members(path: Path) -> Iterator[tuple[str, bytes]]:
    """(name, content) of every ``game.tw-pddl`` in a tar or zip archive.

    Raises:
        InvalidData: the archive is cut off, damaged, or no archive.
    """
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    if name.endswith("/game.tw-pddl"):
                        yield name, archive.read(name)
        else:
            with tarfile.open(path) as tar:
                for member in tar:
                    if member.isfile() and member.name.endswith("/game.tw-pddl"):
                        file = tar.extractfile(member)
                        yield member.name, file.read() if file is not None else b""
    except (tarfile.TarError, zipfile.BadZipFile, LZMAError, EOFError, zlib.error, OSError) as error:
        raise InvalidData(
            f"{path} cannot be read to its end as a tar or zip archive ({error}); fetch it again: "
            "envrl data download alfworld"
        ) from None


class GamePack:
    """The games of one archive, readable at random.

    Attributes:
        index: split -> [(name ``<task>/<trial>``, task type), ...] in the order of names.
        skipped: split -> number of games left out as unsolvable or unsupported.
    """

    def __init__(self, archive: Path) -> None:
        self._archive = archive
        self._lock = threading.Lock()
        self._open_or_build()

    def read(self, split: str, name: str) -> Mapping[str, Any] | None:
        """The fields of a game: problem, sentence, walkthrough; None if there is no such game."""
        entry = self._where.get((split, name))
        if entry is None:
            return None
        try:
            return self._decode(entry)
        except (OSError, zlib.error, ValueError, IndexError):
            # The pack was damaged or removed after it was opened.
            with self._lock:
                self._build()
            return self._decode(self._where[split, name])

    def source(self, split: str, name: str) -> dict[str, Any] | None:
        """The whole game file again, as the original stack reads it."""
        fields = self.read(split, name)
        if fields is None:
            return None
        domain, grammar = (self._shared[i] for i in fields["shared"])
        sentence = json.dumps(fields["sentence"])[1:-1]
        return {
            "pddl_domain": domain,
            "grammar": grammar.replace(_SENTENCE, sentence),
            "pddl_problem": fields["problem"],
            "solvable": True,
            "walkthrough": fields["walkthrough"],
        }

    def _decode(self, entry: tuple[int, int]) -> Mapping[str, Any]:
        offset, size = entry
        if self._memory is not None:
            data = self._memory[offset : offset + size]
        else:
            with self._path.open("rb") as file:
                file.seek(self._start + offset)
                data = file.read(size)
        problem, sentence, walkthrough, shared = json.loads(zlib.decompress(data))
        return {"problem": problem, "sentence": sentence, "walkthrough": walkthrough, "shared": shared}

    def _open_or_build(self) -> None:
        self._path = cache_path(self._archive, ".pack")
        self._memory: bytes | None = None
        try:
            with self._path.open("rb") as file:
                if file.readline(64) != _MAGIC:
                    raise ValueError("not a pack")
                header = json.loads(file.readline())
                self._start = file.tell()
            wanted = (FORMAT, fingerprint(self._archive), self._path.stat().st_size - self._start)
            if (header["format"], header["made_from"], header["bytes"]) != wanted:
                raise ValueError("a pack of another format or archive")
            self._take_up(header)
        except (OSError, ValueError, KeyError, TypeError):
            self._build()

    def _build(self) -> None:
        if not self._archive.is_file():
            raise DataNotFound(
                f"expected the games of {self._archive}, found that the file is gone; put it back"
            )
        made_from = fingerprint(self._archive)
        shared: dict[str, int] = {}
        index: dict[str, list[list[Any]]] = {}
        skipped: dict[str, int] = {}
        blobs: list[bytes] = []
        offset = 0
        for path, content in members(self._archive):
            split, *rest = path.split("/")[-4:-1]
            name = "/".join(rest)
            game = read_game_json(content, f"{self._archive}: {path}")
            if not is_playable(name, game):
                skipped[split] = skipped.get(split, 0) + 1
                continue
            sentence = goal_sentence(game["grammar"], path)
            grammar = TASK_LINE.sub(f'"Your task is to: {_SENTENCE}"', game["grammar"])
            texts = [shared.setdefault(text, len(shared)) for text in (game["pddl_domain"], grammar)]
            fields = [game["pddl_problem"], sentence, game.get("walkthrough") or [], texts]
            blob = zlib.compress(json.dumps(fields).encode(), 3)
            task_type = task_type_of(game["pddl_problem"], path)
            index.setdefault(split, []).append([name, task_type, offset, len(blob)])
            blobs.append(blob)
            offset += len(blob)
        for entries in index.values():
            entries.sort()
        header = {
            "format": FORMAT,
            "made_from": made_from,
            "bytes": offset,
            "index": index,
            "skipped": skipped,
            "shared": list(shared),
        }
        front = _MAGIC + json.dumps(header).encode() + b"\n"
        self._start = len(front)
        if write_atomically(self._path, [front, *blobs]):
            self._memory = None
        else:
            self._memory = b"".join(blobs)
        self._take_up(header)

    def _take_up(self, header: Mapping[str, Any]) -> None:
        self.index = {
            split: [(name, task_type) for name, task_type, _, _ in entries]
            for split, entries in header["index"].items()
        }
        self.skipped: dict[str, int] = header["skipped"]
        self._shared: list[str] = header["shared"]
        self._where = {
            (split, name): (offset, size)
            for split, entries in header["index"].items()
            for name, _, offset, size in entries
        }


def read_game_json(content: bytes, where: str) -> dict[str, Any]:
    """The JSON of a game file.

    Raises:
        InvalidData: cut off, or not a game file; the message names the file and what mends it.
    """
    try:
        game = json.loads(content)
    except ValueError as error:
        problem = f"cut off or damaged ({error})"
    else:
        fields = ("pddl_domain", "pddl_problem", "grammar")
        if isinstance(game, dict) and all(isinstance(game.get(field), str) for field in fields):
            return game
        problem = f"not a game file: the texts {', '.join(fields)} are not all there"
    raise InvalidData(
        f"{where} is {problem}; delete it or fetch the data again: envrl data download alfworld"
    )


def is_playable(name: str, game: Mapping[str, Any]) -> bool:
    """Whether the original ALFWorld plays this game: marked solvable, no movable receptacle, nothing to
    slice.
    """
    return bool(game.get("solvable")) and "movable" not in name and "Sliced" not in name
