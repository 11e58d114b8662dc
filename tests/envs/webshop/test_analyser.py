"""Words and terms as Lucene finds them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envrl.envs.webshop.analyser import LONGEST_WORD, STOP_WORDS, Analyser, words

WORDS = {
    "wi-fi router": ["wi", "fi", "router"],
    '2.4ghz 1,000 3.5mm 52"w': ["2.4ghz", "1,000", "3.5mm", "52", "w"],
    "4k.uhd a.b 1.b b.1": ["4k.uhd", "a.b", "1", "b", "b", "1"],
    "u.s.a. e.g.": ["u.s.a", "e.g"],
    "men's girls’ o'clock 5'6": ["men's", "girls", "o'clock", "5'6"],
    "color:red size:5 5:6": ["color:red", "size", "5", "5", "6"],
    "a,b 1;2": ["a", "b", "1;2"],
    "snake_case __init__ ___ _": ["snake_case", "__init__"],
    "½ cup ² ①": ["cup"],
    "crème brûlée": ["crème", "brûlée"],
    "cafe\u0301 bar": ["cafe\u0301", "bar"],
    "soft\u00adhyphen": ["soft\u00adhyphen"],
    "zero\u200bwidth": ["zero", "width"],
    "日本 ひら カタカナ ｶﾅ": ["日", "本", "ひ", "ら", "カタカナ", "ｶﾅ"],
    "カタab": ["カタ", "ab"],
    "カタ_ab": ["カタ_ab"],
    "한국어 русский": ["한국어", "русский"],
    "ภาษาไทย ๑๒": ["ภาษาไทย", "๑๒"],
    "brand® logo™ ★": ["brand", "®", "logo", "™", "★"],
    "\U0001f44d\U0001f3fd\U0001f44d": ["\U0001f44d\U0001f3fd", "\U0001f44d"],
    "\U0001f468\u200d\U0001f469\u200d\U0001f467": ["\U0001f468\u200d\U0001f469\u200d\U0001f467"],
    "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7": ["\U0001f1e9\U0001f1ea", "\U0001f1eb\U0001f1f7"],
    "✔️ok": ["✔️", "ok"],
    "[ ] { } % & *": [],
}


@pytest.mark.parametrize(("text", "expected"), WORDS.items())
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_long_words_are_cut() -> None:
    assert [len(word) for word in words("x" * (2 * LONGEST_WORD + 7))] == [LONGEST_WORD, LONGEST_WORD, 7]


@pytest.mark.parametrize("pattern", ["_", "a_", "a.", "a1", "1,", "_a1:", "\u0301", "\U0001f469\u200d", "'s"])
def test_a_megabyte_without_blanks_is_no_trap(pattern: str) -> None:
    # quadratic work would run for hours here
    assert isinstance(words(pattern * (1_000_000 // len(pattern))), list)


def test_stop_words_possessives_and_case() -> None:
    assert len(STOP_WORDS) == 33
    assert Analyser().terms("The Men's T-SHIRTS for a MAN's closet") == ["men", "t", "shirt", "man", "closet"]
    # a possessive of nothing, and a stop word that only shows once the possessive is gone
    assert Analyser().terms("'s it's s's") == ["s", "s"]


@given(st.text(max_size=60), st.text(max_size=60))
def test_texts_can_be_cut_at_blanks(left: str, right: str) -> None:
    analyser = Analyser()
    assert analyser.terms(f"{left} {right}") == analyser.terms(left) + analyser.terms(right)


@given(st.lists(st.text(max_size=80), max_size=8))
def test_a_small_cache_changes_nothing(texts: list[str]) -> None:
    small, large = Analyser(capacity=2), Analyser()
    for text in texts:
        assert small.terms(text) == large.terms(text) == Analyser(capacity=0).terms(text)
        assert len(small) <= 2


@given(st.text(st.characters(codec=None), max_size=200))
def test_words_are_pieces_of_the_text_in_order(text: str) -> None:
    place = 0
    for word in words(text):
        place = text.index(word, place) + len(word)
