"""The mutation gate: would the tasks notice if a tool were broken?

A mutant is the toolkit with one tool broken: a writing tool forgets what it wrote, or a tool refuses every
call, or a reading tool answers with other values. A mutant is caught if some task whose reference passes on the
real toolkit fails on the mutant. A tool no task can test is a hole in every benchmark made of them.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pydantic_core

from envrl.envs.envfactory.factory.arena import Stock
from envrl.envs.envfactory.factory.explore import Exploration
from envrl.envs.envfactory.factory.graph import build_graph
from envrl.envs.envfactory.factory.refine import Refiner
from envrl.envs.envfactory.factory.sample import Sampler
from envrl.envs.envfactory.factory.synthesize import synthesize
from envrl.envs.envfactory.factory.trials import Fault
from envrl.envs.envfactory.session import Result, Session
from envrl.envs.envfactory.sources import Source, ToolkitSource
from envrl.envs.envfactory.task import Task

_MOST_DRAWS = 600
_ENOUGH = 3  # tasks that call a tool
#: draws that brought nothing until drawing is given up where each starts a process or more
_FRUITLESS = 150


class Mutant:
    """A session in which one tool is broken; everything else goes to the real one."""

    def __init__(
        self, session: Session, tool: str, damage: Callable[[Session, Mapping[str, Any]], Result]
    ) -> None:
        self._session, self._tool, self._damage = session, tool, damage

    def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        """See `Session`."""
        if name == self._tool:
            return self._damage(self._session, arguments)
        return self._session.call(name, arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


def damages(tool: str, effect: str) -> dict[str, Callable[[Session, Mapping[str, Any]], Result]]:
    """What can be wrong with a tool, by name."""

    def refuses(session: Session, arguments: Mapping[str, Any]) -> Result:
        return Result("Error: out of order", None, False)

    def forgets(session: Session, arguments: Mapping[str, Any]) -> Result:
        before = session.snapshot()
        result = session.call(tool, arguments)
        session.restore(before)
        return result

    def misreads(session: Session, arguments: Mapping[str, Any]) -> Result:
        result = session.call(tool, arguments)
        if not result.ok:
            return result
        value = _other(result.value)
        return Result(value if isinstance(value, str) else pydantic_core.to_json(value).decode(), value, True)

    return {"refuses": refuses, **({"forgets": forgets} if effect == "write" else {"misreads": misreads})}


def weakest_mutant(source: Source, found: Exploration, seed: int) -> Fault | None:
    """A broken tool that no generated task notices, None if each is noticed.

    Args:
        source, found: the toolkit and its exploration.
        seed: of the tasks.
    """
    stock = Stock(source, found, build_graph(source, found), seed)
    tasks = _tasks(stock, seed)
    for tool, spec in source.tools.items():
        using = [task for task in tasks if any(step.tool == tool for step in task.reference)]
        if not using:
            example = next((p.arguments for p in found.probes() if p.tool == tool and p.ok), None)
            return Fault(tool, example, f"no task could be made that needs it, in {len(tasks)} tasks")
        for name, damage in damages(tool, spec.effect).items():
            if not any(_caught(stock, task, tool, damage) for task in using):
                call = next(step.arguments for step in using[0].reference if step.tool == tool)
                return Fault(
                    tool, call, f"a variant that {name} is not noticed by {len(using)} tasks that call it"
                )
    return None


def _tasks(stock: Stock, seed: int) -> list[Task]:
    """Tasks of one toolkit, until each tool is called by enough of them or the draws are used up."""
    name = stock.source.name
    sampler, refiner = Sampler({name: stock}, seed), Refiner({name: stock})
    tasks: list[Task] = []
    missing = dict.fromkeys(stock.source.tools, _ENOUGH)
    patience = _MOST_DRAWS if isinstance(stock.source, ToolkitSource) else _FRUITLESS
    useful = 0
    try:
        while missing and sampler.tried < min(_MOST_DRAWS, useful + patience):
            chain = sampler.sample()
            if chain is None:
                continue
            task = refiner.refine(
                synthesize(chain, {name: stock}, refiner.toolbox([name])), f"{name}/{len(tasks)}"
            )
            if task is not None:
                tasks.append(task)
                for tool in {step.tool for step in task.reference if step.tool in missing}:
                    missing[tool] -= 1
                    useful = sampler.tried
                    if not missing[tool]:
                        del missing[tool]
    finally:
        sampler.close()
        refiner.close()
    return tasks


def _caught(
    stock: Stock, task: Task, tool: str, damage: Callable[[Session, Mapping[str, Any]], Result]
) -> bool:
    refiner = Refiner({stock.source.name: stock})
    refiner.use_session(stock.source.name, Mutant(stock.source.open(), tool, damage))
    try:
        return not refiner.succeeds(task, task.reference)
    finally:
        refiner.close()


def _other(value: Any) -> Any:
    """Another value of the same shape."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1013
    if isinstance(value, str):
        return f"{value[::-1]}~" if value else "~"
    if isinstance(value, list):
        return [_other(item) for item in value]
    return {key: _other(item) for key, item in value.items()} if isinstance(value, dict) else value
