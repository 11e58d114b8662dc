"""The constrained policy: token softmax masked by the trie of admissible actions.

Log-probabilities are exact (the mask is part of the distribution), only tokens at which admissible actions branch are
sampled, and the tail of an action that is decided is appended without a forward pass. The blanks of open actions are
sampled token by token.
"""

from collections.abc import Sequence

import numpy as np

from envrl.agents.models import LanguageModel
from envrl.agents.policies.blanks import BlankRules
from envrl.agents.policies.decoding import Decoding
from envrl.agents.policies.distributions import decision_logprobs as decision_logprobs  # moved
from envrl.agents.policies.local_policy import LocalPolicy
from envrl.agents.policies.walk import Walk, candidates, retrace
from envrl.agents.prompts import ActionMenu, EpisodeFormat, Offer
from envrl.agents.transcripts import Choice, Context
from envrl.envs.errors import WrongUse


class ConstrainedPolicy(LocalPolicy):
    """Samples actions among those offered; a `ModelPolicy`.

    Args:
        lm: the model.
        format: tokens of an episode.
        menu: which admissible actions are offered.
        temperature: of the softmax; 0 takes the most probable token at each branching.
        context: what a prompt shows.
        longest: most tokens of a blank in an open action.
    """

    def __init__(
        self,
        lm: LanguageModel,
        format: EpisodeFormat,
        menu: ActionMenu | None = None,
        temperature: float = 1.0,
        context: Context | None = None,
        longest: int = 64,
    ) -> None:
        if temperature < 0:
            raise ValueError(f"temperature must be >= 0, got {temperature}")
        super().__init__(lm, format, menu, temperature, context, longest)
        self.rules = BlankRules(lm, format.stop)

    def begin(self, rngs: Sequence[np.random.Generator]) -> "ConstrainedSession":
        """Start one episode for each generator; they are decoded as one batch and sampled apart."""
        return ConstrainedSession(self, rngs)

    def demonstrated(self, action: str, offer: Offer) -> Choice:
        """The action with its decisions; none if it was not offered."""
        choice = retrace(self.format, self.rules, candidates(self.format, offer), action)
        return choice or Choice(action, self.format.action(action), [])


class ConstrainedSession:
    """Episodes in flight, one row each."""

    def __init__(self, policy: ConstrainedPolicy, rngs: Sequence[np.random.Generator]) -> None:
        self._policy, self._decoding = policy, Decoding(policy.lm, rngs, policy.temperature)

    def keep(self, rows: list[int]) -> None:
        """Drop all rows but these."""
        self._decoding.keep(rows)

    def choose(self, prompts: Sequence[Sequence[int]], offers: Sequence[Offer | None]) -> list[Choice | None]:
        """One action for each row that acts.

        Args:
            prompts: all ids before each row's action.
            offers: what each row may do; None for a row that does not act.

        Returns:
            The choices, None for rows that do not act.

        Raises:
            WrongUse: a row that acts is offered nothing.
        """
        policy = self._policy
        walks: dict[int, Walk] = {}
        for row, offer in enumerate(offers):
            if offer is None:
                continue
            offered = candidates(policy.format, offer)
            if not offered:
                raise WrongUse(
                    "the constrained policy was offered no action; for an environment that names none, "
                    "use the policy `generate`"
                )
            self._decoding.start(row, prompts[row])
            walks[row] = Walk(policy.format, policy.rules, offered, policy.longest)
        self._decoding.walk(walks)
        return [walks[row].choice() if row in walks else None for row in range(len(offers))]
