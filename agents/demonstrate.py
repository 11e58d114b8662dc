"""Expert episodes: played once, recorded as Parquet, read back by the supervised stage."""

from collections.abc import Callable
from pathlib import Path

import gymnasium
import numpy as np

from envrl.agents.rollout import describe_step
from envrl.agents.tasks import task_ids
from envrl.envs.errors import NoExpert
from envrl.wrappers.shards import ShardWriter


def record_demonstrations(
    env: gymnasium.Env[str, str],
    folder: Path,
    episodes: int,
    seed: int,
    *,
    run_id: str,
    split: str,
    noise: float = 0.0,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Play the imitable expert and record its episodes.

    Args:
        env: an environment whose `expert_actions(privileged=False)` gives the next action.
        folder: where the Parquet files go; made whole under a temporary name and renamed.
        episodes: how many.
        seed: the episodes follow from it.
        run_id, split: go into the rows.
        noise: share of actions replaced by a random admissible one (recorded with policy ``random``).
        progress: called after every episode with the number done.

    Returns:
        How many episodes were won.

    Raises:
        NoExpert: the environment has no imitable expert.
    """
    ids = task_ids(env)
    partial = folder.with_name(f".{folder.name}.part")
    for leftover in partial.glob("*"):
        leftover.unlink()
    won = 0
    with ShardWriter(partial) as writer:
        for index in range(episodes):
            rng = np.random.default_rng([seed, 1, index])
            options = {"task_id": ids[int(rng.integers(len(ids)))]} if ids is not None else None
            observation, info = env.reset(seed=int(rng.integers(2**31)), options=options)
            done, step = False, 0
            while not done:
                admissible = info["admissible_actions"]
                if noise and rng.random() < noise and admissible:
                    action, label = admissible[int(rng.integers(len(admissible)))], "random"
                else:
                    try:
                        (action,), label = env.unwrapped.expert_actions(privileged=False), "imitable"  # type: ignore[attr-defined]
                    except AttributeError as error:
                        raise NoExpert(f"{env} has no expert_actions; give recorded episodes instead") from error
                before, before_info = observation, info
                observation, reward, terminated, truncated, info = env.step(action)
                done = terminated or truncated
                writer.append(
                    describe_step(
                        env,
                        before,
                        before_info,
                        action,
                        (observation, float(reward), terminated, truncated, info),
                        step=step,
                        run_id=run_id,
                        episode_id=f"{run_id}/demonstration-{index}",
                        split=split,
                        policy=label,
                    )
                )
                step += 1
            won += bool(info["is_success"])
            if progress is not None:
                progress(index + 1)
    if folder.exists():
        for old in folder.glob("*.parquet"):
            old.unlink()
        folder.rmdir()
    partial.rename(folder)
    return won
