"""`McpSpec`: a JSON file that describes an MCP server, and where its state is."""

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

import pydantic

from envrl.envs.envfactory.schema import Effect
from envrl.envs.errors import DataNotFound, InvalidData

#: what the words in a spec may hold, and what stands there when a server starts
PLACEHOLDERS = ("{workdir}", "{here}", "{python}")


class ReadCall(pydantic.BaseModel):
    """A call that shows a part of the state."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)
    tool: str
    arguments: dict[str, Any] = {}

    @property
    def label(self) -> str:
        """The part's key in the state: the tool, with the arguments where there are any."""
        return self.tool + (json.dumps(self.arguments, sort_keys=True) if self.arguments else "")


class McpSpec(pydantic.BaseModel):
    """How a server is started, and how its state is set, read and compared.

    A server with ``load_tool`` and ``save_tool`` takes and gives its state itself. Any other starts anew, in a
    directory of its own, for every episode: its state is the files of that directory and what ``reads`` return.

    In ``args`` and ``env``, ``{workdir}`` is that directory, ``{here}`` the folder of the spec's file, and
    ``{python}`` the Python that EnvRL runs on.

    Attributes:
        command, args, env: how it is started. Of the environment it gets PATH and the like, and ``env``.
        name: of the toolkit; the file's name by default.
        load_tool: called with the state (as its only required argument). save_tool: returns it.
        reads: calls that show what the server keeps in memory.
        files: of a new episode: name -> text (or ``{"base64": ...}``), or a folder beside the spec.
        states: several initial states in place of ``files``: a list, or a file of JSON lines beside the spec. Each is
            what ``load_tool`` takes, or ``{"files": {...}}``.
        restart: False promises that the server keeps nothing outside its directory, so that one process can serve
            episode after episode (much faster). Verification finds out if that is not so.
        tools: agents get only these.
        effects: tool -> ``read`` or ``write``, where the server does not say or is wrong.
        failures: regular expressions; a result in which one of them is found is an error, whatever the server calls it.
        rewrite: regular expression -> what stands in its place in every result, for what differs each time (names of
            temporary files, times).
        examples: argument -> values that make sense for it, where the schema and the state do not show any.
        volatile: patterns (``files/*.log``, ``reads/now``) of what is no part of the state.
        root: what agents read and write in place of the directory's real path.
        start_timeout, call_timeout: seconds.
        policy, phrases, nouns, unordered, ignored: as in `envrl.envs.envfactory.Toolkit`; phrases by tool.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)
    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    name: str = ""
    load_tool: str | None = None
    save_tool: str | None = None
    reads: tuple[ReadCall, ...] = ()
    files: dict[str, Any] | str | None = None
    states: list[Any] | str | None = None
    restart: bool = True
    tools: tuple[str, ...] | None = None
    effects: dict[str, Effect] = {}
    failures: tuple[str, ...] = ()
    rewrite: dict[str, str] = {}
    examples: dict[str, list[Any]] = {}
    volatile: tuple[str, ...] = ()
    root: str = "/workspace"
    start_timeout: float = 60.0
    call_timeout: float = 60.0
    policy: str = ""
    phrases: dict[str, tuple[str, ...]] = {}
    nouns: dict[str, str] = {}
    unordered: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    @pydantic.model_validator(mode="after")
    def _fits_together(self) -> Self:
        if (self.load_tool is None) != (self.save_tool is None):
            raise ValueError("load_tool and save_tool go together: one sets the state, the other returns it")
        if self.load_tool and (self.files is not None or self.reads):
            raise ValueError(
                "a server with load_tool has its state in `states`; `files` and `reads` are for the others"
            )
        if self.files is not None and self.states is not None:
            raise ValueError("`files` is one initial state, `states` are several; give one of the two")
        for pattern in (*self.failures, *self.rewrite):
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is no regular expression: {error}") from error
        if not re.fullmatch(r"/\w[\w.-]*", self.root):
            raise ValueError(f"root is an absolute path of one name such as /workspace, got {self.root!r}")
        return self

    @property
    def kind(self) -> Literal["saves", "files", "fresh"]:
        """``saves``: it loads and saves; ``files``: its directory is its state; ``fresh``: a process an episode."""
        return "saves" if self.load_tool else "fresh" if self.restart else "files"

    def words(self, workdir: Path, here: Path) -> tuple[list[str], dict[str, str]]:
        """(command line, environment) with the placeholders filled in."""
        values = {"{workdir}": str(workdir), "{here}": str(here), "{python}": sys.executable}

        def fill(word: str) -> str:
            for placeholder, value in values.items():
                word = word.replace(placeholder, value)
            return word

        environ = {key: fill(value) for key, value in self.env.items()}
        return [fill(word) for word in (self.command, *self.args)], environ


def read_spec(path: Path) -> McpSpec:
    """The spec in a file; a desktop client's ``{"mcpServers": {name: ...}}`` with one server will do.

    Raises:
        DataNotFound: there is no such file.
        InvalidData: it describes no server.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataNotFound(
            f"no such file: {path}; expected a JSON file that describes an MCP server"
        ) from None
    except (OSError, ValueError) as error:
        raise InvalidData(
            f"{path}: expected a JSON file that describes an MCP server, found {error}"
        ) from error
    if isinstance(data, dict) and isinstance(servers := data.get("mcpServers"), Mapping):
        if len(servers) != 1:
            raise InvalidData(
                f"{path}: expected one server in mcpServers, found {len(servers)}; write a file for each"
            )
        name, data = next(iter(servers.items()))
        data = {
            "name": name,
            **{key: value for key, value in data.items() if key not in ("type", "transport")},
        }
    try:
        spec = McpSpec.model_validate(data)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise InvalidData(
            f"{path}: expected a server's description, found at {place}: {first['msg']}; "
            f"known keys are {', '.join(McpSpec.model_fields)}"
        ) from error
    if spec.name:
        return spec
    return spec.model_copy(update={"name": re.sub(r"\W+", "_", path.stem).strip("_") or "mcp"})


def server_environment() -> dict[str, str]:
    """What of this process's environment a server gets beside what the SDK hands on.

    Package runners find what they have downloaded before, although a server has a home of its own.
    """
    home = Path.home()
    caches = {"npm_config_cache": home / ".npm", "UV_CACHE_DIR": home / ".cache" / "uv"}
    found = {key: os.environ.get(key, str(folder)) for key, folder in caches.items()}
    return {**found, "TZ": "UTC", "PYTHONHASHSEED": "0"}
