"""`McpSource`: an MCP server that is described by a file, as a source of toolkits."""

import json
import re
import threading
import time
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pydantic_core

from envrl.envs.envfactory.json_schema import SchemaChecker
from envrl.envs.envfactory.mcp.server import Server, new_folder
from envrl.envs.envfactory.mcp.session import McpSession, McpState
from envrl.envs.envfactory.mcp.spec import McpSpec, read_spec
from envrl.envs.envfactory.mcp.workdir import Workdir, as_data, read_files, read_folder
from envrl.envs.envfactory.schema import Effect, InvalidToolkit, ToolSpec
from envrl.envs.errors import DataNotFound, InvalidData

#: seconds for which a server without a session is kept for the next one
_LINGER = 1.0


def open_mcp(spec: str, folder: Path | None = None) -> "McpSource":
    """The source of a file that describes an MCP server.

    Args:
        spec: path of the file. folder: what it is relative to.

    Raises:
        DataNotFound: there is no such file, or it names what is not there. InvalidData: it describes no server.
    """
    path = Path(spec) if folder is None else folder / spec
    description, here = read_spec(path), path.resolve().parent
    for word in (description.command, *description.args):
        beside = word.replace("{here}", str(here))
        if word.startswith("{here}") and not Path(beside).exists():
            raise DataNotFound(f"{path}: expected {beside}, which it names, found none")
    return McpSource(spec, description, here)


class McpSource:
    """A server as a `Source`. The first look at its tools starts it.

    Args:
        spec: name in task files.
        description: of the server.
        here: folder that the description is relative to.
    """

    def __init__(self, spec: str, description: McpSpec, here: Path) -> None:
        self.spec, self.description, self._here = spec, description, here
        self.name, self.policy, self.nouns = description.name, description.policy, description.nouns
        self.unordered, self.ignored = description.unordered, description.ignored
        self._states = self._read_states()
        self.failures = tuple(map(re.compile, description.failures))
        self._rewrite = [(re.compile(pattern), text) for pattern, text in description.rewrite.items()]
        self._lock = threading.Lock()
        self._idle: list[tuple[float, Server]] = []
        self._loaded: dict[bytes, McpState] = {}

    @property
    def tools(self) -> Mapping[str, ToolSpec]:
        """See `Source`. Raises SessionFault, MissingExtra, InvalidToolkit."""
        return self._listed[0]

    def open(self) -> McpSession:
        """See `Source`; the process starts with the first reset."""
        return McpSession(self)

    def load(self, data: bytes) -> McpState:
        """See `Source`."""
        if data not in self._loaded:
            if len(self._loaded) >= 64:
                self._loaded.clear()
            self._loaded[data] = self._load(data)
        return self._loaded[data]

    def sample(self, rng: np.random.Generator) -> Any:
        """See `Source`; one of the description's initial states."""
        return self._states[int(rng.integers(len(self._states)))]

    # ---- for sessions ------------------------------------------------------------------------------------

    def raw_name(self, name: str) -> str:
        """What the server calls a tool."""
        return self._listed[1][name]

    def load_arguments(self, data: Any) -> dict[str, Any]:
        """The arguments of the load tool."""
        return {self._listed[2]: data}

    def new_server(self, files: Mapping[str, bytes]) -> Server:
        """A server that finds these files when it starts. Raises SessionFault."""
        folder = new_folder()
        Workdir(folder / "work", self.description.root).fill(files)
        return Server(self.description, self._here, folder)

    def take_server(self) -> Server:
        """A server that is to be brought into a state, an idle one where there is one. Raises SessionFault."""
        with self._lock:
            while self._idle:
                server = self._idle.pop()[1]
                if server.alive:
                    return server
        # Some servers will not start in an empty directory, so it starts in the first initial state.
        return self.new_server(self.load(json.dumps(self._states[0]).encode()).files)

    def give_back(self, server: Server) -> None:
        """A session has no more use for a server; what can serve another is kept for a moment."""
        if self.description.kind == "fresh" or not server.alive:
            server.close()
            return
        with self._lock:
            self._idle.append((time.monotonic(), server))
        timer = threading.Timer(_LINGER, self._end_idle)
        timer.daemon = True
        timer.start()

    def as_data(self, files: Mapping[str, bytes]) -> dict[str, Any]:
        """Files as JSON data that `load` reads."""
        return {name: as_data(name, content) for name, content in files.items()}

    def rewritten(self, value: Any) -> Any:
        """A result with what differs each time replaced."""
        if not self._rewrite:
            return value
        if isinstance(value, str):
            for pattern, text in self._rewrite:
                value = pattern.sub(text, value)
            return value
        if isinstance(value, dict):
            return {key: self.rewritten(item) for key, item in value.items()}
        return [self.rewritten(item) for item in value] if isinstance(value, list) else value

    def without_volatile(self, data: Any, path: str = "") -> Any:
        """A state without what the description says is no part of it."""
        if not self.description.volatile or not isinstance(data, dict):
            return data
        return {
            key: self.without_volatile(value, f"{path}{key}/")
            for key, value in data.items()
            if not any(fnmatchcase(f"{path}{key}", pattern) for pattern in self.description.volatile)
        }

    # ---- inside ------------------------------------------------------------------------------------------

    def _end_idle(self) -> None:
        with self._lock:
            over = [s for since, s in self._idle if time.monotonic() - since >= _LINGER or not s.alive]
            self._idle = [(since, server) for since, server in self._idle if server not in over]
        for server in over:
            server.kill()

    def _read_states(self) -> list[Any]:
        description = self.description
        if isinstance(description.files, str):
            return [{"files": self.as_data(read_folder(self._here / description.files))}]
        if description.states is None:
            return [{} if description.kind == "saves" else {"files": dict(description.files or {})}]
        if isinstance(description.states, list):
            found = description.states
        else:
            path = self._here / description.states
            try:
                found = [
                    json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()
                ]
            except FileNotFoundError:
                raise DataNotFound(f"no such file: {path}; `states` names it") from None
            except ValueError as error:
                raise InvalidData(f"{path}: expected JSON lines, found {error}") from error
        if not found:
            raise InvalidData(f"{self.spec}: `states` holds no state")
        return found

    def _load(self, data: bytes) -> McpState:
        try:
            value = pydantic_core.from_json(data)
        except ValueError as error:
            raise InvalidData(f"{self.spec}: expected a state as JSON, found {error}") from error
        if self.description.kind == "saves":
            return McpState({}, given=value)
        start = value.get("start", value) if isinstance(value, dict) else None
        if not isinstance(start, dict) or not isinstance(files := start.get("files"), dict):
            raise InvalidData(
                f'{self.spec}: expected a state {{"files": {{name: text}}}}, found {str(value)[:80]}'
            )
        calls = [(str(name), json.dumps(given, sort_keys=True)) for name, given in start.get("calls", ())]
        return McpState(read_files(files), tuple(calls))

    @cached_property
    def _listed(self) -> tuple[dict[str, ToolSpec], dict[str, str], str]:
        """(name -> spec, name -> the server's own name, argument of the load tool), from a running server."""
        description = self.description
        server = self.take_server()
        try:
            listed = {tool.name: tool for tool in server.tools()}
        finally:
            self.give_back(server)
        own = {description.load_tool, description.save_tool}
        missing = [
            name for name in (*own, *(read.tool for read in description.reads)) if name and name not in listed
        ]
        missing += [name for name in description.tools or () if name not in listed]
        if missing:
            raise InvalidToolkit(
                f"{self.spec}: expected the server to have a tool {missing[0]!r}, found {', '.join(listed)}"
            )
        specs: dict[str, ToolSpec] = {}
        raw: dict[str, str] = {}
        for name, tool in listed.items():
            if name not in own and (description.tools is None or name in description.tools):
                spec = self._spec_of(tool)
                if spec.name in specs:
                    raise InvalidToolkit(
                        f"{self.spec}: the tools {raw[spec.name]!r} and {name!r} would both be called {spec.name!r}; "
                        "leave one out (tools: the names of those to keep)"
                    )
                specs[spec.name], raw[spec.name] = spec, name
        return specs, raw, _only_argument(listed[description.load_tool]) if description.load_tool else ""

    def _spec_of(self, tool: Any) -> ToolSpec:
        description = self.description
        hints = tool.annotations
        said: Effect = "read" if hints is not None and hints.read_only_hint else "write"
        schema = {"type": "object", "properties": {}, **tool.input_schema}
        schema["properties"] = {
            name: {**part, "examples": description.examples[name]} if name in description.examples else part
            for name, part in schema["properties"].items()
        }
        return ToolSpec(
            name=re.sub(r"[^a-zA-Z0-9_-]", "_", tool.name)[:64],
            effect=description.effects.get(tool.name, said),
            description=(tool.description or tool.title or tool.name.replace("_", " ")).strip(),
            parameters={key: value for key, value in schema.items() if key not in ("$schema", "title")},
            check=SchemaChecker(schema),
            returns=tool.output_schema or {},
            phrases=description.phrases.get(tool.name, ()),
        )


def _only_argument(tool: Any) -> str:
    names = list(tool.input_schema.get("required", ())) or list(tool.input_schema.get("properties", ()))
    if len(names) != 1:
        raise InvalidToolkit(f"load_tool {tool.name!r}: expected one argument, the state; found {names}")
    return str(names[0])
