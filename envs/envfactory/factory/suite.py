"""The tasks that come with EnvRL, made by the factory: ``python -m envrl.envs.envfactory.factory.suite``.

The builtin toolkits are split in two: whoever trains on the tasks of the one part meets only unknown tools in the
other. The same seed gives the same bytes.
"""

import sys
from functools import partial
from pathlib import Path

from envrl.envs.envfactory.factory.arena import Stock
from envrl.envs.envfactory.factory.build import Plan, admit, make_tasks, write_tasks
from envrl.envs.envfactory.factory.explore import explore
from envrl.envs.envfactory.factory.graph import build_graph
from envrl.envs.envfactory.library import SUITES, suite_folder
from envrl.envs.envfactory.sources import open_source
from envrl.envs.envfactory.toolkits import BUILTIN

#: toolkits of the split ``held_out``; all others are for training
HELD_OUT = ("library", "fleet", "crm", "hr")
TASKS = {"train": 1200, "held_out": 400}
#: initial states of each toolkit
STATES = 8
SEED = 0


def suite_stocks(seed: int = SEED) -> dict[str, Stock]:
    """All builtin toolkits, explored."""
    stocks = {}
    for name in BUILTIN:
        source = open_source(f"builtin:{name}")
        found = explore(source, seed, states=STATES, rounds=3)
        stocks[name] = Stock(source, found, build_graph(source, found), seed)
    return stocks


def write_suite(folder: Path, stocks: dict[str, Stock], seed: int = SEED) -> int:
    """Make the tasks of both splits and write the task folder, without the files of trainers.

    Returns:
        How many tasks there are.
    """
    names = {
        "train": [n for n in stocks if n not in HELD_OUT],
        "held_out": [n for n in stocks if n in HELD_OUT],
    }
    plan = Plan({split: dict.fromkeys(part, ()) for split, part in names.items()}, TASKS, seed)
    tasks, counts = make_tasks(stocks, plan)
    reports = {
        name: {"tools": len(stock.source.tools), "coverage": stock.exploration.coverage(stock.source.tools)}
        for name, stock in stocks.items()
    }
    write_tasks(folder, tasks, stocks, reports, plan, counts, exports=False)
    return len(tasks)


def _report(name: str, step: str) -> None:
    print(f"{name}: {step}", file=sys.stderr)


def main() -> None:
    """Put every toolkit through the gates, then write the suite to where the environment looks for it."""
    for name in BUILTIN:
        admit(f"builtin:{name}", None, SEED, partial(_report, name))
    folder = suite_folder(SUITES[0])
    print(f"{write_suite(folder, suite_stocks())} tasks in {folder}")


if __name__ == "__main__":
    main()
