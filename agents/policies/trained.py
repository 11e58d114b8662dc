"""A trained checkpoint as a policy of one episode at a time (batched play is `envrl.agents.rollout`)."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from envrl.agents.checkpoint import model_folder, run_settings
from envrl.agents.models import load_model
from envrl.agents.policies.settings import PolicySettings, make_format, make_policy
from envrl.agents.transcripts import Choice


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
        lm.model.eval()
        settings = PolicySettings.of(run_settings(path))
        self._policy = make_policy(lm, make_format(lm, settings), settings, temperature)

    def begin(self, env: gymnasium.Env[str, str], rng: np.random.Generator) -> None:
        """Take up the episode."""
        self._session, self._transcript = self._policy.begin([rng]), self._policy.transcript()
        self._choice: Choice | None = None

    def act(self, observation: str, info: dict[str, Any]) -> str:
        """The next action."""
        goal, offer = info.get("goal", ""), self._policy.menu.offer(info)
        if self._choice is None:
            self._transcript.begin(goal, observation, offer)
        else:
            self._transcript.turn(self._choice, observation, goal, offer)
        (choice,) = self._session.choose([self._transcript.prompt], [offer])
        assert isinstance(choice, Choice)  # a local policy has no faults
        self._choice = choice
        return choice.text
