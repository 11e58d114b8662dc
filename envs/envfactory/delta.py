"""What changed between two states, as typed paths, and whether two such deltas agree.

A path is a tuple of keys from the toolkit's name down: ``("bank", "accounts", "A1", "balance")``. Objects are
compared key by key, everything else (lists too) as a whole. A pattern is a path written with dots in which
``*`` stands for any one key and a final ``**`` for anything below: ``bank.messages.*.text``.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

Path = tuple[str, ...]
Op = Literal["add", "remove", "set"]


class Change(NamedTuple):
    """One difference: ``add`` and ``set`` have the new value, ``remove`` has None."""

    path: Path
    op: Op
    value: Any = None


def delta(before: Any, after: Any, path: Path = ()) -> list[Change]:
    """The changes that turn one JSON value into another, in the order of keys.

    >>> delta({"a": 1, "b": [1]}, {"a": 2, "c": {"d": 0}})
    [Change(path=('a',), op='set', value=2), Change(path=('b',), op='remove', value=None), \
Change(path=('c',), op='add', value={'d': 0})]
    """
    if isinstance(before, dict) and isinstance(after, dict):
        found: list[Change] = []
        for key, old in before.items():
            if key not in after:
                found.append(Change((*path, key), "remove"))
            elif old is not after[key]:
                found += delta(old, after[key], (*path, key))
        found += [Change((*path, key), "add", value) for key, value in after.items() if key not in before]
        return found
    return [] if same(before, after) else [Change(path, "set", after)]


def same(one: Any, other: Any) -> bool:
    """Typed equality of JSON values: 1 equals 1.0 (to nine digits) but neither equals True."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and bool(one == other)


class Rules(NamedTuple):
    """How deltas are compared.

    unordered: patterns of lists whose order does not matter, and of tables whose new records may have other
    keys. ignored: patterns of what does not count.
    """

    unordered: tuple[tuple[str, ...], ...] = ()
    ignored: tuple[tuple[str, ...], ...] = ()


EXACT = Rules()


def rules(unordered: Iterable[str] = (), ignored: Iterable[str] = ()) -> Rules:
    """The rules that patterns written with dots stand for."""
    return Rules(tuple(tuple(p.split(".")) for p in unordered), tuple(tuple(p.split(".")) for p in ignored))


class Agreement(NamedTuple):
    """How an actual delta stands to the wanted one.

    wanted: number of wanted changes. found: how many of them were made. collateral: changes that nobody
    wanted, or that went to a wrong value.
    """

    wanted: int
    found: int
    collateral: tuple[Change, ...]

    @property
    def full(self) -> bool:
        """Nothing is missing and nothing is too much."""
        return self.found == self.wanted and not self.collateral


def compare(wanted: Sequence[Change], actual: Sequence[Change], rule: Rules = EXACT) -> Agreement:
    """Match the changes that were made with those that were wanted."""
    goals = [change for change in wanted if not (rule.ignored and _matches_any(rule.ignored, change.path))]
    rest: list[Change] = []
    open_goals: dict[Path, Change] = {change.path: change for change in goals}
    for change in actual:
        if rule.ignored and _matches_any(rule.ignored, change.path):
            continue
        goal = open_goals.get(change.path)
        if goal is not None and goal.op == change.op and _alike(goal, change, rule):
            del open_goals[change.path]
        else:
            rest.append(change)
    # New records whose keys may differ: any one of the same content will do.
    for path, goal in list(open_goals.items()):
        if goal.op == "add" and _matches_any(rule.unordered, path[:-1]):
            for index, change in enumerate(rest):
                if change.op == "add" and change.path[:-1] == path[:-1] and _alike(goal, change, rule):
                    del open_goals[path], rest[index]
                    break
    return Agreement(len(goals), len(goals) - len(open_goals), tuple(rest))


def _alike(goal: Change, change: Change, rule: Rules) -> bool:
    if same(goal.value, change.value):
        return True
    if not rule.unordered and not rule.ignored:
        return False
    return same(_normal(goal.value, goal.path, rule), _normal(change.value, change.path, rule))


def _normal(value: Any, path: Path, rule: Rules) -> Any:
    """The value without what is ignored, its unordered lists sorted."""
    if isinstance(value, Mapping):
        return {
            key: _normal(item, (*path, key), rule)
            for key, item in value.items()
            if not _matches_any(rule.ignored, (*path, key))
        }
    if isinstance(value, list | tuple):
        items = [_normal(item, (*path, "*"), rule) for item in value]
        return sorted(items, key=repr) if _matches_any(rule.unordered, path) else items
    return value


def _matches_any(patterns: Iterable[tuple[str, ...]], path: Path) -> bool:
    return any(matches(pattern, path) for pattern in patterns)


def matches(pattern: Sequence[str], path: Path) -> bool:
    """Whether a pattern covers a path.

    >>> matches(("bank", "*", "note"), ("bank", "T1", "note")), matches(("bank", "**"), ("bank", "a", "b"))
    (True, True)
    """
    if pattern and pattern[-1] == "**":
        pattern = pattern[:-1]
        path = path[: len(pattern)] if len(path) > len(pattern) else ()
    return len(pattern) == len(path) and all(p in ("*", key) for p, key in zip(pattern, path, strict=True))
