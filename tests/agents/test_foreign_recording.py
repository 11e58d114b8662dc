"""Both objectives learn from rows that RecordTransitions wrote of an environment that is not ours."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest
import torch
from foreign_env import ForeignEnv
from small_run import SMALL

from envrl.agents.batches import pad
from envrl.agents.models import TinyConfig, build_tiny
from envrl.agents.objective_rows import inverse_dynamics_rows, state_prediction_row, step_weights
from envrl.agents.objectives import weighted_cross_entropy
from envrl.agents.samples import Recorded
from envrl.agents.statistics import wilson_interval
from envrl.agents.tagged_format import TaggedFormat
from envrl.agents.trainer import train
from envrl.wrappers.record import RecordTransitions
from envrl.wrappers.recording import iter_episodes, read_transitions


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """Countdowns from 2 to 7; the facts are found under the environment's own names."""
    folder = tmp_path_factory.mktemp("foreign")
    for start in range(2, 8):
        env = RecordTransitions(
            gymnasium.wrappers.TimeLimit(ForeignEnv(start), 50), folder, info_keys={"is_success": "won"}
        )
        for seed in range(4):
            env.reset(seed=seed)
            done = False
            while not done:
                *_, terminated, truncated, _ = env.step(right_action(env))
                done = terminated or truncated
        env.close()
    return folder


def right_action(env) -> str:
    return f"say {env.unwrapped.left}"


def losses(lm, format, episodes):
    """Mean cross-entropies (state prediction, inverse dynamics) over all episodes."""
    out = []
    for rows in (
        [state_prediction_row(e.tokens, e.weights) for e in episodes],
        inverse_dynamics_rows(format, [e.transitions for e in episodes], 1000, np.random.default_rng(0)),
    ):
        total, weight = weighted_cross_entropy(lm, lm.hidden(pad([r.ids for r in rows])), rows)
        out.append(total / weight)
    return out


def test_both_objectives_learn_the_dynamics_of_a_foreign_environment(recording):
    texts = [t for r in read_transitions(recording) for t in (r.observation, r.action, r.next_observation)]
    lm = build_tiny(texts, TinyConfig(hidden_size=32, layers=2, intermediate_size=64), seed=0)
    format = TaggedFormat(lm)
    episodes = [
        Recorded(rows, format.sequence(rows), step_weights(rows)) for rows in iter_episodes(recording)
    ]
    assert len(episodes) == 24
    optimizer = torch.optim.AdamW(lm.model.parameters(), lr=5e-3)
    before = [float(x.detach()) for x in losses(lm, format, episodes)]
    for _ in range(150):
        optimizer.zero_grad()
        sum(losses(lm, format, episodes)).backward()
        optimizer.step()
    after = [float(x.detach()) for x in losses(lm, format, episodes)]
    # "5 left" is followed by "4 left", and "say 5" lies between them: fully predictable
    assert all(a < 0.1 * b for a, b in zip(after, before, strict=True)), (before, after)


def test_a_run_mixes_foreign_rows_into_its_objectives(recording, tmp_path):
    config = replace(SMALL, output=tmp_path / "run", transitions=recording, transitions_share=1.0, updates=2)
    assert "reinforcement" in train(config)


def test_episodes_of_an_environment_without_task_ids_are_tasks_of_their_own(tmp_path):
    config = replace(
        SMALL,
        env="foreign_env:Foreign/Countdown-v0",
        env_kwargs={},
        split="",
        eval_split="",
        sft_episodes=0,
        updates=0,
        policy="generate",
        max_response_tokens=2,
        output=tmp_path / "run",
    )
    result = train(config)["untrained"]
    assert result.outcomes == {f"#{i}": [False] for i in range(4)}
    assert (result.low, result.high) == wilson_interval(0, 4)
