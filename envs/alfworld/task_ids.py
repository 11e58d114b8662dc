"""Ids of procedural games: ``procedural/<task_type>/<seed>``, and the splits they fall into."""

from collections.abc import Sequence
from typing import overload

from envrl.envs.alfworld.game import TASK_TYPES
from envrl.envs.errors import InvalidTask

PREFIX = "procedural"
#: split -> (first seed, number of seeds for each task type)
SPLITS = {
    "train": (0, 1_000_000),
    "valid_seen": (1_000_000_000, 24),
    "valid_unseen": (2_000_000_000, 100),
}
_END = 3_000_000_000


class ProceduralTasks(Sequence[str]):
    """The task ids of a split, made on demand: ``procedural/<task_type>/<seed>``.

    Task types alternate, so every prefix is balanced over them. Splits have disjoint seeds.

    Args:
        split: ``train`` (a million ids for each task type), ``valid_seen`` (24) or ``valid_unseen`` (100).
        task_types: names among ALFRED's six; None for all.
    """

    def __init__(self, split: str = "train", task_types: Sequence[str] | None = None) -> None:
        if split not in SPLITS:
            raise ValueError(f"split must be one of {', '.join(SPLITS)}, got {split!r}")
        chosen = tuple(TASK_TYPES if task_types is None else dict.fromkeys(task_types))
        unknown = [name for name in chosen if name not in TASK_TYPES]
        if unknown or not chosen:
            raise ValueError(f"task_types must name some of {', '.join(TASK_TYPES)}, got {list(chosen)}")
        self.split, self.task_types = split, chosen
        self._first, self._each = SPLITS[split]

    def __len__(self) -> int:
        return self._each * len(self.task_types)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        n = len(self)
        if not -n <= index < n:
            raise IndexError(f"index {index} is outside the {n} tasks of {self.split}")
        seed, which = divmod(index % n, len(self.task_types))
        return f"{PREFIX}/{self.task_types[which]}/{self._first + seed}"

    def __contains__(self, task_id: object) -> bool:
        try:
            task_type, seed = parse_task_id(str(task_id))
        except InvalidTask:
            return False
        return task_type in self.task_types and self._first <= seed < self._first + self._each

    def __repr__(self) -> str:
        return f"ProceduralTasks({self.split!r}, {list(self.task_types)}, {len(self):,} ids)"


def parse_task_id(task_id: str) -> tuple[str, int]:
    """(task type, seed) of ``procedural/<task_type>/<seed>``.

    Raises:
        InvalidTask: another form, an unknown task type, or a seed outside 0 to 2,999,999,999.
    """
    prefix, _, rest = task_id.partition("/")
    task_type, _, number = rest.partition("/")
    if prefix == PREFIX and task_type in TASK_TYPES and number.isascii() and number.isdigit():
        seed = int(number)
        if seed < _END and str(seed) == number:
            return task_type, seed
    raise InvalidTask(
        f"expected {PREFIX}/<task_type>/<seed> with one of {', '.join(TASK_TYPES)} and a seed below {_END}, "
        f"got {task_id!r}"
    )


def split_of(seed: int) -> str:
    """The split that a seed belongs to; seeds beyond its listed ids belong to it all the same."""
    return max((first, split) for split, (first, _) in SPLITS.items() if seed >= first)[1]
