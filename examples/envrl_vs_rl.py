"""Does learning the dynamics beside the reward help? The same budget with and without it, over several seeds.

    python examples/envrl_vs_rl.py [--env webshop] [--seeds 6] [--parallel 2]

Five arms: reward only, both objectives, each objective alone, and both with shuffled targets, which cost the same
and mean nothing. The report with intervals, paired differences and curves lies in runs/envrl_vs_rl (another folder
with --output). Stop it at any time: the same command goes on, and repeats no finished run. One run takes about ten
minutes on one core; `envrl study --help` has all settings.
"""

import argparse
from pathlib import Path
from typing import Any

from envrl.agents.config import TrainConfig
from envrl.agents.study.arms import ARMS
from envrl.agents.study.command import study
from envrl.agents.study.config import StudyConfig

#: what differs between environments; everything else is alike
ENVS: dict[str, dict[str, Any]] = {
    "alfworld": {"env": "EnvRL/ALFWorld-v0", "eval_split": "valid_unseen"},
    "webshop": {"env": "EnvRL/WebShop-v0", "eval_split": "test", "env_kwargs": {"num_products": 1000}},
}


def main(options: argparse.Namespace) -> None:
    """Run the study, or go on with it."""
    study(
        StudyConfig(
            output=options.output / options.env,
            arms=tuple(options.arms),
            seeds=tuple(range(options.seeds)),
            parallel=options.parallel,
            train=TrainConfig(
                **ENVS[options.env],
                sft_episodes=options.episodes,
                sft_updates=options.sft_updates,
                updates=options.updates,
                eval_every=max(1, options.updates // 4),
                eval_episodes=options.eval_episodes,
            ),
        )
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--env", choices=ENVS, default="alfworld")
    parser.add_argument("--output", type=Path, default=Path("runs/envrl_vs_rl"))
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--seeds", type=int, default=3, help="how many; six or more to see six points")
    parser.add_argument("--parallel", type=int, default=1, help="runs at a time")
    parser.add_argument("--episodes", type=int, default=2000, help="expert episodes of each seed")
    parser.add_argument("--sft-updates", type=int, default=450)
    parser.add_argument("--updates", type=int, default=40, help="of the reinforcement stage")
    parser.add_argument("--eval-episodes", type=int, default=300)
    main(parser.parse_args())
