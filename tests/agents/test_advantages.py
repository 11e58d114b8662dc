import numpy as np
import pytest

from envrl.agents.advantages import (
    AdvantageConfig,
    EpisodeBatch,
    discounted_returns,
    gigpo,
    group_relative,
    grpo,
)


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


@pytest.mark.parametrize("algorithm", [grpo, gigpo])
def test_empty_batch(algorithm):
    assert algorithm(EpisodeBatch([], [], []), AdvantageConfig()) == []
