"""`BFCLEnv`: the benchmark's multi-turn tasks as an environment.

Deviations from the benchmark's own harness: calls are JSON (its ground truth is Python notation), arguments are
checked against the tools' schemas before anything is called, calculations that would stop the machine are
refused, and there is no limit of 20 steps a turn (the registered id limits the episode to 60).
"""

import json
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Literal, NamedTuple, get_args

from envrl.envs.core import ActionStatus, StepResult, TextEnv
from envrl.envs.envfactory.actions import Call, Malformed, Message, parse_action, write_call
from envrl.envs.envfactory.bfcl.tasks import CATEGORIES, BFCLTask, find_task, tasks_of
from envrl.envs.envfactory.bfcl.truth import fresh_backends, owners_of, reference, truth_of
from envrl.envs.envfactory.schema import ToolSpec
from envrl.envs.errors import NoExpert

RewardKind = Literal["strict", "partial"]
_INTRODUCTION = """You help a user with the tools below. Answer with exactly one of:
- a tool call as JSON: {"name": "<tool>", "arguments": {...}}, or a list of such calls;
- a message to the user, in plain text, when everything that was asked for is done or cannot be done."""
_MORE_TOOLS = "These tools are available from now on:\n{}\nPlease do it with them."
_LEFT = "The user has left the conversation."


class Standing(NamedTuple):
    """Where an episode stands besides the backends.

    Attributes:
        turn: of the user. called: something was called in this turn.
        results: texts of all results so far. passed: whether each finished turn passed the benchmark's check.
        followed: steps of the reference that were taken. strayed: something else was done.
    """

    turn: int = 0
    called: bool = False
    results: tuple[str, ...] = ()
    passed: tuple[bool, ...] = ()
    followed: int = 0
    strayed: bool = False


class BFCLEnv(TextEnv):
    """Tasks of the Berkeley Function Calling Leaderboard, several turns each. For evaluation: do not train on them.

    A turn ends with a message to the user. It passes where the backends are in the state in which the ground truth
    leaves them, and all results of the ground truth's calls have come up so far; an episode succeeds where every
    turn passes. ``info["tools"]`` has the tools in OpenAI's format, ``info["turns_passed"]`` a bool for each
    finished turn.

    Args:
        category: ``base``, ``miss_func`` (a tool is announced late), ``miss_param`` (the user says something late),
            ``long_context``, or ``all``.
        reward: ``strict``: 1 for success, else 0. ``partial``: share of the turns that passed, at the end.
        tool_list: whether the first observation lists the tools.
        render_mode: ``ansi`` or None.

    Raises:
        DataNotFound: the package ``bfcl-eval`` is not installed; the message names the command.
    """

    _digest: bytes  # of the backends as they stand

    def __init__(
        self,
        category: str = "base",
        reward: RewardKind = "strict",
        tool_list: bool = True,
        render_mode: str | None = None,
        *,
        max_observation_length: int = 65536,
        max_action_length: int = 8192,
    ) -> None:
        super().__init__(
            max_observation_length=max_observation_length,
            max_action_length=max_action_length,
            render_mode=render_mode,
        )
        if category not in (*CATEGORIES, "all"):
            raise ValueError(f"category must be one of {[*CATEGORIES, 'all']}, got {category!r}")
        if reward not in get_args(RewardKind):
            raise ValueError(f"reward must be one of {list(get_args(RewardKind))}, got {reward!r}")
        self.split = category  # recordings name it
        chosen = [known for known in CATEGORIES if category in (known, "all")]
        self._ids = tuple(task_id for known in chosen for task_id in tasks_of(known))
        self._reward, self._tool_list = reward, tool_list
        self._task: BFCLTask | None = None
        self._at = Standing()

    # ---- the contract ----------------------------------------------------------------------------------

    def task_ids(self) -> Sequence[str]:
        """The benchmark's ids of the category, in the order of its file."""
        return self._ids

    def task_type(self, task_id: str) -> str:
        """The category of an id."""
        return task_id.removeprefix("multi_turn_").rpartition("_")[0]

    def describe_state(self) -> str:
        """Each backend's public attributes, and where the conversation stands."""
        lines = [f"{name}: {json.dumps(data)}" for name, data in self._backends.data().items()]
        return "\n".join([*lines, f"turn {self._at.turn + 1} of {len(self._current.turns)}"])

    def classify_action(self, text: str) -> tuple[ActionStatus, str]:
        """(status, answer) of an action without stepping; calls are tried and taken back."""
        if self._terminated:
            return "inadmissible", self._observation
        if isinstance(parse_action(text), Message):
            return "ok", ""
        before = self._get_hidden()
        result = self._act(text)
        self._set_hidden(self._current.id, before)
        return result.status, "" if result.status == "ok" else result.observation

    def expert_actions(self, privileged: bool = True) -> list[str]:
        """The rest of the ground truth: its calls as JSON, and a message at the end of each turn.

        Raises:
            NoExpert: the ground truth does not lead to success from here, or ``privileged`` is False.
        """
        if not privileged:
            raise NoExpert("EnvRL/BFCL-v0 has no expert that sees only what the agent sees")
        plan = [] if self._terminated else reference(self._current)[self._at.followed :]
        if plan and self._at.strayed and not self._leads_to_success(plan):
            raise NoExpert(f"the ground truth of {self._current.id!r} does not lead to success from here")
        return plan

    # ---- hooks -----------------------------------------------------------------------------------------

    def _start(self, task_id: str, options: dict[str, Any]) -> str:
        self._take_up(find_task(task_id))
        self._backends.restore(truth_of(task_id).initial)
        self._at = Standing()
        parts = [_INTRODUCTION]
        if self._tool_list:
            parts.append("Tools:\n" + _signatures(self._current.listed(0)))
        return "\n\n".join([*parts, self._user_says(0)])

    def _act(self, action: str) -> StepResult:
        parsed = parse_action(action)
        if isinstance(parsed, Malformed):
            return StepResult(f"Error: {parsed.reason}", status="malformed")
        if isinstance(parsed, Message):
            return self._end_turn()
        complaint = "; ".join(filter(None, map(self._complaint, parsed)))
        if complaint:
            return StepResult(f"Error: {complaint}", status="inadmissible")
        truth, texts, done = truth_of(self._current.id), list[str](), False
        for call in parsed:
            outcome = self._backends.call(self._owners[call.name], call.name, call.arguments)
            before, self._digest = self._digest, self._backends.digest()
            changed = self._digest != before
            texts.append(outcome.text)
            # A tool may complain and still have changed something, or the ground truth may want the complaint.
            if not outcome.refused or changed or truth.wants(outcome.text):
                self._note(call, outcome.text, changed)
                done = True
        status: ActionStatus = "ok" if done else "inadmissible"
        if len(texts) == 1:
            return StepResult(texts[0], status=status)
        named = enumerate(zip(parsed, texts, strict=True), 1)
        return StepResult("\n".join(f"{i}. {call.name}: {text}" for i, (call, text) in named), status=status)

    def _info_fields(self) -> tuple[str, tuple[str, ...], tuple[str, ...], bool, str]:
        at, listed = self._at, self._current.listed(self._at.turn)
        templates = (*(_template(spec) for spec in listed.values()), "<message to the user>")
        success = len(at.passed) == len(self._current.turns) and all(at.passed)
        seen = sorted(Counter(at.results).items())
        text = f"{self._digest.hex()};{at.turn},{at.called},{at.passed};{seen}"
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        return self._current.turns[0], (), templates, success, key

    def _info(self, status: ActionStatus) -> dict[str, Any]:
        info = super()._info(status)
        info["tools"] = [spec.openai() for spec in self._current.listed(self._at.turn).values()]
        info["turns_passed"] = self._at.passed
        return info

    def _get_hidden(self) -> tuple[bytes, Standing]:
        return self._backends.snapshot(), self._at

    def _set_hidden(self, task_id: str, hidden: tuple[bytes, Standing]) -> None:
        if self._task is None or self._task.id != task_id:
            self._take_up(find_task(task_id))
        self._backends.restore(hidden[0])
        self._digest, self._at = self._backends.digest(), hidden[1]

    # ---- inside ----------------------------------------------------------------------------------------

    @property
    def _current(self) -> BFCLTask:
        assert self._task is not None, "TextEnv calls the hooks only after a reset"
        return self._task

    def _take_up(self, task: BFCLTask) -> None:
        self._task = task
        self._tools = task.tools
        self._owners = owners_of(task)
        self._backends = fresh_backends(task)
        self._digest = self._backends.digest()

    def _complaint(self, call: Call) -> str:
        # A tool that is not listed yet can be called all the same, as in the benchmark's harness; the ground truth
        # of multi_turn_miss_func_49 does.
        spec = self._tools.get(call.name)
        if spec is None:
            return f"there is no tool {call.name!r}; the tools are {', '.join(self._current.listed(self._at.turn))}"
        arguments, complaint = spec.check(call.arguments)
        if call in truth_of(self._current.id).unusual:
            return ""
        return "" if arguments is not None else f"{call.name}: {complaint} (expected {spec.signature()})"

    def _note(self, call: Call, text: str, changed: bool) -> None:
        at, plan = self._at, reference(self._current)
        follows = at.followed < len(plan) and plan[at.followed] == write_call(call.name, call.arguments)
        self._at = at._replace(
            called=True,
            results=(*at.results, text),
            followed=at.followed + follows,
            strayed=at.strayed or (changed and not follows),
        )

    def _end_turn(self) -> StepResult:
        task, at = self._current, self._at
        truth = truth_of(task.id)
        passed = (*at.passed, truth.passes(at.turn, at.results, at.called, self._backends))
        # Each turn of the reference is its calls and one message; what the message says does not matter.
        after = sum(truth.calls[: at.turn + 1]) + at.turn + 1
        self._at = Standing(
            at.turn + 1, False, at.results, passed, after, at.strayed or at.followed != after - 1
        )
        if len(passed) < len(task.turns):
            return StepResult(self._user_says(self._at.turn))
        share = sum(passed) / len(passed)
        return StepResult(_LEFT, float(share == 1) if self._reward == "strict" else share, terminated=True)

    def _user_says(self, turn: int) -> str:
        task = self._current
        text = task.turns[turn]
        if turn in task.withheld:
            new = {name: task.tools[name] for name in task.withheld[turn]}
            text = "\n\n".join(filter(None, (text, _MORE_TOOLS.format(_signatures(new)))))
        return f"User: {text}"

    def _leads_to_success(self, plan: Sequence[str]) -> bool:
        before, success = self._get_hidden(), False
        for text in plan:
            if self._act(text).terminated:
                success = all(self._at.passed)
                break
        self._set_hidden(self._current.id, before)
        return success


def _signatures(tools: dict[str, ToolSpec]) -> str:
    return "\n".join(spec.signature() for spec in tools.values())


def _template(spec: ToolSpec) -> str:
    blanks = ", ".join(f"{json.dumps(name)}: <{name}>" for name in spec.required)
    return f'{{"name": {json.dumps(spec.name)}, "arguments": {{{blanks}}}}}'
