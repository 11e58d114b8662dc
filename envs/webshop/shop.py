"""What the pages of a shop hold, worked out once and kept for every environment that shows them.

A page is a list of pieces of text, in the order of the original's pages, each with its kind; how they look is
the business of `envrl.envs.webshop.rendering`. What a page says of the task and of the buyer's choices is left
out here and added there.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from envrl.envs.webshop.catalog import Catalog
from envrl.envs.webshop.product import Product

BACK, NEXT, PREVIOUS, BUY = "Back to Search", "Next >", "< Prev", "Buy Now"
SUB_PAGES = ("Description", "Features", "Reviews", "Attributes")
HITS_PER_PAGE = 10

#: labels of an item page that do what they do even where an option value is called so
_BUTTONS = frozenset(label.lower() for label in (BACK, PREVIOUS, BUY, *SUB_PAGES))

PLAIN, BUTTON, OPTION, LINK = "plain", "button", "option", "link"
#: pages that stay worked out, of either kind; one takes some 10 KB
_KEPT_PAGES = 2048
#: pages of longer queries are not kept: only noise is that long
_LONGEST_QUERY = 2000
#: products that are ready to be listed; one takes some 1.5 KB
_KEPT_HITS = 8192
_BLANKS = " \t\n\f\r"
_SEPARATOR = " [SEP] "


class Piece(NamedTuple):
    """A text on a page and what it is: `PLAIN`, or a `BUTTON`, `OPTION` or `LINK` that can be clicked."""

    kind: str
    text: str


def visible(kind: str, text: str) -> tuple[Piece, ...]:
    """The text as a piece, or nothing where the original shows none.

    Its HTML parser makes one blank of a text that is all blanks, or a line break if there is one among them,
    and line breaks are left out.
    """
    if not text.strip(_BLANKS):
        return (Piece(kind, " "),) if text and "\n" not in text else ()
    return (Piece(kind, text),)


class Hit:
    """A product as results show it.

    Args:
        product: the product.
    """

    __slots__ = ("asin", "clicks", "label", "pieces", "product", "text")

    def __init__(self, product: Product) -> None:
        self.product, self.asin, self.label = product, product.asin, product.asin.lower()
        self.clicks = as_clicks((self.label,))
        self.pieces = (
            *visible(LINK, product.asin),
            *visible(PLAIN, product.title),
            *visible(PLAIN, product.price_tag),
        )
        self.text = joined(self.pieces)


_FIRST_PAGE = (BACK.lower(), NEXT.lower())
_LATER_PAGE = (BACK.lower(), PREVIOUS.lower(), NEXT.lower())


class ResultsPage:
    """One page of a search.

    Args:
        hits: the products on this page.
        number: of the page, from 1.
        total: products found in all.

    Attributes:
        labels: what can be clicked, lower case, in order -> the ASIN, or "" for buttons.
        admissible: clicks as actions.
        text: all of the page but the instruction, in text mode.
    """

    __slots__ = ("admissible", "hits", "labels", "number", "text", "total")

    def __init__(self, hits: tuple[Hit, ...], number: int, total: int) -> None:
        self.hits, self.number, self.total = hits, number, total
        buttons = _LATER_PAGE if number > 1 else _FIRST_PAGE
        self.labels: dict[str, str] = dict.fromkeys(buttons, "")
        clicks = as_clicks(buttons)
        for hit in hits:
            self.labels[hit.label] = hit.asin
            clicks += hit.clicks
        self.admissible = clicks
        self.text = _SEPARATOR.join((joined(self._head()), *[hit.text for hit in hits]))

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """All of the page but the instruction."""
        return (*self._head(), *(piece for hit in self.hits for piece in hit.pieces))

    def _head(self) -> list[Piece]:
        told = Piece(PLAIN, f"Page {self.number} (Total results: {self.total})")
        if self.number > 1:
            return [Piece(BUTTON, BACK), told, Piece(BUTTON, PREVIOUS), Piece(BUTTON, NEXT)]
        return [Piece(BUTTON, BACK), told, Piece(BUTTON, NEXT)]


class ItemPage:
    """The page of a product.

    Args:
        product: the product.
        show_attributes: whether there is a button for its attributes.

    Attributes:
        sub_pages: names of its sub pages.
        labels: what can be clicked, lower case, in order -> name of the option it is a value of, or "" for
            buttons. A value that several options have stands in the place of the first and counts for the last.
        admissible: clicks as actions.
        pieces: all of the page but the instruction.
        text: the pieces in text mode.
    """

    __slots__ = ("admissible", "labels", "pieces", "product", "sub_pages", "text")

    def __init__(self, product: Product, show_attributes: bool) -> None:
        self.product = product
        self.sub_pages = SUB_PAGES if show_attributes else SUB_PAGES[:-1]
        self.labels = {label.lower(): "" for label in (BACK, PREVIOUS, *self.sub_pages, BUY)}
        for name, values in product.options.items():
            self.labels |= dict.fromkeys(values, name)
        self.admissible = as_clicks(self.labels)
        self.pieces = self._pieces()
        self.text = joined(self.pieces)

    def _pieces(self) -> tuple[Piece, ...]:
        product = self.product
        pieces = [Piece(BUTTON, BACK), Piece(BUTTON, PREVIOUS)]
        for name, values in product.options.items():
            pieces += visible(PLAIN, name)
            for value in values:
                pieces += visible(OPTION, value)
        pieces += visible(PLAIN, product.title)
        pieces += (Piece(PLAIN, f"Price: {product.price_tag}"), Piece(PLAIN, "Rating: N.A."))
        return (*pieces, *(Piece(BUTTON, label) for label in (*self.sub_pages, BUY)))

    def can_be_chosen(self, value: str) -> bool:
        """Whether a click on an option value chooses it: some are called like a button, or cannot be said."""
        return value.lower() not in _BUTTONS and f"click[{value}]" in self.admissible

    def sub_page(self, name: str) -> tuple[Piece, ...]:
        """All of a sub page but the instruction. There are no reviews in the official data."""
        product = self.product
        content: Iterable[str]
        match name:
            case "Description":
                content = (product.description,)
            case "Features":
                content = (f" {bullet}" for bullet in product.bullets)
            case "Attributes":
                content = (f" {attribute}" for attribute in product.attributes)
            case _:
                content = ()
        shown = (piece for text in content for piece in visible(PLAIN, text))
        return (Piece(BUTTON, BACK), Piece(BUTTON, PREVIOUS), *shown)


def as_clicks(labels: Iterable[str]) -> tuple[str, ...]:
    """Actions that click the labels. Some can be seen and not clicked: an empty one, one with a line break
    or a bracket that the grammar of actions cannot hold, and ``search``, which the original refuses.
    """
    return tuple(f"click[{label}]" for label in labels if label and label != "search" and _can_be_said(label))


def _can_be_said(label: str) -> bool:
    return "\n" not in label and "[" not in label[:-1] and label == label.lower()


def joined(pieces: Iterable[Piece]) -> str:
    """Pieces in text mode."""
    return _SEPARATOR.join([piece.text.strip() for piece in pieces])


class Shop:
    """The pages of a catalogue, kept for all environments that show them.

    Args:
        catalog: what is sold.
        show_attributes: whether products have a page of attributes.
    """

    def __init__(self, catalog: Catalog, show_attributes: bool = False) -> None:
        self.catalog = catalog
        self._show_attributes = show_attributes
        #: what can be done on every sub page
        self.sub_page_clicks = as_clicks((BACK.lower(), PREVIOUS.lower()))
        self.item = lru_cache(_KEPT_PAGES)(self._item)
        self._hit = lru_cache(_KEPT_HITS)(lambda asin: Hit(catalog.product(asin)))
        self._found = lru_cache(_KEPT_PAGES)(catalog.search)
        self._results = lru_cache(_KEPT_PAGES)(self._page)

    def found(self, query: str) -> tuple[str, ...]:
        """ASINs that a query finds, best first."""
        return self._found(query) if len(query) <= _LONGEST_QUERY else self.catalog.search(query)

    def results(self, query: str, number: int) -> ResultsPage:
        """A page of the results of a query."""
        return self._results(query, number) if len(query) <= _LONGEST_QUERY else self._page(query, number)

    def _page(self, query: str, number: int) -> ResultsPage:
        found = self.found(query)
        shown = found[(number - 1) * HITS_PER_PAGE : number * HITS_PER_PAGE]
        return ResultsPage(tuple(map(self._hit, shown)), number, len(found))

    def _item(self, asin: str) -> ItemPage:
        return ItemPage(self.catalog.product(asin), self._show_attributes)
