"""What a rollout asks of a policy that plays many episodes as one batch."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from envrl.agents.models import LanguageModel
from envrl.agents.prompts import ActionMenu, Offer
from envrl.agents.transcripts import Choice, Transcript
from envrl.wrappers.faults import Fault


class Session(Protocol):
    """Episodes in flight, one row each."""

    def choose(
        self, prompts: Sequence[Any], offers: Sequence[Offer | None]
    ) -> Sequence[Choice | Fault | None]:
        """One action for each row that acts.

        Args:
            prompts: what each row's transcript shows.
            offers: what each row may do; None for a row that does not act.

        Returns:
            The choices; a `Fault` for a row whose action could not be had; None for rows that do not act.
        """

    def keep(self, rows: list[int]) -> None:
        """Drop all rows but these."""


class ModelPolicy(Protocol):
    """A policy of a language model.

    lm is None where the model runs elsewhere. menu: which actions it is offered. temperature: it samples with.
    """

    menu: ActionMenu
    temperature: float

    @property
    def lm(self) -> LanguageModel | None:
        """The model."""

    def transcript(self) -> Transcript:
        """An empty transcript for an episode of this policy."""

    def begin(self, rngs: Sequence[np.random.Generator]) -> Session:
        """Start one episode for each generator; they are decided as one batch and sampled apart."""

    def demonstrated(self, action: str, offer: Offer) -> Choice:
        """A recorded action with the decisions that this policy would have taken; none if it could not."""
