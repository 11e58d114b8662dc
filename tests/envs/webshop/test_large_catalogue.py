"""A generated catalogue of 100,000 products in the official files, read by the loader of those files.

In processes of their own, so that the most memory each ever had can be asked for.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from envrl.envs.webshop.catalog import Catalog
from envrl.envs.webshop.generator import generate_products
from envrl.envs.webshop.official_writer import write_official
from envrl.envs.webshop.opening import load_catalog

PRODUCTS = 100_000
OPEN = """
import json, resource, sys
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
from envrl.envs.webshop.opening import load_catalog
catalog = load_catalog(sys.argv[1])
found = [catalog.search(query) for query in sys.argv[2:]]
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"products": len(catalog), "found": found, "megabytes": (after - before) // 1024}))
"""
QUERIES = (
    "machine washable throw pillows",
    "<c> grocery extra",
    "wireless earbuds with deep bass in sage green",
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large") / "shop"
    write_official(folder, generate_products(PRODUCTS, seed=1))
    return folder


def open_in_a_process(folder: Path, hash_seed: str) -> dict[str, Any]:
    result = subprocess.run(
        [sys.executable, "-c", OPEN, str(folder), *QUERIES],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
    )
    assert result.returncode == 0, result.stderr
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


@pytest.fixture(scope="module")
def built(files: Path) -> dict[str, Any]:
    """What the process said that built the index."""
    return open_in_a_process(files, "1")


def test_building_reads_the_files_as_a_stream(built: dict[str, Any], files: Path) -> None:
    size = sum(path.stat().st_size for path in files.glob("*.json")) >> 20
    assert built["products"] == PRODUCTS and size > 150
    # products held as objects would take a gigabyte
    assert built["megabytes"] < 500


def test_a_second_process_maps_what_the_first_one_built(built: dict[str, Any], files: Path) -> None:
    stored = {path: path.stat().st_mtime_ns for path in files.glob(".envrl/*/*")}
    again = open_in_a_process(files, "2")
    assert again["found"] == built["found"] and len(built["found"][0]) == 50
    assert len(built["found"][1]) > 9000  # 117 of 1,000 products are groceries
    assert again["megabytes"] < 100
    assert stored and {path: path.stat().st_mtime_ns for path in files.glob(".envrl/*/*")} == stored


def test_goals_are_found_among_so_many(built: dict[str, Any], files: Path) -> None:
    catalog: Catalog = load_catalog(str(files))
    goals = catalog.goals("synthetic", 0)
    assert len(goals) > 500_000
    sample = [goals[index] for index in range(0, len(goals), len(goals) // 300)]
    found = [goal.product.asin in catalog.search(goal.instruction.lower()) for goal in sample]
    assert sum(found) >= 0.99 * len(sample)
    # by its title every one is found, and first
    assert all(catalog.search(goal.product.title.lower())[0] == goal.product.asin for goal in sample[:100])
