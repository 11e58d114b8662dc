"""What the pages of a shop hold, worked out once and kept for every environment that shows them.

A page is a list of pieces of text, in the order of the original's pages, each with its kind; how they look is
the business of `envrl.envs.webshop.rendering`. What a page says of the task and of the buyer's choices is left
out here and added there.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
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
_BLANKS = " \t\n\f\r"


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


class ResultsPage:
    """One page of a search.

    Args:
        hits: the products on this page.
        number: of the page, from 1.
        total: products found in all.
    """

    def __init__(self, hits: tuple[Product, ...], number: int, total: int) -> None:
        self.hits, self.number, self.total = hits, number, total

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """What can be clicked, lower case -> the ASIN, or "" for buttons."""
        buttons = [BACK, PREVIOUS, NEXT] if self.number > 1 else [BACK, NEXT]
        return {label.lower(): "" for label in buttons} | {hit.asin.lower(): hit.asin for hit in self.hits}

    @cached_property
    def clickables(self) -> tuple[str, ...]:
        """The labels in order."""
        return tuple(self.labels)

    @cached_property
    def admissible(self) -> tuple[str, ...]:
        """Clicks as actions."""
        return as_clicks(self.clickables)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """All of the page but the instruction."""
        pieces = [Piece(BUTTON, BACK), Piece(PLAIN, f"Page {self.number} (Total results: {self.total})")]
        if self.number > 1:
            pieces.append(Piece(BUTTON, PREVIOUS))
        pieces.append(Piece(BUTTON, NEXT))
        for hit in self.hits:
            pieces += visible(LINK, hit.asin)
            pieces += visible(PLAIN, hit.title)
            pieces += visible(PLAIN, hit.price_tag)
        return tuple(pieces)

    @cached_property
    def text(self) -> str:
        """The pieces in text mode."""
        return joined(self.pieces)


class ItemPage:
    """The page of a product.

    Args:
        product: the product.
        show_attributes: whether there is a button for its attributes.
    """

    def __init__(self, product: Product, show_attributes: bool) -> None:
        self.product = product
        self.sub_pages = SUB_PAGES if show_attributes else SUB_PAGES[:-1]

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """What can be clicked, lower case -> name of the option it is a value of, or "" for buttons.

        A value that several options have stands in the place of the first and counts for the last.
        """
        buttons = (BACK, PREVIOUS, *self.sub_pages, BUY)
        labels = {label.lower(): "" for label in buttons}
        for name, values in self.product.options.items():
            labels |= dict.fromkeys(values, name)
        return labels

    @cached_property
    def clickables(self) -> tuple[str, ...]:
        """The labels in order."""
        return tuple(self.labels)

    @cached_property
    def admissible(self) -> tuple[str, ...]:
        """Clicks as actions."""
        return as_clicks(self.clickables)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """All of the page but the instruction."""
        product = self.product
        pieces = [Piece(BUTTON, BACK), Piece(BUTTON, PREVIOUS)]
        for name, values in product.options.items():
            pieces += visible(PLAIN, name)
            for value in values:
                pieces += visible(OPTION, value)
        pieces += visible(PLAIN, product.title)
        pieces += (Piece(PLAIN, f"Price: {product.price_tag}"), Piece(PLAIN, "Rating: N.A."))
        return (*pieces, *(Piece(BUTTON, label) for label in (*self.sub_pages, BUY)))

    @cached_property
    def text(self) -> str:
        """The pieces in text mode."""
        return joined(self.pieces)

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
    return " [SEP] ".join(piece.text.strip() for piece in pieces)


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
        return ResultsPage(tuple(map(self.catalog.product, shown)), number, len(found))

    def _item(self, asin: str) -> ItemPage:
        return ItemPage(self.catalog.product(asin), self._show_attributes)
