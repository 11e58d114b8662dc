from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from learning import episodes_of, learner_of

from envrl.agents.algorithms import ALGORITHMS
from envrl.agents.config import TrainConfig
from envrl.agents.heads import Heads
from envrl.agents.optimizers import Pocket, norm, take_gradients
from envrl.agents.policy_gradient import policy_backward
from envrl.agents.samples import Recorded, make_samples
from envrl.agents.update import policy_update

CONFIG = TrainConfig(algorithm="grpo", minibatches=2, aux_episodes=2, aux_rows=4, batch_tokens=1500, lr=1e-3)


@pytest.fixture(scope="module")
def played(expert_episodes):
    return expert_episodes


def update(make_lm, played, config, *, factor=1.0, heads=None, recorded=(), share=0.0, samples=None):
    """Weights after one update of a fresh model, and its figures."""
    lm = make_lm()
    learner = learner_of(lm, config, heads(lm) if heads else None)
    samples = samples or make_samples(episodes_of(lm, played), config, lm, learner.heads)
    metrics = policy_update(
        learner,
        samples,
        recorded,
        aux_factor=factor,
        recorded_share=share,
        lr_factor=1.0,
        rng=np.random.default_rng(0),
    )
    return [p.detach().clone() for p in lm.model.parameters()], metrics


def equal(a, b):
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


def test_weight_zero_is_reinforcement_alone_bit_by_bit(make_lm, played):
    """Whatever else is set; against an update written out here that knows of no objectives."""
    lm = make_lm()
    learner = learner_of(lm, CONFIG)
    samples = make_samples(episodes_of(lm, played), CONFIG, lm, learner.heads)
    order = np.random.default_rng(0).permutation(len(samples))
    for part in (order[0::2], order[1::2]):
        chosen = [samples[i] for i in part]
        policy_backward(learner, chosen, [s for s in chosen if s.informative])
        gradients = take_gradients(learner.optimizers.parameters)
        scale = min(1.0, CONFIG.max_grad_norm / (norm(gradients) + 1e-9))
        for parameter, gradient in zip(learner.optimizers.parameters, gradients, strict=True):
            parameter.grad = gradient * scale
        learner.optimizers.step(1.0)
    alone = [p.detach().clone() for p in lm.model.parameters()]

    adapter = partial(Heads.build, critic=False, adapter=True, rank=4, seed=0)
    for mode in ("pass", "inline", "rows"):
        for settings in ({"aux_targets": "shuffled"}, {"aux_loss": "clipped_mae"}, {"aux_cap": 0.0}):
            config = replace(CONFIG, aux_mode=mode, **settings)
            assert equal(alone, update(make_lm, played, config, factor=0.0)[0])
            zero = replace(config, state_prediction=0.0, inverse_dynamics=0.0)
            assert equal(alone, update(make_lm, played, zero, factor=0.0, heads=adapter)[0])
            assert equal(alone, update(make_lm, played, zero, factor=1.0)[0])
    assert not equal(alone, update(make_lm, played, CONFIG)[0])


def test_divergence_and_entropy_count_where_all_advantages_are_zero(make_lm, played):
    """A group without differences has no policy gradient; the bonus draws on it all the same."""
    lm = make_lm()
    config = replace(CONFIG, state_prediction=0.0, inverse_dynamics=0.0)
    samples = make_samples(episodes_of(lm, played), config, lm, Heads())
    flat = [replace(s, advantages=0.0 * s.advantages) for s in samples]
    before = list(lm.model.parameters())
    assert equal(before, update(make_lm, played, config, samples=flat)[0])
    weights, figures = update(make_lm, played, replace(config, entropy=0.1), samples=flat)
    assert not equal(before, weights) and figures["policy/entropy"] > 0


def test_a_minibatch_without_samples_makes_no_step(make_lm, played):
    """There may be fewer of them; a step of the optimiser with no gradient would move weights by its momentum."""
    lm = make_lm()
    config = replace(CONFIG, aux_cap=0.0, minibatches=1)
    few = make_samples(episodes_of(lm, played), config, lm, Heads())[:1]
    assert equal(
        update(make_lm, played, config, samples=few)[0],
        update(make_lm, played, replace(config, minibatches=3), samples=few)[0],
    )


def test_epochs_pass_over_the_same_episodes_again(make_lm, played):
    """Two passes of one step are two updates of one step whose advantages and old log-probabilities stay."""
    config = replace(CONFIG, minibatches=1, aux_episodes=0, aux_rows=0)
    off = {"state_prediction": 0.0, "inverse_dynamics": 0.0}
    twice, figures = update(make_lm, played, replace(config, epochs=2, **off))
    lm = make_lm()
    learner = learner_of(lm, replace(config, **off))
    samples = make_samples(episodes_of(lm, played), config, lm, learner.heads)
    rng = np.random.default_rng(0)
    passes = [
        policy_update(learner, samples, (), aux_factor=1.0, recorded_share=0.0, lr_factor=1.0, rng=rng)
        for _ in range(2)
    ]
    assert equal(twice, lm.model.parameters())
    assert passes[1]["loss/policy"] != passes[0]["loss/policy"]
    assert figures["loss/policy"] == pytest.approx(sum(p["loss/policy"] for p in passes) / 2)


def test_inline_is_the_same_update_as_a_pass_of_its_own(make_lm, played):
    config = replace(CONFIG, minibatches=1, aux_cap=0.0, aux_episodes=0, max_grad_norm=1e9)
    apart, figures = update(make_lm, played, config)
    inline, inline_figures = update(make_lm, played, replace(config, aux_mode="inline"))
    for a, b in zip(apart, inline, strict=True):
        torch.testing.assert_close(a, b, atol=2e-5, rtol=1e-4)
    for key in ("loss/policy", "loss/state_prediction", "loss/inverse_dynamics"):
        assert inline_figures[key] == pytest.approx(figures[key], rel=1e-4)


def test_inline_measures_the_cap_once_and_keeps_to_it(make_lm, played):
    config = replace(CONFIG, minibatches=1, aux_mode="inline", aux_episodes=0)
    measured = update(make_lm, played, config)[1]
    apart = update(make_lm, played, replace(config, aux_mode="pass"))[1]
    for key in ("grad/policy", "grad/objectives", "aux/weight"):
        assert measured[key] == pytest.approx(apart[key], rel=1e-3)
    assert measured["aux/weight"] < 1.0  # it binds here
    both = update(make_lm, played, replace(config, minibatches=2))[1]
    first = update(make_lm, played, replace(config, minibatches=2, aux_mode="pass"))[1]
    assert both["loss/state_prediction"] == pytest.approx(first["loss/state_prediction"], rel=0.05)


@pytest.mark.parametrize("mode", ["pass", "rows"])
def test_the_cap_holds(make_lm, played, mode):
    config = replace(CONFIG, minibatches=1, aux_mode=mode, aux_cap=0.1)
    figures = update(make_lm, played, config)[1]
    bound = min(figures["grad/policy"], config.max_grad_norm)
    assert figures["aux/weight"] * figures["grad/objectives"] == pytest.approx(0.1 * bound, rel=1e-4)


@pytest.mark.parametrize(
    ("off", "loss"),
    [("state_prediction", "loss/state_prediction"), ("inverse_dynamics", "loss/inverse_dynamics")],
)
@pytest.mark.parametrize("mode", ["pass", "inline", "rows"])
def test_either_objective_can_be_switched_off(make_lm, played, mode, off, loss):
    figures = update(make_lm, played, replace(CONFIG, aux_mode=mode, **{off: 0.0}))[1]
    other = {"loss/state_prediction", "loss/inverse_dynamics"} - {loss}
    assert loss not in figures and other <= set(figures)


def test_settings_of_the_objectives_change_what_is_learned(make_lm, played):
    base = replace(CONFIG, aux_cap=0.0)
    seen = [update(make_lm, played, base)[0]]
    for settings in (
        {"aux_mode": "rows"},
        {"aux_mode": "rows", "aux_history": 0},
        {"aux_loss": "clipped_mae", "aux_mae_clip": 1.0},
        {"aux_entropy_share": 0.3},
        {"aux_by_return": True},
        {"aux_targets": "shuffled"},
    ):
        weights = update(make_lm, played, replace(base, **settings))[0]
        assert not any(equal(weights, other) for other in seen), settings
        seen.append(weights)


def test_recorded_episodes_take_their_share(make_lm, played):
    lm = make_lm()
    config = replace(CONFIG, aux_episodes=4, minibatches=1)
    learner = learner_of(lm, config)
    samples = make_samples(episodes_of(lm, played), config, lm, learner.heads)
    recorded = [Recorded(s.transitions, s.tokens, s.weights) for s in samples]
    for share, count in ((0.0, 0), (0.25, 1), (0.5, 2), (1.0, 4)):
        chosen = learner.objectives.episodes(samples, recorded, share, np.random.default_rng(0))
        assert len(chosen) == 4
        assert sum(isinstance(e, Recorded) for e in chosen) == count


def test_an_adapter_leaves_the_output_layer_alone(make_lm, played):
    lm = make_lm()
    output = lm.model.get_output_embeddings()
    output.weight = torch.nn.Parameter(output.weight.detach().clone())  # `tiny` shares it with its input
    lm.model.config.tie_word_embeddings = False
    config = replace(CONFIG, aux_head="adapter", state_prediction=1.0)
    for rank in (0, 4):
        heads = Heads.build(lm, critic=False, adapter=True, rank=rank, seed=0)
        learner = learner_of(lm, config, heads)
        samples = make_samples(episodes_of(lm, played), config, lm, heads)
        learner.objectives.separate(samples[:2], np.random.default_rng(0))
        assert output.weight.grad is None
        assert all(p.grad is not None for p in lm.backbone().layers.parameters())
        assert any(p.grad.abs().max() > 0 for p in heads.parameters())
        lm.model.zero_grad()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_updates(make_lm, played, algorithm):
    config = replace(CONFIG, algorithm=algorithm)
    heads = partial(Heads.build, critic=ALGORITHMS[algorithm].critic, adapter=False, rank=0, seed=0)
    weights, figures = update(make_lm, played, config, heads=heads)
    assert all(torch.isfinite(w).all() for w in weights)
    assert not equal(weights, [p.detach() for p in make_lm().model.parameters()])
    assert ("loss/value" in figures) == (algorithm == "ppo")


def test_a_critic_learns_the_returns(make_lm, played):
    """States near the end of a won episode are worth more than those of a lost one."""
    config = replace(
        CONFIG, algorithm="ppo", state_prediction=0.0, inverse_dynamics=0.0, value_clip=0.0, lr=3e-3
    )
    lm = make_lm()
    learner = learner_of(lm, config, Heads.build(lm, critic=True, adapter=False, rank=0, seed=0))
    episodes = episodes_of(lm, played)
    losses = []
    for number in range(12):
        samples = make_samples(episodes, config, lm, learner.heads)
        figures = policy_update(
            learner,
            samples,
            (),
            aux_factor=0.0,
            recorded_share=0.0,
            lr_factor=1.0,
            rng=np.random.default_rng(number),
        )
        losses.append(figures["loss/value"])
    assert losses[-1] < 0.5 * losses[0]
    won, lost = samples[0], samples[2]
    assert won.values[-1] > lost.values[-1]


def test_a_pocket_keeps_gradients_apart():
    weight = torch.nn.Parameter(torch.tensor([2.0]))
    pocket = Pocket([weight])
    (3 * weight).sum().backward()
    with pocket:
        (5 * weight).sum().backward()
        (5 * weight).sum().backward()
    (3 * weight).sum().backward()
    assert weight.grad.item() == 6.0
    assert pocket.take()[0].item() == 10.0
