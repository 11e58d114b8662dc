"""Small models and episodes for the tests of agents."""

from collections.abc import Callable

import gymnasium
import numpy as np
import pytest
import torch

import envrl  # noqa: F401 - registers the ids
from envrl.agents.models import LanguageModel, TinyConfig, build_tiny
from envrl.agents.pool import env_id
from envrl.agents.rollout import describe_step
from envrl.wrappers.transition import Transition


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    torch.set_num_threads(1)


def play_expert(episodes: int, seed: int = 0) -> list[list[Transition]]:
    """Episodes of the imitable expert on procedural games."""
    env = gymnasium.make("EnvRL/ALFWorld-v0")
    rng = np.random.default_rng(seed)
    played = []
    for index in range(episodes):
        observation, info = env.reset(seed=int(rng.integers(2**31)))
        rows: list[Transition] = []
        done = False
        while not done:
            before, before_info = observation, info
            (action,) = env.unwrapped.expert_actions(privileged=False)
            observation, reward, terminated, truncated, info = env.step(action)
            done = terminated or truncated
            outcome = (observation, float(reward), terminated, truncated, info)
            rows.append(
                describe_step(
                    env_id(env), before, before_info, action, outcome, step=len(rows), episode_id=str(index)
                )
            )
        played.append(rows)
    return played


@pytest.fixture(scope="session")
def expert_episodes() -> list[list[Transition]]:
    """Twelve expert episodes."""
    return play_expert(12)


@pytest.fixture(scope="session")
def make_lm(expert_episodes: list[list[Transition]]) -> Callable[[], LanguageModel]:
    """Builds the same untrained model at each call; weights large enough that probabilities differ."""
    texts = [t for rows in expert_episodes for r in rows for t in (r.goal, r.observation, r.action)]

    def make() -> LanguageModel:
        config = TinyConfig(hidden_size=32, layers=2, intermediate_size=64, initializer_range=0.3)
        return build_tiny(texts, config, seed=3)

    return make


@pytest.fixture
def lm(make_lm: Callable[[], LanguageModel]) -> LanguageModel:
    """A model of the test's own."""
    return make_lm()
