"""Counting and checking official games in a folder."""

import json
import tarfile
from pathlib import Path

import pytest

from envrl.data.alfworld import check_games, count_games, data_folder
from envrl.envs.alfworld.official import locate


@pytest.fixture(scope="module")
def official(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the 140 official valid_seen games."""
    folder = tmp_path_factory.mktemp("alfworld")
    with tarfile.open(shared_data / "alfworld" / "valid_seen.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.mark.shared
def test_official_games_are_counted_and_sound(official: Path) -> None:
    ticks: list[None] = []
    train, seen, unseen = check_games(official, lambda: ticks.append(None))
    assert count_games(official) == len(ticks) == 140
    assert (seen.name, seen.found, seen.expected, seen.broken, seen.complete) == (
        "valid_seen",
        140,
        140,
        (),
        True,
    )
    assert (train.found, train.expected, train.complete) == (0, 3553, False)
    assert (unseen.found, unseen.expected, unseen.complete) == (0, 134, False)


@pytest.mark.shared
def test_games_that_alfworld_leaves_out_do_not_count_and_broken_ones_are_named(
    official: Path, tmp_path: Path
) -> None:
    originals = sorted((official / "json_2.1.1" / "valid_seen").glob("*/*/game.tw-pddl"))
    content = originals[0].read_text()
    game = json.loads(content)
    split = tmp_path / "json_2.1.1" / "valid_seen"
    variants = {
        "good/trial": content,
        "pick_and_place_with_movable_recep-Mug-Bowl-Shelf-1/trial": content,
        "pick_and_place_simple-AppleSliced-None-Fridge-1/trial": content,
        "unsolvable/trial": json.dumps(game | {"solvable": False}),
        "cut/trial": content[: len(content) // 2],
        "list/trial": "[]",
        "incomplete/trial": json.dumps({k: v for k, v in game.items() if k != "grammar"}),
        "nonsense/trial": json.dumps(game | {"pddl_problem": "(define (problem"}),
    }
    for name, text in variants.items():
        (split / name).mkdir(parents=True)
        (split / name / "game.tw-pddl").write_text(text)
    _, seen, _ = check_games(tmp_path)
    assert seen.found == 1
    named = sorted(Path(path).parent.parent.name for path, _ in seen.broken)
    assert named == ["cut", "incomplete", "list", "nonsense"]
    assert not seen.complete


def test_the_folder_is_where_the_environment_looks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    assert data_folder() == tmp_path == locate("official")
    monkeypatch.delenv("ALFWORLD_DATA")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".cache" / "alfworld").mkdir(parents=True)
    assert data_folder() == tmp_path / ".cache" / "alfworld" == locate("official")
    monkeypatch.setenv("ALFWORLD_DATA", "")
    assert data_folder() == locate("official")
