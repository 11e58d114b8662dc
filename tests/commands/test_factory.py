"""``envrl factory``: all stages at once, stage by stage, and what a user reads when something is refused."""

import json
import sys
from pathlib import Path

import gymnasium
import pytest

from envrl.cli import main

sys.path.insert(0, str(Path(__file__).parents[1] / "envs" / "envfactory"))
import planted

FILE = planted.__file__


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def solve_all(folder: str, split: str) -> int:
    env = gymnasium.make("EnvRL/EnvFactory-v0", tasks=folder, split=split)
    ids = env.unwrapped.task_ids()  # type: ignore[attr-defined]
    for task_id in ids:
        env.reset(options={"task_id": task_id})
        for action in env.unwrapped.expert_actions():  # type: ignore[attr-defined]
            _, reward, _, _, _ = env.step(action)
        assert reward == 1.0
    return len(ids)


def test_a_server_that_does_not_start_is_told_in_a_line(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("gone.json").write_text('{"command": "no-such-program"}')
    for words in (["build"], ["explore"]):
        assert main(["factory", *words, "gone.json", "--output", "tasks"]) != 0
        assert "cannot run no-such-program" in capsys.readouterr().err


def test_a_task_folder_whose_server_does_not_start(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("gone.json").write_text('{"command": "no-such-program"}')
    use = {"name": "gone", "source": "gone.json", "state": "s"}
    task = {"id": "t", "toolkits": [use], "turns": [{"text": "Hello."}], "outputs": [{"value": 13}]}
    Path("tasks.jsonl").write_text(json.dumps(task))
    Path("states.jsonl").write_text(json.dumps({"id": "s", "data": {"files": {}}}))
    assert main(["play", "EnvRL/EnvFactory-v0", "--env-kwargs", "tasks=."]) != 0
    told = capsys.readouterr().err
    assert "cannot run no-such-program" in told and "Traceback" not in told


def test_a_class_of_ones_own(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.py").write_text(Path(FILE).read_text())
    assert (
        main(
            [
                "factory",
                "build",
                "mine.py:Sound",
                "--output",
                "tasks",
                "--tasks",
                "20",
                "--seed",
                "3",
                "--licence",
                "CC0-1.0",
            ]
        )
        == 0
    )
    told = capsys.readouterr().out
    assert "20 tasks in tasks; play them: gym.make('EnvRL/EnvFactory-v0', tasks='tasks')" in told
    assert solve_all("tasks", "train") == 16 and solve_all("tasks", "held_out") == 4
    metadata = json.loads(Path("tasks/metadata.json").read_text())
    # The folder has its own copy of the class, whose word is taken as long as it is the verified one.
    assert metadata["sources"] == {"sound": "mine.py:Sound"} and metadata["verified"]["mine.py:Sound"]
    Path("tasks").rename(here / "elsewhere")
    Path("mine.py").unlink()
    assert solve_all(str(here / "elsewhere"), "all") == 20
    assert "data-tool=" in Path("elsewhere/graph.html").read_text()


def test_a_folder_that_is_built_again_holds_the_new_sources_only(here: Path) -> None:
    Path("mine.py").write_text(Path(FILE).read_text())
    for source in ("mine.py:Sound", "builtin:tickets"):
        assert main(["factory", "build", source, "--output", "tasks", "--tasks", "5"]) == 0
    assert json.loads(Path("tasks/metadata.json").read_text())["sources"] == {"tickets": "builtin:tickets"}
    assert "sound" not in Path("tasks/graph.html").read_text()


def test_stage_by_stage(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["factory", "explore", "builtin:bank", "--output", "w"]) == 0
    assert "transfer_money" in capsys.readouterr().out
    for words in (
        "graph w --html g.html",
        "sample w --chains 30 --seed 5",
        "synthesize w --seed 5",
        "refine w --seed 5",
    ):
        assert main(f"factory {words}".split()) == 0
    told = capsys.readouterr().out
    assert "bank: 11 tools" in told and "chains of" in told and "30 drafts" in told and "tasks in w" in told
    assert "data-tool=" in Path("g.html").read_text()
    assert main(["factory", "export", "w", "--output", "out"]) == 0
    assert {path.name for path in Path("out").iterdir()} == {"sft.jsonl", "alpaca.jsonl", "rl.jsonl"}
    kept = len(Path("w/tasks.jsonl").read_text().splitlines())
    assert kept == solve_all("w", "all") == len(Path("out/sft.jsonl").read_text().splitlines()) > 5


def test_what_the_gates_say(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["factory", "verify", f"{FILE}:ChangedOnError", "--json", "r.json"]
    assert main(words) == 1
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("error_contract"))
    assert "FAILED take_items: failed and changed the state with {" in line
    gate = json.loads(Path("r.json").read_text())["gates"]["error_contract"]
    assert (gate["passed"], gate["tool"]) == (False, "take_items") and set(gate["input"]) == {"item", "count"}
    assert main(["factory", "build", f"{FILE}:NoHints", "--output", "t"]) == 1
    assert "was refused: gate schema" in capsys.readouterr().err and not Path("t/tasks.jsonl").exists()
    assert main(["factory", "verify", f"{FILE}:Sound"]) == 0
    assert capsys.readouterr().out.count("passed") == 8


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("factory verify nothing:Here", "nothing"),
        ("factory build nowhere.py:X --output t", "no such file"),
        ("factory sample w", "`envrl factory explore` makes it"),
        ("factory export w", "`envrl factory build SOURCE --output w` makes it"),
        ("factory build builtin:bank --output t --reword nowhere:f", "expected 'module:function'"),
        ("factory build builtin:bank --output t --types easy", "expected some of direct, lookup"),
    ],
)
def test_wrong_use(words: str, complaint: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 2
    assert complaint in capsys.readouterr().err
