"""Training a chat model from end to end: every policy, both contexts, all weights or an adapter."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import vowel_env  # noqa: F401 - registers Test/Vowels-v0
from chat_model import chat_model
from small_run import SMALL

from envrl.agents import checkpoint
from envrl.agents.adapters import is_adapter
from envrl.agents.checkpoint import model_folder
from envrl.agents.display import Display
from envrl.agents.eval_command import evaluate
from envrl.agents.eval_config import EvalConfig
from envrl.agents.models import load_model
from envrl.agents.policies.trained import TrainedPolicy
from envrl.agents.trainer import Interrupted, Trainer, train
from envrl.wrappers.recording import iter_episodes, read_transitions

TIMES = {"wall_s", "time/rollout_s", "time/update_s"}


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    """A small chat model in a folder, as anybody may have one."""
    texts = [
        "You are in the middle of a room. You see a shelf 1, a desk 2.",
        "go to desk 1",
        "aeiou oui eau",
    ] * 20
    folder = tmp_path_factory.mktemp("models") / "base"
    chat_model(texts).save(folder)
    return folder


def settings(base: Path, output: Path, **changes):
    """A run on ALFWorld that takes a few seconds."""
    config = replace(
        SMALL, model=str(base), output=output, sft_episodes=6, sft_updates=4, sft_lr=3e-3, sft_muon_lr=0.0, lr=1e-3,
        updates=2, groups=2, group_size=2, eval_every=0, eval_episodes=2, max_response_tokens=8, minibatches=1,
        env_kwargs={**SMALL.env_kwargs, "max_episode_steps": 5},
    )  # fmt: skip
    return replace(config, **changes)


def metrics(folder: Path) -> list[dict]:
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in row.items() if k not in TIMES} for row in rows]


@pytest.mark.parametrize("context", ["concat", "step"])
@pytest.mark.parametrize("policy", ["constrained", "score", "generate"])
def test_every_policy_trains_in_both_contexts(base, tmp_path, policy, context):
    config = settings(base, tmp_path / "run", policy=policy, context=context, aux_episodes=0)
    results = train(config)
    assert list(results) == ["untrained", "imitation", "reinforcement"]
    rows = metrics(config.output)
    # the objectives learn from actions that the environment could read
    objectives = [row[f"loss/{name}"] for row in rows for name in ("state_prediction", "inverse_dynamics")]
    assert all(loss > 0 for loss in objectives) or policy == "generate"
    assert all((row["policy/invalid_rate"] == 0) == (policy != "generate") for row in rows)
    assert len(list(iter_episodes(config.output / "transitions"))) == 2 * 4
    again = evaluate(EvalConfig(config.output, env_kwargs=config.env_kwargs, episodes=2, policy=policy))
    assert again.n == 2
    # the policy of the command line plays as the run does
    player = TrainedPolicy(config.output)
    assert type(player._policy).__name__.lower().startswith(policy)
    assert player._policy.context.kind == context


@pytest.mark.parametrize("policy", ["constrained", "generate"])
def test_an_adapter_resumes_exactly(base, tmp_path, policy):
    config = settings(base, tmp_path / "whole", lora_rank=2, policy=policy, kl=0.01, updates=3)
    train(config)
    stopped = replace(config, output=tmp_path / "stopped")
    asked = iter([False] * 5 + [True])  # after the supervised stage and two updates
    with pytest.raises(Interrupted):
        Trainer(stopped, Display(), lambda: next(asked)).run()
    last = checkpoint.newest(stopped.output / "checkpoints")
    assert last is not None and is_adapter(last / "model") and is_adapter(last / "reference")
    train(replace(stopped, resume=True))
    assert metrics(stopped.output) == metrics(config.output)
    for folder in (config.output, stopped.output):
        assert not list(folder.rglob("model.safetensors"))  # the base is not copied
    weights = [
        (model_folder(folder) / "adapter_model.safetensors").read_bytes()
        for folder in (config.output, stopped.output)
    ]
    assert weights[0] == weights[1]
    lm = load_model(str(model_folder(config.output)))
    assert lm.has_adapter and lm.source == str(base)


def test_all_policies_of_one_run(base, tmp_path):
    """What was trained to write can be evaluated as a chooser, and the other way round."""
    config = settings(base, tmp_path / "run", policy="generate", updates=1)
    train(config)
    for policy in ("constrained", "score", "generate"):
        output = tmp_path / policy
        result = evaluate(
            EvalConfig(config.output, env_kwargs=config.env_kwargs, episodes=2, policy=policy, output=output)
        )
        assert result.n == 2
        rows = list(read_transitions(output / "transitions"))
        assert rows and all(row.action_status == "ok" for row in rows) == (policy != "generate")


def test_reinforcement_raises_the_reward(base, tmp_path):
    """Free text, rewarded for its vowels: their share doubles."""
    config = settings(
        base, tmp_path / "run", env="Test/Vowels-v0", split="", eval_split="", env_kwargs={}, policy="generate",
        algorithm="grpo", sft_episodes=0, updates=25, groups=2, group_size=8, eval_episodes=0, lr=5e-3,
        state_prediction=0.0, inverse_dynamics=0.0, minibatches=2,
    )  # fmt: skip
    train(config)
    returns = [row["train/return"] for row in metrics(config.output)]
    assert sum(returns[-5:]) / 5 > sum(returns[:5]) / 5 + 0.2, returns


def test_a_sample_a_step_keeps_its_advantage(base):
    """Rows of steps carry the advantage and the objectives' weight of their step."""
    from envrl.agents.heads import Heads
    from envrl.agents.policies.settings import PolicySettings, make_format, make_policy
    from envrl.agents.rollout import Task, rollout
    from envrl.agents.samples import make_samples
    from envrl.agents.tasks import make_envs

    lm = load_model(str(base))
    config = settings(base, Path("unused"), policy="generate", context="step")
    chosen = PolicySettings.of(config)
    policy = make_policy(lm, make_format(lm, chosen), chosen, 1.0)
    envs = make_envs("Test/Vowels-v0", 4, "", {})
    with torch.inference_mode():
        episodes = rollout(envs, [Task(None, i // 2, seed=1) for i in range(4)], policy, (0,))
    samples = make_samples(episodes, config, lm, Heads())
    assert len(samples) == 4 * 2
    for sample in samples:
        assert len(sample.transitions) == len(sample.advantages) == len(sample.weights) == 1
        assert {d.step for d in sample.tokens.decisions} == {0}
    assert [s.transitions[0] for s in samples] == [t for e in episodes for t in e.transitions]
