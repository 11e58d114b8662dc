from dataclasses import asdict

import pytest

from envrl.agents.config import TrainConfig
from envrl.agents.study.arms import ARMS, arm_settings

BASE = TrainConfig(
    state_prediction=0.2, inverse_dynamics=0.1, sft_state_prediction=0.5, sft_inverse_dynamics=0.4
)
WEIGHTS = ("state_prediction", "inverse_dynamics", "sft_state_prediction", "sft_inverse_dynamics")


@pytest.mark.parametrize(
    "arm, weights, targets",
    [
        ("rl", (0, 0, 0, 0), "true"),
        ("envrl", (0.2, 0.1, 0.5, 0.4), "true"),
        ("sp", (0.2, 0, 0.5, 0), "true"),
        ("id", (0, 0.1, 0, 0.4), "true"),
        ("placebo", (0.2, 0.1, 0.5, 0.4), "shuffled"),
    ],
)
def test_arms_differ_in_objectives_alone(arm, weights, targets):
    settings = arm_settings(arm, BASE)
    assert tuple(getattr(settings, name) for name in WEIGHTS) == weights
    assert settings.aux_targets == targets
    changed = {k for k, v in asdict(settings).items() if v != asdict(BASE)[k]}
    assert changed <= {*WEIGHTS, "aux_targets"}


def test_arms_may_differ_in_reinforcement_alone():
    settings = arm_settings("rl", BASE, "reinforcement")
    assert tuple(getattr(settings, name) for name in WEIGHTS) == (0, 0, 0.5, 0.4)


def test_an_arm_without_weights_is_refused():
    with pytest.raises(ValueError, match=r"'sp'.*--train\.state-prediction or --train\.sft-state-prediction"):
        arm_settings("sp", TrainConfig(state_prediction=0, sft_state_prediction=0))
    with pytest.raises(ValueError, match=r"set --train\.state-prediction above"):
        arm_settings("sp", TrainConfig(state_prediction=0), "reinforcement")
    arm_settings("rl", TrainConfig(state_prediction=0, sft_state_prediction=0))


def test_the_controls_of_the_objectives_are_there():
    assert list(ARMS) == ["rl", "envrl", "sp", "id", "placebo"]
