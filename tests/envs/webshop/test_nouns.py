"""Nouns of titles: how far the approximation is from spaCy, and spaCy itself."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envrl.envs.webshop import nouns
from envrl.envs.webshop.nouns import TitleNouns, approximate_nouns, has_spacy, spacy_table
from envrl.envs.webshop.official import find_files, read_products
from envrl.envs.webshop.product import Product
from envrl.envs.webshop.reward import type_parts


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Women's Non-Slip Shoes, Size 10", "women non slip shoes size"),
        ("Red,Blue and White Cotton T-Shirt for Men", "red blue white cotton t shirt men"),
        ("500g Coffee (2 Pack) | Dark Roast", "g coffee pack | dark roast"),
        ("4 x 6 — for the ...", ""),
        ("", ""),
    ],
)
def test_words_that_are_probably_nouns(title: str, expected: str) -> None:
    assert approximate_nouns(title) == tuple(expected.split())


@given(st.text())
def test_any_title_has_nouns_in_lower_case(title: str) -> None:
    assert all(word and word == word.lower() for word in approximate_nouns(title))


def counted(words: Any) -> Counter[str]:
    return Counter(words)


@pytest.fixture(scope="module")
def titles(official: Path) -> dict[str, Product]:
    return {product.asin: product for product in read_products(find_files(str(official)))}


@pytest.mark.shared
def test_the_approximation_disagrees_little_with_the_table(titles: dict[str, Product]) -> None:
    both = found = expected = 0
    for product in titles.values():
        assert product.title_nouns is not None
        ours, theirs = counted(approximate_nouns(product.title)), counted(product.title_nouns)
        both += (ours & theirs).total()
        found += ours.total()
        expected += theirs.total()
    # measured: 93.7 % of what it finds is right and it finds 97.4 %
    assert both / found > 0.93 and both / expected > 0.97


@pytest.mark.shared
def test_the_approximation_seldom_changes_a_reward(titles: dict[str, Product]) -> None:
    rng = random.Random(0)
    asins = sorted(titles)
    approximate = {asin: approximate_nouns(titles[asin].title) for asin in asins}
    pairs = [(rng.choice(asins), rng.choice(asins)) for _ in range(20_000)]
    # shops show what is like the wanted product more often than chance does
    by_query: dict[str, list[str]] = {}
    for asin in asins:
        by_query.setdefault(titles[asin].query, []).append(asin)
    alike = [(one, rng.choice(by_query[titles[one].query])) for one in rng.choices(asins, k=20_000)]

    def agreement(chosen: list[tuple[str, str]]) -> float:
        same = 0
        for bought, wanted in chosen:
            one, other = titles[bought], titles[wanted]
            table = type_parts(one, one.title_nouns or (), other, other.title_nouns or ())
            ours = type_parts(one, approximate[bought], other, approximate[wanted])
            same += table["r_type"] == ours["r_type"]
        return same / len(chosen)

    # measured: 98.0 % of chance pairs, 96.8 % of pairs found under the same query
    assert agreement(pairs) > 0.97
    assert agreement(alike) > 0.96


@pytest.mark.skipif(not has_spacy(), reason="needs the extra `nouns`: spacy and its small English model")
@pytest.mark.shared
def test_spacy_gives_the_table(titles: dict[str, Product]) -> None:
    products = list(titles.values())
    table = spacy_table(product.title for product in products)
    assert table == [product.title_nouns for product in products]
    assert TitleNouns()(products[0].title) == products[0].title_nouns
    assert "shoes" in TitleNouns()("Red Shoes \ud83d") and "shoes" in spacy_table(["Red Shoes \ud83d"])[0]


def test_without_spacy_the_approximation_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nouns, "find_spec", lambda name: None)
    assert not has_spacy()
    assert TitleNouns()("Men's Shoes") == ("men", "shoes")


@pytest.mark.shared
def test_the_table_lies_beside_the_official_files(official: Path) -> None:
    table = json.loads((official / "title_nouns.json").read_text())
    first = next(read_products(find_files(str(official))))
    assert first.title_nouns == tuple(table[first.asin])
