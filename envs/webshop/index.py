"""The search index: postings as plain arrays, and the ranking of Lucene's BM25 over them.

The ranking is that of ``org.apache.lucene.search.similarities.BM25Similarity`` with Anserini's k1 = 0.9 and
b = 0.4: a query is the OR of its terms, a term that stands in it n times weighs n times as much, the length
of a document is known only as precisely as Lucene's one byte keeps it, and equal scores are ordered by id.
The original then rounds the scores that it reports, after ordering; here they are the scores that order.

A term's contribution is ``w - w / (1 + tf / norm)`` in single precision with ``w = n * idf``, summed in
double precision and rounded once, as Lucene does. What depends on the document alone, ``1 + tf / norm``, is
stored with each posting.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envrl.envs.errors import InvalidData
from envrl.envs.webshop.analyser import ANALYSER_VERSION, Analyser
from envrl.envs.webshop.array_file import ArrayFile, read_arrays

INDEX_FILE = "search.index"
#: the version of this module's arrays; raise when they change
KIND = "webshop-search/1"
ARRAYS = ("asins", "ranks", "hashes", "offsets", "documents", "denominators")
K1 = np.float32(0.9)
B = np.float32(0.4)

#: queries with more postings than this are summed term by term: the arrays no longer fit the cache
_IN_ONE_GO = 1 << 15
#: terms whose place in the index is remembered
_KNOWN_TERMS = 1 << 16


def term_hash(term: str) -> int:
    """The 64-bit key of a term, the same in every process. Built once per distinct term."""
    return int.from_bytes(blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


@dataclass(frozen=True, slots=True)
class SearchIndex:
    """An inverted index with everything that ranking needs; immutable, shared by threads and environments.

    The arrays may be memory maps of one file (`envrl.envs.webshop.array_file`), which processes then share.

    Args:
        asins: shape (documents,), byte strings.
        ranks: shape (documents,), int32: position of each document's id among all ids in ascending order.
        hashes: shape (terms,), uint64 ascending: `term_hash` of every term.
        offsets: shape (terms + 1,), int64: where the postings of each term begin.
        documents: shape (postings,), int32: the documents with a term, ascending within the term.
        denominators: shape (postings,), float32: ``1 + tf / norm`` of each posting.
        scored_documents: documents with at least one term, the N of the inverse document frequency.
    """

    asins: NDArray[np.bytes_]
    ranks: NDArray[np.int32]
    hashes: NDArray[np.uint64]
    offsets: NDArray[np.int64]
    documents: NDArray[np.int32]
    denominators: NDArray[np.float32]
    scored_documents: int
    _analyser: Analyser = field(
        default_factory=lambda: Analyser(1 << 15), init=False, repr=False, compare=False
    )
    _known: dict[str, tuple[int, int, float]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __len__(self) -> int:
        return len(self.asins)

    def search(self, query: str, top: int = 50) -> list[str]:
        """The ids of the best documents for a query, best first; empty where no term of it is known."""
        return [asin for asin, _ in self.scored(query, top)]

    def scored(self, query: str, top: int = 50) -> list[tuple[str, float]]:
        """The best documents for a query with their scores, best first.

        Args:
            query: any text; words that no document has are ignored.
            top: how many documents at most.
        """
        if top < 1:
            raise ValueError(f"expected top >= 1, found {top}")
        postings = []
        for term, count in Counter(self._analyser.terms(query)).items():
            start, end, idf = self._postings_of(term)
            if end > start:
                postings.append((start, end, np.float32(count) * np.float32(idf)))
        if not postings:
            return []
        scores = self._sum(postings).astype(np.float32)
        best = _best(scores, self.ranks, top)
        return list(zip(self.ids(best), scores[best].tolist(), strict=True))

    def ids(self, rows: Sequence[int] | NDArray[np.int64]) -> list[str]:
        """The ids of documents by their positions."""
        return [asin.decode() for asin in self.asins[np.asarray(rows, np.int64)].tolist()]

    def _postings_of(self, term: str) -> tuple[int, int, float]:
        """Where the postings of a term begin and end, and its inverse document frequency."""
        found = self._known.get(term)
        if found is None:
            key = np.uint64(term_hash(term))
            place = int(np.searchsorted(self.hashes, key))
            if place < len(self.hashes) and self.hashes[place] == key:
                start, end = int(self.offsets[place]), int(self.offsets[place + 1])
                count = end - start
                found = (start, end, math.log(1 + (self.scored_documents - count + 0.5) / (count + 0.5)))
            else:
                found = (0, 0, 0.0)
            if len(self._known) >= _KNOWN_TERMS:
                self._known.clear()
            self._known[term] = found
        return found

    def _sum(self, postings: Sequence[tuple[int, int, np.float32]]) -> NDArray[np.float64]:
        """The score of every document. Both ways add the same numbers in the same order."""
        lengths = [end - start for start, end, _ in postings]
        if sum(lengths) <= _IN_ONE_GO:
            weights = np.repeat(np.array([weight for _, _, weight in postings], np.float32), lengths)
            parts = np.concatenate([self.denominators[start:end] for start, end, _ in postings])
            np.divide(weights, parts, out=parts)
            np.subtract(weights, parts, out=parts)
            documents = np.concatenate([self.documents[start:end] for start, end, _ in postings])
            return np.bincount(documents, parts, len(self)).astype(np.float64, copy=False)
        scores = np.zeros(len(self))
        for start, end, weight in postings:
            scores[self.documents[start:end]] += weight - weight / self.denominators[start:end]
        return scores

    def save(self, folder: Path, source: str = "") -> Path:
        """Write the index to ``folder``, in one step; returns the file.

        Args:
            folder: made where it is absent.
            source: says what the index was made from, for `load` to compare.
        """
        folder.mkdir(parents=True, exist_ok=True)
        with ArrayFile(folder / INDEX_FILE, KIND) as file:
            for name in ARRAYS:
                values = getattr(self, name)
                file.allocate(name, len(values), values.dtype)[...] = values
            file.finish(self.facts(source))
        return folder / INDEX_FILE

    def facts(self, source: str) -> dict[str, Any]:
        """What stands beside the arrays in a file."""
        return {"analyser": ANALYSER_VERSION, "source": source, "scored_documents": self.scored_documents}

    @classmethod
    def load(cls, folder: Path, source: str | None = None, verify: bool | None = None) -> "SearchIndex":
        """The index saved in ``folder``, memory-mapped.

        Args:
            folder: where it was saved.
            source: what it must have been made from; None takes any.
            verify: compare the checksum; None does so for files below 64 MiB.

        Raises:
            DataNotFound: there is no index.
            InvalidData: it is damaged, of another version, or made from something else.
        """
        path = folder / INDEX_FILE
        arrays, facts = read_arrays(path, KIND, verify)
        if facts.get("analyser") != ANALYSER_VERSION:
            raise InvalidData(
                f"{path}: expected an index with analyser version {ANALYSER_VERSION}, found version "
                f"{facts.get('analyser')}: delete the file, it is made anew"
            )
        if source is not None and facts.get("source") != source:
            raise InvalidData(
                f"{path}: expected an index of the present products, found one of other products (the files "
                "of the catalogue or their number have changed): delete the file, it is made anew"
            )
        return cls(**arrays, scored_documents=int(facts["scored_documents"]))

    def __reduce__(self) -> tuple[Any, ...]:
        # caches stay behind
        return SearchIndex, (*(getattr(self, name) for name in ARRAYS), self.scored_documents)


def _best(scores: NDArray[np.float32], ranks: NDArray[np.int32], top: int) -> NDArray[np.int64]:
    """The documents with the highest scores above 0, best first, ties by rank.

    In a large index the maxima of blocks of documents give a bound first: as many documents as are wanted
    reach it, and few others, so that the exact choice is made among these.
    """
    candidates = None
    block = len(scores) // (8 * top)
    if block >= 8:
        maxima = scores[: block * 8 * top].reshape(-1, block).max(axis=1)
        bound = np.partition(maxima, len(maxima) - top)[len(maxima) - top]
        if bound > 0:
            candidates = np.flatnonzero(scores >= bound)
    if candidates is None:
        candidates = np.flatnonzero(scores)
    if len(candidates) > top:
        values = scores[candidates]
        last = np.partition(values, len(values) - top)[len(values) - top]
        above, equal = candidates[values > last], candidates[values == last]
        wanted = top - len(above)
        if len(equal) > wanted:
            equal = equal[np.argpartition(ranks[equal], wanted - 1)[:wanted]]
        candidates = np.concatenate([above, equal])
    return candidates[np.lexsort((ranks[candidates], -scores[candidates]))]
