"""`EnvRL/EnvFactory-v0` from outside."""

from typing import Any

import pytest

from envrl.envs.testing import check_text_env


@pytest.mark.parametrize("kwargs", [{}, {"split": "held_out", "reward": "partial", "feedback": "classic"}])
def test_keeps_the_contract(kwargs: dict[str, Any]) -> None:
    found = check_text_env("EnvRL/EnvFactory-v0", kwargs=kwargs, vectors="quick")
    assert not found.skipped
