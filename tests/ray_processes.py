"""Ray in tests: its processes import what the tests import, and none outlives them."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

#: settings of a node: small, and without what needs other extras
NODE = {"object_store_memory": 100 * 2**20, "include_dashboard": False}


@contextmanager
def ray_processes() -> Iterator[list[Callable[[], None]]]:
    """Start Ray inside the block, and put what ends it on the list."""
    before = set(psutil.Process().children(recursive=True))
    shutdowns: list[Callable[[], None]] = []
    with pytest.MonkeyPatch.context() as patch:
        places = (str(Path(__file__).parent), os.environ.get("PYTHONPATH", ""))
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, places)))
        try:
            yield shutdowns
        finally:
            started = set(psutil.Process().children(recursive=True)) - before
            for shutdown in shutdowns:
                shutdown()
    _, alive = psutil.wait_procs(started, timeout=60)
    assert not alive
