"""Speed and memory of ALFWorld's engines, side by side in one run; prints JSON.

    python benchmarks/alfworld.py [--games train.tar.xz --split train]

Times are CPU time of this process. Steps go through the unwrapped environment and include the list of
admissible commands and the state key. The original stack is measured where it is installed (extra
``reference``): the same games, the same commands, its environment driven directly.
"""

import argparse
import gc
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

import gymnasium
from clock import cpu

import envrl  # noqa: F401 - registers the ids
from envrl.envs.alfworld.env import ALFWorldEnv
from envrl.envs.alfworld.library import forget_games
from envrl.envs.alfworld.official import forget_sources
from envrl.envs.alfworld.parity import seeded_commands
from envrl.envs.alfworld.play import NativePlay
from envrl.envs.alfworld.reference import new_stack

Episodes = list[tuple[str, list[str]]]


def recorded_episodes(env: ALFWorldEnv, count: int, steps: int) -> Episodes:
    """Tasks spread over the split, with commands for each: possible ones, a tenth of them nonsense."""
    ids = env.task_ids()
    episodes = []
    for i in range(count):
        task_id = ids[i * len(ids) // count]
        env.reset(options={"task_id": task_id})
        play = NativePlay(env._library.load(task_id))
        commands = []
        for command in seeded_commands(play, Random(i), steps):
            commands.append(command)
            play.act(command)
            if play.won:
                break
        episodes.append((task_id, commands))
    return episodes


def replay(env: gymnasium.Env[str, str], episodes: Episodes) -> None:
    for task_id, commands in episodes:
        env.reset(options={"task_id": task_id})
        for command in commands:
            env.step(command)


def measure_native(kwargs: dict[str, Any], episodes: Episodes) -> dict[str, float]:
    """Microseconds a step, a reset and a snapshot; milliseconds for the first reset to a game."""
    env = ALFWorldEnv(**kwargs)
    steps = sum(len(commands) for _, commands in episodes)

    def resets() -> None:
        for task_id, _ in episodes:
            env.reset(options={"task_id": task_id})

    reset = cpu(resets)
    step = cpu(lambda: replay(env, episodes)) - reset
    wrapped = gymnasium.make("EnvRL/ALFWorld-v0", **kwargs)
    wrapped_step = cpu(lambda: replay(wrapped, episodes)) - reset

    def first_resets() -> None:
        for task_id, _ in episodes:
            forget_games()
            env.reset(options={"task_id": task_id})

    first = cpu(first_resets)
    snapshot = env.get_state()
    rounds = range(2_000)
    return {
        "step_us": 1e6 * step / steps,
        "step_through_gym_make_us": 1e6 * wrapped_step / steps,
        "reset_us": 1e6 * reset / len(episodes),
        "reset_with_parsing_ms": 1e3 * first / len(episodes),
        "snapshot_us": 1e6 * cpu(lambda: [env.get_state() for _ in rounds]) / len(rounds),
        "restore_us": 1e6 * cpu(lambda: [env.set_state(snapshot) for _ in rounds]) / len(rounds),
    }


def measure_opening(kwargs: dict[str, Any]) -> dict[str, float]:
    """Seconds of wall time to open the games without and with the index of an earlier opening."""
    found = {}
    before = os.environ.get("XDG_CACHE_HOME")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        for name in ("open_cold_s", "open_warm_s"):
            forget_sources()
            start = time.perf_counter()
            ALFWorldEnv(**kwargs)
            found[name] = time.perf_counter() - start
        forget_sources()
    if before is None:
        del os.environ["XDG_CACHE_HOME"]
    else:
        os.environ["XDG_CACHE_HOME"] = before
    return found


def measure_reference(kwargs: dict[str, Any], episodes: Episodes) -> dict[str, float]:
    """Seconds to load and to reset, milliseconds a step, of the original stack."""
    library = ALFWorldEnv(**kwargs)._library
    stack = new_stack()
    load = reset = step = 0.0
    argv = sys.argv
    for task_id, commands in episodes:
        fields = library.game_file(task_id)
        load += cpu(lambda fields=fields: stack.load(fields), 1)
        reset += cpu(stack.reset, 1)
        step += cpu(lambda commands=commands: [stack.step(command) for command in commands], 1)
    sys.argv = argv
    games, steps = len(episodes), sum(len(commands) for _, commands in episodes)
    return {"load_s": load / games, "reset_s": reset / games, "step_ms": 1e3 * step / steps}


def resident_mb() -> float:
    """Memory of this process that is in use; not a number where there is no /proc."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return float("nan")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def hold_environments(kwargs: dict[str, Any], count: int, engine: str) -> None:
    """Print by how many MB this process grows with ``count`` environments amid different games.

    With more than one, what the first needs is not counted: libraries, the index, the ids of the split.
    """
    before = resident_mb()
    envs = [ALFWorldEnv(engine=engine, **kwargs)]
    ids = envs[0].task_ids()
    if count > 1:
        envs[0].reset(options={"task_id": ids[0]})
        before = resident_mb()
    envs += [ALFWorldEnv(engine=engine, **kwargs) for _ in range(count - len(envs))]
    for i, env in enumerate(envs):
        _, info = env.reset(options={"task_id": ids[1 + i * (len(ids) - 1) // count]})
        for k in range(20 if engine == "native" else 2):
            *_, info = env.step(info["admissible_actions"][k % len(info["admissible_actions"])])
    gc.collect()
    print(json.dumps(resident_mb() - before))


def memory(arguments: argparse.Namespace, count: int, engine: str) -> float:
    command = [sys.executable, __file__, "--games", arguments.games, "--split", arguments.split]
    command += ["--hold", str(count), "--engine", engine]
    return float(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def main() -> None:
    # This file is named like the package it measures and would be imported in its place.
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != Path(__file__).resolve().parent]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--games", default="procedural", help="procedural, official, or a folder or archive")
    parser.add_argument("--split", default="train")
    parser.add_argument("--episodes", type=int, default=100, help="games for the native engine")
    parser.add_argument("--reference-episodes", type=int, default=3, help="games for both engines")
    parser.add_argument("--hold", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--engine", default="native", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    kwargs = {"games": arguments.games, "split": arguments.split}
    if arguments.hold:
        hold_environments(kwargs, arguments.hold, arguments.engine)
        return
    results: dict[str, Any] = {"games": arguments.games, "split": arguments.split}
    if arguments.games != "procedural":
        results |= measure_opening(kwargs)
    env = ALFWorldEnv(**kwargs)
    results["native"] = measure_native(kwargs, recorded_episodes(env, arguments.episodes, 50))
    results["native"]["memory_of_1_mb"] = memory(arguments, 1, "native")
    results["native"]["memory_of_256_more_mb"] = memory(arguments, 256, "native")
    results["native"]["memory_per_env_kb"] = 1024 * results["native"]["memory_of_256_more_mb"] / 256
    if all(importlib.util.find_spec(name) is not None for name in ("alfworld", "textworld")):
        episodes = recorded_episodes(env, arguments.reference_episodes, 20)
        ours, theirs = measure_native(kwargs, episodes), measure_reference(kwargs, episodes)
        theirs["memory_of_1_mb"] = memory(arguments, 1, "textworld")
        results["same_games"] = {"native": ours, "textworld": theirs}
        results["times_faster"] = {
            "step": 1e3 * theirs["step_ms"] / ours["step_us"],
            "reset": 1e6 * theirs["reset_s"] / ours["reset_us"],
            "first_reset": 1e3 * (theirs["load_s"] + theirs["reset_s"]) / ours["reset_with_parsing_ms"],
        }
    print(json.dumps(rounded(results), indent=2))


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value


if __name__ == "__main__":
    main()
