import hashlib
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envrl.agents.tokenizer import SPECIAL_TOKENS, find_phrases, train_tokenizer

TEXTS = [
    "You arrive at cabinet 1. The cabinet 1 is closed.",
    "You arrive at shelf 2. On the shelf 2, you see a mug 3.",
] * 20
TOKENIZER = train_tokenizer(TEXTS)


def encode(text):
    return TOKENIZER(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]


@given(st.text(st.characters(exclude_categories=("Cs",))))
@settings(max_examples=300, deadline=None)
def test_decoding_gives_back_any_text(text):
    assert TOKENIZER.decode(encode(text), skip_special_tokens=False) == text


def test_phrases_are_tokens_and_names_stay_whole():
    pieces = [TOKENIZER.decode([i]) for i in encode("You arrive at shelf 1. On the shelf 1")]
    assert pieces == ["You arrive at", " shelf", " 1", ". On the", " shelf", " 1"]


def test_a_phrase_does_not_match_inside_a_word():
    assert next(TOKENIZER.decode([i]) for i in encode("You arrive attic")) != "You arrive at"


def test_text_that_looks_like_structure_is_spelled_out():
    special = set(TOKENIZER.convert_tokens_to_ids(list(SPECIAL_TOKENS)))
    assert not special & set(encode("<act> <obs> <pad>"))


def test_find_phrases_by_hand():
    # "a b" always together; "c" follows twice of four times: 2 >= 0.5 * 4, and always after "a b"
    pieces = [["a", "b", "c"], ["a", "b", "c"], ["a", "b", "d"], ["a", "b", "e"]]
    assert find_phrases(pieces, 10, min_count=2, cohesion=0.5) == ["abc", "ab"]
    assert find_phrases(pieces, 10, min_count=2, cohesion=0.6) == ["ab"]
    assert find_phrases([["x", " 1"]] * 5, 10, min_count=2) == []


def test_the_same_text_gives_the_same_tokenizer_in_any_process():
    program = (
        "import hashlib, sys; from envrl.agents.tokenizer import train_tokenizer; "
        f"print(hashlib.sha256(train_tokenizer({TEXTS[:2]!r} * 20)._tokenizer.to_str().encode()).hexdigest())"
    )
    here = hashlib.sha256(TOKENIZER._tokenizer.to_str().encode()).hexdigest()
    for seed in ("1", "2"):
        out = subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        )
        assert out.stdout.strip() == here


def test_no_text_is_refused():
    with pytest.raises(ValueError, match="learned from text"):
        train_tokenizer([])
