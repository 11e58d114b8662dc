"""The imitable expert: reads the instruction and the pages, as an agent can, and knows nothing else.

It searches with the instruction's own words, opens the first result whose price may be low enough, chooses the
option values that the instruction names, and buys; a product without one of these values it leaves for the
next result. What it has opened and chosen it knows from the episode.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from envrl.envs.errors import NoExpert
from envrl.envs.webshop.pages import State
from envrl.envs.webshop.product import Product
from envrl.envs.webshop.shop import BUY, HITS_PER_PAGE, NEXT, PREVIOUS, Hit, ItemPage, ResultsPage, Shop

_PRICE = re.compile(r",? and price lower than (\d+(?:\.\d+)?) dollars\.?$")
#: the options of a synthetic goal: from the last " with" that a name and a colon follow
_OPTIONS = re.compile(r".* with (?=[^:,]{1,40}: )", re.DOTALL)
_OPTION = re.compile(r"(?:^|, and )([^:,]{1,40}): ")
_WORD = re.compile(r"[^\W_]+")
#: words that say nothing of the product
_EMPTY = frozenset(
    """
    a an and are be can find for get give i im in is it like looking me my need of on or please show some that
    the this to want with would you
    """.split()  # noqa: SIM905 - easier to read than a list
)
#: pages of results that are looked at before the best product seen so far must do
_PAGES = 2
#: products that are opened before that
_OPENED = 4


class Request(NamedTuple):
    """What an instruction says: all but the price limit, the thing alone, wanted options, the price limit."""

    wish: str
    thing: str
    options: tuple[tuple[str, str], ...]
    limit: float


def read_instruction(instruction: str) -> Request:
    """The parts of an instruction; in one by a person everything but the price is the thing.

    >>> request = read_instruction("Find me shoes with size: 10, and fit: wide, and price lower than 50.00 dollars")
    >>> request.thing, request.options, request.limit
    ('Find me shoes', (('size', '10'), ('fit', 'wide')), 50.0)
    """
    price = _PRICE.search(instruction)
    limit = float(price[1]) if price else float("inf")
    rest = instruction[: price.start()] if price else instruction
    clause = _OPTIONS.match(rest)
    if clause is None:
        return Request(rest, rest, (), limit)
    named, options = rest[clause.end() :], []
    starts = list(_OPTION.finditer(named))
    for start, following in zip(starts, [*starts[1:], None], strict=True):
        options.append((start[1], named[start.end() : following.start() if following else None]))
    return Request(rest, clause[0].removesuffix(" with "), tuple(options), limit)


def imitable_action(shop: Shop, state: State, instruction: str) -> str:
    """The next action of the expert.

    Args:
        shop: what the pages hold; only what the present page shows is looked at.
        state: where the buyer is, and what it has opened and chosen.
        instruction: the task.

    Raises:
        NoExpert: the episode is over, or nothing has been found.
    """
    request = read_instruction(instruction)
    match state.page:
        case "results":
            return _choose_result(shop.results(state.query, state.number), state, request)
        case "item":
            results = shop.results(state.query, state.number)  # the page that it came from
            return _shop_item(shop.item(state.asin), results, state, request)
        case "sub":
            return _click(PREVIOUS)
        case "index":
            return f"search[{_words_to_search(request)}]"
    raise NoExpert("the episode is over")


def _words_to_search(request: Request) -> str:
    """The wish from its first telling word on: products are also found by their option values."""
    words = request.wish.replace("[", " ").replace("]", " ").lower().split()
    while len(words) > 1 and words[0] in _EMPTY:
        words.pop(0)
    return " ".join(words) or "anything"


def _choose_result(page: ResultsPage, state: State, request: Request) -> str:
    """Open the first product that has not been opened and may be cheap enough, or look at the next page."""
    hits = _fresh(page, state, request)
    if not hits or len(state.visited) >= _OPENED:
        if _has_more(page) and len(state.visited) < _OPENED:
            return _click(NEXT)
        hits = [hit for hit in page.hits if hit.asin.upper() in state.visited] or list(page.hits)
    if not hits:
        if page.number > 1:
            return _click(PREVIOUS)
        raise NoExpert("the search has found nothing")
    return _click(hits[0].asin)


def _has_more(page: ResultsPage) -> bool:
    """Whether the next page is worth a look: the page says how many products there are in all."""
    return page.number < _PAGES and page.number * HITS_PER_PAGE < page.total


def _fresh(page: ResultsPage, state: State, request: Request) -> list[Hit]:
    """Products on a page of results that have not been opened and may be cheap enough."""
    unopened = [hit for hit in page.hits if hit.asin.upper() not in state.visited]
    return [hit for hit in unopened if _affordable(hit.product, request)]


def _shop_item(page: ItemPage, results: ResultsPage, state: State, request: Request) -> str:
    """Choose what the instruction names, then buy; go back where it is not there to choose.

    When enough products have been opened, or none is left, the present one must do.
    """
    chosen = dict(state.options)
    missing = False
    for name, value in _wanted_values(page, request):
        if value is None:
            missing = True
        elif chosen.get(name) != value:
            return _click(value)
    nothing_else = not _has_more(results) and not _fresh(results, state, request)
    settle = len(state.visited) >= _OPENED or nothing_else
    if (missing or not _affordable(page.product, request)) and not settle:
        return _click(PREVIOUS)
    return _click(BUY)


def _wanted_values(page: ItemPage, request: Request) -> Iterable[tuple[str, str | None]]:
    """(name, value) to choose for what the instruction asks; the value is None where there is none."""
    options = page.product.options
    if request.options:
        for name, value in request.options:
            there = value in options.get(name, ()) and page.can_be_chosen(value)
            yield page.labels.get(value, name) if there else name, value if there else None
        return
    # a person's words: the longest value of each option that occurs in them
    words = f" {' '.join(_WORD.findall(request.thing.lower()))} "
    for name, values in options.items():
        named = [value for value in values if f" {' '.join(_WORD.findall(value))} " in words]
        named = [value for value in named if page.can_be_chosen(value) and page.labels[value] == name]
        if named:
            yield name, max(named, key=len)


def _affordable(product: Product, request: Request) -> bool:
    return min(product.pricing) <= request.limit


def _click(label: str) -> str:
    return f"click[{label.lower()}]"
