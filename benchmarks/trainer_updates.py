"""Updates of `tiny`: with the objectives and without, and the same rows in TRL's trainer."""

import copy
import importlib.util
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from clock import cpu
from trainer_rollouts import Played

from envrl.agents.config import TrainConfig
from envrl.agents.heads import Heads
from envrl.agents.optimizers import Optimizers
from envrl.agents.policies.settings import PolicySettings, make_format
from envrl.agents.policy_gradient import Learner
from envrl.agents.samples import Sample, make_samples
from envrl.agents.update import policy_update


def measure_update(played: Played, repeats: int) -> dict[str, Any]:
    """An update with the objectives against one without: of the update alone, and of the step (rollout and update)."""
    off = replace(played.config, state_prediction=0.0, inverse_dynamics=0.0)
    modes = {
        "rl": off,
        "inline": replace(played.config, aux_mode="inline"),
        "rows": replace(played.config, aux_mode="rows"),
        "pass": replace(played.config, aux_mode="pass"),
    }
    samples = make_samples(played.episodes, off, played.lm, Heads())
    seconds = dict.fromkeys(modes, float("inf"))
    for _ in range(repeats):  # in turn, so that a slow moment of the machine meets them all
        for name, config in modes.items():
            seconds[name] = min(seconds[name], _timed_update(played, samples, config))
    learned = [s for s in samples if s.informative]
    tokens = sum(len(s.tokens.ids) for s in learned)
    return {
        "informative_episodes": len(learned),
        "tokens": tokens,
        "seconds": seconds,
        "tokens_per_second": tokens / seconds["rl"],
        "update_ratio": {m: seconds[m] / seconds["rl"] for m in modes},
        "step_ratio": {
            m: (played.rollout_s + seconds[m]) / (played.rollout_s + seconds["rl"]) for m in modes
        },
    }


def _timed_update(played: Played, samples: Sequence[Sample], config: TrainConfig) -> float:
    """Seconds of one update, which is then taken back."""
    lm = played.lm
    state = copy.deepcopy(lm.model.state_dict())
    format = make_format(lm, PolicySettings.of(config))
    learner = Learner(lm, None, Heads(), Optimizers(lm.model, config.lr), format, config)
    factor = 1.0 if config.state_prediction or config.inverse_dynamics else 0.0

    def run() -> None:
        policy_update(
            learner,
            samples,
            (),
            aux_factor=factor,
            recorded_share=0.0,
            lr_factor=1.0,
            rng=np.random.default_rng(0),
        )

    seconds = cpu(run, 1)
    lm.model.load_state_dict(state)
    return seconds


def measure_trl(played: Played, repeats: int, folder: Path) -> dict[str, Any] | None:
    """TRL's loss, backward and optimiser on the informative rows, in as many optimiser steps; None without TRL."""
    if importlib.util.find_spec("trl") is None:
        return None
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    config = replace(played.config, state_prediction=0.0, inverse_dynamics=0.0)
    samples = [s for s in make_samples(played.episodes, config, played.lm, Heads()) if s.informative]
    tokens = sum(len(s.tokens.ids) for s in samples)
    ours = min(_timed_update(played, samples, config) for _ in range(repeats))
    args = GRPOConfig(
        output_dir=str(folder),
        use_cpu=True,
        bf16=False,
        report_to="none",
        num_generations=2,
        per_device_train_batch_size=2,
        gradient_checkpointing=False,
    )
    trainer = GRPOTrainer(
        copy.deepcopy(played.lm.model),
        reward_funcs=lambda completions, **_: [0.0] * len(completions),
        args=args,
        train_dataset=Dataset.from_dict({"prompt": ["a", "b"]}),
        processing_class=played.lm.tokenizer,
    )
    trainer.loss_type, trainer.model = "bnpo", trainer.model.train()
    optimizer = torch.optim.AdamW(
        trainer.model.parameters(), lr=config.lr, betas=(0.9, 0.98), weight_decay=0.0
    )

    def step(size: int) -> None:
        order = np.random.default_rng(0).permutation(len(samples))
        for part in (order[i :: config.minibatches] for i in range(config.minibatches)):
            batches = [part[i : i + size] for i in range(0, len(part), size)]
            trainer.current_gradient_accumulation_steps = len(batches)
            for batch in batches:
                trainer.compute_loss(trainer.model, _trl_inputs([samples[i] for i in batch])).backward()
            torch.nn.utils.clip_grad_norm_(trainer.model.parameters(), config.max_grad_norm)
            optimizer.step()
            optimizer.zero_grad()

    theirs = {size: cpu(lambda size=size: step(size), repeats) for size in (4, 8, 16)}  # type: ignore[misc]
    best = min(theirs, key=lambda size: theirs[size])
    return {
        "tokens": tokens,
        "tokens_per_second": tokens / ours,
        "trl_tokens_per_second": tokens / theirs[best],
        "trl_batch_size": best,
        "ratio": theirs[best] / ours,
    }


def _trl_inputs(samples: Sequence[Sample]) -> dict[str, torch.Tensor]:
    """Rows as TRL's loss takes them: prompts padded on the left, completions on the right, decisions unmasked."""
    starts = [s.tokens.actions[0][0] for s in samples]
    longest_prompt = max(starts)
    longest = max(len(s.tokens.ids) - p for s, p in zip(samples, starts, strict=True))
    shapes = {"prompt_ids": longest_prompt, "prompt_mask": longest_prompt}
    names = ("completion_ids", "completion_mask", "tool_mask", "old_per_token_logps")
    out = {name: np.zeros((len(samples), shapes.get(name, longest))) for name in (*shapes, *names)}
    for row, (sample, start) in enumerate(zip(samples, starts, strict=True)):
        ids = sample.tokens.ids
        out["prompt_ids"][row, longest_prompt - start :] = ids[:start]
        out["prompt_mask"][row, longest_prompt - start :] = 1
        out["completion_ids"][row, : len(ids) - start] = ids[start:]
        out["completion_mask"][row, : len(ids) - start] = 1
        for decision in sample.tokens.decisions:
            out["tool_mask"][row, decision.position - start] = 1
            out["old_per_token_logps"][row, decision.position - start] = decision.logprob
    tensors = {
        k: torch.tensor(v, dtype=torch.float32 if k.startswith("old") else torch.long) for k, v in out.items()
    }
    advantages = torch.tensor([float(s.advantages[0]) for s in samples])
    return {**tensors, "advantages": advantages, "num_items_in_batch": tensors["tool_mask"].sum().float()}
