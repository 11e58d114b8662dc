"""The score policy: softmax over the offered actions' total log-probabilities.

All candidates of a row are scored at once on top of its key-value cache. The choice is one decision a step, so its
importance ratio is that of the whole action. An open action competes with the probability of how it begins; once it is
chosen its blanks are sampled token by token.
"""

from collections.abc import Sequence

import numpy as np

from envrl.agents.candidates import CandidateTree
from envrl.agents.models import LanguageModel
from envrl.agents.policies.blanks import BlankRules
from envrl.agents.policies.decoding import Decoding
from envrl.agents.policies.distributions import candidate_log_softmax
from envrl.agents.policies.local_policy import LocalPolicy
from envrl.agents.policies.walk import Candidate, Walk, candidates, retrace
from envrl.agents.prompts import ActionMenu, Candidates, Decision, EpisodeFormat, Offer
from envrl.agents.transcripts import Choice, Context
from envrl.envs.errors import WrongUse


class ScorePolicy(LocalPolicy):
    """Chooses whole actions among those offered; a `ModelPolicy`.

    Args:
        lm: the model.
        format: tokens of an episode.
        menu: which admissible actions are offered.
        temperature: of the softmax over actions (and of the tokens in blanks); 0 takes the most probable.
        context: what a prompt shows.
        per_token: divide an action's log-probability by its number of tokens, so that long ones are not at a loss.
        longest: most tokens of a blank in an open action.
    """

    def __init__(
        self,
        lm: LanguageModel,
        format: EpisodeFormat,
        menu: ActionMenu | None = None,
        temperature: float = 1.0,
        context: Context | None = None,
        per_token: bool = False,
        longest: int = 64,
    ) -> None:
        if temperature < 0:
            raise ValueError(f"temperature must be >= 0, got {temperature}")
        super().__init__(lm, format, menu, temperature, context, longest)
        self.per_token = per_token
        self.rules = BlankRules(lm, format.stop)

    def begin(self, rngs: Sequence[np.random.Generator]) -> "ScoreSession":
        """Start one episode for each generator; they are scored as one batch and sampled apart."""
        return ScoreSession(self, rngs)

    def demonstrated(self, action: str, offer: Offer) -> Choice:
        """The action with its decisions; none if it was not offered."""
        offered = candidates(self.format, offer)
        for number, candidate in enumerate(offered):
            alone = retrace(self.format, self.rules, [candidate], action)
            if alone is not None:
                return self.decided(alone, offered, number, 0.0, 0.0)
        return Choice(action, self.format.action(action), [])

    def decided(
        self, choice: Choice, offered: Sequence[Candidate], number: int, logprob: float, entropy: float
    ) -> Choice:
        """The choice with the decision for it among what was offered."""
        if len(offered) == 1:
            return choice
        among = Candidates(tuple(c.ids for c in offered), number, self.per_token)
        return choice._replace(decisions=[Decision(0, 0, None, logprob, entropy, among), *choice.decisions])


class ScoreSession:
    """Episodes in flight, one row each."""

    def __init__(self, policy: ScorePolicy, rngs: Sequence[np.random.Generator]) -> None:
        self._policy, self._decoding = policy, Decoding(policy.lm, rngs, policy.temperature)

    def keep(self, rows: list[int]) -> None:
        """Drop all rows but these."""
        self._decoding.keep(rows)

    def choose(self, prompts: Sequence[Sequence[int]], offers: Sequence[Offer | None]) -> list[Choice | None]:
        """One action for each row that acts; see `envrl.agents.policies.model_policy.Session`.

        Raises:
            WrongUse: a row that acts is offered nothing.
        """
        policy, decoding = self._policy, self._decoding
        offered = {
            row: candidates(policy.format, offer) for row, offer in enumerate(offers) if offer is not None
        }
        if not all(offered.values()):
            raise WrongUse(
                "the score policy was offered no action; for an environment that names none, use the policy `generate`"
            )
        for row in offered:
            decoding.start(row, prompts[row])
        open_rows = {row: CandidateTree([c.ids for c in o]) for row, o in offered.items() if len(o) > 1}
        picked = dict.fromkeys(offered, (0, 0.0, 0.0))
        for row, totals in (decoding.totals(open_rows) if open_rows else {}).items():
            among = Candidates(tuple(c.ids for c in offered[row]), 0, policy.per_token)
            logprobs = candidate_log_softmax(totals, among, policy.temperature or 1.0)
            (picked[row],) = decoding.draw([row], logprobs[None])
        walks = {
            row: Walk(policy.format, policy.rules, [offered[row][number]], policy.longest)
            for row, (number, _, _) in picked.items()
        }
        decoding.walk(walks)
        return [
            policy.decided(walks[row].choice(), offered[row], *picked[row]) if row in walks else None
            for row in range(len(offers))
        ]
