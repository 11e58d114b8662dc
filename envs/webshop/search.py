"""Searching the shop: what is searched of a product, the index on disk, queries with a special meaning.

Source of the behaviour: ``search_engine/convert_product_file_format.py`` (the text of a product) and
``get_top_n_product_from_keywords`` in ``web_agent_site/engine/engine.py`` (special queries) of the original.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random

from envrl.envs.errors import DataNotFound, InvalidData
from envrl.envs.webshop.array_file import ArrayFile
from envrl.envs.webshop.index import INDEX_FILE, KIND, SearchIndex
from envrl.envs.webshop.indexing import build_index
from envrl.envs.webshop.product import Product

__all__ = [
    "RESULTS",
    "SearchIndex",
    "build_index",
    "document",
    "documents",
    "is_special",
    "open_index",
    "special_results",
]

#: products that a search finds at most
RESULTS = 50


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


def open_index(
    folder: Path,
    source: str,
    texts: Callable[[], Iterable[tuple[str, str]]],
) -> SearchIndex:
    """The index kept in ``folder``, made there first where it is absent, damaged, or of other products.

    The index is memory-mapped: environments, threads and processes share one copy. Processes that start
    together wait while the first of them makes it. Where ``folder`` cannot be written the index is made in
    memory, for this process alone.

    Args:
        folder: where the file ``search.index`` lies, beside the data or in the user's cache folder.
        source: names the products and their number exactly, for example a checksum of their files.
        texts: gives (ASIN, text) pairs; called only where the index has to be made.

    Raises:
        InvalidData: there is no product, or an ASIN comes twice.
    """
    with contextlib.suppress(DataNotFound, InvalidData):
        return SearchIndex.load(folder, source)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / f"{INDEX_FILE}.lock").open("w")
    except OSError:
        return build_index(texts())
    with lock, _held(lock.fileno()):
        with contextlib.suppress(DataNotFound, InvalidData):
            return SearchIndex.load(folder, source)  # another process made it while this one waited
        try:
            file = ArrayFile(folder / INDEX_FILE, KIND)
        except OSError:
            return build_index(texts())
        with file:
            file.finish(build_index(texts(), file.allocate).facts(source))
        return SearchIndex.load(folder, source, verify=False)


@contextlib.contextmanager
def _held(handle: int) -> Iterator[None]:
    """Hold a file's lock among processes; where the system has none, each process makes its own index."""
    try:
        from fcntl import LOCK_EX, LOCK_UN, flock
    except ImportError:
        yield
        return
    flock(handle, LOCK_EX)
    try:
        yield
    finally:
        flock(handle, LOCK_UN)


def is_special(query: str) -> bool:
    """The query starts with ``<r>``, ``<a>``, ``<c>`` or ``<q>`` as a word of its own.

    >>> is_special("<c> beauty"), is_special("<c>beauty")
    (True, False)
    """
    return query.split(" ", 1)[0] in ("<r>", "<a>", "<c>", "<q>")


def special_results(query: str, products: Sequence[Product], seed: str = "") -> list[str]:
    """The ASINs that a special query lists; all of them, in the order of the catalogue.

    ``<r>`` lists 50 products at random, ``<a> machine washable`` those with an attribute, ``<c> beauty``
    those of a category, ``<q> console tables`` those that were found under a query. In the original ``<a>``
    raises for want of a table, ``<c>`` alone raises, and ``<r>`` is drawn anew for every page from the global
    generator; here the draw is a function of the query and ``seed``, so that pages and processes agree.

    Args:
        query: a query for which `is_special` holds; blanks are single, as in the original.
        products: the catalogue.
        seed: makes the draws of ``<r>`` differ between tasks.
    """
    kind, *words = query.split(" ")
    if kind == "<r>":
        drawn = Random(f"{seed}\n{query}").sample(range(len(products)), min(RESULTS, len(products)))
        return [products[position].asin for position in drawn]
    wanted = " ".join(words).strip()
    if kind == "<a>":
        return [product.asin for product in products if wanted in product.attributes]
    if kind == "<c>":
        # the original looks at one word only
        wanted = words[0].strip() if words else ""
        return [product.asin for product in products if product.category == wanted]
    if kind == "<q>":
        return [product.asin for product in products if product.query == wanted]
    raise ValueError(f"expected a query that starts with <r>, <a>, <c> or <q>, found {query!r}")
