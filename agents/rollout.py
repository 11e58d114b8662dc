"""Rollouts: many environments stepped together, their actions decided as one batch."""

from collections.abc import Callable, MutableSequence, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from envrl.agents.policies.model_policy import ModelPolicy
from envrl.agents.pool import EnvPool, as_pool
from envrl.agents.prompts import TokenSequence
from envrl.agents.transcripts import Choice
from envrl.wrappers.facts import offered
from envrl.wrappers.faults import Begun, Fault, Outcome
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
    sequences: the same in tokens: one sequence, or one a step. fault: why its outcome must not be used, else None.
    """

    group: int
    task_id: str
    transitions: list[Transition] = field(default_factory=list)
    sequences: list[TokenSequence] = field(default_factory=list)
    fault: str | None = None

    @property
    def tokens(self) -> TokenSequence:
        """The one sequence of an episode that is kept as one (``--context concat``)."""
        (only,) = self.sequences
        return only

    @property
    def success(self) -> bool:
        """Whether the task was solved."""
        return bool(self.transitions and self.transitions[-1].is_success)

    @property
    def rewards(self) -> list[float]:
        """The environment's reward of each step."""
        return [t.reward for t in self.transitions]


def is_invalid(row: Transition) -> bool:
    """Whether the action was malformed or inadmissible; of an environment that does not say, none is."""
    return row.action_status not in (None, "ok")


def describe_step(
    env_id: str,
    observation: str,
    info: dict[str, Any],
    action: str,
    outcome: Outcome,
    response: str | None = None,
    **labels: Any,
) -> Transition:
    """The row of one step.

    Args:
        env_id: where it happened.
        observation, info: before the action.
        action: its text.
        outcome: what ``env.step`` returned.
        response: what the policy wrote, where that is more than the action.
        labels: other fields of the row (``run_id``, ``step``, ``policy``, ...).
    """
    next_observation, reward, terminated, truncated, after = outcome
    extras = offered(info)
    if response is not None:
        extras["response"] = response
    return Transition(
        env_id=env_id,
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
        extras=extras,
        **labels,
    )


#: told after each turn of the batch: (episodes that ended in it, steps taken in it)
Progress = Callable[[int, int], None]


def rollout(
    envs: EnvPool | MutableSequence[gymnasium.Env[str, str]],
    tasks: Sequence[Task],
    policy: ModelPolicy,
    seed: Sequence[int],
    *,
    run_id: str = "",
    split: str = "",
    label: str = "policy",
    progress: Progress | None = None,
    max_tokens: int | None = None,
    timeout: float = 0.0,
    first: int = 0,
) -> list[Episode]:
    """Play one episode per task, at most ``len(envs)`` at once.

    What an episode is follows from the policy, its task, ``seed`` and its number alone. An environment or a policy
    endpoint that fails ends its episode with a `fault`; the others go on, and the environment is made anew.

    Args:
        envs: environments that `reset(options={"task_id": ...})`; with a time limit of their own: a pool, or a list of
            this process, in which those that fail are replaced.
        tasks: what to play.
        policy: decides all rows of a turn together.
        seed: sampling and environments' randomness follow from these numbers.
        run_id, split, label: go into the recorded rows.
        progress: called after every turn.
        max_tokens: a longer episode is truncated.
        timeout: seconds that an environment may take to answer; 0 waits for ever.
        first: number of the first episode, where others are played elsewhere.

    Returns:
        Episodes in the order of ``tasks``.

    Raises:
        EnvRLError: data or a task are missing.
    """
    episodes: list[Episode] = []
    pool = as_pool(envs)
    for start in range(0, len(tasks), len(pool)):
        wave = _Wave(pool, policy, (run_id, split, label), max_tokens, timeout)
        episodes += wave.play(tasks[start : start + len(pool)], seed, first + start, progress)
    return episodes


class _Row:
    """An episode in flight, in the environment of the same index."""

    def __init__(self, index: int, number: int, task: Task, policy: ModelPolicy) -> None:
        self.index, self.number = index, number
        self.episode = Episode(task.group, task.task_id or "")
        self.transcript = policy.transcript()
        self.observation = ""
        self.info: dict[str, Any] = {}
        self.done = False


class _Wave:
    #: rows of the decoder are dropped when this share of them has ended
    COMPACT = 0.2

    def __init__(
        self,
        pool: EnvPool,
        policy: ModelPolicy,
        labels: tuple[str, str, str],
        max_tokens: int | None,
        timeout: float,
    ) -> None:
        self._pool, self._policy = pool, policy
        self._max_tokens, self._timeout = max_tokens, timeout
        self._labels: dict[str, Any] = dict(zip(("run_id", "split", "policy"), labels, strict=True))

    def play(
        self, tasks: Sequence[Task], seed: Sequence[int], first: int, progress: Progress | None
    ) -> list[Episode]:
        rows = [_Row(i, first + i, task, self._policy) for i, task in enumerate(tasks)]
        requests = [_reset_request(row, task, seed) for row, task in zip(rows, tasks, strict=True)]
        for row, begun in zip(rows, self._pool.reset(requests, self._timeout), strict=True):
            self._begin(row, begun)
        if progress is not None and any(row.done for row in rows):
            progress(sum(row.done for row in rows), 0)
        live = [row for row in rows if not row.done]
        session = self._policy.begin([np.random.default_rng([*seed, row.number]) for row in live])
        while live:
            choices = session.choose(
                [row.transcript.prompt for row in live],
                [None if row.done else self._policy.menu.offer(row.info) for row in live],
            )
            acting: list[tuple[_Row, Choice]] = []
            ended = 0
            for row, choice in zip(live, choices, strict=True):
                if isinstance(choice, Fault):
                    row.episode.fault, row.done = choice.reason, True
                    ended += 1
                elif choice is not None:
                    acting.append((row, choice))
            outcomes = self._pool.step([(row.index, choice.text) for row, choice in acting], self._timeout)
            for (row, choice), outcome in zip(acting, outcomes, strict=True):
                self._take(row, choice, outcome)
                ended += row.done
            if progress is not None:
                progress(ended, len(acting))
            alive = [i for i, row in enumerate(live) if not row.done]
            if not alive or len(alive) <= (1 - self.COMPACT) * len(live):
                session.keep(alive)
                live = [live[i] for i in alive]
        for row in rows:
            row.episode.sequences = row.transcript.sequences
        return [row.episode for row in rows]

    def _begin(self, row: _Row, begun: Begun | Fault) -> None:
        if isinstance(begun, Fault):
            row.episode.fault, row.done = begun.reason, True
            return
        row.observation, row.info = begun
        row.episode.task_id = row.info.get("task_id", "")
        offer = self._policy.menu.offer(row.info)
        row.transcript.begin(row.info.get("goal", ""), row.observation, offer)
        length = len(row.transcript.prompt)
        fault = row.info.get("fault")
        if fault is None and self._max_tokens is not None and length >= self._max_tokens:
            fault = f"its first prompt has {length} tokens, an episode may have {self._max_tokens}"
        if fault is not None:
            row.episode.fault, row.done = str(fault), True

    def _take(self, row: _Row, choice: Choice, outcome: Outcome | Fault) -> None:
        episode = row.episode
        if isinstance(outcome, Fault):
            # the row that is recorded: nothing came back
            outcome = ("", 0.0, False, True, {**row.info, "action_status": None, "fault": outcome.reason})
        observation, reward, terminated, truncated, after = outcome
        row.transcript.turn(choice, observation, after.get("goal", ""), self._policy.menu.offer(after))
        too_long = self._max_tokens is not None and len(row.transcript.prompt) >= self._max_tokens
        row.done = terminated or truncated or too_long
        episode.fault = after.get("fault")
        episode.transitions.append(
            describe_step(
                self._pool.env_id(row.index),
                row.observation,
                row.info,
                choice.text,
                (observation, reward, terminated, truncated or (too_long and not terminated), after),
                choice.written,
                step=len(episode.transitions),
                episode_id=f"{self._labels['run_id']}/{row.number}",
                **self._labels,
            )
        )
        row.observation, row.info = observation, after


def _reset_request(
    row: _Row, task: Task, seed: Sequence[int]
) -> tuple[int, int | None, dict[str, Any] | None]:
    options = None if task.task_id is None else {"task_id": task.task_id}
    # one for a group: its episodes begin alike
    own = int(np.random.SeedSequence([*seed, 0, task.group]).generate_state(1)[0])
    return row.index, own if task.seed is None else task.seed, options
