"""Goals: what a buyer is asked to find, made from the products, their prices and one random generator.

The order of the draws is that of the original's ``engine.py`` and ``goal.py`` (prices of all products, then the
price limits of the goals), and so is the shuffle that follows: with the same seed the goals are the original's.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray

from envrl.envs.webshop.columns import Columns
from envrl.envs.webshop.product import Product

GoalKind = Literal["synthetic", "human"]
KINDS: tuple[GoalKind, ...] = ("synthetic", "human")
#: the limit of a goal without one
NO_LIMIT = 1_000_000.0
_LIMITS = tuple(float(limit) for limit in range(10, 1000, 10))
_SHUFFLE_SEED = 233  # the original's, for every seed of the prices
_KEPT_GOALS = 4096


@dataclass(frozen=True, slots=True)
class Goal:
    """One task.

    Args:
        index: its place in the shuffled order.
        product: the product that fits.
        instruction: what the buyer reads.
        attributes: the properties it asks for.
        options: the options it asks for: (name, value) pairs, in goals by people the values alone.
        price_upper: the price limit in dollars.
    """

    index: int
    product: Product
    instruction: str
    attributes: tuple[str, ...]
    options: tuple[tuple[str, str], ...] | tuple[str, ...]
    price_upper: float


def draw_prices(columns: Columns, rng: random.Random) -> NDArray[np.float64]:
    """The price of every product in dollars; one with a price range costs a uniform draw from it."""
    prices = columns.low.copy()
    for row in np.flatnonzero(~np.isnan(columns.high)):
        prices[row] = rng.uniform(float(columns.low[row]), float(columns.high[row]))
    return prices


def draw_limit(price: float, rng: random.Random) -> float:
    """The price limit of a goal: the larger of two draws among the four multiples of 10 above the price.

    Only 10 to 990 count; where fewer than two of them lie above the price there is no limit and no draw.
    """
    above = [limit for limit in _LIMITS if limit > price][:4]
    return max(rng.sample(above, 2)) if len(above) >= 2 else NO_LIMIT


@dataclass(frozen=True, slots=True)
class GoalArrays:
    """Prices and goals of a catalogue as arrays.

    Args:
        prices: float64, the price of every product.
        rows: int32, the product of each draw of a limit: of each with an instruction, or of each human
            instruction.
        limits: float64, the limit of each of them.
        ends: int64, how many goals these and the ones before make, in the order before the shuffle.
        order: int32, for each goal its place before the shuffle.
    """

    prices: NDArray[np.float64]
    rows: NDArray[np.int32]
    limits: NDArray[np.float64]
    ends: NDArray[np.int64]
    order: NDArray[np.int32]


def draw_goals(columns: Columns, kind: GoalKind, seed: int) -> GoalArrays:
    """The prices and goals of a catalogue.

    Args:
        columns: of the catalogue.
        kind: ``synthetic`` (a goal for each combination of option values) or ``human``.
        seed: of the one generator that everything is drawn from.
    """
    rng = random.Random(seed)
    prices = draw_prices(columns, rng)
    if kind == "synthetic":
        rows = np.flatnonzero(columns.combinations >= 0).astype(np.int32)
        counts = columns.combinations[rows]
    else:
        rows = np.repeat(np.arange(len(columns), dtype=np.int32), columns.human)
        counts = np.ones(len(rows), np.int64)
    limits = np.array([draw_limit(float(price), rng) for price in prices[rows]], np.float64)
    ends = np.cumsum(counts)
    order = list(range(int(ends[-1]) if len(ends) else 0))
    random.Random(_SHUFFLE_SEED).shuffle(order)
    return GoalArrays(prices, rows, limits, ends, np.array(order, np.int32))


class GoalTable(Sequence[Goal]):
    """The goals of a catalogue in shuffled order, each put together when it is asked for.

    Args:
        kind: of the goals.
        products: of the catalogue.
        arrays: of the goals.
    """

    def __init__(self, kind: GoalKind, products: Sequence[Product], arrays: GoalArrays) -> None:
        self.kind = kind
        self.arrays = arrays
        self._products = products
        self._goal = lru_cache(_KEPT_GOALS)(self._make)

    def __len__(self) -> int:
        return len(self.arrays.order)

    @overload
    def __getitem__(self, index: int) -> Goal: ...
    @overload
    def __getitem__(self, index: slice) -> list[Goal]: ...
    def __getitem__(self, index: int | slice) -> Goal | list[Goal]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"expected a goal below {len(self)}, got {index}")
        return self._goal(index % len(self))

    def row(self, index: int) -> int:
        """The position of a goal's product in the catalogue."""
        return int(self.arrays.rows[self._draw(index)])

    def _draw(self, index: int) -> int:
        return int(np.searchsorted(self.arrays.ends, self.arrays.order[index], side="right"))

    def _make(self, index: int) -> Goal:
        draw = self._draw(index)
        first_of_draw = int(self.arrays.ends[draw - 1]) if draw else 0
        row, limit = int(self.arrays.rows[draw]), float(self.arrays.limits[draw])
        product = self._products[row]
        price = "" if limit == NO_LIMIT else f", and price lower than {limit:.2f} dollars"
        if self.kind == "human":
            usable = [human for human in product.human_instructions if human.attributes]
            human = usable[draw - int(np.searchsorted(self.arrays.rows, row))]
            text = human.text.strip(".") + price
            return Goal(index, product, text, human.attributes, human.options, limit)
        options = combination(product.options, int(self.arrays.order[index]) - first_of_draw)
        wanted = ", and ".join(f"{name}: {value}" for name, value in options)
        text = f"{product.instruction}{' with ' if wanted else ''}{wanted}{price}"
        return Goal(index, product, text, product.instruction_attributes, options, limit)


def combination(options: Mapping[str, tuple[str, ...]], number: int) -> tuple[tuple[str, str], ...]:
    """The ``number``-th choice of one value for each option, options by name, the last one running fastest."""
    chosen = []
    for name in sorted(options, reverse=True):
        number, place = divmod(number, len(options[name]))
        chosen.append((name, options[name][place]))
    return tuple(reversed(chosen))


def goal_weights(goals: GoalTable) -> list[float]:
    """How rare what each goal asks for is: the mean of 1 / (goals that ask for the same attribute).

    The original draws its goals with these weights; in goals by people each weighs 1.
    """
    if goals.kind == "human":
        return [1.0] * len(goals)
    wanted = [goal.attributes for goal in goals]
    counts = Counter(attribute for attributes in wanted for attribute in attributes)
    return [sum(1 / counts[attribute] for attribute in attributes) / len(attributes) for attributes in wanted]
