"""`Server`: one process of an MCP server and the official SDK's client of it, for use from ordinary threads.

All servers of a process share one event loop in a thread. Each runs below a guard (see `guard`), so that neither the
server nor anything it starts is left when this process ends, even by SIGKILL.
"""

import asyncio
import atexit
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from envrl.envs.envfactory.mcp.spec import McpSpec, server_environment
from envrl.envs.envfactory.session import SessionFault
from envrl.envs.errors import MissingExtra

_GUARD = Path(__file__).with_name("guard.py")
_CLOSING = 10.0  # seconds; the guard kills at once, the rest is the SDK's tidying up
_CONNECTION_CLOSED, _REQUEST_TIMEOUT = -32000, -32001
_LAST_WORDS = 400


class Server:
    """A running server.

    Args:
        spec: what to run. here: folder of the spec.
        folder: its own; the server works in ``work`` below it. Removed when the server ends.

    Raises:
        SessionFault: it did not start in time; the message has its last words.
        MissingExtra: the SDK is not installed.
    """

    def __init__(self, spec: McpSpec, here: Path, folder: Path) -> None:
        self._spec, self._here, self.folder = spec, here, folder
        self._process, self._loop = os.getpid(), _loops.get()
        self._client: Any = None
        self._stop: asyncio.Event | None = None
        self._killed, self._ended = False, Future[None]()
        started: Future[None] = Future()
        self._task = self._loop.start(self._run(started))
        try:
            started.result()  # the handshake has its deadline where it happens
        except BaseException:
            self.kill()
            raise

    @property
    def alive(self) -> bool:
        """Whether the server can still be called, from this process."""
        return self._process == os.getpid() and not self._killed and not self._ended.done()

    def tools(self) -> list[Any]:
        """The tools as the SDK's objects. Raises SessionFault."""
        listed: list[Any] = self._ask(self._list_tools(), self._spec.start_timeout)
        return listed

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool.

        Returns:
            The SDK's ``CallToolResult``, or the text of the error that the server answered with.

        Raises:
            SessionFault: the server died, or did not answer in time; it is then killed.
        """
        return self._ask(self._call(tool, dict(arguments)), self._spec.call_timeout)

    def close(self) -> None:
        """End the server and everything it started, and wait until they are gone."""
        if self._process != os.getpid():
            return  # the process that started it will
        self.kill()
        with contextlib.suppress(FutureTimeout):
            self._ended.result(_CLOSING)

    def kill(self) -> None:
        """End the server without waiting; from any thread, also while objects are collected."""
        if self._process != os.getpid() or self._ended.done():
            return
        self._killed = True
        try:
            os.kill(int((self.folder / "guard").read_text()), signal.SIGTERM)
        except (OSError, ValueError):  # not even the guard has started
            self._task.cancel()
        if (stop := self._stop) is not None:
            self._loop.soon(stop.set)

    # ---- on the loop -------------------------------------------------------------------------------------

    async def _run(self, started: "Future[None]") -> None:
        self._stop = asyncio.Event()
        try:
            await self._serve(started)
        except BaseException as error:
            if not started.done():
                started.set_exception(self._fault(f"did not start: {_reason(error)}"))
            if not isinstance(error, Exception):
                raise
        finally:
            if not started.done():
                started.set_exception(self._fault("did not start"))
            self._client = None
            if not self._ended.done():
                self._ended.set_result(None)
            shutil.rmtree(self.folder, ignore_errors=True)

    async def _serve(self, started: "Future[None]") -> None:
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client

        work, home, temporary = (self.folder / name for name in ("work", "home", "tmp"))
        for path in (work, home, temporary):
            path.mkdir(exist_ok=True)
        words, environ = self._spec.words(work, self._here)
        guard = [sys.executable, "-I", "-S", str(_GUARD), str(os.getpid()), str(self.folder), *words]
        environ = {"HOME": str(home), "TMPDIR": str(temporary), **server_environment(), **environ}
        parameters = StdioServerParameters(command=guard[0], args=guard[1:], env=environ, cwd=work)
        assert self._stop is not None
        with (self.folder / "stderr").open("w", encoding="utf-8", errors="replace") as words_of_server:
            async with AsyncExitStack() as stack:
                # So many at a time as there are processors: more only makes all of them miss their deadlines.
                async with self._loop.starting, asyncio.timeout(self._spec.start_timeout):
                    transport = stdio_client(parameters, errlog=words_of_server)
                    self._client = await stack.enter_async_context(Client(transport))
                started.set_result(None)
                await self._stop.wait()

    async def _list_tools(self) -> list[Any]:
        found: list[Any] = []
        page = await self._client.list_tools()
        found += page.tools
        while page.next_cursor:
            page = await self._client.list_tools(cursor=page.next_cursor)
            found += page.tools
        return found

    async def _call(self, tool: str, arguments: dict[str, Any]) -> Any:
        from mcp.shared.exceptions import MCPError

        try:
            return await self._client.call_tool(tool, arguments)
        except MCPError as error:
            if error.code in (_CONNECTION_CLOSED, _REQUEST_TIMEOUT) and not await self._answers():
                raise
            return error.message
        except (ValueError, RuntimeError) as error:  # a result that breaks the tool's own schema
            return " ".join(str(error).split())

    async def _answers(self) -> bool:
        """Whether the connection still works, for errors that may have been the server's or the connection's."""
        try:
            async with asyncio.timeout(2):
                await self._client.list_tools(cache_mode="bypass")
        except Exception:
            return False
        return True

    # ---- between threads ---------------------------------------------------------------------------------

    def _ask(self, work: Coroutine[Any, Any, Any], timeout: float) -> Any:
        if not self.alive or self._client is None:
            work.close()
            raise self._fault("is not running")
        future = self._loop.start(work)
        try:
            return future.result(timeout)
        except FutureTimeout:
            future.cancel()
            self.kill()
            raise self._fault(f"gave no answer within {timeout:g} s") from None
        except SessionFault:
            raise
        except Exception as error:
            self.kill()
            raise self._fault(f"ended: {_reason(error)}") from error

    def _fault(self, what: str) -> SessionFault:
        said = ""
        with contextlib.suppress(OSError):
            said = (self.folder / "stderr").read_text(encoding="utf-8", errors="replace").strip()
        return SessionFault(f"{self._named()} {what}{f'; it said: {said[-_LAST_WORDS:]}' if said else ''}")

    def _named(self) -> str:
        return (
            f"the MCP server {self._spec.name!r} ({' '.join((self._spec.command, *self._spec.args))[:120]})"
        )


def new_folder() -> Path:
    """A folder for one server, with ``work`` in it, under its real name."""
    folder = Path(tempfile.mkdtemp(prefix="envrl-mcp-")).resolve()
    (folder / "work").mkdir()
    return folder


class _Loop:
    """An event loop in a thread that serves every server of this process."""

    def __init__(self) -> None:
        try:
            import mcp  # noqa: F401 - two seconds and more: now, and not within a server's time to start
        except ImportError as error:
            raise MissingExtra(
                f"an MCP server needs the official SDK, which cannot be imported ({error}); "
                "install the extra: pip install 'envrl[mcp]'"
            ) from error
        self._loop = asyncio.new_event_loop()
        self.starting = asyncio.Semaphore(max(2, os.cpu_count() or 2))
        # The guards are tied to this thread's life: it lives as long as the process.
        self._thread = threading.Thread(target=self._loop.run_forever, name="envrl-mcp", daemon=True)
        self._thread.start()

    def start(self, work: Coroutine[Any, Any, Any]) -> "Future[Any]":
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def soon(self, function: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: the process is ending
            self._loop.call_soon_threadsafe(function)

    def end(self) -> None:
        """Cancel what runs, so that every server is ended before the interpreter is."""

        async def cancel() -> None:
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        with contextlib.suppress(Exception):
            self.start(cancel()).result(_CLOSING)


class _Loops:
    """The loop of this process. One is enough for all servers; a forked child gets its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: _Loop | None = None
        os.register_at_fork(after_in_child=self._forget)

    def get(self) -> _Loop:
        with self._lock:
            if self._loop is None:
                self._loop = _Loop()
                atexit.register(self._loop.end)
            return self._loop

    def _forget(self) -> None:
        if self._loop is not None:
            atexit.unregister(self._loop.end)
        self._lock, self._loop = threading.Lock(), None


_loops = _Loops()


def _reason(error: BaseException) -> str:
    """The innermost reason: the SDK's task groups wrap what went wrong."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return "no handshake in time"
    return " ".join(f"{type(error).__name__}: {error}".split()) or type(error).__name__
