"""Unpack an archive into a data folder: no member leaves it, and nothing half-written stays behind."""

import os
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from lzma import LZMAError
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, NamedTuple

from envrl.envs.errors import InvalidData

#: ``progress(members so far, members in all)``
Progress = Callable[[int, int], None]
_BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    LZMAError,
    EOFError,
    NotImplementedError,
    RuntimeError,
)


class _Member(NamedTuple):
    name: str
    size: int
    open: Callable[[], AbstractContextManager[IO[bytes]]]


def is_archive(path: Path) -> bool:
    """Whether the file's name says zip or tar."""
    return path.name.endswith((".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2"))


def unpack(archive: Path, folder: Path, progress: Progress = lambda done, total: None) -> int:
    """Unpack a zip or tar archive into ``folder``, over what is there; gives the number of files.

    Everything is unpacked beside its destination first and moved only when all of it has proved sound.

    Raises:
        InvalidData: the archive is broken, or a member would land outside ``folder`` or is not a plain file.
        OSError: the disk is full.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unpacking-", dir=folder) as scratch:
        staging = Path(scratch)
        try:
            with _opened(archive) as members:
                room, need = shutil.disk_usage(folder).free, sum(m.size for m in members)
                if need > room:
                    raise OSError(
                        f"{folder} has {room >> 20} MiB free, {archive.name} needs {need >> 20} MiB unpacked"
                    )
                for done, member in enumerate(members, 1):
                    _write(member, staging / _safe(member.name, archive))
                    progress(done, len(members))
        except _BROKEN as error:
            raise InvalidData(
                f"{archive} is not a sound archive ({error}); delete it and fetch it again"
            ) from error
        for file in _files(staging):
            target = folder / file.relative_to(staging)
            target.parent.mkdir(parents=True, exist_ok=True)
            file.replace(target)
        return len(members)


@contextmanager
def _opened(archive: Path) -> Iterator[list[_Member]]:
    """The plain files of a zip or tar archive; its folders are implied by them."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as zipped:
            yield [_zip_member(archive, zipped, info) for info in zipped.infolist() if not info.is_dir()]
    else:
        with tarfile.open(archive) as tarred:
            yield [_tar_member(archive, tarred, info) for info in tarred.getmembers() if not info.isdir()]


def _zip_member(archive: Path, zipped: zipfile.ZipFile, info: zipfile.ZipInfo) -> _Member:
    if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
        raise _refusal(archive, info.filename, "is not a plain file")
    return _Member(info.filename, info.file_size, lambda: zipped.open(info))


def _tar_member(archive: Path, tarred: tarfile.TarFile, info: tarfile.TarInfo) -> _Member:
    stream = tarred.extractfile(info) if info.isreg() else None
    if stream is None:
        raise _refusal(archive, info.name, "is not a plain file")
    return _Member(info.name, info.size, lambda: stream)


def _refusal(archive: Path, member: str, why: str) -> InvalidData:
    return InvalidData(
        f"{archive}: member {member!r} {why}; expected plain files inside the data folder, not unpacked"
    )


def _safe(name: str, archive: Path) -> PurePosixPath:
    """The member's relative path. Members may name any path at all: this is where escape ends."""
    path = PurePosixPath(name)
    escapes = path.is_absolute() or ".." in path.parts or not path.parts
    if escapes or PureWindowsPath(name).drive or "\\" in name:
        raise _refusal(archive, name, "would land outside the data folder")
    return path


def _write(member: _Member, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with member.open() as source, target.open("wb") as out:
        shutil.copyfileobj(source, out)


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        yield from (Path(parent, name) for name in names)
