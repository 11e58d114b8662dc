"""The arms of a study: which objectives a run learns from, all else being equal."""

from dataclasses import dataclass, replace
from typing import Literal

from envrl.agents.config import TrainConfig

ArmName = Literal["rl", "envrl", "sp", "id", "placebo"]
#: in which stages an arm differs from the others
Stages = Literal["both", "reinforcement"]


@dataclass(frozen=True)
class Arm:
    """What an arm learns from besides the reward.

    title: in words. state_prediction, inverse_dynamics: whether it has the objective. shuffled: with permuted next
    observations, which leaves the amount of training and takes the meaning.
    """

    title: str
    state_prediction: bool
    inverse_dynamics: bool
    shuffled: bool = False


ARMS: dict[ArmName, Arm] = {
    "rl": Arm("RL only", state_prediction=False, inverse_dynamics=False),
    "envrl": Arm("EnvRL", state_prediction=True, inverse_dynamics=True),
    "sp": Arm("state prediction only", state_prediction=True, inverse_dynamics=False),
    "id": Arm("inverse dynamics only", state_prediction=False, inverse_dynamics=True),
    "placebo": Arm("shuffled placebo", state_prediction=True, inverse_dynamics=True, shuffled=True),
}


def arm_settings(name: ArmName, base: TrainConfig, stages: Stages = "both") -> TrainConfig:
    """The settings of a run in an arm: those of ``base`` but for the objectives.

    Args:
        name: the arm.
        base: settings that all arms share, with the weights that objectives have where an arm has them.
        stages: ``both`` sets imitation and reinforcement; ``reinforcement`` leaves imitation as in ``base``, so that
            all arms begin reinforcement with the same model.

    Raises:
        ValueError: ``base`` gives an objective of the arm no weight in any of these stages.
    """
    arm = ARMS[name]
    reinforcing, imitating = bool(base.updates), bool(base.sft_updates) and stages == "both"
    weights: dict[str, float] = {}
    for objective, wanted in (
        ("state_prediction", arm.state_prediction),
        ("inverse_dynamics", arm.inverse_dynamics),
    ):
        names = [objective] * reinforcing + [f"sft_{objective}"] * imitating
        if not wanted:
            weights |= dict.fromkeys(names, 0.0)
        elif not any(getattr(base, key) for key in names):
            options = " or ".join("--train." + key.replace("_", "-") for key in names) or "--train.updates"
            raise ValueError(
                f"the arm {name!r} has {objective.replace('_', ' ')}, but the settings give it no weight; "
                f"set {options} above 0"
            )
    return replace(base, aux_targets="shuffled" if arm.shuffled else base.aux_targets, **weights)  # type: ignore[arg-type]
