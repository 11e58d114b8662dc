"""A catalogue written as official files is read back as it was."""

import json
from dataclasses import replace
from pathlib import Path

from envrl.envs.webshop.generator import generate_catalog
from envrl.envs.webshop.official import find_files, read_products
from envrl.envs.webshop.official_writer import write_official
from envrl.envs.webshop.opening import load_catalog


def test_round_trip_of_generated_products(tmp_path: Path) -> None:
    products = generate_catalog(300, seed=4)
    write_official(tmp_path / "shop", products)
    assert list(read_products(find_files(str(tmp_path / "shop")))) == products


def test_round_trip_of_odd_products(tmp_path: Path) -> None:
    plain = generate_catalog(1)[0]
    odd = [
        replace(
            plain,
            asin="A1",
            title='Q"uo\u2028te <b> 日本',
            options={"size": ('9" x 9"', "small")},
            option_images={"small": "x.jpg"},
            image="a.jpg",
            attributes=(),
        ),
        replace(plain, asin="A2", bullets=("",), attributes=("DUMMY_ATTR",), instruction=None),
        replace(plain, asin="A3", description="", title_nouns=None, pricing=(1.5, 1200.0)),
    ]
    odd = [replace(product, instruction=None, instruction_attributes=()) for product in odd]
    write_official(tmp_path, odd, suffix="_3")
    assert list(read_products(find_files(str(tmp_path)))) == odd


def test_nothing_written_is_still_json(tmp_path: Path) -> None:
    write_official(tmp_path, [])
    assert json.loads((tmp_path / "items_shuffle.json").read_text()) == []
    assert json.loads((tmp_path / "items_ins_v2.json").read_text()) == {}


def test_a_written_catalogue_opens_and_has_the_goals_of_the_generated_one(tmp_path: Path) -> None:
    write_official(tmp_path, generate_catalog(200, seed=0))
    written, generated = load_catalog(str(tmp_path)), load_catalog("synthetic", 200)
    for kind in ("synthetic", "human"):
        goals, expected = written.goals(kind, 0), generated.goals(kind, 0)
        assert len(goals) == len(expected) > 50
        assert [goal.instruction for goal in goals] == [goal.instruction for goal in expected]
    assert written.search("soft blue") == generated.search("soft blue")
