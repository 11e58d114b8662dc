"""Fixtures shared by all tests."""

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import psutil
import pytest

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
    """Ray on this machine, for the tests of a module; none of its processes outlives them."""
    ray = pytest.importorskip("ray", reason="needs the extra ray")
    before = set(psutil.Process().children(recursive=True))
    with pytest.MonkeyPatch.context() as patch:
        # its processes find the environments of the tests, and envrl where this one has it
        places = (str(Path(__file__).parent), os.environ.get("PYTHONPATH", ""))
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, places)))
        ray.init(
            "local",
            num_cpus=2,
            object_store_memory=100 * 2**20,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="warning",
        )
    yield
    started = set(psutil.Process().children(recursive=True)) - before
    ray.shutdown()
    _, alive = psutil.wait_procs(started, timeout=60)
    assert not alive
