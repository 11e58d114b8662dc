import pytest
from hypothesis import given
from hypothesis import strategies as st

from envrl.agents.viewer.differences import MOST_WORDS, differences


def without(segments, kind):
    return "".join(text for k, text in segments if k != kind)


@pytest.mark.parametrize(
    "predicted, real, segments",
    [
        ("", "", []),
        ("You see a mug.", "You see a mug.", [("=", "You see a mug.")]),
        ("", "a mug", [("+", "a mug")]),
        ("a mug", "", [("-", "a mug")]),
        ("The fridge 1 is open.", "The fridge 1 is closed.",
         [("=", "The fridge 1 is "), ("-", "open"), ("+", "closed"), ("=", ".")]),
        ("a mug, a cup", "a mug", [("=", "a mug"), ("-", ", a cup")]),
    ],
)  # fmt: skip
def test_differences_by_hand(predicted, real, segments):
    assert differences(predicted, real) == segments


TEXTS = st.text(alphabet="ab1 .,\n<é", max_size=40)


@given(TEXTS, TEXTS)
def test_both_texts_can_be_read_from_the_segments(predicted, real):
    segments = differences(predicted, real)
    assert without(segments, "+") == predicted
    assert without(segments, "-") == real
    assert all(text for _, text in segments)


def test_long_texts_are_whole_too():
    left, right = "a b " * MOST_WORDS, "a b " * MOST_WORDS + "c"
    segments = differences(left, right)
    assert without(segments, "+") == left and without(segments, "-") == right
