"""Copy-on-write states: whatever a tool does to them, they cost little, lose nothing and take everything back."""

import copy
import pickle
from typing import Any, Literal

import numpy as np
import pydantic
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envrl.envs.envfactory import InvalidToolkit
from envrl.envs.envfactory.shape import Codec, shape_of
from envrl.envs.envfactory.state import InvalidState, Original, Store
from envrl.envs.envfactory.table import Pen, RecordTable


class Part(pydantic.BaseModel):
    name: str
    price: float
    tags: list[str] = []
    sizes: dict[str, int] = {}


class World(pydantic.BaseModel):
    parts: dict[str, Part]
    balances: dict[str, float] = {}
    log: list[str] = []
    owner: Part | None = None
    mode: Literal["day", "night"] = "day"
    marks: set[str] = set()


def world(count: int = 4) -> dict[str, Any]:
    parts = {
        f"P{i}": {"name": f"part {i}", "price": 1.5 * i, "tags": ["new"], "sizes": {"a": i, "c": 0}}
        for i in range(count)
    }
    return {"parts": parts, "balances": {f"B{i}": 10.0 * i for i in range(count)}, "marks": ["x", "y"]}


def store(count: int = 4) -> Store:
    return Store(Original(World, world(count)))


#: ways in which a tool may change a state
EDITS: dict[str, Any] = {
    "field of a record": lambda s: setattr(s.parts["P1"], "price", s.parts["P1"].price + 1),
    "list in a record": lambda s: s.parts["P1"].tags.append("old"),
    "dict in a record": lambda s: s.parts["P2"].sizes.update(b=7),
    "order in a dict of a record": lambda s: s.parts["P2"].sizes.update(a=s.parts["P2"].sizes.pop("a")),
    "through values": lambda s: [p.tags.clear() for p in s.parts.values()],
    "through items": lambda s: [setattr(p, "name", key) for key, p in s.parts.items()],
    "through get": lambda s: s.parts.get("P3", Part(name="", price=0)).tags.insert(0, "first"),
    "through a copy of the table": lambda s: dict(s.parts)["P0"].tags.append("via dict()"),
    "through unpacking": lambda s: {**s.parts}["P0"].tags.append("via **"),
    "new record": lambda s: s.parts.__setitem__(f"N{len(s.parts)}", Part(name="n", price=2)),
    "new record changed later": lambda s: s.parts.setdefault("N", Part(name="n", price=2)).tags.append(
        "late"
    ),
    "record removed": lambda s: s.parts.pop(max(s.parts)) if max(s.parts) > "P2" else None,
    "record moved to the end": lambda s: s.parts.update(P1=s.parts.pop("P1", Part(name="again", price=1))),
    "table replaced": lambda s: setattr(s, "balances", {"Z": 1.0, **s.balances}),
    "table cleared": lambda s: s.balances.clear(),
    "union": lambda s: s.balances.update({"U": 5.0} | s.balances),
    "in-place union": lambda s: s.balances.__ior__({"V": 2.0}),
    "popitem": lambda s: s.balances.popitem() if s.balances else None,
    "scalar in a table": lambda s: s.balances.__setitem__("B1", s.balances.get("B1", 0) - 0.5),
    "int for a float": lambda s: s.balances.__setitem__("B2", 7),
    "list": lambda s: s.log.append("did"),
    "list replaced": lambda s: setattr(s, "log", [*s.log, "replaced"]),
    "model": lambda s: setattr(s, "owner", Part(name="o", price=s.owner.price + 1 if s.owner else 0)),
    "inside a model": lambda s: s.owner.tags.append("deep") if s.owner else None,
    "a scalar": lambda s: setattr(s, "mode", "night" if s.mode == "day" else "day"),
    "set": lambda s: s.marks.symmetric_difference_update({"x", "z"}),
    "nothing": lambda s: [p.price for p in s.parts.values()],
}


def apply(target: Store, edit: str) -> Any:
    target.begin()
    EDITS[edit](target.root)
    return target.end()


def plain(target: Store) -> dict[str, Any]:
    """The state as pydantic itself sees it, sets in order."""
    data = target.root.model_dump(mode="json")
    data["marks"] = sorted(data["marks"])
    return data


@pytest.mark.parametrize("edit", EDITS)
def test_each_way_of_changing_is_seen_and_taken_back(edit: str) -> None:
    one = store()
    apply(one, "model")
    before, digest, shared = plain(one), one.digest, Original(World, world()).weight
    undo = apply(one, edit)
    changed = plain(one)
    assert (one.digest != digest) == (edit != "nothing")
    assert one.data() == changed == plain(Store(Original(World, one.data())))
    assert Store(Original(World, one.data())).digest == one.digest
    one.put(undo)
    assert plain(one) == before and one.digest == digest and list(one.root.parts) == list(before["parts"])
    assert one.original.weight == shared == Original(World, one.original.instance).weight


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(sorted(EDITS)), max_size=12), st.integers(0, 12), st.booleans())
def test_snapshots_resets_and_failed_calls(edits: list[str], cut: int, elsewhere: bool) -> None:
    one = store()
    for edit in edits[:cut]:
        apply(one, edit)
    half, digest, snapshot = plain(one), one.digest, pickle.loads(pickle.dumps(one.snapshot()))
    for edit in edits[cut:]:
        one.begin()
        EDITS[edit](one.root)
        one.abandon()
        assert (plain(one), one.digest) == (half, digest)
        assert list(one.root.parts) == list(half["parts"]) and list(one.root.balances) == list(
            half["balances"]
        )
    for edit in edits[cut:]:
        apply(one, edit)
    end, end_digest = plain(one), one.digest
    other = store() if elsewhere else one
    other.restore(snapshot)
    assert (plain(other), other.digest) == (half, digest)
    assert list(other.root.parts) == list(half["parts"])
    for edit in edits[cut:]:
        apply(other, edit)
    assert (plain(other), other.digest) == (end, end_digest)
    other.reset()
    assert plain(other) == plain(store()) and other.digest == store().digest and not other.changes()


def test_a_change_that_is_undone_by_hand_is_no_change() -> None:
    one = store()
    digest = one.digest
    one.begin()
    one.root.parts["P1"].price += 1
    one.end()
    one.begin()
    one.root.parts["P1"].price -= 1
    one.end()
    assert one.digest == digest and one.changes() == {}


def test_changes_have_both_texts() -> None:
    one = store(1)
    apply(one, "a scalar")
    assert one.changes() == {("mode", None): (b'"day"', b'"night"')}


@pytest.mark.parametrize(
    "edit",
    [
        lambda s: setattr(s.parts["P1"], "price", "dear"),
        lambda s: setattr(s, "mode", "noon"),
        lambda s: setattr(s, "parts", ["no table"]),
        lambda s: s.parts.__setitem__(7, Part(name="seven", price=7)),
        lambda s: s.balances.__setitem__("B1", float("nan")),
    ],
)
def test_impossible_states_are_refused_whole(edit: Any) -> None:
    one = store()
    apply(one, "list")
    before, digest = plain(one), one.digest
    one.begin()
    one.root.log.append("before it goes wrong")
    del one.root.parts["P0"]
    edit(one.root)
    with pytest.raises(InvalidState):
        one.end()
    assert (plain(one), one.digest) == (before, digest)
    apply(one, "field of a record")
    assert one.digest != digest


def test_what_is_kept_is_what_loading_gives() -> None:
    one = store()
    one.begin()
    one.root.balances["B1"] = 3
    one.root.parts["P1"].price = 4
    one.end()
    assert [type(v) for v in (one.root.balances["B1"], one.root.parts["P1"].price)] == [float, float]
    other = store()
    other.begin()
    other.root.balances["B1"], other.root.parts["P1"].price = 3.0, 4.0
    other.end()
    assert one.digest == other.digest


def test_reading_hands_out_the_shared_records_and_writing_never_does() -> None:
    one = store()
    shared = one.original.tables["parts"]["P1"]
    assert one.root.parts["P1"] is shared
    one.begin()
    assert (
        one.root.parts["P1"] is not shared and one.root.parts["P0"] is not one.original.tables["parts"]["P0"]
    )
    one.end()
    assert one.end_reading() is False
    one.root.balances["B1"] = 0.0
    assert one.end_reading() is True and one.root.balances["B1"] == 10.0


def test_only_touched_records_of_a_large_state_are_copied() -> None:
    one = store(3000)
    undo = apply(one, "field of a record")
    owned = one.root.parts.owned
    assert owned == {"P1"} and list(undo.texts) == [("parts", "P1")]
    one.reset()
    assert one.root.parts["P1"] is one.original.tables["parts"]["P1"] and one.root.parts.owned == set()


def test_digests_do_not_depend_on_the_way() -> None:
    one, other = store(), store()
    for edit in ("list", "field of a record", "a scalar"):
        apply(one, edit)
    for edit in ("a scalar", "list", "field of a record"):
        apply(other, edit)
    assert one.digest == other.digest
    apply(other, "record moved to the end")
    assert one.digest != other.digest and one.data() == other.data()  # the order of keys is part of a state


def test_a_table_is_a_dict() -> None:
    table = RecordTable(Pen(), copy.deepcopy, {"a": [1], "b": [2]})
    assert table == {"a": [1], "b": [2]} and isinstance(table, dict) and len(table) == 2 and "a" in table
    assert sorted(table) == ["a", "b"] and table.copy() == {"a": [1], "b": [2]} and type(table.copy()) is dict
    assert type(copy.deepcopy(table)) is type(pickle.loads(pickle.dumps(table))) is dict
    assert table | {"c": 3} == {"a": [1], "b": [2], "c": 3} and {"c": 3} | table == {
        "c": 3,
        "a": [1],
        "b": [2],
    }
    assert table.pop("x", 5) == 5 and table.setdefault("a", [9]) == [1] and table.get("q") is None
    for call in (
        lambda: table["x"],
        lambda: table.pop("x"),
        lambda: RecordTable(Pen(), copy.copy, {}).popitem(),
    ):
        with pytest.raises(KeyError):
            call()


class Hidden(pydantic.BaseModel):
    _secret: int = pydantic.PrivateAttr(0)


class Open(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")


class Unwritable(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
    rng: np.random.Generator


@pytest.mark.parametrize("kind", [Hidden, Open, Unwritable])
def test_models_that_cannot_be_saved_are_refused(kind: type[pydantic.BaseModel]) -> None:
    with pytest.raises(InvalidToolkit):
        shape_of(kind)


def test_sets_are_written_in_one_order() -> None:
    codec: Codec[set[str]] = Codec(set[str])
    words = {f"w{i}" for i in range(50)}
    backwards = set[str]()
    for word in sorted(words, reverse=True):
        backwards.add(word)
    assert codec.text(words) == codec.text(backwards) and codec.copy(words) == words
