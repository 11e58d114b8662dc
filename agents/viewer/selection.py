"""Which episodes of a recording to show: a handful, the newest, of every outcome and kind of task."""

import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.dataset as ds

from envrl.wrappers.recording import shard_paths
from envrl.wrappers.transition import SCHEMA, Transition, from_batch

_UPDATE = re.compile(r"/update-(\d+)")


@dataclass(frozen=True)
class Outline:
    """An episode of a recording, in short.

    update: of the run that played it, counted from 1; 0 where the recording knows none.
    """

    episode_id: str
    task_id: str
    update: int
    success: bool
    faulted: bool

    @property
    def outcome(self) -> str:
        """``solved``, ``failed`` or ``faulted``."""
        return "faulted" if self.faulted else "solved" if self.success else "failed"


def outlines(recording: Path) -> list[Outline]:
    """All episodes of a recording, in the order in which they began.

    Raises:
        DataNotFound: nothing is recorded there.
    """
    table = _dataset(recording).to_table(columns=["episode_id", "task_id", "is_success", "fault"]).to_pydict()
    found: dict[str, list[tuple[str, bool, bool]]] = defaultdict(list)
    for episode, *rest in zip(
        table["episode_id"], table["task_id"], table["is_success"], table["fault"], strict=True
    ):
        task, success, fault = rest
        found[episode].append((task, bool(success), fault is not None))
    return [
        Outline(episode, rows[0][0], _update(episode), rows[-1][1], any(fault for _, _, fault in rows))
        for episode, rows in found.items()
    ]


def choose(
    found: Sequence[Outline],
    count: int,
    kind_of: Callable[[str], str] = lambda task_id: "",
    updates: Sequence[int] = (),
) -> list[Outline]:
    """At most ``count`` episodes, in the order of the recording.

    Outcomes and kinds of task take turns, and each gives its newest episodes, so that a handful shows all of them.

    Args:
        found: what there is.
        count: how many.
        kind_of: the kind of a task.
        updates: only episodes of these updates; of all by default.
    """
    number = {outline.episode_id: i for i, outline in enumerate(found)}
    queues: dict[tuple[str, str], list[Outline]] = defaultdict(list)
    for outline in found:
        if not updates or outline.update in updates:
            queues[outline.outcome, kind_of(outline.task_id)].append(outline)
    # the newest first; outcomes alternate within a round
    turns = sorted(queues, key=lambda key: (sorted(k for k in queues if k[0] == key[0]).index(key), key[0]))
    rounds = itertools.zip_longest(*(reversed(queues[key]) for key in turns))
    picked = [outline for turn in rounds for outline in turn if outline is not None][:count]
    return sorted(picked, key=lambda outline: number[outline.episode_id])


def read_episodes(recording: Path, chosen: Sequence[Outline]) -> list[list[Transition]]:
    """The rows of chosen episodes, in the same order."""
    wanted = ds.field("episode_id").isin([outline.episode_id for outline in chosen])
    rows: dict[str, list[Transition]] = {outline.episode_id: [] for outline in chosen}
    for batch in _dataset(recording).to_batches(columns=SCHEMA.names, filter=wanted):
        for row in from_batch(batch):
            rows[row.episode_id].append(row)
    return [sorted(steps, key=lambda row: row.step) for steps in rows.values()]


def _dataset(recording: Path) -> ds.Dataset:
    return ds.dataset([str(path) for path in shard_paths(recording)], schema=SCHEMA, format="parquet")


def _update(episode_id: str) -> int:
    found = _UPDATE.search(episode_id)
    return int(found[1]) + 1 if found else 0
