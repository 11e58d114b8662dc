"""``envrl factory``: from a toolkit, a server or a document to verified tasks, all at once or stage by stage."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from envrl.commands.progress import Bar, progress_bar
from envrl.envs.envfactory.factory.build import (
    Plan,
    ToolkitRefused,
    admit,
    adopt,
    make_tasks,
    most_draws,
    sampler_for,
    split_states,
    task_id,
    write_tasks,
)
from envrl.envs.envfactory.factory.explore import explore as explore_source
from envrl.envs.envfactory.factory.graph import build_graph
from envrl.envs.envfactory.factory.graph_page import graph_page
from envrl.envs.envfactory.factory.refine import Refiner, signature
from envrl.envs.envfactory.factory.synthesize import TYPES, Draft
from envrl.envs.envfactory.factory.synthesize import synthesize as put_in_words
from envrl.envs.envfactory.factory.verify import verify as verify_source
from envrl.envs.envfactory.factory.workspace import Workspace
from envrl.envs.envfactory.sources import open_source
from envrl.envs.envfactory.task import Task
from envrl.envs.errors import WrongUse

Source = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="SOURCE")]
Sources = Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="SOURCES")]
Folder = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")]
_FAILED = 1


@dataclass(frozen=True)
class BuildConfig:
    """All stages: explore, verify, graph, sample, synthesize, refine, export. Play the result with tasks=DIR."""

    sources: Sources
    """builtin:NAME, package.module:Class, file.py:Class, a description of an MCP server, or a document"""
    output: Path
    """task folder to write"""
    tasks: int = 100
    """how many tasks"""
    seed: int = 0
    """of everything that is drawn"""
    held_out: float = 0.2
    """share of initial states and tasks that go to the split held_out"""
    licence: str = "MIT"
    """licence of the tasks, written into each"""
    states: int = 0
    """how many initial states to use; 0 for those that verification explored"""
    types: tuple[str, ...] = ()
    """keep only these types of tasks: direct, lookup, ask_user, multi_turn, cross_toolkit"""
    embed: str | None = None
    """module:function from texts to vectors, for edges between descriptions that are alike"""
    reword: str | None = None
    """module:function that says a turn in other words, or an endpoint as URL#model"""
    policy: str | None = None
    """module:function that acts; tasks that it always or never solves are left out"""


def build(config: BuildConfig) -> int:
    """Run all stages and print what was made; 1 where a toolkit is refused."""
    from envrl.envs.envfactory.factory.models import load_policy, load_reword

    unknown = sorted(set(config.types) - set(TYPES))
    if unknown:
        raise WrongUse(f"--types: expected some of {', '.join(TYPES)}; got {unknown[0]!r}")
    reword, policy = load_reword(config.reword), load_policy(config.policy)
    work = Workspace(config.output)
    names = []
    for given in config.sources:
        spec = adopt(given, config.output)
        source = open_source(spec, config.output)
        with progress_bar(f"verifying {source.name}", "steps") as bar:
            try:
                report, found = admit(spec, config.output, config.seed, bar.step)
            except ToolkitRefused as refused:
                print(f"envrl factory build: {refused}", file=sys.stderr)
                return _FAILED
        if config.states:
            with progress_bar(f"exploring {source.name}", "episodes") as bar:
                found = explore_source(source, config.seed, config.states, rounds=3, progress=bar.to)
        names.append(source.name)
        work.save_exploration(source.name, found)
        work.save_report(source.name, report)
        work.save_graph(source.name, build_graph(source, found, config.embed))
    work.keep(names)  # the folder may have been used before
    stocks = {name: work.stock(name, config.seed) for name in work.sources()}
    plan = split_states(stocks, config.tasks, config.held_out, config.seed, config.licence)
    plan = replace(plan, types=config.types)
    with progress_bar("making tasks", "tasks") as bar:
        tasks, counts = make_tasks(stocks, plan, _count(bar, config.tasks), reword, policy)
    if not tasks:
        raise WrongUse(f"no task could be made of {', '.join(config.sources)}: {json.dumps(counts)}")
    reports = {name: work.report(name) for name in stocks}
    write_tasks(config.output, tasks, stocks, reports, plan, counts)
    _page(work)
    _tell(tasks, counts, config.output)
    return 0


@dataclass(frozen=True)
class ExploreConfig:
    """Stage 1: call a source's tools and write down what they do."""

    source: Source
    """as for build"""
    output: Path
    """task folder"""
    seed: int = 0
    """of everything that is drawn"""


def explore(config: ExploreConfig) -> None:
    """Explore, and print how often each tool was called."""
    spec = adopt(config.source, config.output)
    source = open_source(spec, config.output)
    with progress_bar(f"exploring {source.name}", "episodes") as bar:
        found = explore_source(source, config.seed, progress=bar.to)
    Workspace(config.output).save_exploration(source.name, found)
    table = Table(title=f"{source.name}: {len(source.tools)} tools")
    for column in ("tool", "effect", "calls", "went well", "refused", "unfit", "changed"):
        table.add_column(column, justify="left" if column in ("tool", "effect") else "right")
    for name, counts in found.coverage(source.tools).items():
        table.add_row(name, source.tools[name].effect, *(str(count) for count in counts.values()))
    Console(soft_wrap=True).print(table)


@dataclass(frozen=True)
class VerifyConfig:
    """Stage 2: put a source through all gates; exit code 1 if one fails."""

    source: Source
    """as for build"""
    json: Path | None = None
    """write the report here"""
    seed: int = 0
    """of the exploration"""


def verify(config: VerifyConfig) -> int:
    """Print one line a gate."""
    with progress_bar(f"verifying {config.source}", "steps") as bar:
        report, _ = verify_source(config.source, None, config.seed, bar.step)
    if config.json is not None:
        config.json.write_text(report.to_json(), encoding="utf-8")
    for name, gate in report.gates.items():
        where = f"{gate.tool}: " if gate.tool else ""
        shown = f" with {json.dumps(gate.input, ensure_ascii=False)}" if gate.input is not None else ""
        print(f"{name:<15} {'passed' if gate.passed else f'FAILED {where}{gate.reason}{shown}'}")
    return 0 if report.passed else _FAILED


@dataclass(frozen=True)
class GraphConfig:
    """Stage 3: which results can fill which arguments, from explorations."""

    folder: Folder
    """task folder with explorations"""
    html: Path | None = None
    """draw the graph on this page"""
    embed: str | None = None
    """as for build"""


def graph(config: GraphConfig) -> None:
    """Write the graphs and print how many edges they have."""
    work = Workspace(config.folder)
    for name in work.sources():
        made = build_graph(work.open(name), work.exploration(name), config.embed)
        work.save_graph(name, made)
        edges = ", ".join(f"{count} by {kind}" for kind, count in made.count().items())
        print(f"{name}: {len(made.tools)} tools, {len(made.parameters)} parameters, edges: {edges}")
    _page(work, config.html)


@dataclass(frozen=True)
class SampleConfig:
    """Stage 4: chains of calls along the graphs."""

    folder: Folder
    """task folder with graphs"""
    chains: int = 200
    """how many chains"""
    seed: int = 0
    """of the chains"""
    held_out: float = 0.2
    """as for build"""


def sample(config: SampleConfig) -> None:
    """Write the chains and print why draws were refused."""
    work = Workspace(config.folder)
    stocks = {name: work.stock(name, config.seed) for name in work.sources()}
    plan = split_states(stocks, config.chains, config.held_out, config.seed)
    kept, counts = [], dict[str, Any]()
    with progress_bar("sampling chains", "chains") as bar:
        for split, wanted in plan.tasks.items():
            sampler, found = sampler_for(stocks, plan, split), 0
            while found < wanted and sampler.tried < most_draws(wanted):
                chain = sampler.sample()
                if chain is not None:
                    kept.append((split, chain))
                    found += 1
                    bar.to(len(kept), config.chains)
            sampler.close()
            counts[split] = {
                "tried": sampler.tried,
                "kept": found,
                "refused": dict(sampler.refused.most_common()),
            }
    work.save_chains(kept)
    work.save_counts("sample", {"seed": config.seed, "held_out": config.held_out, "splits": counts})
    for split, count in counts.items():
        print(
            f"{split}: {count['kept']} chains of {count['tried']} draws; refused: {json.dumps(count['refused'])}"
        )


@dataclass(frozen=True)
class SynthesizeConfig:
    """Stage 5: put chains into words."""

    folder: Folder
    """task folder with chains"""
    seed: int = 0
    """as for sample"""
    reword: str | None = None
    """as for build"""


def synthesize(config: SynthesizeConfig) -> None:
    """Write the drafts."""
    from envrl.envs.envfactory.factory.models import load_reword

    work = Workspace(config.folder)
    stocks = {name: work.stock(name, config.seed) for name in work.sources()}
    refiner, reword = Refiner(stocks), load_reword(config.reword)
    drafts: list[tuple[str, Draft]] = []
    with progress_bar("writing drafts", "drafts") as bar:
        for split, chain in work.chains():
            drafts.append((split, put_in_words(chain, stocks, refiner.toolbox(chain.states), reword)))
            bar.to(len(drafts), None)
    work.save_drafts(drafts)
    print(f"{len(drafts)} drafts in {work.path}")


@dataclass(frozen=True)
class RefineConfig:
    """Stage 6: keep the drafts that are tasks, and write the task folder."""

    folder: Folder
    """task folder with drafts"""
    seed: int = 0
    """as for sample"""
    licence: str = "MIT"
    """licence of the tasks, written into each"""
    policy: str | None = None
    """as for build"""


def refine(config: RefineConfig) -> None:
    """Write tasks.jsonl, states.jsonl and metadata.json, and print why drafts were refused."""
    from envrl.envs.envfactory.factory.models import load_policy

    work = Workspace(config.folder)
    stocks = {name: work.stock(name, config.seed) for name in work.sources()}
    refiner = Refiner(stocks, config.licence, load_policy(config.policy))
    tasks: list[Task] = []
    seen: set[str] = set()
    with progress_bar("refining", "drafts") as bar:
        for number, (split, draft) in enumerate(work.drafts(), 1):
            task = refiner.refine(draft, task_id(draft, split, len(tasks)), split)
            bar.to(number, None)
            if task is not None and signature(task) not in seen:
                seen.add(signature(task))
                tasks.append(task)
    refiner.close()
    if not tasks:
        raise WrongUse(f"no draft is a task: {json.dumps(dict(refiner.refused))}; sample more chains")
    reports = {name: work.report(name) for name in stocks if (work.path / f"{name}.verify.json").exists()}
    counts = {
        "sample": work.counts().get("sample"),
        "tasks kept": len(tasks),
        "tasks refused": dict(refiner.refused),
    }
    plan = Plan({}, {}, config.seed, config.licence)
    write_tasks(config.folder, tasks, stocks, reports, plan, counts, exports=False)
    print(
        f"{len(tasks)} tasks in {config.folder}; refused: {json.dumps(dict(refiner.refused.most_common()))}"
    )


@dataclass(frozen=True)
class ExportConfig:
    """Stage 7: write the tasks of a folder for trainers: sft.jsonl, alpaca.jsonl, rl.jsonl."""

    folder: Folder
    """task folder"""
    output: Path | None = None
    """where to write; the task folder by default"""


def export(config: ExportConfig) -> None:
    """Write the three files."""
    from envrl.envs.envfactory.factory.export import ALPACA, RL, SFT, export_folder

    target = config.output or config.folder
    count = export_folder(config.folder, target)
    print(f"{count} tasks in {', '.join(str(target / name) for name in (SFT, ALPACA, RL))}")


def _count(bar: Bar, total: int) -> Callable[[str, int, int | None], None]:
    def tell(what: str, done: int, of: int | None) -> None:
        bar.note(what)
        bar.advance(total)

    return tell


def _page(work: Workspace, path: Path | None = None) -> None:
    graphs = {name: work.graph(name) for name in work.sources()}
    (path or work.folder / "graph.html").write_text(graph_page(graphs), encoding="utf-8")


def _tell(tasks: list[Task], counts: dict[str, Any], folder: Path) -> None:
    for split, count in counts.items():
        print(
            f"{split}: {count['tasks kept']} tasks of {count['chains kept']} chains of {count['chains tried']} draws; "
            f"refused: {json.dumps(count['tasks refused'])}"
        )
    print(
        f"{len(tasks)} tasks in {folder}; play them: gym.make('EnvRL/EnvFactory-v0', tasks={str(folder)!r})"
    )
