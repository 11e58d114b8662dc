import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from letters import LetterFormat

from envrl.agents.policies.blanks import BlankRules
from envrl.agents.policies.walk import Walk, candidates, retrace
from envrl.agents.prompts import Excluded, Offer

FORMAT = LetterFormat()
RULES = BlankRules(FORMAT.lm, FORMAT.stop)
CALL = '{"name": "pay", "arguments": {"to": "<to>", "sum": <sum>}}'


def walk_of(actions=(), templates=(), longest=20):
    return Walk(FORMAT, RULES, candidates(FORMAT, Offer(tuple(actions), tuple(templates))), longest)


def ids(text):
    return list(FORMAT.lm.encode(text))


def may(walk):
    """The characters that may come next."""
    allowed = walk.allowed()
    every = range(len(FORMAT.lm.token_texts))
    chosen = [i for i in every if (i in allowed) != isinstance(allowed, Excluded)]
    return {FORMAT.lm.token_texts[i] for i in chosen}


def go(walk, text):
    for character in text:
        assert character in may(walk)
        walk.take(ids(character)[0])
        walk.forced()


def test_only_branchings_are_decisions():
    walk = walk_of(["go in", "go up", "go upon", "look"])
    assert walk.forced() == []
    assert may(walk) == {"g", "l"}
    walk.take(ids("g")[0], -0.5, 0.7)
    assert walk.forced() == ids("o ")
    assert may(walk) == {"i", "u"}
    walk.take(ids("u")[0])
    assert walk.forced() == ids("p")
    assert may(walk) == {"", "o"}  # the end, or "upon"
    walk.take(FORMAT.stop)
    assert walk.forced() == [] and walk.done
    choice = walk.choice()
    assert (choice.text, choice.ids) == ("go up", FORMAT.action("go up"))
    assert [(d.position, d.logprob, d.entropy) for d in choice.decisions] == [
        (0, -0.5, 0.7),
        (3, 0, 0),
        (5, 0, 0),
    ]


def test_the_only_action_is_forced():
    walk = walk_of(["look"])
    assert walk.forced() == list(FORMAT.action("look"))
    assert walk.done and walk.choice().decisions == []


@given(st.sets(st.text("abc", min_size=1, max_size=5), min_size=1), st.randoms(use_true_random=False))
def test_every_walk_ends_in_an_offered_action(actions, rng):
    walk = walk_of(sorted(actions))
    walk.forced()
    while not walk.done:
        assert len(walk.allowed()) > 1
        walk.take(rng.choice(walk.allowed()))
        walk.forced()
    choice = walk.choice()
    assert choice.text in actions and choice.ids == FORMAT.action(choice.text)
    assert retrace(FORMAT, RULES, candidates(FORMAT, Offer(tuple(sorted(actions)))), choice.text) == choice


def test_a_blank_is_filled_token_by_token():
    walk = walk_of(["back"], ["search[<query>]"])
    walk.forced()
    assert may(walk) == {"b", "s"}
    walk.take(ids("s")[0])
    assert walk.forced() == ids("earch[")
    assert "]" not in may(walk)  # empty
    go(walk, " ")
    assert "]" not in may(walk)  # still nothing
    go(walk, "red")
    assert not {"[", "\n", "", "]}", "a]"} & may(walk)
    assert {"]", " ", '"'} <= may(walk)
    walk.take(ids("]")[0])
    assert walk.forced() == [] and walk.done
    choice = walk.choice()
    assert choice.text == "search[ red]"
    assert list(choice.ids) == [*ids("search[ red]"), FORMAT.stop]
    # the branching, four letters, the closing bracket
    assert [d.position for d in choice.decisions] == [0, 7, 8, 9, 10, 11]


def test_an_endless_blank_is_closed():
    walk = walk_of([], ["search[<query>]"], longest=3)
    walk.forced()
    go(walk, "aaa")
    assert walk.done and walk.choice().text == "search[aaa]"


def test_a_tool_call():
    walk = walk_of([], [CALL], longest=60)
    walk.forced()
    go(walk, 'Jo \\"')
    assert {'"', "a"} <= may(walk)
    assert not {'",', "\n"} & may(walk)
    walk.take(ids('"')[0])
    walk.forced()
    go(walk, '{"x": [1, 2], "y": "}"}')
    assert "}" in may(walk) and not {",", "]", "]}", '",'} & may(walk)
    walk.take(ids("}")[0])
    walk.forced()
    assert walk.done
    assert json.loads(walk.choice().text) == {
        "name": "pay",
        "arguments": {"to": 'Jo "', "sum": {"x": [1, 2], "y": "}"}},
    }


def test_what_is_open_is_closed_when_a_value_grows_too_long():
    walk = walk_of([], [CALL], longest=6)
    walk.forced()
    go(walk, "a")
    walk.take(ids('"')[0])
    walk.forced()
    go(walk, '[["ab"'[:5])
    walk.take(ids("c")[0])
    walk.forced()
    assert walk.done
    assert json.loads(walk.choice().text)["arguments"]["sum"] == [["abc"]]


def test_a_message_beside_calls():
    walk = walk_of([], [CALL, "<message to the user>"])
    walk.forced()
    assert {"{", "H", "\n"} <= may(walk)
    go(walk, "Hi")
    assert "" in may(walk) and "{" in may(walk)
    walk.take(FORMAT.stop)
    assert walk.done or walk.forced() == []
    assert walk.choice().text == "Hi"


@pytest.mark.parametrize("template", ["search[<query>]", CALL, "put <thing> in <place>", "say <words>"])
def test_random_fillings_are_instances_and_can_be_retraced(template):
    rng = random.Random(0)
    for _ in range(60):
        walk = walk_of(["stop"], [template], longest=8)
        walk.forced()
        while not walk.done:
            allowed = walk.allowed()
            every = range(len(FORMAT.lm.token_texts))
            walk.take(rng.choice([i for i in every if (i in allowed) != isinstance(allowed, Excluded)]))
            walk.forced()
        choice = walk.choice()
        assert FORMAT.lm.decode(choice.ids) == choice.text
        if choice.text == "stop":
            continue
        again = retrace(FORMAT, RULES, candidates(FORMAT, Offer(("stop",), (template,))), choice.text)
        # characters make the same text in one way, letter by letter
        assert again is None or again.text == choice.text
        if template.startswith("search"):
            assert choice.text.count("[") == choice.text.count("]") == 1 and "\n" not in choice.text


def test_what_was_not_offered_has_no_walk():
    offered = candidates(FORMAT, Offer(("look",), ("search[<query>]",)))
    for action in ("jump", "search[]", "search[a]b]", "search[a\nb]", "look "):
        assert retrace(FORMAT, RULES, offered, action) is None
