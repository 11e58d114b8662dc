"""Runs in 16 bits, as accelerate's launcher asks for them."""

import json
import math
from dataclasses import replace

import pytest
import torch
from small_run import SMALL

from envrl.agents.precision import launched_precision
from envrl.agents.trainer import train
from envrl.envs.errors import WrongUse


def test_products_in_16_bits_over_weights_in_32(lm):
    ids = torch.zeros(1, 8, dtype=torch.long)
    with launched_precision({}):
        assert lm.logits(lm.hidden(ids)).dtype == torch.float32
    with launched_precision({"ACCELERATE_MIXED_PRECISION": "bf16"}):
        logits = lm.logits(lm.hidden(ids))
    assert logits.dtype == torch.bfloat16
    logits.float().logsumexp(-1).sum().backward()
    assert {p.dtype for p in lm.model.parameters()} == {torch.float32}
    assert {p.grad.dtype for p in lm.model.parameters()} == {torch.float32}


def test_what_needs_more_than_that_is_refused():
    with pytest.raises(WrongUse, match="must be no or bf16, got 'fp16'"):
        launched_precision({"ACCELERATE_MIXED_PRECISION": "fp16"})


@pytest.mark.parametrize("policy", ["constrained", "score", "generate"])
def test_a_run(policy, tmp_path, monkeypatch):
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "bf16")
    config = replace(
        SMALL, output=tmp_path / "run", policy=policy, max_response_tokens=8, kl=0.1, groups=1, group_size=2,
        sft_episodes=10, sft_updates=3, updates=1, minibatches=1, eval_every=0, eval_episodes=0,
    )  # fmt: skip
    train(config)
    (row,) = map(json.loads, (tmp_path / "run" / "metrics.jsonl").read_text().splitlines())
    assert row["rollout/faulted"] == 0
    assert all(math.isfinite(v) for v in row.values() if isinstance(v, float))
