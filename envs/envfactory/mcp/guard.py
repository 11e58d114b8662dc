"""Runs a command and sees to it that nothing of it outlives the process that asked for it.

    python -I -S guard.py PARENT_PID FOLDER COMMAND...

The command inherits stdin, stdout and stderr, so nothing stands between it and its reader. The guard ends
everything that the command started, also what left its process group: when the command ends, when the guard is told
to stop (SIGTERM to the process whose id it writes into FOLDER/guard), and when the parent is gone, however it went.
In the last case it also removes FOLDER, which nobody else will. It is a script of its own, with the standard library
only, because it must start quickly.
"""
# Importing pathlib would take longer than all else here:
# ruff: noqa: PTH112, PTH123, PTH208

import contextlib
import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_ORDERS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_ORPHANED = signal.SIGUSR1  # asked of the kernel; the parent may still be there, dying, when it comes
_LOOK = 0.5  # seconds between looks at who the parent is, where the system does not tell


def main(parent: int, folder: str, command: list[str]) -> int:
    """Run the command to its end; its exit code, or 143 where it was ended."""
    signal.pthread_sigmask(signal.SIG_BLOCK, (*_ORDERS, _ORPHANED, signal.SIGCHLD))
    _prctl(_PR_SET_PDEATHSIG, _ORPHANED)
    # What the command's children leave behind becomes ours, and not init's, so that it can be found and ended.
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    with contextlib.suppress(OSError), open(f"{folder}/guard", "w") as file:
        file.write(str(os.getpid()))
    child = os.fork()
    if child == 0:
        _become(command)
    # The pipes are the command's alone: its end must be their end.
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(nothing, stream)
    while True:
        order = _wait() if os.getppid() == parent else _ORPHANED
        if order in (*_ORDERS, _ORPHANED):
            _end_all()
            if order == _ORPHANED:
                _remove(folder)
            return 143
        code = _reap(child)
        if code is not None:
            _end_all()
            return code


def _become(command: list[str]) -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"cannot run {command[0]}: {error.strerror}\n".encode())
    os._exit(127)


def _wait() -> int:
    awaited = (*_ORDERS, _ORPHANED, signal.SIGCHLD)
    if hasattr(signal, "sigtimedwait"):
        found = signal.sigtimedwait(awaited, _LOOK)
        return found.si_signo if found else 0
    import time  # a system without sigtimedwait: look often

    time.sleep(_LOOK / 5)
    pending = signal.sigpending()
    return next((order for order in _ORDERS if order in pending), 0)


def _reap(child: int) -> int | None:
    """The exit code of the command if it has ended; whatever else has ended is reaped on the way."""
    code = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == child:
                code = os.waitstatus_to_exitcode(status)
    return code


def _end_all() -> None:
    """Kill every descendant, and those that come to light when their parents are gone."""
    for _ in range(100):
        found = _descendants()
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0 if found else os.WNOHANG)
        except ChildProcessError:
            break
    if not os.path.isdir("/proc/self"):  # no way to list them: the group is what there is
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGKILL)


def _descendants() -> list[int]:
    parents: dict[int, int] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                with (
                    contextlib.suppress(OSError, ValueError, IndexError),
                    open(f"/proc/{name}/stat", "rb") as file,
                ):
                    # The name of a program may hold spaces and brackets: what follows its last bracket counts.
                    parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
    ours, found = {os.getpid()}, list[int]()
    while True:
        more = [pid for pid, parent in parents.items() if parent in ours and pid not in ours]
        if not more:
            return found
        ours.update(more)
        found += more


def _remove(folder: str) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def _prctl(option: int, value: int) -> None:
    with contextlib.suppress(AttributeError, OSError):  # not Linux: `_LOOK` has to do
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
