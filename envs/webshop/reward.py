"""The reward of a purchase, term by term as in ``web_agent_site/engine/goal.py`` of the original."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from rapidfuzz.fuzz import token_set_ratio
from rapidfuzz.utils import default_process

from envrl.envs.webshop.colours import COLOURS, colour_or
from envrl.envs.webshop.goals import Goal
from envrl.envs.webshop.product import Product

#: two texts above this token set ratio (0 to 100) say the same
_ALIKE = 85
#: characters that thefuzz drops before it compares: the upper half of Latin-1, nothing beyond
_DROPPED = dict.fromkeys(range(128, 256))
_COLOUR_SET = frozenset(COLOURS)


class Purchase(NamedTuple):
    """What is bought: the product, the chosen option values, the price in dollars, the nouns of the title."""

    product: Product
    options: Sequence[str]
    price: float
    nouns: Sequence[str]


def score(purchase: Purchase, goal: Goal, goal_nouns: Sequence[str]) -> tuple[float, dict[str, Any]]:
    """The reward, from 0 to 1, and its parts.

    Args:
        purchase: what is bought.
        goal: what was asked for.
        goal_nouns: nouns of the title of the goal's product.

    Returns:
        r_type * (matched attributes + matched options + price within the limit) / (wanted attributes + wanted
        options + 1), and the parts: r_type, r_att, r_option (None without wanted options), r_price, the
        weights w_att, w_option, w_price, and query_match, category_match, title_score.
    """
    product = purchase.product
    parts = type_parts(product, purchase.nouns, goal.product, goal_nouns)
    attributes = sum(has_attribute(product, attribute) for attribute in goal.attributes)
    options = count_options(purchase.options, goal.options)
    cheap = purchase.price <= goal.price_upper
    terms = len(goal.attributes) + len(goal.options) + 1
    parts |= {
        "r_att": attributes / len(goal.attributes),
        "w_att": len(goal.attributes) / terms,
        "r_option": options / len(goal.options) if goal.options else None,
        "w_option": len(goal.options) / terms if goal.options else None,
        "r_price": cheap,
        "w_price": 1 / terms,
    }
    return (attributes + options + cheap) / terms * parts["r_type"], parts


def type_parts(
    bought: Product, bought_nouns: Sequence[str], wanted: Product, wanted_nouns: Sequence[str]
) -> dict[str, Any]:
    """How well the kind of product fits: r_type, query_match, category_match, title_score.

    A title that shares almost nothing with the wanted one overrules an equal query or category, a quirk of
    the original.
    """
    query = bought.query == wanted.query
    category = len(_segments(bought) & _segments(wanted)) >= 2
    # repetitions count below the line and not above it
    title = len(set(bought_nouns) & set(wanted_nouns)) / len(wanted_nouns) if wanted_nouns else 0.2
    if title == 0:
        fit = 0.0
    elif title < 0.1:
        fit = 0.1
    else:
        fit = 1.0 if query or category or title > 0.2 else 0.5
    return {"r_type": fit, "query_match": query, "category_match": category, "title_score": title}


def _segments(product: Product) -> set[str]:
    return {segment.strip() for segment in product.product_category.split("\u203a")}


def has_attribute(product: Product, wanted: str) -> bool:
    """Whether the product has a wanted attribute: a similar one, or its very words in one of its texts."""
    if any(similar(attribute, wanted) for attribute in product.attributes):
        return True
    return (
        wanted in product.title.lower()
        or wanted in " ".join(product.bullets).lower()
        or wanted in product.description.lower()
    )


def count_options(chosen: Sequence[str], wanted: Sequence[tuple[str, str] | str]) -> int:
    """How many of the wanted options a choice of values matches."""
    values = [colour_or(value) for value in chosen]
    return sum(any(similar(value, _normal_option(option)) for value in values) for option in wanted)


def _normal_option(option: tuple[str, str] | str) -> str:
    """What a wanted option is compared by.

    Wanted options of synthetic goals are (name, value) pairs. The original hands the pair itself on: a colour
    is found only where the value is just that, and in other cases the pair is compared as Python prints it.
    """
    if isinstance(option, str):
        return colour_or(option)
    colours = [part for part in option if part in _COLOUR_SET]
    return min(colours, key=COLOURS.index) if colours else str(option)


def similar(one: str, other: str) -> bool:
    """Whether thefuzz's ``token_set_ratio``, which rounds, is above 85."""
    ratio = token_set_ratio(
        default_process(one.translate(_DROPPED)), default_process(other.translate(_DROPPED))
    )
    return round(ratio) > _ALIKE
