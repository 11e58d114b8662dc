"""Where a predicted text and the real one differ, word by word."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

#: a longer text is compared up to this many words: more is not read side by side
MOST_WORDS = 1200
_WORD = re.compile(r"\s+|\w+|[^\w\s]")
#: (kind, text): ``=`` in both, ``-`` predicted alone, ``+`` real alone
Segment = tuple[str, str]


def differences(predicted: str, real: str) -> list[Segment]:
    """The two texts as one row of segments.

    Without those of kind ``+`` the segments are the predicted text, without ``-`` the real one.

    >>> differences("a red mug", "a blue mug")
    [('=', 'a '), ('-', 'red'), ('+', 'blue'), ('=', ' mug')]
    """
    left, right = _words(predicted), _words(real)
    segments: list[Segment] = []
    for kind, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if kind == "equal":
            segments.append(("=", "".join(left[a:b])))
        else:
            segments += [
                (sign, text) for sign, text in (("-", "".join(left[a:b])), ("+", "".join(right[c:d]))) if text
            ]
    return segments


def _words(text: str) -> Sequence[str]:
    words = _WORD.findall(text)
    return [*words[:MOST_WORDS], "".join(words[MOST_WORDS:])] if len(words) > MOST_WORDS else words
