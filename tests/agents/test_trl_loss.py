"""The policy loss and its gradient equal those of TRL's GRPOTrainer on the same rows: its own code is called."""

import numpy as np
import pytest
import torch

pytest.importorskip("trl", reason="extra trl")

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from envrl.agents.advantages import AdvantageConfig, EpisodeBatch, grpo
from envrl.agents.config import TrainConfig
from envrl.agents.heads import Heads
from envrl.agents.optimizers import Optimizers, take_gradients
from envrl.agents.policies.distributions import policy_forward
from envrl.agents.policy_gradient import Learner, policy_backward
from envrl.agents.prompts import Decision, TokenSequence
from envrl.agents.samples import Sample
from envrl.agents.tagged_format import TaggedFormat

PROMPTS = (4, 9, 6, 7, 5, 8)
COMPLETIONS = (12, 5, 9, 20, 7, 3)


@pytest.fixture(scope="module")
def models(make_lm):
    return make_lm(), make_lm()


@pytest.fixture(scope="module")
def trainer(models, tmp_path_factory):
    """TRL's trainer around the second model; only its loss is used."""
    args = GRPOConfig(
        output_dir=str(tmp_path_factory.mktemp("trl")),
        use_cpu=True,
        bf16=False,
        report_to="none",
        num_generations=2,
        per_device_train_batch_size=len(PROMPTS),
        max_completion_length=max(COMPLETIONS),
    )
    trainer = GRPOTrainer(
        models[1].model,
        reward_funcs=lambda completions, **_: [0.0] * len(completions),
        args=args,
        train_dataset=Dataset.from_dict({"prompt": ["a", "b"]}),
        processing_class=models[1].tokenizer,
    )
    trainer.current_gradient_accumulation_steps = 1
    return trainer


@pytest.fixture(scope="module")
def samples(models):
    """Rows whose decisions are tokens among all; a part of each completion is the environment's."""
    lm, rng = models[0], np.random.default_rng(0)
    sequences = []
    for prompt, completion in zip(PROMPTS, COMPLETIONS, strict=True):
        ids = rng.integers(9, len(lm.tokenizer), size=prompt + completion).tolist()
        own = [p for p in range(prompt, len(ids)) if p == prompt or rng.random() < 0.6]
        sequences.append(TokenSequence(ids, [Decision(p, 0, None, 0.0) for p in own], [(prompt, len(ids))]))
    with torch.no_grad():
        now = iter(policy_forward(lm, sequences).logprobs.tolist())
    rows = []
    for sequence in sequences:
        # an older policy, far enough for both clips and for the bound on negative advantages
        old = [d._replace(logprob=next(now) + rng.normal(scale=0.5)) for d in sequence.decisions]
        old[0] = old[0]._replace(logprob=old[0].logprob - 1.5)
        tokens = TokenSequence(sequence.ids, old, sequence.actions)
        rows.append(Sample([], tokens, [], np.array([rng.normal()])))
    assert {s.advantages[0] > 0 for s in rows} == {True, False}
    return rows


def padded(rows, value, left=False):
    longest = max(map(len, rows))
    return torch.tensor(
        [[*[value] * (longest - len(r)), *r] if left else [*r, *[value] * (longest - len(r))] for r in rows]
    )


def trl_inputs(samples, reference):
    """The rows as TRL's loss takes them: prompts padded on the left, completions on the right."""
    starts = [s.tokens.actions[0][0] for s in samples]
    parts = [(s.tokens.ids[:p], s.tokens.ids[p:]) for s, p in zip(samples, starts, strict=True)]
    own = [
        {d.position - p: d.logprob for d in s.tokens.decisions} for s, p in zip(samples, starts, strict=True)
    ]
    base = [{} for _ in samples]
    values = iter(reference)
    for row, sample, start in zip(base, samples, starts, strict=True):
        row.update({d.position - start: next(values) for d in sample.tokens.decisions})
    lengths = [len(c) for _, c in parts]

    def spread(rows):
        return padded(
            [[row.get(t, 0.0) for t in range(n)] for row, n in zip(rows, lengths, strict=True)], 0.0
        )

    mask = [[int(t in row) for t in range(n)] for row, n in zip(own, lengths, strict=True)]
    return {
        "prompt_ids": padded([p for p, _ in parts], 0, left=True),
        "prompt_mask": padded([[1] * len(p) for p, _ in parts], 0, left=True),
        "completion_ids": padded([c for _, c in parts], 0),
        "completion_mask": padded([[1] * n for n in lengths], 0),
        "tool_mask": padded(mask, 1),
        "advantages": torch.tensor([s.advantages[0] for s in samples], dtype=torch.float32),
        "old_per_token_logps": spread(own),
        "ref_per_token_logps": spread(base),
        "num_items_in_batch": torch.tensor(float(sum(map(sum, mask)))),
    }


@pytest.mark.parametrize(("kl", "unbiased"), [(0.0, False), (0.05, False), (0.05, True)])
@pytest.mark.parametrize("bound", [0.0, 3.0])
@pytest.mark.parametrize("high", [None, 0.28])
@pytest.mark.parametrize(
    ("loss_type", "reduction"),
    [("bnpo", "token"), ("dapo", "token"), ("grpo", "sequence"), ("dr_grpo", "constant")],
)
def test_loss_and_gradient_are_those_of_trl(
    models, trainer, samples, make_lm, loss_type, reduction, high, bound, kl, unbiased
):
    lm, reference = models[0], make_lm()
    with torch.no_grad():
        for parameter in reference.model.parameters():
            parameter += 0.02 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
        base = policy_forward(reference, [s.tokens for s in samples]).logprobs
    config = TrainConfig(
        reduction=reduction,
        clip_high=high,
        dual_clip=bound,
        kl=kl,
        kl_unbiased=unbiased,
        loss_length=max(COMPLETIONS),
    )
    learner = Learner(
        lm, reference if kl else None, Heads(), Optimizers(lm.model, 1e-3), TaggedFormat(lm), config
    )
    ours = policy_backward(learner, samples, samples)
    gradients = take_gradients(lm.model.parameters())

    trainer.loss_type, trainer.beta = loss_type, kl
    trainer.epsilon_low, trainer.epsilon_high = config.clip, config.clip if high is None else high
    trainer.args.delta, trainer.args.use_bias_correction_kl = bound or None, unbiased
    trainer.model.train()
    loss = trainer.compute_loss(trainer.model, trl_inputs(samples, base.tolist()))
    loss.backward()
    theirs = take_gradients(trainer.model.parameters())

    if not kl:  # TRL's number holds the divergence
        assert ours["loss/policy"] == pytest.approx(loss.item(), abs=1e-5)
    assert max(g.abs().max().item() for g in theirs) > 1e-3
    for mine, other in zip(gradients, theirs, strict=True):
        torch.testing.assert_close(mine, other, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("scale", ["none", "group"])
def test_advantages_are_those_of_trl(trainer, scale):
    """With division, up to its sample deviation (ours is the population's) and the 1e-4 it adds."""
    rewards = [1.0, 0.0, 0.0, 0.0, 1.0, 0.5]
    trainer.num_generations, trainer.scale_rewards, trainer.beta = 3, scale, 0.0
    trainer.reward_funcs = [lambda completions, **_: rewards]
    trainer.rollout_func = lambda prompts, _: {
        "prompt_ids": [[9, 10]] * len(prompts),
        "completion_ids": [[11, 12]] * len(prompts),
        "logprobs": [[-1.0, -1.0]] * len(prompts),
    }
    theirs = trainer._generate_and_score_completions([{"prompt": "a"}] * 6)["advantages"].numpy()
    batch = EpisodeBatch([[r] for r in rewards], [0, 0, 0, 1, 1, 1], [["x"]] * 6)
    ours = np.concatenate(grpo(batch, AdvantageConfig(normalize_std=scale == "group")))
    if scale == "none":
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
    else:
        np.testing.assert_allclose(ours, theirs * np.sqrt(3 / 2), rtol=1e-3)
