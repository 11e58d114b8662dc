"""The main job, end to end: record expert episodes, imitate them, reinforce with both objectives, evaluate.

    python examples/demo.py [--seed 1] [--objectives both|off|shuffled]

Everything it writes lies in runs/demo (another folder with --output). About six minutes on two cores.
"""

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

from envrl.agents.config import TrainConfig
from envrl.agents.trainer import train
from envrl.cli import main as envrl

WEIGHTS = ("state_prediction", "inverse_dynamics", "sft_state_prediction", "sft_inverse_dynamics")


def demo(options: argparse.Namespace) -> None:
    """Run the whole line."""
    started = time.monotonic()
    expert, run = options.output / "expert", options.output / "run"
    envrl(
        f"record --env alfworld --policy imitable --split train --episodes {options.episodes} "
        f"--seed {options.seed} --output {expert}".split()
    )
    train(
        TrainConfig(
            env="EnvRL/ALFWorld-v0",
            model="tiny",
            algorithm="gigpo",
            demonstrations=expert,
            sft_updates=options.sft_updates,
            updates=options.updates,
            eval_episodes=options.eval_episodes,
            aux_targets="shuffled" if options.objectives == "shuffled" else "true",
            output=run,
            seed=options.seed,
            threads=1,
            processes=options.processes,
            **(dict.fromkeys(WEIGHTS, 0.0) if options.objectives == "off" else {}),
        )
    )
    print(f"total: {time.monotonic() - started:.0f} s; everything is in {options.output}")
    print(f"by kind of task:  envrl eval --model {run}")
    print("play yourself:    envrl play alfworld")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=Path("runs/demo"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--objectives",
        choices=("both", "off", "shuffled"),
        default="both",
        help="state prediction and inverse dynamics, neither, or both with shuffled targets (placebo)",
    )
    parser.add_argument("--episodes", type=int, default=2000, help="expert episodes")
    parser.add_argument("--sft-updates", type=int, default=350)
    parser.add_argument("--updates", type=int, default=60, help="of the reinforcement stage")
    parser.add_argument("--eval-episodes", type=int, default=300)
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    chosen = parser.parse_args()
    shutil.rmtree(chosen.output, ignore_errors=True)  # a demo starts from nothing
    try:
        demo(chosen)
    except KeyboardInterrupt as stop:
        sys.exit(str(stop) or "interrupted")
