"""The gates: a sound toolkit passes all of them, and each planted bug is found by the one that is there for it."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from envrl.envs.envfactory.factory.verify import GATES, Report, verify
from envrl.envs.envfactory.toolkit import Toolkit
from envrl.envs.errors import DataNotFound

sys.path.insert(0, str(Path(__file__).parents[1]))
import planted

FILE = Path(planted.__file__)


def report_on(kind: type[Toolkit]) -> Report:
    return verify(f"{FILE.name}:{kind.__name__}", FILE.parent)[0]


@pytest.fixture(scope="module")
def reports() -> dict[type[Toolkit], Report]:
    """All reports; the gates run in processes of their own, two toolkits at a time."""
    kinds = [planted.Sound, planted.ReadsItsOwn, *planted.PLANTED]
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(kinds, pool.map(report_on, kinds), strict=True))


def test_a_sound_toolkit_passes(reports: dict[type[Toolkit], Report]) -> None:
    report = reports[planted.Sound]
    assert report.passed and tuple(report.gates) == GATES and report.complaint() == ""
    assert all(
        counts["ok"] and counts["refused"] + counts["unfit"]
        for n, counts in report.coverage.items()
        if n != "list_items"
    )
    assert reports[planted.ReadsItsOwn].passed, reports[planted.ReadsItsOwn].complaint()
    data = json.loads(report.to_json())
    assert data["passed"] and data["gates"]["purity"] == {
        "passed": True,
        "tool": None,
        "input": None,
        "reason": "",
    }


@pytest.mark.parametrize("kind", planted.PLANTED)
def test_a_planted_bug_is_refused(kind: type[Toolkit], reports: dict[type[Toolkit], Report]) -> None:
    gate, tool = planted.PLANTED[kind]
    report = reports[kind]
    decided = {name: g for name, g in report.gates.items() if not g.reason.startswith("not decided")}
    assert not report.passed and tuple(report.gates) == GATES
    assert {name for name, g in decided.items() if not g.passed} == {gate}, report.complaint()
    found = report.gates[gate]
    assert found.tool == tool and found.reason
    if tool is not None:
        assert tool in report.complaint() and gate in report.complaint()
        if tool != "sample_state":
            # The input is a call that the schema lets pass: somebody can make it and look.
            assert kind.tools()[tool].check(found.input)[0] is not None


def test_reasons_say_what_was_done(reports: dict[type[Toolkit], Report]) -> None:
    wanted = {
        planted.RandomIds: ("purity", "uuid.uuid4"),
        planted.WallClock: ("purity", "datetime.datetime.now"),
        planted.Network: ("purity", "reaches outside: socket."),
        planted.ReadsTheMachine: ("purity", "reads '/'"),
        planted.ReadsTheEnvironment: ("purity", "os.environ"),
        planted.EndsTheProcess: ("error_contract", "raised SystemExit"),
        planted.WrongError: ("error_contract", "raised KeyError"),
        planted.ReaderThatWrites: ("error_contract", "is marked as reading and changed the state"),
        planted.LosesAField: ("fixpoint", ".tags"),
        planted.NeverSucceeds: ("coverage", "recounting is closed"),
        planted.NoHints: ("schema", "parameter 'label' needs a type hint"),
    }
    for kind, (gate, words) in wanted.items():
        assert words in reports[kind].gates[gate].reason


def test_the_clock_at_import_is_found(tmp_path: Path) -> None:
    """A day that the module remembers is the same in all runs of the gates, and another one tomorrow."""
    code = FILE.read_text().replace("class Sound(", "TODAY = datetime.now().date()\n\n\nclass Sound(", 1)
    (tmp_path / "dated.py").write_text(code)
    gate = verify("dated.py:Sound", tmp_path)[0].gates["purity"]
    assert (gate.passed, gate.tool) == (False, "import") and "datetime.datetime.now" in gate.reason


def test_a_server_that_does_not_start_is_a_report(tmp_path: Path) -> None:
    (tmp_path / "gone.json").write_text('{"command": "no-such-program"}')
    report, found = verify("gone.json", tmp_path)
    assert found is None and "cannot run no-such-program" in report.gates["schema"].reason


def test_what_is_not_there_is_no_report(tmp_path: Path) -> None:
    with pytest.raises(DataNotFound):
        verify("nothing.py:Here", tmp_path)


def test_code_that_cannot_run_is_a_report(tmp_path: Path) -> None:
    lines = "        return sampled(rng)"
    broken = FILE.read_text().replace(lines, "        raise RuntimeError('no sample')", 1)
    (tmp_path / "broken.py").write_text(broken)
    report, found = verify("broken.py:Sound", tmp_path)
    assert found is None and report.gates["schema"].reason == "no initial state: RuntimeError: no sample"
    # A tool that takes the process down with it takes down the worker only.
    deadly = FILE.read_text().replace(
        "        found.tags.append(tag)", "        __import__('os')._exit(3)", 1
    )
    (tmp_path / "deadly.py").write_text(deadly)
    report, found = verify("deadly.py:Sound", tmp_path)
    assert found is None and "cannot be run: exit code 3" in report.gates["isolation"].reason
