"""The directory in which a server works: filled with files, read back as data, known by another name.

A file is its text where it is UTF-8, else ``{"base64": ...}``; one of more than a mebibyte is its digest, which can be
compared but not written. A folder without anything in it is a name that ends in ``/``.
"""

import base64
import os
import re
import stat
import time
from collections.abc import Mapping
from fnmatch import fnmatchcase
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from envrl.envs.errors import InvalidData

_MOST_BYTES = 1 << 20
_TICK_NS = 50_000_000


class _Seen(NamedTuple):
    """A file as it was when it was last read; the stamp is None where it may have changed since unnoticed."""

    stamp: tuple[int, int, int] | None
    content: bytes
    data: Any


class Workdir:
    """A directory of files.

    Args:
        path: of the directory, which is there.
        root: what agents call it.
        volatile: patterns of files that do not count, relative to the directory.
    """

    def __init__(self, path: Path, root: str, volatile: tuple[str, ...] = ()) -> None:
        self.path, self._root, self._volatile = path, root, volatile
        self._seen: dict[str, _Seen] = {}
        self._real, self._beside = str(path), str(path.parent)
        self._alias = re.compile(rf"(?<![\w./-]){re.escape(root)}(?![\w-]|\.\w)")

    def fill(self, files: Mapping[str, bytes]) -> None:
        """Make the directory hold these files and nothing else; files that are right are left alone.

        A name that ends in ``/`` is an empty folder.
        """
        present = self.contents()
        folders = {str(parent) for name in files for parent in PurePosixPath(name).parents}
        folders |= {name.rstrip("/") for name in files if name.endswith("/")}
        for folder, inner, names in os.walk(self.path, topdown=False):
            prefix = _prefix(folder, self._real)
            for name in names:
                if prefix + name not in files:
                    Path(folder, name).unlink()
            for name in inner:
                if prefix + name not in folders:
                    (
                        Path(folder, name).unlink
                        if Path(folder, name).is_symlink()
                        else Path(folder, name).rmdir
                    )()
        for name, content in files.items():
            target = self.path / name
            if name.endswith("/"):
                target.mkdir(parents=True, exist_ok=True)
            elif present.get(name) != content:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
        self._seen.clear()

    def contents(self) -> dict[str, bytes]:
        """Every file and empty folder that counts, by name, sorted."""
        self._look()
        return {name: seen.content for name, seen in self._seen.items()}

    def data(self) -> dict[str, Any]:
        """The same as JSON data."""
        self._look()
        return {name: seen.data for name, seen in self._seen.items()}

    def to_real(self, value: Any) -> Any:
        """Arguments with the directory's other name replaced by its path."""
        if isinstance(value, str):
            return self._alias.sub(lambda _: self._real, value) if self._root in value else value
        return _inside(value, self.to_real)

    def to_alias(self, value: Any) -> Any:
        """Results with the directory's path replaced by its other name."""
        if isinstance(value, str):
            # Beside the directory are the server's home and the like, under a name that is never the same.
            return value.replace(self._real, self._root).replace(self._beside, f"{self._root}-private")
        return _inside(value, self.to_alias)

    def _look(self) -> None:
        """Read what has changed."""
        found: dict[str, _Seen] = {}
        for folder, folders, names in os.walk(self._real):
            prefix = _prefix(folder, self._real)
            if prefix and not folders and not names:
                found[prefix] = _Seen(None, b"", None)
            links = [name for name in folders if Path(folder, name).is_symlink()]
            for name in (*names, *links):
                path = prefix + name
                if not any(fnmatchcase(path, pattern) for pattern in self._volatile):
                    seen = self._read(path)
                    if seen is not None:
                        found[path] = seen
        self._seen = dict(sorted(found.items()))

    def _read(self, name: str) -> _Seen | None:
        path = self.path / name
        try:
            status = path.lstat()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            seen = self._seen.get(name)
            if seen is not None and seen.stamp == stamp:
                return seen
            if stat.S_ISLNK(status.st_mode):
                content = b"link to " + os.fsencode(path.readlink())
            elif stat.S_ISREG(status.st_mode):
                content = path.read_bytes()
            else:
                content = b"neither file nor folder"
        except FileNotFoundError:  # it went while we looked
            return None
        # File systems tell time in ticks: what was written just now may be written again under the same time.
        settled = time.time_ns() - status.st_mtime_ns > _TICK_NS
        return _Seen(stamp if settled else None, content, as_data(name, content))


def as_data(name: str, content: bytes) -> Any:
    """A file's content as JSON data."""
    if name.endswith("/"):
        return None
    if len(content) > _MOST_BYTES:
        return {"blake2b": blake2b(content, digest_size=16).hexdigest(), "bytes": len(content)}
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def read_files(files: Mapping[str, Any]) -> dict[str, bytes]:
    """Contents of files given as data. Raises InvalidData."""
    found: dict[str, bytes] = {}
    for name, data in files.items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts:
            raise InvalidData(f"files: expected names below the server's directory, found {name!r}")
        if data is None and name.endswith("/"):
            found[f"{path}/"] = b""
        elif isinstance(data, str):
            found[str(path)] = data.encode("utf-8", "surrogatepass")
        elif isinstance(data, Mapping) and set(data) == {"base64"}:
            try:
                found[str(path)] = base64.b64decode(data["base64"], validate=True)
            except (ValueError, TypeError) as error:
                raise InvalidData(f"files: {name}: expected base64, found {error}") from error
        else:
            raise InvalidData(
                f"files: {name}: expected a text or {{'base64': ...}}, found {str(data)[:80]}; "
                f"files of more than {_MOST_BYTES >> 20} MiB are known by digest only and cannot be loaded"
            )
    return found


def read_folder(folder: Path) -> dict[str, bytes]:
    """All files below a folder. Raises InvalidData."""
    if not folder.is_dir():
        raise InvalidData(f"files: expected a folder at {folder}, found none")
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _prefix(folder: str, root: str) -> str:
    return "" if folder == root else os.path.relpath(folder, root).replace(os.sep, "/") + "/"


def _inside(value: Any, change: Any) -> Any:
    if isinstance(value, dict):
        return {key: change(item) for key, item in value.items()}
    if isinstance(value, list):
        return [change(item) for item in value]
    return value
