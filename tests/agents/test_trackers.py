"""Metrics in TensorBoard's own files, read back with its own reader."""

import json
from dataclasses import replace

import pytest
from small_run import SMALL

from envrl.agents.trackers import Trackers
from envrl.agents.trainer import train
from envrl.envs.errors import WrongUse


def test_tensorboard_holds_what_the_metrics_hold(tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    output = tmp_path / "run"
    train(replace(SMALL, output=output, trackers=("tensorboard",), sft_updates=2, updates=2, eval_episodes=0))
    events = accumulator.EventAccumulator(str(output / "trackers" / "run"))
    events.Reload()
    rows = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    found = [(e.step, e.value) for e in events.Scalars("env_steps")]
    assert found == [(row["update"], row["env_steps"]) for row in rows]


def test_an_unknown_tracker_is_named(tmp_path):
    with pytest.raises(WrongUse, match=r"unknown tracker 'tensorbored'; accelerate knows .*tensorboard"):
        Trackers(["tensorbored"], replace(SMALL, output=tmp_path))
