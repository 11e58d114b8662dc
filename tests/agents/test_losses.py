import math

import pytest
import torch

from envrl.agents.losses import Part, clipped_policy_loss, clipped_value_loss, decision_weights, k3_divergence


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss"),
    [
        (1.0, 2.0, -2.0),  # on policy
        (1.5, 2.0, -2.4),  # clipped at 1.2
        (0.5, 2.0, -1.0),  # the smaller surrogate
        (0.5, -1.0, 0.8),  # clipped at 0.8
        (1.5, -1.0, 1.5),  # not clipped: the pessimistic side
        (5.0, -1.0, 3.0),  # dual clip
    ],
)
def test_clipped_loss_by_hand(ratio, advantage, loss):
    got = clipped_policy_loss(torch.tensor([math.log(ratio)]), torch.zeros(1), torch.tensor([advantage]))
    assert got.item() == pytest.approx(loss, rel=1e-5)


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss"),
    [
        (1.25, 2.0, -2.5),  # within the higher range
        (1.5, 2.0, -2.56),  # clipped at 1.28
        (0.5, -1.0, 0.8),  # the lower range is the same
    ],
)
def test_clip_higher_by_hand(ratio, advantage, loss):
    got = clipped_policy_loss(
        torch.tensor([math.log(ratio)]), torch.zeros(1), torch.tensor([advantage]), clip_high=0.28
    )
    assert got.item() == pytest.approx(loss, rel=1e-5)


def test_the_bound_on_negative_advantages_can_be_lifted():
    arguments = torch.tensor([math.log(5.0)]), torch.zeros(1), torch.tensor([-1.0])
    assert clipped_policy_loss(*arguments, dual_clip=0).item() == pytest.approx(5.0, rel=1e-5)


def test_value_loss_by_hand():
    # errors 1 and 0.5; held within 0.2 of 0: (0.2 - 2)^2 is the larger; 0.1 is within
    values, old, targets = torch.tensor([1.0, 0.1]), torch.zeros(2), torch.tensor([2.0, 0.6])
    torch.testing.assert_close(clipped_value_loss(values, old, targets), torch.tensor([0.5, 0.125]))
    torch.testing.assert_close(clipped_value_loss(values, old, targets, 0.2), torch.tensor([1.62, 0.125]))


@pytest.mark.parametrize(
    ("reduction", "mean"),
    [
        ("token", (1 + 2 + 3 + 10) / 4),
        ("sequence", ((1 + 2 + 3) / 3 + 10) / 2),  # the episode without decisions is none
        ("constant", (1 + 2 + 3 + 10) / (3 * 5)),
    ],
)
def test_reductions_by_hand(reduction, mean):
    losses = [[1.0, 2.0, 3.0], [], [10.0]]
    parts = [Part(len(x), 1.0, len(x)) for x in losses]
    weights, divisor = decision_weights(parts, reduction, length=5)
    got = sum(w * x for w, xs in zip(weights, losses, strict=True) for x in xs) / divisor
    assert got == pytest.approx(mean)


@pytest.mark.parametrize(
    ("reduction", "mean", "half"),
    [
        ("token", (1 + 2 + 3 + 10) / 4, (1 + 2) / 2),
        ("sequence", ((1 + 2 + 3) / 3 + 10) / 2, (1 + 2) / 3 / 0.5),  # not the mean over the three rows
        ("constant", (1 + 2 + 3 + 10) / (2 * 5), (1 + 2) / (0.5 * 5)),
    ],
)
def test_an_episode_of_two_rows_is_one_episode(reduction, mean, half):
    losses = [[1.0, 2.0], [3.0], [10.0]]
    parts = [Part(2, 0.5, 3), Part(1, 0.5, 3), Part(1, 1.0, 1)]
    for held, wanted in (
        (3, mean),
        (1, half),
    ):  # a minibatch with one row of the first episode: half an episode
        weights, divisor = decision_weights(parts[:held], reduction, length=5)
        got = sum(w * x for w, xs in zip(weights, losses, strict=False) for x in xs) / divisor
        assert got == pytest.approx(wanted)


def test_k3_by_hand():
    # policy 0.5, reference 0.25: 0.5 - log 0.5 - 1
    got = k3_divergence(torch.tensor([math.log(0.5)]), torch.tensor([math.log(0.25)]))
    assert got.item() == pytest.approx(0.5 - math.log(0.5) - 1, rel=1e-6)


def test_k3_is_the_divergence_in_expectation():
    p, q = torch.tensor([0.7, 0.2, 0.1]), torch.tensor([0.3, 0.3, 0.4])
    estimate = (p * k3_divergence(p.log(), q.log())).sum()
    assert estimate.item() == pytest.approx((p * (p / q).log()).sum().item(), rel=1e-5)
