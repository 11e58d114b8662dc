"""`Transition`: one recorded step, and the Parquet schema and text encoding derived from it.

The dataclass is the schema. Recordings hold one row a step with these columns in this order; whatever learns
from transitions (objectives, world models) takes exactly these rows.
"""

import json
import re
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

#: file metadata that marks a recording, and the version of the columns
VERSION_KEY = b"envrl.transition_version"
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One step of one episode. A fact that the environment does not give is ``""`` or None, never invented.

    Attributes:
        run_id: the recording session or training run.
        env_id: Gymnasium id, or ``module:Class`` of an environment that is not registered.
        episode_id: unique over all runs; rows of one episode share it.
        task_id: the task, ``""`` if the environment names none.
        split: data split of the task, ``""`` if there is none.
        step: 0 for the first action of the episode.
        goal: the task in words.
        observation: what the agent saw when it chose ``action``.
        action: the text given to ``env.step``.
        next_observation: what the environment answered.
        reward, terminated, truncated: as ``env.step`` returned them.
        action_status: ``ok``, ``inadmissible`` or ``malformed``; None if unknown.
        is_success: the task is solved after this step; None if unknown.
        admissible_actions: legal actions at ``observation``; None if unknown, ``()`` if there are none.
        next_admissible_actions: the same at ``next_observation``.
        state_key, next_state_key: digests of the hidden state before and after; None if unknown.
        fault: an infrastructure failure in words, else None; a faulted step is to be masked, never learned.
        policy: who chose the action.
        extras: anything else, JSON-able.
    """

    run_id: str = ""
    env_id: str = ""
    episode_id: str = ""
    task_id: str = ""
    split: str = ""
    step: int = 0
    goal: str = ""
    observation: str
    action: str
    next_observation: str
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    action_status: str | None = None
    is_success: bool | None = None
    admissible_actions: tuple[str, ...] | None = None
    next_admissible_actions: tuple[str, ...] | None = None
    state_key: str | None = None
    next_state_key: str | None = None
    fault: str | None = None
    policy: str = ""
    extras: dict[str, Any] = field(default_factory=dict)


COLUMNS: tuple[str, ...] = tuple(f.name for f in fields(Transition))
#: the values of a transition in the order of `COLUMNS`
values_of: Callable[[Transition], tuple[Any, ...]] = attrgetter(*COLUMNS)
_LISTS = ("admissible_actions", "next_admissible_actions")


def _arrow_field(name: str, hint: Any) -> pa.Field:
    nullable = get_origin(hint) in (Union, types.UnionType)
    if nullable:
        (hint,) = (arg for arg in get_args(hint) if arg is not type(None))
    arrow = {
        str: pa.string(),
        int: pa.int64(),
        float: pa.float64(),
        bool: pa.bool_(),
        tuple[str, ...]: pa.list_(pa.string()),
        dict[str, Any]: pa.string(),  # JSON
    }[hint]
    return pa.field(name, arrow, nullable=nullable)


SCHEMA: pa.Schema = pa.schema(
    [_arrow_field(name, hint) for name, hint in get_type_hints(Transition).items()],
    metadata={VERSION_KEY: str(VERSION).encode()},
)

# ---- text: Parquet strings are UTF-8, Python strings may hold lone surrogates ------------------------------

# U+10FFFF is a noncharacter, never used in interchange. It introduces four hex digits: those of a surrogate,
# or "ffff" for U+10FFFF itself. All other text is stored as it is.
_MARK = "\U0010ffff"
_MARK_UTF8 = _MARK.encode()
_UNSTORABLE = re.compile("[\ud800-\udfff\U0010ffff]")
_ESCAPED = re.compile(_MARK + "([0-9a-f]{4})")


def escape_text(text: str) -> str:
    """``text`` in a form that UTF-8 can hold: itself, unless it has a lone surrogate or U+10FFFF.

    >>> escape_text("a mug") == "a mug", escape_text("\\ud83d!") == "\\U0010ffffd83d!"
    (True, True)
    """
    return text if text.isascii() else _UNSTORABLE.sub(lambda m: f"{_MARK}{ord(m[0]) & 0xFFFF:04x}", text)


def unescape_text(text: str) -> str:
    """The inverse of `escape_text`."""
    if text.isascii() or _MARK not in text:
        return text
    return _ESCAPED.sub(lambda m: _MARK if m[1] == "ffff" else chr(int(m[1], 16)), text)


def _text_array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Texts, or lists of texts, or None among them."""
    try:
        array = pa.array(values, kind)
    except UnicodeEncodeError:
        array = None
    else:
        # One search of the encoded bytes finds out whether any text of the column needs care.
        data = (array.values if pa.types.is_list(kind) else array).buffers()[2]
        if data is not None and _MARK_UTF8 in memoryview(data).tobytes():
            array = None
    return pa.array([_escape_all(value) for value in values], kind) if array is None else array


def _escape_all(value: Any) -> Any:
    if isinstance(value, str):
        return escape_text(value)
    return value if value is None else [escape_text(text) for text in value]


# ---- rows to columns and back ------------------------------------------------------------------------------


def to_table(rows: Sequence[Transition], metadata: dict[bytes, bytes] | None = None) -> pa.Table:
    """The rows as an Arrow table of `SCHEMA`, with ``metadata`` added to the schema's.

    Raises:
        TypeError: a field holds a value of the wrong type.
    """
    return tuples_to_table([values_of(row) for row in rows], metadata)


def tuples_to_table(rows: Sequence[tuple[Any, ...]], metadata: dict[bytes, bytes] | None = None) -> pa.Table:
    """As `to_table`, from the rows' values in the order of `COLUMNS`."""
    columns = dict(zip(COLUMNS, zip(*rows, strict=True) if rows else [()] * len(COLUMNS), strict=True))
    arrays = []
    # One step's next actions are the next step's actions, mostly the same tuple: encode each once.
    lists = {id(value): value for name in _LISTS for value in columns[name]}
    code_of = {key: code for code, key in enumerate(lists)}
    encoded: pa.Array | None = None
    for column in SCHEMA:
        values = columns[column.name]
        try:
            if column.name == "extras":  # None stands for {}: rows without a dict cost the collector nothing
                arrays.append(
                    pa.array([json.dumps(value) if value else "{}" for value in values], pa.string())
                )
                continue
            if not column.nullable and None in values:
                raise TypeError("None is not allowed")
            if column.name in _LISTS:
                if any(isinstance(value, str) for value in values):
                    raise TypeError("a str is not a sequence of actions")
                if encoded is None:
                    encoded = _text_array(list(lists.values()), column.type)
                arrays.append(encoded.take(pa.array([code_of[id(value)] for value in values], pa.int64())))
            elif column.name == "extras":
                arrays.append(
                    pa.array([json.dumps(value) if value else "{}" for value in values], pa.string())
                )
            elif pa.types.is_string(column.type):
                arrays.append(_text_array(values, column.type))
            else:
                arrays.append(pa.array(values, column.type))
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError) as error:
            raise TypeError(f"Transition.{column.name} must hold {column.type}: {error}") from error
    return pa.Table.from_arrays(arrays, schema=SCHEMA.with_metadata({**SCHEMA.metadata, **(metadata or {})}))


def from_batch(batch: pa.RecordBatch) -> Iterator[Transition]:
    """The rows of a batch that has the columns of `SCHEMA`."""
    columns = []
    for column in SCHEMA:
        array = batch.column(column.name)
        if column.name == "extras":
            columns.append([json.loads(x) if x != "{}" else {} for x in array.to_pylist()])
        elif pa.types.is_list(column.type):
            columns.append(_text_tuples(array))
        elif pa.types.is_string(column.type):
            columns.append([x if x is None else unescape_text(x) for x in array.to_pylist()])
        else:
            columns.append(array.to_pylist())
    for values in zip(*columns, strict=True):
        yield Transition(**dict(zip(COLUMNS, values, strict=True)))


def _text_tuples(array: pa.ListArray) -> list[tuple[str, ...] | None]:
    # The same few actions are admissible again and again: decode each once and share the string.
    coded = array.flatten().dictionary_encode()
    words = [unescape_text(word) for word in coded.dictionary.to_pylist()]
    codes = coded.indices.to_pylist()
    tuples: list[tuple[str, ...] | None] = []
    start = 0
    for length in array.value_lengths().to_pylist():
        if length is None:
            tuples.append(None)
        else:
            tuples.append(tuple([words[code] for code in codes[start : start + length]]))
            start += length
    return tuples
