"""Official games from folders and archives: indexing, caching, and what can be wrong with them."""

import json
import os
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from envrl.envs.alfworld import sources
from envrl.envs.alfworld.gamepack import GamePack, cache_folder
from envrl.envs.alfworld.official import OfficialLibrary, forget_sources, open_official
from envrl.envs.errors import DataNotFound, InvalidData, InvalidTask

pytestmark = pytest.mark.shared


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache folder, and no source left open by another test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    forget_sources()
    yield tmp_path / "cache"


@pytest.fixture
def files(valid_seen: OfficialLibrary) -> dict[str, dict[str, Any]]:
    """Ten official games by task id."""
    return {task_id: valid_seen.game_file(task_id) for task_id in valid_seen.task_ids()[::14]}


@pytest.fixture
def folder(tmp_path: Path, files: dict[str, dict[str, Any]]) -> Path:
    """A folder laid out like the official one."""
    root = tmp_path / "games"
    for task_id, content in files.items():
        write(root, task_id, content)
    return root


def write(root: Path, task_id: str, content: dict[str, Any] | str) -> Path:
    path = root / "json_2.1.1" / task_id / "game.tw-pddl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def pack(folder: Path, path: Path) -> Path:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(folder.rglob("game.tw-pddl")):
                archive.write(file, file.relative_to(folder))
    else:
        with tarfile.open(path, f"w:{path.suffix[1:]}") as tar:
            tar.add(folder / "json_2.1.1", "json_2.1.1")
    return path


@pytest.mark.parametrize("ending", [".tar.xz", ".tar.gz", ".zip"])
def test_folder_and_archives_hold_the_same_games(
    folder: Path, tmp_path: Path, ending: str, files: dict[str, dict[str, Any]]
) -> None:
    in_folder = open_official(str(folder), "valid_seen")
    archived = open_official(str(pack(folder, tmp_path / f"games{ending}")), "valid_seen")
    assert in_folder.task_ids() == archived.task_ids() == tuple(sorted(files))
    for task_id, content in files.items():
        assert in_folder.load(task_id) == archived.load(task_id)
        assert archived.game_file(task_id) == in_folder.game_file(task_id) == content


@pytest.mark.parametrize("inner", ["", "json_2.1.1", "json_2.1.1/valid_seen"])
def test_the_folder_may_be_given_at_three_heights(folder: Path, inner: str) -> None:
    assert len(open_official(str(folder / inner), "valid_seen").task_ids()) == 10


def test_the_official_folder_is_found_through_the_variable(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(folder))
    assert len(open_official("official", "valid_seen").task_ids()) == 10


def test_a_second_opening_reads_the_index_only(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = pack(folder, tmp_path / "games.tar.xz")
    first = {str(path): open_official(str(path), "valid_seen").task_ids() for path in (folder, archive)}
    assert len(list(cache_folder().iterdir())) == 2

    def unexpected(*_: Any) -> Any:
        raise AssertionError("read a game while opening")

    forget_sources()
    monkeypatch.setattr(sources, "read_game_json", unexpected)
    monkeypatch.setattr(GamePack, "_build", unexpected)
    for path, task_ids in first.items():
        library = open_official(path, "valid_seen")
        assert library.task_ids() == task_ids


def test_environments_of_a_process_share_one_index_and_one_game(folder: Path) -> None:
    one, two = open_official(str(folder), "valid_seen"), open_official(str(folder), "valid_seen")
    assert one._source is two._source
    assert one.load(one.task_ids()[0]) is two.load(one.task_ids()[0])


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:200] + b"\xff" * 50 + data[250:],
        lambda data: b"something else\n" + data,
        lambda data: data.replace(b'"format": 1', b'"format": 0'),
        lambda data: data.replace(b'"digest"', b'"digits"'),
    ],
)
def test_a_damaged_cache_is_built_anew(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[bytes], bytes]
) -> None:
    archive = pack(folder, tmp_path / "games.tar.xz")
    for path in (folder, archive):
        before = open_official(str(path), "valid_seen")
        for cache in cache_folder().iterdir():
            cache.write_bytes(damage(cache.read_bytes()))
        forget_sources()
        after = open_official(str(path), "valid_seen")
        assert after.task_ids() == before.task_ids()
        assert [after.game_file(task_id) for task_id in after.task_ids()]


def test_a_cache_damaged_while_it_is_in_use(folder: Path, tmp_path: Path) -> None:
    library = open_official(str(pack(folder, tmp_path / "games.tar.xz")), "valid_seen")
    (cache,) = cache_folder().iterdir()
    data = cache.read_bytes()
    cache.write_bytes(data[:-1000] + b"\0" * 1000)
    assert library.load(library.task_ids()[-1]).objects
    assert cache.read_bytes() == data
    cache.unlink()
    assert library.load(library.task_ids()[0]).objects
    cache.unlink()
    (tmp_path / "games.tar.xz").unlink()
    with pytest.raises(DataNotFound, match=r"games\.tar\.xz"):
        library.load(library.task_ids()[1])


def test_without_a_writable_cache_folder_games_stay_in_memory(
    folder: Path, tmp_path: Path, own_cache: Path
) -> None:
    own_cache.write_text("a file where the folder should be")
    archive = pack(folder, tmp_path / "games.tar.xz")
    library = open_official(str(archive), "valid_seen")
    assert len([library.load(task_id) for task_id in library.task_ids()]) == 10


def test_a_changed_archive_or_folder_is_read_again(
    folder: Path, tmp_path: Path, files: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = pack(folder, tmp_path / "games.tar.xz")
    assert len(open_official(str(archive), "valid_seen").task_ids()) == 10
    assert len(open_official(str(folder), "valid_seen").task_ids()) == 10
    write(folder, "valid_seen/new-task/trial_T1", next(iter(files.values())))
    archive.unlink()
    os.utime(pack(folder, archive), (1, 1))
    assert len(open_official(str(folder), "valid_seen").task_ids()) == 11
    assert len(open_official(str(archive), "valid_seen").task_ids()) == 11


def test_a_changed_game_file_is_parsed_again(folder: Path) -> None:
    library = open_official(str(folder), "valid_seen")
    task_id = library.task_ids()[0]
    before = library.load(task_id)
    content = library.game_file(task_id)
    content["grammar"] = content["grammar"].replace(before.sentence, "do something else entirely.")
    write(folder, task_id, content)
    assert library.load(task_id).sentence == "do something else entirely."


def test_task_types_choose(folder: Path) -> None:
    library = open_official(str(folder), "valid_seen", ["pick_two_obj_and_place"])
    assert library.task_ids() and all("pick_two_obj" in task_id for task_id in library.task_ids())
    with pytest.raises(ValueError, match="pick_and_place_simple"):
        open_official(str(folder), "valid_seen", ["pick_three"])
    with pytest.raises(ValueError, match="task_types"):
        open_official(str(folder), "valid_seen", [])


def test_games_that_cannot_be_played_are_left_out(
    folder: Path, tmp_path: Path, files: dict[str, dict[str, Any]]
) -> None:
    game = next(iter(files.values()))
    write(folder, "valid_seen/bad-1/trial_T1", {**game, "solvable": False})
    write(folder, "valid_seen/bad-2/trial_T1", {k: v for k, v in game.items() if k != "solvable"})
    write(folder, "valid_seen/pick_and_place_with_movable_recep-Pen-Mug-Desk-1/trial_T1", game)
    write(folder, "valid_seen/pick_and_place_simple-AppleSliced-None-Desk-1/trial_T1", game)
    for path in (folder, pack(folder, tmp_path / "games.zip")):
        library = open_official(str(path), "valid_seen")
        assert library.task_ids() == tuple(sorted(files))
        with pytest.raises(InvalidTask):
            library.load("valid_seen/bad-1/trial_T1")


def test_ids_of_another_split_are_accepted(folder: Path, files: dict[str, dict[str, Any]]) -> None:
    write(folder, "train/a-task/trial_T1", next(iter(files.values())))
    assert (
        open_official(str(folder), "valid_seen").load("train/a-task/trial_T1").task_id
        == "train/a-task/trial_T1"
    )


@pytest.mark.parametrize(
    "task_id",
    [
        "",
        "nonsense",
        "valid_seen/x/y",
        "valid_seen/x",
        "../../etc/passwd/x",
        "valid_seen/../x",
        3,
        None,
        ("a",),
    ],
)
def test_ids_that_name_nothing(folder: Path, task_id: Any) -> None:
    library = open_official(str(folder), "valid_seen")
    with pytest.raises(InvalidTask, match=library.task_ids()[0]):
        library.load(task_id)


@pytest.mark.parametrize("games", ["/nowhere/at/all", "official"])
def test_nothing_there(games: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "absent"))
    with pytest.raises(DataNotFound, match="envrl data download alfworld"):
        open_official(games, "train")


def test_an_empty_folder_or_split_is_an_error(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataNotFound, match="envrl data download alfworld"):
        open_official(str(tmp_path / "empty"), "train")
    archive = pack(folder, tmp_path / "games.zip")
    for path in (folder, archive):
        with pytest.raises(DataNotFound, match="valid_unseen"):
            open_official(str(path), "valid_unseen")


def test_a_cut_off_game_file_is_named(folder: Path, files: dict[str, dict[str, Any]]) -> None:
    text = json.dumps(next(iter(files.values())))
    path = write(folder, "valid_seen/cut-off/trial_T1", text[: len(text) // 2])
    with pytest.raises(InvalidData, match="envrl data download alfworld") as error:
        open_official(str(folder), "valid_seen")
    assert str(path) in str(error.value)


@pytest.mark.parametrize("ending", [".tar.xz", ".tar.gz", ".zip"])
def test_a_cut_off_archive_is_named(folder: Path, tmp_path: Path, ending: str) -> None:
    archive = pack(folder, tmp_path / f"games{ending}")
    data = archive.read_bytes()
    archive.write_bytes(data[: len(data) * 2 // 3])
    with pytest.raises(InvalidData, match="envrl data download alfworld") as error:
        open_official(str(archive), "valid_seen")
    assert str(archive) in str(error.value)
    assert not list(cache_folder().glob("*.pack*"))


def test_a_file_that_is_no_archive(tmp_path: Path) -> None:
    path = tmp_path / "games.tar.xz"
    path.write_text("not an archive")
    with pytest.raises(InvalidData, match="archive"):
        open_official(str(path), "train")
