"""Random choices that come out the same in every process and on every Python version.

Only `random.Random.random` of a generator seeded with a text is used: its stream is fixed by Python's
documentation, which other methods are not.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from random import Random
from typing import TypeVar

Item = TypeVar("Item")


class Draw:
    """A stream of choices, a function of ``seed`` alone.

    Args:
        seed: any text.

    >>> Draw("a").below(100) == Draw("a").below(100)
    True
    """

    __slots__ = ("_uniform",)

    def __init__(self, seed: str) -> None:
        self._uniform = Random(seed).random

    def uniform(self) -> float:
        """From 0 up to, not including, 1."""
        return self._uniform()

    def below(self, bound: int) -> int:
        """From 0 up to, not including, ``bound``."""
        return int(self._uniform() * bound)

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self._uniform() < probability

    def one(self, items: Sequence[Item]) -> Item:
        """One of the items."""
        return items[int(self._uniform() * len(items))]

    def some(self, items: Sequence[Item], count: int) -> list[Item]:
        """``count`` different items in random order; all of them where there are fewer."""
        left = list(items)
        size, uniform = len(left), self._uniform
        for place in range(min(count, size)):
            other = place + int(uniform() * (size - place))
            left[place], left[other] = left[other], left[place]
        return left[:count]

    def weighted(self, weights: Sequence[float]) -> int:
        """A position, in proportion to the weights."""
        mark = self._uniform() * sum(weights)
        for place, weight in enumerate(weights):
            mark -= weight
            if mark < 0:
                return place
        return max(place for place, weight in enumerate(weights) if weight > 0)

    def normal(self) -> float:
        """From the standard normal distribution."""
        return math.sqrt(-2 * math.log(1 - self._uniform())) * math.cos(2 * math.pi * self._uniform())

    def quantile(self, points: Sequence[tuple[float, float]]) -> float:
        """From the distribution with these (share, value) points, linear between them.

        Args:
            points: shares ascending from 0 to 1.
        """
        share = self._uniform()
        upper = min(bisect_right(points, share, key=lambda point: point[0]), len(points) - 1)
        (left, low), (right, high) = points[upper - 1], points[upper]
        return low + (high - low) * (share - left) / (right - left)
