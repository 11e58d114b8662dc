"""States of toolkits: a shared original, and a private copy that costs what was changed.

`Original` is one initial state, shared by all environments of a process. `Store` is one environment's copy of
it: made, reset, saved and compared in time that grows with what changed and not with the size of the state.
"""

from hashlib import blake2b
from typing import Any, NamedTuple

import pydantic
import pydantic_core

from envrl.envs.envfactory.shape import Codec, Shape, shape_of
from envrl.envs.envfactory.table import Pen, RecordTable

_MODULUS = 1 << 128
#: what a tool may leave that its state model refuses
_REFUSED = (pydantic.ValidationError, pydantic_core.PydanticSerializationError, ValueError, TypeError)

Text = bytes | None  # JSON; None for what is not there
Place = tuple[str, Any]  # (table, key), or (field, None) for a field that is no table


class InvalidState(Exception):
    """A tool left a state that its model does not allow; the message is pydantic's."""


class Snapshot(NamedTuple):
    """How a state differs from its original.

    texts: place -> JSON text, None where the original's record is gone. orders: table -> all its keys in
    order, where they are not the original's.
    """

    texts: dict[Place, Text]
    orders: dict[str, tuple[Any, ...]]


class Original:
    """An initial state that is never changed.

    Args:
        kind: the state model.
        data: the state as JSON data, JSON text, or an instance of the model.

    Raises:
        InvalidToolkit: the model cannot be saved.
        pydantic.ValidationError: the data is no state.
    """

    def __init__(self, kind: type[pydantic.BaseModel], data: Any) -> None:
        self.shape: Shape = shape_of(kind)
        if isinstance(data, pydantic.BaseModel):
            data = data.model_dump_json()
        elif not isinstance(data, bytes | str):
            data = pydantic_core.to_json(data)
        self.instance = kind.model_validate_json(data)
        held = self.instance.__dict__
        self.tables: dict[str, dict[Any, Any]] = {name: held[name] for name in self.shape.tables}
        self.orders = {name: tuple(table) for name, table in self.tables.items()}
        self.texts: dict[Place, bytes] = {
            (name, key): codec.text(record)
            for name, codec in self.shape.tables.items()
            for key, record in held[name].items()
        }
        self.texts |= {(name, None): codec.text(held[name]) for name, codec in self.shape.values.items()}
        self.order_weights = {name: _weigh_order(name, order) for name, order in self.orders.items()}
        self.weight = sum(self.order_weights.values())
        self.weight += sum(_weigh(place, text) for place, text in self.texts.items())
        #: what `Store.digest` begins with
        self.weight %= _MODULUS
        #: characters of JSON
        self.size = sum(map(len, self.texts.values()))


class Store:
    """A private state over an `Original`.

    Attributes:
        original: what it started as.
        root: the instance of the state model that the toolkit works on.
        digest: 128 bits, equal for equal states (a table's order included), whichever way led there.
    """

    def __init__(self, original: Original) -> None:
        self.original, self._pen = original, Pen()
        shape, held = original.shape, original.instance.__dict__
        never = Pen()  # records that cannot be changed in place need no watch
        self._tables = {
            name: RecordTable(never if codec.fixed else self._pen, codec.copy, original.tables[name])
            for name, codec in shape.tables.items()
        }
        self._values = {name: held[name] for name in shape.values}
        #: values that cannot be changed in place, as they were last looked at: the same object is the same value
        self._seen = dict(self._values)
        self._borrowed = {name for name, codec in shape.values.items() if not codec.fixed}
        self._texts: dict[Place, Text] = {}
        self._orders: dict[str, tuple[Any, ...]] = {}
        self._order_weights: dict[str, int] = {}
        self.digest = original.weight
        self.root = shape.kind.model_construct()
        self.root.__dict__.update(self._tables)
        self.root.__dict__.update(self._values)

    # ---- around a call ------------------------------------------------------------------------------------

    def begin(self) -> None:
        """A call that may write starts: from here on nothing shared is handed out."""
        for name in self._borrowed:
            text = self._text((name, None))
            self.root.__dict__[name] = self.original.shape.values[name].parse(text or b"null")
        self._borrowed.clear()
        self._pen.writing = True

    def end(self, state: Any = None) -> Snapshot:
        """The call is over: take in what it changed.

        Args:
            state: what the toolkit holds now, where that may be another instance.

        Returns:
            What was there before at the places that changed; `put` takes the changes back.

        Raises:
            InvalidState: the model does not allow what the call left. Everything is as before the call.
        """
        self._pen.writing = False
        before = Snapshot({}, {})
        try:
            if state is not None and state is not self.root:
                self.root.__dict__.update(state.__dict__)
            for name, table in self._tables.items():
                if self.root.__dict__[name] is not table:
                    self._take_over(name, table)
                if table.touched:
                    self._look_at(name, table, before)
            for name, codec in self.original.shape.values.items():
                value = self.root.__dict__[name]
                if not (codec.fixed and value is self._seen[name]):
                    self._take_in((name, None), codec, value, before)
                    self._seen[name] = self.root.__dict__[name]
        except _REFUSED as error:
            self.put(before)
            self._restore_live()
            raise InvalidState(" ".join(str(error).split())) from error
        return before

    def abandon(self, state: Any = None) -> bool:
        """The call failed: take back whatever it changed. True if there was something."""
        try:
            before = self.end(state)
        except InvalidState:
            return True
        self.put(before)
        return bool(before.texts or before.orders)

    def end_reading(self) -> bool:
        """A call that was not to write is over; True if it did write to a table, which is then taken back."""
        touched = any(table.touched for table in self._tables.values())
        return touched and self.abandon()

    # ---- the whole ----------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Back to the original."""
        self.restore(Snapshot({}, {}))

    def snapshot(self) -> Snapshot:
        """How the state differs from the original; later calls do not change it."""
        return Snapshot(dict(self._texts), dict(self._orders))

    def restore(self, snapshot: Snapshot) -> None:
        """Take up a snapshot of a store over an equal original."""
        texts = {place: self.original.texts.get(place) for place in self._texts} | snapshot.texts
        orders = {name: self.original.orders[name] for name in self._orders} | snapshot.orders
        self.put(Snapshot(texts, orders))

    def put(self, snapshot: Snapshot) -> None:
        """Make the places of a snapshot what it says; all other places stay."""
        for place, text in snapshot.texts.items():
            if self._text(place) != text:
                self._write(place, text)
                self._set_live(place, text)
        for name, order in snapshot.orders.items():
            if self._order(name) != order:
                self._write_order(name, order)
            if tuple(self._tables[name]) != order:
                self._tables[name].arrange(order)

    def changes(self) -> dict[Place, tuple[Text, Text]]:
        """Place -> (JSON text in the original, JSON text now), for the places that differ."""
        return {place: (self.original.texts.get(place), text) for place, text in self._texts.items()}

    def data(self) -> dict[str, Any]:
        """The state as JSON data."""
        data: dict[str, Any] = {}
        for name in self.original.shape.kind.model_fields:
            if name in self._tables:
                texts = {str(key): self._text((name, key)) for key in self._tables[name]}
                data[name] = {key: pydantic_core.from_json(text or b"null") for key, text in texts.items()}
            else:
                data[name] = pydantic_core.from_json(self._text((name, None)) or b"null")
        return data

    # ---- inside -------------------------------------------------------------------------------------------

    def _text(self, place: Place) -> Text:
        return self._texts[place] if place in self._texts else self.original.texts.get(place)

    def _order(self, name: str) -> tuple[Any, ...]:
        return self._orders[name] if name in self._orders else self.original.orders[name]

    def _look_at(self, name: str, table: RecordTable, before: Snapshot) -> None:
        codec = self.original.shape.tables[name]
        for key in table.touched:
            if key in table:
                if (name, key) not in self.original.texts:
                    self._check_key(name, key)
                self._take_in((name, key), codec, dict.__getitem__(table, key), before)
            elif (old := self._text((name, key))) is not None:
                before.texts[name, key] = old
                self._write((name, key), None)
        if table.moved and (order := tuple(table)) != self._order(name):
            before.orders[name] = self._order(name)
            self._write_order(name, order)
        table.settle()

    def _take_in(self, place: Place, codec: Codec[Any], value: Any, before: Snapshot) -> None:
        text, old = codec.text(value), self._text(place)
        if text == old:
            return
        # A model does not check what is assigned to it: an int may stand where the state says float. What
        # is kept is what loading the state would give, or a loaded state could behave differently.
        proper = codec.parse(text)
        canonical = codec.text(proper)
        before.texts[place] = old
        if canonical != old:
            self._write(place, canonical)
        name, key = place
        if name in self._tables:
            self._tables[name].keep(key, proper)
        else:
            self.root.__dict__[name] = proper

    def _check_key(self, name: str, key: Any) -> None:
        codec = self.original.shape.keys[name]
        same = codec.parse(pydantic_core.to_json(key))
        if same != key or type(same) is not type(key):
            raise TypeError(f"{name}: the key {key!r} would be read back as {same!r}")

    def _take_over(self, name: str, table: RecordTable) -> None:
        """The tool put another dict in the table's place."""
        new = self.root.__dict__[name]
        if not isinstance(new, dict):
            raise TypeError(f"{name}: expected a dict, found {type(new).__name__}")
        new = dict(new)
        self.root.__dict__[name] = table
        for key in [key for key in table if key not in new]:
            del table[key]
        table.update(new)
        table.arrange(new)
        table.moved = True

    def _restore_live(self) -> None:
        """Make the live objects again what the texts say, after a call that left something impossible."""
        for name, table in self._tables.items():
            self.root.__dict__[name] = table
            for key in table.touched:
                self._set_live((name, key), self._text((name, key)))
            if table.moved:
                table.arrange(self._order(name))
            table.settle()
        for name in self.original.shape.values:
            self._set_live((name, None), self._text((name, None)))

    def _write(self, place: Place, text: Text) -> None:
        """Keep a text, and the digest in step with it."""
        old = self._text(place)
        gained, lost = (0 if t is None else _weigh(place, t) for t in (text, old))
        self.digest = (self.digest + gained - lost) % _MODULUS
        if text == self.original.texts.get(place):
            del self._texts[place]
        else:
            self._texts[place] = text

    def _write_order(self, name: str, order: tuple[Any, ...]) -> None:
        unmoved = self.original.order_weights[name]
        lost = self._order_weights.pop(name, unmoved)
        if order == self.original.orders[name]:
            del self._orders[name]
            gained = unmoved
        else:
            gained = self._order_weights[name] = _weigh_order(name, order)
            self._orders[name] = order
        self.digest = (self.digest + gained - lost) % _MODULUS

    def _set_live(self, place: Place, text: Text) -> None:
        """Make the live object at a place what the text says."""
        name, key = place
        shape, original = self.original.shape, self.original
        if name in shape.values:
            if text == original.texts[place]:
                self.root.__dict__[name] = self._values[name]
                if not shape.values[name].fixed:
                    self._borrowed.add(name)
            else:
                self.root.__dict__[name] = shape.values[name].parse(text or b"null")
            self._seen[name] = self.root.__dict__[name]
        elif text is None:
            self._tables[name].drop(key)
        elif text == original.texts.get(place):
            self._tables[name].lend(key, original.tables[name][key])
        else:
            self._tables[name].keep(key, shape.tables[name].parse(text))


def _weigh(place: Place, text: bytes) -> int:
    name, key = place
    head = f"{name}\0" if key is None else f"{name}\0{key}\0"
    return int.from_bytes(blake2b(head.encode() + text, digest_size=16).digest(), "big")


def _weigh_order(name: str, order: tuple[Any, ...]) -> int:
    return _weigh((name, None), "\0".join(map(str, order)).encode())
