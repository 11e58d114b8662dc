"""Speed of tool environments: builtin toolkits, large states, MCP servers, the benchmark's tasks; prints JSON.

    python benchmarks/envfactory.py [--servers FOLDER] [--environments 32]

Builtin figures are CPU time of this process; those with servers are wall-clock time. The MCP figures need the extra
``mcp`` and the servers that `make data-packages` installs; parts whose packages are missing are left out.
"""

import argparse
import asyncio
import importlib.util
import json
import shutil
import statistics
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pydantic
from clock import cpu

import envrl  # noqa: F401 - registers the ids
from envrl.envs.envfactory.env import EnvFactoryEnv
from envrl.envs.envfactory.session import ToolkitSession
from envrl.envs.envfactory.state import Original
from envrl.envs.envfactory.toolkit import Toolkit, tool


class Record(pydantic.BaseModel):
    """A record of a large table."""

    name: str
    text: str
    number: int


class LargeState(pydantic.BaseModel):
    """One table of some megabytes."""

    records: dict[str, Record]


class Large(Toolkit):
    """A toolkit whose state is large."""

    State = LargeState

    @tool(effect="write")
    def change(self, record: str, number: int) -> str:
        """Change a record."""
        self.state.records[record].number = number
        return "changed"


def measure_builtin(tasks: int) -> dict[str, Any]:
    """Episodes of the committed tasks, played by their references."""
    env = EnvFactoryEnv(split="all")
    ids = env.task_ids()
    chosen = [ids[index * len(ids) // tasks] for index in range(min(tasks, len(ids)))]
    plans: list[tuple[str, list[str]]] = []
    for task_id in chosen:
        env.reset(options={"task_id": task_id})
        plans.append((task_id, env.expert_actions()))
    resets = cpu(lambda: [env.reset(options={"task_id": task_id}) for task_id in chosen])

    def play() -> None:
        for task_id, plan in plans:
            env.reset(options={"task_id": task_id})
            for action in plan:
                env.step(action)

    steps = sum(len(plan) for _, plan in plans)
    return {
        "tasks": len(plans),
        "steps_per_s": steps / (cpu(play) - resets),
        "reset_us": 1e6 * resets / len(plans),
    }


def measure_large(megabytes: float) -> dict[str, float]:
    """Reset of a large state after a change to it."""
    text = "x" * 200
    count = int(megabytes * 1e6 / 250)
    data = {"records": {f"R{n}": {"name": f"record {n}", "text": text, "number": n} for n in range(count)}}
    original = Original(LargeState, json.dumps(data).encode())
    session = ToolkitSession(Large)
    session.reset(original)

    def again() -> None:
        session.call("change", {"record": f"R{count // 2}", "number": -1})
        session.reset(original)

    return {
        "megabytes": original.size / 1e6,
        "first_reset_ms": 1e3 * cpu(lambda: ToolkitSession(Large).reset(original)),
        "change_and_reset_ms": 1e3 * cpu(again),
    }


def describe(servers: Path) -> dict[str, dict[str, Any]]:
    """Descriptions of the installed servers, by name; with the call that is timed."""
    found: dict[str, dict[str, Any]] = {}
    memory = servers / "node_modules" / "@modelcontextprotocol" / "server-memory" / "dist" / "index.js"
    if memory.exists() and shutil.which("node"):
        found["server-memory (Node)"] = {
            "description": {
                "command": "node",
                "args": [str(memory)],
                "env": {"MEMORY_FILE_PATH": "{workdir}/graph.jsonl"},
                "restart": False,
            },
            "call": ("read_graph", {}),
        }
    if importlib.util.find_spec("mcp_server_time") is not None:
        asked = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        found["mcp-server-time (Python)"] = {
            "description": {"command": "{python}", "args": ["-m", "mcp_server_time"], "restart": False},
            "call": ("convert_time", asked),
        }
    return found


def measure_overhead(
    description: dict[str, Any], call: tuple[str, dict[str, Any]], calls: int
) -> dict[str, float]:
    """The SDK's own client and ours, one call of each in turn to two processes of the same server."""
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    from envrl.envs.envfactory.mcp import McpSource, McpSpec

    spec = McpSpec.model_validate({"name": "measured", **description})
    source = McpSource("measured.json", spec, Path.cwd())
    session, raw, ours = source.open(), list[float](), list[float]()
    raw_cpu, our_cpu = list[float](), list[float]()
    start = time.perf_counter()
    session.reset(source.load(b'{"files": {}}'))
    started = time.perf_counter() - start
    assert session.call(*call).ok

    async def both() -> None:
        with tempfile.TemporaryDirectory() as folder:
            words, environ = spec.words(Path(folder), Path.cwd())
            parameters = StdioServerParameters(command=words[0], args=words[1:], env=environ, cwd=folder)
            async with Client(stdio_client(parameters)) as client:
                await client.list_tools()
                await client.call_tool(*call)
                for _ in range(calls):
                    begin, cpu = time.perf_counter(), time.process_time()
                    await client.call_tool(*call)
                    middle, middle_cpu = time.perf_counter(), time.process_time()
                    session.call(*call)
                    ours.append(time.perf_counter() - middle)
                    our_cpu.append(time.process_time() - middle_cpu)
                    raw.append(middle - begin)
                    raw_cpu.append(middle_cpu - cpu)

    try:
        asyncio.run(both())
    finally:
        session.close()
    return {
        "start_s": started,
        "raw_sdk_call_ms": 1e3 * statistics.median(raw),
        "session_call_ms": 1e3 * statistics.median(ours),
        "overhead_ms": 1e3 * (statistics.median(ours) - statistics.median(raw)),
        # of this process alone: what remains true on a machine that has other work
        "overhead_cpu_ms": 1e3 * (statistics.median(our_cpu) - statistics.median(raw_cpu)),
    }


def measure_together(description: dict[str, Any], count: int) -> dict[str, Any]:
    """``count`` servers at once, each with a state of its own that is read back after all have changed theirs."""
    from envrl.envs.envfactory.mcp import McpSource, McpSpec

    source = McpSource(
        "measured.json", McpSpec.model_validate({"name": "measured", **description}), Path.cwd()
    )
    sessions = [source.open() for _ in range(count)]
    barrier = threading.Barrier(count)

    def play(number: int) -> bool:
        line = {"type": "entity", "name": f"start {number}", "entityType": "test", "observations": []}
        session = sessions[number]
        session.reset(source.load(json.dumps({"files": {"graph.jsonl": json.dumps(line)}}).encode()))
        barrier.wait()
        entity = {"name": f"new {number}", "entityType": "test", "observations": []}
        session.call("create_entities", {"entities": [entity]})
        barrier.wait()
        names = [entity["name"] for entity in session.call("read_graph", {}).value["entities"]]
        return names == [f"start {number}", f"new {number}"]

    start = time.perf_counter()
    try:
        with ThreadPoolExecutor(count) as pool:
            right = sum(pool.map(play, range(count)))
    finally:
        for session in sessions:
            session.close()
    return {"environments": count, "read_their_own_state": right, "seconds": time.perf_counter() - start}


def measure_bfcl(tasks: int) -> dict[str, float]:
    """Episodes of the benchmark's base category, played by its ground truth."""
    from envrl.envs.envfactory.bfcl.env import BFCLEnv

    env = BFCLEnv("base")
    plans = []
    for task_id in env.task_ids()[:tasks]:
        env.reset(options={"task_id": task_id})
        plans.append((task_id, env.expert_actions()))

    def play() -> None:
        for task_id, plan in plans:
            env.reset(options={"task_id": task_id})
            for action in plan:
                env.step(action)

    return {"tasks": len(plans), "steps_per_s": sum(len(plan) for _, plan in plans) / cpu(play)}


def rounded(value: Any) -> Any:
    """Four digits are enough."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tasks", type=int, default=200, help="builtin tasks to play")
    parser.add_argument("--calls", type=int, default=200, help="calls of an MCP tool")
    parser.add_argument("--environments", type=int, default=32, help="MCP environments at once")
    parser.add_argument(
        "--servers", type=Path, default=Path(sys.prefix) / "mcp-servers", help="where servers are"
    )
    arguments = parser.parse_args()
    results: dict[str, Any] = {"builtin": measure_builtin(arguments.tasks), "large_state": measure_large(3)}
    if all(importlib.util.find_spec(name) is not None for name in ("bfcl_eval", "mpmath")):
        results["bfcl"] = measure_bfcl(50)
    if importlib.util.find_spec("mcp") is not None:
        found = describe(arguments.servers)
        results["mcp"] = {
            name: measure_overhead(each["description"], each["call"], arguments.calls)
            for name, each in found.items()
        }
        for name, each in found.items():
            if each["call"][0] == "read_graph":
                results["together"] = {name: measure_together(each["description"], arguments.environments)}
    print(json.dumps(rounded(results), indent=2))


if __name__ == "__main__":
    main()
