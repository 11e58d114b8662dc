"""Streaming JSON gives what `json.load` gives, for any content and any size of block."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envrl.envs.errors import DataNotFound, InvalidData
from envrl.envs.webshop import jsonstream
from envrl.envs.webshop.jsonstream import stream_array, stream_object

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
documents = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("json") / "file.json"


@given(items=st.lists(documents), block=st.integers(1, 40), indent=st.sampled_from([None, 2]))
def test_an_array_comes_item_by_item(path: Path, items: list[Any], block: int, indent: int | None) -> None:
    path.write_text(json.dumps(items, indent=indent))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonstream, "_BLOCK", block)
        assert list(stream_array(path)) == items


@given(entries=st.dictionaries(st.text(), documents), block=st.integers(1, 40), ascii=st.booleans())
def test_an_object_comes_entry_by_entry(path: Path, entries: dict[str, Any], block: int, ascii: bool) -> None:
    path.write_bytes(json.dumps(entries, ensure_ascii=ascii).encode("utf-8"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonstream, "_BLOCK", block)
        assert dict(stream_object(path)) == entries


def test_memory_is_that_of_a_few_items(path: Path) -> None:
    import tracemalloc

    path.write_text(
        "[" + ",".join(json.dumps({"text": "x" * 1000, "number": n}) for n in range(30_000)) + "]"
    )
    tracemalloc.start()
    assert sum(item["number"] for item in stream_array(path)) == 30_000 * 29_999 // 2
    assert tracemalloc.get_traced_memory()[1] < path.stat().st_size / 3
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('[{"a": 1}, {"b": ', "the file ends there"),
        ('[{"a": 1}', "the file ends there"),
        ("[1 2]", "expected ',' at character 3, found '2]'"),
        ("", "expected '[' at character 0, the file ends there"),
        ('{"a": 1}', "expected '[' at character 0"),
        ("[1] x", "expected the end of the file at character 4, found 'x'"),
        ("[nothing]", "expected a JSON value at character 1"),
        ("[1, " + "[" * 100_000, "expected a JSON value at character 4, found '[["),
        ("[" + "1" * 5000 + "]", "expected a JSON value at character 1, found '11"),
    ],
)
def test_a_broken_file_is_an_error_that_says_where(path: Path, text: str, found: str) -> None:
    path.write_text(text)
    with pytest.raises(InvalidData) as caught:
        list(stream_array(path))
    assert found in str(caught.value) and str(path) in str(caught.value)
    assert "get it again" in str(caught.value)


def test_what_is_broken_in_front_is_not_sought_to_the_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = ", ".join(["1"] * 100_000)
    path.write_text(f"[nothing, {rest}]")
    monkeypatch.setattr(jsonstream, "_BLOCK", 100)
    monkeypatch.setattr(jsonstream, "_LARGEST_VALUE", 1000)
    with pytest.raises(InvalidData, match="a JSON value at character 1"):
        list(stream_array(path))
    path.write_text(f'[1, "no end, {rest}]')
    with pytest.raises(InvalidData, match="Unterminated string"):
        list(stream_array(path))


def test_a_cut_object_and_a_wrong_encoding_are_errors(path: Path) -> None:
    path.write_text('{"a": 1, 2: 3}')
    with pytest.raises(InvalidData, match="expected a key"):
        list(stream_object(path))
    path.write_bytes(b'["\xff"]')
    with pytest.raises(InvalidData, match="expected UTF-8"):
        list(stream_array(path))


def test_an_absent_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataNotFound, match=r"nothing\.json"):
        list(stream_array(tmp_path / "nothing.json"))
