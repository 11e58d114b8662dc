"""What the documentation shows is true: its Python runs, its commands parse, its links lead somewhere."""

import doctest
import re
import shlex
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from envrl.cli import COMMANDS, load, parse_options

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: a comment above a block says why it is not run, or which package it needs that is not always there
FENCE = re.compile(
    r"^(?:<!-- (?:(?P<reason>not run: .+)|needs (?P<package>\w+)) -->\n)?"
    r"```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.M | re.S,
)
LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)")


class Block(NamedTuple):
    language: str
    text: str
    line: int
    runs: bool


def blocks(path: Path) -> Iterator[Block]:
    page = path.read_text()
    for found in FENCE.finditer(page):
        line = page.count("\n", 0, found.start("text"))
        runs = not found["reason"] and (not found["package"] or find_spec(found["package"]) is not None)
        yield Block(found["language"], found["text"], line, runs)


def page_id(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_python_of_a_page_runs_from_top_to_bottom(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(path):
        if block.language != "python" or not block.runs:
            continue
        if ">>>" in block.text:
            test = doctest.DocTestParser().get_doctest(block.text, names, path.name, str(path), block.line)
            shown: list[str] = []
            doctest.DocTestRunner().run(test, out=shown.append, clear_globs=False)
            assert not shown, "".join(shown)
            names |= test.globs
        else:
            # as many lines in front as the page has, so that a traceback names the page's line
            exec(compile("\n" * block.line + block.text, str(path), "exec"), names)


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_commands_of_a_page_exist_and_take_these_options(path: Path) -> None:
    for block in blocks(path):
        if block.language not in ("console", "bash", "sh") or not block.runs:
            continue
        for line in block.text.replace("\\\n", " ").splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            if words[:1] == ["make"]:
                assert f"\n{words[1]}:" in (ROOT / "Makefile").read_text(), line
            if words[:3] == ["python", "-m", "envrl"]:
                words = words[2:]
            if words[:1] != ["envrl"]:
                continue
            name = next(n for n in (" ".join(words[1:3]), words[1]) if n in COMMANDS)
            if name in ("train", "eval", "study"):
                pytest.importorskip("torch", reason="extra train")
            config, code = parse_options(load(COMMANDS[name].config), line, words[1 + len(name.split()) :])
            assert config is not None and code == 0, line


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_links_lead_to_files(path: Path) -> None:
    missing = [link for link in LINK.findall(path.read_text()) if not (path.parent / link).exists()]
    assert not missing


def test_the_index_lists_every_page() -> None:
    listed = set(LINK.findall((ROOT / "docs" / "index.md").read_text()))
    pages = {page_id(path).removeprefix("docs/") for path in PAGES[1:]} - {"index.md"}
    assert pages <= listed


def test_the_command_page_covers_every_command() -> None:
    page = (ROOT / "docs" / "cli.md").read_text()
    for name in COMMANDS:
        assert f"`envrl {name.split()[0]}`" in page and f"envrl {name}" in page


def test_docstring_examples_of_registered_modules_run() -> None:
    from envrl.commands import environment
    from envrl.envs import spaces

    for module in (environment, spaces):
        assert doctest.testmod(module).failed == 0
