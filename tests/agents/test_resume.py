"""A run with heads beside the model goes on exactly where it was stopped."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from small_run import SMALL

from envrl.agents import checkpoint
from envrl.agents.display import Display
from envrl.agents.trainer import Interrupted, Trainer, train

TIMES = {"wall_s", "time/rollout_s", "time/update_s"}
SHORT = replace(
    SMALL,
    algorithm="ppo",
    aux_head="adapter",
    aux_head_rank=4,
    aux_mode="inline",
    aux_cap=0.5,
    sft_updates=40,
    updates=3,
    eval_episodes=0,
)


def metrics(folder: Path) -> list[dict]:
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in row.items() if k not in TIMES} for row in rows]


def newest_file(folder: Path, name: str) -> bytes:
    last = checkpoint.newest(folder / "checkpoints")
    assert last is not None
    return (last / name).read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run with a critic and an adapter that nothing interrupted."""
    config = replace(SHORT, output=tmp_path_factory.mktemp("run") / "whole")
    train(config)
    return config


def test_critic_and_adapter_resume_exactly(whole, tmp_path):
    config = replace(whole, output=tmp_path / "stopped")
    asked = iter([False] * 40 + [True])  # after the supervised stage and one update
    with pytest.raises(Interrupted):
        Trainer(config, Display(), lambda: next(asked)).run()
    assert len(metrics(config.output)) == 1
    train(replace(config, resume=True))
    assert metrics(config.output) == metrics(whole.output)
    for name in ("heads.safetensors", "model/model.safetensors"):
        assert newest_file(config.output, name) == newest_file(whole.output, name)
    assert any(row["loss/value"] > 0 for row in metrics(whole.output))


def test_heads_of_a_run_serve_as_start_of_another(whole, tmp_path):
    config = replace(whole, output=tmp_path / "more", init=whole.output, sft_episodes=0, updates=0)
    train(config)
    assert newest_file(config.output, "heads.safetensors") == newest_file(whole.output, "heads.safetensors")


def test_the_share_of_recorded_rows_falls_along_its_schedule(whole, tmp_path):
    """With a linear fall the last update of two has half the share of the first, and the first one all of it."""
    recorded = whole.output / "demonstrations"
    mixed = {
        "transitions": recorded,
        "transitions_share": 1.0,
        "algorithm": "grpo",
        "aux_cap": 0.0,
        "updates": 2,
    }
    runs = []
    for schedule in ("constant", "linear"):
        config = replace(whole, output=tmp_path / schedule, transitions_schedule=schedule, **mixed)
        train(config)
        runs.append(metrics(config.output))
    (constant, linear) = runs
    assert constant[0] == linear[0]
    assert constant[1]["loss/state_prediction"] != linear[1]["loss/state_prediction"]
