"""Toolkits with one bug each, and the gate that must find it. `SOUND` has none."""

import os
import shutil
import socket
import sqlite3
import threading
import uuid
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pydantic

from envrl.envs.envfactory import ToolError, Toolkit, tool


class Item(pydantic.BaseModel):
    label: str
    count: int
    tags: list[str] = []


class StockState(pydantic.BaseModel):
    items: dict[str, Item]
    note: str = ""


def sampled(rng: np.random.Generator) -> StockState:
    labels = ["bolt", "cable", "drill", "fuse", "gasket", "hinge", "joint", "knob"]
    numbers = iter(rng.permutation(800) + 100)
    items = {
        f"I{int(n)}": Item(label=label, count=int(rng.integers(15, 90)))
        for n, label in zip(numbers, labels, strict=False)
    }
    return StockState(items=items)


class Sound(Toolkit):
    """A shelf of items."""

    State = StockState

    @classmethod
    def sample_state(cls, rng: np.random.Generator) -> StockState:
        return sampled(rng)

    @tool(effect="read")
    def find_item(self, label: str) -> dict[str, Any]:
        """Find an item by its label.

        Args:
            label: name of the item
        """
        for key, item in self.state.items.items():
            if item.label == label:
                return {"item": key, **item.model_dump()}
        raise ToolError(f"no item is labelled {label!r}")

    @tool(effect="read")
    def list_items(self) -> list[dict[str, Any]]:
        """List all items."""
        return [{"item": key, **item.model_dump()} for key, item in self.state.items.items()]

    @tool(effect="write")
    def take_items(self, item: str, count: int) -> dict[str, Any]:
        """Take some of an item.

        Args:
            item: id of the item
            count: how many
        """
        found = self._item(item)
        if not 0 < count <= found.count:
            raise ToolError(f"cannot take {count} of {found.count}")
        found.count -= count
        return {"item": item, **found.model_dump()}

    @tool(effect="write")
    def tag_item(self, item: str, tag: str) -> dict[str, Any]:
        """Put a tag on an item.

        Args:
            item: id of the item
            tag: a word
        """
        found = self._item(item)
        if not tag.strip():
            raise ToolError("the tag is empty")
        found.tags.append(tag)
        return {"item": item, **found.model_dump()}

    def _item(self, item: str) -> Item:
        if item not in self.state.items:
            raise ToolError(f"no item {item!r}")
        found: Item = self.state.items[item]
        return found


class SharedClassState(Sound):
    """Counts takings on the class."""

    taken: ClassVar[dict[str, int]] = {}

    @tool(effect="write")
    def take_items(self, item: str, count: int) -> dict[str, Any]:
        """Take some of an item."""
        result = Sound.take_items(self, item, count)
        self.taken[item] = self.taken.get(item, 0) + count
        return {**result, "taken": self.taken[item]}


REGISTRY: list[str] = []


class ModuleSingleton(Sound):
    """Keeps tags in the module."""

    @tool(effect="write")
    def tag_item(self, item: str, tag: str) -> dict[str, Any]:
        """Put a tag on an item."""
        result = Sound.tag_item(self, item, tag)
        REGISTRY.append(tag)
        return {**result, "tags_in_use": len(REGISTRY)}


class RandomIds(Sound):
    """Names receipts with uuid4."""

    @tool(effect="write")
    def take_items(self, item: str, count: int) -> dict[str, Any]:
        """Take some of an item."""
        return {**Sound.take_items(self, item, count), "receipt": str(uuid.uuid4())}


class WallClock(Sound):
    """Stamps tags with the time of day."""

    @tool(effect="write")
    def tag_item(self, item: str, tag: str) -> dict[str, Any]:
        """Put a tag on an item."""
        return {**Sound.tag_item(self, item, tag), "at": datetime.now().isoformat()}


class CoarseClock(Sound):
    """Reads the clock and shows nothing of it that two quick runs could tell apart."""

    @tool(effect="read")
    def list_items(self) -> list[dict[str, Any]]:
        """List all items."""
        return [{**row, "year": datetime.now().year} for row in Sound.list_items(self)]


class Network(Sound):
    """Asks a server for the price."""

    @tool(effect="read")
    def find_item(self, label: str) -> dict[str, Any]:
        """Find an item by its label."""
        found = Sound.find_item(self, label)
        try:
            socket.create_connection(("127.0.0.1", 9), timeout=0.1).close()
        except OSError:
            found["price"] = "unknown"
        return found


class ClockInAThread(Sound):
    """Lets somebody else read the clock."""

    @tool(effect="read")
    def list_items(self) -> list[dict[str, Any]]:
        """List all items."""
        reader = threading.Thread(target=datetime.now)
        reader.start()
        reader.join()
        return Sound.list_items(self)


class SampledToday(Sound):
    """Begins with the day on which it is sampled, which two runs of one day agree on."""

    @classmethod
    def sample_state(cls, rng: np.random.Generator) -> StockState:
        return sampled(rng).model_copy(update={"note": f"{datetime.now():%Y-%m-%d}"})


class Journal(Sound):
    """Writes what is taken into a file, without `open`."""

    @tool(effect="write")
    def take_items(self, item: str, count: int) -> dict[str, Any]:
        """Take some of an item."""
        result = Sound.take_items(self, item, count)
        try:
            os.close(os.open(os.devnull, os.O_WRONLY))
        except OSError:
            result["journal"] = "closed"
        return result


class Database(Sound):
    """Writes what is taken into a database."""

    @tool(effect="write")
    def take_items(self, item: str, count: int) -> dict[str, Any]:
        """Take some of an item."""
        result = Sound.take_items(self, item, count)
        try:
            sqlite3.connect("").close()
        except OSError:
            result["database"] = "closed"
        return result


class ReadsTheMachine(Sound):
    """Says which machine it is on."""

    @tool(effect="read")
    def list_items(self) -> list[dict[str, Any]]:
        """List all items."""
        return [{**row, "roots": len(list(Path("/").iterdir()))} for row in Sound.list_items(self)]


class ReadsTheEnvironment(Sound):
    """Says who is at home."""

    @tool(effect="read")
    def list_items(self) -> list[dict[str, Any]]:
        """List all items."""
        return [{**row, "home": os.getenv("HOME")} for row in Sound.list_items(self)]


class EndsTheProcess(Sound):
    """Leaves when an item is not there."""

    @tool(effect="write")
    def tag_item(self, item: str, tag: str) -> dict[str, Any]:
        """Put a tag on an item."""
        if item not in self.state.items:
            raise SystemExit(3)
        return Sound.tag_item(self, item, tag)


class ReadsItsOwn(Sound):
    """Reads a file beside it, and calls what looks up the environment for itself; that is sound."""

    @tool(effect="read")
    def list_items(self) -> list[dict[str, Any]]:
        """List all items."""
        shutil.get_terminal_size()  # which looks up COLUMNS
        own = len(Path(__file__).read_text()) > 0
        return [{**row, "own": own} for row in Sound.list_items(self)]


class ChangedOnError(Sound):
    """Takes before it looks."""

    @tool(effect="write")
    def take_items(self, item: str, count: int) -> dict[str, Any]:
        """Take some of an item."""
        found = self._item(item)
        found.count -= count
        if found.count < 0 or count <= 0:
            raise ToolError("not so many")
        return {"item": item, **found.model_dump()}


class WrongError(Sound):
    """Raises KeyError."""

    @tool(effect="write")
    def tag_item(self, item: str, tag: str) -> dict[str, Any]:
        """Put a tag on an item."""
        self.state.items[item].tags.append(tag)
        return {"item": item}


class ReaderThatWrites(Sound):
    """Counts readings."""

    @tool(effect="read")
    def list_items(self) -> list[dict[str, Any]]:
        """List all items."""
        self.state.note += "."
        return Sound.list_items(self)


class LosesAField(Sound):
    """Does not save tags."""

    def save(self) -> dict[str, Any]:
        data = Sound.save(self)
        for item in data["items"].values():
            item.pop("tags")
        return data


class RemembersOnSelf(Sound):
    """Keeps the last item beside the state."""

    @tool(effect="write")
    def tag_item(self, item: str, tag: str) -> dict[str, Any]:
        """Put a tag on an item."""
        result = {**Sound.tag_item(self, item, tag), "before": getattr(self, "last", None)}
        self.last = item
        return result


class NeverSucceeds(Sound):
    """Has a tool that refuses everything."""

    @tool(effect="write")
    def recount_item(self, item: str, count: int) -> str:
        """Set the count of an item."""
        found = self._item(item)
        if found.count >= 0:
            raise ToolError("recounting is closed")
        found.count = count
        return "ok"


class HashOrder(Sound):
    """Lists items in the order of a set."""

    @tool(effect="read")
    def list_items(self) -> list[dict[str, Any]]:
        """List all items."""
        return [{"item": key, **self.state.items[key].model_dump()} for key in set(self.state.items)]


class NoHints(Sound):
    """Has a parameter without a type."""

    @tool(effect="read")
    def find_item(self, label) -> dict[str, Any]:  # type: ignore[no-untyped-def,override]
        """Find an item by its label."""
        return Sound.find_item(self, label)


class Untestable(Sound):
    """Has a reading tool whose answer says nothing that a task could ask for."""

    @tool(effect="read")
    def is_open(self) -> bool:
        """Tell whether the shelf is open."""
        return len(self.state.items) > 0


#: class -> (gate, tool that the report must name; None for whichever)
PLANTED: dict[type[Toolkit], tuple[str, str | None]] = {
    SharedClassState: ("isolation", "take_items"),
    ModuleSingleton: ("isolation", "tag_item"),
    RandomIds: ("purity", "take_items"),
    WallClock: ("purity", "tag_item"),
    CoarseClock: ("purity", "list_items"),
    ClockInAThread: ("purity", "list_items"),
    SampledToday: ("purity", "sample_state"),
    Journal: ("purity", "take_items"),
    Database: ("purity", "take_items"),
    Network: ("purity", "find_item"),
    ReadsTheMachine: ("purity", "list_items"),
    ReadsTheEnvironment: ("purity", "list_items"),
    ChangedOnError: ("error_contract", "take_items"),
    WrongError: ("error_contract", "tag_item"),
    EndsTheProcess: ("error_contract", "tag_item"),
    ReaderThatWrites: ("error_contract", "list_items"),
    LosesAField: ("fixpoint", "tag_item"),
    RemembersOnSelf: ("fixpoint", "tag_item"),
    NeverSucceeds: ("coverage", "recount_item"),
    HashOrder: ("determinism", "list_items"),
    NoHints: ("schema", None),
    Untestable: ("mutation", "is_open"),
}
