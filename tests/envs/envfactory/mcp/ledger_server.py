"""A real MCP server for the tests, on the official SDK: a ledger, with every kind of bad manners to order.

    python ledger_server.py [--stubborn] [--slow SECONDS]

Its state is in memory; `load_ledger` and `save_ledger` set and return it. ``--stubborn`` ignores SIGTERM and the end of
its input and leaves a grandchild in a session of its own.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

parser = argparse.ArgumentParser()
parser.add_argument("--stubborn", action="store_true")
parser.add_argument("--slow", type=float, default=0.0)
options = parser.parse_args()
server = MCPServer("ledger")
ledger: dict[str, int] = {}


@server.tool()
def load_ledger(accounts: dict[str, int]) -> str:
    """Set all accounts."""
    ledger.clear()
    ledger.update(accounts)
    return "loaded"


@server.tool()
def save_ledger() -> dict[str, Any]:
    """Return all accounts."""
    return dict(ledger)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def balance(account: str) -> int:
    """Tell the balance of an account.

    Args:
        account: its name
    """
    if account not in ledger:
        raise ToolError(f"no account {account!r}")
    return ledger[account]


@server.tool()
def deposit(account: str, amount: int) -> int:
    """Put money into an account and tell its balance.

    Args:
        account: its name
        amount: above 0
    """
    if amount <= 0:
        raise ToolError("an amount is above 0")
    ledger[account] = ledger.get(account, 0) + amount
    return ledger[account]


@server.tool()
def careless(account: str) -> int:
    """Empty an account, and fail."""
    ledger[account] = 0
    raise ToolError("something went wrong afterwards")


@server.tool()
def hang() -> str:
    """Never answer."""
    time.sleep(3600)
    return ""


@server.tool()
def crash() -> str:
    """End the process in the middle of a call."""
    os._exit(3)


@server.tool()
def write_note(name: str, text: str) -> str:
    """Write a file into the working directory and tell its full path."""
    path = Path(name).resolve()
    path.write_text(text)
    return str(path)


@server.tool()
def whoami() -> dict[str, str]:
    """Tell the process id, the working directory and the home."""
    return {"pid": str(os.getpid()), "cwd": str(Path.cwd()), "home": str(Path.home())}


if options.stubborn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True)
time.sleep(options.slow)
server.run("stdio")
while options.stubborn:
    time.sleep(1)
