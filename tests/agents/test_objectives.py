import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from envrl.agents.batches import pad
from envrl.agents.objectives import (
    MAX_TARGET_TOKENS,
    ObjectiveRow,
    coefficient,
    inverse_dynamics_rows,
    shuffled_state_prediction_rows,
    state_prediction_row,
    step_weights,
    weighted_cross_entropy,
)
from envrl.agents.tagged_format import TaggedFormat


def test_schedules_by_hand():
    assert [coefficient("cosine", p) for p in (0, 0.5, 1)] == pytest.approx([1, 0.5, 0])
    assert coefficient("cosine", 0.25) == pytest.approx(0.5 * (1 + math.sqrt(0.5)))
    assert [coefficient("linear", p) for p in (0, 0.25, 1)] == [1, 0.75, 0]
    assert [coefficient("constant", p) for p in (0, 1)] == [1, 1]


def test_weighted_cross_entropy_by_hand(lm):
    """A model whose logits are all equal has log(vocabulary) nats for every token."""
    with torch.no_grad():
        lm.model.get_output_embeddings().weight.zero_()
    rows = [ObjectiveRow([1, 2, 3], [0.0, 0.5, 1.0]), ObjectiveRow([1, 2], [0.0, 1.0])]
    total, weight = weighted_cross_entropy(lm, lm.hidden(pad([r.ids for r in rows])), rows)
    assert weight == 2.5
    assert total.item() == pytest.approx(2.5 * math.log(len(lm.tokenizer)), rel=1e-5)


def test_weighted_cross_entropy_equals_the_model_loss(lm):
    ids = list(range(20, 40))
    row = ObjectiveRow(ids, [0.0] + [1.0] * 19)
    total, weight = weighted_cross_entropy(lm, lm.hidden(torch.tensor([ids])), [row])
    expected = lm.model(torch.tensor([ids]), labels=torch.tensor([ids])).loss
    torch.testing.assert_close(total / weight, expected, atol=1e-5, rtol=1e-5)


def test_no_targets_give_zero_and_a_gradient(lm):
    row = ObjectiveRow([1, 2, 3], [0.0, 0.0, 0.0])
    total, weight = weighted_cross_entropy(lm, lm.hidden(torch.tensor([row.ids])), [row])
    total.backward()
    assert (total.item(), weight) == (0.0, 0.0)


def test_step_weights(expert_episodes):
    rows = expert_episodes[0][:2]
    faulted = replace(rows[0], fault="server died")
    malformed = replace(rows[0], action="xyzzy", action_status="malformed")
    refused = replace(rows[0], action="go to moon 1", action_status="inadmissible")
    assert step_weights([rows[0], rows[0], faulted, malformed, refused, rows[1]]) == [
        1.0,
        0.1,
        0.0,
        0.0,
        0.1,
        1.0,
    ]


def test_state_prediction_targets_are_the_raw_next_observations(lm, expert_episodes):
    format = TaggedFormat(lm)
    for transitions in expert_episodes:
        row = state_prediction_row(format.sequence(transitions), transitions)
        targets = [i for i, w in zip(row.ids, row.weights, strict=True) if w]
        assert lm.tokenizer.decode(targets) == "".join(t.next_observation for t in transitions)


def test_long_targets_are_cut(lm, expert_episodes):
    long = replace(expert_episodes[0][0], next_observation="a mug 1, " * 300)
    row = state_prediction_row(TaggedFormat(lm).sequence([long]), [long])
    assert sum(w > 0 for w in row.weights) == MAX_TARGET_TOKENS


def test_shuffled_targets_keep_the_distribution_and_lose_the_relation(lm, expert_episodes):
    format = TaggedFormat(lm)
    sequences = [format.sequence(t) for t in expert_episodes]
    rows = shuffled_state_prediction_rows(sequences, expert_episodes, np.random.default_rng(0))
    true = [state_prediction_row(s, t) for s, t in zip(sequences, expert_episodes, strict=True)]

    def targets(rows):
        return sorted(i for row in rows for i, w in zip(row.ids, row.weights, strict=True) if w)

    assert targets(rows) == targets(true)
    assert sum(a.ids != b.ids for a, b in zip(rows, true, strict=True)) >= len(rows) - 1


def test_inverse_dynamics_rows_ask_for_the_action(lm, expert_episodes):
    format = TaggedFormat(lm)
    rows = inverse_dynamics_rows(format, expert_episodes, 40, np.random.default_rng(0))
    steps = {(t.observation, t.action, t.next_observation) for e in expert_episodes for t in e}
    assert len(rows) == 40
    for row in rows:
        action = lm.tokenizer.decode([i for i, w in zip(row.ids, row.weights, strict=True) if w])
        observation, rest = lm.tokenizer.decode(row.ids).removeprefix("<bos>").split("<next>")
        next_observation, shown = rest.split("<inverse>")
        assert shown == action
        assert (observation, action, next_observation) in steps


def test_shuffled_inverse_dynamics_breaks_the_relation(lm, expert_episodes):
    format = TaggedFormat(lm)
    steps = {(t.observation, t.action, t.next_observation) for e in expert_episodes for t in e}
    rows = inverse_dynamics_rows(format, expert_episodes, 60, np.random.default_rng(0), "shuffled")
    kept = 0
    for row in rows:
        observation, rest = lm.tokenizer.decode(row.ids).removeprefix("<bos>").split("<next>")
        next_observation, action = rest.split("<inverse>")
        kept += (observation, action, next_observation) in steps
    assert kept < 0.2 * len(rows)
