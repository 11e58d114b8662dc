"""What agents write: calls in every form, messages, and calls that are none."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envrl.envs.envfactory.actions import Call, Malformed, Message, parse_action, write_call

ONE = '{"name": "pay", "arguments": {"amount": 5}}'
CALL = Call("pay", {"amount": 5})


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (ONE, (CALL,)),
        (f"  {ONE}\n", (CALL,)),
        (f"[{ONE}, {ONE}]", (CALL, CALL)),
        (f"<tool_call>{ONE}</tool_call>", (CALL,)),
        (
            f"Let me pay.\n<tool_call>\n{ONE}\n</tool_call>\n<tool_call>[{ONE}]</tool_call> There.",
            (CALL, CALL),
        ),
        (f"<tool_call>{ONE}", (CALL,)),
        (f"```json\n{ONE}\n```", (CALL,)),
        (f"```\n[{ONE}]\n```", (CALL,)),
        (f"<think>I pay {{now}}.</think>\n{ONE}", (CALL,)),
        ('{"name": "look"}', (Call("look", {}),)),
        ('{"name": "pay", "arguments": "{\\"amount\\": 5}"}', (CALL,)),
        ("Your balance is 5.", Message("Your balance is 5.")),
        ("<think>easy</think> Done.", Message("Done.")),
        ("[Note] all is well", Message("[Note] all is well")),
        ("```\nno call\n```", Message("no call")),
        ("The answer: {5}", Message("The answer: {5}")),
    ],
)
def test_meanings(text: str, meaning: Any) -> None:
    assert parse_action(text) == meaning


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("<think>hm</think>", "empty"),
        ("{", "not valid JSON: Expecting property name"),
        ('{"name": "pay"', "not valid JSON"),
        ("[]", "the list of calls is empty"),
        ("[", "not valid JSON"),
        ("[pay(amount=5), look()]", "calls are written as JSON"),
        ("{}", '"name" is missing'),
        ('{"name": 3}', '"name" is not a string'),
        ('{"name": "pay", "arguments": [5]}', '"arguments" is a list, not an object'),
        ('{"name": "pay", "arguments": "five"}', '"arguments" is a string that is not valid JSON'),
        ('{"name": "pay", "arguments": "5"}', '"arguments" is a number, not an object'),
        ('{"name": "pay", "args": {}}', 'found the key "args"'),
        ('[{"name": "pay"}, "look"]', "found a string"),
        ('{"name": "pay", "arguments": {"amount": NaN}}', "NaN is no JSON number"),
        ('{"name": "pay", "arguments": {"amount": 1' + "0" * 5000 + "}}", "not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("<tool_call>pay</tool_call>", "not valid JSON"),
        ("<tool_call></tool_call>", "not valid JSON"),
    ],
)
def test_calls_that_are_none(text: str, reason: str) -> None:
    meaning = parse_action(text)
    assert isinstance(meaning, Malformed) and reason in meaning.reason


NOISE = st.text() | st.text("{}[]<>\"':,tool_cal/ \\name\n0123")


@given(
    NOISE
    | st.builds("{}{}{}".format, NOISE, st.sampled_from([ONE, ONE[:-1], "<tool_call>", "```", "[{"]), NOISE)
)
def test_nothing_raises(text: str) -> None:
    assert isinstance(parse_action(text), tuple)


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.text(), st.dictionaries(st.text(), JSON, max_size=4))
def test_calls_that_are_written_are_read(name: str, arguments: dict[str, Any]) -> None:
    assert parse_action(write_call(name, arguments)) == (Call(name, arguments),)
    block = f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"
    if "</tool_call>" not in write_call(name, arguments):
        assert parse_action(block) == (Call(name, arguments),)
