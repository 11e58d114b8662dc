import math

import pytest
import torch

from envrl.agents.optimizers import Optimizers, learning_rate_factor, norm, take_gradients


def test_learning_rate_by_hand():
    assert learning_rate_factor(0, 10, 4, 0.1) == pytest.approx(0.25)
    assert learning_rate_factor(5, 10, 4, 0.1) == pytest.approx(0.1 + 0.9 * 0.5)
    assert learning_rate_factor(10, 10, 4, 0.1) == pytest.approx(0.1)
    assert learning_rate_factor(3, 10, 0, 1.0) == 1.0


def test_matrices_go_to_muon_and_embeddings_and_vectors_to_adamw(lm):
    optimizers = Optimizers(lm.model, lr=0.5, muon_lr=0.25)
    adamw, muon = optimizers.state_dict()
    names = [name for name, _ in lm.model.named_parameters()]
    matrices = [n for n in names if "proj" in n]
    assert len(muon["param_groups"][0]["params"]) == len(matrices)
    assert len(adamw["param_groups"][0]["params"]) == len(names) - len(matrices)
    assert len(Optimizers(lm.model, lr=0.5).state_dict()) == 1


def test_a_step_scales_both_rates_and_clears_gradients(lm):
    optimizers = Optimizers(lm.model, lr=1e-2, muon_lr=1e-2)
    for p in optimizers.parameters:
        p.grad = torch.ones_like(p)
    optimizers.step(0.5)
    assert [s["param_groups"][0]["lr"] for s in optimizers.state_dict()] == [5e-3, 5e-3]
    assert all(p.grad is None for p in optimizers.parameters)


def test_gradients_are_taken_and_measured():
    a, b = torch.zeros(2, requires_grad=True), torch.zeros(1, requires_grad=True)
    a.grad = torch.tensor([3.0, 0.0])
    taken = take_gradients([a, b])
    assert a.grad is None and taken[1].tolist() == [0.0]
    assert norm([taken[0], torch.tensor([4.0])]) == pytest.approx(5.0)
    assert math.isclose(norm(taken), 3.0)
