"""Every example runs, is short, and prints what it promises."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from chat_model import chat_model

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
#: takes minutes with the model it is about
LONG = "smollm2_lora.py"
#: arguments that keep a run short, and what its output must hold
RUNS: dict[str, tuple[str, Sequence[str]]] = {
    "demo.py": (
        "--episodes 30 --sft-updates 10 --updates 2 --eval-episodes 4 --output demo",
        ("untrained", "imitation", "reinforcement", "transitions: demo/run/transitions", "total: "),
    ),
    "envrl_vs_rl.py": (
        "--arms rl envrl --seeds 2 --parallel 2 --episodes 20 --sft-updates 5 --updates 1 --eval-episodes 4",
        ("| EnvRL | ", " of 2 | ", "report: runs/envrl_vs_rl/alfworld/report.md"),
    ),
    "train_from_python.py": ("", ("reinforcement ", "24 episodes recorded")),
    "random_agent.py": ("--episodes 5", ("EnvRL/ALFWorld-v0: solved ", " of 5 episodes in ")),
    "swap_games.py": ("--episodes 5", ("generated, held-out rooms", "in/on")),
}


def run(example: str, *words: str, cwd: Path) -> str:
    result = subprocess.run(
        [sys.executable, str(ROOT / "examples" / example), *words],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_fits_on_a_screen_and_says_how_to_run_it(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) < 80
    assert f"python examples/{path.name}" in text


@pytest.mark.parametrize("path", [p for p in EXAMPLES if p.name != LONG], ids=lambda path: path.name)
def test_an_example_runs(path: Path, tmp_path: Path) -> None:
    words, promised = RUNS.get(path.name, ("", ()))
    shown = run(path.name, *words.split(), cwd=tmp_path)
    assert shown.strip()
    for text in promised:
        assert text in shown


def test_the_long_example_runs_with_a_small_model(tmp_path: Path) -> None:
    base = tmp_path / "base"
    chat_model(["You are in the middle of a room.", "go to desk 1"] * 20).save(base)
    words = f"--model {base} --episodes 4 --sft-updates 2 --updates 1 --eval-episodes 2 --output run"
    shown = run(LONG, *words.split(), cwd=tmp_path)
    for text in ("update 1  success ", "constrained: ", "score: ", "generate: "):
        assert text in shown


@pytest.mark.shared
def test_swapping_to_official_games(shared_data: Path, tmp_path: Path) -> None:
    archive = shared_data / "alfworld" / "valid_seen.tar.xz"
    shown = run("swap_games.py", "--episodes", "2", "--games", str(archive), cwd=tmp_path)
    assert shown.splitlines()[-1].startswith("official, valid_seen")
