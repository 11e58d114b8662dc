"""`EnvFactoryEnv`: an agent with tools and a user, the Gymnasium face of the toolkits."""

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from envrl.envs.core import ActionStatus, StepResult, TextEnv
from envrl.envs.envfactory.actions import Call, Malformed, Message, parse_action, write_call
from envrl.envs.envfactory.conversation import Conversation, say, see
from envrl.envs.envfactory.delta import Change
from envrl.envs.envfactory.library import TaskLibrary
from envrl.envs.envfactory.reward import RewardKind, RewardParts, judge
from envrl.envs.envfactory.schema import ToolSpec
from envrl.envs.envfactory.session import Result, Session, SessionFault
from envrl.envs.envfactory.task import ReferenceStep, Task
from envrl.envs.envfactory.toolbox import Toolbox
from envrl.envs.envfactory.user import UserFault, make_user
from envrl.envs.errors import NoExpert

Feedback = Literal["explain", "classic"]
_LEFT = "The user has left the conversation."
_CLASSIC = "Error: that is no valid call."


class Hidden(NamedTuple):
    """What a snapshot holds: a snapshot of each toolkit, the conversation, and how the reference stands."""

    toolkits: tuple[Any, ...]
    at: Conversation
    followed: int
    strayed: bool


class EnvFactoryEnv(TextEnv):
    """Help a user by calling tools that read and change a state.

    An action is a call as JSON, a list of calls, or a message to the user. The episode ends when the user has
    nothing more to ask; the reward comes then. ``info["tools"]`` has the tools in OpenAI's format,
    ``info["reward_parts"]`` what the reward was made of (empty before the end). The registered id limits an
    episode to 30 steps.

    Args:
        suite: tasks that come with EnvRL: ``builtin``.
        split: ``train``, ``held_out``, any other split of the tasks, or ``all``.
        toolkits: keep only tasks whose toolkits are all among these names.
        tasks: a task folder (`envrl factory build` makes them) in place of the suite.
        user: ``scripted``; ``module:function`` (see `envrl.envs.envfactory.user.FunctionUser`); or
            ``{"endpoint": URL, "model": NAME}``.
        reward: ``strict``: 1 for success, else 0. ``partial``: see `envrl.envs.envfactory.reward`.
        feedback: ``explain`` says what is wrong with a malformed call; ``classic`` only that it is.
        tool_list: whether the first observation lists the tools.
        render_mode: ``ansi`` or None.

    >>> import gymnasium, envrl
    >>> env = gymnasium.make("EnvRL/EnvFactory-v0")
    >>> observation, info = env.reset(seed=0)
    >>> info["tools"][0]["type"]
    'function'
    """

    def __init__(
        self,
        suite: str = "builtin",
        split: str = "train",
        toolkits: Sequence[str] | None = None,
        tasks: str | None = None,
        user: str | dict[str, Any] = "scripted",
        reward: RewardKind = "strict",
        feedback: Feedback = "explain",
        tool_list: bool = True,
        render_mode: str | None = None,
        *,
        max_observation_length: int = 16384,
        max_action_length: int = 8192,
    ) -> None:
        super().__init__(
            max_observation_length=max_observation_length,
            max_action_length=max_action_length,
            render_mode=render_mode,
        )
        for name, value, allowed in (
            ("reward", reward, get_args(RewardKind)),
            ("feedback", feedback, get_args(Feedback)),
        ):
            if value not in allowed:
                raise ValueError(f"{name} must be one of {list(allowed)}, got {value!r}")
        self.split = split  # recordings name it
        self._library = TaskLibrary(suite if tasks is None else Path(tasks), split, toolkits)
        self._user, self._reward, self._explain = make_user(user), reward, feedback == "explain"
        self._tool_list = tool_list
        self._sessions: dict[tuple[str, str], Session] = {}
        self._task: Task | None = None
        self._at = Conversation()
        self._followed, self._strayed = 0, False
        self._parts: RewardParts | None = None

    # ---- the contract ----------------------------------------------------------------------------------

    def task_ids(self) -> Sequence[str]:
        """Ids of the split, in the order of the task file."""
        return self._library.ids

    def task_type(self, task_id: str) -> str:
        """The task's type, ``""`` for one that is not in the task file."""
        return self._library.task_type(task_id)

    def describe_state(self) -> str:
        """Each toolkit's state as JSON, and where the conversation stands."""
        lines = [f"{name}: {json.dumps(s.data(), ensure_ascii=False)}" for name, s in self._running.items()]
        return "\n".join([*lines, f"conversation: {json.dumps(self._at._asdict())}"])

    def classify_action(self, text: str) -> tuple[ActionStatus, str]:
        """(status, answer) of an action without stepping. Calls are tried and taken back."""
        if self._terminated or self._fault is not None:
            return "inadmissible", self._observation
        action = parse_action(text)
        if isinstance(action, Message):
            return "ok", ""
        if isinstance(action, Malformed):
            return "malformed", self._complain(action.reason)
        checked = self._check(action)
        if isinstance(checked, StepResult):
            return checked.status, checked.observation
        before = [session.snapshot() for session in self._running.values()]
        try:
            results = [self._call(toolkit, spec, args) for toolkit, spec, args in checked]
        finally:
            for session, snapshot in zip(self._running.values(), before, strict=True):
                session.restore(snapshot)
        if any(result.ok for result in results):
            return "ok", ""
        return "inadmissible", _together(action, results)

    def expert_actions(self, privileged: bool = True) -> list[str]:
        """The rest of the reference: calls as JSON and messages.

        Nothing in the reference is known before it has been told or looked up, so the expert that sees only
        what the agent sees (``privileged=False``) takes the same next step.

        Raises:
            NoExpert: the task has no reference, or it does not lead to success from here.
        """
        task = self._current
        if self._at.ended:
            return []
        if not task.reference:
            raise NoExpert(f"the task {task.id!r} has no reference solution")
        plan = [_text_of(step) for step in task.reference[self._followed :]]
        if task.reference[-1].say is None:
            plan.append("Done.")
        if self._strayed and not self._leads_to_success(plan):
            raise NoExpert(f"the reference of {task.id!r} does not lead to success from here")
        return plan if privileged else plan[:1]

    def close(self) -> None:
        """Close the toolkits' sessions."""
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()

    # ---- hooks -----------------------------------------------------------------------------------------

    def _start(self, task_id: str, options: dict[str, Any]) -> str:
        task = self._library.task(task_id)
        self._take_up(task)
        self._at, self._followed, self._strayed = Conversation(), 0, False
        self._parts = None
        self._at = see(task, self._at, task.turns[0].text)
        return f"{self._toolbox.introduction(task.policy, self._tool_list)}\n\nUser: {task.turns[0].text}"

    def _act(self, action: str) -> StepResult:
        parsed = parse_action(action)
        try:
            if type(parsed) is tuple:
                return self._make_calls(parsed)
            if isinstance(parsed, Message):
                return self._tell_user(parsed.text)
        except (SessionFault, UserFault) as error:
            return StepResult(self._observation, fault=str(error))
        assert isinstance(parsed, Malformed)
        return StepResult(self._complain(parsed.reason), status="malformed")

    def _info_fields(self) -> tuple[str, tuple[str, ...], tuple[str, ...], bool, str]:
        success = self._parts is not None and self._parts.success
        return self._current.turns[0].text, (), self._toolbox.templates, success, self._key()

    def _info(self, status: ActionStatus) -> dict[str, Any]:
        info = super()._info(status)
        info["tools"] = list(self._toolbox.openai)
        info["reward_parts"] = {} if self._parts is None else self._parts._asdict()
        return info

    def _get_hidden(self) -> Hidden:
        snapshots = tuple(session.snapshot() for session in self._running.values())
        return Hidden(snapshots, self._at, self._followed, self._strayed)

    def _set_hidden(self, task_id: str, hidden: Hidden) -> None:
        if self._task is None or self._task.id != task_id:
            self._take_up(self._library.task(task_id))
        for session, snapshot in zip(self._running.values(), hidden.toolkits, strict=True):
            session.restore(snapshot)
        self._at, self._followed, self._strayed = hidden.at, hidden.followed, hidden.strayed
        self._parts = judge(self._current, self._changes(), self._at) if self._at.ended else None

    # ---- inside ----------------------------------------------------------------------------------------

    @property
    def _current(self) -> Task:
        assert self._task is not None, "TextEnv calls the hooks only after a reset"
        return self._task

    def _take_up(self, task: Task) -> None:
        sources = self._library.sources(task)
        running: dict[str, Session] = {}
        for use in task.toolkits:
            source = sources[use.name]
            session = self._sessions.get((use.name, use.source))
            if session is None:
                session = self._sessions[use.name, use.source] = source.open()
            session.reset(self._library.state(use, source))
            running[use.name] = session
        self._task, self._running = task, running
        self._toolbox: Toolbox = self._library.toolbox(task)

    def _make_calls(self, calls: tuple[Call, ...]) -> StepResult:
        checked = self._check(calls)
        if isinstance(checked, StepResult):
            return checked
        results: list[Result] = []
        for call, (toolkit, spec, arguments) in zip(calls, checked, strict=True):
            result = self._call(toolkit, spec, arguments)
            if result.ok:
                self._at = see(self._current, self._at, result.text)
                self._follow(call, spec)
            results.append(result)
        done = any(result.ok for result in results)
        return StepResult(_together(calls, results), status="ok" if done else "inadmissible")

    def _check(self, calls: Sequence[Call]) -> list[tuple[str, ToolSpec, dict[str, Any]]] | StepResult:
        """Toolkit, tool and arguments of each call; the first wrong one refuses them all."""
        checked = []
        for call in calls:
            arguments, complaint = self._toolbox.check(call)
            if arguments is None:
                return StepResult(self._complain(complaint), status="inadmissible")
            checked.append((*self._toolbox.place(call.name), arguments))
        return checked

    def _call(self, toolkit: str, spec: ToolSpec, arguments: Mapping[str, Any]) -> Result:
        return self._running[toolkit].call(spec.name, arguments)

    def _tell_user(self, text: str) -> StepResult:
        task = self._current
        at = say(task, self._at, text)
        answer = self._user.answer(task, at, text, lambda: judge(task, self._changes(), at).success)
        said = answer.text
        for call in answer.calls:
            said = f"{said}\n{call.tool}: {self._user_call(Call(call.tool, call.arguments))}"
        self._follow_message(text)
        self._at = answer.at
        if said is not None:
            self._at = see(task, self._at, said)
            return StepResult(f"User: {said}")
        parts = self._parts = judge(task, self._changes(), self._at)
        reward = float(parts.success) if self._reward == "strict" else parts.partial
        return StepResult(_LEFT, reward, terminated=True)

    def _user_call(self, call: Call) -> str:
        arguments, complaint = self._toolbox.check(call, by_user=True)
        if arguments is None:
            return f"Error: {complaint}"
        toolkit, spec = self._toolbox.place(call.name)
        return self._call(toolkit, spec, arguments).text

    def _changes(self) -> list[Change]:
        return [
            Change((name, *change.path), change.op, change.value)
            for name, session in self._running.items()
            for change in session.changes()
        ]

    def _key(self) -> str:
        at = self._at
        digests = ",".join([f"{name}:{session.digest():x}" for name, session in self._running.items()])
        text = (
            f"{digests};{at.turn},{at.answered},{at.questions},{at.said},{at.seen},{at.ended},{at.transcript}"
        )
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

    def _complain(self, reason: str) -> str:
        return f"Error: {reason}" if self._explain else _CLASSIC

    # ---- following the reference -----------------------------------------------------------------------

    def _follow(self, call: Call, spec: ToolSpec) -> None:
        reference, at = self._current.reference, self._followed
        if (
            at < len(reference)
            and reference[at].tool == call.name
            and reference[at].arguments == call.arguments
        ):
            self._followed += 1
        elif spec.effect == "write":
            self._strayed = True

    def _follow_message(self, text: str) -> None:
        reference, at = self._current.reference, self._followed
        if at < len(reference) and reference[at].say == text:
            self._followed += 1
        else:
            self._strayed = True

    def _leads_to_success(self, plan: Sequence[str]) -> bool:
        """Whether a plan ends in success from here; tried and taken back."""
        before, parts, success = self._get_hidden(), self._parts, False
        try:
            for text in plan:
                if self._act(text).terminated:
                    success = self._parts is not None and self._parts.success
                    break
        finally:
            self._set_hidden(self._current.id, before)
            self._parts = parts
        return success


def _text_of(step: ReferenceStep) -> str:
    return step.say if step.say is not None else write_call(step.tool or "", step.arguments)


def _together(calls: Sequence[Call], results: Sequence[Result]) -> str:
    if len(results) == 1:
        return results[0].text
    pairs = zip(calls, results, strict=True)
    return "\n".join(
        f"{number}. {call.name}: {result.text}" for number, (call, result) in enumerate(pairs, 1)
    )
