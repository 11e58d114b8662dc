"""A trained checkpoint as a policy of one episode at a time (batched play is `envrl.agents.rollout`)."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from envrl.agents.checkpoint import model_folder, run_settings
from envrl.agents.models import load_model
from envrl.agents.policies.constrained import ConstrainedPolicy
from envrl.agents.prompts import ActionMenu, EpisodeFormat


class TrainedPolicy:
    """Plays a run or checkpoint of `envrl train`; a `Policy` like the scripted ones.

    Args:
        path: the run, a checkpoint of it, or a model folder.
        temperature: of the softmax; 0 takes the most probable action.

    Raises:
        DataNotFound: there is no model.
    """

    def __init__(self, path: Path, temperature: float = 0.4) -> None:
        lm = load_model(str(model_folder(path)))
        menu = ActionMenu(tuple(run_settings(path).get("exclude_actions", ())))
        lm.model.eval()
        self._policy = ConstrainedPolicy(lm, EpisodeFormat(lm), menu, temperature)

    def begin(self, env: gymnasium.Env[str, str], rng: np.random.Generator) -> None:
        """Take up the episode."""
        self._session = self._policy.begin([rng])
        self._opened = False

    def act(self, observation: str, info: dict[str, Any]) -> str:
        """The next action."""
        format, goal = self._policy.format, info.get("goal", "")
        if self._opened:
            new = [*format.observation(observation), *format.cue(goal)]
        else:
            new = format.opening(goal, observation)
        self._opened = True
        (choice,) = self._session.choose([new], [info["admissible_actions"]])
        assert choice is not None  # the row acts
        return choice.text
