"""`TaskLibrary`: the tasks that an environment draws from, with the toolkits and states they name."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from envrl.envs.envfactory.episode import Episode
from envrl.envs.envfactory.session import Session
from envrl.envs.envfactory.sources import Source, open_source
from envrl.envs.envfactory.task import TASKS, Task, TaskFolder, ToolkitUse
from envrl.envs.envfactory.toolbox import Toolbox
from envrl.envs.envfactory.user import User
from envrl.envs.errors import DataNotFound

SUITES = ("builtin",)


def suite_folder(suite: str) -> Path:
    """Where the tasks of a suite lie."""
    return Path(__file__).resolve().parent / "suites" / suite


class TaskLibrary:
    """Tasks of a folder that belong to a split and to some toolkits.

    Args:
        place: the name of a suite, or a task folder.
        split: ``all``, or a split.
        toolkits: keep tasks whose toolkits are all among these; None keeps all.

    Raises:
        DataNotFound: nothing is left to draw from.
    """

    def __init__(self, place: str | Path, split: str, toolkits: Sequence[str] | None) -> None:
        if isinstance(place, str):
            if place not in SUITES:
                raise ValueError(
                    f"suite must be one of {list(SUITES)}, got {place!r}; tasks=DIR plays a folder"
                )
            place = suite_folder(place)
        self._folder = _folders.get(place)
        wanted = None if toolkits is None else set(toolkits)
        self.ids: tuple[str, ...] = tuple(
            task.id
            for task in self._folder.tasks.values()
            if split in ("all", task.split)
            and (wanted is None or wanted.issuperset(use.name for use in task.toolkits))
        )
        if not self.ids:
            tasks = self._folder.tasks.values()
            raise DataNotFound(
                f"no task of split {split!r}{'' if wanted is None else f' with only the toolkits {sorted(wanted)}'} in "
                f"{self._folder.folder}; it has the splits {sorted({t.split for t in tasks})} and the toolkits "
                f"{sorted({use.name for t in tasks for use in t.toolkits})}"
            )
        self._sources: dict[str, Source] = {}
        self._toolboxes: dict[Any, Toolbox] = {}

    def task(self, task_id: str) -> Task:
        """A task of the folder, whatever its split. Raises InvalidTask."""
        return self._folder.task(task_id)

    def task_type(self, task_id: str) -> str:
        """The type of a task, ``""`` for an unknown id."""
        task = self._folder.tasks.get(task_id)
        return "" if task is None else task.type

    def sources(self, task: Task) -> Mapping[str, Source]:
        """Toolkit name -> source, in the order of the task."""
        found = {}
        for use in task.toolkits:
            if use.source not in self._sources:
                self._sources[use.source] = open_source(
                    use.source, self._folder.folder, self._folder.verified(use.source)
                )
            found[use.name] = self._sources[use.source]
        return found

    def state(self, use: ToolkitUse, source: Source) -> Any:
        """The initial state that a task gives a toolkit, loaded."""
        return source.load(self._folder.state(use.state))

    def toolbox(self, task: Task) -> Toolbox:
        """The tools of a task; made once for tasks with the same toolkits."""
        key = (tuple((use.name, use.source) for use in task.toolkits), task.user_tools)
        if key not in self._toolboxes:
            self._toolboxes[key] = Toolbox(self.sources(task), task.user_tools)
        return self._toolboxes[key]

    def begin(
        self, task: Task, sessions: dict[tuple[str, str], Session], user: User, explain: bool = True
    ) -> Episode:
        """A task from its start.

        Args:
            task: of this library.
            sessions: (toolkit's name, source) -> session; those that the task needs are reset, and opened where
                they are missing. The caller closes them.
            user, explain: see `Episode`.

        Raises:
            SessionFault: a session cannot be opened or reset.
        """
        sources = self.sources(task)
        running: dict[str, Session] = {}
        for use in task.toolkits:
            key = (use.name, use.source)
            if key not in sessions:
                sessions[key] = sources[use.name].open()
            running[use.name] = sessions[key]
            running[use.name].reset(self.state(use, sources[use.name]))
        return Episode(task, self.toolbox(task), running, user, explain)


class _Folders:
    """Task folders read by this process; environments of a vector share them, since they never change."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: dict[tuple[Path, int, int], TaskFolder] = {}

    def get(self, path: Path) -> TaskFolder:
        file = path if path.suffix == ".jsonl" else path / TASKS
        try:
            found = file.stat()
        except OSError:
            return TaskFolder(path)  # says what is missing
        key = (file.resolve(), found.st_mtime_ns, found.st_size)
        with self._lock:
            if key not in self._held:
                self._held[key] = TaskFolder(path)
            return self._held[key]


_folders = _Folders()
