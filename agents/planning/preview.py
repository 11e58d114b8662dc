"""The first prompt of a run as its model will read it, and what the objectives would ask of one step."""

from typing import NamedTuple

from envrl.agents.config import TrainConfig
from envrl.agents.planning.openings import Opening, begun
from envrl.agents.policies.model_policy import ModelPolicy

#: stands for an observation that only a step would bring
ANSWER = "(what the environment answers)"


class Target(NamedTuple):
    """A row of an objective: what is given, and the text that is to be predicted."""

    given: str
    target: str


class Preview(NamedTuple):
    """The beginning of an episode. prompt: as the model reads it, structure tokens included. tokens: of it.

    action: what an expert would do, or the first action on offer. state_prediction, inverse_dynamics: of the step with
    this action, None for an objective without weight; ``given`` of the former follows the prompt.
    """

    task_id: str
    prompt: str
    tokens: int
    action: str
    state_prediction: Target | None
    inverse_dynamics: Target | None


def preview(opening: Opening, policy: ModelPolicy, config: TrainConfig) -> Preview:
    """What the model will read first.

    Args:
        opening: of an episode.
        policy: of a local model; it is not asked to act.
        config: settings of the run.
    """
    lm, format = policy.lm, policy.transcript().format
    assert lm is not None  # a policy of a local model
    transcript = begun(opening, policy)
    prompt = list(transcript.prompt)
    state = inverse = None
    if config.state_prediction:
        offer = policy.menu.offer(opening.info)
        transcript.turn(policy.demonstrated(opening.action, offer), ANSWER, opening.goal, offer)
        tokens = transcript.sequences[0]
        ((start, end),) = tokens.replies
        state = Target(lm.decode(tokens.ids[len(prompt) : start]), lm.decode(tokens.ids[start:end]))
    if config.inverse_dynamics:
        ids, (start, end) = format.inverse(opening.observation, ANSWER, opening.action)
        inverse = Target(lm.decode(ids[:start]), lm.decode(ids[start:end]))
    return Preview(opening.task_id, lm.decode(prompt), len(prompt), opening.action, state, inverse)
