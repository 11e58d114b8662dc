"""Finding, reading and cleaning the official files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envrl.envs.errors import DataNotFound, InvalidData
from envrl.envs.webshop.official import clean_product, find_files, parse_pricing, read_products
from envrl.envs.webshop.product import HumanInstruction, Product


def products(folder: Path, num_products: int | None = None) -> list[Product]:
    return list(read_products(find_files(str(folder)), num_products))


def test_a_product_is_cleaned_as_in_the_original(folder: Path) -> None:
    shoes = products(folder)[0]
    assert shoes.query == "walking shoes"
    assert shoes.options == {"size": ("7", "8", "9 1 | 2"), "color": ("red", "navy | white", '28" x 30"')}
    assert shoes.attributes == ("canvas upper", "non slip")
    assert shoes.instruction == "Find me non slip walking shoes" and shoes.instruction_attributes == (
        "non slip",
    )
    assert shoes.pricing == (20.0,) and shoes.price_tag == "$20.0"
    assert shoes.human_instructions[0] == HumanInstruction(
        "please find red shoes that do not slip, size 8.", ("non slip",), ("red", "8")
    )
    boots, scarf = products(folder)[1], products(folder)[3]
    assert boots.pricing == (1080.0, 1200.5) and boots.price_tag == "$1080.0 to $1200.5"
    assert boots.instruction is None and boots.image == "boots.jpg"
    assert scarf.attributes == ("DUMMY_ATTR",)  # not in the attributes file at all
    assert products(folder)[4].attributes == ()  # there, and empty


@pytest.mark.parametrize(
    ("pricing", "prices"),
    [
        (None, (100.0,)),
        ("", (100.0,)),
        ("$5.99", (5.99,)),
        ("$1,234.50", (1234.5,)),
        ("$5.00 - $10.50", (5.0, 10.5)),
        ("$1 $2 $3", (1.0, 2.0)),
        # the original stops at these
        ("free", (100.0,)),
        ("12.00", (100.0,)),
        ("$", (100.0,)),
        ("$1.2.3", (100.0,)),
        ("$abc - $7", (7.0,)),
        ("$" + "9" * 400, (100.0,)),
        (12.5, (100.0,)),
    ],
)
def test_prices_missing_or_broken_become_100(pricing: Any, prices: tuple[float, ...]) -> None:
    assert parse_pricing(pricing) == prices


@given(st.text() | st.integers() | st.none() | st.lists(st.text()))
def test_any_pricing_gives_one_or_two_finite_prices(pricing: Any) -> None:
    prices = parse_pricing(pricing)
    assert 1 <= len(prices) <= 2 and all(0 <= price < float("inf") for price in prices)


def test_entries_without_a_usable_asin_and_repeated_ones_are_left_out(
    raw: tuple[Any, Any, Any], write: Callable[..., Path]
) -> None:
    items, attributes, people = raw
    again = items[0] | {"name": "The Same Again"}
    lower = items[0] | {"asin": "b000000001"}
    items[1:1] = [again, lower, items[0] | {"asin": "nan"}, items[0] | {"asin": "B0000000012"}]
    folder = write(items, attributes, people)
    assert [product.asin[-1] for product in products(folder)] == list("123456")
    assert products(folder)[0].title == "Red Canvas Shoes for Walking"
    # the limit counts entries of the file, as in the original
    assert [product.asin[-1] for product in products(folder, 6)] == ["1", "2"]


def test_texts_that_are_null_or_absent_count_as_empty() -> None:
    bare = clean_product({"asin": "B1", "name": None, "small_description": "one text"}, None)
    assert (bare.title, bare.description, bare.bullets, bare.query) == ("", "", ("one text",), "")
    assert bare.pricing == (100.0,) and bare.options == {} and bare.instruction is None


def test_options_without_values_are_dropped_and_odd_ones_skipped() -> None:
    raw = {
        "asin": "B1",
        "customization_options": {"Color": None, "Size": [{"value": " M/L "}, {}, "x", {"value": 3}]},
    }
    assert clean_product(raw, None).options == {"size": ("m | l",)}


def test_an_instruction_that_asks_for_no_attribute_is_no_goal() -> None:
    attributes = {"attributes": ["a"], "instruction": "Find me", "instruction_attributes": []}
    assert clean_product({"asin": "B1"}, attributes).instruction is None


def test_an_entry_that_is_no_product_is_an_error(
    raw: tuple[Any, Any, Any], write: Callable[..., Path]
) -> None:
    items, attributes, _ = raw
    with pytest.raises(
        InvalidData, match=r"items_shuffle\.json: expected a product with an 'asin' as entry 1"
    ):
        products(write([items[0], {"name": "no asin"}], attributes))


def test_an_asin_that_no_click_could_name_is_an_error(
    raw: tuple[Any, Any, Any], write: Callable[..., Path]
) -> None:
    items, attributes, _ = raw
    for asin in ("B\ud800", "B1\x00", "\xdf" * 10):  # the last has twenty capitals
        with pytest.raises(InvalidData, match="expected an ASIN of plain characters"):
            products(write([items[0] | {"asin": asin}], attributes))


WANTED = {"attributes": ["soft"], "instruction": "Find me", "instruction_attributes": ["soft"]}


@pytest.mark.parametrize(
    ("item", "attributes", "people", "nouns", "message"),
    [
        ({"customization_options": {"Size": "small"}}, WANTED, [], [], "values of option 'Size' as a list"),
        ({}, "soft", [], [], "attributes in an object, got 'soft'"),
        ({}, WANTED | {"attributes": 5}, [], [], "'attributes' as a list, got 5"),
        ({}, WANTED | {"instruction_attributes": "soft"}, [], [], "'instruction_attributes' as a list"),
        ({}, WANTED, {"instruction": "x"}, [], "instructions by people as a list"),
        ({}, WANTED, ["x"], [], "instruction by a person as an object, got 'x'"),
        ({}, WANTED, [{"instruction_options": {"size": "s"}}], [], "'instruction_options' as a list"),
        ({}, WANTED, [], "shoes", "nouns as a list, got 'shoes'"),
    ],
)
def test_a_part_of_another_form_is_an_error_that_names_the_product(
    item: Any, attributes: Any, people: Any, nouns: Any, message: str, write: Callable[..., Path]
) -> None:
    folder = write(
        [{"asin": "B1", "name": "A"} | item], {"B1": attributes}, {"B1": people}, title_nouns={"B1": nouns}
    )
    with pytest.raises(InvalidData, match=rf"data: product B1: expected .*{message}"):
        products(folder)


def test_texts_in_lists_that_are_none_are_left_out_or_written_out() -> None:
    raw = {"asin": "B1", "customization_options": {"c": [{"value": "Red", "image": 3}]}}
    product = clean_product(raw, WANTED | {"attributes": [None, 5], "instruction": 7})
    assert product.attributes == ("5",) and product.option_images == {"red": "3"}
    assert product.instruction == "7"


def test_a_truncated_items_file_is_an_error(folder: Path) -> None:
    path = folder / "items_shuffle.json"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InvalidData, match=r"Unterminated string.*cut short or broken: get it again"):
        products(folder)


def test_missing_files_are_named_with_what_fetches_them(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataNotFound, match="there is no folder"):
        find_files(str(tmp_path / "nowhere"))
    with pytest.raises(DataNotFound, match=r"items_shuffle\*\.json in .*envrl data download webshop"):
        find_files(str(tmp_path))
    (folder / "items_ins_v2.json").unlink()
    with pytest.raises(DataNotFound, match=r"expected items_ins_v2\.json beside"):
        find_files(str(folder))


def test_the_official_names_are_looked_for_in_the_data_folder(
    raw: tuple[Any, Any, Any], write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WEBSHOP_DATA", str(tmp_path / "data"))
    with pytest.raises(DataNotFound, match=r"items_shuffle_1000\.json in .*data"):
        find_files("official-1k")
    folder = write(*raw, suffix="_1000")
    assert find_files("official-1k").items == folder / "items_shuffle_1000.json"
    with pytest.raises(DataNotFound, match=r"items_shuffle\.json"):
        find_files("official")
    write(*raw)
    assert find_files("official").attributes == folder / "items_ins_v2.json"
    # both are there: the folder alone does not say which
    with pytest.raises(InvalidData, match="several catalogues"):
        find_files(str(folder))
    assert find_files(str(folder / "items_shuffle.json")).instructions == folder / "items_human_ins.json"
    (folder / "items_human_ins_1000.json").unlink()
    # the original has one file of instructions by people for both sets
    assert find_files("official-1k").instructions == folder / "items_human_ins.json"


@pytest.mark.shared
def test_the_official_thousand_are_all_there(official: Path) -> None:
    found = products(official)
    assert len(found) == 1000
    counts = [sum(len(p.options) == n for p in found) for n in range(4)]
    assert counts == [577, 245, 165, 13]
    assert sum(p.instruction is not None for p in found) == 415
    assert all(p.title_nouns is not None for p in found)
