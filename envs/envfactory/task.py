"""Tasks and the files they are kept in.

A task folder holds ``tasks.jsonl`` (one `Task` a line), ``states.jsonl`` (one initial state a line, shared by
the tasks that name it) and ``metadata.json`` (where it all comes from). docs/envfactory-design.md has the
format in full.
"""

import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pydantic
import pydantic_core

from envrl.envs.envfactory.delta import Change, Op, Rules, compare, rules
from envrl.envs.errors import DataNotFound, InvalidData, InvalidTask

FORMAT = 1
TASKS, STATES, METADATA = "tasks.jsonl", "states.jsonl", "metadata.json"


class _Record(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")


class UserCall(_Record):
    """A call that the user makes, of a tool that the agent need not have."""

    tool: str
    arguments: dict[str, Any] = {}


class Slot(_Record):
    """Something the user tells, or does, only when asked.

    Attributes:
        name: for people.
        ask: words (lower case) of which one must stand in a question or request for it.
        reply: what the user then says.
        calls: what the user does before that; the results follow the reply.
    """

    name: str
    ask: tuple[str, ...]
    reply: str
    calls: tuple[UserCall, ...] = ()


class Turn(_Record):
    """What the user says, and what the user can add when asked before the next turn."""

    text: str
    slots: tuple[Slot, ...] = ()


class ReferenceStep(_Record):
    """One step of the reference: a call (``tool`` and ``arguments``) or a message to the user (``say``).

    Attributes:
        tool: as the agent calls it.
        arguments: of the call.
        say: of the message.
        optional: the task can be solved without this step.
    """

    tool: str | None = None
    arguments: dict[str, Any] = {}
    say: str | None = None
    optional: bool = False

    @pydantic.model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.tool is None) == (self.say is None):
            raise ValueError("a reference step has either `tool` or `say`")
        return self


class Output(_Record):
    """A value that solving the task must bring up.

    Attributes:
        value: numbers are compared as numbers, text word by word without regard to case.
        say: the agent must tell it to the user.
        see: it must have stood in a tool's result or in an answer of the user before (a guess does not count).
        unused: it must also not have been put into a call before that: an id that nobody can know, but that the
            results of later calls would show as well.
    """

    value: int | float | str
    say: bool = True
    see: bool = True
    unused: bool = False


class ToolkitUse(_Record):
    """A toolkit in a task.

    Attributes:
        name: unique in the task; the first key of paths.
        source: see `envrl.envs.envfactory.sources.open_source`.
        state: id of the initial state in ``states.jsonl``.
    """

    name: str
    source: str
    state: str


class GoalChange(_Record):
    """A `Change` of the wanted delta."""

    path: tuple[str, ...]
    op: Op
    value: Any = None


class Task(_Record):
    """A task.

    Attributes:
        id: unique in the folder.
        split: ``train`` or ``held_out``, or a name of your own.
        type: the kind of the task, for results by kind.
        toolkits: one to three, in the order in which their tools are listed.
        policy: rules beyond those of the toolkits.
        turns: what the user says, one after the other.
        reference: a solution.
        outputs, goal: what a solution must bring up and change.
        unordered, ignored: patterns of `envrl.envs.envfactory.delta.Rules`.
        user_tools: tools that only the user can call.
        provenance: how it was made. licence: of the task and its state.
    """

    id: str
    split: str = "train"
    type: str = ""
    toolkits: tuple[ToolkitUse, ...] = pydantic.Field(min_length=1)
    policy: str = ""
    turns: tuple[Turn, ...] = pydantic.Field(min_length=1)
    reference: tuple[ReferenceStep, ...] = ()
    outputs: tuple[Output, ...] = ()
    goal: tuple[GoalChange, ...] = ()
    unordered: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    user_tools: tuple[str, ...] = ()
    provenance: dict[str, Any] = {}
    licence: str = "MIT"

    @pydantic.model_validator(mode="after")
    def _can_fail(self) -> Self:
        wanted = compare(self.changes, (), self.rules).wanted
        if not wanted and not any(output.say or output.see for output in self.outputs):
            raise ValueError("a task that changes nothing must have outputs, or doing nothing would solve it")
        names = [use.name for use in self.toolkits]
        if len(set(names)) < len(names):
            raise ValueError(f"toolkit names must differ, found {names}")
        return self

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """The goal as changes."""
        return tuple(Change(c.path, c.op, c.value) for c in self.goal)

    @cached_property
    def rules(self) -> Rules:
        """How deltas are compared in this task."""
        return rules(self.unordered, self.ignored)


class TaskFolder:
    """The tasks of a folder, parsed when they are asked for.

    Args:
        path: the folder, or the path of its ``tasks.jsonl``.

    Raises:
        DataNotFound: there is no such file, or it is empty.
        InvalidData: a line is no task.
    """

    def __init__(self, path: Path | str) -> None:
        path = Path(path)
        self.folder = path.parent if path.suffix == ".jsonl" else path
        file = path if path.suffix == ".jsonl" else path / TASKS
        self.tasks: dict[str, Task] = {}
        for number, line in enumerate(_lines(file), 1):
            try:
                task = Task.model_validate_json(line)
            except pydantic.ValidationError as error:
                raise InvalidData(f"{file}:{number}: expected a task, found {_short(error)}") from error
            if task.id in self.tasks:
                raise InvalidData(f"{file}:{number}: the id {task.id!r} is there twice")
            self.tasks[task.id] = task
        if not self.tasks:
            raise DataNotFound(f"{file} holds no task; `envrl factory build` makes task folders")
        self._states: dict[str, bytes] | None = None
        self._metadata: dict[str, Any] | None = None

    def task(self, task_id: str) -> Task:
        """A task by id. Raises InvalidTask."""
        try:
            return self.tasks[task_id]
        except KeyError:
            raise InvalidTask(
                f"no task {task_id!r} among the {len(self.tasks)} of {self.folder}; "
                f"the first is {next(iter(self.tasks))!r}"
            ) from None

    def state(self, state_id: str) -> bytes:
        """An initial state as JSON. Raises InvalidData where it is missing."""
        if self._states is None:
            self._states = {}
            for number, line in enumerate(_lines(self.folder / STATES), 1):
                try:
                    entry = pydantic_core.from_json(line)
                    self._states[entry["id"]] = pydantic_core.to_json(entry["data"])
                except (ValueError, KeyError, TypeError) as error:
                    raise InvalidData(
                        f"{self.folder / STATES}:{number}: expected a state, found {error}"
                    ) from error
        if state_id not in self._states:
            raise InvalidData(
                f"{self.folder / STATES}: expected the state {state_id!r}, which a task names; it is not there"
            )
        return self._states[state_id]

    def verified(self, source: str) -> str:
        """The fingerprint of a source's code when it passed verification; "" if the folder has none."""
        if self._metadata is None:
            try:
                self._metadata = json.loads((self.folder / METADATA).read_bytes())
            except (OSError, ValueError):  # a task file alone is enough to play
                self._metadata = {}
        return str(self._metadata.get("verified", {}).get(source, ""))


def write_folder(
    folder: Path,
    tasks: Iterable[Task],
    states: Mapping[str, tuple[str, Any]],
    metadata: Mapping[str, Any],
) -> None:
    """Write a task folder; the same arguments give the same bytes.

    Args:
        folder: made if it is not there.
        tasks: the tasks, in order.
        states: id -> (toolkit's source, the state as JSON data); those that no task names are left out.
        metadata: what ``metadata.json`` says besides the format.
    """
    folder.mkdir(parents=True, exist_ok=True)
    named: set[str] = set()
    with (folder / TASKS).open("w", encoding="utf-8", newline="\n") as file:
        for task in tasks:
            named.update(use.state for use in task.toolkits)
            data = task.model_dump(mode="json", exclude_defaults=True)
            file.write(json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n")
    with (folder / STATES).open("w", encoding="utf-8", newline="\n") as file:
        for state_id in sorted(named):
            source, data = states[state_id]
            entry = {"id": state_id, "source": source, "data": data}
            file.write(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n")
    text = json.dumps({"format": FORMAT, **metadata}, ensure_ascii=False, indent=2, sort_keys=True)
    (folder / METADATA).write_text(text + "\n", encoding="utf-8")


def _lines(file: Path) -> list[bytes]:
    try:
        return [line for line in file.read_bytes().splitlines() if line.strip()]
    except (FileNotFoundError, NotADirectoryError):
        raise DataNotFound(
            f"expected {file.name} in {file.parent}, found none; "
            f"`envrl factory build SOURCE --output {file.parent}` makes it"
        ) from None


def _short(error: pydantic.ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'the line'}: {first['msg']}"
