"""The main job, end to end: record expert episodes, imitate them, reinforce with both objectives, evaluate.

Writes everything under runs/demo (another folder with --output). About five minutes on two cores.
"""

import argparse
import shutil
import time
from pathlib import Path

from envrl.agents.config import TrainConfig
from envrl.agents.trainer import train
from envrl.cli import main as envrl


def demo(output: Path, seed: int, objectives: str) -> None:
    """Run the whole line; ``objectives``: ``both``, ``off`` or ``shuffled`` (the placebo)."""
    started = time.monotonic()
    recorded = output / "expert"
    envrl(["record", "--env", "alfworld", "--policy", "imitable", "--episodes", "2000", "--seed", str(seed),
           "--split", "train", "--output", str(recorded)])  # fmt: skip
    weight = 0.0 if objectives == "off" else None
    settings = TrainConfig(
        env="EnvRL/ALFWorld-v0",
        model="tiny",
        algorithm="gigpo",
        demonstrations=recorded,
        aux_targets="shuffled" if objectives == "shuffled" else "true",
        output=output / "run",
        seed=seed,
        **({} if weight is None else dict.fromkeys(_WEIGHTS, weight)),
    )
    train(settings)
    print(f"total: {time.monotonic() - started:.0f} s; everything is in {output}")
    print(f"look closer:  envrl eval --model {output / 'run'}    play yourself:  envrl play alfworld")


_WEIGHTS = ("state_prediction", "inverse_dynamics", "sft_state_prediction", "sft_inverse_dynamics")

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("runs/demo"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--objectives", choices=("both", "off", "shuffled"), default="both")
    options = parser.parse_args()
    shutil.rmtree(options.output, ignore_errors=True)  # a demo starts from nothing
    demo(options.output, options.seed, options.objectives)
