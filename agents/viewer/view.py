"""From a run's folder to its page."""

import importlib.metadata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium

from envrl.agents.viewer.episode_data import episode_data
from envrl.agents.viewer.page import page
from envrl.agents.viewer.run_data import Run, columns, read_run
from envrl.agents.viewer.selection import choose, outlines, read_episodes
from envrl.envs.core import TextEnv
from envrl.envs.errors import DataNotFound
from envrl.wrappers.transition import Transition


def _version() -> str:
    """Of the installed distribution; a bare clone has none."""
    try:
        return importlib.metadata.version("envrl")
    except importlib.metadata.PackageNotFoundError:
        return "source"


def view(
    path: Path,
    episodes: int = 12,
    updates: Sequence[int] = (),
    model: bool = True,
    say: Callable[[str], None] = lambda text: None,
) -> str:
    """The page of a run as HTML.

    Args:
        path: a run of `envrl train`, or the output of `envrl eval`.
        episodes: at most so many are shown.
        updates: only episodes of these updates; by default the newest ones.
        model: ask the newest checkpoint for probabilities and predictions.
        say: told what is done, and what the page lacks.

    Raises:
        DataNotFound: there is no run.
        InvalidData: a file of it is damaged.
    """
    run = read_run(path)
    shown, notes = _episodes(run, episodes, updates, model, say)
    settings = run.settings
    data = {
        "version": _version(),
        "name": path.resolve().name,
        "settings": settings,
        "stage": run.position.get("stage"),
        "update": run.metrics[-1]["update"] if run.metrics else 0,
        "metrics": columns(run.metrics),
        "imitation": columns(run.imitation),
        "evaluations": run.evaluations,
        "episodes": shown,
        "notes": notes,
    }
    return page(f"{data['name']} · {settings.get('env', 'EnvRL')}", data)


def _episodes(
    run: Run, count: int, updates: Sequence[int], model: bool, say: Callable[[str], None]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Episodes as data, and notes on where they and what is said of them come from."""
    try:
        found = outlines(run.recording) if count else []
    except DataNotFound:  # before the first update, or nothing was recorded
        found = []
    kind_of = _kinds(run.settings)
    chosen = choose(found, count, kind_of, updates)
    notes: dict[str, Any] = {"recorded": len(found)}
    if not chosen:
        return [], notes
    say(f"{len(chosen)} of {len(found)} episodes")
    rows = read_episodes(run.recording, chosen)
    turns: list[Any] = [None] * len(rows)
    if model:
        turns = _replayed(run, rows, notes) or turns
        say(notes.get("model_missing") or f"probabilities and predictions of {notes['model']}")
    by_update = {row["update"]: row for row in run.metrics}
    return [
        episode_data(outline, kind_of(outline.task_id), transitions, seen, by_update.get(outline.update))
        for outline, transitions, seen in zip(chosen, rows, turns, strict=True)
    ], notes


def _replayed(run: Run, rows: list[list[Transition]], notes: dict[str, Any]) -> list[Any] | None:
    """What the newest checkpoint says of the episodes; None, with a note why, where it cannot be asked."""
    try:
        from envrl.agents.viewer.replay import Replay  # torch takes seconds to import and is an extra
    except ImportError as error:
        notes["model_missing"] = f"no probabilities or predictions: {error}; install the extra `train`"
        return None
    folder = Path(run.settings["model"]) if not run.position and "model" in run.settings else run.path
    try:
        replay = Replay(folder, run.settings)
    except DataNotFound as error:
        notes["model_missing"] = f"no probabilities or predictions: {error}"
        return None
    notes["model"] = replay.name
    return replay.turns(rows)


def _kinds(settings: dict[str, Any]) -> Callable[[str], str]:
    """The kind of a task, as its environment says; ``""`` where it cannot be asked."""
    if "env" not in settings:
        return lambda task_id: ""
    try:
        env = gymnasium.make(
            settings["env"], disable_env_checker=True, **settings.get("env_kwargs", {})
        ).unwrapped
    except Exception:  # its data may be on another machine, or its package missing: a page needs neither
        return lambda task_id: ""
    if not isinstance(env, TextEnv):
        return lambda task_id: ""
    inner: TextEnv = env

    def kind_of(task_id: str) -> str:
        try:
            return inner.task_type(task_id)
        except Exception:  # a task of other data
            return ""

    return kind_of
