"""Comparisons and pass@k on evaluations made by hand."""

import math

import pytest

from envrl.agents.comparison import compare
from envrl.agents.evaluate import Evaluation
from envrl.agents.statistics import mcnemar
from envrl.envs.errors import WrongUse


def evaluation(**outcomes: list[bool]) -> Evaluation:
    solved = [s for samples in outcomes.values() for s in samples]
    return Evaluation(len(solved), sum(solved), 0.0, 1.0, 0.0, 10.0, 0, {}, outcomes)


KINDS = {"a": "heat", "b": "heat", "c": "cool", "d": "cool"}


def test_two_models_on_the_same_tasks():
    first = evaluation(a=[True], b=[True], c=[True], d=[False])
    second = evaluation(a=[True], b=[False], c=[False], d=[False])
    result = compare(first, second, KINDS)
    assert (result.overall.tasks, result.overall.mean) == (4, 0.5)
    assert result.overall.low == 0 and result.overall.high == 1  # of differences 0 1 1 0
    assert (result.only_first, result.only_second) == (2, 0)
    assert result.test.startswith("McNemar") and result.p_value == mcnemar(2, 0) == 0.5
    assert {kind: d.mean for kind, d in result.by_type.items()} == {"cool": 0.5, "heat": 0.5}
    turned = compare(second, first, KINDS)
    assert turned.overall.mean == -0.5 and turned.p_value == result.p_value


def test_shares_of_several_samples_are_compared_by_task():
    first = evaluation(a=[True, True], b=[True, False])
    second = evaluation(a=[True, False], b=[False, False])
    result = compare(first, second, {})
    assert result.overall.mean == 0.5 and result.overall.low == result.overall.high == 0.5
    assert result.test == "sign flips" and result.p_value == pytest.approx(
        0.5, abs=0.02
    )  # 2 of 4 ways to flip
    assert result.by_type == {}


def test_tasks_that_one_of_them_lacks_are_left_out():
    result = compare(evaluation(a=[True], b=[True]), evaluation(b=[True], c=[False]), KINDS)
    assert result.overall.tasks == 1 and result.overall.mean == 0
    with pytest.raises(WrongUse, match="no task in common"):
        compare(evaluation(a=[True]), evaluation(b=[True]), KINDS)


def test_pass_at_k_is_a_mean_over_tasks():
    result = evaluation(a=[True, False, False, False], b=[False] * 4, c=[True])
    assert result.pass_at(1) == pytest.approx((0.25 + 0 + 1) / 3)
    assert result.pass_at(2) == pytest.approx(
        0.5 / 2
    )  # only a and b have two; a pair of a's holds the right one
    assert result.pass_at(4) == pytest.approx(1 / 2)
    assert math.isnan(result.pass_at(5))


def test_an_evaluation_survives_json():
    result = evaluation(a=[True, False])
    assert Evaluation.from_dict({**result.to_dict(), "kinds": {}, "settings": {}}) == result
