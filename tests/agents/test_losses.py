import math

import pytest
import torch

from envrl.agents.losses import clipped_policy_loss, k3_divergence


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


def test_k3_by_hand():
    # policy 0.5, reference 0.25: 0.5 - log 0.5 - 1
    got = k3_divergence(torch.tensor([math.log(0.5)]), torch.tensor([math.log(0.25)]))
    assert got.item() == pytest.approx(0.5 - math.log(0.5) - 1, rel=1e-6)


def test_k3_is_the_divergence_in_expectation():
    p, q = torch.tensor([0.7, 0.2, 0.1]), torch.tensor([0.3, 0.3, 0.4])
    estimate = (p * k3_divergence(p.log(), q.log())).sum()
    assert estimate.item() == pytest.approx((p * (p / q).log()).sum().item(), rel=1e-5)
