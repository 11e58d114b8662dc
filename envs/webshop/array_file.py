"""Named numpy arrays and a few facts in one file that is memory-mapped.

One file, not a folder of them: it is replaced in one step, so that readers see the old state or the new one,
never a mixture. Layout: a prefix of 64 bytes (magic, where the table is, a checksum of all that follows), the
arrays at multiples of 64 bytes, a table in JSON. All numbers are little-endian.
"""

import json
import os
import struct
import tempfile
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envrl.envs.errors import DataNotFound, InvalidData

#: raise when the layout changes
FORMAT = 1
_MAGIC = b"envrl arrays\n\x00\x00\x00"
#: magic, format, begin and end of the table, checksum
_PREFIX = struct.Struct("<16sQQQ16s")
_ALIGNED = 64
#: files below this size are checked against their checksum whenever they are opened
VERIFIED_BYTES = 64 << 20


class ArrayFile:
    """Writes arrays to a temporary file beside ``path``; `finish` moves it into place.

    Args:
        path: the file to write.
        kind: what the arrays are, with a version: readers must name the same.

    Used in a ``with`` statement; left without `finish`, also by an error, it leaves nothing behind.

    Raises:
        OSError: the folder cannot be written.
    """

    def __init__(self, path: Path, kind: str) -> None:
        self._path = path
        self._kind = kind
        self._table: dict[str, tuple[str, int, int]] = {}
        self._arrays: list[np.memmap[Any, Any]] = []

        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
        os.close(handle)
        self._temporary = Path(name)
        self._end = _ALIGNED

    def __enter__(self) -> "ArrayFile":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._temporary.unlink(missing_ok=True)

    def allocate(self, name: str, size: int, kind: np.dtype[Any]) -> NDArray[Any]:
        """An array of shape (size,) in the file, to be filled."""
        self._table[name] = (kind.newbyteorder("<").str, size, self._end)
        if not size:
            return np.empty(0, kind)
        start, self._end = self._end, _aligned(self._end + size * kind.itemsize)
        os.truncate(self._temporary, self._end)
        values = np.memmap(self._temporary, kind.newbyteorder("<"), "r+", start, (size,))
        self._arrays.append(values)
        return values

    def finish(self, facts: dict[str, Any]) -> None:
        """Write the table and the checksum and move the file into place.

        Args:
            facts: JSON-able, handed back by `read_arrays`.
        """
        for values in self._arrays:
            values.flush()
        table = {"kind": self._kind, "facts": facts, "arrays": self._table}
        text = json.dumps(table, sort_keys=True).encode()
        with self._temporary.open("r+b") as file:
            file.seek(self._end)
            file.write(text)
            file.flush()
            digest = _checksum(self._temporary)
            file.seek(0)
            file.write(_PREFIX.pack(_MAGIC, FORMAT, self._end, self._end + len(text), digest))
            file.flush()
            os.fsync(file.fileno())
        self._temporary.chmod(0o644)
        os.replace(self._temporary, self._path)  # noqa: PTH105 - the two names are in one folder


def read_arrays(
    path: Path, kind: str, verify: bool | None = None
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays of a file, mapped read-only, and the facts beside them.

    Args:
        path: the file.
        kind: what it must hold.
        verify: compare the checksum, which reads the whole file; None does so below 64 MiB.

    Raises:
        DataNotFound: there is no such file.
        InvalidData: it is cut off, damaged, or of another kind or format.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_PREFIX.size)
            size = os.fstat(file.fileno()).st_size
            if len(head) < _PREFIX.size or not head.startswith(_MAGIC):
                raise InvalidData(f"{path}: expected a file of arrays, found something else: delete the file")
            _, version, begin, end, digest = _PREFIX.unpack(head)
            if version != FORMAT:
                raise InvalidData(
                    f"{path}: expected format {FORMAT}, found format {version}: delete the file, it is "
                    "made anew"
                )
            if size != end or not _ALIGNED <= begin <= end:
                raise InvalidData(
                    f"{path}: expected {end} bytes, found {size}: delete the file, it is made anew"
                )
            if (size < VERIFIED_BYTES if verify is None else verify) and _checksum(path) != digest:
                raise InvalidData(
                    f"{path}: the content does not fit its checksum: delete the file, it is made anew"
                )
            file.seek(begin)
            table = json.loads(file.read(end - begin))
    except FileNotFoundError:
        raise DataNotFound(f"expected {path}, found no such file: it is made from the catalogue") from None
    except ValueError as error:
        raise InvalidData(f"{path}: its table cannot be read ({error}): delete the file") from error
    if table["kind"] != kind:
        raise InvalidData(f"{path}: expected {kind}, found {table['kind']}: delete the file, it is made anew")
    arrays: dict[str, NDArray[Any]] = {}
    for name, (dtype, length, start) in table["arrays"].items():
        mapped = np.memmap(path, dtype, "r", start, (length,)) if length else np.empty(0, dtype)
        # a plain array over the map: indexing a memmap makes a memmap again, at ten times the cost
        arrays[name] = np.asarray(mapped)
    return arrays, table["facts"]


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNED) * _ALIGNED


def _checksum(path: Path) -> bytes:
    digest = blake2b(digest_size=16)
    with path.open("rb") as file:
        file.seek(_ALIGNED)
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.digest()
