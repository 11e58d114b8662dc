"""Descriptions of real MCP servers: one of our own, and other people's where `make data-packages` has put them."""

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

SERVERS = Path(sys.prefix) / "mcp-servers"
LEDGER = Path(__file__).with_name("ledger_server.py")
NODE = SERVERS / "node_modules" / "@modelcontextprotocol"


def other_peoples(path: Path) -> str:
    """The path of an installed server; without it the test is skipped."""
    if not path.exists() or (path.suffix == ".js" and shutil.which("node") is None):
        pytest.skip(f"needs the MCP server {path.name} of {path.parent} (make data-packages)")
    return str(path)


def ledger(*args: str, **more: Any) -> dict[str, Any]:
    """A description of our server that loads and saves."""
    return {
        "command": "{python}",
        "args": [str(LEDGER), *args],
        "load_tool": "load_ledger",
        "save_tool": "save_ledger",
        "states": [{"ann": 3}, {"bob": 7}],
        **more,
    }


def filesystem(**more: Any) -> dict[str, Any]:
    """The reference filesystem server (Node)."""
    server = other_peoples(NODE / "server-filesystem" / "dist" / "index.js")
    files = {"notes/todo.txt": "buy milk\ncall Ann\n", "report.md": "# Report\n"}
    return {"command": "node", "args": [server, "{workdir}"], "restart": False, "files": files, **more}


def memory(**more: Any) -> dict[str, Any]:
    """The reference memory server (Node)."""
    server = other_peoples(NODE / "server-memory" / "dist" / "index.js")
    return {"command": "node", "args": [server], "env": {"MEMORY_FILE_PATH": "{workdir}/graph.jsonl"}, **more}


def sqlite(**more: Any) -> dict[str, Any]:
    """The reference SQLite server (Python, on the MCP SDK before today's)."""
    server = other_peoples(SERVERS / "bin" / "mcp-server-sqlite")
    effects = {"read_query": "read", "list_tables": "read", "describe_table": "read"}
    return {
        "command": server,
        "args": ["--db-path", "{workdir}/shop.db"],
        "restart": False,
        "effects": effects,
        "failures": ["^Database error"],
        **more,
    }
