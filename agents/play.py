"""One episode of a policy in one environment: what recording and demonstrations are made of."""

from typing import NamedTuple

import gymnasium
import numpy as np

from envrl.agents.policies.scripted import Policy
from envrl.envs.errors import NoExpert


class Outcome(NamedTuple):
    """What an episode came to.

    success: None where the environment does not say. fault: the environment failed, so the episode says
    nothing of the policy.
    """

    steps: int
    success: bool | None
    fault: bool


def play_episode(
    env: gymnasium.Env[str, str], policy: Policy, *, seed: tuple[int, int], task_id: str | None = None
) -> Outcome:
    """Reset and play to the end, or until the policy has no action left (`NoExpert` in mid-episode).

    Args:
        env: the environment; wrap it in `RecordTransitions` to keep the steps.
        policy: who acts.
        seed: (seed of the run, number of the episode); the environment's seed and the policy's generator
            follow from both.
        task_id: the task; None lets the environment draw one.

    Raises:
        NoExpert: the policy needs an expert and the environment has none.
    """
    options = None if task_id is None else {"task_id": task_id}
    rng = np.random.default_rng(seed)
    env_seed = int(rng.integers(2**31))
    observation, info = env.reset(seed=env_seed, options=options)
    env.action_space.seed(env_seed)
    policy.begin(env, rng)
    steps, over = 0, False
    while not over:
        try:
            action = policy.act(observation, info)
        except NoExpert:
            break
        observation, _, terminated, truncated, info = env.step(action)
        steps += 1
        over = terminated or truncated
    success = bool(info["is_success"]) if "is_success" in info else None
    return Outcome(steps, success, info.get("fault") is not None)
