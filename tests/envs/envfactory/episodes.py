"""A small toolkit and hand-written tasks over it, for several tests."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pydantic

from envrl.envs.envfactory import ToolError, Toolkit, next_id, tool
from envrl.envs.envfactory.task import Task, write_folder

SOURCE = f"{__name__}:Shelf"
STATE = {
    "books": {
        "B1": {"title": "Dune", "owner": None, "price": 1250.5},
        "B2": {"title": "Emma", "owner": "ann", "price": 8.0},
    },
    "notes": {},
}  # fmt: skip


class Book(pydantic.BaseModel):
    title: str
    owner: str | None
    price: float


class ShelfState(pydantic.BaseModel):
    books: dict[str, Book]
    notes: dict[str, str]
    airplane_mode: bool = True


class Shelf(Toolkit):
    """Books to lend."""

    State = ShelfState
    policy = "A book is lent to one person at a time."
    unordered = ("notes",)

    @classmethod
    def sample_state(cls, rng: np.random.Generator) -> ShelfState:
        return ShelfState.model_validate(STATE)

    @tool(effect="read")
    def find_book(self, title: str) -> dict[str, Any]:
        """Find a book."""
        for key, book in self.state.books.items():
            if book.title == title:
                return {"book": key, **book.model_dump()}
        raise ToolError(f"no book is called {title!r}")

    @tool(effect="write")
    def lend_book(self, book: str, to: str) -> str:
        """Lend a book."""
        if book not in self.state.books:
            raise ToolError(f"no book {book!r}")
        if self.state.books[book].owner:
            raise ToolError(f"{book} is lent already")
        self.state.books[book].owner = to
        return f"{book} is lent to {to}"

    @tool(effect="write")
    def add_note(self, text: str) -> str:
        """Write a note."""
        key = next_id("N", self.state.notes)
        self.state.notes[key] = text
        return key

    @tool(effect="write")
    def set_airplane_mode(self, on: bool) -> str:
        """Switch the airplane mode of the user's phone."""
        self.state.airplane_mode = on
        return "on" if on else "off"


USE = [{"name": "shelf", "source": SOURCE, "state": "s"}]
LEND: dict[str, Any] = {
    "id": "lend",
    "toolkits": USE,
    "turns": [{"text": "Lend Dune to bo and tell me what it costs."}],
    "reference": [
        {"tool": "find_book", "arguments": {"title": "Dune"}},
        {"tool": "lend_book", "arguments": {"book": "B1", "to": "bo"}},
        {"say": "It costs $1,250.50."},
    ],
    "goal": [{"path": ["shelf", "books", "B1", "owner"], "op": "set", "value": "bo"}],
    "outputs": [{"value": 1250.5}, {"value": "B1", "say": False}],
}
#: the user keeps the title back, has a second wish, and has a phone of their own
TALK: dict[str, Any] = {
    "id": "talk",
    "split": "held_out",
    "type": "multi_turn",
    "toolkits": USE,
    "policy": "Be brief.",
    "turns": [
        {
            "text": "Lend a book to cy.",
            "slots": [
                {"name": "title", "ask": ["title", "which book"], "reply": "Dune."},
                {"name": "phone", "ask": ["airplane mode"], "reply": "I try.",
                 "calls": [{"tool": "set_airplane_mode", "arguments": {"on": False}}]},
            ],
        },
        {"text": "And write the note: back on Monday."},
    ],
    "reference": [
        {"say": "What is the title?"},
        {"say": "Please switch airplane mode off."},
        {"tool": "find_book", "arguments": {"title": "Dune"}},
        {"tool": "lend_book", "arguments": {"book": "B1", "to": "cy"}},
        {"say": "Done."},
        {"tool": "add_note", "arguments": {"text": "back on Monday"}},
        {"say": "Noted."},
    ],
    "goal": [
        {"path": ["shelf", "books", "B1", "owner"], "op": "set", "value": "cy"},
        {"path": ["shelf", "airplane_mode"], "op": "set", "value": False},
        {"path": ["shelf", "notes", "N1"], "op": "add", "value": "back on Monday"},
    ],
    "outputs": [{"value": "Dune", "say": False}, {"value": "B1", "say": False}],
    "unordered": ["shelf.notes"],
    "user_tools": ["set_airplane_mode"],
}  # fmt: skip


def folder(path: Path, *tasks: Mapping[str, Any]) -> str:
    """A task folder with these tasks."""
    states: dict[str, tuple[str, Any]] = {"s": (SOURCE, STATE)}
    write_folder(path, [Task.model_validate(task) for task in tasks], states, {})
    return str(path)
