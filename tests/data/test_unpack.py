"""Archives, sound and hostile."""

import io
import os
import shutil
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from envrl.data.unpack import is_archive, unpack
from envrl.envs.errors import InvalidData

FILES = {"a/one.txt": b"one", "a/b/two.txt": b"two" * 1000, "three.txt": b""}


def make_zip(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("empty")
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def make_tar(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:xz") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("make, name", [(make_zip, "x.zip"), (make_tar, "x.tar.xz")])
def test_files_land_in_the_folder_over_what_is_there(make, name: str, tmp_path: Path) -> None:
    target = tmp_path / "data"
    (target / "a").mkdir(parents=True)
    (target / "a/one.txt").write_bytes(b"old")
    (target / "mine.txt").write_bytes(b"mine")
    seen: list[tuple[int, int]] = []
    assert is_archive(Path(name))
    assert unpack(make(tmp_path / name, FILES), target, lambda *a: seen.append(a)) == 3
    assert contents(target) == FILES | {"mine.txt": b"mine"}
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert not [p for p in target.iterdir() if p.name.startswith(".")]


@pytest.mark.parametrize("make, name", [(make_zip, "x.zip"), (make_tar, "x.tar.xz")])
@pytest.mark.parametrize(
    "member", ["../evil.txt", "a/../../evil.txt", "/evil.txt", "C:\\evil.txt", "a\\..\\evil.txt"]
)
def test_a_member_that_leaves_the_folder_is_refused(make, name: str, member: str, tmp_path: Path) -> None:
    target = tmp_path / "deep" / "data"
    archive = make(tmp_path / name, {"good.txt": b"good", member: b"evil"})
    with pytest.raises(InvalidData, match="would land outside"):
        unpack(archive, target)
    assert contents(tmp_path) == {name: archive.read_bytes()}


def test_links_are_refused(tmp_path: Path) -> None:
    tarred = tmp_path / "x.tar"
    with tarfile.open(tarred, "w") as archive:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc"
        archive.addfile(link)
    zipped = tmp_path / "x.zip"
    with zipfile.ZipFile(zipped, "w") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc")
    for path in (tarred, zipped):
        with pytest.raises(InvalidData, match="'link' is not a plain file"):
            unpack(path, tmp_path / "data")
    assert not any((tmp_path / "data").iterdir())


@pytest.mark.parametrize("make, name", [(make_zip, "x.zip"), (make_tar, "x.tar.xz")])
def test_a_damaged_archive_leaves_nothing_behind(make, name: str, tmp_path: Path) -> None:
    archive = make(tmp_path / name, {f"f{i}.bin": os.urandom(2000) for i in range(20)})
    data = archive.read_bytes()
    target = tmp_path / "data"
    damaged = bytearray(data)
    damaged[len(data) // 2] ^= 0xFF
    for bad in (data[: len(data) // 2], bytes(damaged), b"not an archive", b""):
        archive.write_bytes(bad)
        with pytest.raises(InvalidData, match=r"x\..*not a sound archive"):
            unpack(archive, target)
        assert not any(target.iterdir())


def test_more_than_the_disk_holds_is_refused_before_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = make_zip(tmp_path / "x.zip", {"large.bin": b"0" * (3 << 20)})
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=2 << 20))
    with pytest.raises(OSError, match=r"2 MiB free.*3 MiB unpacked"):
        unpack(archive, tmp_path / "data")
    assert not any((tmp_path / "data").iterdir())
