"""Goals, prices and splits: by hand on a small shop, and the original's own on the official products."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envrl.envs.errors import DataNotFound, InvalidTask
from envrl.envs.webshop.catalog import Catalog
from envrl.envs.webshop.goals import NO_LIMIT, combination, draw_limit, goal_weights
from envrl.envs.webshop.shop import Shop
from envrl.envs.webshop.splits import SPLITS, TaskIds, goal_index, split_ids


def test_prices_come_from_one_seeded_generator_in_catalogue_order(catalog: Catalog) -> None:
    rng = random.Random(7)
    boots, plain = rng.uniform(1080.0, 1200.5), rng.uniform(12.0, 30.0)
    prices = catalog.goals("synthetic", 7).arrays.prices
    assert prices.tolist() == [20.0, boots, 20.0, 100.0, 20.0, plain]
    assert catalog.price("b000000002", "synthetic", 7) == boots
    assert catalog.goals("synthetic", 8).arrays.prices[1] != boots
    assert catalog.goals("synthetic", 7) is catalog.goals("synthetic", 7)


def test_a_goal_for_each_combination_of_option_values(catalog: Catalog) -> None:
    goals = catalog.goals("synthetic", 0)
    # 3 sizes x 3 colours, 3 styles x 3 fits, a chair and plain shoes without options
    assert len(goals) == 9 + 9 + 1 + 1
    shoes = sorted(
        (goal for goal in goals if goal.product.asin == "B000000001"), key=lambda goal: goal.options
    )
    # one limit a product, whatever its options
    assert len({goal.price_upper for goal in shoes}) == 1
    limit = shoes[0].price_upper
    assert limit in (40.0, 50.0, 60.0)
    assert shoes[0].options == (("color", '28" x 30"'), ("size", "7"))
    assert shoes[0].instruction == (
        'Find me non slip walking shoes with color: 28" x 30", and size: 7, and price lower than '
        f"{limit:.2f} dollars"
    )
    assert [goal.index for goal in goals] == list(range(20))


def test_goals_by_people_lose_their_last_stop_and_name_options_without_their_names(catalog: Catalog) -> None:
    goals = list(catalog.goals("human", 0))
    # an instruction that asks for no attribute makes none
    assert sorted(goal.product.asin for goal in goals) == ["B000000001", "B000000005"]
    shoes = next(goal for goal in goals if goal.product.asin == "B000000001")
    assert shoes.options == ("red", "8") and shoes.attributes == ("non slip",)
    assert shoes.instruction.startswith(
        "please find red shoes that do not slip, size 8, and price lower than"
    )


@pytest.mark.parametrize(
    ("price", "possible"),
    [
        (0.5, {20, 30, 40}),
        (10.0, {30, 40, 50}),
        (965.0, {980, 990}),
        (975.0, {990}),
        (980.0, None),
        (5e4, None),
    ],
)
def test_limits_are_the_larger_of_two_multiples_of_ten_above_the_price(
    price: float, possible: set[int] | None
) -> None:
    drawn = {draw_limit(price, random.Random(seed)) for seed in range(200)}
    assert drawn == ({NO_LIMIT} if possible is None else possible)


def test_a_goal_without_a_limit_says_nothing_of_it(
    catalog: Catalog, raw: Any, write: Callable[..., Any]
) -> None:
    from envrl.envs.webshop.opening import load_catalog

    items, attributes, people = raw
    items[0]["pricing"] = "$2,000.00"
    goals = load_catalog(str(write(items, attributes, people))).goals("human", 0)
    shoes = next(goal for goal in goals if goal.product.asin == "B000000001")
    assert (
        shoes.price_upper == NO_LIMIT
        and shoes.instruction == "please find red shoes that do not slip, size 8"
    )


@given(
    st.dictionaries(st.text(max_size=3), st.lists(st.text(max_size=2), min_size=1, max_size=4), max_size=4)
)
def test_combinations_are_those_of_itertools(options: dict[str, list[str]]) -> None:
    import itertools

    names = sorted(options)
    expected = [
        tuple(zip(names, row, strict=True)) for row in itertools.product(*(options[n] for n in names))
    ]
    frozen = {name: tuple(values) for name, values in options.items()}
    assert [combination(frozen, number) for number in range(len(expected))] == expected


def test_an_option_without_values_makes_no_goal_and_still_draws_a_limit(
    raw: Any, write: Callable[..., Any]
) -> None:
    from envrl.envs.webshop.opening import load_catalog

    items, attributes, people = raw
    before = load_catalog(str(write(items, attributes, people))).goals("synthetic", 0)
    items[0]["customization_options"] = {"Size": []}
    after = load_catalog(str(write(items, attributes, people))).goals("synthetic", 0)
    assert len(after) == len(before) - 9
    assert {(g.product.asin, g.price_upper) for g in after} < {
        (g.product.asin, g.price_upper) for g in before
    }


def test_a_goal_beyond_the_last_is_an_index_error(catalog: Catalog) -> None:
    goals = catalog.goals("synthetic", 0)
    assert goals[-1] is goals[19] and goals[2:4] == [goals[2], goals[3]]
    with pytest.raises(IndexError, match="below 20, got 20"):
        goals[20]


# ---- the original's own goals --------------------------------------------------------------------------------


@pytest.mark.shared
def test_prices_and_goals_equal_the_original_for_seed_0(
    official_shop: Shop, golden: Callable[[str], Any]
) -> None:
    goals = official_shop.catalog.goals("synthetic", 0)
    prices = dict(zip((p.asin for p in official_shop.catalog.products), goals.arrays.prices, strict=True))
    assert prices == golden("product_prices_seed0.json")
    expected = golden("goals_synthetic_seed0.json")
    assert len(goals) == len(expected) == 6910
    weights = goal_weights(goals)
    wrong = []
    for goal, weight, recorded in zip(goals, weights, expected, strict=True):
        found = {
            "asin": goal.product.asin,
            "category": goal.product.category,
            "query": goal.product.query,
            "name": goal.product.title,
            "product_category": goal.product.product_category,
            "instruction_text": goal.instruction,
            "attributes": list(goal.attributes),
            "price_upper": goal.price_upper,
            "goal_options": dict(goal.options),
            "weight": weight,
        }
        if found != recorded:
            wrong.append((goal.index, found, recorded))
    assert wrong == []


@pytest.mark.shared
def test_goals_by_people_of_the_official_products(official_shop: Shop) -> None:
    goals = official_shop.catalog.goals("human", 0)
    assert len(goals) == 13 and goal_weights(goals) == [1.0] * 13
    assert all(isinstance(option, str) for goal in goals for option in goal.options)


# ---- splits ----------------------------------------------------------------------------------------------------


@pytest.mark.shared
def test_splits_by_position_are_those_of_the_authors(official_shop: Shop) -> None:
    catalog = official_shop.catalog
    goals = catalog.goals("synthetic", 0)
    ids = {split: split_ids(split, "synthetic", goals.arrays, catalog.columns) for split in SPLITS}
    assert (ids["test"][0], ids["test"][-1]) == ("synthetic/0", "synthetic/499")
    assert (ids["eval"][0], ids["eval"][-1]) == ("synthetic/500", "synthetic/1499")
    assert (ids["train"][0], ids["train"][-1]) == ("synthetic/1500", "synthetic/6909")
    # what the splits by position share and those by product do not
    asins = {split: {goals[int(task.split("/")[1])].product.asin for task in ids[split]} for split in SPLITS}
    assert sum(goals[n].product.asin in asins["train"] | asins["eval"] for n in range(500)) == 481
    assert not asins["train_by_product"] & asins["test_by_product"]
    assert len(ids["train_by_product"]) + len(ids["test_by_product"]) == 6910
    assert 0.05 < len(asins["test_by_product"]) / 415 < 0.15


def test_an_empty_split_is_an_error_that_counts(catalog: Catalog) -> None:
    arrays = catalog.goals("synthetic", 0).arrays
    assert len(split_ids("test", "synthetic", arrays, catalog.columns)) == 20
    with pytest.raises(DataNotFound, match="split='train', found none: the catalogue has 20 synthetic goals"):
        split_ids("train", "synthetic", arrays, catalog.columns)


def test_task_ids_are_a_lazy_sequence() -> None:
    ids = TaskIds("synthetic", np.array([3, 5, 8]))
    assert list(ids) == ["synthetic/3", "synthetic/5", "synthetic/8"] and ids[1:] == [
        "synthetic/5",
        "synthetic/8",
    ]
    assert "synthetic/5" in ids and "synthetic/4" not in ids and "human/5" not in ids and 5 not in ids
    assert "synthetic/05" not in ids and f"synthetic/{'5' * 5000}" not in ids
    assert len(TaskIds("human", range(2, 10**9))) == 10**9 - 2


@given(st.text())
def test_only_one_spelling_names_a_task(text: str) -> None:
    for task_id in (text, f"synthetic/{text}"):
        try:
            index = goal_index(task_id, 20, "synthetic")
        except InvalidTask:
            continue
        assert task_id == f"synthetic/{index}" and 0 <= index < 20


@pytest.mark.parametrize(
    "task_id", ["synthetic/20", "synthetic/-1", "synthetic/07", "synthetic/", "3", "synthetic/²"]
)
def test_ids_that_name_no_task_are_errors(task_id: str) -> None:
    with pytest.raises(InvalidTask, match="expected a task_id synthetic/0 to synthetic/19"):
        goal_index(task_id, 20, "synthetic")
    with pytest.raises(InvalidTask, match="goals='human'"):
        goal_index("human/1", 20, "synthetic")
