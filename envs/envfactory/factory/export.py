"""Stage 7, export: a task folder that the environment plays, and the tasks in the formats of trainers.

| file | a line is |
|---|---|
| tasks.jsonl, states.jsonl, metadata.json | see `envrl.envs.envfactory.task` |
| sft.jsonl | a conversation: ``messages`` in OpenAI's format, ``tools`` as JSON text |
| alpaca.jsonl | a step: ``system``, ``instruction``, ``input`` (what happened before), ``output`` (the action) |
| rl.jsonl | a task: ``prompt`` (messages), ``env``, ``task_id`` and what a reward function may want to know |

Each line also has ``task_id``, ``split``, ``licence`` and ``provenance``. Values whose shape differs from line to
line are JSON text, so that `datasets` reads the files as they are.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from envrl.envs.envfactory.actions import write_call
from envrl.envs.envfactory.episode import Episode, text_of
from envrl.envs.envfactory.library import TaskLibrary
from envrl.envs.envfactory.session import Session
from envrl.envs.envfactory.task import Task
from envrl.envs.envfactory.user import ScriptedUser

SFT, ALPACA, RL = "sft.jsonl", "alpaca.jsonl", "rl.jsonl"
#: makes a fresh episode of a task
Opener = Callable[[Task], Episode]
ENV_ID = "EnvRL/EnvFactory-v0"


def write_exports(folder: Path, tasks: Sequence[Task], opener: Opener) -> None:
    """Write the three files of trainers."""
    played = [(task, list(_turns(opener(task)))) for task in tasks]
    _write(folder / SFT, (_sft(task, opener(task), turns) for task, turns in played))
    _write(folder / ALPACA, (row for task, turns in played for row in _alpaca(task, opener(task), turns)))
    _write(folder / RL, (_rl(task, opener(task)) for task in tasks))


def export_folder(folder: Path, target: Path) -> int:
    """`write_exports` for a task folder on disk; the number of tasks.

    Raises:
        DataNotFound: there is no task in it.
    """
    library = TaskLibrary(folder, "all", None)
    tasks, user = [library.task(task_id) for task_id in library.ids], ScriptedUser()
    sessions: dict[tuple[str, str], Session] = {}

    def opener(task: Task) -> Episode:
        return library.begin(task, sessions, user)

    target.mkdir(parents=True, exist_ok=True)
    try:
        write_exports(target, tasks, opener)
    finally:
        for session in sessions.values():
            session.close()
    return len(tasks)


def _turns(episode: Episode) -> Iterator[tuple[str, str]]:
    """(action, observation) of the reference, to the end."""
    for step in episode.task.reference:
        action = text_of(step)
        result = episode.act(action)
        yield action, result.observation
        if result.terminated:
            return


def _sft(task: Task, episode: Episode, turns: Sequence[tuple[str, str]]) -> dict[str, Any]:
    messages = _prompt(task, episode)
    for number, (step, (action, observation)) in enumerate(zip(task.reference, turns, strict=True)):
        if step.tool is None:
            messages.append({"role": "assistant", "content": action})
            if observation.startswith("User: "):
                messages.append({"role": "user", "content": observation.removeprefix("User: ")})
        else:
            arguments = json.dumps(step.arguments, ensure_ascii=False)
            call = {
                "id": f"call_{number}",
                "type": "function",
                "function": {"name": step.tool, "arguments": arguments},
            }
            messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
            messages.append({"role": "tool", "content": observation, "tool_call_id": f"call_{number}"})
    tools = json.dumps(list(episode.toolbox.openai), ensure_ascii=False)
    return {"messages": messages, "tools": tools, **_about(task)}


def _alpaca(task: Task, episode: Episode, turns: Sequence[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    system, before = episode.toolbox.introduction(task.policy), ""
    for action, observation in turns:
        row = {"system": system, "instruction": task.turns[0].text, "input": before, "output": action}
        yield {**row, **_about(task)}
        before += f"You: {action}\n{observation}\n"


def _rl(task: Task, episode: Episode) -> dict[str, Any]:
    return {
        "prompt": _prompt(task, episode),
        "tools": json.dumps(list(episode.toolbox.openai), ensure_ascii=False),
        "env": ENV_ID,
        "goal": json.dumps([change.model_dump(mode="json") for change in task.goal], ensure_ascii=False),
        "outputs": json.dumps(
            [output.model_dump(mode="json") for output in task.outputs], ensure_ascii=False
        ),
        **_about(task),
    }


def _prompt(task: Task, episode: Episode) -> list[dict[str, Any]]:
    system = episode.toolbox.introduction(task.policy, listing=False)
    return [{"role": "system", "content": system}, {"role": "user", "content": task.turns[0].text}]


def _about(task: Task) -> dict[str, str]:
    provenance = json.dumps(task.provenance, ensure_ascii=False, sort_keys=True)
    return {"task_id": task.id, "split": task.split, "licence": task.licence, "provenance": provenance}


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")


def actions_of(messages: Iterable[Mapping[str, Any]]) -> list[str]:
    """The action texts of a conversation of ``sft.jsonl``: what an agent writes that repeats it."""
    actions: list[str] = []
    for message in messages:
        if message["role"] == "assistant":
            calls = message.get("tool_calls") or ()
            for call in calls:
                function = call["function"]
                actions.append(write_call(function["name"], json.loads(function["arguments"])))
            if not calls:
                actions.append(str(message["content"]))
    return actions
