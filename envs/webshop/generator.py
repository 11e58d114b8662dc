"""The synthetic catalogue: any number of products, made from a seed, nothing to download.

Counts and sizes follow the official 1,000 products: departments, options per product and values per option,
prices and price ranges, attributes, products with an instruction and goals per product
(``tests/envs/webshop/test_generator.py`` compares them). The words are this package's own
(`envrl.envs.webshop.lexicon`). Each product is a function of the seed and its position alone, so that a larger
catalogue begins with the smaller one.
"""

from collections.abc import Iterator, Sequence

from envrl.envs.webshop.draw import Draw
from envrl.envs.webshop.instructions import instruction, requests
from envrl.envs.webshop.lexicon import DEPARTMENTS, PLACES, Lexicon, Place, ProductType, brand, lexicon
from envrl.envs.webshop.listing import Facts, write_listing
from envrl.envs.webshop.official import NO_ATTRIBUTES
from envrl.envs.webshop.product import Product

#: raise when the same seed gives another catalogue
GENERATOR_VERSION = 1

# Of the official 1,000 products, by department in the order of DEPARTMENTS:
# (products, of these with an instruction) with 0, 1, 2 and 3 options,
_OPTIONS: Sequence[Sequence[tuple[int, int]]] = (
    ((157, 51), (70, 36), (11, 3), (0, 0)),
    ((179, 46), (42, 12), (8, 5), (0, 0)),
    ((110, 46), (76, 45), (27, 11), (3, 2)),
    ((43, 25), (35, 17), (112, 77), (10, 10)),
    ((88, 17), (22, 9), (7, 3), (0, 0)),
)
_DEPARTMENTS = tuple(sum(count for count, _ in row) for row in _OPTIONS)
# share of products with a price range,
_RANGES = (0.02, 0.005, 0.015, 0.425, 0.0)
# (share, values) of an option of products with one, two and three options,
_VALUES: Sequence[Sequence[tuple[float, float]]] = (
    ((0, 2), (0.3, 2), (0.5, 3), (0.75, 5), (0.9, 8), (0.95, 10), (0.99, 24), (1, 30)),
    ((0, 2), (0.1, 2), (0.25, 3), (0.5, 5), (0.75, 7.5), (0.9, 12), (0.95, 17), (0.99, 40), (1, 46)),
    ((0, 2), (0.25, 2), (0.5, 4.5), (0.75, 6.5), (0.9, 10), (1, 11)),
)
# products by the number of attributes that the instruction asks for (0, 1, ...),
_WANTED = (0, 0, 179, 113, 71, 14, 18, 12, 4, 2, 1, 0, 0, 0, 0, 1)
# and products without an instruction by the number of their attributes.
_UNWANTED = (185, 191, 123, 44, 26, 7, 7, 2)
# How far prices spread around the type's median, in natural logarithms: what is left of the official spread
# when that between types is taken off.
_SPREAD = (0.8, 1.1, 0.85, 0.62, 0.75)
#: attributes beyond those that the instruction asks for, equally likely each
_BEYOND = (0, 0, 1, 1, 1, 2, 2, 3, 4, 6)
#: an ASIN's characters; few vowels, so that no words come about
_ALPHABET = "0123456789BCDFGHJKLMNPQRSTVWXYZA"


def generate_catalog(num_products: int, seed: int = 0) -> list[Product]:
    """The first ``num_products`` products of the catalogue with this seed.

    >>> product = generate_catalog(3, seed=0)[2]
    >>> product == next(iter(generate_products(3, seed=0, start=2)))
    True

    Raises:
        ValueError: ``num_products`` is negative.
    """
    return list(generate_products(num_products, seed))


def generate_products(num_products: int, seed: int = 0, start: int = 0) -> Iterator[Product]:
    """The same products one at a time, from position ``start`` on."""
    if num_products < 0:
        raise ValueError(f"expected num_products >= 0, found {num_products}")
    words = lexicon()
    return (_product(position, seed, words) for position in range(start, num_products))


def _product(position: int, seed: int, words: Lexicon) -> Product:
    draw = Draw(f"webshop/{GENERATOR_VERSION}/{seed}/{position}")
    department = draw.weighted(_DEPARTMENTS)
    choices = draw.weighted([count for count, _ in _OPTIONS[department]])
    count, goals = _OPTIONS[department][choices]
    types = [kind for kind in words.types[DEPARTMENTS[department]] if len(kind.options) >= choices]
    facts = _facts(draw.one(types), choices, draw.chance(goals / count), words, draw)
    listing = write_listing(facts, words.phrases, draw)
    kind = facts.kind
    return Product(
        asin=_asin(position, seed),
        title=listing.title,
        description=listing.description,
        bullets=listing.bullets,
        category=kind.department,
        product_category=kind.product_category,
        query=kind.query,
        attributes=_attributes(facts, draw),
        options=facts.options,
        pricing=_pricing(kind.price, _SPREAD[department], draw.chance(_RANGES[department]), draw),
        instruction=instruction(facts, words.phrases, draw) if facts.wanted else None,
        instruction_attributes=tuple(name for _, name in facts.wanted),
        human_instructions=requests(facts, words.phrases, draw) if facts.wanted else (),
        title_nouns=listing.nouns,
    )


def _facts(kind: ProductType, choices: int, is_goal: bool, words: Lexicon, draw: Draw) -> Facts:
    wanted = draw.weighted(_WANTED) if is_goal else 0
    features = _features(kind, wanted + 3 + draw.below(5), draw)
    options = dict(draw.some(kind.options, choices))
    chosen = {name: _values(options[name], choices, draw) for name, _ in kind.options if name in options}
    fixed = [values for name, values in kind.options if name not in options]
    return Facts(
        kind=kind,
        brand=brand(draw, words.phrases),
        head=draw.one(kind.heads),
        wanted=features[:wanted],
        others=features[wanted:],
        options=chosen,
        version=[draw.one(values) for values in fixed],
    )


def _features(kind: ProductType, count: int, draw: Draw) -> list[tuple[Place, str]]:
    """Properties in random order, the first of them one that stands before the product."""
    first = draw.below(len(kind.properties["before"]))
    every = [(place, alternatives) for place in PLACES for alternatives in kind.properties[place]]
    _, alternatives = every.pop(first)  # those before the product come first
    features: list[tuple[Place, str]] = [("before", draw.one(alternatives))]
    features += [(place, draw.one(alternatives)) for place, alternatives in draw.some(every, count - 1)]
    # what a type adds may be in its family too
    return list(dict.fromkeys(features))


def _values(values: Sequence[str], choices: int, draw: Draw) -> tuple[str, ...]:
    """Some values of an option, in their natural order."""
    count = min(round(draw.quantile(_VALUES[choices - 1])), len(values))
    return tuple(values[place] for place in sorted(draw.some(range(len(values)), count)))


def _attributes(facts: Facts, draw: Draw) -> tuple[str, ...]:
    """Wanted properties, then others, then words of the name: what a miner of phrases would bring up."""
    count = len(facts.wanted) + draw.one(_BEYOND) if facts.wanted else draw.weighted(_UNWANTED)
    found = [name for _, name in (*facts.wanted, *facts.others)]
    found += [name for name in (facts.head, facts.kind.query) if " " in name]
    # the wanted ones stay, in an order that does not give them away
    chosen = found[:count]
    return tuple(dict.fromkeys(draw.some(chosen, len(chosen)))) or NO_ATTRIBUTES


def _pricing(median: float, spread: float, is_range: bool, draw: Draw) -> tuple[float, ...]:
    """A price in dollars as shops write it, or the two ends of a range."""
    low = _price(median * 2.718281828459045 ** (spread * draw.normal()), draw)
    if not is_range:
        return (low,)
    high = _price(low * (1.15 + 0.8 * draw.uniform() ** 2), draw)
    return (low, high) if high > low else (low,)


def _price(raw: float, draw: Draw) -> float:
    raw = min(max(raw, 2.5), 5000.0)
    cents = (0.99, 0.99, 0.99, 0.99, 0.95, 0.0, 0.49, raw % 1)[draw.below(8)]
    return round(int(raw) + cents, 2)


def _asin(position: int, seed: int) -> str:
    """An id that no other position has: ``SY`` and eight characters, in no order that says anything.

    A 40-bit number is mixed by steps that can each be undone, so that different positions stay different.
    """
    bits = (1 << 40) - 1
    number = (position + (seed + 1) * 0x9E3779B97F) & bits
    for factor in (0xD6E8FEB86B, 0xA0761D6479):
        number = number * factor & bits
        number ^= number >> 23
    return "SY" + "".join(_ALPHABET[number >> shift & 31] for shift in range(35, -1, -5))
