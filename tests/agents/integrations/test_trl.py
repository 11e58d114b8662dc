"""Both objectives in TRL's own GRPOTrainer, on a real model and on real environments."""

import gymnasium
import pytest
import torch

pytest.importorskip("trl", reason="extra trl")

import vowel_env  # noqa: F401 - registers Test/Vowels-v0
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from envrl.agents.batches import pad
from envrl.agents.integrations.trl import (
    EnvironmentRollout,
    ObjectiveGRPOTrainer,
    ObjectiveSettings,
    TransitionRows,
    episode_return,
)
from envrl.agents.objective_rows import step_weights
from envrl.agents.objectives import weighted_cross_entropy
from envrl.agents.policies.constrained import ConstrainedPolicy
from envrl.agents.policies.generate import GeneratePolicy
from envrl.agents.tagged_format import TaggedFormat
from envrl.agents.tasks import make_envs

OFF = ObjectiveSettings(0.0, 0.0)


def settings(folder, **changes) -> GRPOConfig:
    values = {
        "use_cpu": True,
        "bf16": False,
        "report_to": "none",
        "save_strategy": "no",
        "disable_tqdm": True,
        "logging_steps": 1,
        "num_generations": 4,
        "per_device_train_batch_size": 4,
        "max_completion_length": 12,
        "max_steps": 3,
        "learning_rate": 3e-3,
        "max_grad_norm": 1e9,
        "seed": 1,
    }
    return GRPOConfig(output_dir=str(folder), **{**values, **changes})


def train(kind, lm, args, **named):
    """Weights after training, and the log."""
    trainer = kind(
        lm.model,
        reward_funcs=named.pop("reward_funcs", lambda completions, **_: [float(len(c)) for c in completions]),
        args=args,
        train_dataset=named.pop("dataset", Dataset.from_dict({"prompt": ["You are", "a room"] * 4})),
        processing_class=lm.tokenizer,
        **named,
    )
    trainer.train()
    return [p.detach().clone() for p in lm.model.parameters()], trainer.state.log_history


def row_losses(lm, rows):
    with torch.no_grad():
        total, weight = weighted_cross_entropy(lm, lm.hidden(pad([r.ids for r in rows])), rows)
    return float(total) / weight


def test_weights_zero_are_trl_s_own_trainer_bit_by_bit(make_lm, expert_episodes, tmp_path):
    plain, _ = train(GRPOTrainer, make_lm(), settings(tmp_path))
    lm = make_lm()
    rows = TransitionRows(TaggedFormat(lm), expert_episodes)
    ours, _ = train(ObjectiveGRPOTrainer, lm, settings(tmp_path), objectives=OFF, rows=rows)
    assert all(torch.equal(a, b) for a, b in zip(plain, ours, strict=True))


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_the_objectives_losses_are_ours_and_fall(make_lm, expert_episodes, tmp_path, temperature):
    lm = make_lm()
    rows = TransitionRows(TaggedFormat(lm), expert_episodes, count=16)
    before = [row_losses(lm, part) for part in rows(0)]
    _, log = train(
        ObjectiveGRPOTrainer,
        lm,
        settings(tmp_path, max_steps=12, temperature=temperature),
        objectives=ObjectiveSettings(1.0, 1.0, "constant"),
        rows=rows,
    )
    first, last = log[0], log[-2]
    assert float(first["objectives/state_prediction"]) == pytest.approx(before[0], rel=2e-3)
    assert float(first["objectives/inverse_dynamics"]) == pytest.approx(before[1], rel=2e-3)
    assert float(last["objectives/state_prediction"]) < 0.9 * before[0]
    after = [row_losses(lm, part) for part in rows(0)]
    assert after[0] < 0.9 * before[0] and after[1] < 0.8 * before[1]


def test_the_schedule_follows_the_steps(make_lm, expert_episodes, tmp_path):
    lm = make_lm()
    _, log = train(
        ObjectiveGRPOTrainer,
        lm,
        settings(tmp_path, max_steps=4),
        objectives=ObjectiveSettings(schedule="linear"),
        rows=TransitionRows(TaggedFormat(lm), expert_episodes, count=2),
    )
    assert [float(row["objectives/factor"]) for row in log[:-1]] == pytest.approx([1.0, 0.75, 0.5, 0.25])


def test_gradient_accumulation_does_not_change_the_weight_of_the_objectives(
    make_lm, expert_episodes, tmp_path
):
    """The same rows in one forward or four: one mean, not four."""
    lm = make_lm()
    fixed = TransitionRows(TaggedFormat(lm), expert_episodes, count=8)(0)
    same = {"reward_funcs": lambda completions, **_: [1.0] * len(completions), "rows": lambda number: fixed}
    objectives = ObjectiveSettings(1.0, 0.0, "constant", inline=False)
    results = []
    for size, parts in ((8, 1), (2, 4)):
        args = settings(
            tmp_path,
            max_steps=1,
            per_device_train_batch_size=size,
            gradient_accumulation_steps=parts,
            optim="sgd",
            learning_rate=0.1,
            lr_scheduler_type="constant",
        )
        results.append(train(ObjectiveGRPOTrainer, make_lm(), args, objectives=objectives, **same)[0])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)


@pytest.fixture
def played(lm):
    """A rollout function over real games, with short responses so that an untrained model gets through them."""
    envs = make_envs("EnvRL/ALFWorld-v0", 4, "train", {})
    policy = GeneratePolicy(lm, TaggedFormat(lm), longest=6)
    return EnvironmentRollout(envs, policy, seed=3, max_tokens=400)


def test_a_completion_is_the_episode_with_only_sampled_tokens_unmasked(lm, played, tmp_path):
    trainer = GRPOTrainer(
        lm.model,
        reward_funcs=episode_return,
        args=settings(tmp_path),
        train_dataset=Dataset.from_dict({"prompt": ["a"]}),
        processing_class=lm.tokenizer,
    )
    fields = played(["procedural/pick_and_place_simple/0", "procedural/pick_and_place_simple/1"], trainer)
    format = TaggedFormat(lm)
    for number, rows in enumerate(played.transitions):
        ids, mask = fields["completion_ids"][number], fields["env_mask"][number]
        targets = played.targets[number]
        assert len(ids) == len(mask) == len(targets) == len(fields["logprobs"][number])
        assert not any(m and t for m, t in zip(mask, targets, strict=True))
        predicted = [i for i, t in zip(ids, targets, strict=True) if t]
        kept = [row for row, w in zip(rows, step_weights(rows), strict=True) if w]
        assert lm.tokenizer.decode(predicted) == "".join(row.next_observation for row in kept)
        whole = [*fields["prompt_ids"][number], *ids]
        with torch.no_grad():
            logprobs = torch.log_softmax(lm.logits(lm.hidden(torch.tensor([whole]))[0]), -1)
        start = len(fields["prompt_ids"][number])
        for offset, (own, logprob) in enumerate(zip(mask, fields["logprobs"][number], strict=True)):
            if own:
                expected = logprobs[start + offset - 1, whole[start + offset]].item()
                assert logprob == pytest.approx(expected, abs=1e-4)
        assert (
            whole[: len(format.prompt(rows[0].goal, (), rows[0].observation, None, 0))]
            == fields["prompt_ids"][number]
        )


def test_a_policy_that_does_not_choose_among_all_tokens_is_refused(lm, played, tmp_path):
    constrained = EnvironmentRollout(
        make_envs("EnvRL/ALFWorld-v0", 1, "train", {}),
        ConstrainedPolicy(lm, TaggedFormat(lm)),
        max_tokens=300,
    )
    trainer = type("Holder", (), {"model": lm.model})
    with pytest.raises(ValueError, match="GeneratePolicy"):
        constrained(["procedural/pick_and_place_simple/0"], trainer)


def test_trl_trains_on_an_environment_with_state_prediction_inline(make_lm, tmp_path):
    """Episodes of two turns, rewarded for their vowels; the environment's replies are learned beside."""
    lm = make_lm()
    envs = make_envs("Test/Vowels-v0", 8, "", {})
    played = EnvironmentRollout(envs, GeneratePolicy(lm, TaggedFormat(lm), longest=6), seed=3)
    before = [p.detach().clone() for p in lm.model.parameters()]
    after, log = train(
        ObjectiveGRPOTrainer,
        lm,
        settings(tmp_path, max_steps=6, per_device_train_batch_size=8, num_generations=8),
        objectives=ObjectiveSettings(0.2, 0.0, schedule="constant"),
        reward_funcs=episode_return,
        dataset=Dataset.from_dict({"prompt": ["vowels"] * 8}),
        rollout_func=played,
    )
    steps = [entry for entry in log if "objectives/state_prediction" in entry]
    assert len(steps) == 6 and len({entry["reward"] for entry in steps}) > 1
    assert steps[-1]["objectives/state_prediction"] < 0.9 * steps[0]["objectives/state_prediction"]
    assert all(entry["reward_std"] > 0 and entry["grad_norm"] > 0 for entry in steps)
    assert any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))


class Dies(gymnasium.Wrapper):
    """An environment whose server is gone."""

    def step(self, action):
        raise ConnectionError("connection refused")


def test_a_faulted_episode_has_no_reward_and_teaches_nothing(lm):
    envs = make_envs("EnvRL/ALFWorld-v0", 2, "train", {})
    played = EnvironmentRollout(
        [envs[0], Dies(envs[1])], GeneratePolicy(lm, TaggedFormat(lm), longest=6), max_tokens=300
    )
    trainer = type("Holder", (), {"model": lm.model})
    fields = played(["procedural/pick_and_place_simple/0", "procedural/pick_and_place_simple/1"], trainer)
    sound, faulted = episode_return([], fields["episode_return"])
    assert sound == 0.0 and faulted is None
    assert len(played.transitions) == 1
    assert not any(fields["env_mask"][1]) and not any(played.targets[1])
