"""Processes: each session has its own, none outlives its owner, and one that fails is replaced."""

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
from mcp_servers import ledger

from envrl.envs.envfactory.mcp import McpSession, McpSource
from envrl.envs.envfactory.session import SessionFault

Begin = Callable[..., McpSession]
Make = Callable[[dict[str, Any]], McpSource]
ROOT = Path(__file__).resolve().parents[4]
#: what is started in a process that is then killed; it tells the ids of all processes it has started
OWNER = """
import json, os, sys, time
import psutil
from pathlib import Path
from envrl.envs.envfactory.mcp import open_mcp
made = open_mcp(sys.argv[1])
sessions = [made.open() for _ in range(2)]
for session in sessions:
    session.reset(made.load(json.dumps(made._states[0]).encode()))
family = psutil.Process().children(recursive=True)
print(json.dumps([[each.pid for each in family], [str(s._server.folder) for s in sessions]]), flush=True)
sys.stdin.readline()
{end}
"""


def alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and not yet reaped does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def gone(pids: list[int], seconds: float = 20.0) -> bool:
    """Whether all processes end before long."""
    until = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < until:
        time.sleep(0.02)
    return not any(map(alive, pids))


def family_of(session: McpSession) -> list[int]:
    """The guard of a session's server and everything below it."""
    assert session._server is not None
    guard = int((session._server.folder / "guard").read_text())
    return [guard, *(each.pid for each in psutil.Process(guard).children(recursive=True))]


def test_close_ends_the_whole_family_and_removes_its_folder(session: Begin) -> None:
    bank = session(ledger("--stubborn"))
    family = family_of(bank)
    folder = bank._server.folder if bank._server else Path()
    assert len(family) == 3, "the guard, the server, and a grandchild in a session of its own"
    bank.close()
    assert gone(family)
    bank.close()
    until = time.monotonic() + 20
    while folder.exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert not folder.exists()


def test_a_dropped_session_ends_its_server(source: Make) -> None:
    made = source(ledger())
    bank = made.open()
    bank.reset(made.load(b'{"ann": 1}'))
    family = family_of(bank)
    del bank
    gc.collect()
    assert gone(family)


def test_a_server_is_kept_for_a_moment_only(source: Make) -> None:
    made = source(ledger())
    one = made.open()
    one.reset(made.load(b'{"ann": 1}'))
    family = family_of(one)
    one.close()
    two = made.open()
    two.reset(made.load(b'{"bob": 2}'))
    assert family_of(two) == family and two.data() == {"bob": 2}
    two.close()
    assert gone(family)


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Callable[[str], tuple[subprocess.Popen[str], list[int], list[str]]]]:
    """Starts a process that owns two stubborn servers, and tells (process, ids of its family, folders).

    It ends in the way that is asked for when it is sent a line.
    """
    pytest.importorskip("mcp", reason="needs the extra mcp")
    started: list[subprocess.Popen[str]] = []
    path = tmp_path / "ledger.json"
    path.write_text(json.dumps(ledger("--stubborn")))

    def start(end: str) -> tuple[subprocess.Popen[str], list[int], list[str]]:
        code = OWNER.replace("{end}", end)
        words = [sys.executable, "-c", code, str(path)]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        started.append(process)
        assert process.stdout is not None
        pids, folders = json.loads(process.stdout.readline())
        assert len(pids) >= 6 and all(map(alive, pids))
        return process, pids, folders

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_no_orphan_when_the_owner_is_killed(owner: Any, how: signal.Signals) -> None:
    process, pids, folders = owner("time.sleep(600)")
    process.send_signal(how)
    process.wait()
    assert gone(pids)
    until = time.monotonic() + 20
    while any(Path(folder).exists() for folder in folders) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(Path(folder).exists() for folder in folders)


@pytest.mark.parametrize("end", ["raise SystemExit(3)", "os._exit(4)"])
def test_no_orphan_when_the_owner_ends(owner: Any, end: str) -> None:
    process, pids, _ = owner(end)
    process.communicate("\n", timeout=30)
    assert gone(pids)


def test_no_orphan_when_the_guard_is_killed(session: Begin) -> None:
    bank = session(ledger())
    family = family_of(bank)
    os.kill(family[0], signal.SIGKILL)
    assert gone(family)
    with pytest.raises(SessionFault, match=r"ended|not running"):
        bank.call("balance", {"account": "ann"})


def test_a_call_that_hangs_is_a_fault_and_reset_mends_it(session: Begin) -> None:
    bank = session(ledger(call_timeout=0.5))
    family = family_of(bank)
    with pytest.raises(SessionFault, match=r"no answer within 0\.5 s"):
        bank.call("hang", {})
    assert gone(family)
    with pytest.raises(SessionFault, match="not running"):
        bank.call("balance", {"account": "ann"})
    bank.reset(bank._start)
    assert bank.call("balance", {"account": "ann"}).value == 3


def test_a_crash_is_a_fault_and_reset_mends_it(session: Begin) -> None:
    bank = session(ledger())
    with pytest.raises(SessionFault, match="'server0'"):
        bank.call("crash", {})
    bank.reset(bank._start)
    assert bank.data() == {"ann": 3}


def test_a_server_that_is_slow_to_start_is_a_fault(source: Make) -> None:
    made = source(ledger("--slow", "60", start_timeout=0.5))
    before = set(psutil.Process().children(recursive=True))
    with pytest.raises(SessionFault, match="no handshake in time"):
        assert made.tools
    assert gone([each.pid for each in set(psutil.Process().children(recursive=True)) - before])


def test_a_forked_child_leaves_its_parents_servers_alone(session: Begin) -> None:
    bank = session(ledger())
    child = os.fork()
    if child == 0:
        try:
            bank.call("balance", {"account": "ann"})
        except SessionFault:
            bank.close()
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert bank.call("balance", {"account": "ann"}).value == 3


def test_32_environments_at_once_do_not_hear_each_other(source: Make) -> None:
    """Each loads another state into a server of its own, changes it, and reads it back."""
    made = source(ledger())
    sessions = [made.open() for _ in range(32)]
    barrier = threading.Barrier(len(sessions))

    def play(number: int) -> tuple[Any, str]:
        session = sessions[number]
        session.reset(made.load(json.dumps({f"account {number}": 100 * number, "all": 1}).encode()))
        barrier.wait()
        for amount in (1, 2, 3):
            session.call("deposit", {"account": f"account {number}", "amount": amount})
            session.call("deposit", {"account": "all", "amount": number + amount})
        barrier.wait()
        return session.data(), session.call("whoami", {}).value["pid"]

    with ThreadPoolExecutor(len(sessions)) as pool:
        played = list(pool.map(play, range(len(sessions))))
    for number, (state, _) in enumerate(played):
        assert state == {f"account {number}": 100 * number + 6, "all": 7 + 3 * number}
    assert len({pid for _, pid in played}) == len(sessions)
    families = [pid for session in sessions for pid in family_of(session)]
    for session in sessions:
        session.close()
    assert gone(families)
