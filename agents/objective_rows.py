"""Training rows of the two objectives, made of steps that were played or recorded.

State prediction reads the observation tokens of the episode's own sequence: the history, the observation and the
action stand before them; or it has a row for a single step. Inverse dynamics has rows of its own: two observations,
then the action between them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from envrl.agents.choices import Targets
from envrl.agents.objectives import ObjectiveRow
from envrl.agents.prompts import ActionMenu, EpisodeFormat, TokenSequence
from envrl.agents.transcripts import offer_of
from envrl.wrappers.transition import Transition

#: a state-prediction target has at most this many tokens
MAX_TARGET_TOKENS = 256


def step_weight(row: Transition, seen: bool) -> float:
    """How much a step counts: nothing if faulted or malformed, a tenth if its answer says nothing new.

    Args:
        row: the step.
        seen: the same answer to the same action occurred before in the episode.
    """
    if row.fault is not None or row.action_status == "malformed":
        return 0.0
    return 0.1 if seen or row.action_status == "inadmissible" else 1.0


def step_weights(transitions: Sequence[Transition]) -> list[float]:
    """`step_weight` of each step of an episode."""
    answers: set[tuple[str, str]] = set()
    weights = []
    for row in transitions:
        answer = (row.action, row.next_observation)
        weights.append(step_weight(row, answer in answers))
        answers.add(answer)
    return weights


def most_uncertain(tokens: TokenSequence, share: float) -> list[bool]:
    """Which steps are among those where the policy was least sure of its action.

    Args:
        tokens: an episode; the entropy of a step is the sum over its decisions.
        share: of the steps to choose, at least one of them.

    Returns:
        One truth value a step; all of them where nothing is known of any entropy (recorded episodes).
    """
    entropy = [0.0] * len(tokens.actions)
    for decision in tokens.decisions if share < 1.0 else ():
        entropy[decision.step] += decision.entropy
    if not any(entropy):
        return [True] * len(entropy)
    count = max(1, round(share * len(entropy)))
    chosen = set(sorted(range(len(entropy)), key=lambda i: -entropy[i])[:count])
    return [i in chosen for i in range(len(entropy))]


def state_prediction_row(
    tokens: TokenSequence, weights: Sequence[float], factor: float = 1.0, entropy_share: float = 1.0
) -> ObjectiveRow:
    """A sequence with its raw next observations as targets.

    Args:
        tokens: an episode, or a part of one.
        weights: of its steps, see `step_weights`.
        factor: the row's.
        entropy_share: learn from this share of the steps only, see `most_uncertain`.
    """
    chosen = most_uncertain(tokens, entropy_share)
    targets = [0.0] * len(tokens.ids)
    for (start, end), weight, counts in zip(tokens.replies, weights, chosen, strict=True):
        end = min(end, start + MAX_TARGET_TOKENS)
        targets[start:end] = [weight * counts] * (end - start)
    return ObjectiveRow(tokens.ids, targets, factor)


class SingleStep(NamedTuple):
    """A step to predict in a row of its own.

    before: the turns that its prompt shows. taken: how many steps came before it. weight, factor: see `ObjectiveRow`.
    """

    step: Transition
    before: Sequence[Transition]
    taken: int
    weight: float
    factor: float = 1.0


def single_step_rows(
    format: EpisodeFormat,
    steps: Sequence[SingleStep],
    rng: np.random.Generator,
    targets: Targets = "true",
    menu: ActionMenu | None = None,
) -> list[ObjectiveRow]:
    """State prediction in rows of its own: a few turns, the action, and the observation that came of it.

    Args:
        format: tokens of an episode.
        steps: one for each row.
        rng: permutes the observations for ``shuffled``.
        targets: ``true``, or ``shuffled`` for the placebo.
        menu: which actions the prompts offer.
    """
    contexts, replies = [], []
    for step, before, taken, _, _ in steps:
        history = [(row.observation, row.action) for row in before]
        offer = offer_of(step, menu or ActionMenu())
        prompt = format.prompt(step.goal, history, step.observation, offer, taken)
        reply, (start, end) = format.reply(step.next_observation)
        contexts.append([*prompt, *format.action(step.action), *reply[:start]])
        replies.append(reply[start : min(end, start + MAX_TARGET_TOKENS)])
    if targets == "shuffled":
        replies = [replies[i] for i in rng.permutation(len(replies))]
    return [
        ObjectiveRow([*c, *r], [0.0] * len(c) + [step.weight] * len(r), step.factor)
        for step, c, r in zip(steps, contexts, replies, strict=True)
    ]


def shuffled_state_prediction_rows(
    sequences: Sequence[TokenSequence],
    weights: Sequence[Sequence[float]],
    rng: np.random.Generator,
    factors: Sequence[float] | None = None,
) -> list[ObjectiveRow]:
    """The placebo: the same rows with all next observations of the batch permuted.

    Targets keep their distribution and lose their relation to the state and the action.

    Args:
        sequences: the rows in tokens.
        weights: of the steps of each, see `step_weights`.
        rng: draws the permutation.
        factors: of each row; 1 by default.
    """
    replies = [s.ids[a:b] for s in sequences for a, b in s.replies]
    order = iter(rng.permutation(len(replies)))
    rows = []
    for number, (sequence, steps) in enumerate(zip(sequences, weights, strict=True)):
        ids: list[int] = []
        scored_weights: list[float] = []
        done = 0
        for (start, end), weight in zip(sequence.replies, steps, strict=True):
            context = sequence.ids[done:start]
            reply = replies[int(next(order))]
            scored = min(len(reply), MAX_TARGET_TOKENS)
            ids += [*context, *reply]
            scored_weights += [0.0] * len(context) + [weight] * scored + [0.0] * (len(reply) - scored)
            done = end
        ids += sequence.ids[done:]
        scored_weights += [0.0] * (len(sequence.ids) - done)
        rows.append(ObjectiveRow(ids, scored_weights, factors[number] if factors else 1.0))
    return rows


def inverse_dynamics_rows(
    format: EpisodeFormat,
    episodes: Sequence[Sequence[Transition]],
    count: int,
    rng: np.random.Generator,
    targets: Targets = "true",
    weights: Sequence[Sequence[float]] | None = None,
    factors: Sequence[float] | None = None,
) -> list[ObjectiveRow]:
    """Rows that ask for the action between two observations.

    Args:
        format: tokens of an episode.
        episodes: where steps are drawn from.
        count: at most this many rows, drawn without replacement among steps of full weight.
        rng: draws the steps and, for ``shuffled``, permutes the next observations.
        targets: ``true``, or ``shuffled`` for the placebo.
        weights: of each episode's steps; by default `step_weights`.
        factors: of each episode's rows; 1 by default.
    """
    weights = weights or [step_weights(episode) for episode in episodes]
    steps = [
        (row, factors[number] if factors else 1.0)
        for number, episode in enumerate(episodes)
        for row, w in zip(episode, weights[number], strict=True)
        if w == 1.0
    ]
    drawn = [steps[i] for i in rng.permutation(len(steps))[:count]]
    after = [row.next_observation for row, _ in drawn]
    if targets == "shuffled":
        after = [after[i] for i in rng.permutation(len(after))]
    rows = []
    for (row, factor), next_observation in zip(drawn, after, strict=True):
        ids, (start, end) = format.inverse(row.observation, next_observation, row.action)
        rows.append(ObjectiveRow(ids, [float(start <= i < end) for i in range(len(ids))], factor))
    return rows
