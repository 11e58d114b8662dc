"""The words of the synthetic shop: kinds of products, their properties, options and phrases.

Read from ``vocabulary/*.json``. A property reads well in one of three places: before the product ("machine
washable curtains"), after "with" ("with rod pocket") or after "for" ("for living room"). Properties between
bars, ``short sleeves|long sleeves``, exclude each other.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

from envrl.envs.webshop.draw import Draw

Place = Literal["before", "with", "for"]
PLACES: tuple[Place, ...] = ("before", "with", "for")
DEPARTMENTS = ("beauty", "electronics", "garden", "fashion", "grocery")


@dataclass(frozen=True, slots=True)
class ProductType:
    """A kind of product.

    Args:
        department: one of `DEPARTMENTS`.
        query: what it is searched by, a plural or a mass noun.
        product_category: its path in the shop's tree.
        heads: names of single products.
        properties: place -> properties, each a tuple of alternatives.
        options: (name, values in their natural order) of each option it may have.
        price: median price in dollars.
    """

    department: str
    query: str
    product_category: str
    heads: tuple[str, ...]
    properties: Mapping[Place, tuple[tuple[str, ...], ...]]
    options: tuple[tuple[str, tuple[str, ...]], ...]
    price: float


@dataclass(frozen=True, slots=True)
class Phrases:
    """Ready-made pieces of text, with slots in braces.

    Args:
        openers: how an instruction begins.
        requests: whole instructions by people.
        option_phrases: option name -> how people ask for a value of it.
        bullets: features, with a slot for a property.
        plain_bullets: features without one.
        sentences: for descriptions.
        feature_sentences: for descriptions, with slots for properties.
        department_sentences: department -> sentences.
        details: department -> what titles add.
        brand: the syllables of brands: first, middle, last.
        not_nouns: words of titles that are no nouns.
        without_article: singular names that take none.
        singular: names that are singular although they end in s.
    """

    openers: tuple[str, ...]
    requests: tuple[str, ...]
    option_phrases: Mapping[str, tuple[str, ...]]
    bullets: tuple[str, ...]
    plain_bullets: tuple[str, ...]
    sentences: tuple[str, ...]
    feature_sentences: tuple[str, ...]
    department_sentences: Mapping[str, tuple[str, ...]]
    details: Mapping[str, tuple[str, ...]]
    brand: tuple[tuple[str, ...], ...]
    not_nouns: frozenset[str]
    without_article: frozenset[str]
    singular: frozenset[str]


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All words.

    Args:
        types: department -> its kinds of products.
        phrases: pieces of text.
    """

    types: Mapping[str, tuple[ProductType, ...]]
    phrases: Phrases


@cache
def lexicon() -> Lexicon:
    """The words of the package, read once per process (they never change)."""
    options = _read("options")
    departments = {name: _read(name) for name in DEPARTMENTS}
    return Lexicon(
        types={
            name: tuple(_type(name, content, entry, options) for entry in content["types"])
            for name, content in departments.items()
        },
        phrases=_phrases(departments),
    )


def brand(draw: Draw, phrases: Phrases) -> str:
    """An invented brand."""
    first, middle, last = phrases.brand
    return draw.one(first) + (draw.one(middle) if draw.chance(0.7) else "") + draw.one(last)


def _read(name: str) -> dict[str, Any]:
    text = (resources.files(__package__) / "vocabulary" / f"{name}.json").read_text("utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


def _type(
    department: str, content: dict[str, Any], entry: dict[str, Any], options: dict[str, dict[str, list[str]]]
) -> ProductType:
    family = content["families"][entry["family"]]
    query: str = entry["query"]
    chosen = []
    for option in entry["options"]:
        name, _, scheme = option.partition(":")
        chosen.append((name, tuple(options[name][scheme])))
    return ProductType(
        department=department,
        query=query,
        product_category=" › ".join([content["root"], entry["path"], query.capitalize()]),
        heads=tuple(entry["heads"]),
        # what is special to the type comes first
        properties={
            place: tuple(tuple(entry.split("|")) for entry in [*entry.get(place, ()), *family[place]])
            for place in PLACES
        },
        options=tuple(chosen),
        price=float(entry["price"]),
    )


def _phrases(departments: Mapping[str, dict[str, Any]]) -> Phrases:
    content, grammar = _read("phrases"), _read("grammar")
    syllables = content["brand syllables"]
    return Phrases(
        openers=tuple(content["openers"]),
        requests=tuple(content["people"]["whole"]),
        option_phrases={name: tuple(forms) for name, forms in content["people"]["options"].items()},
        bullets=tuple(content["bullets"]),
        plain_bullets=tuple(content["plain bullets"]),
        sentences=tuple(content["sentences"]),
        feature_sentences=tuple(content["feature sentences"]),
        department_sentences={name: tuple(texts) for name, texts in content["department sentences"].items()},
        details={name: tuple(department["details"]) for name, department in departments.items()},
        brand=tuple(tuple(syllables[part]) for part in ("first", "middle", "last")),
        not_nouns=frozenset(grammar["not nouns"]),
        without_article=frozenset(grammar["without article"]),
        singular=frozenset(grammar["singular"]),
    )
