"""A process of its own for code that is not trusted yet.

The process explores a source under watch, or plays an exploration again, with a hash seed of its own.
"""

import inspect
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from envrl.envs.envfactory.factory import trials
from envrl.envs.envfactory.factory.explore import Exploration, explore, sample_states
from envrl.envs.envfactory.factory.purity import Impurity, Watch, clock_at_import
from envrl.envs.envfactory.factory.trials import Fault, Outcome
from envrl.envs.envfactory.session import Result, ToolkitSession
from envrl.envs.envfactory.sources import Source, ToolkitSource, open_source
from envrl.envs.errors import EnvRLError

_START = "import sys; from envrl.envs.envfactory.factory.worker import main; main(*sys.argv[1:])"
_DEADLINE = 1800.0  # seconds; a tool that never returns must not hold up the factory for ever


class WorkerFailed(Exception):
    """The process ended without an answer; the message has its last words."""


class Explored(NamedTuple):
    """What a watched exploration gave."""

    found: Exploration
    impurities: list[Impurity]


class Replayed(NamedTuple):
    """What playing an exploration again gave; the last four are left out unless ``closely`` was asked for."""

    states: list[Any]
    alone: list[list[Outcome]]
    again: list[list[Outcome]]
    beside: list[list[Outcome]]
    contract: list[Fault]
    fixpoint: list[Fault]


def explore_apart(spec: str, folder: Path | None, options: Mapping[str, int]) -> Explored:
    """`explore` in a process of its own, watched where the toolkit is Python. Raises WorkerFailed, EnvRLError."""
    result: Explored = _ask(("explore", spec, folder, dict(options)), hash_seed=1)
    return result


def replay_apart(
    spec: str, folder: Path | None, found: Exploration, hash_seed: int, closely: bool = False
) -> Replayed:
    """Play an exploration again in a process of its own. Raises WorkerFailed, EnvRLError.

    Args:
        spec, folder: the source.
        found: what is played.
        hash_seed: ``PYTHONHASHSEED`` of the process.
        closely: also play it twice and side by side, and look for what breaks the other contracts.
    """
    result: Replayed = _ask(("replay", spec, folder, (found.to_json(), closely)), hash_seed)
    return result


class _WatchedSession(ToolkitSession):
    """A session whose calls are watched."""

    watch: Watch

    def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        return self.watch.call(name, arguments, lambda: super(_WatchedSession, self).call(name, arguments))


class _WatchedSource(ToolkitSource):
    def __init__(self, source: ToolkitSource, watch: Watch) -> None:
        super().__init__(source.spec, source.kind, trusted=False)
        self._watch = watch

    def sample(self, rng: np.random.Generator) -> dict[str, Any]:
        return self._watch.call("sample_state", {}, lambda: super(_WatchedSource, self).sample(rng))

    def open(self) -> _WatchedSession:
        session = _WatchedSession(self.kind, trusted=False)
        session.watch = self._watch
        return session


def _explore(source: Source, at_import: list[Impurity], options: dict[str, Any]) -> Explored:
    watch = Watch(Path(_file_of(source)).parent) if isinstance(source, ToolkitSource) else None
    if watch is not None and isinstance(source, ToolkitSource):
        source = _WatchedSource(source, watch)
    found = explore(source, **options)
    return Explored(found, at_import + watch.found if watch else [])


def _file_of(source: Source) -> str:
    return inspect.getfile(source.kind) if isinstance(source, ToolkitSource) else ""


def _replay(source: Source, order: tuple[str, bool]) -> Replayed:
    found, closely = Exploration.from_json(order[0]), order[1]
    states = sample_states(source, len(found.states), found.seed)
    alone = trials.play(source, found)
    if not closely:
        return Replayed(states, alone, [], [], [], [])
    again, beside = trials.play(source, found), trials.play_side_by_side(source, found)
    contract = trials.unchanged_faults(source, found)
    fixpoint: list[Fault] = []
    if isinstance(source, ToolkitSource):
        contract, fixpoint = trials.bare_faults(source, found)
    same = trials.common(alone, again)
    return Replayed(
        states, alone, again, beside, contract, fixpoint or trials.reload_faults(source, found, same)
    )


def _ask(order: Any, hash_seed: int) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        asked, answer = Path(folder, "order"), Path(folder, "answer")
        asked.write_bytes(pickle.dumps(order))
        path = os.pathsep.join([entry or str(Path.cwd()) for entry in sys.path])
        environ = {
            **os.environ,
            "PYTHONHASHSEED": str(hash_seed),
            "PYTHONPATH": path,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        try:
            done = subprocess.run(
                [sys.executable, "-c", _START, str(asked), str(answer)],
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=_DEADLINE,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise WorkerFailed(f"no answer within {_DEADLINE:.0f} s") from error
        if not answer.exists():
            words = done.stderr.decode(errors="replace").strip().splitlines()
            raise WorkerFailed(words[-1] if words else f"exit code {done.returncode}")
        result = pickle.loads(answer.read_bytes())
    if isinstance(result, EnvRLError):
        raise result
    return result


def main(asked: str, answer: str) -> None:
    """Read an order, carry it out, write the answer."""
    what, spec, folder, order = pickle.loads(Path(asked).read_bytes())
    result: Any
    try:
        source, impure = clock_at_import(lambda: open_source(spec, folder), _file_of)
        if isinstance(source, ToolkitSource):  # a builtin one is trusted elsewhere because it is checked here
            source = ToolkitSource(spec, source.kind, trusted=False)
        result = _explore(source, impure, order) if what == "explore" else _replay(source, order)
    except EnvRLError as error:
        result = error
    partial = Path(f"{answer}.part")
    partial.write_bytes(pickle.dumps(result))
    partial.rename(answer)
