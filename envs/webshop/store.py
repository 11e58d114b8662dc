"""A catalogue on disk: its products, columns and search index, built once and then mapped into memory.

A folder holds ``records`` (one JSON array a product, one after the other), ``columns`` (where each record
ends, and `envrl.envs.webshop.columns`) and the search index. The folder is filled under a temporary name and
renamed, so that of several processes that build at the same time each sees a whole catalogue.
"""

import contextlib
import json
import mmap
import os
import shutil
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, overload

import numpy as np
from numpy.typing import NDArray

from envrl.envs.errors import DataNotFound, InvalidData
from envrl.envs.webshop.array_file import VERIFIED_BYTES, ArrayFile, read_arrays
from envrl.envs.webshop.columns import ARRAYS, Columns, ColumnsBuilder, columns_of_arrays
from envrl.envs.webshop.index import INDEX_FILE, SearchIndex
from envrl.envs.webshop.index import KIND as INDEX_KIND
from envrl.envs.webshop.indexing import build_index
from envrl.envs.webshop.product import HumanInstruction, Product
from envrl.envs.webshop.search import document

#: raise when records or columns change their form, or cleaning its rules
KIND = "webshop-products/2"
_RECORDS, _COLUMNS = "records", "columns"
#: products that stay decoded; one takes some 8 KB
_KEPT_PRODUCTS = 4096


class StoredProducts(Sequence[Product]):
    """The products of a stored catalogue, decoded when they are asked for.

    Args:
        path: the file of records.
        ends: int64, where each record ends.
        checksum: of the file, in hexadecimal; compared where the file is below 64 MiB.

    Raises:
        InvalidData: the file is damaged.
    """

    def __init__(self, path: Path, ends: NDArray[np.int64], checksum: str) -> None:
        size = int(ends[-1]) if len(ends) else 0
        with path.open("rb") as file:
            found = os.fstat(file.fileno()).st_size
            if found != size:
                raise InvalidData(f"{path}: expected {size} bytes, found {found}: delete its folder")
            self._records = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        if size < VERIFIED_BYTES and blake2b(self._records, digest_size=16).hexdigest() != checksum:
            raise InvalidData(f"{path}: the content does not fit its checksum: delete its folder")
        self._path, self._ends = path, ends
        self._product = lru_cache(_KEPT_PRODUCTS)(self._decode)

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, row: int) -> Product: ...
    @overload
    def __getitem__(self, row: slice) -> list[Product]: ...
    def __getitem__(self, row: int | slice) -> Product | list[Product]:
        if isinstance(row, slice):
            return [self[place] for place in range(*row.indices(len(self)))]
        if not -len(self) <= row < len(self):
            raise IndexError(f"expected a row below {len(self)}, got {row}")
        return self._product(row % len(self))

    def __iter__(self) -> Iterator[Product]:
        return map(self._decode, range(len(self)))  # past the cache, which a pass over everything would flush

    def _decode(self, row: int) -> Product:
        start = int(self._ends[row - 1]) if row else 0
        try:
            return decode(self._records[start : int(self._ends[row])])
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise InvalidData(
                f"{self._path}: record {row} is damaged ({error}): delete its folder, it is made anew"
            ) from error


def encode(product: Product) -> bytes:
    """A product as a record."""
    fields: list[Any] = [
        product.asin,
        product.title,
        product.description,
        product.bullets,
        product.category,
        product.product_category,
        product.query,
        product.attributes,
        product.options,
        product.pricing,
        product.image,
        product.option_images,
        product.instruction,
        product.instruction_attributes,
        [(human.text, human.attributes, human.options) for human in product.human_instructions],
        product.title_nouns,
    ]
    return json.dumps(fields, separators=(",", ":")).encode()


def decode(record: bytes) -> Product:
    """The product of a record."""
    fields = json.loads(record)
    return Product(
        asin=fields[0],
        title=fields[1],
        description=fields[2],
        bullets=tuple(fields[3]),
        category=fields[4],
        product_category=fields[5],
        query=fields[6],
        attributes=tuple(fields[7]),
        options={name: tuple(values) for name, values in fields[8].items()},
        pricing=tuple(fields[9]),
        image=fields[10],
        option_images=fields[11],
        instruction=fields[12],
        instruction_attributes=tuple(fields[13]),
        human_instructions=tuple(
            HumanInstruction(text, tuple(attributes), tuple(options))
            for text, attributes, options in fields[14]
        ),
        title_nouns=None if fields[15] is None else tuple(fields[15]),
    )


def build_store(products: Iterable[Product], folder: Path, source: str) -> None:
    """Write the catalogue of ``products`` to ``folder``, which must not be there or be of no use any more.

    Args:
        products: read once, front to back; one at a time is in memory.
        folder: where the catalogue goes.
        source: says what the products were read from, for `open_store` to compare.

    Raises:
        InvalidData: there are no products.
        OSError: the folder cannot be written.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        work = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
        stack.callback(shutil.rmtree, work, ignore_errors=True)
        work.chmod(0o755)
        builder, ends, checksum = ColumnsBuilder(), array("q"), blake2b(digest_size=16)
        with (work / _RECORDS).open("wb") as records, ArrayFile(work / INDEX_FILE, INDEX_KIND) as file:
            index = build_index(_writing(products, records, builder, ends, checksum), file.allocate)
            file.finish(index.facts(source))
        columns = builder.finish()
        with ArrayFile(work / _COLUMNS, KIND) as file:
            for name in ARRAYS:
                values = getattr(columns, name)
                file.allocate(name, len(values), values.dtype)[...] = values
            file.allocate("ends", len(ends), np.dtype(np.int64))[...] = ends
            facts = {"source": source, "words": dict(columns.words), "records": checksum.hexdigest()}
            file.finish(facts)
        _put_in_place(work, folder, source)


def remove_unfinished(folder: Path) -> None:
    """Remove what builds that were killed have left beside ``folder``; only while no other process builds there."""
    for left in folder.parent.glob(f".{folder.name}-*"):
        shutil.rmtree(left, ignore_errors=True)


def _writing(
    products: Iterable[Product],
    records: BinaryIO,
    builder: ColumnsBuilder,
    ends: "array[int]",
    checksum: blake2b,
) -> Iterator[tuple[str, str]]:
    """Hand the products' documents on to the index while everything else is written down."""
    for product in products:
        record = encode(product)
        records.write(record)
        checksum.update(record)
        ends.append(records.tell())
        builder.add(product)
        yield product.asin, document(product)


def _put_in_place(work: Path, folder: Path, source: str) -> None:
    try:
        work.rename(folder)
    except OSError:  # a folder of this name is there: another process was faster, or it is an old one
        try:
            open_store(folder, source)
        except (InvalidData, DataNotFound, OSError):
            shutil.rmtree(folder, ignore_errors=True)
            work.rename(folder)


def open_store(folder: Path, source: str) -> tuple[StoredProducts, Columns, SearchIndex]:
    """The products, columns and search index of a stored catalogue, mapped and not read.

    Raises:
        FileNotFoundError: there is none.
        DataNotFound: a part of it is missing.
        InvalidData: it is damaged, of another version or made from other files.
    """
    if not (folder / _COLUMNS).is_file():
        raise FileNotFoundError(f"no stored catalogue in {folder}")
    arrays, facts = read_arrays(folder / _COLUMNS, KIND)
    if facts["source"] != source:
        raise InvalidData(f"{folder}: expected a catalogue of the present files, found one of other files")
    products = StoredProducts(folder / _RECORDS, arrays["ends"], facts["records"])
    return products, columns_of_arrays(arrays, facts["words"]), SearchIndex.load(folder, source)
