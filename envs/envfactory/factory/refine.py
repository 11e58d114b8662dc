"""Stage 6, refine: carry out what was drafted and keep only tasks that measure what they should.

A task is kept if

1. its reference, played through the environment's own engine, succeeds;
2. a user who is told nothing and for whom nothing is done is not satisfied (the no-op fails);
3. leaving out any one step of the reference, call or question, fails;
4. the user's words give away neither what is to be looked up nor what is to be told.

A hidden value has exactly one path in the reference by 3; that its description fits nothing else that can be
read was checked when the chain was carried out (`envrl.envs.envfactory.factory.sample.carry_out`).
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import pydantic

from envrl.envs.envfactory.conversation import mentions
from envrl.envs.envfactory.episode import Episode, text_of
from envrl.envs.envfactory.factory.arena import Stock
from envrl.envs.envfactory.factory.synthesize import Draft
from envrl.envs.envfactory.session import Session
from envrl.envs.envfactory.task import GoalChange, ReferenceStep, Task
from envrl.envs.envfactory.toolbox import Toolbox
from envrl.envs.envfactory.user import ScriptedUser

#: (observation, info) -> action text; info has ``goal`` and ``tools``
Policy = Callable[[str, Mapping[str, Any]], str]
_MAX_STEPS = 30


@dataclass
class Refiner:
    """Makes tasks of drafts, and counts why the others were refused.

    Args:
        stocks: toolkit name -> stock.
        licence: of the tasks.
        policy: if given, a task is kept only if the policy solves some but not all of ``tries`` episodes.
        tries: how many that are.

    Attributes:
        kept: how many tasks. refused: reason -> how many drafts.
    """

    stocks: Mapping[str, Stock]
    licence: str = "MIT"
    policy: Policy | None = None
    tries: int = 4
    kept: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    _sessions: dict[str, Session] = field(default_factory=dict)
    _toolboxes: dict[tuple[str, ...], Toolbox] = field(default_factory=dict)

    def toolbox(self, names: Iterable[str]) -> Toolbox:
        """The tools of some toolkits; made once."""
        key = tuple(names)
        if key not in self._toolboxes:
            self._toolboxes[key] = Toolbox({name: self.stocks[name].source for name in key})
        return self._toolboxes[key]

    def refine(self, draft: Draft, task_id: str, split: str = "train") -> Task | None:
        """The task of a draft, or None."""
        reason = _gives_away(draft)
        task: Task | None = None
        if not reason:
            task, reason = self._finish(draft, task_id, split)
        reason = reason or self.objection(task) if task is not None else reason
        if reason or task is None:
            self.refused[reason] += 1
            return None
        self.kept += 1
        return task

    def objection(self, task: Task) -> str:
        """Why a task is none; "" if it is one. For tasks of any origin whose toolkits are in stock."""
        steps = list(task.reference)
        if not self.succeeds(task, steps):
            return "the reference does not succeed"
        if self.succeeds(task, [ReferenceStep(say="Done.")] * len(task.turns)):
            return "the no-op succeeds"
        for index, step in enumerate(steps[:-1]):
            closes_turn = step.say is not None and not step.say.endswith("?")
            if closes_turn or step.optional:
                continue
            if self.succeeds(task, steps[:index] + steps[index + 1 :]):
                return "a step of the reference can be left out"
        if self.policy is not None:
            solved = sum(self._solves(task, self.policy) for _ in range(self.tries))
            if not 0 < solved < self.tries:
                return "too hard for the policy" if solved == 0 else "too easy for the policy"
        return ""

    def use_session(self, name: str, session: Session) -> None:
        """Play with this session of a toolkit, which is closed by `close`."""
        self._sessions[name] = session

    def close(self) -> None:
        """Close the sessions."""
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()

    def _finish(self, draft: Draft, task_id: str, split: str) -> tuple[Task | None, str]:
        """The task with the goal that its reference reaches."""
        unordered, ignored = self._patterns(draft)
        chain = draft.chain
        provenance = {
            "seed": chain.seed,
            "chain": [call.tool for call in chain.calls],
            "hidden": [
                {
                    "tool": call.tool,
                    "argument": name,
                    "from": chain.calls[origin.call].tool,
                    "field": origin.name,
                }
                for call in chain.calls
                for name, origin in call.origins.items()
            ],
        }
        parts: dict[str, Any] = {
            "id": task_id, "split": split, "type": draft.kind, "toolkits": draft.toolkits, "turns": draft.turns,
            "reference": draft.reference, "outputs": draft.outputs, "unordered": unordered, "ignored": ignored,
            "provenance": provenance, "licence": self.licence,
        }  # fmt: skip
        # Any goal will do to play the reference; what it changes is the real one.
        open_task = Task(**{**parts, "goal": (GoalChange(path=("?",), op="set"),)})
        episode = self.episode(open_task)
        for step in draft.reference:
            episode.act(text_of(step))
        goal = tuple(GoalChange(path=c.path, op=c.op, value=c.value) for c in episode.changes())
        try:
            return Task(**{**parts, "goal": goal}), ""
        except pydantic.ValidationError:
            return None, "nothing is changed and nothing is asked"

    def _patterns(self, draft: Draft) -> tuple[tuple[str, ...], tuple[str, ...]]:
        unordered: list[str] = []
        ignored: list[str] = []
        for use in draft.toolkits:
            source = self.stocks[use.name].source
            unordered += [f"{use.name}.{pattern}" for pattern in source.unordered]
            ignored += [f"{use.name}.{pattern}" for pattern in source.ignored]
        return tuple(unordered), tuple(ignored)

    def episode(self, task: Task) -> Episode:
        """An episode of a task from its start; it ends the one before, whose sessions it takes."""
        sessions: dict[str, Session] = {}
        for use in task.toolkits:
            stock = self.stocks[use.name]
            if use.name not in self._sessions:
                self._sessions[use.name] = stock.source.open()
            sessions[use.name] = self._sessions[use.name]
            sessions[use.name].reset(stock.state(use.state))
        return Episode(task, self.toolbox(sessions), sessions, ScriptedUser())

    def succeeds(self, task: Task, steps: Sequence[ReferenceStep]) -> bool:
        """Whether these steps, in place of the reference, solve a task."""
        episode = self.episode(task)
        for step in steps:
            if episode.act(text_of(step)).terminated:
                return episode.parts is not None and episode.parts.success
        return False

    def _solves(self, task: Task, policy: Policy) -> bool:
        episode = self.episode(task)
        observation = episode.opening(True)
        info = {"goal": task.turns[0].text, "tools": list(episode.toolbox.openai)}
        for _ in range(_MAX_STEPS):
            result = episode.act(policy(observation, info))
            if result.terminated:
                return episode.parts is not None and episode.parts.success
            observation = result.observation
        return False


def signature(task: Task) -> str:
    """Equal for tasks that ask the same in the same states."""
    states = [(use.source, use.state) for use in task.toolkits]
    data = [states, [turn.text for turn in task.turns]]
    return blake2b(json.dumps(data).encode(), digest_size=16).hexdigest()


def _gives_away(draft: Draft) -> str:
    """What the user's words must not say, and say."""
    texts = [turn.text for turn in draft.turns]
    replies = [slot.reply for turn in draft.turns for slot in turn.slots]
    for value in draft.hidden:
        if any(mentions(text, value) for text in texts):
            return "the words give a hidden value away"
    for output in draft.outputs:
        if output.say and any(mentions(text, output.value) for text in (*texts, *replies)):
            return "the words give the answer away"
    return ""
