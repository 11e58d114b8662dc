"""The tutorial of docs/envfactory-bring-your-own.md, from top to bottom, with a real server."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
PAGE = ROOT / "docs" / "envfactory-bring-your-own.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.S)


def test_the_walk_through_the_mcp_case(tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="needs the extra mcp")
    server, playing = blocks("python")
    (tmp_path / "desk.py").write_text(server)
    (tmp_path / "desk.json").write_text(blocks("json")[0])
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=environ, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    build = "-m envrl factory build desk.json --output desk_tasks --tasks 12"
    assert "play them" in run(*build.split())
    verified = json.loads((tmp_path / "desk_tasks" / "factory" / "desk.verify.json").read_text())
    assert verified["passed"] and all(gate["passed"] for gate in verified["gates"].values())
    run("-c", playing)


def test_the_other_descriptions_are_valid(tmp_path: Path) -> None:
    from envrl.envs.envfactory.mcp.spec import read_spec

    for number, text in enumerate(blocks("json")):
        (tmp_path / f"{number}.json").write_text(text)
        assert read_spec(tmp_path / f"{number}.json").command
