"""All stages in a row: from sources to a task folder."""

import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envrl.envs.envfactory.factory.arena import Stock
from envrl.envs.envfactory.factory.explore import Exploration
from envrl.envs.envfactory.factory.export import write_exports
from envrl.envs.envfactory.factory.refine import Policy, Refiner, signature
from envrl.envs.envfactory.factory.sample import Sampler
from envrl.envs.envfactory.factory.synthesize import Draft, Reword, synthesize
from envrl.envs.envfactory.factory.verify import Report, verify
from envrl.envs.envfactory.generators import generate, is_document
from envrl.envs.envfactory.sources import ToolkitSource, fingerprint_of, open_source
from envrl.envs.envfactory.task import Task, write_folder
from envrl.envs.errors import EnvRLError

#: draws until sampling is given up, for each task that is wanted
_DRAWS_PER_TASK, _MIN_DRAWS, _DRAWS_PER_TYPE = 12, 400, 4

#: (what is done, done so far, of how many)
Progress = Callable[[str, int, int | None], None]


class ToolkitRefused(EnvRLError):
    """A toolkit failed a gate; `report` says which."""

    def __init__(self, report: Report) -> None:
        super().__init__(f"{report.source} was refused: {report.complaint()}")
        self.report = report


@dataclass(frozen=True)
class Plan:
    """What is to be built.

    Attributes:
        splits: split -> toolkit name -> indices of initial states; empty for all of them.
        tasks: split -> how many.
        seed: of everything. licence: of the tasks.
        types: keep only tasks of these types (see `Draft`); empty for all.
    """

    splits: Mapping[str, Mapping[str, Sequence[int]]]
    tasks: Mapping[str, int]
    seed: int = 0
    licence: str = "MIT"
    types: tuple[str, ...] = ()


def split_states(
    stocks: Mapping[str, Stock], tasks: int, held_out: float, seed: int, licence: str = "MIT"
) -> Plan:
    """A plan that keeps the last initial states of each toolkit for the split ``held_out``.

    Args:
        stocks: toolkit name -> stock.
        tasks: how many in all.
        held_out: share of states and tasks held out; nothing is where a toolkit has one state only.
        seed, licence: of the plan.
    """
    train: dict[str, Sequence[int]] = {}
    test: dict[str, Sequence[int]] = {}
    for name, stock in stocks.items():
        count = len(stock.states)
        kept = max(1, count - max(1, round(held_out * count))) if held_out > 0 else count
        train[name], test[name] = range(kept), range(kept, count)
    if held_out <= 0 or any(not states for states in test.values()):
        return Plan({"train": dict.fromkeys(stocks, ())}, {"train": tasks}, seed, licence)
    held = max(1, round(tasks * held_out))
    return Plan({"train": train, "held_out": test}, {"train": tasks - held, "held_out": held}, seed, licence)


def adopt(spec: str, folder: Path) -> str:
    """Make a task folder hold its own copy of the source, where the source is a file; of a document, a toolkit.

    Args:
        spec: of the source, relative to the working directory.
        folder: the task folder.

    Returns:
        The spec for use in that folder.
    """
    if is_document(Path(spec)):
        return generate(Path(spec), folder)
    path, colon, name = spec.rpartition(":")
    if not path.endswith(".py"):
        path, colon, name = spec, "", ""
    file = Path(path)
    if not file.is_file() or file.suffix not in (".py", ".json"):
        return spec
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / file.name
    if copy.resolve() != file.resolve():
        shutil.copyfile(file, copy)
    here = f"{file.name}{colon}{name}"
    try:
        open_source(here, folder)
    except EnvRLError:  # it needs what lies beside it
        open_source(f"{file.resolve()}{colon}{name}")
        copy.unlink()
        return f"{file.resolve()}{colon}{name}"
    return here


def admit(
    spec: str, folder: Path | None, seed: int, tell: Callable[[str], None]
) -> tuple[Report, Exploration]:
    """Explore and verify a source. Raises ToolkitRefused, DataNotFound."""
    report, found = verify(spec, folder, seed, tell)
    if found is None or not report.passed:
        raise ToolkitRefused(report)
    return report, found


def sampler_for(stocks: Mapping[str, Stock], plan: Plan, split: str) -> Sampler:
    """The sampler of a split."""
    part = plan.splits[split]
    allowed = {name: states for name, states in part.items() if states}
    return Sampler({name: stocks[name] for name in part}, seed_of(plan.seed, split), allowed)


def most_draws(tasks: int, types: Sequence[str] = ()) -> int:
    """How many draws are made at most for so many tasks, more where only some types are kept."""
    return max(_MIN_DRAWS, _DRAWS_PER_TASK * tasks) * (_DRAWS_PER_TYPE if types else 1)


def seed_of(seed: int, split: str) -> int:
    """Each split has a seed of its own, so that one can grow and the other stays."""
    return seed * 1000 + sum(split.encode())


def make_tasks(
    stocks: Mapping[str, Stock],
    plan: Plan,
    progress: Progress | None = None,
    reword: Reword | None = None,
    policy: Policy | None = None,
) -> tuple[list[Task], dict[str, Any]]:
    """Sample, synthesize and refine until each split has its tasks.

    Args:
        stocks: toolkit name -> stock.
        plan: what is wanted.
        progress: see `Progress`.
        reword, policy: see `synthesize` and `Refiner`.

    Returns:
        The tasks, and what was counted on the way.
    """
    tell = progress or (lambda what, done, total: None)
    tasks: list[Task] = []
    counts: dict[str, Any] = {}
    seen: set[str] = set()
    for split, wanted in plan.tasks.items():
        sampler, refiner = sampler_for(stocks, plan, split), Refiner(stocks, plan.licence, policy)
        kept = chains = twice = 0
        try:
            while kept < wanted and sampler.tried < most_draws(wanted, plan.types):
                chain = sampler.sample()
                if chain is None:
                    continue
                chains += 1
                draft = synthesize(chain, stocks, refiner.toolbox(chain.states), reword)
                if plan.types and draft.kind not in plan.types:
                    refiner.refused["another type"] += 1
                    continue
                task = refiner.refine(draft, task_id(draft, split, len(tasks)), split)
                if task is None:
                    continue
                if signature(task) in seen:
                    twice += 1
                    continue
                seen.add(signature(task))
                tasks.append(task)
                kept += 1
                tell(f"tasks ({split})", kept, wanted)
        finally:
            sampler.close()
            refiner.close()
        counts[split] = _counted(sampler, chains, refiner, twice)
    return tasks, counts


def task_id(draft: Draft, split: str, number: int) -> str:
    """The id of the ``number``-th task, such as ``bank+tickets/train/00012``."""
    return f"{'+'.join(draft.chain.states)}/{split}/{number:05}"


def _counted(sampler: Sampler, chains: int, refiner: Refiner, twice: int) -> dict[str, Any]:
    refused = dict(refiner.refused.most_common()) | ({"the same words as before": twice} if twice else {})
    return {
        "chains tried": sampler.tried,
        "chains kept": chains,
        "chains refused": dict(sampler.refused.most_common()),
        "tasks kept": refiner.kept - twice,
        "tasks refused": refused,
    }


def write_tasks(
    folder: Path,
    tasks: Sequence[Task],
    stocks: Mapping[str, Stock],
    reports: Mapping[str, Mapping[str, Any]],
    plan: Plan,
    counts: Mapping[str, Any],
    exports: bool = True,
) -> None:
    """Write the task folder and, with ``exports``, the files of trainers.

    Args:
        folder: where.
        tasks, counts: as `make_tasks` gives them.
        stocks: toolkit name -> stock.
        reports: toolkit name -> at least ``tools`` and ``coverage`` of what the gates said, as JSON data.
        plan: what was wanted.
    """
    states = {
        stock.state_id(index): (stock.source.spec, data)
        for stock in stocks.values()
        for index, data in enumerate(stock.exploration.states)
    }
    metadata = {
        "seed": plan.seed,
        "licence": plan.licence,
        "sources": {name: stock.source.spec for name, stock in stocks.items()},
        "verified": {
            stock.source.spec: fingerprint_of(stock.source.kind)
            for stock in stocks.values()
            if isinstance(stock.source, ToolkitSource)
        },
        "splits": dict(Counter(task.split for task in tasks)),
        "types": dict(Counter(task.type for task in tasks)),
        "report": {
            "toolkits": {
                name: {"tools": report["tools"], "coverage": report["coverage"]}
                for name, report in reports.items()
            },
            "edges": {name: stock.graph.count() for name, stock in stocks.items()},
            **counts,
        },
    }
    write_folder(folder, tasks, states, metadata)
    if not exports:
        return
    refiner = Refiner(stocks)
    try:
        write_exports(folder, tasks, refiner.episode)
    finally:
        refiner.close()
