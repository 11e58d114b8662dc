"""The reward: by hand, against the original's recordings, and against thefuzz."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rapidfuzz.fuzz import token_set_ratio
from rapidfuzz.utils import default_process

from envrl.envs.webshop.catalog import Catalog
from envrl.envs.webshop.colours import COLOURS, colour_or
from envrl.envs.webshop.goals import Goal
from envrl.envs.webshop.product import Product
from envrl.envs.webshop.reward import Purchase, count_options, has_attribute, score, similar, type_parts
from envrl.envs.webshop.shop import Shop

WANTED = Product(
    asin="B1",
    title="Red Canvas Walking Shoes",
    description="For long ways.",
    bullets=("Breathable Mesh ", "Light"),
    category="fashion",
    product_category="Clothing \u203a Shoes \u203a Walking",
    query="walking shoes",
    attributes=("non slip", "canvas upper"),
    options={},
    pricing=(20.0,),
)
NOUNS = ("canvas", "walking", "shoes", "shoes")
GOAL = Goal(0, WANTED, "", ("non slip", "breathable mesh"), (("color", "red"), ("size", "9 1 | 2")), 30.0)


def buy(
    product: Product, options: tuple[str, ...], price: float, nouns: tuple[str, ...]
) -> tuple[float, dict[str, Any]]:
    return score(Purchase(product, options, price, nouns), GOAL, NOUNS)


def test_the_wanted_product_with_the_wanted_options_is_worth_1() -> None:
    reward, parts = buy(WANTED, ("red", "9 1 | 2"), 30.0, NOUNS)
    assert reward == 1.0
    assert parts == {
        "r_type": 1.0,
        "query_match": True,
        "category_match": True,
        "title_score": 0.75,  # three different nouns of four
        "r_att": 1.0,
        "w_att": 2 / 5,
        "r_option": 1.0,
        "w_option": 2 / 5,
        "r_price": True,
        "w_price": 1 / 5,
    }


def test_each_part_counts_alike() -> None:
    # no option: 2 attributes + price of 5; one option too dear: 2 + 1 of 5
    assert buy(WANTED, (), 20.0, NOUNS)[0] == pytest.approx(3 / 5)
    assert buy(WANTED, ("red",), 30.01, NOUNS)[0] == pytest.approx(3 / 5)
    other = replace(WANTED, attributes=("waterproof",), bullets=("Heavy",))
    assert buy(other, (), 20.0, NOUNS)[0] == pytest.approx(1 / 5)


def test_a_wrong_type_cuts_the_rest() -> None:
    chair = replace(WANTED, query="chairs", product_category="Garden \u203a Chairs")
    assert type_parts(chair, ("chair",), WANTED, NOUNS)["r_type"] == 0.0
    # one noun of twelve is below a tenth, one of six is not, two of six are above a fifth
    twelve, six = tuple("abcdefghijkl"), tuple("abcdef")
    assert type_parts(chair, ("a",), WANTED, twelve)["r_type"] == 0.1
    assert type_parts(chair, ("a",), WANTED, six)["r_type"] == 0.5
    assert type_parts(chair, ("a", "b"), WANTED, six)["r_type"] == 1.0
    # a title without nouns scores 0.2: not above it
    assert type_parts(chair, (), WANTED, ())["r_type"] == 0.5
    # an equal query does not help a title that shares nothing
    assert type_parts(WANTED, ("chair",), WANTED, NOUNS)["r_type"] == 0.0
    half = replace(chair, product_category="Clothing \u203a Walking \u203a Poles")
    assert type_parts(half, ("a",), WANTED, six) == {
        "r_type": 1.0,
        "query_match": False,
        "category_match": True,
        "title_score": 1 / 6,
    }


def test_an_attribute_counts_when_a_text_holds_its_words() -> None:
    assert has_attribute(WANTED, "breathable mesh")  # a bullet
    assert has_attribute(WANTED, "long ways") and has_attribute(WANTED, "canvas walking")
    assert has_attribute(WANTED, "mesh  light")  # bullets are joined with blanks
    assert not has_attribute(WANTED, "waterproof")
    assert has_attribute(WANTED, "non-slip")  # similar enough


def test_options_are_compared_as_the_original_does_it() -> None:
    assert count_options(("bright red",), (("color", "red"),)) == 1
    # the bought value is cut to its colour, the wanted one is a pair and is not
    assert colour_or("2005black") == "black"
    assert count_options(("2005black",), (("color", "2005black"),)) == 0
    assert count_options(("2005black",), ("2005black",)) == 1  # goals by people name values alone
    # each wanted option counts once, whatever else is chosen
    assert count_options(("8", "8", "red"), (("size", "8"), ("width", "wide"))) == 1
    # the name of an option is part of what is compared
    assert count_options(("size",), (("size", "12 inch"),)) == 1
    assert count_options((), ()) == 0


def test_the_colours_are_a_constant_of_the_benchmark(official: Any) -> None:
    import json

    assert list(COLOURS) == json.loads((official / "colour_words.json").read_text())


@given(st.text(max_size=40), st.text(max_size=40))
@example("Größe 38\xe9", "('size', 'gr\xf6\xdfe 38')")
@example("9 1 | 2", "('size', '9 1 | 2')")
@example("", "")
def test_similarity_is_that_of_thefuzz(one: str, other: str) -> None:
    fuzz = pytest.importorskip("thefuzz.fuzz")
    assert similar(one, other) == (fuzz.token_set_ratio(one, other) > 85)


def test_rounding_decides_at_the_edge() -> None:
    # 85.4 is 85 and 85.7 is 86: found by search, kept as they are
    one, other = "abcdefghijklm", "abcdefghijkxyzn"
    ratio = token_set_ratio(default_process(one), default_process(other))
    assert similar(one, other) == (round(ratio) > 85)


@pytest.mark.shared
def test_recorded_rewards_and_their_parts(official_shop: Shop, golden: Callable[[str], Any]) -> None:
    catalog: Catalog = official_shop.catalog
    goals = catalog.goals("synthetic", 0)
    records = golden("rewards.jsonl")
    wrong = []
    for record in records:
        goal, product = goals[record["goal_idx"]], catalog.product(record["asin"])
        options = tuple(record["options"].values())
        bought = Purchase(product, options, record["price"], catalog.nouns(product))
        reward, parts = score(bought, goal, catalog.nouns(goal.product))
        expected = {name: value for name, value in record["info"].items() if value is not None}
        if reward != pytest.approx(record["reward"]) or {n: parts[n] for n in expected} != pytest.approx(
            expected
        ):
            wrong.append(record)
    assert len(records) == 900 and wrong == []
