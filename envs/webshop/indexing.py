"""Making a search index from a stream of documents, in bounded memory.

Documents come in blocks of a few million words. A block becomes a run: its postings in the order of terms and
documents, on disk once there is more than one. At the end the place of every posting is known from the counts
alone, and each run is spread over the final arrays, which may lie in a file. Memory holds one block, the
vocabulary and the ids.
"""

import tempfile
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envrl.envs.errors import InvalidData
from envrl.envs.webshop.analyser import Analyser
from envrl.envs.webshop.index import K1, B, SearchIndex, term_hash

#: words of a block; 12 bytes each while the block is made into a run
BLOCK_WORDS = 1 << 22
#: (name, shape, type) -> an array to fill
Allocate = Callable[[str, int, np.dtype[Any]], NDArray[Any]]


class _Vocabulary(dict[str, tuple[int, ...]]):
    """From a piece of text without blanks to the numbers of its terms, numbered as they come.

    The cache of pieces is emptied when it is full; the terms stay.
    """

    def __init__(self, capacity: int = 1 << 19) -> None:
        super().__init__()
        self.capacity = capacity
        self.terms: dict[str, int] = {}
        self._analyser = Analyser(0)

    def __missing__(self, piece: str) -> tuple[int, ...]:
        terms = self.terms
        numbers = tuple(terms.setdefault(term, len(terms)) for term in self._analyser.terms(piece))
        if len(piece) <= 64:
            if len(self) >= self.capacity:
                self.clear()
            self[piece] = numbers
        return numbers


@dataclass(frozen=True, slots=True)
class _Run:
    """Postings of a block in the order of terms, then documents; each array of shape (postings,)."""

    terms: NDArray[np.uint32]
    documents: NDArray[np.int32]
    counts: NDArray[np.int32]


class IndexBuilder:
    """Takes documents one by one; `finish` gives the index.

    Args:
        workspace: folder for runs; needed once there is more than one block.
        block_words: words of a block.
    """

    def __init__(self, workspace: Path, block_words: int = BLOCK_WORDS) -> None:
        self._workspace = workspace
        self._block_words = block_words
        self._vocabulary = _Vocabulary()
        self._asins: list[bytes] = []
        self._lengths = array("I")
        self._words = array("I")
        self._block_start = 0
        self._runs: list[Path] = []
        self._frequencies = np.zeros(0, np.int64)

    def add(self, asin: str, text: str) -> None:
        """Add a document."""
        before = len(self._words)
        self._words.extend(
            chain.from_iterable(map(self._vocabulary.__getitem__, text.lower().split())),
        )
        self._asins.append(asin.encode())
        self._lengths.append(len(self._words) - before)
        if len(self._words) >= self._block_words:
            run = self._close_block()
            path = self._workspace / f"run{len(self._runs)}.npy"
            np.save(path, np.stack([run.terms, run.documents, run.counts]).astype(np.uint32))
            self._runs.append(path)

    def _close_block(self) -> _Run:
        lengths = np.array(self._lengths[self._block_start :], np.int64)
        documents = np.repeat(np.arange(self._block_start, len(self._lengths), dtype=np.uint64), lengths)
        # term and document in one number: sorting is then one pass over plain integers
        keys = (np.array(self._words, np.uint64) << np.uint64(32)) | documents
        keys.sort()
        first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else keys[:0]
        first = first.astype(np.int64)
        counts = np.diff(np.append(first, len(keys))).astype(np.int32)
        keys = keys[first]
        terms = (keys >> np.uint64(32)).astype(np.uint32)
        frequencies = np.bincount(terms, minlength=len(self._vocabulary.terms))
        frequencies[: len(self._frequencies)] += self._frequencies
        self._frequencies = frequencies
        self._words = array("I")
        self._block_start = len(self._lengths)
        return _Run(terms, (keys & np.uint64(0xFFFFFFFF)).astype(np.int32), counts)

    def finish(self, allocate: Allocate) -> SearchIndex:
        """The index of all documents.

        Args:
            allocate: gives the arrays to fill, in memory or in a file.

        Raises:
            InvalidData: there is no document, or an id comes twice.
        """
        last = self._close_block()
        if not self._asins:
            raise InvalidData("expected products to index, found none: check the files of the catalogue")
        asins = np.array(self._asins)
        order = np.argsort(asins, kind="stable")
        twice = np.flatnonzero(asins[order][1:] == asins[order][:-1])
        if len(twice):
            asin = self._asins[order[twice[0]]].decode()
            raise InvalidData(f"expected each ASIN once, found {asin} more than once: drop duplicates first")
        stored = _fill(allocate, "asins", asins)
        ranks = np.empty(len(asins), np.int32)
        ranks[order] = np.arange(len(asins), dtype=np.int32)

        hashes = np.array([term_hash(term) for term in self._vocabulary.terms], np.uint64)
        by_hash = np.argsort(hashes)
        offsets = np.concatenate([[0], np.cumsum(self._frequencies[by_hash])]).astype(np.int64)
        free = np.empty(len(hashes), np.int64)
        free[by_hash] = offsets[:-1]  # next free place of each term, by the number of the term

        lengths = np.array(self._lengths, np.int64)
        scored = int((lengths > 0).sum())
        norms = _inverse_norms(lengths, scored)
        postings = int(offsets[-1])
        documents = allocate("documents", postings, np.dtype(np.int32))
        denominators = allocate("denominators", postings, np.dtype(np.float32))
        for run in chain(map(_read_run, self._runs), [last]):
            counts = np.bincount(run.terms, minlength=len(hashes))
            begins = np.cumsum(counts) - counts
            places = np.repeat(free - begins, counts) + np.arange(len(run.terms))
            documents[places] = run.documents
            denominators[places] = np.float32(1) + run.counts.astype(np.float32) * norms[run.documents]
            free += counts
        return SearchIndex(
            asins=stored,
            ranks=_fill(allocate, "ranks", ranks),
            hashes=_fill(allocate, "hashes", hashes[by_hash]),
            offsets=_fill(allocate, "offsets", offsets),
            documents=documents,
            denominators=denominators,
            scored_documents=scored,
        )


def build_index(
    documents: Iterable[tuple[str, str]],
    allocate: Allocate | None = None,
    block_words: int = BLOCK_WORDS,
) -> SearchIndex:
    """The search index of (id, text) pairs.

    Args:
        documents: read once, front to back.
        allocate: gives the arrays to fill; in memory where it is None.
        block_words: words held in memory at a time.

    Raises:
        InvalidData: there is no document, or an id comes twice.

    >>> index = build_index([("B1", "red shoes"), ("B2", "red hats")])
    >>> index.search("a red shoe")
    ['B1', 'B2']
    """
    with tempfile.TemporaryDirectory(prefix="envrl-index-") as workspace:
        builder = IndexBuilder(Path(workspace), block_words)
        for asin, text in documents:
            builder.add(asin, text)
        return builder.finish(allocate or _in_memory)


def _in_memory(name: str, size: int, kind: np.dtype[Any]) -> NDArray[Any]:
    return np.empty(size, kind)


def _fill(allocate: Allocate, name: str, values: NDArray[Any]) -> NDArray[Any]:
    stored = allocate(name, len(values), values.dtype)
    stored[...] = values
    return stored


def _read_run(path: Path) -> _Run:
    terms, documents, counts = np.load(path, mmap_mode="r")
    return _Run(terms, documents.astype(np.int32), counts.astype(np.int32))


def _inverse_norms(lengths: NDArray[np.int64], scored: int) -> NDArray[np.float32]:
    """1 / (k1 (1 - b + b length / average)) of each document, every step in single precision as in Lucene."""
    kept, which = np.unique(lengths, return_inverse=True)
    known = np.array([kept_length(int(length)) for length in kept], np.float32)
    average = np.float32(lengths.sum() / max(scored, 1))
    one = np.float32(1)
    return (one / (K1 * ((one - B) + B * known / np.maximum(average, np.float32(1e-9)))))[which]


def kept_length(length: int) -> int:
    """What Lucene's one byte leaves of a document's length: ``SmallFloat.byte4ToInt(intToByte4(length))``.

    Lengths up to 40 are exact, longer ones keep four significant bits.

    >>> [kept_length(length) for length in (39, 41, 107, 1000)]
    [39, 40, 104, 984]
    """
    # the 255 codes end with the largest int; the codes before the four-bit floats are the length itself
    exact = 255 - _four_bits(2**31 - 1)
    return length if length < exact else exact + _from_four_bits(_four_bits(length - exact))


def _four_bits(number: int) -> int:
    bits = number.bit_length()
    if bits < 4:
        return number
    shift = bits - 4
    return ((number >> shift) & 0x07) | ((shift + 1) << 3)


def _from_four_bits(code: int) -> int:
    shift = (code >> 3) - 1
    return code & 0x07 if shift < 0 else ((code & 0x07) | 0x08) << shift
