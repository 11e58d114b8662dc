"""`Episode`: one conversation about one task, without Gymnasium: what each action text does."""

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from envrl.envs.core import ActionStatus, StepResult
from envrl.envs.envfactory.actions import Call, Malformed, Message, parse_action, write_call
from envrl.envs.envfactory.conversation import Conversation, say, see, use
from envrl.envs.envfactory.delta import Change
from envrl.envs.envfactory.reward import RewardParts, judge
from envrl.envs.envfactory.schema import ToolSpec
from envrl.envs.envfactory.session import Result, Session
from envrl.envs.envfactory.task import ReferenceStep, Task
from envrl.envs.envfactory.toolbox import Toolbox
from envrl.envs.envfactory.user import User

_LEFT = "The user has left the conversation."
_CLASSIC = "Error: that is no valid call."
_DONE = "Done."


class Snapshot(NamedTuple):
    """Where an episode stands: each toolkit's snapshot, the conversation, and how far the reference was followed."""

    toolkits: tuple[Any, ...]
    at: Conversation
    followed: int
    strayed: bool


class Episode:
    """A task being worked on.

    Args:
        task: the task.
        toolbox: its tools.
        sessions: toolkit name -> session, already reset to the initial state, in the order of the task.
        user: whom the agent talks to.
        explain: say what is wrong with a malformed call, or only that it is.

    Attributes:
        at: the conversation.
        parts: what the reward is made of, once the user has left.
    """

    def __init__(
        self, task: Task, toolbox: Toolbox, sessions: Mapping[str, Session], user: User, explain: bool = True
    ) -> None:
        self.task, self.toolbox, self._sessions = task, toolbox, sessions
        self._user, self._explain = user, explain
        self.at = see(task, Conversation(), task.turns[0].text)
        self.parts: RewardParts | None = None
        self._followed, self._strayed = 0, False
        self._names = ",".join(sessions)
        #: what `key` was made from last, and the key: most calls change neither conversation nor state
        self._keyed: tuple[Conversation | None, bytes, list[int], str] = (None, b"", [], "")

    def opening(self, listing: bool) -> str:
        """The first observation, with one line a tool if ``listing``."""
        introduction = self.toolbox.introduction(self.task.policy, listing)
        return f"{introduction}\n\nUser: {self.task.turns[0].text}"

    def act(self, action: str) -> StepResult:
        """Carry out one action text; the reward of a finished conversation is in `parts`.

        Raises:
            SessionFault, UserFault: for reasons that are not the agent's.
        """
        parsed = parse_action(action)
        if isinstance(parsed, Message):
            return self._tell_user(parsed.text)
        if isinstance(parsed, Malformed):
            return StepResult(self._complain(parsed.reason), status="malformed")
        checked = self._check(parsed)
        if isinstance(checked, StepResult):
            return checked
        results: list[Result] = []
        for call, (toolkit, spec, arguments) in zip(parsed, checked, strict=True):
            result = self._sessions[toolkit].call(spec.name, arguments)
            if result.ok:
                self.at = use(self.task, self.at, call.arguments)
                self.at = see(self.task, self.at, result.text, call.arguments)
                self._follow(call, spec)
            results.append(result)
        done = any(result.ok for result in results)
        return StepResult(_together(parsed, results), status="ok" if done else "inadmissible")

    def classify(self, text: str) -> tuple[ActionStatus, str]:
        """(status, answer if it is not ok); calls are tried and taken back."""
        action = parse_action(text)
        if isinstance(action, Message):
            return "ok", ""
        if isinstance(action, Malformed):
            return "malformed", self._complain(action.reason)
        checked = self._check(action)
        if isinstance(checked, StepResult):
            return checked.status, checked.observation
        before = self.snapshot()
        try:
            results = [self._sessions[toolkit].call(spec.name, args) for toolkit, spec, args in checked]
        finally:
            self.restore(before)
        if any(result.ok for result in results):
            return "ok", ""
        return "inadmissible", _together(action, results)

    def plan(self) -> list[str] | None:
        """The rest of the reference as action texts; None if it does not lead to success from here."""
        if self.at.ended:
            return []
        reference = self.task.reference
        if not reference:
            return None
        texts = [text_of(step) for step in reference[self._followed :]]
        if reference[-1].say is None:
            texts.append(_DONE)
        return texts if not self._strayed or self._succeeds(texts) else None

    def changes(self) -> list[Change]:
        """From the initial to the present state; paths begin with the toolkit's name."""
        return [
            Change((name, *change.path), change.op, change.value)
            for name, session in self._sessions.items()
            for change in session.changes()
        ]

    def key(self) -> str:
        """A digest of the states and of where the conversation stands."""
        at, digests = self.at, [session.digest() for session in self._sessions.values()]
        if self._keyed[0] is not at:
            self._keyed = (at, f"{self._names};{tuple(at)}".encode("utf-8", "surrogatepass"), [], "")
        _, where, known, key = self._keyed
        if known != digests:
            data = b"".join([digest.to_bytes(16, "big") for digest in digests])
            key = blake2b(where + data, digest_size=8).hexdigest()
            self._keyed = (at, where, digests, key)
        return key

    def describe(self) -> str:
        """The states as JSON, and where the conversation stands."""
        lines = [f"{name}: {json.dumps(s.data(), ensure_ascii=False)}" for name, s in self._sessions.items()]
        return "\n".join([*lines, f"conversation: {json.dumps(self.at._asdict())}"])

    def snapshot(self) -> Snapshot:
        """Picklable; not changed by later actions."""
        toolkits = tuple(session.snapshot() for session in self._sessions.values())
        return Snapshot(toolkits, self.at, self._followed, self._strayed)

    def restore(self, snapshot: Snapshot) -> None:
        """Take up a snapshot of an episode of the same task."""
        for session, state in zip(self._sessions.values(), snapshot.toolkits, strict=True):
            session.restore(state)
        self.at, self._followed, self._strayed = snapshot.at, snapshot.followed, snapshot.strayed
        self.parts = judge(self.task, self.changes(), self.at) if self.at.ended else None

    def call_for_user(self, call: Call) -> Result:
        """Make a call of the user's; it may be of any tool. Raises SessionFault."""
        arguments, complaint = self.toolbox.check(call, by_user=True)
        if arguments is None:
            return Result(f"Error: {complaint}", None, False)
        toolkit, spec = self.toolbox.place(call.name)
        return self._sessions[toolkit].call(spec.name, arguments)

    # ---- inside ------------------------------------------------------------------------------------------

    def _check(self, calls: Sequence[Call]) -> list[tuple[str, ToolSpec, dict[str, Any]]] | StepResult:
        """Toolkit, tool and arguments of each call; the first wrong one refuses them all."""
        checked = []
        for call in calls:
            arguments, complaint = self.toolbox.check(call)
            if arguments is None:
                return StepResult(self._complain(complaint), status="inadmissible")
            checked.append((*self.toolbox.place(call.name), arguments))
        return checked

    def _complain(self, reason: str) -> str:
        return f"Error: {reason}" if self._explain else _CLASSIC

    def _tell_user(self, text: str) -> StepResult:
        task, at = self.task, say(self.task, self.at, text)
        answer = self._user.answer(task, at, text, lambda: judge(task, self.changes(), at).success)
        said = answer.text
        for call in answer.calls:
            said = f"{said}\n{call.tool}: {self.call_for_user(Call(call.tool, call.arguments)).text}"
        self._follow_message(text)
        self.at = answer.at
        if said is not None:
            self.at = see(task, self.at, said)
            return StepResult(f"User: {said}")
        self.parts = judge(task, self.changes(), self.at)
        return StepResult(_LEFT, terminated=True)

    def _follow(self, call: Call, spec: ToolSpec) -> None:
        reference, at = self.task.reference, self._followed
        if at < len(reference) and (reference[at].tool, reference[at].arguments) == call:
            self._followed += 1
        elif spec.effect == "write":
            self._strayed = True

    def _follow_message(self, text: str) -> None:
        reference, at = self.task.reference, self._followed
        if at < len(reference) and reference[at].say == text:
            self._followed += 1
        else:
            self._strayed = True

    def _succeeds(self, texts: Sequence[str]) -> bool:
        """Whether action texts end in success from here; tried and taken back."""
        before = self.snapshot()
        try:
            ended = any(self.act(text).terminated for text in texts)
            return ended and self.parts is not None and self.parts.success
        finally:
            self.restore(before)


def text_of(step: ReferenceStep) -> str:
    """A step of a reference as action text."""
    return step.say if step.say is not None else write_call(step.tool or "", step.arguments)


def _together(calls: Sequence[Call], results: Sequence[Result]) -> str:
    if len(results) == 1:
        return results[0].text
    pairs = zip(calls, results, strict=True)
    return "\n".join(
        f"{number}. {call.name}: {result.text}" for number, (call, result) in enumerate(pairs, 1)
    )
