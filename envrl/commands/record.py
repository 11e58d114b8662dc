"""``envrl record``: let a policy act and write every transition to Parquet."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import gymnasium

from envrl.agents.play import Outcome, play_episode
from envrl.agents.policies.scripted import SCRIPTED, Policy
from envrl.agents.statistics import wilson_interval
from envrl.commands.progress import progress_bar
from envrl.envs.core import TextEnv
from envrl.envs.errors import NoExpert, WrongUse
from envrl.envs.lookup import full_env_id, make_env
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
    random actions mixed in), random, or the path of a run or checkpoint of `envrl train`"""
    episodes: int = 100
    """episodes to play"""
    order: Literal["drawn", "listed"] = "drawn"
    """tasks drawn from the split by seed, or taken one after the other as the split lists them"""
    seed: int = 0
    """all randomness follows from it; episode i is the same however many are played"""
    split: str | None = None
    """split of the tasks (the same as --env-kwargs split=...)"""
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    """arguments of the environment: key=value words or a JSON object"""
    epsilon: float = 0.2
    """share of random actions in the explorer"""
    temperature: float = 0.4
    """sampling temperature of a trained policy"""


def record(config: RecordConfig) -> None:
    """Play the episodes and print a summary; tasks for which the expert knows no plan are left out.

    Raises:
        NoExpert: the environment has no expert of the kind asked for, for any of the tasks.
    """
    if config.episodes < 1 or not 0 <= config.epsilon <= 1:
        raise WrongUse("--episodes must be at least 1 and --epsilon between 0 and 1")
    env_id, policy = full_env_id(config.env), _policy(config)
    kwargs = dict(config.env_kwargs)
    if config.split is not None:
        kwargs["split"] = config.split
    made = make_env(env_id, kwargs)
    env = RecordTransitions(made, config.output, policy=config.policy, split=kwargs.get("split"))
    outcomes: list[Outcome] = []
    refusals: list[NoExpert] = []
    try:
        with progress_bar(f"recording {env_id} ({config.policy})", "episodes") as bar:
            for number in range(config.episodes):
                try:
                    outcomes.append(_play(env, policy, config, number))
                except NoExpert as error:
                    refusals.append(error)
                bar.advance(config.episodes)
                bar.note(f"{sum(bool(o.success) for o in outcomes)} solved")
    finally:
        env.close()
    if not outcomes:
        raise refusals[0]
    left_out = f" ({len(refusals)} tasks without a plan of the expert left out)" if refusals else ""
    print(_summary(outcomes, config.output) + left_out)


def _policy(config: RecordConfig) -> Policy:
    if config.policy in SCRIPTED:
        return SCRIPTED[config.policy](config.epsilon)
    if not Path(config.policy).exists():
        raise WrongUse(
            f"--policy: expected one of {', '.join(SCRIPTED)} or the path of a trained run; got {config.policy!r}"
        )
    from envrl.agents.policies.trained import TrainedPolicy  # imports torch

    return TrainedPolicy(Path(config.policy), config.temperature)


def _play(env: gymnasium.Env[str, str], policy: Policy, config: RecordConfig, number: int) -> Outcome:
    task_id = None
    if config.order == "listed":
        ids = _text_env(env, "--order listed").task_ids()
        task_id = ids[number % len(ids)]
    if config.policy in ("expert", "imitable", "explorer"):
        _text_env(env, f"--policy {config.policy}")
    return play_episode(env, policy, seed=(config.seed, number), task_id=task_id)


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
