"""`RecordTable`: a dict of records that borrows them from a shared original until somebody may change them.

A toolkit sees an ordinary ``dict``. While a call may write, a record that is handed out is first copied, so
the shared one never changes, and its key is noted, so that only records that may have changed are looked at
after the call. While a call only reads, records are handed out as they are.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

_MISSING = object()


class Pen:
    """Whether a call that may write is under way; shared by the tables of one state."""

    __slots__ = ("writing",)

    def __init__(self) -> None:
        self.writing = False


class RecordTable(dict[Any, Any]):
    """Args: the pen, how a record is copied, and the shared records.

    Attributes:
        touched: keys whose records may have changed since `settle`.
        owned: keys whose records are this table's own.
        moved: keys came or went since `settle`.
    """

    __slots__ = ("_copy", "_pen", "moved", "owned", "touched")

    def __init__(self, pen: Pen, copy: Callable[[Any], Any], records: dict[Any, Any]) -> None:
        super().__init__(records)
        self._pen, self._copy = pen, copy
        self.owned: set[Any] = set()
        self.touched: set[Any] = set()
        self.moved = False

    # ---- reading: while writing, whatever leaves the table is its own and is noted ------------------------

    def __getitem__(self, key: Any) -> Any:
        record = dict.__getitem__(self, key)
        return self._own(key, record) if self._pen.writing else record

    def get(self, key: Any, default: Any = None) -> Any:
        """As in dict."""
        record = dict.get(self, key, _MISSING)
        if record is _MISSING:
            return default
        return self._own(key, record) if self._pen.writing else record

    def values(self) -> Any:
        """As in dict."""
        self._own_all()
        return dict.values(self)

    def items(self) -> Any:
        """As in dict."""
        self._own_all()
        return dict.items(self)

    def __iter__(self) -> Iterator[Any]:
        # Overridden so that dict(table) and {**table} come through __getitem__ and not around it.
        return dict.__iter__(self)

    def copy(self) -> dict[Any, Any]:
        """A plain dict of the same records."""
        self._own_all()
        return dict(dict.items(self))

    def __or__(self, other: Any) -> Any:
        return self.copy() | other

    def __ror__(self, other: Any) -> Any:
        return other | self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[Any, Any]:
        return {key: self._copy(record) for key, record in dict.items(self)}

    def __reduce__(self) -> Any:
        return dict, (dict(dict.items(self)),)

    # ---- writing ----------------------------------------------------------------------------------------

    def __setitem__(self, key: Any, record: Any) -> None:
        self.moved = self.moved or key not in self
        dict.__setitem__(self, key, record)
        self.owned.add(key)
        self.touched.add(key)

    def __delitem__(self, key: Any) -> None:
        dict.__delitem__(self, key)
        self.owned.discard(key)
        self.touched.add(key)
        self.moved = True

    def pop(self, key: Any, *default: Any) -> Any:
        """As in dict."""
        if key in self:
            record = self._own(key, dict.__getitem__(self, key))
            del self[key]
            return record
        return dict.pop(self, key, *default)

    def popitem(self) -> tuple[Any, Any]:
        """As in dict."""
        key = next(reversed(self), _MISSING)
        if key is _MISSING:
            return dict.popitem(self)  # raises
        return key, self.pop(key)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """As in dict."""
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *others: Any, **named: Any) -> None:
        """As in dict."""
        for key, record in dict(*others, **named).items():
            self[key] = record

    def __ior__(self, other: Any) -> "RecordTable":
        self.update(other)
        return self

    def clear(self) -> None:
        """As in dict."""
        for key in list(self):
            del self[key]

    # ---- for the state that keeps the table ---------------------------------------------------------------

    def settle(self) -> None:
        """What was touched has been looked at."""
        self.touched.clear()
        self.moved = False

    def lend(self, key: Any, record: Any) -> None:
        """Hold a record that is not the table's own; nothing is noted."""
        dict.__setitem__(self, key, record)
        self.owned.discard(key)

    def keep(self, key: Any, record: Any) -> None:
        """Hold a record of the table's own; nothing is noted."""
        dict.__setitem__(self, key, record)
        self.owned.add(key)

    def drop(self, key: Any) -> None:
        """Hold nothing at a key; nothing is noted."""
        dict.pop(self, key, None)
        self.owned.discard(key)

    def arrange(self, keys: Iterable[Any]) -> None:
        """Bring the keys, all of which are there, into this order."""
        order = tuple(keys)
        records = dict(zip(order, map(super().__getitem__, order), strict=True))
        dict.clear(self)
        dict.update(self, records)

    def _own(self, key: Any, record: Any) -> Any:
        self.touched.add(key)
        if key in self.owned:
            return record
        mine = self._copy(record)
        dict.__setitem__(self, key, mine)
        self.owned.add(key)
        return mine

    def _own_all(self) -> None:
        if self._pen.writing:
            for key in list(dict.keys(self)):
                self._own(key, dict.__getitem__(self, key))
