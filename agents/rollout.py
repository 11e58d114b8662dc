"""Rollouts: many environments stepped in one process, their actions decided as one batch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from envrl.agents.policies.constrained import ConstrainedPolicy
from envrl.agents.prompts import Decision, TokenSequence
from envrl.wrappers.transition import Transition


class Task(NamedTuple):
    """What an episode plays: the task (None lets the environment draw with ``seed``) and its group."""

    task_id: str | None
    group: int
    seed: int | None = None


@dataclass
class Episode:
    """One episode of a rollout.

    group: episodes of one task share it. transitions: its steps, the rows that are recorded and learned from.
    tokens: the same in tokens. fault: why its outcome must not be used, else None.
    """

    group: int
    task_id: str
    transitions: list[Transition] = field(default_factory=list)
    tokens: TokenSequence = field(default_factory=TokenSequence)
    fault: str | None = None

    @property
    def success(self) -> bool:
        """Whether the task was solved."""
        return bool(self.transitions and self.transitions[-1].is_success)

    @property
    def rewards(self) -> list[float]:
        """The environment's reward of each step."""
        return [t.reward for t in self.transitions]


def describe_step(
    env: gymnasium.Env[str, str],
    observation: str,
    info: dict[str, Any],
    action: str,
    outcome: tuple[str, float, bool, bool, dict[str, Any]],
    **labels: Any,
) -> Transition:
    """The row of one step.

    Args:
        env: where it happened.
        observation, info: before the action.
        action: its text.
        outcome: what ``env.step`` returned.
        labels: other fields of the row (``run_id``, ``step``, ``policy``, ...).
    """
    next_observation, reward, terminated, truncated, after = outcome
    spec = env.spec
    return Transition(
        env_id=spec.id
        if spec is not None
        else f"{type(env.unwrapped).__module__}:{type(env.unwrapped).__name__}",
        task_id=info.get("task_id", ""),
        goal=info.get("goal", ""),
        observation=observation,
        action=action,
        next_observation=next_observation,
        reward=reward,
        terminated=terminated,
        truncated=truncated,
        action_status=after.get("action_status"),
        is_success=after.get("is_success"),
        admissible_actions=info.get("admissible_actions"),
        next_admissible_actions=after.get("admissible_actions"),
        state_key=info.get("state_key"),
        next_state_key=after.get("state_key"),
        fault=after.get("fault"),
        **labels,
    )


#: told after each turn of the batch: (episodes that ended in it, steps taken in it)
Progress = Callable[[int, int], None]


def rollout(
    envs: Sequence[gymnasium.Env[str, str]],
    tasks: Sequence[Task],
    policy: ConstrainedPolicy,
    seed: Sequence[int],
    *,
    run_id: str = "",
    split: str = "",
    label: str = "policy",
    progress: Progress | None = None,
    max_tokens: int | None = None,
) -> list[Episode]:
    """Play one episode per task, at most ``len(envs)`` at once.

    Args:
        envs: environments that `reset(options={"task_id": ...})`; with a time limit of their own.
        tasks: what to play.
        policy: decides all rows of a turn together.
        seed: the sampling of episode i follows from these numbers and i, whatever the others do.
        run_id, split, label: go into the recorded rows.
        progress: called after every turn.
        max_tokens: a longer episode is truncated.

    Returns:
        Episodes in the order of ``tasks``.
    """
    episodes: list[Episode] = []
    for start in range(0, len(tasks), len(envs)):
        wave = tasks[start : start + len(envs)]
        runner = _Wave(envs, wave, policy, seed, run_id, split, label, max_tokens, first=start)
        episodes += runner.play(progress)
    return episodes


class _Row:
    """An episode in flight."""

    def __init__(
        self, env: gymnasium.Env[str, str], task: Task, policy: ConstrainedPolicy, number: int
    ) -> None:
        self.number = number
        options = None if task.task_id is None else {"task_id": task.task_id}
        self.env = env
        self.observation, self.info = env.reset(seed=task.seed, options=options)
        self.episode = Episode(task.group, self.info.get("task_id", ""))
        self.new = policy.format.opening(self.info.get("goal", ""), self.observation)
        self.episode.tokens.ids += self.new
        self.done = False


class _Wave:
    #: rows of the decoder are dropped when this share of them has ended
    COMPACT = 0.2

    def __init__(
        self,
        envs: Sequence[gymnasium.Env[str, str]],
        tasks: Sequence[Task],
        policy: ConstrainedPolicy,
        seed: Sequence[int],
        run_id: str,
        split: str,
        label: str,
        max_tokens: int | None,
        first: int,
    ) -> None:
        self._policy, self._max_tokens = policy, max_tokens
        self._labels: dict[str, Any] = {"run_id": run_id, "split": split, "policy": label}
        self._rows = [
            _Row(env, task, policy, first + i) for i, (env, task) in enumerate(zip(envs, tasks, strict=False))
        ]
        self._session = policy.begin([np.random.default_rng([*seed, row.number]) for row in self._rows])

    def play(self, progress: Progress | None) -> list[Episode]:
        live = list(self._rows)
        while live:
            choices = self._session.choose(
                [row.new for row in live],
                [None if row.done else row.info.get("admissible_actions", ()) for row in live],
            )
            ended = steps = 0
            for row, choice in zip(live, choices, strict=True):
                if choice is not None:
                    self._step(row, choice)
                    steps += 1
                    ended += row.done
            if progress is not None:
                progress(ended, steps)
            alive = [i for i, row in enumerate(live) if not row.done]
            if not alive or len(alive) <= (1 - self.COMPACT) * len(live):
                self._session.keep(alive)
                live = [live[i] for i in alive]
        return [row.episode for row in self._rows]

    def _step(self, row: _Row, choice: Any) -> None:
        episode, before, info = row.episode, row.observation, row.info
        step = len(episode.transitions)
        row.observation, reward, terminated, truncated, row.info = row.env.step(choice.text)
        after = row.info
        start = len(episode.tokens.ids)
        episode.tokens.decisions += [
            Decision(start + d.position, step, d.allowed, d.logprob) for d in choice.decisions
        ]
        row.new = self._policy.format.append(
            episode.tokens, choice.ids, row.observation, after.get("goal", "")
        )
        too_long = self._max_tokens is not None and len(episode.tokens.ids) >= self._max_tokens
        row.done = terminated or truncated or too_long
        episode.fault = after.get("fault")
        episode.transitions.append(
            describe_step(
                row.env,
                before,
                info,
                choice.text,
                (
                    row.observation,
                    float(reward),
                    terminated,
                    truncated or (too_long and not terminated),
                    after,
                ),
                step=step,
                episode_id=f"{self._labels['run_id']}/{row.number}",
                **self._labels,
            )
        )
