"""`envrl export minari`, with the real Minari."""

from pathlib import Path

import pytest

from envrl.cli import main
from envrl.wrappers import iter_episodes

minari = pytest.importorskip("minari", reason="extra minari")


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    folder = tmp_path / "recording"
    words = ["record", "--env", "alfworld", "--policy", "expert", "--episodes", "3", "--output", str(folder)]
    assert main(words) == 0
    capsys.readouterr()
    return folder


def test_a_recording_becomes_a_data_set(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "minari", str(recording), "alfworld/expert-v0", "--author", "A. Person"]) == 0
    dataset = minari.load_dataset("alfworld/expert-v0")
    rows = [[row.action for row in episode] for episode in iter_episodes(recording)]
    assert [list(episode.actions) for episode in dataset.iterate_episodes()] == rows
    assert "A. Person" in dataset.storage.metadata["author"]
    assert f"alfworld/expert-v0: 3 episodes, {sum(map(len, rows))} steps, in " in capsys.readouterr().out


def test_refusals(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "minari", str(tmp_path / "nowhere"), "alfworld/expert-v0"]) == 2
    assert "nowhere" in capsys.readouterr().err
    assert main(["export", "minari", str(recording), "no id"]) == 2
    assert "'no id'" in capsys.readouterr().err
    assert main(["export", "minari", str(recording), "alfworld/expert-v0"]) == 0
    assert main(["export", "minari", str(recording), "alfworld/expert-v0"]) == 2
    assert "alfworld/expert-v0" in capsys.readouterr().err
