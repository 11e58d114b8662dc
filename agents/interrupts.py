"""Ctrl-C in the middle of long work: noted, and acted on where the work can stop."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C is noted and acted on between updates; the second one acts at once."""
    hits = 0

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal hits
        hits += 1
        if hits > 1:
            raise KeyboardInterrupt

    try:
        previous = signal.signal(signal.SIGINT, note)
    except ValueError:  # not the main thread: the caller handles signals
        yield lambda: False
        return
    try:
        yield lambda: hits > 0
    finally:
        signal.signal(signal.SIGINT, previous)
