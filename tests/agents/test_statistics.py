import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envrl.agents.statistics import (
    bootstrap_interval,
    crossed_bootstrap_interval,
    mcnemar,
    pass_at_k,
    sign_flip_test,
    success_interval,
    wilson_interval,
)


def test_wilson_of_ten_out_of_twenty():
    # z = 1.959964, z^2 = 3.841459: centre (0.5 + 0.096036) / 1.192073, half 1.644167 * sqrt(0.0125 + 0.0024009)
    low, high = wilson_interval(10, 20)
    assert low == pytest.approx(0.299298, abs=1e-6)
    assert high == pytest.approx(0.700702, abs=1e-6)


def test_wilson_at_the_ends():
    low, high = wilson_interval(0, 10)  # the upper end is z^2 / (n + z^2)
    assert low == pytest.approx(0, abs=1e-12) and high == pytest.approx(3.841459 / 13.841459, abs=1e-6)
    assert wilson_interval(0, 0) == (0, 1)


def test_a_bootstrap_of_two_values_takes_their_extremes():
    # means 0, 1/2, 1 with probabilities 1/4, 1/2, 1/4: both tails of 2.5 % lie in the outer ones
    assert bootstrap_interval([0, 1]) == (0, 1)
    # at a confidence of 40 % both ends lie in the middle half
    assert bootstrap_interval([0, 1], confidence=0.4) == (0.5, 0.5)
    assert all(map(math.isnan, bootstrap_interval([])))


def test_a_bootstrap_comes_close_to_the_normal_interval():
    values = [1.0] * 120 + [0.0] * 180
    half = 1.96 * math.sqrt(0.4 * 0.6 / 300)
    low, high = bootstrap_interval(values)
    assert low == pytest.approx(0.4 - half, abs=0.006) and high == pytest.approx(0.4 + half, abs=0.006)


def test_rows_and_columns_are_resampled_apart():
    # rows differ, columns do not: only which rows were drawn matters, as with two values
    assert crossed_bootstrap_interval([[0] * 50, [1] * 50]) == (0, 1)
    assert crossed_bootstrap_interval([[0, 1], [0, 1]]) == (0, 1)
    # no difference anywhere, no width
    assert crossed_bootstrap_interval([[0.3, 0.3]] * 3) == pytest.approx((0.3, 0.3))
    wide = np.subtract(*crossed_bootstrap_interval([[0, 0, 1, 1], [0, 1, 1, 1]])[::-1])
    narrow = np.subtract(*bootstrap_interval([0, 0.5, 1, 1])[::-1])
    assert wide > narrow


def test_samples_of_one_task_are_not_independent():
    outcomes = [[True] * 8, [False] * 8] * 10
    assert success_interval(outcomes, "wilson") == wilson_interval(80, 160)
    low, high = success_interval(outcomes)
    assert high - low > 2 * np.subtract(*wilson_interval(80, 160)[::-1])
    assert success_interval([[True], [False], []]) == wilson_interval(1, 2)
    assert success_interval([], "bootstrap") == (0, 1)


def test_pass_at_k_by_counting():
    # of 4 samples 1 is right: of the 6 pairs 3 hold it
    assert pass_at_k(4, 1, 2) == 0.5
    assert pass_at_k(4, 1, 1) == 0.25
    assert pass_at_k(4, 0, 4) == 0 and pass_at_k(4, 1, 4) == 1
    assert pass_at_k(4, 3, 2) == 1  # any pair holds a right one
    with pytest.raises(ValueError, match="k = 5 of 4"):
        pass_at_k(4, 2, 5)


def test_mcnemar_by_the_binomial():
    # 1 of 6 discordant tasks: 2 * (1 + 6) / 64
    assert mcnemar(1, 5) == pytest.approx(14 / 64) == mcnemar(5, 1)
    assert mcnemar(0, 6) == pytest.approx(2 / 64)
    assert mcnemar(3, 3) == 1 and mcnemar(0, 0) == 1


@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 5))
def test_flipping_signs_of_whole_tasks_is_mcnemar(first, second, same):
    p = sign_flip_test([1] * first + [-1] * second + [0] * same, resamples=20_000)
    assert p == pytest.approx(mcnemar(first, second), abs=0.02)


def test_a_clear_difference_of_rates_is_found_and_no_difference_is_not():
    assert sign_flip_test([0.25, 0.5, 0.75] * 5) < 0.001
    assert sign_flip_test([0.25, -0.25] * 10) > 0.9
    assert sign_flip_test([]) == 1
