import pytest
from hypothesis import given
from hypothesis import strategies as st

from envrl.agents.policies.response import parse_response

TAGS = ("<think>", "</think>", "<action>", "</action>")
#: texts with and without tags, and near misses
PIECES = st.lists(
    st.sampled_from([*TAGS, "go", " ", "\n", "<", ">", "think", "</", "<Action>", "<action"]), max_size=12
)
PLAIN = st.text("ab<>/ \n").filter(lambda s: not any(tag in s for tag in TAGS))


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("go to desk 1", "go to desk 1"),
        (" go\n", "go"),
        ("<think>Hm.</think><action>go</action>", "go"),
        ("\n<think>a\nb</think>\n <action> go </action>\n", "go"),
        ("<action>go</action>", "go"),
        ("<think></think>go", "go"),
        ("search[<query>]", "search[<query>]"),
        ("", None),
        ("  \n", None),
        ("<think>go</think>", None),
        ("<think>go", None),
        ("go</think>", None),
        ("<action></action>", None),
        ("<action> </action>", None),
        ("<action>go", None),
        ("go</action>", None),
        ("<action>go</action>.", None),
        ("I <action>go</action>", None),
        ("<action>go</action><action>look</action>", None),
        ("<action>go</action><think>b</think>", None),
        ("<think>a</think><think>b</think><action>go</action>", None),
        ("<think>a<action>go</action></think>", None),
        ("<action>a<think>b</think></action>", None),
        ("<think>a</think> so <action>go</action>", None),
        ("<THINK>a</THINK>go", "<THINK>a</THINK>go"),
    ],
)
def test_by_hand(text, action):
    assert parse_response(text) == action


@given(PLAIN, PLAIN, st.sampled_from(["", " ", "\n\n"]), st.booleans())
def test_what_is_put_between_tags_is_found(thought, action, space, thinks):
    text = f"{space}<think>{thought}</think>{space}" * thinks + f"<action>{action}</action>{space}"
    # "<" at the end of a part and what follows may make up a tag: then it is not this form any more
    if all(text.count(tag) == (1 if "action" in tag or thinks else 0) for tag in TAGS):
        assert parse_response(text) == (action.strip() or None)


@given(PIECES.map("".join))
def test_tags_are_exact(text):
    """An independent reading: cut off a leading thought, then a bare or a tagged action."""
    rest = text.strip()
    expected = None
    if rest.startswith("<think>") and "</think>" in rest:
        thought, _, after = rest.removeprefix("<think>").partition("</think>")
        rest = "<broken>" if any(tag in thought for tag in TAGS) else after.strip()
        broken = any(tag in thought for tag in TAGS)
    else:
        broken = False
    if rest.startswith("<action>") and rest.endswith("</action>"):
        rest = rest.removeprefix("<action>").removesuffix("</action>")
    if not broken and not any(tag in rest for tag in TAGS):
        expected = rest.strip() or None
    assert parse_response(text) == expected
