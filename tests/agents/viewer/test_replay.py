"""What the page says of the model is what the model does."""

import json
from collections.abc import Callable

import pytest
import torch
from torch.nn import functional

from envrl.agents.heads import Heads
from envrl.agents.models import LanguageModel
from envrl.agents.policies.settings import PolicySettings, make_format, make_policy
from envrl.agents.rollout import Episode, Task, rollout
from envrl.agents.tasks import make_envs
from envrl.agents.viewer.branches import BranchTree
from envrl.agents.viewer.replay import Replay

EXCLUDED = ("help", "inventory", "look")


def play(lm: LanguageModel, **settings) -> tuple[dict, list[Episode]]:
    """Three episodes of at most some hundred tokens, and the settings that they were played with."""
    settings = {"policy": "constrained", "exclude_actions": EXCLUDED, "temperature": 1.0, **settings}
    kind = PolicySettings.of(settings)
    lm.model.eval()
    policy = make_policy(lm, make_format(lm, kind), kind, settings["temperature"])
    envs = make_envs("EnvRL/ALFWorld-v0", 3, "train", {})
    tasks = [Task(f"procedural/pick_and_place_simple/{i}", i) for i in range(3)]
    episodes = rollout(envs, tasks, policy, (4,), max_tokens=400)
    return settings, [
        Episode(e.group, e.task_id, e.transitions[: 4 + i], e.sequences) for i, e in enumerate(episodes)
    ]


def behaviour(episode: Episode) -> list[float]:
    """Probability of each action when it was sampled."""
    logprobs = []
    for sequence in episode.sequences:
        steps = [0.0] * len(sequence.actions)
        for decision in sequence.decisions:
            steps[decision.step] += decision.logprob
        logprobs += steps
    return [float(torch.tensor(x).exp()) for x in logprobs]


@pytest.mark.parametrize("context", ["concat", "step"])
@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_probabilities_are_those_the_policy_sampled_with(lm, tmp_path, context, temperature):
    settings, episodes = play(lm, context=context, temperature=temperature)
    lm.save(tmp_path / "model")
    seen = Replay(tmp_path / "model", json.loads(json.dumps(settings))).turns(
        [e.transitions for e in episodes]
    )
    assert [len(turns) for turns in seen] == [4, 5, 6]
    unsure = 0
    for episode, turns in zip(episodes, seen, strict=True):
        for row, turn, p in zip(episode.transitions, turns, behaviour(episode), strict=False):
            assert dict(turn.choices)[row.action] == pytest.approx(p, abs=1e-4)
            assert {action for action, _ in turn.choices} == set(row.admissible_actions) - set(EXCLUDED)
            assert sum(share for _, share in turn.choices) == pytest.approx(1, abs=1e-4)
            assert turn.choices == sorted(turn.choices, key=lambda choice: -choice[1])
            unsure += p < 0.9
    assert unsure  # or the comparison would show little


def test_probabilities_of_the_score_policy(lm, tmp_path):
    settings, episodes = play(lm, policy="score")
    lm.save(tmp_path / "model")
    seen = Replay(tmp_path / "model", settings).turns([e.transitions for e in episodes])
    for episode, turns in zip(episodes, seen, strict=True):
        for row, turn, p in zip(episode.transitions, turns, behaviour(episode), strict=False):
            assert dict(turn.choices)[row.action] == pytest.approx(p, abs=1e-4)


def test_predictions_are_greedy_and_as_long_as_the_real_ones(lm, tmp_path):
    settings, episodes = play(lm)
    lm.save(tmp_path / "model")
    for episode, turns in zip(
        episodes, Replay(tmp_path / "model", settings).turns([e.transitions for e in episodes]), strict=True
    ):
        ids = episode.tokens.ids
        for turn, (start, end) in zip(turns, episode.tokens.replies, strict=False):
            predicted = greedy(lm, lm.logits, ids[:start], end - start)
            assert turn.predicted == lm.decode(predicted) and turn.whole
            assert turn.surprise == pytest.approx(loss(lm, lm.logits, ids, start, end), abs=1e-4)


def test_an_adapter_of_the_objectives_predicts(lm, tmp_path):
    """Predictions come from the objectives' own output layer, probabilities of actions do not."""
    settings, episodes = play(lm, aux_head="adapter", aux_head_rank=2, seed=0)
    rows = [episodes[0].transitions[:2]]
    plain = tmp_path / "plain" / "model"
    lm.save(plain)
    (before,) = Replay(plain, settings).turns(rows)
    heads = Heads.build(lm, critic=False, adapter=True, rank=2, seed=0)
    torch.nn.init.normal_(heads.objectives.up, std=3.0, generator=torch.Generator().manual_seed(0))
    lm.save(tmp_path / "changed" / "model")
    heads.save(tmp_path / "changed")
    (after,) = Replay(tmp_path / "changed" / "model", settings).turns(rows)
    ids, (start, end) = episodes[0].tokens.ids, episodes[0].tokens.replies[0]
    assert after[0].predicted == lm.decode(greedy(lm, heads.objectives, ids[:start], end - start))
    assert after[0].surprise == pytest.approx(loss(lm, heads.objectives, ids, start, end), abs=1e-4)
    assert after[0].predicted != before[0].predicted
    assert after[0].choices == before[0].choices


@torch.no_grad()
def greedy(lm: LanguageModel, head: Callable, ids: list[int], count: int) -> list[int]:
    """By a whole forward a token."""
    ids = list(ids)
    for _ in range(count):
        ids.append(int(head(lm.hidden(torch.tensor([ids]))[0, -1]).argmax()))
    return ids[-count:]


@torch.no_grad()
def loss(lm: LanguageModel, head: Callable, ids: list[int], start: int, end: int) -> float:
    logits = head(lm.hidden(torch.tensor([ids]))[0, start - 1 : end - 1])
    return float(functional.cross_entropy(logits, torch.tensor(ids[start:end])))


def test_branches_by_hand():
    """Actions 1-9, 1-2-9, 3-9 (9 ends an action): two branchings."""
    tree = BranchTree([(1, 9), (1, 2, 9), (3, 9)])
    # nodes in the order in which they were made: 1, 1-2, 3
    logits = torch.zeros(1 + len(tree), 10)
    logits[0, 1], logits[0, 3], logits[0, 7] = 2.0, 1.0, 50.0  # 7 is no way and does not count
    logits[1, 9], logits[1, 2] = 0.0, torch.log(torch.tensor(3.0))
    first = float(torch.sigmoid(torch.tensor(1.0)))
    expected = [first / 4, first * 3 / 4, 1 - first]
    torch.testing.assert_close(tree.totals_of(logits).exp(), torch.tensor(expected))
    cooler = BranchTree([(1, 9), (1, 2, 9), (3, 9)], temperature=0.5)
    assert float(cooler.totals_of(logits).exp()[2]) == pytest.approx(
        1 - float(torch.sigmoid(torch.tensor(2.0)))
    )
    assert BranchTree([(4, 9)]).totals_of(torch.randn(2, 10)).tolist() == [0.0]
