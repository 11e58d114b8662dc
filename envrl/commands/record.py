"""``envrl record``: let a policy act and write every transition to Parquet."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import gymnasium
import numpy as np

from envrl.agents.statistics import wilson_interval
from envrl.commands.environment import WrongUse, full_env_id, make_env
from envrl.commands.progress import progress_bar
from envrl.commands.scripted import Policy, make_policy
from envrl.envs.core import TextEnv
from envrl.envs.errors import NoExpert
from envrl.wrappers.record import RecordTransitions


@dataclass(frozen=True)
class RecordConfig:
    """Let a policy act in an environment and write every transition to Parquet files."""

    env: str
    """environment id, or its short form: alfworld"""
    output: Path
    """folder for the files; other recordings may lie there already"""
    policy: str = "random"
    """expert (privileged plan), imitable (expert that sees what the agent sees), explorer (imitable, with
    random actions mixed in), or random"""
    episodes: int = 100
    """episodes to play"""
    order: Literal["drawn", "listed"] = "drawn"
    """tasks drawn from the split by seed, or taken one after the other as the split lists them"""
    seed: int = 0
    """first seed; episode i uses seed + i"""
    split: str | None = None
    """split of the tasks (the same as --env-kwargs split=...)"""
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    """arguments of the environment: key=value words or a JSON object"""
    epsilon: float = 0.2
    """share of random actions in the explorer"""


class Outcome(NamedTuple):
    """What an episode came to.

    success: None where the environment does not say. fault: the environment failed, so the episode says
    nothing of the policy.
    """

    steps: int
    success: bool | None
    fault: bool


def record(config: RecordConfig) -> None:
    """Play the episodes and print a summary.

    Raises:
        NoExpert: the environment has no expert of the kind asked for.
    """
    if config.episodes < 1 or not 0 <= config.epsilon <= 1:
        raise WrongUse("--episodes must be at least 1 and --epsilon between 0 and 1")
    env_id, policy = full_env_id(config.env), make_policy(config.policy, config.epsilon)
    kwargs = dict(config.env_kwargs)
    if config.split is not None:
        kwargs["split"] = config.split
    made = make_env(env_id, kwargs)
    env = RecordTransitions(made, config.output, policy=config.policy, split=kwargs.get("split"))
    outcomes = []
    try:
        with progress_bar(f"recording {env_id} ({config.policy})", "episodes") as bar:
            for number in range(config.episodes):
                outcomes.append(_play(env, policy, config, number))
                bar.advance(config.episodes)
                bar.note(f"{sum(bool(o.success) for o in outcomes)} solved")
    finally:
        env.close()
    print(_summary(outcomes, config.output))


def _play(env: gymnasium.Env[str, str], policy: Policy, config: RecordConfig, number: int) -> Outcome:
    options = None
    if config.order == "listed":
        ids = _text_env(env, "--order listed").task_ids()
        options = {"task_id": ids[number % len(ids)]}
    observation, info = env.reset(seed=config.seed + number, options=options)
    if config.policy != "random":
        _text_env(env, f"--policy {config.policy}")
    env.action_space.seed(config.seed + number)
    policy.begin(env, np.random.default_rng((config.seed, number)))
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


def _text_env(env: gymnasium.Env[Any, Any], option: str) -> TextEnv:
    inner = env.unwrapped
    if not isinstance(inner, TextEnv):
        raise WrongUse(
            f"{option} needs a subclass of envrl.envs.core.TextEnv; {type(inner).__name__} is none"
        )
    return inner


def _summary(outcomes: list[Outcome], output: Path) -> str:
    words = [f"{len(outcomes)} episodes"]
    if faulted := sum(o.fault for o in outcomes):
        words.append(f"{faulted} faulted")
    words.append(f"{sum(o.steps for o in outcomes)} steps")
    judged = [o.success for o in outcomes if not o.fault and o.success is not None]
    if judged:
        low, high = wilson_interval(sum(judged), len(judged))
        interval = f"{100 * low:.1f}-{100 * high:.1f}% with 95% confidence"
        words.append(f"solved {sum(judged)}/{len(judged)} ({interval})")
    return f"{', '.join(words)}, in {output}"
