"""Reading recordings: rows, whole episodes, an Arrow table, the spec of the recorded environment."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from gymnasium.envs.registration import EnvSpec

from envrl.envs.errors import DataNotFound, InvalidData
from envrl.wrappers.transition import SCHEMA, VERSION, VERSION_KEY, Transition, from_batch

#: file metadata under which `RecordTransitions` keeps the spec of the recorded environment
SPEC_KEY = b"envrl.env_spec"
_BATCH_ROWS = 1024


def shard_paths(path: str | Path) -> list[Path]:
    """The Parquet files of a recording in the order in which they were written, writer by writer.

    Args:
        path: one ``.parquet`` file, or a folder (searched to the bottom; hidden files are left out).

    Raises:
        DataNotFound: there is no such path, or no Parquet file in it.
    """
    path = Path(path)
    if path.is_file():
        return [path]
    absence = "none in the folder" if path.is_dir() else "no such path"
    found = sorted(
        file
        for file in path.rglob("*.parquet")
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
    )
    if not found:
        raise DataNotFound(
            f"expected recorded transitions (*.parquet) at {path}, found {absence}; "
            "record some with `envrl record` or envrl.wrappers.RecordTransitions"
        )
    return found


def read_transitions(path: str | Path) -> Iterator[Transition]:
    """All rows of a recording, file by file, holding one batch in memory at a time.

    A recorder's rows come in the order in which it wrote them. Text is as it was, lone surrogates included.

    Args:
        path: a ``.parquet`` file or a folder of them, also one that is still being recorded to.

    Raises:
        DataNotFound: nothing is recorded there.
        InvalidData: a file is not Parquet, is damaged, or is no recording; the message names it.
    """
    for file in shard_paths(path):
        yield from _read_file(file)


def read_table(path: str | Path) -> pa.Table:
    """The whole recording as one Arrow table of `SCHEMA`, for column-wise work.

    Unlike `read_transitions` this leaves text as stored: see `escape_text` for lone surrogates.

    Raises:
        DataNotFound, InvalidData: as `read_transitions`.
    """
    return pa.Table.from_batches(list(iter_batches(path)), schema=SCHEMA)


def iter_batches(path: str | Path) -> Iterator[pa.RecordBatch]:
    """As `read_table`, a batch at a time."""
    for file in shard_paths(path):
        yield from _read_batches(file)


def iter_episodes(source: str | Path | Iterable[Transition]) -> Iterator[list[Transition]]:
    """Whole episodes, each a list of rows in order of steps; rows of several episodes may be interleaved.

    An episode is given when it ends. One without an end (abandoned, or cut off by a killed recorder) is given
    after the last row of its recorder; its last row has neither ``terminated`` nor ``truncated``.

    Args:
        source: a path as for `read_transitions`, or rows.
    """
    if not isinstance(source, str | Path):
        yield from _group(source)
        return
    # Shards are named <writer>-<number>: an episode never spans two writers, so memory stays bounded.
    for _, files in groupby(
        shard_paths(source), key=lambda file: (file.parent, file.stem.rpartition("-")[0])
    ):
        yield from _group(row for file in files for row in _read_file(file))


def read_env_spec(path: str | Path) -> EnvSpec | None:
    """The spec of the recorded environment, or None if the recording has none or has several different ones.

    Environments that are not registered have no spec; neither have rows that a trainer wrote by itself.
    """
    specs = set()
    for file in shard_paths(path):
        with _open(file) as parquet:
            specs.add((parquet.schema_arrow.metadata or {}).get(SPEC_KEY, b""))
    (only,) = specs if len(specs) == 1 else (b"",)
    return EnvSpec.from_json(only.decode()) if only else None


def _group(rows: Iterable[Transition]) -> Iterator[list[Transition]]:
    running: dict[str, list[Transition]] = {}
    for row in rows:
        running.setdefault(row.episode_id, []).append(row)
        if row.terminated or row.truncated:
            yield running.pop(row.episode_id)
    yield from running.values()


def _open(file: Path) -> pq.ParquetFile:
    try:
        parquet = pq.ParquetFile(file)
    except (pa.ArrowInvalid, OSError) as error:
        raise InvalidData(
            f"{file} is not a readable Parquet file ({error}); expected a shard of recorded transitions. "
            "Move it out of the folder or record again"
        ) from error
    missing = [name for name in SCHEMA.names if name not in parquet.schema_arrow.names]
    if missing:
        raise InvalidData(
            f"{file} is no recording of transitions: expected the columns {', '.join(SCHEMA.names)}; "
            f"missing are {', '.join(missing)}"
        )
    version = (parquet.schema_arrow.metadata or {}).get(VERSION_KEY, b"1").decode()
    if version != str(VERSION):
        raise InvalidData(
            f"{file} has transitions of version {version}, this envrl reads {VERSION}; update envrl"
        )
    return parquet


def _read_batches(file: Path) -> Iterator[pa.RecordBatch]:
    try:
        with _open(file) as parquet:
            for batch in parquet.iter_batches(_BATCH_ROWS, columns=SCHEMA.names):
                # Another tool may have written the file again, with large strings or another column order.
                yield from pa.Table.from_batches([batch]).select(SCHEMA.names).cast(SCHEMA).to_batches()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InvalidData(f"{file} cannot be read as recorded transitions: {error}") from error


def _read_file(file: Path) -> Iterator[Transition]:
    for batch in _read_batches(file):
        try:
            yield from from_batch(batch)
        except ValueError as error:
            raise InvalidData(f"{file} has extras that are not JSON: {error}") from error
