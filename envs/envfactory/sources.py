"""Where toolkits come from: `open_source` turns the name in a task file into a `Source`."""

import importlib
import importlib.util
import inspect
import sys
from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import numpy as np
import pydantic

from envrl.envs.envfactory.schema import InvalidToolkit, ToolSpec
from envrl.envs.envfactory.session import Session, ToolkitSession
from envrl.envs.envfactory.state import Original
from envrl.envs.envfactory.toolkit import Toolkit
from envrl.envs.errors import DataNotFound, InvalidData

#: how much JSON the shared initial states of one process may hold
_KEPT_BYTES = 64 << 20
_FORMS = "builtin:NAME, package.module:Class, file.py:Class, or a .json file that describes an MCP server"


class Source(Protocol):
    """A kind of toolkit: it opens sessions and loads states for them.

    Attributes:
        spec: the name in task files; `open_source` of it gives this source again.
        name: default name of the toolkit in a task.
        policy, unordered, ignored, nouns: as in `Toolkit`; patterns without the toolkit's name.
    """

    spec: str
    name: str
    policy: str
    unordered: tuple[str, ...]
    ignored: tuple[str, ...]
    nouns: Mapping[str, str]

    @property
    def tools(self) -> Mapping[str, ToolSpec]:
        """The tools by name."""

    def open(self) -> Session:
        """A session of its own. Raises SessionFault."""

    def load(self, data: bytes) -> Any:
        """What `Session.reset` takes, from JSON. Raises InvalidData."""

    def sample(self, rng: np.random.Generator) -> Any:
        """An initial state as JSON data, drawn with ``rng``."""


class ToolkitSource:
    """A Python toolkit as a source.

    Args:
        spec: see `Source`.
        kind: the class.
        trusted: see `ToolkitSession`.
    """

    def __init__(self, spec: str, kind: type[Toolkit], trusted: bool = False) -> None:
        self.spec, self.kind, self._trusted = spec, kind, trusted
        self.name, self.policy = kind.name, kind.policy
        self.unordered, self.ignored, self.nouns = kind.unordered, kind.ignored, kind.nouns

    @property
    def tools(self) -> Mapping[str, ToolSpec]:
        """See `Source`."""
        return self.kind.tools()

    def open(self) -> ToolkitSession:
        """See `Source`."""
        return ToolkitSession(self.kind, self._trusted)

    def load(self, data: bytes) -> Original:
        """See `Source`; equal states of a process are loaded once."""
        return _originals.get(self.kind, data)

    def sample(self, rng: np.random.Generator) -> dict[str, Any]:
        """See `Source`."""
        return self.kind(self.kind.sample_state(rng)).save()


def open_source(spec: str, folder: Path | None = None, fingerprint: str = "") -> Source:
    """The source of a name.

    Args:
        spec: ``builtin:bank``, ``package.module:Bank``, ``file.py:Bank``, or the path of a file that describes
            an MCP server.
        folder: what relative paths are relative to; the working directory by default.
        fingerprint: of the code that passed verification (`fingerprint_of`); the word of a toolkit whose code is
            still that one is taken, see `ToolkitSession`.

    Raises:
        DataNotFound: there is no such module, file or class.
        InvalidToolkit: it is there and is no toolkit.
    """
    scheme, colon, rest = spec.partition(":")
    if scheme == "builtin" and colon:
        from envrl.envs.envfactory.toolkits import BUILTIN

        if rest not in BUILTIN:
            raise DataNotFound(f"no builtin toolkit {rest!r}; there are {', '.join(BUILTIN)}")
        return ToolkitSource(spec, load_class(BUILTIN[rest]), trusted=True)  # the test suite verifies them
    path, _, name = spec.rpartition(":")
    if path.endswith(".py"):
        return _verified(spec, load_class(spec, folder), fingerprint)
    for suffix, opener in _OPENERS.items():
        if spec.endswith(suffix):
            module, _, function = opener.partition(":")
            source: Source = getattr(importlib.import_module(module), function)(spec, folder)
            return source
    if path and name.isidentifier():
        return _verified(spec, load_class(spec), fingerprint)
    raise DataNotFound(f"cannot open {spec!r} as a toolkit; expected {_FORMS}")


#: ending of a spec -> function (spec, folder) -> Source
_OPENERS: dict[str, str] = {
    ".json": "envrl.envs.envfactory.mcp:open_mcp",
}


def _verified(spec: str, kind: type[Toolkit], fingerprint: str) -> ToolkitSource:
    return ToolkitSource(spec, kind, trusted=bool(fingerprint) and fingerprint == fingerprint_of(kind))


def fingerprint_of(kind: type[Toolkit]) -> str:
    """A digest of the file that defines a toolkit; "" where there is none."""
    try:
        return blake2b(Path(inspect.getfile(kind)).read_bytes(), digest_size=16).hexdigest()
    except (OSError, TypeError):
        return ""


def load_class(place: str, folder: Path | None = None) -> type[Toolkit]:
    """The toolkit class at ``package.module:Class`` or ``file.py:Class``.

    Raises:
        DataNotFound, InvalidToolkit: as in `open_source`.
    """
    module_name, _, name = place.rpartition(":")
    try:
        module = (
            _load_file(module_name, folder)
            if module_name.endswith(".py")
            else importlib.import_module(module_name)
        )
    except ModuleNotFoundError as error:
        raise DataNotFound(f"{place}: {error}; expected {_FORMS}") from error
    kind = getattr(module, name, None)
    if kind is None:
        raise DataNotFound(f"{module_name} has no {name!r}")
    if not (isinstance(kind, type) and issubclass(kind, Toolkit)):
        raise InvalidToolkit(f"{place} is {kind!r}; expected a subclass of envrl.envs.envfactory.Toolkit")
    return kind


def _load_file(name: str, folder: Path | None) -> Any:
    path = (folder / name if folder is not None else Path(name)).resolve()
    try:
        code = path.read_bytes()
    except FileNotFoundError:
        raise DataNotFound(f"no such file: {path}") from None
    # Pydantic and pickle look classes up in sys.modules; the digest keeps an edited file apart.
    module_name = (
        f"_envrl_toolkit_{path.stem}_{blake2b(str(path).encode() + code, digest_size=6).hexdigest()}"
    )
    with _loading:
        return sys.modules.get(module_name) or _run_file(module_name, path)


#: a module stands in sys.modules before it has run; another thread must not take it for ready
_loading = Lock()


def _run_file(module_name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[module_name]
        raise InvalidToolkit(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    return module


class _Originals:
    """Initial states by class and content, the least recently used go first. Sharing them is what makes the
    first reset of a further environment cheap; they never change.
    """

    def __init__(self) -> None:
        self._lock, self._bytes = Lock(), 0
        self._held: OrderedDict[tuple[type[Toolkit], bytes], Original] = OrderedDict()

    def get(self, kind: type[Toolkit], data: bytes) -> Original:
        key = (kind, data)  # a bytes object keeps its hash, so that looking it up again does not read it
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        try:
            original = Original(kind.State, data)
        except pydantic.ValidationError as error:
            raise InvalidData(f"expected a state of {kind.__qualname__}, found {error}") from error
        with self._lock:
            self._bytes += original.size if key not in self._held else 0
            self._held.setdefault(key, original)
            while self._bytes > _KEPT_BYTES and len(self._held) > 1:
                self._bytes -= self._held.popitem(last=False)[1].size
            return self._held.get(key, original)


_originals = _Originals()
