"""Searching the shop: what is searched of a product, and the queries with a special meaning.

Source of the behaviour: ``search_engine/convert_product_file_format.py`` (the text of a product) and
``get_top_n_product_from_keywords`` in ``web_agent_site/engine/engine.py`` (special queries) of the original.
"""

from collections.abc import Iterable, Iterator
from random import Random

from envrl.envs.webshop.columns import Columns
from envrl.envs.webshop.index import SearchIndex
from envrl.envs.webshop.indexing import build_index
from envrl.envs.webshop.product import Product

__all__ = ["RESULTS", "SearchIndex", "build_index", "document", "documents", "is_special", "special_rows"]

#: products that a search finds at most
RESULTS = 50

_SPECIAL = {"<a>": "attribute", "<c>": "category", "<q>": "query"}
_RANDOM = "<r>"


def document(product: Product) -> str:
    """The one text of a product that is searched: title, description, first bullet, options; lower case.

    Attributes, price, category and the other bullets are not part of it.
    """
    options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in product.options.items())
    bullet = product.bullets[0] if product.bullets else ""
    return f"{product.title} {product.description} {bullet} {options}".lower()


def documents(products: Iterable[Product]) -> Iterator[tuple[str, str]]:
    """(ASIN, text) of products, as `build_index` takes them."""
    return ((product.asin, document(product)) for product in products)


def is_special(query: str) -> bool:
    """The query starts with ``<r>``, ``<a>``, ``<c>`` or ``<q>`` as a word of its own.

    >>> is_special("<c> beauty"), is_special("<c>beauty")
    (True, False)
    """
    first = query.split(" ", 1)[0]
    return first == _RANDOM or first in _SPECIAL


def special_rows(query: str, columns: Columns) -> list[int]:
    """The products that a special query lists, as positions in the catalogue.

    ``<r>`` lists 50 products at random; ``<a> machine washable`` all those with an attribute, ``<c> beauty``
    all of a category, ``<q> console tables`` all that were found under a query, in the order of the
    catalogue. In the original ``<a>`` raises for want of a table, ``<c>`` without a word raises, and ``<r>``
    is drawn anew for every page from the global generator; here the draw is a function of the query, so that
    pages and processes agree: ``<r> 2`` draws others than ``<r>``.

    Args:
        query: a query for which `is_special` holds.
        columns: of the catalogue.
    """
    kind, *words = query.split(" ")
    if kind == _RANDOM:
        # bytes draw what the text draws, and may stand for lone surrogates too
        return Random(query.encode("utf-8", "surrogatepass")).sample(
            range(len(columns)), min(RESULTS, len(columns))
        )
    # as in the original, a category is one word
    wanted = words[0] if kind == "<c>" and words else " ".join(words)
    return columns.rows_with(_SPECIAL[kind], wanted.strip())
