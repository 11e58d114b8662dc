"""Sources and sessions over real servers."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from envrl.envs.envfactory.mcp import McpSession, McpSource, open_mcp


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Callable[[dict[str, Any]], McpSource]]:
    """Makes sources of descriptions."""
    pytest.importorskip("mcp", reason="needs the extra mcp")
    number = iter(range(1000))

    def make(description: dict[str, Any]) -> McpSource:
        path = tmp_path / f"server{next(number)}.json"
        path.write_text(json.dumps(description))
        return open_mcp(path.name, tmp_path)

    yield make


@pytest.fixture
def session(source: Callable[[dict[str, Any]], McpSource]) -> Iterator[Callable[..., McpSession]]:
    """Makes sessions in the first initial state of a description, and closes them."""
    opened: list[McpSession] = []

    def begin(description: dict[str, Any], state: Any = None) -> McpSession:
        made = source(description)
        data = made._states[0] if state is None else state
        opened.append(made.open())
        opened[-1].reset(made.load(json.dumps(data).encode()))
        return opened[-1]

    yield begin
    for each in opened:
        each.close()
