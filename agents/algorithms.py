"""The algorithms by name: an advantage function and what its paper says of the loss and of sampling."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from envrl.agents import advantages
from envrl.agents.advantages import AdvantageConfig, EpisodeBatch
from envrl.agents.choices import Algorithm, Reduction


@dataclass(frozen=True)
class Recipe:
    """An algorithm.

    advantages: its advantage function. reduction, clip_high, redraws: its own choices where the run's settings make
    none (see `envrl.agents.config`). critic: whether it learns a value of states. compares_groups: whether it learns
    nothing from a task with a single episode.
    """

    advantages: Callable[[EpisodeBatch, AdvantageConfig], list[np.ndarray]]
    reduction: Reduction = "token"
    clip_high: float | None = None
    redraws: int = 0
    critic: bool = False
    compares_groups: bool = True


ALGORITHMS: dict[Algorithm, Recipe] = {
    "grpo": Recipe(advantages.grpo),
    "gigpo": Recipe(advantages.gigpo),
    "rloo": Recipe(advantages.rloo),
    "dr_grpo": Recipe(advantages.dr_grpo, reduction="constant"),
    # arXiv 2503.14476: clip-higher 0.28, token-level loss, groups without information are drawn anew
    "dapo": Recipe(advantages.grpo, clip_high=0.28, redraws=3),
    "reinforce++": Recipe(advantages.reinforce_plus_plus, compares_groups=False),
    "reinforce++_baseline": Recipe(advantages.reinforce_plus_plus_baseline),
    "ppo": Recipe(advantages.ppo, critic=True, compares_groups=False),
}
