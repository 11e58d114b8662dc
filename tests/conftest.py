"""Fixtures shared by all tests."""

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from ray_processes import NODE, ray_processes

# No test may depend on how busy the machine is.
hypothesis.settings.register_profile("envrl", deadline=None)
hypothesis.settings.load_profile("envrl")

SHARED = Path(__file__).resolve().parents[1].parent / "shared"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of recorded games and products beside the repository."""
    folder = SHARED / "data"
    if not folder.is_dir():
        message = f"recorded data not found at {folder}"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return folder


@pytest.fixture(scope="module")
def ray_instance() -> Iterator[None]:
    """Ray on this machine, for the tests of a module."""
    ray = pytest.importorskip("ray", reason="needs the extra ray")
    with ray_processes() as shutdowns:
        shutdowns.append(ray.shutdown)
        ray.init("local", num_cpus=2, log_to_driver=False, logging_level="warning", **NODE)
        yield
