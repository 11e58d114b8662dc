"""Porter's stemmer, as Lucene has it.

M. F. Porter, "An algorithm for suffix stripping", 1980, with the two departures of its author's later
programs that Lucene keeps: ``bli`` becomes ``ble`` (the paper: ``abli`` becomes ``able``) and ``logi``
becomes ``log``. Words of fewer than three characters stay; a character outside a-z counts as a consonant.

Source of the behaviour: ``org.apache.lucene.analysis.en.PorterStemmer``.
"""

from collections.abc import Sequence

#: steps 2 and 3: an ending and what stands for it where the rest has a measure above 0; longer endings first
_STEP_2: Sequence[tuple[str, str]] = (
    ("ational", "ate"),
    ("ization", "ize"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("tional", "tion"),
    ("biliti", "ble"),
    ("entli", "ent"),
    ("ousli", "ous"),
    ("ation", "ate"),
    ("alism", "al"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("alli", "al"),
    ("ator", "ate"),
    ("logi", "log"),
    ("bli", "ble"),
    ("eli", "e"),
)
_STEP_3: Sequence[tuple[str, str]] = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ness", ""),
    ("ful", ""),
)
#: step 4: endings that go where the rest has a measure above 1; longer endings first
_STEP_4 = (
    *("ement",),
    *("ance", "ence", "able", "ible", "ment"),
    *("ant", "ent", "ion", "ism", "ate", "iti", "ous", "ive", "ize"),
    *("al", "er", "ic", "ou"),
)


def _sounds(word: str) -> str:
    """``v`` for each vowel, ``c`` for each consonant; a ``y`` after a consonant is a vowel."""
    sounds = ""
    for character in word:
        if character in "aeiou" or (character == "y" and sounds.endswith("c")):
            sounds += "v"
        else:
            sounds += "c"
    return sounds


def _measure(stem: str) -> int:
    """Porter's m: how often a vowel is followed by a consonant."""
    return _sounds(stem).count("vc")


def _has_vowel(stem: str) -> bool:
    return "v" in _sounds(stem)


def _ends_double(word: str) -> bool:
    """The last two letters are one consonant twice."""
    return len(word) > 1 and word[-1] == word[-2] and _sounds(word)[-1] == "c"


def _ends_short(word: str) -> bool:
    """Consonant, vowel, consonant at the end, the last one not w, x or y."""
    return len(word) > 2 and word[-1] not in "wxy" and _sounds(word).endswith("cvc")


def _plurals(word: str) -> str:
    """Step 1a."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and word[-2] != "s":
        return word[:-1]
    return word


def _past_and_progressive(word: str) -> str:
    """Step 1b."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    ending = "ed" if word.endswith("ed") else "ing" if word.endswith("ing") else ""
    stem = word[: len(word) - len(ending)]
    if not ending or not _has_vowel(stem):
        return word
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if _ends_double(stem):
        return stem if stem[-1] in "lsz" else stem[:-1]
    if _measure(stem) == 1 and _ends_short(stem):
        return stem + "e"
    return stem


def _replace(word: str, endings: Sequence[tuple[str, str]]) -> str:
    """Steps 2 and 3: only the longest ending that fits is tried."""
    for ending, replacement in endings:
        if word.endswith(ending):
            stem = word[: -len(ending)]
            return stem + replacement if _measure(stem) > 0 else word
    return word


def _drop(word: str) -> str:
    """Step 4: only the longest ending that fits is tried; ``ion`` goes after s or t alone."""
    for ending in _STEP_4:
        if word.endswith(ending):
            stem = word[: -len(ending)]
            if ending == "ion" and not stem.endswith(("s", "t")):
                return word
            return stem if _measure(stem) > 1 else word
    return word


def _last_letters(word: str) -> str:
    """Step 5."""
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _ends_short(word[:-1])):
            word = word[:-1]
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word


def stem(word: str) -> str:
    """The stem of a lower-case word.

    >>> stem("relational"), stem("machines"), stem("hopping")
    ('relat', 'machin', 'hop')
    """
    if len(word) < 3:
        return word
    word = _past_and_progressive(_plurals(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    return _last_letters(_drop(_replace(_replace(word, _STEP_2), _STEP_3)))
