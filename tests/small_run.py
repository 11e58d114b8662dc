"""Settings of a training run that takes seconds."""

from envrl.agents.config import TrainConfig

SMALL = TrainConfig(
    sft_episodes=60,
    sft_updates=60,
    sft_batch_tokens=1500,
    updates=5,
    groups=2,
    group_size=4,
    minibatches=2,
    aux_episodes=1,
    aux_rows=4,
    aux_cap=0.0,
    eval_episodes=4,
    eval_every=2,
    checkpoint_every=1,
    threads=1,
    env_kwargs={
        "task_types": ["pick_and_place_simple"],
        "difficulty": {"receptacles": [10, 12], "hidden": 0.0},
    },
)
