"""The synthetic catalogue: deterministic, of the official statistics, and every goal can be reached."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envrl.envs.webshop.catalog import Catalog, catalog_of
from envrl.envs.webshop.generator import GENERATOR_VERSION, generate_catalog, generate_products
from envrl.envs.webshop.goals import Goal
from envrl.envs.webshop.lexicon import DEPARTMENTS
from envrl.envs.webshop.official import find_files, read_products
from envrl.envs.webshop.product import Product
from envrl.envs.webshop.reward import Purchase, score
from envrl.envs.webshop.search import document

#: the default catalogue, GENERATOR_VERSION 1; another digest means that the version must be raised
PINNED = "b05533999e377cff"
DIGEST = """
from hashlib import blake2b
from envrl.envs.webshop.generator import generate_products
digest = blake2b(digest_size=8)
for product in generate_products(1000, seed=0):
    digest.update(repr(product).encode())
print(digest.hexdigest())
"""


@pytest.fixture(scope="module")
def shop() -> Catalog:
    """The default catalogue."""
    return catalog_of(generate_catalog(1000, seed=0))


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_the_same_in_every_process(hash_seed: str) -> None:
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    output = subprocess.run([sys.executable, "-c", DIGEST], capture_output=True, text=True, env=environment)
    assert (GENERATOR_VERSION, output.stdout.strip()) == (1, PINNED), output.stderr


def test_a_larger_catalogue_begins_with_the_smaller_one() -> None:
    assert generate_catalog(30, seed=3) == generate_catalog(100, seed=3)[:30]
    assert next(iter(generate_products(100, seed=3, start=77))) == generate_catalog(78, seed=3)[77]
    assert generate_catalog(0) == []
    with pytest.raises(ValueError, match="num_products >= 0"):
        generate_catalog(-1)


def test_seeds_give_other_products_with_other_ids() -> None:
    one, other = generate_catalog(300, seed=1), generate_catalog(300, seed=2)
    assert not {product.asin for product in one} & {product.asin for product in other}
    assert sum(a.title == b.title for a, b in zip(one, other, strict=True)) == 0


def test_ids_differ_in_a_large_catalogue() -> None:
    from envrl.envs.webshop.generator import _asin

    ids = {_asin(position, 0) for position in range(300_000)}
    assert len(ids) == 300_000
    assert {len(asin) for asin in ids} == {10}
    assert all(asin.isalnum() and asin == asin.upper() for asin in list(ids)[:1000])


@given(st.integers(-(2**40), 2**40), st.integers(0, 10**7))
@settings(deadline=None)
def test_every_product_is_sound(seed: int, position: int) -> None:
    product = next(generate_products(position + 1, seed, start=position))
    assert product.category in DEPARTMENTS
    assert 0 < len(product.title.split()) < 60 and product.title == product.title.strip()
    assert product.bullets and all(product.bullets)
    assert 1 <= len(product.pricing) <= 2 and list(product.pricing) == sorted(product.pricing)
    assert all(1 < price < 10_000 and price == round(price, 2) for price in product.pricing)
    assert len(set(product.attributes)) == len(product.attributes) >= 1
    for values in product.options.values():
        assert len(set(values)) == len(values) >= 2
    assert product.title_nouns and all(noun in product.title.lower() for noun in product.title_nouns)
    assert "{" not in repr(product).replace("options={", "").replace("images={", "")
    if product.instruction is None:
        assert not product.instruction_attributes and not product.human_instructions
        return
    assert len(product.instruction_attributes) >= 2
    assert set(product.instruction_attributes) <= set(product.attributes)
    searched = document(product)
    every_value = {value for values in product.options.values() for value in values}
    for attribute in product.instruction_attributes:
        assert attribute in product.instruction and attribute in searched
    for request in product.human_instructions:
        assert set(request.attributes) <= set(product.instruction_attributes)
        assert set(request.options) <= every_value


def combinations(product: Product) -> int:
    return int(np.prod([len(values) for values in product.options.values()]))


def known_attributes(product: Product) -> int:
    return 0 if product.attributes == ("DUMMY_ATTR",) else len(product.attributes)


def statistics(products: Sequence[Product]) -> dict[str, dict[object, float]]:
    """Shares, in percent, and quantiles of a catalogue."""

    def shares(values: Iterable[object]) -> dict[object, float]:
        return {value: 100 * count / len(products) for value, count in Counter(values).items()}

    def quantiles(values: Iterable[float], points: Sequence[float]) -> dict[object, float]:
        return dict(zip(points, np.quantile(list(values), points).tolist(), strict=True))

    goals = [product for product in products if product.instruction]
    priced = [product.pricing[0] for product in products if product.pricing != (100.0,)]
    return {
        "departments": shares(product.category for product in products),
        "options": shares(len(product.options) for product in products),
        "price ranges": shares(len(product.pricing) for product in products),
        "goals": {"products": 100 * len(goals) / len(products)},
        "goal attributes": quantiles(
            (len(product.instruction_attributes) for product in goals), (0.1, 0.5, 0.9)
        ),
        "attributes": quantiles(map(known_attributes, products), (0.1, 0.25, 0.5, 0.75, 0.9)),
        "values": quantiles(
            (len(values) for product in products for values in product.options.values()),
            (0.1, 0.5, 0.75, 0.9),
        ),
        "goals of a product": quantiles(map(combinations, goals), (0.25, 0.5, 0.75, 0.9)),
        "all goals": {"per 1,000 products": 1000 * sum(map(combinations, goals)) / len(products)},
        "prices": quantiles(priced, (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)),
        "title": quantiles((len(product.title.split()) for product in products), (0.1, 0.5, 0.9)),
        "description": quantiles(
            (len(product.description.split()) for product in products), (0.5, 0.75, 0.9)
        ),
        "bullets": quantiles((len(product.bullets) for product in products), (0.1, 0.5)),
    }


#: how far each may lie from the official value: so much, and that share of it
TOLERANCES = {
    "departments": (1.5, 0.0),
    "options": (1.5, 0.0),
    "price ranges": (1.5, 0.0),
    "goals": (2.0, 0.0),
    "goal attributes": (0.0, 0.0),
    "attributes": (1.0, 0.0),
    "values": (1.0, 0.1),
    "goals of a product": (1.0, 0.25),
    "all goals": (0.0, 0.15),
    "prices": (0.0, 0.3),
    "title": (3.0, 0.1),
    "description": (8.0, 0.1),
    "bullets": (1.0, 0.0),
}


@pytest.mark.shared
def test_statistics_are_near_those_of_the_official_products(shared_data: Path) -> None:
    official = statistics(list(read_products(find_files(str(shared_data / "webshop")))))
    # a large sample, so that what is compared is the generator and not luck
    synthetic = statistics(generate_catalog(8000, seed=5))
    for name, (so_much, share) in TOLERANCES.items():
        for key, expected in official[name].items():
            found = synthetic[name].get(key, 0.0)
            assert found == pytest.approx(expected, abs=so_much + share * expected), (name, key)


@pytest.mark.shared
def test_numbers_of_options_of_the_default_catalogue(shop: Catalog) -> None:
    counts = Counter(len(product.options) for product in shop.products)
    for options, expected in {0: 577, 1: 245, 2: 165, 3: 13}.items():
        # four standard deviations of a binomial draw
        assert counts[options] == pytest.approx(expected, abs=4 * (expected * (1 - expected / 1000)) ** 0.5)


def test_every_goal_of_the_default_catalogue_is_found_by_its_own_words(shop: Catalog) -> None:
    goals = shop.goals("synthetic", 0)
    assert 5500 < len(goals) < 8500
    for goal in goals:
        assert goal.product.asin in shop.search(goal.instruction.lower()), goal.instruction
    keywords = [goal for goal in goals if goal.index % 5 == 0]
    for goal in keywords:
        words = [*goal.attributes, goal.product.query, *(value for _, value in goal.options)]
        assert goal.product.asin in shop.search(" ".join(words)), words


def test_goals_by_people_fill_all_splits_and_are_found(shop: Catalog) -> None:
    goals = shop.goals("human", 0)
    # test takes 500 of them, eval 1,000, train the rest
    assert len(goals) > 1900
    for goal in goals:
        assert goal.product.asin in shop.search(goal.instruction.lower()), goal.instruction


def test_buying_what_is_asked_for_is_worth_1(shop: Catalog) -> None:
    for kind in ("synthetic", "human"):
        goals = shop.goals(kind, 0)
        for index in range(0, len(goals), 7):
            goal = goals[index]
            assert reward_of(shop, goal, goal.product, kind) == 1.0, goal.instruction


def test_buying_something_else_is_worth_less(shop: Catalog) -> None:
    goals = shop.goals("synthetic", 0)
    rewards = []
    for index in range(0, len(goals), 7):
        goal = goals[index]
        other = next(p for p in shop.products if p.category != goal.product.category)
        rewards.append(reward_of(shop, goal, other, "synthetic"))
    assert max(rewards) < 1 and np.mean(rewards) < 0.2


def reward_of(shop: Catalog, goal: Goal, product: Product, kind: str) -> float:
    options = [option if isinstance(option, str) else option[1] for option in goal.options]
    price = shop.price(product.asin, kind, 0)  # type: ignore[arg-type]
    purchase = Purchase(product, options, price, shop.nouns(product))
    return score(purchase, goal, shop.nouns(goal.product))[0]


@pytest.mark.shared
def test_no_sentence_is_of_the_official_products(shared_data: Path) -> None:
    def runs(products: Iterable[Product], size: int = 7) -> set[tuple[str, ...]]:
        found = set()
        for product in products:
            for text in (product.title, product.description, *product.bullets):
                words = text.lower().split()
                found.update(tuple(words[at : at + size]) for at in range(len(words) - size + 1))
        return found

    official = runs(read_products(find_files(str(shared_data / "webshop"))))
    assert not official & runs(generate_products(1000, seed=0))
