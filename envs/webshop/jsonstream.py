"""Read a JSON file that is one huge array or object, item by item, in the memory of a few items.

The shop's full product file has five gigabytes in one array; `json.load` would take thirty in memory.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from envrl.envs.errors import DataNotFound, InvalidData

_BLOCK = 1 << 20
_BLANKS = re.compile(r"[ \t\n\r]*")
#: characters after a number that the decoder may leave over because the rest of it is not there yet
_NUMBER_TAIL = 2
#: characters of the longest word or escape that may be cut: "-Infinity", and a pair of escapes
_LONGEST_WORD = 16
#: characters; a product has thousands, and a lost quotation mark must not read gigabytes
_LARGEST_VALUE = 1 << 26
_decode = json.JSONDecoder().raw_decode


def stream_array(path: Path) -> Iterator[Any]:
    """The items of the array that the file ``path`` holds, in order.

    Raises:
        DataNotFound: there is no such file.
        InvalidData: the file is not an array, is cut short or broken; says at which character.
    """
    reader = _Reader(path)
    reader.expect("[")
    if reader.take("]"):
        return reader.finish()
    while True:
        yield reader.value()
        if reader.take("]"):
            return reader.finish()
        reader.expect(",")


def stream_object(path: Path) -> Iterator[tuple[str, Any]]:
    """The (key, value) pairs of the object that the file ``path`` holds, in order, repeated keys included.

    Raises:
        DataNotFound: there is no such file.
        InvalidData: the file is not an object, is cut short or broken; says at which character.
    """
    reader = _Reader(path)
    reader.expect("{")
    if reader.take("}"):
        return reader.finish()
    while True:
        key = reader.value()
        if not isinstance(key, str):
            reader.fail("a key")
        reader.expect(":")
        yield key, reader.value()
        if reader.take("}"):
            return reader.finish()
        reader.expect(",")


class _Reader:
    """A window on the file that moves forward; ``_seen`` characters lie before it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = path.open(encoding="utf-8")
        except FileNotFoundError:
            raise DataNotFound(f"expected a JSON file at {path}, found nothing there") from None
        self._window, self._at, self._seen, self._ended = "", 0, 0, False

    def value(self) -> Any:
        """The next JSON value."""
        self._skip_blanks()
        while True:
            try:
                value, end = _decode(self._window, self._at)
                # a number at the end of the window may go on after it: 1, 1., 1.5e
                if (
                    self._ended
                    or len(self._window) - end > _NUMBER_TAIL
                    or not isinstance(value, int | float)
                ):
                    self._at = end
                    return value
            except json.JSONDecodeError as error:
                # near the end of the window or in an open string it may only be cut; elsewhere it is broken
                cut = error.pos > len(self._window) - _LONGEST_WORD or error.msg.startswith("Unterminated")
                if self._ended or not cut or len(self._window) - self._at > _LARGEST_VALUE:
                    self.fail("a JSON value", self._seen + error.pos, error.msg)
            except (
                RecursionError,
                ValueError,
            ) as error:  # sound JSON that no product is: nested or long numbers
                self.fail("a JSON value", reason=str(error))
            self._more()

    def take(self, mark: str) -> bool:
        """Whether ``mark`` comes next; it is consumed."""
        self._skip_blanks()
        if self._at < len(self._window) and self._window[self._at] == mark:
            self._at += 1
            return True
        return False

    def expect(self, mark: str) -> None:
        """Consume ``mark`` or fail."""
        if not self.take(mark):
            self.fail(repr(mark))

    def finish(self) -> None:
        """Nothing but blanks may follow."""
        self._skip_blanks()
        if self._at < len(self._window):
            self.fail("the end of the file")
        self._file.close()

    def fail(self, expected: str, position: int | None = None, reason: str = "") -> None:
        """Raise InvalidData about the present place."""
        here = self._seen + self._at if position is None else position
        ended = self._ended and here >= self._seen + len(self._window)
        found = "the file ends there" if ended else f"found {self._window[here - self._seen :][:20]!r}"
        self._file.close()
        raise InvalidData(
            f"{self._path}: expected {expected} at character {here}, {found}"
            f"{f' ({reason})' if reason else ''}; the file is cut short or broken: get it again"
        )

    def _skip_blanks(self) -> None:
        while True:
            match = _BLANKS.match(self._window, self._at)
            assert match is not None, "the pattern matches the empty text"
            self._at = match.end()
            if self._at < len(self._window) or self._ended:
                return
            self._more()

    def _more(self) -> None:
        try:
            # a block grows with what could not be decoded, so that a huge value is not tried too often
            block = self._file.read(max(_BLOCK, len(self._window) - self._at))
        except UnicodeDecodeError as error:
            self._file.close()
            raise InvalidData(f"{self._path}: expected UTF-8, found a broken byte ({error})") from error
        self._ended = not block
        self._seen += self._at
        self._window, self._at = self._window[self._at :] + block, 0
