"""`envrl train` from the command line: files, options, dry runs, short ids."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="extra train")

from envrl.cli import main, parse_options
from envrl.commands.train import TrainCommand

SMALL = [
    *["--env", "alfworld", "--sft-episodes", "20", "--sft-updates", "2"],
    *["--updates", "2", "--groups", "1", "--group-size", "2", "--minibatches", "1", "--threads", "1"],
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "run.yaml"
    path.write_text("groups: 3\ngroup_size: 5\nenv_kwargs: {games: official, split: a}\n")
    return path


@pytest.mark.parametrize("form", ["--config {}", "--config={}"])
def test_options_win_over_the_file(form: str, file: Path) -> None:
    words = [*form.format(file).split(), "--groups", "7", "--env-kwargs", "games=procedural"]
    command, code = parse_options(TrainCommand, "envrl train", words)
    assert code == 0 and command.config == file and not command.dry_run
    assert (command.settings.groups, command.settings.group_size) == (7, 5)
    assert command.settings.env_kwargs == {"games": "procedural"}


@pytest.mark.parametrize(
    "words, reason",
    [
        (["--config"], "Missing value for argument '--config'"),
        (["--config", "absent.yaml"], "there is no file 'absent.yaml'"),
        (["--launch", "a.yaml"], "--launch is for --dry-run"),
        (["--groups", "0"], "groups must be at least 1"),
        (["--env", "alfword"], "did you mean EnvRL/ALFWorld-v0?"),
        (["--env", "webshop", "--env-kwargs", "speed=3"], "unexpected keyword argument 'speed'"),
        (["--dry-run", "--env", "alfword"], "did you mean EnvRL/ALFWorld-v0?"),
    ],
)
def test_wrong_use_is_one_line(
    words: list[str],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", *words]) == 2
    out, err = capsys.readouterr()
    assert reason in err and err.count("\n") == 1 and out == "" and not list(tmp_path.iterdir())


def test_a_dry_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "run"
    assert main(["train", *SMALL, "--output", str(output), "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "Memory of a process" in shown and "2 episodes" in shown and not output.exists()


def test_short_ids_and_no_evaluation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`eval_every` without `eval_episodes` evaluates nothing; `eval` knows short ids too."""
    output = tmp_path / "run"
    assert main(["train", *SMALL, "--eval-episodes", "0", "--eval-every", "1", "--output", str(output)]) == 0
    assert "Held-out" not in capsys.readouterr().out
    rows = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    assert [row["update"] for row in rows] == [1, 2]
    assert [row.get("eval/success_rate") for row in rows] == [None, None]
    assert (
        main(["train", "--config", str(output / "config.json"), "--resume"]) == 0
    )  # there is nothing left to do
    capsys.readouterr()
    assert main(["eval", *f"--model {output} --env alfworld --episodes 2 --batch 2".split()]) == 0
    assert f"Evaluation of {output}" in capsys.readouterr().out
