"""Compact text tables of shares and weights, and draws from them that every Python version repeats."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from random import Random
from typing import Generic, TypeVar

T = TypeVar("T")


class Weighted(Generic[T]):
    """A finite distribution. Only `Random.random` is called: its stream is fixed across Python versions.

    Args:
        items: outcomes.
        weights: one non-negative number each, not all zero.
    """

    __slots__ = ("_sums", "_total", "items", "weights")

    def __init__(self, items: Sequence[T], weights: Sequence[float]) -> None:
        self.items = tuple(items)
        self.weights = tuple(weights)
        self._sums = list(accumulate(weights))
        self._total = self._sums[-1] if self._sums else 0.0
        if self._total <= 0:
            raise ValueError(f"a distribution needs a positive weight, got {self.weights!r}")

    def draw(self, rng: Random) -> T:
        """One outcome."""
        sums = self._sums
        return self.items[min(bisect_right(sums, rng.random() * self._total), len(sums) - 1)]


def mean(counts: Weighted[int]) -> float:
    """Expected value of a distribution of numbers."""
    pairs = zip(counts.items, counts.weights, strict=True)
    return sum(number * weight for number, weight in pairs) / sum(counts.weights)


def below(rng: Random, n: int) -> int:
    """A whole number in ``range(n)``."""
    return int(rng.random() * n)


def shuffled(rng: Random, items: Sequence[T]) -> list[T]:
    """The items in a random order."""
    out = list(items)
    for i in range(len(out) - 1, 0, -1):
        j = int(rng.random() * (i + 1))
        out[i], out[j] = out[j], out[i]
    return out


def words(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())


def read_table(text: str) -> Iterator[tuple[str, str]]:
    """Rows ``name: value`` of a table; an indented line continues the row before it."""
    rows: list[str] = []
    for line in text.strip("\n").splitlines():
        if line.startswith(" "):
            rows[-1] += " " + line.strip()
        else:
            rows.append(line)
    for row in rows:
        name, _, value = row.partition(":")
        yield name, value.strip()


def parse_counts(text: str) -> Weighted[int]:
    """``"10 60 30"`` is 0 with weight 10, 1 with 60, 2 with 30."""
    weights = [int(x) for x in text.split()]
    return Weighted(range(len(weights)), weights)


def parse_weights(text: str) -> dict[str, int]:
    """``"desk 3 bed 1"`` is {"desk": 3, "bed": 1}."""
    words = text.split()
    return {name: int(weight) for name, weight in zip(words[::2], words[1::2], strict=True)}


def weighted(weights: Mapping[T, float]) -> Weighted[T]:
    """The distribution of a mapping from outcome to weight."""
    return Weighted(tuple(weights), tuple(weights.values()))
