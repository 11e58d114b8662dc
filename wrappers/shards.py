"""`ShardWriter`: transitions into a folder of Parquet files, so that a crash costs seconds, not files."""

import os
import threading
import time
import uuid
import weakref
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from envrl.wrappers.transition import COLUMNS, Transition, tuples_to_table, values_of

#: readers skip files by the least and greatest value of a column, which says nothing for long texts and lists
_WITH_STATISTICS = [
    name
    for name in COLUMNS
    if name
    not in ("observation", "next_observation", "admissible_actions", "next_admissible_actions", "extras")
]


class ShardWriter:
    """Writes transitions to Parquet shards in one folder.

    Rows gather in memory. A shard is written when it has ``max_rows`` rows or is ``max_seconds`` old,
    whichever comes first; a timer sees to the latter, so a row does not wait for the next one. The file is
    written under a hidden name, synced to disk, renamed and the folder synced: readers see whole files only,
    and a killed process loses at most the rows of the open shard.

    Any number of writers, threads and processes may share a folder: each writer puts an identity of its own
    into its file names (``<start time>-<pid>-<token>-<number>.parquet``). A forked copy of a writer starts
    empty and under a new name.

    `close`, the end of the interpreter and garbage collection write what is left. A writer may be used again
    after `close`.

    Args:
        folder: created if it is not there.
        max_rows: most rows of a shard.
        max_seconds: age at which an open shard is written, counted from its first row.
        metadata: added to the metadata of each file.

    Raises:
        NotADirectoryError: ``folder`` is a file.
        OSError: a shard cannot be written. Its rows are kept and tried again at the next `append` or `close`;
            an error met by the timer is raised there too.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        max_rows: int = 4096,
        max_seconds: float = 5.0,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        if max_rows < 1 or max_seconds <= 0:
            raise ValueError(f"max_rows must be >= 1 and max_seconds > 0, got {max_rows} and {max_seconds}")
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise NotADirectoryError(f"a recording is a folder of Parquet files, but {self.folder} is a file")
        self.folder.mkdir(parents=True, exist_ok=True)
        # pyarrow imports pandas, if it is there, at its first conversion; that fails once the interpreter
        # ends, which is when the last write is done.
        tuples_to_table([])
        self._arguments = (self.folder, max_rows, max_seconds, dict(metadata or {}))
        self._shard = _OpenShard(*self._arguments)
        # The callback holds the shard and not the writer: a forgotten writer is collected, and so written.
        self._finalizer = weakref.finalize(self, _OpenShard.write, self._shard)

    @property
    def name(self) -> str:
        """The identity of this writer in this process; the files it writes start with it."""
        return self._shard.writer

    def append(self, row: Transition) -> None:
        """Add one row; writes the shard if this fills it.

        Raises:
            TypeError: this row fills the shard, and some row of it holds a value of the wrong type. Such rows
                are dropped, the others are written.
        """
        self._shard.append(values_of(row))

    def append_values(self, values: tuple[Any, ...]) -> None:
        """As `append`, from values in the order of `COLUMNS`, where microseconds count."""
        self._shard.append(values)

    def extend(self, rows: Iterable[Transition]) -> None:
        """Add several rows."""
        for row in rows:
            self.append(row)

    def flush(self) -> None:
        """Write the open shard now."""
        self._shard.write()

    def close(self) -> None:
        """Write what is left."""
        self._shard.write()

    def __enter__(self) -> "ShardWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[object, ...]:
        # A copy, in this process or another, is a writer of its own to the same folder.
        return _rebuild, self._arguments


def _rebuild(folder: Path, max_rows: int, max_seconds: float, metadata: dict[str, str]) -> ShardWriter:
    return ShardWriter(folder, max_rows=max_rows, max_seconds=max_seconds, metadata=metadata)


class _OpenShard:
    """The rows not yet on disk, and how they get there."""

    def __init__(self, folder: Path, max_rows: int, max_seconds: float, metadata: dict[str, str]) -> None:
        self._folder, self._max_rows, self._max_seconds = folder, max_rows, max_seconds
        self._metadata = {key.encode(): value.encode() for key, value in metadata.items()}
        self.start()
        _OPEN_SHARDS.add(self)

    def start(self) -> None:
        """Begin without rows and under a new name."""
        now = time.time()
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now)) + f"{int(now * 1000) % 1000:03d}"
        self.writer = f"{stamp}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._number = 0
        self._rows: list[tuple[Any, ...]] = []
        self._timer: threading.Timer | None = None
        self._error: Exception | None = None
        # Reentrant: garbage collection may run a writer's last write inside any other call.
        self._lock = threading.RLock()

    def append(self, row: tuple[Any, ...]) -> None:
        with self._lock:
            self._rows.append(row)
            if self._timer is None:
                self._timer = threading.Timer(self._max_seconds, self._write_when_due)
                self._timer.daemon = True
                self._timer.start()
            full = len(self._rows) >= self._max_rows
        if full or self._error is not None:
            self.write()

    def _write_when_due(self) -> None:
        try:
            self.write()
        except Exception as error:
            self._error = error  # no caller is here to hear of it: the next append or close raises it

    def write(self) -> None:
        """Put the rows on disk; one writer thread at a time, so that the caller finds them there."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            earlier, self._error = self._error, None
            rows, self._rows = self._rows, []
            if not rows:
                if earlier is not None:
                    raise earlier
                return
            table, complaint = self._tabulate(rows)
            if table is not None:
                self._put(table, rows)
            if complaint is not None or isinstance(earlier, TypeError):
                raise complaint or earlier  # type: ignore[misc]

    def _tabulate(self, rows: list[tuple[Any, ...]]) -> tuple[pa.Table | None, TypeError | None]:
        try:
            return tuples_to_table(rows, self._metadata), None
        except TypeError:
            # One bad row must not cost the others.
            good: list[tuple[Any, ...]] = []
            complaint: TypeError | None = None
            for row in rows:
                try:
                    tuples_to_table([row])
                    good.append(row)
                except TypeError as error:
                    complaint = error
            return (tuples_to_table(good, self._metadata) if good else None), complaint

    def _put(self, table: pa.Table, rows: list[tuple[Any, ...]]) -> None:
        name = f"{self.writer}-{self._number:06d}.parquet"
        # Hidden, because readers of a folder (pyarrow, datasets) skip hidden files whatever their suffix.
        partial = self._folder / f".{name}.part"
        try:
            with partial.open("wb") as file:
                pq.write_table(table, file, compression="zstd", write_statistics=_WITH_STATISTICS)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self._folder / name)
        except BaseException:
            self._rows = rows + self._rows
            partial.unlink(missing_ok=True)
            raise
        self._number += 1
        if os.name == "posix":  # elsewhere a folder cannot be opened
            handle = os.open(self._folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


#: the open shards of this process, for `_leave_parent` alone; asking for the process id at each row is slower
_OPEN_SHARDS: weakref.WeakSet[_OpenShard] = weakref.WeakSet()


def _leave_parent() -> None:
    """In a forked child: drop the rows, which the parent will write, and the locks its threads may hold."""
    for shard in list(_OPEN_SHARDS):
        shard.start()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_parent)
