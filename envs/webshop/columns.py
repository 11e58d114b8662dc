"""What goals, prices and look-ups need of every product, as arrays: no product has to be read for them."""

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envrl.envs.webshop.product import Product

ARRAYS = (
    "asins",
    "order",
    "low",
    "high",
    "combinations",
    "human",
    "category",
    "query",
    "attributes",
    "attribute_ends",
)


@dataclass(frozen=True, slots=True)
class Columns:
    """Arrays with one entry a product, in catalogue order.

    Args:
        asins: ids in upper case, strings of ten characters.
        order: int32, the products in the order of their ids.
        low, high: float64, the ends of the price range in dollars; ``high`` is NaN where there is one price.
        combinations: int64, how many combinations of option values there are; -1 without an instruction.
        human: int32, how many instructions by people ask for an attribute.
        category, query: int32, positions in ``words["category"]`` and ``words["query"]``.
        attributes: int32, positions in ``words["attribute"]``, of all products one after the other.
        attribute_ends: int64, where each product's part of ``attributes`` ends.
        words: kind -> the words that the codes stand for.
    """

    asins: NDArray[np.str_]
    order: NDArray[np.int32]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    combinations: NDArray[np.int64]
    human: NDArray[np.int32]
    category: NDArray[np.int32]
    query: NDArray[np.int32]
    attributes: NDArray[np.int32]
    attribute_ends: NDArray[np.int64]
    words: Mapping[str, list[str]]

    def __len__(self) -> int:
        return len(self.asins)

    def row(self, asin: str) -> int:
        """The position of a product; -1 where there is none. Cases are alike."""
        place = int(np.searchsorted(self.asins, asin.upper(), sorter=self.order))
        if place < len(self.order):
            row = int(self.order[place])
            if self.asins[row] == asin.upper():
                return row
        return -1

    def rows_with(self, kind: str, word: str) -> list[int]:
        """The products that have ``word`` as their category, query or attribute (``kind``)."""
        words = self.words[kind]
        if word not in words:
            return []
        codes = {"category": self.category, "query": self.query, "attribute": self.attributes}[kind]
        places = np.flatnonzero(codes == words.index(word))
        if kind == "attribute":
            places = np.unique(np.searchsorted(self.attribute_ends, places, side="right"))
        return [int(row) for row in places]


class ColumnsBuilder:
    """Takes the products one by one; `finish` gives the columns."""

    def __init__(self) -> None:
        self._asins: list[str] = []
        self._low, self._high = array("d"), array("d")
        self._combinations, self._human = array("q"), array("i")
        self._category, self._query = array("i"), array("i")
        self._attributes, self._attribute_ends = array("i"), array("q")
        self._codes: dict[str, dict[str, int]] = {"category": {}, "query": {}, "attribute": {}}

    def add(self, product: Product) -> None:
        """Add the next product."""
        self._asins.append(product.asin.upper())
        self._low.append(product.pricing[0])
        self._high.append(product.pricing[1] if len(product.pricing) > 1 else float("nan"))
        values = prod(len(values) for values in product.options.values())
        self._combinations.append(-1 if product.instruction is None else values)
        self._human.append(sum(1 for human in product.human_instructions if human.attributes))
        self._category.append(self._code("category", product.category))
        self._query.append(self._code("query", product.query))
        self._attributes.extend(self._code("attribute", word) for word in product.attributes)
        self._attribute_ends.append(len(self._attributes))

    def _code(self, kind: str, word: str) -> int:
        codes = self._codes[kind]
        return codes.setdefault(word, len(codes))

    def finish(self) -> Columns:
        """The columns of all products."""
        asins = np.array(self._asins, dtype="U10")
        return Columns(
            asins=asins,
            order=np.argsort(asins, kind="stable").astype(np.int32),
            low=np.array(self._low, np.float64),
            high=np.array(self._high, np.float64),
            combinations=np.array(self._combinations, np.int64),
            human=np.array(self._human, np.int32),
            category=np.array(self._category, np.int32),
            query=np.array(self._query, np.int32),
            attributes=np.array(self._attributes, np.int32),
            attribute_ends=np.array(self._attribute_ends, np.int64),
            words={kind: list(codes) for kind, codes in self._codes.items()},
        )


def columns_of_arrays(arrays: Mapping[str, NDArray[Any]], words: Mapping[str, list[str]]) -> Columns:
    """The columns from arrays named as in `ARRAYS`."""
    return Columns(**{name: arrays[name] for name in ARRAYS}, words=words)
