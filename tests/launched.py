"""Training runs in several real processes, started by accelerate."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from envrl.agents.checkpoint import newest

TESTS = Path(__file__).resolve().parent
#: runs in the toy environment, one after the other; argument: [(output folder, settings), ...] as JSON
PROGRAM = f"""
import json, sys
from dataclasses import replace
from pathlib import Path
sys.path.insert(0, {str(TESTS)!r})
import toy_env  # registers Toy/Coin-v0
from small_run import SMALL
from envrl.agents.trainer import Interrupted, train

toy = dict(
    env="Toy/Coin-v0", env_kwargs={{}}, split="train", eval_split="train", sft_episodes=0, exclude_actions=(),
    max_response_tokens=4,
)
small = dict(updates=1, groups=4, group_size=4, aux_episodes=4, aux_cap=0.5, eval_episodes=6, eval_every=0)
if __name__ == "__main__":  # processes that a run starts import this file
    for folder, settings in json.loads(sys.argv[1]):
        try:
            train(replace(SMALL, **(small | ({{}} if "env" in settings else toy) | settings), output=Path(folder)))
        except Interrupted as stop:
            print(stop, file=sys.stderr)
            sys.exit(130)
"""


def command(
    folder: Path, processes: int, runs: dict[str, dict[str, Any]], options: str = "--multi_gpu"
) -> list[str]:
    """The command line of runs in folders below ``folder``; ``options`` are the launcher's."""
    program = folder / "program.py"
    program.parent.mkdir(exist_ok=True)
    program.write_text(PROGRAM)
    launch = ["-m", "accelerate.commands.launch", *options.split(), "--main_process_port", "0"]
    own = [*launch, "--num_processes", str(processes)] if processes > 1 else []
    jobs = [(str(folder / name), settings) for name, settings in runs.items()]
    return [sys.executable, *own, str(program), json.dumps(jobs)]


def train(
    folder: Path, processes: int, runs: dict[str, dict[str, Any]], options: str = "--multi_gpu"
) -> None:
    """Do the runs with so many processes."""
    words = command(folder, processes, runs, options)
    done = subprocess.run(words, capture_output=True, text=True, cwd=TESTS.parent, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    shown = sum(settings.get("updates", 1) > 0 for settings in runs.values())
    assert done.stdout.count("Reinforcement (") == shown, "one process shows a run"


def figures(folder: Path) -> list[dict[str, Any]]:
    """A run's metrics, without times."""
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in row.items() if k != "wall_s" and not k.startswith("time/")} for row in rows]


def weights(folder: Path) -> dict[str, torch.Tensor]:
    """The last weights of a run."""
    last = newest(folder / "checkpoints")
    assert last is not None
    return load_file(last / "model" / "model.safetensors")
