import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from envrl.agents.batches import pad
from envrl.agents.objective_rows import (
    MAX_TARGET_TOKENS,
    SingleStep,
    inverse_dynamics_rows,
    most_uncertain,
    shuffled_state_prediction_rows,
    single_step_rows,
    state_prediction_row,
    step_weights,
)
from envrl.agents.objectives import (
    ObjectiveRow,
    coefficient,
    token_losses,
    weighted_cross_entropy,
    weighted_loss,
)
from envrl.agents.prompts import Decision, TokenSequence
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


def test_clipped_mae_by_hand():
    # probabilities of the targets 3/4 and 1/4: losses 1/4 and 3/4, the latter held at 0.7
    logits = torch.tensor([[3.0, 1.0], [3.0, 1.0]]).log().requires_grad_()
    losses = token_losses(logits, torch.tensor([0, 1]), "clipped_mae", mae_clip=0.7)
    torch.testing.assert_close(losses.detach(), torch.tensor([0.25, 0.7]))
    losses.sum().backward()
    # d(1 - p)/d logit = -p (1 - p) for the target; what is held has no gradient
    torch.testing.assert_close(logits.grad, torch.tensor([[-3 / 16, 3 / 16], [0.0, 0.0]]))


def test_a_row_s_factor_scales_its_loss_and_not_the_mean_s_denominator(lm):
    ids = [20, 21, 22]
    plain, half = ObjectiveRow(ids, [0.0, 1.0, 1.0]), ObjectiveRow(ids, [0.0, 1.0, 1.0], factor=0.5)
    hidden = lm.hidden(torch.tensor([ids, ids]))
    whole, weight = weighted_loss(lm.logits, hidden, [plain, plain])
    less, weight_too = weighted_loss(lm.logits, hidden, [plain, half])
    assert weight == weight_too == 4.0
    assert less.item() == pytest.approx(0.75 * whole.item(), rel=1e-6)


def test_the_most_uncertain_steps_by_hand():
    # entropies of the steps: 0.5 + 0.4, 0.8, 0 (no decision), 1.0
    decisions = [
        Decision(i, step, None, 0.0, h)
        for i, (step, h) in enumerate([(0, 0.5), (0, 0.4), (1, 0.8), (3, 1.0)])
    ]
    tokens = TokenSequence([0] * 8, decisions, [(i, i + 1) for i in range(4)], [(i, i + 1) for i in range(4)])
    assert most_uncertain(tokens, 0.5) == [True, False, False, True]
    assert most_uncertain(tokens, 0.01) == [False, False, False, True]
    assert most_uncertain(tokens, 1.0) == [True] * 4
    assert state_prediction_row(tokens, [1.0, 1.0, 0.1, 0.5], 1.0, 0.5).weights == [
        1.0,
        0,
        0,
        0.5,
        0,
        0,
        0,
        0,
    ]
    # a recording says nothing of entropies: all steps count
    recorded = TokenSequence(tokens.ids, [], tokens.actions, tokens.replies)
    assert most_uncertain(recorded, 0.5) == [True] * 4


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
        row = state_prediction_row(format.sequence(transitions), step_weights(transitions))
        targets = [i for i, w in zip(row.ids, row.weights, strict=True) if w]
        assert lm.tokenizer.decode(targets) == "".join(t.next_observation for t in transitions)


def test_long_targets_are_cut(lm, expert_episodes):
    long = replace(expert_episodes[0][0], next_observation="a mug 1, " * 300)
    row = state_prediction_row(TaggedFormat(lm).sequence([long]), [1.0])
    assert sum(w > 0 for w in row.weights) == MAX_TARGET_TOKENS


def test_shuffled_targets_keep_the_distribution_and_lose_the_relation(lm, expert_episodes):
    format = TaggedFormat(lm)
    sequences = [format.sequence(t) for t in expert_episodes]
    weights = [step_weights(t) for t in expert_episodes]
    rows = shuffled_state_prediction_rows(sequences, weights, np.random.default_rng(0))
    true = [state_prediction_row(s, w) for s, w in zip(sequences, weights, strict=True)]

    def targets(rows):
        return sorted(i for row in rows for i, w in zip(row.ids, row.weights, strict=True) if w)

    assert targets(rows) == targets(true)
    assert sum(a.ids != b.ids for a, b in zip(rows, true, strict=True)) >= len(rows) - 1


def test_single_step_rows_show_the_last_turns(lm, expert_episodes):
    format, episode = TaggedFormat(lm), expert_episodes[0]
    (row,) = single_step_rows(
        format, [SingleStep(episode[3], episode[1:3], 3, 0.5)], np.random.default_rng(0)
    )
    target = [i for i, w in zip(row.ids, row.weights, strict=True) if w]
    assert lm.tokenizer.decode(target) == episode[3].next_observation
    assert {w for w in row.weights if w} == {0.5}
    # the same ids as an episode that begins two turns earlier
    window = format.sequence(episode[1:4])
    assert row.ids == window.ids[: window.replies[-1][1]]


def test_a_single_step_row_of_the_first_turn_is_the_beginning_of_the_episode(lm, expert_episodes):
    """Inline equals rows on a one-turn episode: the same loss and the same gradient."""
    format = TaggedFormat(lm)
    for first, *_ in expert_episodes[:4]:
        gradients = []
        inline = state_prediction_row(format.sequence([first]), step_weights([first]))
        (single,) = single_step_rows(format, [SingleStep(first, (), 0, 1.0)], np.random.default_rng(0))
        assert single.ids == inline.ids[: len(single.ids)]
        for row in (inline, single):
            lm.model.zero_grad()
            total, weight = weighted_cross_entropy(lm, lm.hidden(torch.tensor([row.ids])), [row])
            (total / weight).backward()
            gradients.append([p.grad.clone() for p in lm.model.parameters()] + [(total / weight).detach()])
        for a, b in zip(*gradients, strict=True):
            torch.testing.assert_close(a, b, atol=1e-6, rtol=1e-5)


def test_shuffled_single_steps_keep_the_targets_and_lose_the_relation(lm, expert_episodes):
    format = TaggedFormat(lm)
    steps = [SingleStep(row, (), t, 1.0) for episode in expert_episodes[:3] for t, row in enumerate(episode)]
    rows = single_step_rows(format, steps, np.random.default_rng(0), "shuffled")
    targets = [lm.tokenizer.decode([i for i, w in zip(r.ids, r.weights, strict=True) if w]) for r in rows]
    true = [s.step.next_observation for s in steps]
    assert sorted(targets) == sorted(true)
    assert sum(a == b for a, b in zip(targets, true, strict=True)) < 0.4 * len(true)


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
