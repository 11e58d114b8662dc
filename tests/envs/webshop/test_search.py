"""What is searched of a product, and special queries."""

from dataclasses import replace

import pytest

from envrl.envs.webshop.catalog import Catalog, catalog_of
from envrl.envs.webshop.generator import generate_catalog
from envrl.envs.webshop.search import document, is_special, special_rows

PRODUCTS = generate_catalog(400, seed=2)


@pytest.fixture(scope="module")
def shop() -> Catalog:
    return catalog_of(PRODUCTS)


def test_the_text_of_a_product() -> None:
    product = replace(
        PRODUCTS[0],
        title="A Title",
        description="Some text",
        bullets=("First.", "Second."),
        options={"color": ("red", "navy | white"), "size": ("s",)},
    )
    assert document(product) == "a title some text first. color: red, navy | white, and size: s"
    assert document(replace(product, bullets=(), options={}, description="")) == "a title   "


@pytest.mark.parametrize("query", ["<c> beauty", "<r>", "<a>", "<q> x y"])
def test_special(query: str) -> None:
    assert is_special(query)


@pytest.mark.parametrize("query", ["", " ", "<r>x", "a <r>", "<R>", "<z> x", " <r>"])
def test_not_special(query: str) -> None:
    assert not is_special(query)


def test_lists_by_category_query_and_attribute(shop: Catalog) -> None:
    kinds = {product.category for product in PRODUCTS}
    assert sum(len(special_rows(f"<c> {kind}", shop.columns)) for kind in kinds) == len(PRODUCTS)
    for row in special_rows("<c> beauty and more", shop.columns):  # one word counts
        assert PRODUCTS[row].category == "beauty"
    wanted = PRODUCTS[7]
    rows = special_rows(f"<q> {wanted.query}", shop.columns)
    assert rows == [row for row, product in enumerate(PRODUCTS) if product.query == wanted.query]
    attribute = next(product.attributes[0] for product in PRODUCTS if product.instruction)
    rows = special_rows(f"<a> {attribute} ", shop.columns)
    assert rows == [row for row, product in enumerate(PRODUCTS) if attribute in product.attributes]
    assert rows


@pytest.mark.parametrize("query", ["<c>", "<c> ", "<q>", "<a>", "<a> no such thing", "<c> \x00"])
def test_lists_of_nothing(shop: Catalog, query: str) -> None:
    assert special_rows(query, shop.columns) == []


def test_random_lists_are_fixed_by_the_query(shop: Catalog) -> None:
    rows = special_rows("<r>", shop.columns)
    assert len(rows) == len(set(rows)) == 50
    assert rows == special_rows("<r>", shop.columns) != special_rows("<r> 2", shop.columns)
    assert rows != special_rows("<r> \ud800", shop.columns)
    few = catalog_of(PRODUCTS[:7])
    assert sorted(special_rows("<r>", few.columns)) == list(range(7))
