import dataclasses
import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envrl.wrappers.transition import (
    COLUMNS,
    SCHEMA,
    Transition,
    escape_text,
    from_batch,
    to_table,
    unescape_text,
    values_of,
)

# Surrogates, the escape mark and look-alikes of an escape are drawn often, everything else now and then.
TEXT = st.text(
    st.one_of(st.characters(exclude_categories=()), st.sampled_from("\ud800\udfff\U0010ffff\uffffdf08"))
)
ACTIONS = st.none() | st.lists(TEXT, max_size=4).map(tuple)
TRANSITIONS = st.builds(
    Transition,
    **dict.fromkeys(("run_id", "env_id", "episode_id", "task_id", "split", "goal", "policy"), TEXT),
    **dict.fromkeys(("observation", "action", "next_observation"), TEXT),
    **{name: st.none() | TEXT for name in ("action_status", "state_key", "next_state_key", "fault")},
    step=st.integers(0, 2**40),
    reward=st.floats(allow_nan=False),
    terminated=st.booleans(),
    truncated=st.booleans(),
    is_success=st.none() | st.booleans(),
    admissible_actions=ACTIONS,
    next_admissible_actions=ACTIONS,
    extras=st.dictionaries(TEXT, st.none() | st.integers() | TEXT | st.lists(TEXT, max_size=2), max_size=2),
)


def round_trip(rows: list[Transition]) -> list[Transition]:
    return [row for batch in to_table(rows).to_batches() for row in from_batch(batch)]


def test_the_columns_are_those_that_readers_rely_on():
    # The order is part of the format: `values_of` and the step path of the recorder depend on it.
    assert SCHEMA.names == list(COLUMNS) == [
        "run_id", "env_id", "episode_id", "task_id", "split", "step", "goal", "observation", "action",
        "next_observation", "reward", "terminated", "truncated", "action_status", "is_success",
        "admissible_actions", "next_admissible_actions", "state_key", "next_state_key", "fault", "policy",
        "extras",
    ]  # fmt: skip
    assert SCHEMA.field("step").type == pa.int64() and not SCHEMA.field("step").nullable
    assert SCHEMA.field("is_success").type == pa.bool_() and SCHEMA.field("is_success").nullable
    assert SCHEMA.field("admissible_actions").type == pa.list_(pa.string())
    assert SCHEMA.field("extras").type == pa.string()


@given(st.lists(TRANSITIONS, max_size=5))
def test_rows_survive_arrow_whatever_their_text(rows):
    assert round_trip(rows) == rows


@given(TEXT)
def test_escaped_text_is_utf8_and_can_be_undone(text):
    escaped = escape_text(text)
    escaped.encode("utf-8")
    assert unescape_text(escaped) == text


def test_escapes_by_hand():
    assert escape_text("mug € 日本 \U0001f600") == "mug € 日本 \U0001f600"
    assert escape_text("a\ud83d") == "a\U0010ffffd83d"
    assert escape_text("\U0010ffff") == "\U0010ffffffff"
    assert unescape_text("\U0010ffffffffd800") == "\U0010ffffd800"  # a literal mark, then four plain letters
    assert escape_text("\U0010ffffd800") == "\U0010ffffffffd800"


def test_a_surrogate_in_one_row_leaves_other_rows_as_they_are():
    rows = [
        Transition(observation=text, action="a", next_observation="b")
        for text in ("plain", "bad \udc80", "日")
    ]
    assert to_table(rows).column("observation").to_pylist() == ["plain", "bad \U0010ffffdc80", "日"]


def test_read_rows_share_the_strings_of_their_actions():
    rows = [
        Transition(
            observation="o", action="a", next_observation="n", admissible_actions=("go to sink", f"take {n}")
        )
        for n in range(3)
    ]
    first, second, _ = round_trip(rows)
    assert first.admissible_actions[0] is second.admissible_actions[0]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("observation", None),
        ("observation", 3),
        ("step", "three"),
        ("reward", "much"),
        ("terminated", None),
        ("admissible_actions", ("go", 1)),
        ("admissible_actions", "go"),
        ("extras", {"x": object()}),
    ],
)
def test_a_value_of_the_wrong_type_is_named(field, value):
    row = dataclasses.replace(Transition(observation="o", action="a", next_observation="n"), **{field: value})
    with pytest.raises(TypeError, match=rf"Transition\.{field} must hold"):
        to_table([row])


def test_a_transition_cannot_be_changed():
    row = Transition(observation="o", action="a", next_observation="n")
    with pytest.raises(dataclasses.FrozenInstanceError):
        row.reward = 1.0
    assert values_of(row)[COLUMNS.index("observation")] == "o"


def test_extras_are_json_in_the_file():
    row = Transition(
        observation="o", action="a", next_observation="n", extras={"logprob": -1.5, "tags": ["x", None]}
    )
    (stored,) = to_table([row]).column("extras").to_pylist()
    assert json.loads(stored) == {"logprob": -1.5, "tags": ["x", None]}
