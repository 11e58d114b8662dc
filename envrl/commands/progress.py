"""How long work shows itself: a rich progress bar on a terminal, one log line a stage elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class Bar:
    """One stage of work. On a terminal it draws; elsewhere it only counts."""

    def __init__(self, drawn: Progress | None, label: str) -> None:
        self._drawn, self._label = drawn, label
        self._task = drawn.add_task(label, total=None, note="") if drawn else None
        self.done = 0

    def to(self, done: int, total: int | None) -> None:
        """``done`` of ``total`` (None: not known) is behind us."""
        self.done = done
        if self._drawn is not None and self._task is not None:
            self._drawn.update(self._task, completed=done, total=total)

    def advance(self, total: int | None) -> None:
        """One more of ``total``."""
        self.to(self.done + 1, total)

    def step(self, text: str) -> None:
        """The next step of the stage begins; a line of its own where nothing is drawn."""
        self.note(text)
        if self._drawn is None:
            print(f"{self._label}: {text} ...", file=sys.stderr, flush=True)
        self.advance(None)

    def note(self, text: str) -> None:
        """A few words beside the bar; shown on a terminal only."""
        if self._drawn is not None and self._task is not None:
            self._drawn.update(self._task, note=text)


@contextmanager
def progress_bar(label: str, unit: str) -> Iterator[Bar]:
    """A stage of work called ``label`` that counts ``unit`` ("bytes" is shown in MB).

    Both the bar and the log lines go to stderr, so that stdout holds results only.
    """
    console = Console(stderr=True)
    started = time.monotonic()
    if console.is_terminal:
        count: ProgressColumn = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            count,
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, TextColumn("{task.fields[note]}"), console=console) as drawn:
            bar = Bar(drawn, label)
            yield bar
        return
    print(f"{label} ...", file=sys.stderr, flush=True)
    bar = Bar(None, label)
    yield bar
    print(f"{label}: {bar.done} {unit} in {time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)
