"""Watch a tool at work: does it ask the clock, draw from a generator that nobody seeded, or reach outside?

The watch sees calls from Python code, however the function was imported, with `sys.setprofile`; sockets,
processes and files with an audit hook, which also stops them. An audit hook cannot be taken back, so this is
for processes of their own (`envrl.envs.envfactory.factory.worker`).
"""

import datetime
import os
import random
import site
import sys
import sysconfig
import threading
import zoneinfo
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, TypeVar

import numpy as np

_T = TypeVar("_T")
_CLOCK = frozenset(
    f"{name}{ending}"
    for name in ("time", "monotonic", "perf_counter", "process_time", "clock_gettime")
    for ending in ("", "_ns")
) | {"localtime", "gmtime", "ctime", "asctime", "strftime"}
_OUTSIDE = (
    "socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname",
    "socket.gethostbyaddr", "urllib.Request", "http.client.connect", "subprocess.Popen", "os.system", "os.exec",
    "os.posix_spawn", "os.fork", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate", "os.link",
    "os.symlink", "os.chmod", "os.utime",
)  # fmt: skip
_READING = ("open", "os.listdir", "os.scandir")
#: reading these says nothing about the machine
_MODULE_FILES = (".py", ".pyc", ".so", ".pyd")
_IMPORTING = "<frozen importlib"
_ENVIRONMENT = type(os.environ).__getitem__.__code__
#: through which a lookup in it goes
_ENVIRONMENT_FILES = {code.co_filename for code in (_ENVIRONMENT, os.getenv.__code__, Mapping.get.__code__)}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
#: modules whose functions are worth naming in place of the one that they call in the end
_NAMED = ("uuid", "secrets", "random", "tempfile")


class Impurity(NamedTuple):
    """What a call did that it must not do."""

    tool: str
    arguments: Mapping[str, Any]
    what: str


class NotAllowed(OSError):
    """Raised in place of a connection, a process or a file that a tool wanted to open."""


class Watch:
    """Watches calls one at a time and collects what they did wrong.

    Args:
        own: folder of the toolkit, whose files it may read.
    """

    def __init__(self, own: Path | None = None) -> None:
        self.found: list[Impurity] = []
        self._python = _folders(_paths_of_python())
        self._readable = self._python + _folders([str(own)] if own else [])
        self._current: tuple[str, Mapping[str, Any]] | None = None
        sys.addaudithook(self._audit)

    def call(self, tool: str, arguments: Mapping[str, Any], work: Callable[[], _T]) -> _T:
        """The value of ``work()``, watched; whatever it does wrong is put down to ``tool``."""
        drawn = _numpy_position()
        self._current = (tool, arguments)
        threading.setprofile(self._profile)  # those that the call starts
        sys.setprofile(self._profile)
        try:
            return work()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            self._current = None
            if _numpy_position() != drawn:
                self.found.append(Impurity(tool, arguments, "draws from numpy's global generator"))

    def _note(self, what: str) -> None:
        if self._current is not None:
            self.found.append(Impurity(*self._current, what))

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if self._current is None:
            return
        # `os.open` has no mode, only flags.
        writes = event == "open" and bool(set(args[1] or "") & set("wax+") or args[2] & _WRITING)
        database = event == "sqlite3.connect" and args[0] != ":memory:"
        if writes or database or event in _OUTSIDE:
            self._note(f"opens {args[0]!r} for writing" if writes else f"reaches outside: {event}")
            raise NotAllowed(f"{event} is not allowed during verification")
        if event in _READING and self._is_outside(args[0]) and not _is_importing(sys._getframe()):
            self._note(f"reads {os.fspath(args[0] or '.')!r}, which another machine may not have")

    def _is_outside(self, path: Any) -> bool:
        """Whether a path is neither Python's nor the toolkit's."""
        if isinstance(path, int):
            return False
        real = os.path.realpath(os.fsdecode(path or "."))
        return not real.startswith(self._readable) and not real.endswith(_MODULE_FILES)

    def _profile(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code is _ENVIRONMENT and not self._is_of_python(frame):
            self._note("reads the environment: os.environ")
        if event != "c_call":
            return
        what = _reads_clock_or_chance(arg)
        if what and "logging" not in frame.f_code.co_filename:
            self._note(f"{what[0]} {_caller(frame) or what[1]}")

    def _is_of_python(self, frame: FrameType) -> bool:
        """Whether the standard library, or an installed package, reads the environment for itself."""
        asking: FrameType | None = frame
        while asking is not None and asking.f_code.co_filename in _ENVIRONMENT_FILES:
            asking = asking.f_back
        file = asking.f_code.co_filename if asking else ""
        return file.startswith(("<frozen", *self._python))


def clock_at_import(load: Callable[[], _T], file_of: Callable[[_T], str]) -> tuple[_T, list[Impurity]]:
    """(what ``load`` gives, where the file of it reads the clock while it is imported).

    Other modules may: what they find out stays with them, as far as two processes agree.
    """
    seen: list[tuple[str, str]] = []

    def profile(frame: FrameType, event: str, arg: Any) -> None:
        if event == "c_call" and (what := _reads_clock_or_chance(arg)) and "clock" in what[0]:
            seen.append((frame.f_code.co_filename, " ".join(what)))

    sys.setprofile(profile)
    try:
        loaded = load()
    finally:
        sys.setprofile(None)
    file = file_of(loaded)
    return loaded, [Impurity("import", {"file": file}, what) for name, what in seen if name == file]


def _reads_clock_or_chance(function: Any) -> tuple[str, str] | None:
    name, module = getattr(function, "__name__", ""), getattr(function, "__module__", None)
    owner = getattr(function, "__self__", None)
    if module == "time" and name in _CLOCK:
        return "reads the clock:", f"time.{name}"
    if name in ("now", "utcnow", "today") and isinstance(owner, type) and issubclass(owner, datetime.date):
        return "reads the clock:", f"{owner.__module__}.{owner.__qualname__}.{name}"
    if module == "posix" and name in ("urandom", "getrandom"):
        return "draws what nobody seeded:", f"os.{name}"
    if module == "_uuid":
        return "draws what nobody seeded:", "uuid.uuid1"
    if owner is _GLOBAL_RANDOM:
        return "draws from the global generator:", f"random.{name}"
    return None


def _paths_of_python() -> Iterable[str]:
    """Where the standard library, installed packages, time zones and the environments here lie."""
    yield from sysconfig.get_paths().values()
    yield from site.getsitepackages()
    yield from zoneinfo.TZPATH
    yield str(Path(__file__).resolve().parents[2])


def _folders(paths: Iterable[str]) -> tuple[str, ...]:
    """Beginnings of the paths in those folders."""
    return tuple(dict.fromkeys(os.path.realpath(path) + os.sep for path in paths))


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith(_IMPORTING):
            return True
        frame = frame.f_back
    return False


#: what ``random.random()`` and its like draw from
_GLOBAL_RANDOM = random.random.__self__  # type: ignore[attr-defined]


def _caller(frame: FrameType | None) -> str | None:
    """The outermost function of a module of `_NAMED` in which the call happened."""
    found = None
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module in _NAMED:
            found = f"{module}.{frame.f_code.co_name}"
        elif found:
            break
        frame = frame.f_back
    return found


def _numpy_position() -> int:
    state: Any = np.random.get_state()
    return int(state[2])
