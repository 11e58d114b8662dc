"""How episodes begin: what an environment shows after a reset, and how long that is in tokens."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from envrl.agents.policies.model_policy import ModelPolicy
from envrl.agents.tasks import training_tasks
from envrl.agents.transcripts import Transcript
from envrl.envs.core import TextEnv
from envrl.envs.errors import NoExpert


class Opening(NamedTuple):
    """A task as it is first seen.

    action: what the imitable expert would do, or the first action on offer.
    """

    task_id: str
    goal: str
    observation: str
    info: dict[str, Any]
    action: str


class Lengths(NamedTuple):
    """Tokens of the parts of an episode.

    prompts: the first prompt of each task. observation, frame: of the first observation and of what stands around a
    reply, means. action: the longest on offer. offered: of all actions on offer, mean.
    """

    prompts: tuple[int, ...]
    observation: int
    frame: int
    action: int
    offered: int


def read_openings(
    env: gymnasium.Env[str, str], ids: Sequence[str] | None, count: int, seed: int
) -> list[Opening]:
    """Reset ``env`` to ``count`` tasks drawn from its split; no step is taken.

    Args:
        env: the environment.
        ids: its task ids; None where it does not name its tasks.
        count: how many tasks.
        seed: draws them.
    """
    openings = []
    for task in training_tasks(ids, count, 1, np.random.default_rng(seed)):
        options = None if task.task_id is None else {"task_id": task.task_id}
        observation, info = env.reset(seed=seed if task.seed is None else task.seed, options=options)
        actions = (*(info.get("admissible_actions") or ()), *(info.get("action_templates") or ()))
        action = _expert_action(env) or (actions[0] if actions else "wait")
        openings.append(
            Opening(info.get("task_id") or "", info.get("goal", ""), observation, dict(info), action)
        )
    return openings


def texts_of(openings: Sequence[Opening]) -> list[str]:
    """All text that an agent reads in openings."""
    return [
        text
        for o in openings
        for text in (o.goal, o.observation, o.action, *(o.info.get("admissible_actions") or ()))
    ]


def measure(openings: Sequence[Opening], policy: ModelPolicy) -> Lengths:
    """The lengths of openings as a policy reads and writes them.

    Args:
        openings: at least one.
        policy: of a local model; it is not asked to act.
    """
    format = policy.transcript().format
    prompts, observations, frames, offered = [], [], [], []
    longest = 1
    for opening in openings:
        offer = policy.menu.offer(opening.info)
        prompts.append(len(begun(opening, policy).prompt))
        reply, (start, end) = format.reply(opening.observation)
        observations.append(end - start)
        frames.append(len(reply) - (end - start) + len(format.cue(opening.goal, offer)))
        actions = [len(format.action(action)) for action in (*offer.actions, *offer.templates)]
        offered.append(sum(actions))
        longest = max([longest, *actions])
    return Lengths(tuple(prompts), _mean(observations), _mean(frames), longest, _mean(offered))


def begun(opening: Opening, policy: ModelPolicy) -> Transcript:
    """The transcript of an episode before its first step."""
    transcript = policy.transcript()
    transcript.begin(opening.goal, opening.observation, policy.menu.offer(opening.info))
    return transcript


def _expert_action(env: gymnasium.Env[str, str]) -> str | None:
    inner = env.unwrapped
    if not isinstance(inner, TextEnv):
        return None
    try:
        return next(iter(inner.expert_actions(privileged=False)), None)
    except NoExpert:
        return None


def _mean(values: Sequence[int]) -> int:
    return -(-sum(values) // len(values))
