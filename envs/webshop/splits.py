"""Which goals belong to which split, and the ids of tasks."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import overload

import numpy as np
from numpy.typing import NDArray

from envrl.envs.errors import DataNotFound, InvalidTask
from envrl.envs.webshop.columns import Columns
from envrl.envs.webshop.goals import KINDS, GoalArrays

#: first and last + 1 goal of the splits by position (None: to the end), as the original's authors use them
POSITIONS: dict[str, tuple[int, int | None]] = {"test": (0, 500), "eval": (500, 1500), "train": (1500, None)}
BY_PRODUCT = ("train_by_product", "test_by_product")
SPLITS = (*POSITIONS, *BY_PRODUCT)
#: of the splits by product, one product in so many is for testing
_TEST_SHARE = 10


class TaskIds(Sequence[str]):
    """The ids ``<kind>/<index>`` of a split, made when they are asked for.

    Args:
        kind: of the goals.
        indices: of the goals, ascending.
    """

    def __init__(self, kind: str, indices: range | NDArray[np.int64]) -> None:
        self._kind, self._indices = kind, indices

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [f"{self._kind}/{index}" for index in self._indices[place]]
        return f"{self._kind}/{self._indices[place]}"

    def __contains__(self, task_id: object) -> bool:
        if not isinstance(task_id, str):
            return False
        kind, _, number = task_id.partition("/")
        return kind == self._kind and _is_plain(number) and int(number) in self._indices


def split_ids(split: str, kind: str, arrays: GoalArrays, columns: Columns) -> TaskIds:
    """The tasks of a split.

    ``test`` is goals 0-499, ``eval`` 500-1499, ``train`` the rest; a product has goals in all of them.
    ``train_by_product`` and ``test_by_product`` share no product: one in ten, chosen by its ASIN alone, is for
    testing, with all of its goals.

    Raises:
        DataNotFound: the split is empty; says how many goals there are.
    """
    count = len(arrays.order)
    indices: range | NDArray[np.int64]
    if split in POSITIONS:
        first, end = POSITIONS[split]
        indices = range(min(first, count), count if end is None else min(end, count))
    else:
        tested = np.array([_is_for_testing(str(columns.asins[row])) for row in arrays.rows], bool)
        by_goal = tested[np.searchsorted(arrays.ends, arrays.order, side="right")]
        indices = np.flatnonzero(by_goal if split == "test_by_product" else ~by_goal)
    if not len(indices):
        raise DataNotFound(
            f"expected {kind} goals for split={split!r}, found none: the catalogue has {count} {kind} goals "
            f"and the splits by position are {POSITIONS}; take more products, another split or other goals"
        )
    return TaskIds(kind, indices)


def _is_for_testing(asin: str) -> bool:
    return blake2b(asin.encode("utf-8", "surrogatepass"), digest_size=8).digest()[0] % _TEST_SHARE == 0


def goal_index(task_id: str, count: int, kind: str) -> int:
    """The index in a task id.

    Args:
        task_id: ``<kind>/<index>``.
        count: how many goals there are.
        kind: the goals of the environment.

    Raises:
        InvalidTask: not such an id, of other goals, or beyond the last one.
    """
    found, _, number = task_id.partition("/")
    if found in KINDS and found != kind:
        raise InvalidTask(f"task {task_id!r} is of goals={found!r}, this environment has goals={kind!r}")
    if found != kind or not _is_plain(number) or int(number) >= count:
        raise InvalidTask(f"expected a task_id {kind}/0 to {kind}/{count - 1}, got {task_id!r}")
    return int(number)


def _is_plain(number: str) -> bool:
    """Whether this is how an index is spelled: no signs, blanks or zeros in front."""
    return number.isdecimal() and str(int(number[:12])) == number
