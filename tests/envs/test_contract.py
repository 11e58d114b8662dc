"""Every registered id keeps the contract."""

import importlib.util
import os
from typing import Any

import pytest

from envrl.envs.testing import CHECKS, check_text_env
from envrl.registration import ENVS

#: arguments of `check_text_env` for ids that need some
ARGUMENTS: dict[str, dict[str, Any]] = {}


@pytest.mark.parametrize("env_id", ENVS)
def test_a_registered_id_keeps_the_contract(env_id: str) -> None:
    missing = env_id == "EnvRL/BFCL-v0" and not importlib.util.find_spec("bfcl_eval")
    if missing and os.environ.get("CI") != "true":
        pytest.skip("needs the package bfcl-eval (make data-packages)")
    report = check_text_env(env_id, **{"vectors": "quick", **ARGUMENTS.get(env_id, {})})
    assert set(report.passed) | set(report.skipped) == set(CHECKS)
    assert set(report.skipped) <= {"experts"}, report
