"""Speed and memory of WebShop; prints JSON.

    python benchmarks/webshop.py [--catalog FOLDER] [--large 100000]

Times of steps and searches are CPU time of this process; of starts and builds there is both, wall-clock and CPU
time. Steps go through
the unwrapped environment: one in five is a search of four words, the others click something at random, and every
step has its list of admissible actions and its state key. The original's figures were measured on one idle core
with its own 1,000 products (`original` below) and are put beside ours as ratios; it is not run here, since it needs
Java and a Flask server.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

import gymnasium
from clock import cpu

import envrl  # noqa: F401 - registers the ids
from envrl.envs.webshop.env import WebShopEnv
from envrl.envs.webshop.generator import generate_products
from envrl.envs.webshop.official_writer import write_official

SHARED = Path(__file__).resolve().parents[1].parent / "shared" / "data" / "webshop"
#: of the original, on one idle core
ORIGINAL = {"steps_per_second": 23, "search_ms": 54, "start_seconds": 4, "megabytes_per_env": [259, 392]}
REPEATS = 5
STEPS = 20_000


def random_play(env: Any, words: list[str], steps: int) -> Callable[[], None]:
    """Random play, a fifth of it searches of four words; the choices are the same in every run."""

    def play() -> None:
        rng = Random(0)
        _, info = env.reset(seed=0)
        for _ in range(steps):
            clicks = info["admissible_actions"]
            if not clicks or rng.random() < 0.2:
                action = f"search[{' '.join(rng.choices(words, k=4))}]"
            else:
                action = clicks[int(rng.random() * len(clicks))]
            _, _, terminated, truncated, info = env.step(action)
            if terminated or truncated:
                _, info = env.reset()

    return play


def queries_of(env: WebShopEnv, count: int = 606) -> list[str]:
    """What buyers would search for: instructions without their price."""
    goals = env._goals
    places = range(0, len(goals), max(1, len(goals) // count))
    return [goals[place].instruction.rpartition(", and price")[0].lower() for place in places][:count]


def recorded_queries() -> list[str]:
    path = SHARED / "golden" / "search_top50.jsonl"
    return [json.loads(line)["q"] for line in path.read_text().splitlines()] if path.is_file() else []


def search_ms(env: WebShopEnv, queries: Iterable[str]) -> float:
    """Milliseconds a query, of the index itself: pages keep their results."""
    texts = list(queries)
    search = env._shop.catalog.index.search
    return round(cpu(lambda: [search(text) for text in texts]) / len(texts) * 1e3, 4)


def in_a_process(code: str, cache: str, *arguments: str) -> Any:
    """What ``code`` prints as JSON in a new interpreter."""
    environ = os.environ | {"XDG_CACHE_HOME": cache}
    words = [sys.executable, "-c", code, *arguments]
    return json.loads(subprocess.run(words, env=environ, capture_output=True, text=True, check=True).stdout)


START = """
import json, sys, time
import gymnasium, envrl, numpy, envrl.envs.webshop.env
wall, cpu = time.perf_counter(), time.process_time()
env = gymnasium.make("EnvRL/WebShop-v0", catalog=sys.argv[1], split="test")
env.reset(seed=0)
print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu]))
"""

MEMORY = """
import gc, json, os, sys
from random import Random
import gymnasium, envrl

def resident():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6

def play(env, seed):
    rng = Random(seed)
    _, info = env.reset(seed=seed)
    for _ in range(15):
        clicks = info["admissible_actions"]
        _, _, over, cut, info = env.step(rng.choice(clicks) if clicks else "search[red shoes for work]")
        if over or cut:
            _, info = env.reset()

make = lambda: gymnasium.make("EnvRL/WebShop-v0", catalog=sys.argv[1], split="test")
before = resident()
envs = [make()]
# what is shared grows with use and belongs to no environment: let it grow first
for seed in range(300):
    play(envs[0], seed % 64)
one = resident()
envs += [make() for _ in range(63)]
for seed, env in enumerate(envs):
    play(env, seed)
many = resident()
print(json.dumps({"process_without": before, "megabytes_1": one, "megabytes_64": many,
                  "kilobytes_an_extra_env": (many - one) / 63 * 1000}))
"""

BUILD = """
import json, resource, sys, time
from envrl.envs.webshop.opening import load_catalog
wall, cpu = time.perf_counter(), time.process_time()
catalog = load_catalog(sys.argv[1])
goals = catalog.goals("synthetic", 0)
print(json.dumps({"products": len(catalog), "goals": len(goals), "seconds": time.perf_counter() - wall,
                  "cpu_seconds": time.process_time() - cpu,
                  "megabytes_at_most": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000}))
"""


def measure_1000(catalog: str) -> dict[str, Any]:
    """Steps, searches, starts and memory with the catalogue named."""
    modes: dict[str, int] = {}
    for mode in ("text", "text_rich", "html", "url"):
        env = WebShopEnv(catalog=catalog, observation_mode=mode, split="test")  # type: ignore[arg-type]
        words = " ".join(queries_of(env)).split()
        modes[mode] = round(STEPS / cpu(random_play(env, words, STEPS), 3))
    made = gymnasium.make("EnvRL/WebShop-v0", catalog=catalog, split="test")
    through_make = round(STEPS / cpu(random_play(made, words, STEPS), 3))
    recorded = recorded_queries()
    searches = {"instructions": search_ms(env, queries_of(env))}
    searches["four_words"] = search_ms(env, [" ".join(query.split()[:4]) for query in queries_of(env)])
    if recorded:
        searches["recorded_queries"] = search_ms(env, recorded)
    with tempfile.TemporaryDirectory() as cache:
        starts = {"cold": in_a_process(START, cache, catalog)}
        starts["warm"] = min(in_a_process(START, cache, catalog) for _ in range(REPEATS))
        memory = in_a_process(MEMORY, cache, catalog)
    steps = modes["text"]
    return {
        "steps_per_second": modes | {"text_through_gymnasium_make": through_make},
        "search_ms": searches,
        "start_seconds": {
            name: dict(zip(("wall", "cpu"), (round(part, 3) for part in value), strict=True))
            for name, value in starts.items()
        },
        "memory": {name: round(value, 1) for name, value in memory.items()},
        "times_the_original": {
            "steps": round(steps / ORIGINAL["steps_per_second"]),  # type: ignore[operator]
            "search": round(
                ORIGINAL["search_ms"] / searches.get("recorded_queries", searches["instructions"])
            ),  # type: ignore[operator]
        },
    }


def measure_large(count: int) -> dict[str, Any]:
    """A generated catalogue in the official form: built once, then opened; searches of instructions."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        write_official(Path(folder), generate_products(count))
        written = time.perf_counter() - start
        built = in_a_process(BUILD, folder, folder)
        opened = in_a_process(BUILD, folder, folder)
        env = WebShopEnv(catalog=folder)
        queries = queries_of(env)
        return {
            "files_written_seconds": round(written, 1),
            "build": {name: round(value, 1) for name, value in built.items()},
            "open_again": {name: round(value, 3) for name, value in opened.items()},
            "search_ms": {
                "instructions": search_ms(env, queries),
                "four_words": search_ms(env, [" ".join(query.split()[:4]) for query in queries]),
            },
            "steps_per_second": round(5000 / cpu(random_play(env, " ".join(queries).split(), 5000), 2)),
        }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--catalog", default=str(SHARED) if SHARED.is_dir() else "synthetic")
    parser.add_argument(
        "--large", type=int, nargs="*", default=[20_000, 100_000], help="sizes of generated catalogues"
    )
    options = parser.parse_args()
    report: dict[str, Any] = {"original": ORIGINAL, "1000": measure_1000(options.catalog)}
    if options.catalog != "synthetic":
        report["1000 synthetic"] = measure_1000("synthetic")
    for count in options.large:
        report[str(count)] = measure_large(count)
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
