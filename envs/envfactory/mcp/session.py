"""`McpSession`: a toolkit that is a server's process.

Three kinds of servers, see `McpSpec.kind`: one that loads and saves its state is told to; one whose directory is its
state has the directory rewritten under it; any other is started anew, and its calls are made again.
"""

import json
import weakref
from collections.abc import Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import pydantic_core

from envrl.envs.envfactory.delta import Change, delta
from envrl.envs.envfactory.mcp.results import read_result
from envrl.envs.envfactory.mcp.server import Server
from envrl.envs.envfactory.mcp.workdir import Workdir
from envrl.envs.envfactory.schema import ToolSpec
from envrl.envs.envfactory.session import Result, SessionFault

if TYPE_CHECKING:
    from envrl.envs.envfactory.mcp.source import McpSource

CallLog = tuple[tuple[str, str], ...]


class McpState(NamedTuple):
    """An initial state, as `McpSource.load` gives it; never changed.

    Attributes:
        files: of the directory. calls: (tool, arguments as JSON) that lead on from there.
        given: what the server's load tool takes.
    """

    files: Mapping[str, bytes]
    calls: CallLog = ()
    given: Any = None


class McpSnapshot(NamedTuple):
    """A state on the way; which parts are set depends on the kind of server."""

    digest: int
    files: Mapping[str, bytes] | None = None
    calls: CallLog | None = None
    saved: Any = None


class McpSession:
    """A server at work in one environment.

    Args:
        source: opens the servers.
    """

    def __init__(self, source: "McpSource") -> None:
        self._source, self._spec = source, source.description
        self._server: Server | None = None
        self._workdir: Workdir | None = None
        self._dropped: weakref.finalize[Any, Any] | None = None
        self._start = McpState({})
        self._initial: Any = None
        self._calls: CallLog = ()
        self._known: tuple[Any, int] | None = None

    @property
    def tools(self) -> Mapping[str, ToolSpec]:
        """See `Session`."""
        return self._source.tools

    def reset(self, state: McpState) -> None:
        """See `Session`."""
        self._start = state
        self._begin()
        self._known = None
        self._initial = self._present()[0]

    def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        """See `Session`."""
        writes = self.tools[name].effect == "write"
        # What a call that fails must not have changed; cheap where the state was asked for since the last call.
        before = self.snapshot() if writes else None
        server, workdir = self._running
        answer = server.call(self._source.raw_name(name), workdir.to_real(arguments))
        result = read_result(answer, self._renamed)
        if result.ok and any(pattern.search(result.text) for pattern in self._source.failures):
            result = Result(f"Error: {result.text}", None, False)
        if before is not None:
            self._known = None
            if result.ok:
                self._calls += ((name, json.dumps(arguments, sort_keys=True)),)
            elif self._present()[1] != before.digest:
                self.restore(before)
        return result

    def digest(self) -> int:
        """See `Session`."""
        return self._present()[1]

    def changes(self) -> list[Change]:
        """See `Session`."""
        self._known = None  # what judges an episode takes no tool's word that it only reads
        return delta(self._initial, self._present()[0])

    def snapshot(self) -> McpSnapshot:
        """See `Session`."""
        data, digest = self._present()
        kind = self._spec.kind
        if kind == "saves":
            return McpSnapshot(digest, saved=data)
        if kind == "files":
            return McpSnapshot(digest, files=self._running[1].contents())
        return McpSnapshot(digest, calls=self._calls)

    def restore(self, snapshot: McpSnapshot) -> None:
        """See `Session`."""
        kind = self._spec.kind
        if self._server is not None and self._server.alive and snapshot.digest == self._present()[1]:
            # Equal states are one state, except that a server's memory is known by the calls that it saw.
            same = kind != "fresh" or snapshot.calls == self._calls
        else:
            same = False
        if same:
            return
        self._known = None
        if kind == "saves":
            self._load(snapshot.saved)
        elif kind == "files":
            self._ensure()
            self._running[1].fill(snapshot.files or {})
        else:
            self._begin(snapshot.calls or ())
        self._calls = snapshot.calls or ()
        if self._present()[1] != snapshot.digest:
            raise SessionFault(
                f"the MCP server {self._spec.name!r} is not in the state of the snapshot after it was "
                f"{'loaded' if kind == 'saves' else 'brought back'}; its calls do not always do the same"
            )

    def data(self) -> Any:
        """See `Session`; a server that keeps things in memory adds how it got there, which is no part of the state."""
        data = self._present()[0]
        if self._spec.kind == "fresh" and (self._calls or self._start.calls):
            calls = [[name, json.loads(arguments)] for name, arguments in (*self._start.calls, *self._calls)]
            return {**data, "start": {"files": self._source.as_data(self._start.files), "calls": calls}}
        return data

    def close(self) -> None:
        """See `Session`."""
        server, self._server = self._server, None
        if self._dropped is not None:
            self._dropped.detach()
        if server is not None:
            self._source.give_back(server)

    # ---- inside ------------------------------------------------------------------------------------------

    @property
    def _running(self) -> tuple[Server, Workdir]:
        if self._server is None or self._workdir is None:
            raise SessionFault(f"the MCP server {self._spec.name!r} has ended; reset starts another")
        return self._server, self._workdir

    def _renamed(self, value: Any) -> Any:
        """A result as agents see it: the same in every process."""
        return self._source.rewritten(self._running[1].to_alias(value))

    def _begin(self, calls: CallLog = ()) -> None:
        """The initial state, and the calls that lead on from it."""
        kind = self._spec.kind
        if kind == "saves":
            self._load(self._start.given)
        elif kind == "files":
            self._ensure()
            self._running[1].fill(self._start.files)
        else:
            self.close()
            self._adopt(self._source.new_server(self._start.files))
        self._calls = ()
        for name, arguments in (*self._start.calls, *calls):
            server, workdir = self._running
            given = workdir.to_real(json.loads(arguments))
            result = read_result(server.call(self._source.raw_name(name), given), self._renamed)
            if not result.ok:
                raise SessionFault(
                    f"the MCP server {self._spec.name!r} refused a call that it had taken: {result.text}"
                )
        self._calls = calls

    def _load(self, data: Any) -> None:
        self._ensure()
        server, _ = self._running
        answer = server.call(str(self._spec.load_tool), self._source.load_arguments(data))
        result = read_result(answer, self._renamed)
        if not result.ok:
            raise SessionFault(f"the MCP server {self._spec.name!r} does not load a state: {result.text}")

    def _ensure(self) -> None:
        if self._server is None or not self._server.alive:
            self.close()
            self._adopt(self._source.take_server())

    def _adopt(self, server: Server) -> None:
        volatile = tuple(p.removeprefix("files/") for p in self._spec.volatile if p.startswith("files/"))
        self._server = server
        self._workdir = Workdir(server.folder / "work", self._spec.root, volatile)
        # An environment that is dropped without being closed takes its process with it.
        self._dropped = weakref.finalize(self, server.kill)

    def _present(self) -> tuple[Any, int]:
        """(data, digest) of the present state."""
        if self._known is None:
            data = self._read()
            text = pydantic_core.to_json(_sorted(data))
            self._known = data, int.from_bytes(blake2b(text, digest_size=16).digest(), "big")
        return self._known

    def _read(self) -> Any:
        server, workdir = self._running
        if self._spec.kind == "saves":
            result = read_result(server.call(str(self._spec.save_tool), {}), self._renamed)
            if not result.ok:
                raise SessionFault(
                    f"the MCP server {self._spec.name!r} does not save its state: {result.text}"
                )
            return self._source.without_volatile(result.value)
        data: dict[str, Any] = {"files": workdir.data()}
        for read in self._spec.reads:
            result = read_result(server.call(read.tool, workdir.to_real(read.arguments)), self._renamed)
            value = result.value if result.ok else {"error": result.text}
            data.setdefault("reads", {})[read.label] = value
        return self._source.without_volatile(data)


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value
