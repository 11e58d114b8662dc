"""The environment takes the word of builtin toolkits that their reading tools change nothing: here it is checked."""

import pytest

from envrl.envs.envfactory.factory.verify import GATES, verify
from envrl.envs.envfactory.toolkits import BUILTIN


@pytest.mark.parametrize("name", BUILTIN)
def test_every_gate_is_passed(name: str) -> None:
    report, found = verify(f"builtin:{name}")
    assert report.passed, report.complaint()
    assert tuple(report.gates) == GATES and found is not None
    for tool, counts in report.coverage.items():
        assert counts["ok"] >= 1 and counts["calls"] >= 5, tool
