"""How products are put into words: titles, nouns, instructions, articles."""

import re
from itertools import chain

import pytest

from envrl.envs.webshop.draw import Draw
from envrl.envs.webshop.instructions import instruction, requests, with_article
from envrl.envs.webshop.lexicon import DEPARTMENTS, PLACES, Place, ProductType, brand, lexicon
from envrl.envs.webshop.listing import (
    Facts,
    capitals,
    describe,
    join,
    title_nouns,
    write_listing,
)
from envrl.envs.webshop.reward import count_options

LEXICON = lexicon()
TYPES = [kind for kinds in LEXICON.types.values() for kind in kinds]
WANTED: list[tuple[Place, str]] = [
    ("before", "space saving"),
    ("with", "glass top"),
    ("for", "hallway"),
    ("with", "casters"),
]


def facts(head: str = "console table", query: str = "console tables", department: str = "garden") -> Facts:
    kind = ProductType(department, query, "Home › Tables", (head,), {}, (), 10.0)
    return Facts(
        kind, "Norvell", head, WANTED, [("before", "foldable")], {"color": ("red", "tan")}, ["60 inch"]
    )


def test_describe_puts_properties_where_they_read_well() -> None:
    assert describe("desks", WANTED) == "space saving desks with glass top and casters for hallway"
    assert describe("desks", []) == "desks"
    assert join(["a"]) == "a"
    assert join([]) == ""


def test_an_instruction_asks_for_what_is_wanted_and_nothing_else() -> None:
    text = instruction(facts(), LEXICON.phrases, Draw("1"))
    assert text.endswith(" space saving console tables with glass top and casters for hallway")
    assert "foldable" not in text


@pytest.mark.parametrize("seed", range(40))
def test_what_is_wanted_is_where_search_looks(seed: int) -> None:
    listing = write_listing(facts(), LEXICON.phrases, Draw(str(seed)))
    searched = f"{listing.title} {listing.bullets[0]}".lower()
    for _, name in WANTED:
        assert name in searched
    assert "norvell" in listing.title.lower() and "console table" in listing.title.lower()
    assert listing.nouns[0] == "norvell" and "table" in listing.nouns


def test_a_title_names_the_kind_of_product() -> None:
    title = write_listing(facts("nightstand", "bedside furniture"), LEXICON.phrases, Draw("x")).title
    assert "Nightstand" in title and "Bedside Furniture" in title
    assert "Tables" not in write_listing(facts(), LEXICON.phrases, Draw("x")).title


def test_nouns_of_a_title() -> None:
    title = "Belden Soft Women's Shoes with Rubber Sole, 6.5 Wide, x2, USB-C"
    nots = frozenset(("soft", "with", "wide"))
    assert title_nouns(title, nots) == ("belden", "women", "shoes", "rubber", "sole", "usb")


def test_capitals() -> None:
    assert capitals("easy to clean usb c women's shoes for 4k tv") == (
        "Easy to Clean USB C Women's Shoes for 4k TV"
    )


@pytest.mark.parametrize(
    ("head", "department", "text", "expected"),
    [
        ("table", "garden", "oval table", "an oval table"),
        ("table", "garden", "foldable table", "a foldable table"),
        ("dress", "fashion", "seamless dress", "a seamless dress"),
        ("jeans", "fashion", "slim jeans", "slim jeans"),
        ("usb hub", "electronics", "usb hub", "a usb hub"),
        ("hdmi cable", "electronics", "hdmi cable", "an hdmi cable"),
        ("remote", "electronics", "universal remote", "a universal remote"),
        ("coat", "fashion", "unlined coat", "an unlined coat"),
        ("chest of drawers", "garden", "wide chest of drawers", "a wide chest of drawers"),
        ("wall art", "garden", "vintage wall art", "vintage wall art"),
        ("honey", "grocery", "organic honey", "organic honey"),
    ],
)
def test_articles(head: str, department: str, text: str, expected: str) -> None:
    assert with_article(text, facts(head, head, department), LEXICON.phrases) == expected


def test_requests_by_people_say_what_they_ask_for() -> None:
    seen = 0
    for seed in range(60):
        for request in requests(facts(), LEXICON.phrases, Draw(str(seed))):
            seen += 1
            assert request.attributes and set(request.attributes) <= {name for _, name in WANTED}
            for told in (*request.attributes, *request.options):
                assert told in request.text
            for _, name in WANTED:
                assert name in request.attributes or name not in request.text
            assert request.options in (("red",), ("tan",))
            assert "{" not in request.text and "  " not in request.text and " ," not in request.text
    assert seen > 200


def test_the_vocabulary_is_sound() -> None:
    queries = [kind.query for kind in TYPES]
    assert len(queries) == len(set(queries)) >= 250
    for kind in TYPES:
        assert kind.department in DEPARTMENTS and kind.heads and kind.price >= 5
        assert len(kind.product_category.split(" › ")) >= 4
        names = [name for name, _ in kind.options]
        assert len(names) == len(set(names)) >= 2
        for name, values in kind.options:
            assert name in LEXICON.phrases.option_phrases
            assert len(values) == len(set(values)) >= 2
            # they are clicked on as they stand, in lower case, between brackets
            assert all(value == value.strip().lower() and not set(value) & set("[]/|") for value in values)
            # the reward takes any colour word inside a value for its colour: "rustic" would count as rust, and
            # a goal that asks for it could not be reached
            for value in values:
                assert count_options([value], [(name, value)]) == count_options([value], [value]) == 1, value
        places = {place: [name for entry in kind.properties[place] for name in entry] for place in PLACES}
        assert len(places["before"]) >= 8 and len(places["with"]) >= 8 and len(places["for"]) >= 8
        assert sum(len(kind.properties[place]) for place in PLACES) >= 24
        for name in chain(*places.values(), kind.heads):
            assert name == name.strip().lower() and "|" not in name


def test_words_that_are_no_nouns_are_words_of_titles() -> None:
    texts = ["with for and the", *chain(*LEXICON.phrases.details.values())]
    for kind in TYPES:
        texts += [*kind.heads, kind.query, *chain(*(values for _, values in kind.options))]
        texts += chain(*(entry for entries in kind.properties.values() for entry in entries))
    words = {word for text in texts for word in re.findall(r"[^\W_]+", text.lower())}
    assert LEXICON.phrases.not_nouns <= words
    # what a product is called keeps at least one noun
    for kind in TYPES:
        for head in kind.heads:
            assert title_nouns(head, LEXICON.phrases.not_nouns), head


def test_there_are_many_brands() -> None:
    draw = Draw("brands")
    assert len({brand(draw, LEXICON.phrases) for _ in range(2000)}) > 1800
