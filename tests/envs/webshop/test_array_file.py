"""Arrays in a mapped file: what is written is read, and what is broken is said to be."""

from pathlib import Path

import numpy as np
import pytest

from envrl.envs.errors import DataNotFound, InvalidData
from envrl.envs.webshop.array_file import ArrayFile, read_arrays

NUMBERS = np.arange(1000, dtype=np.int32)
NAMES = np.array([b"ab", b"c", b""])


def write(path: Path) -> None:
    with ArrayFile(path, "things/1") as file:
        file.allocate("numbers", 1000, NUMBERS.dtype)[...] = NUMBERS
        file.allocate("nothing", 0, np.dtype(np.float32))
        file.allocate("names", 3, NAMES.dtype)[...] = NAMES
        file.finish({"answer": 42})


def test_round_trip(tmp_path: Path) -> None:
    write(tmp_path / "a")
    arrays, facts = read_arrays(tmp_path / "a", "things/1")
    assert facts == {"answer": 42}
    np.testing.assert_array_equal(arrays["numbers"], NUMBERS)
    assert arrays["names"].tolist() == [b"ab", b"c", b""]
    assert arrays["nothing"].shape == (0,) and arrays["nothing"].dtype == np.float32
    assert type(arrays["numbers"]) is np.ndarray and arrays["numbers"].dtype == np.int32
    with pytest.raises(ValueError, match="read-only"):
        arrays["numbers"][0] = 1
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_equal_content_gives_equal_bytes(tmp_path: Path) -> None:
    write(tmp_path / "a")
    write(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_an_error_leaves_the_old_file(tmp_path: Path) -> None:
    write(tmp_path / "a")
    before = (tmp_path / "a").read_bytes()
    with pytest.raises(RuntimeError), ArrayFile(tmp_path / "a", "things/1") as file:
        file.allocate("numbers", 5, NUMBERS.dtype)[...] = 1
        raise RuntimeError
    assert (tmp_path / "a").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_open_arrays_survive_a_replacement(tmp_path: Path) -> None:
    write(tmp_path / "a")
    arrays, _ = read_arrays(tmp_path / "a", "things/1")
    with ArrayFile(tmp_path / "a", "things/1") as file:
        file.finish({})
    np.testing.assert_array_equal(arrays["numbers"], NUMBERS)
    assert read_arrays(tmp_path / "a", "things/1") == ({}, {})


def test_absent(tmp_path: Path) -> None:
    with pytest.raises(DataNotFound, match="no such file"):
        read_arrays(tmp_path / "a", "things/1")


@pytest.mark.parametrize(
    ("place", "new", "message"),
    [
        (0, b"PK", "found something else"),
        (16, b"\x07", "found format 7"),
        (100, b"\xff", "does not fit its checksum"),
        (-3, b"\x00", "does not fit its checksum"),
    ],
)
def test_damage(tmp_path: Path, place: int, new: bytes, message: str) -> None:
    write(tmp_path / "a")
    content = bytearray((tmp_path / "a").read_bytes())
    place %= len(content)
    content[place : place + len(new)] = new
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(InvalidData, match=message):
        read_arrays(tmp_path / "a", "things/1")


def test_truncation(tmp_path: Path) -> None:
    write(tmp_path / "a")
    content = (tmp_path / "a").read_bytes()
    for size in (0, 3, 60, 64, len(content) // 2, len(content) - 1):
        (tmp_path / "a").write_bytes(content[:size])
        # sizes tell, without reading the content
        with pytest.raises(InvalidData):
            read_arrays(tmp_path / "a", "things/1", verify=False)


def test_another_kind(tmp_path: Path) -> None:
    write(tmp_path / "a")
    with pytest.raises(InvalidData, match="expected things/2, found things/1"):
        read_arrays(tmp_path / "a", "things/2")
