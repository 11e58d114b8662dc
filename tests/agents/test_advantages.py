import numpy as np
import pytest

from envrl.agents.advantages import (
    AdvantageConfig,
    EpisodeBatch,
    discounted_returns,
    dr_grpo,
    gae,
    gigpo,
    group_relative,
    grpo,
    ppo,
    reinforce_plus_plus,
    reinforce_plus_plus_baseline,
    rloo,
    value_targets,
    whiten,
)
from envrl.agents.algorithms import ALGORITHMS


def test_discounted_returns_by_hand():
    # 1 + 0.5 * (0 + 0.5 * 4) = 2; 0 + 0.5 * 4 = 2; 4
    assert discounted_returns([1, 0, 4], 0.5).tolist() == [2, 2, 4]


def test_group_relative_by_hand():
    # group a: 1, 3 -> mean 2, deviation 1; group b: one member; group c: all equal
    values = group_relative([1, 3, 7, 5, 5], ["a", "a", "b", "c", "c"])
    assert values.tolist() == [-1, 1, 0, 0, 0]
    assert group_relative([0, 4], [0, 0], normalize_std=False).tolist() == [-2, 2]


def test_grpo_by_hand():
    # returns 0.5 (won in two steps), 1 (won in one), 0, 0 -> mean 0.375, deviation sqrt(0.171875)
    batch = EpisodeBatch([[0, 1], [1], [0, 0], [0]], [0, 0, 0, 0], [["x", "y"], ["x"], ["x", "x"], ["z"]])
    advantages = grpo(batch, AdvantageConfig(gamma=0.5))
    deviation = np.sqrt(0.171875)
    expected = [0.125 / deviation, 0.625 / deviation, -0.375 / deviation, -0.375 / deviation]
    for got, want, steps in zip(advantages, expected, [2, 1, 2, 1], strict=True):
        np.testing.assert_allclose(got, np.full(steps, want))


def test_single_episode_of_a_group_has_advantage_zero():
    batch = EpisodeBatch([[1.0], [0.0, 1.0]], [0, 1], [["a"], ["b", "c"]])
    assert [a.tolist() for a in grpo(batch, AdvantageConfig())] == [[0.0], [0.0, 0.0]]


def test_gigpo_by_hand():
    # Episode advantages are those of GRPO. Anchor "x" occurs in steps with returns 0.5, 1, 0, 0:
    # mean 0.375, deviation sqrt(0.171875). "y" and "z" occur once: step advantage 0.
    batch = EpisodeBatch([[0, 1], [1], [0, 0], [0]], [0, 0, 0, 0], [["x", "y"], ["x"], ["x", "x"], ["z"]])
    config = AdvantageConfig(gamma=0.5, step_gamma=0.5, step_weight=2.0)
    episode = grpo(batch, config)
    deviation = np.sqrt(0.171875)
    step = [[0.125 / deviation, 0], [0.625 / deviation], [-0.375 / deviation] * 2, [0]]
    for got, e, s in zip(gigpo(batch, config), episode, step, strict=True):
        np.testing.assert_allclose(got, e + 2.0 * np.array(s))


def test_gigpo_compares_within_a_group_only():
    batch = EpisodeBatch([[1.0], [0.0]], [0, 1], [["same"], ["same"]])
    assert [a.tolist() for a in gigpo(batch, AdvantageConfig())] == [[0.0], [0.0]]


def test_leave_one_out_by_hand():
    # the others' means are 4, 3 and 2
    assert group_relative([1, 3, 5], [0] * 3, False, leave_one_out=True).tolist() == pytest.approx([-3, 0, 3])


def test_rloo_by_hand():
    # returns 1, 0, 0.5 (won in two steps): the others' means are 0.25, 0.75 and 0.5
    batch = EpisodeBatch([[1], [0], [0, 1]], [0, 0, 0], [["x"], ["x"], ["x", "y"]])
    assert [a.tolist() for a in rloo(batch, AdvantageConfig(gamma=0.5))] == [[0.75], [-0.75], [0.0, 0.0]]


def test_dr_grpo_does_not_divide():
    # returns 1, 0, 0, 0: mean 0.25
    batch = EpisodeBatch([[1], [0], [0], [0]], [0] * 4, [["x"]] * 4)
    assert [a.tolist() for a in dr_grpo(batch, AdvantageConfig())] == [[0.75], [-0.25], [-0.25], [-0.25]]


def test_options_reach_the_step_advantage_of_gigpo():
    # episode: returns 1, 0, others' means 0, 1; steps of anchor "x": the same
    batch = EpisodeBatch([[1], [0]], [0, 0], [["x"], ["x"]])
    config = AdvantageConfig(normalize_std=False, leave_one_out=True)
    assert [a.tolist() for a in gigpo(batch, config)] == [[2.0], [-2.0]]


def test_whiten_by_hand():
    assert whiten(np.array([1.0, 3.0])).tolist() == [-1, 1]
    assert whiten(np.array([1.0, 5.0]), scale=False).tolist() == [-2, 2]
    assert whiten(np.array([4.0, 4.0])).tolist() == [0, 0]


def test_reinforce_plus_plus_by_hand():
    # returns from each step on: 0.5, 1 and 0; mean 0.5, deviation sqrt(1/6)
    batch = EpisodeBatch([[0, 1], [0]], [0, 1], [["x", "y"], ["x"]])
    first, second = reinforce_plus_plus(batch, AdvantageConfig(step_gamma=0.5))
    np.testing.assert_allclose(first, [0, 0.5 * np.sqrt(6)])
    np.testing.assert_allclose(second, [-0.5 * np.sqrt(6)])


def test_reinforce_plus_plus_with_baseline_by_hand():
    # against the group: 0.5, -0.5 | 0, 0; deviation over the batch sqrt(0.5 / 4)
    batch = EpisodeBatch([[1], [0], [1], [1]], [0, 0, 1, 1], [["x"]] * 4)
    got = np.concatenate(reinforce_plus_plus_baseline(batch, AdvantageConfig()))
    np.testing.assert_allclose(got, [np.sqrt(2), -np.sqrt(2), 0, 0])


def test_gae_by_hand():
    # errors: 0 + 0.5 * 0.25 - 0.5 = -0.375, then 1 + 0 - 0.25 = 0.75; -0.375 + 0.5 * 0.5 * 0.75 = -0.1875
    assert gae([0, 1], np.array([0.5, 0.25, 0.0]), 0.5, 0.5).tolist() == [-0.1875, 0.75]
    # a last state that is worth 2: 1 + 0.5 * 2 - 0.25 = 1.75
    assert gae([1], np.array([0.25, 2.0]), 0.5, 0.5).tolist() == [1.75]


@pytest.mark.parametrize(("lam", "first"), [(0.0, 0.5 * 0.25 - 0.5), (1.0, 0.5 - 0.5)])
def test_gae_between_one_step_error_and_return(lam, first):
    assert gae([0, 1], np.array([0.5, 0.25, 0.0]), 0.5, lam)[0] == first


def test_ppo_by_hand():
    # advantages before normalisation -0.1875, 0.75 (see above): mean 0.28125, deviation 0.46875
    batch = EpisodeBatch([[0, 1]], [0], [["x", "y"]], [np.array([0.5, 0.25, 0.0])])
    config = AdvantageConfig(step_gamma=0.5, gae_lambda=0.5)
    np.testing.assert_allclose(ppo(batch, config)[0], [-1, 1])
    np.testing.assert_allclose(value_targets(batch, config)[0], [0.3125, 1.0])


def test_ppo_without_values_says_so():
    with pytest.raises(ValueError, match="critic"):
        ppo(EpisodeBatch([[1.0]], [0], [["x"]]), AdvantageConfig())


@pytest.mark.parametrize("recipe", ALGORITHMS.values(), ids=ALGORITHMS)
def test_empty_batch(recipe):
    assert recipe.advantages(EpisodeBatch([], [], []), AdvantageConfig()) == []


@pytest.mark.parametrize("recipe", ALGORITHMS.values(), ids=ALGORITHMS)
def test_one_advantage_for_each_step(recipe):
    values = [np.zeros(3), np.zeros(2), np.zeros(4)]
    batch = EpisodeBatch([[0, 1], [0], [0, 0, 0]], [0, 0, 1], [["x", "y"], ["x"], ["x", "z", "z"]], values)
    advantages = recipe.advantages(batch, AdvantageConfig())
    assert [a.shape for a in advantages] == [(2,), (1,), (3,)]
