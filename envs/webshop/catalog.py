"""`Catalog`: the products of a shop with prices, goals and search, shared by all environments that use it."""

import contextlib
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from envrl.envs.errors import DataNotFound, InvalidData
from envrl.envs.webshop.array_file import ArrayFile, read_arrays
from envrl.envs.webshop.columns import Columns, ColumnsBuilder
from envrl.envs.webshop.goals import GoalArrays, GoalKind, GoalTable, draw_goals
from envrl.envs.webshop.nouns import TitleNouns
from envrl.envs.webshop.product import Product
from envrl.envs.webshop.search import SearchIndex, build_index, documents, is_special, special_rows
from envrl.envs.webshop.splits import TaskIds, split_ids

#: goals of catalogues above this size are stored: drawing and shuffling millions of them takes seconds
_GOALS_IN_MEMORY = 20_000
_GOALS_KIND = "webshop-goals/1"
_GOAL_ARRAYS = ("prices", "rows", "limits", "ends", "order")


class Catalog:
    """The products of a shop and all that is found with them; immutable and shared.

    Args:
        products: in catalogue order.
        columns: of the products.
        index: the search index over them.
        folder: where the catalogue is stored, None for one in memory.
        source: what the stored catalogue was made from.
    """

    def __init__(
        self,
        products: Sequence[Product],
        columns: Columns,
        index: SearchIndex,
        folder: Path | None = None,
        source: str = "",
    ) -> None:
        self.products, self.columns, self.index = products, columns, index
        self._folder, self._source = folder, source
        self._tables: dict[tuple[GoalKind, int], GoalTable] = {}
        self._splits: dict[tuple[str, GoalKind, int], TaskIds] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.products)

    def __contains__(self, asin: object) -> bool:
        return isinstance(asin, str) and self.columns.row(asin) >= 0

    def product(self, asin: str) -> Product:
        """The product with this ASIN, in any case.

        Raises:
            KeyError: there is none.
        """
        row = self.columns.row(asin)
        if row < 0:
            raise KeyError(f"no product has the ASIN {asin!r}")
        return self.products[row]

    def price(self, asin: str, kind: GoalKind, seed: int) -> float:
        """What a product costs in dollars."""
        return float(self.goals(kind, seed).arrays.prices[self.columns.row(asin)])

    def search(self, query: str) -> tuple[str, ...]:
        """ASINs, best first: at most 50, except for the special queries, which list all there are."""
        if not is_special(query):
            return tuple(self.index.search(query))
        return tuple(self.index.ids(special_rows(query, self.columns)))

    def nouns(self, product: Product) -> Sequence[str]:
        """The nouns of a product's title."""
        return self._parse(product.title) if product.title_nouns is None else product.title_nouns

    @cached_property
    def _parse(self) -> TitleNouns:
        return TitleNouns()

    def goals(self, kind: GoalKind, seed: int) -> GoalTable:
        """The goals and prices drawn with ``seed``; the same table for everyone who asks."""
        with self._lock:
            table = self._tables.get((kind, seed))
            if table is None:
                table = GoalTable(kind, self.products, self._arrays(kind, seed))
                self._tables[kind, seed] = table
            return table

    def task_ids(self, split: str, kind: GoalKind, seed: int) -> TaskIds:
        """The tasks of a split; the same sequence for everyone who asks.

        Raises:
            DataNotFound: the split is empty.
        """
        goals = self.goals(kind, seed)
        with self._lock:
            ids = self._splits.get((split, kind, seed))
            if ids is None:
                ids = self._splits[split, kind, seed] = split_ids(split, kind, goals.arrays, self.columns)
            return ids

    def _arrays(self, kind: GoalKind, seed: int) -> GoalArrays:
        if self._folder is None or len(self.columns) <= _GOALS_IN_MEMORY:
            return draw_goals(self.columns, kind, seed)
        path = self._folder / f"goals-{kind}-{seed}"
        with contextlib.suppress(DataNotFound, InvalidData):
            arrays, facts = read_arrays(path, _GOALS_KIND)
            if facts["source"] == self._source:
                return GoalArrays(**arrays)
        drawn = draw_goals(self.columns, kind, seed)
        with contextlib.suppress(OSError), ArrayFile(path, _GOALS_KIND) as file:
            for name in _GOAL_ARRAYS:
                values = getattr(drawn, name)
                file.allocate(name, len(values), values.dtype)[...] = values
            file.finish({"source": self._source})
        return drawn


def catalog_of(products: Sequence[Product]) -> Catalog:
    """A catalogue in memory.

    Raises:
        InvalidData: there is no product, or an ASIN comes twice.
    """
    builder = ColumnsBuilder()
    for product in products:
        builder.add(product)
    return Catalog(products, builder.finish(), build_index(documents(products)))
