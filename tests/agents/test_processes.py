"""Several training processes: two real ones under accelerate give the numbers of one."""

import math
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from launched import TESTS, command, figures, train, weights

from envrl.agents.processes import Processes
from envrl.wrappers.recording import iter_episodes

SETTINGS: dict[str, dict[str, Any]] = {
    "separate": {"algorithm": "gigpo", "aux_mode": "pass", "kl": 0.01, "entropy": 0.01},
    "inline": {"algorithm": "grpo", "aux_mode": "inline"},
    "critic": {"algorithm": "ppo", "aux_mode": "rows", "aux_head": "adapter", "groups": 3},
    "redraws": {"algorithm": "dapo", "redraws": 2},
    # plain AdamW, since Muon's half-precision iteration multiplies rounding
    "supervised": {"env": "EnvRL/ALFWorld-v0", "sft_episodes": 12, "sft_updates": 3, "sft_muon_lr": 0.0},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Folders of all `SETTINGS`, done by one process and by two."""
    folders = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")
    for processes, folder in enumerate(folders, start=1):
        train(folder, processes, SETTINGS)
    return folders


@pytest.mark.parametrize("name", SETTINGS)
def test_two_processes_give_the_first_update_of_one(runs: tuple[Path, Path], name: str) -> None:
    one, two = (folder / name for folder in runs)
    for alone, together in zip(figures(one), figures(two), strict=True):
        assert alone.keys() == together.keys()
        for key, value in alone.items():
            assert (value is None) == (together[key] is None), key
            if value is not None:
                assert math.isclose(value, together[key], rel_tol=1e-5, abs_tol=1e-5), key
        assert name == "supervised" or (alone["grad/policy"] > 0 and alone["grad/objectives"] > 0)
    before, after = weights(one), weights(two)
    assert max(float((before[k] - after[k]).abs().max()) for k in before) < 1e-5
    played = [[[t.action for t in rows] for rows in iter_episodes(run / "transitions")] for run in (one, two)]
    assert played[0] == played[1]


def test_an_interrupted_run_of_two_goes_on(tmp_path: Path) -> None:
    """Ctrl-C reaches one process only; both stop after the same update, and resumed they end as if never stopped."""
    settings = {"updates": 4, "eval_episodes": 0}
    train(tmp_path / "two", 2, {"whole": settings})
    folder = tmp_path / "two" / "stopped"
    words = command(tmp_path / "two", 2, {"stopped": settings})
    process = subprocess.Popen(
        words, cwd=TESTS.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not (folder / "metrics.jsonl").exists() and process.poll() is None:
        time.sleep(0.05)
    workers = [each.pid for each in psutil.Process(process.pid).children()]
    assert len(workers) == 2
    os.kill(workers[1], signal.SIGINT)
    process.communicate(timeout=120)
    assert len(figures(folder)) < 4
    train(tmp_path / "two", 2, {"stopped": {**settings, "resume": True}})
    assert figures(folder) == figures(tmp_path / "two" / "whole")


def test_a_run_that_starts_its_own_processes(tmp_path: Path) -> None:
    """``--processes 2``: Ctrl-C on a terminal reaches all of them; the run stops whole, and goes on."""
    settings = {"updates": 4, "eval_episodes": 0, "processes": 2}
    train(tmp_path, 1, {"whole": settings})
    folder = tmp_path / "stopped"
    process = subprocess.Popen(
        command(tmp_path, 1, {"stopped": settings}),
        cwd=TESTS.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not (folder / "metrics.jsonl").exists() and process.poll() is None:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert f"go on with: envrl train --config {folder}/config.json --resume" in said
    assert 0 < len(figures(folder)) < 4
    again = subprocess.run(
        command(tmp_path, 1, {"stopped": settings}),
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert again.returncode == 1 and "holds a run already; add --resume" in again.stderr
    train(tmp_path, 1, {"stopped": {**settings, "resume": True}})
    assert figures(folder) == figures(tmp_path / "whole")


def test_shares_are_even_and_complete() -> None:
    parts = []
    for index in range(3):
        processes = Processes()
        processes.count, processes.index = 3, index
        assert processes.slice(0) == slice(0, 0)
        parts.append((processes.share([5, 1, 1, 4, 3, 2], float), processes.slice(10, 4)))
    assert [part for part, _ in parts] == [[5, 1], [1, 4], [3, 2]]
    assert [(s.start, s.stop) for _, s in parts] == [(0, 4), (4, 8), (8, 10)]
