"""From text to the terms that are searched: Lucene's analysis of English, without Lucene.

The original's index is made with Anserini's default English analyser: words by the word boundaries of Unicode
(UAX #29, Lucene's ``StandardTokenizer``), possessive ``'s`` removed, lower case, Lucene's 33 stop words left
out, Porter's stemmer.

Words never span blanks, so a text is split at blanks first and every piece that was met before comes from a
cache: the words of a shop repeat. What is left is exact and slow: each character of a new piece becomes a
letter that names its class, and one pattern over these letters finds the words.

Not kept: the quotation marks inside Hebrew words.
"""

import re
import unicodedata
from functools import lru_cache
from itertools import chain

from envrl.envs.webshop.porter import stem

#: raise when the terms of some text change: indexes made before are then made anew
ANALYSER_VERSION = 1
#: longer words are cut into pieces of this length, as by Lucene's StandardTokenizer
LONGEST_WORD = 255
#: Lucene's EnglishAnalyzer.ENGLISH_STOP_WORDS_SET
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by for if in into is it no not of on or such that the their then there "
        "these they this to was will with",
    )
)

#: one letter a class: A letter, N digit, K katakana, J one-character word (ideographs, hiragana), S scripts
#: without blanks (Thai, Lao, Khmer, Myanmar), E emoji, M emoji modifier, R regional indicator, Z zero-width
#: joiner, X mark or format character (belongs to what precedes it), _ connector, : joins letters, ; joins
#: digits, . joins both, space anything else
_FIXED = {
    **dict.fromkeys(":\u00b7\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a", ":"),
    **dict.fromkeys(".'\u2018\u2019\u2024\ufe52\uff07\uff0e", "."),
    **dict.fromkeys(
        ",;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b",
        ";",
    ),
    "\u200b": " ",
    "\u200d": "Z",
    "\u303d": "E",
    "\u30fb": " ",
    "\uff9e": "X",
    "\uff9f": "X",
}
_RANGES = (
    (0x0E00, 0x0EFF, "S"),
    (0x1000, 0x109F, "S"),
    (0x1780, 0x17FF, "S"),
    (0x3040, 0x3098, "J"),
    (0x309B, 0x309F, "J"),
    (0x30A1, 0x30FF, "K"),
    (0x31F0, 0x31FF, "K"),
    (0x3005, 0x3007, "J"),
    (0x3400, 0x4DBF, "J"),
    (0x4E00, 0x9FFF, "J"),
    (0xF900, 0xFAFF, "J"),
    (0xFF66, 0xFF9D, "K"),
    (0x1F1E6, 0x1F1FF, "R"),
    (0x1F3FB, 0x1F3FF, "M"),
    (0x1F000, 0x1FAFF, "E"),
    (0x20000, 0x3FFFD, "J"),
)
#: characters below U+1F000 that Unicode lists as emoji or may be shown as such
_EMOJI = re.compile(
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u2388\u23cf"
    "\u23e9-\u23f3\u23f8-\u23fa\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2605\u2607-\u2612"
    "\u2614-\u2685\u2690-\u2705\u2708-\u2712\u2714\u2716\u271d\u2721\u2728\u2733\u2734\u2744\u2747\u274c"
    "\u274e\u2753-\u2755\u2757\u2763-\u2767\u2795-\u2797\u27a1\u27b0\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b"
    "\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299]"
)


@lru_cache(maxsize=1 << 14)
def _class_of(character: str) -> str:
    """The class of a character: word break property, line break SA and script, as far as Lucene uses them."""
    if character in _FIXED:
        return _FIXED[character]
    code = ord(character)
    category = unicodedata.category(character)
    for first, last, kind in _RANGES:
        if first <= code <= last:
            # digits and punctuation of these scripts are digits and punctuation
            return {"Nd": "N", "Po": " "}.get(category, kind) if kind == "S" else kind
    if _EMOJI.match(character):
        return "E"
    if category[0] == "M" or category == "Cf":
        return "X"
    if category == "Nd":
        return "N"
    # circled Latin letters are alphabetic, other circled things are not
    if category[0] == "L" or category == "Nl" or 0x24B6 <= code <= 0x24E9:
        return "A"
    return "_" if category == "Pc" else " "


_MARKS = "[XZM]*"
_A, _N, _K = (f"{kind}{_MARKS}" for kind in "ANK")
_CONNECTORS = f"(?:_{_MARKS})"
_DIGITS = f"{_N}(?:(?:{_CONNECTORS}*|[;.]{_MARKS}){_N})*+"
_LETTERS = f"{_A}(?:(?:{_CONNECTORS}*|[:.]{_MARKS}){_A})*+"
_RUN = f"(?:{_K}(?:{_CONNECTORS}*{_K})*+|(?:{_DIGITS}|{_LETTERS})++)"
_EMOJI_ONE = "[EM][XM]*"
#: The first group is a word. The second swallows connectors that no letter follows: without it a text of
#: many underscores would be tried from each of them, in quadratic time.
_WORD = re.compile(
    f"({_CONNECTORS}*+{_RUN}(?:{_CONNECTORS}++{_RUN})*+{_CONNECTORS}*+"
    f"|J{_MARKS}|(?:S{_MARKS})++|{_EMOJI_ONE}(?:Z{_EMOJI_ONE})*+[XZ]*+|RR[XZ]*+)"
    f"|({_CONNECTORS}++)"
)
_POSSESSIVES = ("'s", "\u2019s", "\uff07s")


def words(text: str) -> list[str]:
    """The words of a text: Lucene's ``StandardTokenizer``.

    >>> words("wi-fi 2.4ghz men's 1,000 pcs u.s.a. co_op")
    ['wi', 'fi', '2.4ghz', "men's", '1,000', 'pcs', 'u.s.a', 'co_op']
    """
    classes = "".join(map(_class_of, text))
    found = []
    for match in _WORD.finditer(classes):
        if match.group(1):
            start, end = match.span()
            found += [text[cut : min(cut + LONGEST_WORD, end)] for cut in range(start, end, LONGEST_WORD)]
    return found


def _terms_of_piece(piece: str) -> tuple[str, ...]:
    terms = []
    for word in words(piece):
        if word.endswith(_POSSESSIVES):
            word = word[:-2]
        if word and word not in STOP_WORDS:
            terms.append(stem(word))
    return tuple(terms)


class Analyser(dict[str, tuple[str, ...]]):
    """Terms of texts; a cache from pieces of text without blanks to their terms.

    Args:
        capacity: pieces kept; the cache is emptied when it is full. Pieces longer than a few words are not
            kept, so that the memory is bounded too.

    Threads may share one: they write equal entries.

    >>> Analyser().terms("The machines' covers for Anna's machine")
    ['machin', 'cover', 'anna', 'machin']
    """

    def __init__(self, capacity: int = 1 << 17) -> None:
        super().__init__()
        self.capacity = capacity

    def __missing__(self, piece: str) -> tuple[str, ...]:
        terms = _terms_of_piece(piece)
        if len(piece) <= 64:
            if len(self) >= self.capacity:
                self.clear()
            self[piece] = terms
        return terms

    def terms(self, text: str) -> list[str]:
        """The terms of a text, in order, with repetitions. Upper and lower case are the same."""
        return list(chain.from_iterable(map(self.__getitem__, text.lower().split())))
