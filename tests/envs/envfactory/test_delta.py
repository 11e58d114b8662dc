"""Typed deltas, and when two of them agree."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envrl.envs.envfactory.delta import Change, compare, delta, matches, rules, same

BEFORE = {
    "bank": {"accounts": {"A": {"balance": 10.0, "tags": ["x"]}, "B": {"balance": 1.0}}, "today": "mon"}
}


def test_paths_and_kinds() -> None:
    after = {
        "bank": {"accounts": {"A": {"balance": 7, "tags": ["x", "y"]}, "C": {"balance": 3.0}}, "today": "mon"}
    }
    assert delta(BEFORE, after) == [
        Change(("bank", "accounts", "A", "balance"), "set", 7),
        Change(("bank", "accounts", "A", "tags"), "set", ["x", "y"]),
        Change(("bank", "accounts", "B"), "remove"),
        Change(("bank", "accounts", "C"), "add", {"balance": 3.0}),
    ]


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1.0, True), (0.1 + 0.2, 0.3, True), (1, True, False), (0, False, False), ("1", 1, False), (None, 0, False),
        (None, None, True), ([1, 2], [1.0, 2], True), ([1, 2], [2, 1], False), ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"a": True}, False), ({"a": 1}, {"b": 1}, False), ([], {}, False),
        (1e300, 1e300, True), (5, 5.01, False),
    ],
)  # fmt: skip
def test_equality_is_typed(one: Any, other: Any, equal: bool) -> None:
    assert same(one, other) is same(other, one) is equal
    assert (delta(one, other) == []) is equal


def put(key: str, value: Any, op: str = "add") -> Change:
    return Change(("bank", "bookings", key), op, value)  # type: ignore[arg-type]


PAID = [Change(("bank", "accounts", "A", "balance"), "set", 5.0), put("T1", {"amount": 5, "note": "rent"})]


@pytest.mark.parametrize(
    ("actual", "found", "collateral"),
    [
        (PAID, 2, 0),
        (PAID[::-1], 2, 0),
        (PAID[:1], 1, 0),
        ([], 0, 0),
        ([*PAID, Change(("bank", "today"), "set", "tue")], 2, 1),
        ([PAID[0]._replace(value=6.0), PAID[1]], 1, 1),
        ([PAID[0], put("T2", {"amount": 5, "note": "rent"})], 1, 1),
        ([PAID[0], PAID[1]._replace(op="set")], 1, 1),
    ],
)
def test_agreement(actual: list[Change], found: int, collateral: int) -> None:
    agreement = compare(PAID, actual)
    assert (agreement.wanted, agreement.found, len(agreement.collateral)) == (2, found, collateral)
    assert agreement.full == (found == 2 and not collateral)


def test_keys_of_new_records_may_differ_where_order_means_nothing() -> None:
    wanted = [put("T1", {"amount": 1}), put("T2", {"amount": 2})]
    swapped = [put("T1", {"amount": 2}), put("T2", {"amount": 1})]
    rule = rules(unordered=["bank.bookings"])
    assert not compare(wanted, swapped).full and compare(wanted, swapped, rule).full
    assert compare(wanted, [put("T1", {"amount": 2}), put("T2", {"amount": 2})], rule).found == 1
    assert not compare(wanted, [put("T1", {"amount": 2})], rule).full
    elsewhere = [Change(("bank", "payees", "T1"), "add", {"amount": 1}), swapped[0]]
    assert compare(wanted, elsewhere, rule).found == 1


def test_what_is_ignored_and_what_has_no_order() -> None:
    wanted = [
        put("T1", {"amount": 1, "note": "a", "tags": ["x", "y"]}),
        Change(("bank", "today"), "set", "tue"),
    ]
    actual = [
        put("T1", {"amount": 1, "note": "b", "tags": ["y", "x"]}),
        Change(("bank", "seen", "q"), "add", 1),
    ]
    rule = rules(["bank.bookings.*.tags"], ["bank.bookings.*.note", "bank.today", "bank.seen.**"])
    assert compare(wanted, actual, rule).full and compare(wanted, actual, rule).wanted == 1
    assert not compare(wanted, actual, rules(["bank.bookings.*.tags"], ["bank.today", "bank.seen.**"])).full


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("a.b", "a.b", True), ("a.*", "a.b", True), ("a.*", "a", False), ("a", "a.b", False), ("a.**", "a.b.c", True),
        ("a.**", "a", False), ("*.c.**", "b.c.d", True), ("**", "a", True), ("a.*.c", "a.b.d", False),
    ],
)  # fmt: skip
def test_patterns(pattern: str, path: str, covered: bool) -> None:
    assert matches(pattern.split("."), tuple(path.split("."))) is covered


TREE = st.recursive(st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from("xyz"),
                    lambda t: st.dictionaries(st.sampled_from("abc"), t, max_size=3) | st.lists(t, max_size=2),
                    max_leaves=9)  # fmt: skip


def put_back(value: Any, changes: list[Change]) -> Any:
    for change in changes:
        if not change.path:
            return change.value
        place = value
        for key in change.path[:-1]:
            place = place[key]
        if change.op == "remove":
            del place[change.path[-1]]
        else:
            place[change.path[-1]] = change.value
    return value


@given(TREE, TREE)
def test_a_delta_leads_from_one_to_the_other(one: Any, other: Any) -> None:
    import copy

    changes = delta(one, other)
    assert same(put_back(copy.deepcopy(one), changes), other)
    assert compare(changes, changes).full and (changes == []) == same(one, other)
