"""Rollouts of `tiny`: where their time goes, and what keeping keys and values over the turns saves."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from clock import cpu

import envrl  # noqa: F401 - registers the ids
from envrl.agents.checkpoint import model_folder
from envrl.agents.config import TrainConfig
from envrl.agents.models import LanguageModel, load_model
from envrl.agents.policies.model_policy import ModelPolicy
from envrl.agents.policies.settings import PolicySettings, make_format, make_policy
from envrl.agents.rollout import Episode, rollout
from envrl.agents.tasks import make_envs, task_ids, training_tasks
from envrl.agents.trainer import train


@dataclass
class Played:
    """What the other measurements stand on: a model, what it played, and how long that took."""

    lm: LanguageModel
    config: TrainConfig
    policy: ModelPolicy
    episodes: list[Episode]
    rollout_s: float


class Forgetful:
    """A policy without reuse of keys and values: every turn begins with an empty cache."""

    def __init__(self, policy: ModelPolicy) -> None:
        self.policy, self.menu, self.temperature, self.lm = policy, policy.menu, policy.temperature, policy.lm
        self.transcript, self.demonstrated = policy.transcript, policy.demonstrated

    def begin(self, rngs: Sequence[np.random.Generator]) -> "ForgetfulSession":
        """Start one episode for each generator."""
        return ForgetfulSession(self.policy, list(rngs))


class ForgetfulSession:
    """Episodes in flight."""

    def __init__(self, policy: ModelPolicy, rngs: list[np.random.Generator]) -> None:
        self._policy, self._rngs = policy, rngs

    def choose(self, prompts: Sequence[Any], offers: Sequence[Any]) -> Sequence[Any]:
        """One action for each row that acts."""
        return self._policy.begin(self._rngs).choose(prompts, offers)

    def keep(self, rows: list[int]) -> None:
        """Drop all rows but these."""
        self._rngs = [self._rngs[row] for row in rows]


class Clocked(gymnasium.Wrapper[str, str, str, str]):
    """Counts the CPU time inside an environment."""

    def __init__(self, env: gymnasium.Env[str, str]) -> None:
        super().__init__(env)
        self.spent = 0.0

    def reset(self, **arguments: Any) -> Any:
        """Reset on the clock."""
        return self._timed(lambda: self.env.reset(**arguments))

    def step(self, action: str) -> Any:
        """Step on the clock."""
        return self._timed(lambda: self.env.step(action))

    def _timed(self, call: Callable[[], Any]) -> Any:
        start = time.process_time()
        result = call()
        self.spent += time.process_time() - start
        return result


def play(imitation: int, folder: Path) -> Played:
    """Imitate the expert for some updates, then play 8 tasks x 8 episodes."""
    config = TrainConfig(
        sft_updates=imitation, sft_episodes=400, updates=0, eval_episodes=0, threads=1, output=folder
    )
    train(config)
    lm = load_model(str(model_folder(folder)))
    settings = PolicySettings.of(config)
    policy = make_policy(lm, make_format(lm, settings), settings, config.temperature)
    lm.model.eval()
    start = time.process_time()
    episodes = rollout(*_games(config), policy, (0,))
    spent = time.process_time() - start
    lm.model.train()
    return Played(lm, config, policy, episodes, spent)


def _games(config: TrainConfig, groups: int = 8) -> tuple[list[Any], list[Any]]:
    """Environments, and as many episodes for them."""
    envs: list[Any] = make_envs(config.env, groups * config.group_size, config.split, config.env_kwargs)
    tasks = training_tasks(task_ids(envs[0]), groups, config.group_size, np.random.default_rng(0))
    return envs, tasks


def measure_rollout(played: Played, repeats: int) -> dict[str, Any]:
    """Where a rollout's time goes, and what reuse of keys and values saves."""
    played.lm.model.eval()
    shares = []
    for _ in range(repeats):
        envs, tasks = _games(played.config)
        clocked = [Clocked(env) for env in envs]
        spent = cpu(lambda envs=clocked, tasks=tasks: rollout(envs, tasks, played.policy, (0,)), 1)
        shares.append(sum(env.spent for env in clocked) / spent)
    few: dict[str, list[Episode]] = {}

    def run(name: str, policy: Any) -> float:
        return cpu(lambda: few.update({name: rollout(*_games(played.config, 2), policy, (0,))}), 1)

    reused, anew = run("reused", played.policy), run("anew", Forgetful(played.policy))
    same = [[t.action for t in e.transitions] for e in few["reused"]] == [
        [t.action for t in e.transitions] for e in few["anew"]
    ]
    count = 2 * played.config.group_size
    return {
        "episodes": len(played.episodes),
        "steps": sum(len(e.transitions) for e in played.episodes),
        "seconds": played.rollout_s,
        "env_share": min(shares),
        "episodes_per_minute": 60 * count / reused,
        "episodes_per_minute_without_kv_reuse": 60 * count / anew,
        "kv_reuse_speedup": anew / reused,
        "same_actions": same,
    }
