"""Train from Python instead of the command line, then look at what the run left behind.

    python examples/train_from_python.py

The settings here finish in about half a minute and learn little; `examples/demo.py` is the real thing.
"""

import json
import tempfile
from pathlib import Path

from envrl.agents.config import TrainConfig
from envrl.agents.trainer import train
from envrl.wrappers.recording import iter_episodes


def main(folder: Path) -> None:
    """One small run: all settings are fields of `TrainConfig`, documented there."""
    config = TrainConfig(
        env="EnvRL/ALFWorld-v0",
        env_kwargs={"task_types": ["pick_and_place_simple"]},
        algorithm="gigpo",
        sft_episodes=100,
        sft_updates=60,
        updates=3,
        groups=2,
        group_size=4,
        eval_episodes=16,
        output=folder,
    )
    results = train(config)
    for stage, result in results.items():
        print(f"{stage:<14} {result.success_rate:.0%} of {result.n} tasks")

    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    print("state prediction, nats a token:", [round(row["loss/state_prediction"] or 0, 2) for row in rows])

    episodes = list(iter_episodes(folder / "transitions"))
    longest = max(episodes, key=len)
    print(f"{len(episodes)} episodes recorded; the longest took {len(longest)} steps: {longest[0].goal}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(temporary) / "run")
