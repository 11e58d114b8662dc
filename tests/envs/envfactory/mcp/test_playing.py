"""`EnvRL/EnvFactory-v0` over a real server: a task folder with hand-written tasks."""

import json
import shutil
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from mcp_servers import LEDGER, filesystem, ledger

import envrl  # noqa: F401 - registers the ids
from envrl.envs.envfactory.task import GoalChange, Output, ReferenceStep, Task, ToolkitUse, Turn, write_folder
from envrl.envs.testing import check_text_env

FILES = {"notes/todo.txt": "buy milk\ncall Ann\n", "report.md": "# Report\n"}


def folder_of(folder: Path, description: dict[str, Any], tasks: list[Task], states: dict[str, Any]) -> str:
    """A task folder whose toolkit is ``server.json`` in it."""
    write_folder(folder, tasks, {name: ("server.json", data) for name, data in states.items()}, {"seed": 0})
    (folder / "server.json").write_text(json.dumps(description))
    return str(folder)


@pytest.fixture
def files(tmp_path: Path) -> str:
    """One task over the reference filesystem server."""
    pytest.importorskip("mcp", reason="needs the extra mcp")
    path = {"path": "/workspace/notes/todo.txt"}
    task = Task(
        id="files/0",
        toolkits=(ToolkitUse(name="files", source="server.json", state="s"),),
        turns=(Turn(text="Whom must I call? Save the name as /workspace/name.txt."),),
        reference=(
            ReferenceStep(tool="read_text_file", arguments=path),
            ReferenceStep(tool="write_file", arguments={"path": "/workspace/name.txt", "content": "Ann"}),
            ReferenceStep(say="You must call Ann."),
        ),
        outputs=(Output(value="Ann"),),
        goal=(GoalChange(path=("files", "files", "name.txt"), op="add", value="Ann"),),
    )
    return folder_of(tmp_path / "tasks", filesystem(), [task], {"s": {"files": FILES}})


@pytest.fixture
def accounts(tmp_path: Path) -> str:
    """Two tasks over our server, which loads and saves."""
    pytest.importorskip("mcp", reason="needs the extra mcp")
    folder = tmp_path / "tasks"
    folder.mkdir()
    shutil.copy(LEDGER, folder)
    description = {**ledger(), "args": ["{here}/ledger_server.py"], "call_timeout": 2.0}
    tasks = [
        Task(
            id=f"ledger/{number}",
            toolkits=(ToolkitUse(name="ledger", source="server.json", state=f"s{number}"),),
            turns=(Turn(text=f"Put {number + 1} into {name}. What is there then?"),),
            reference=(
                ReferenceStep(tool="deposit", arguments={"account": name, "amount": number + 1}),
                ReferenceStep(say=f"There is {number + 11} now."),
            ),
            outputs=(Output(value=number + 11),),
            goal=(GoalChange(path=("ledger", name), op="set", value=number + 11),),
        )
        for number, name in enumerate(("ann", "bob"))
    ]
    return folder_of(folder, description, tasks, {"s0": {"ann": 10}, "s1": {"bob": 10}})


def test_the_reference_succeeds_and_less_does_not(files: str) -> None:
    env = gymnasium.make("EnvRL/EnvFactory-v0", tasks=files)
    try:
        for _ in range(2):
            observation, info = env.reset(seed=0)
            assert "read_text_file(path: string" in observation
            assert {tool["function"]["name"] for tool in info["tools"]} >= {"read_text_file", "move_file"}
            keys = [info["state_key"]]
            for action in env.unwrapped.expert_actions():
                observation, reward, terminated, truncated, info = env.step(action)
                keys.append(info["state_key"])
            assert (reward, terminated, truncated, info["is_success"]) == (1.0, True, False, True)
            assert len(set(keys)) == len(keys)
        env.reset(seed=0)
        _, reward, terminated, _, info = env.step("You must call Ann.")
        assert (reward, terminated, info["is_success"]) == (0.0, True, False)
    finally:
        env.close()


def test_wrong_calls_change_nothing(files: str) -> None:
    env = gymnasium.make("EnvRL/EnvFactory-v0", tasks=files)
    try:
        _, info = env.reset(seed=0)
        key = info["state_key"]
        for action, status in (
            ('{"name": "write_file", "arguments": {"path": 3, "content": "x"}}', "inadmissible"),
            ('{"name": "write_file", "arguments": {"path": "/workspace/a"}}', "inadmissible"),
            (
                '{"name": "write_file", "arguments": {"path": "/workspace/a", "content": "x", "y": 1}}',
                "inadmissible",
            ),
            (
                '{"name": "move_file", "arguments": {"source": "/etc/hosts", "destination": "x"}}',
                "inadmissible",
            ),
            ('{"name": "write_file", ', "malformed"),
        ):
            *_, info = env.step(action)
            assert (info["action_status"], info["state_key"]) == (status, key), action
    finally:
        env.close()


def test_keeps_the_contract(accounts: str) -> None:
    path = Path(accounts, "server.json")
    tools = [
        "balance",
        "deposit",
        "careless",
    ]  # no environment keeps it over a server that hangs or tells its pid
    path.write_text(json.dumps({**json.loads(path.read_text()), "tools": tools}))
    found = check_text_env("EnvRL/EnvFactory-v0", kwargs={"tasks": accounts}, vectors="quick")
    assert not found.skipped


def test_a_server_that_dies_is_a_fault_and_the_next_episode_is_well(accounts: str) -> None:
    env = gymnasium.make("EnvRL/EnvFactory-v0", tasks=accounts)
    try:
        for tool in ("crash", "hang"):
            env.reset(options={"task_id": "ledger/0"})
            _, reward, terminated, truncated, info = env.step(json.dumps({"name": tool, "arguments": {}}))
            assert (reward, terminated, truncated) == (0.0, False, True)
            assert "ledger" in str(info["fault"]) or "server" in str(info["fault"])
            _, info = env.reset(options={"task_id": "ledger/0"})
            assert info["fault"] is None
            for action in env.unwrapped.expert_actions():
                *_, info = env.step(action)
            assert info["is_success"]
    finally:
        env.close()
