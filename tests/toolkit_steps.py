"""Follow a script of calls in a toolkit and compare every answer."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pydantic_core

from envrl.envs.envfactory.toolkit import ToolError, Toolkit

#: tool, arguments, and what comes of it: a text that the error contains, or (part of) the result
Step = tuple[str, dict[str, Any], Any]


def follow(
    kind: type[Toolkit],
    data: Mapping[str, Any],
    steps: Sequence[Step],
    never_refuse: Sequence[str] = (),
) -> Any:
    """Make the calls one after the other; the state goes through saving and loading before each.

    Args:
        kind: the toolkit.
        data: its state as JSON data.
        steps: where a result is a record, only the fields that are named are compared; lists have to have as
            many members as named.
        never_refuse: tools whose schema leaves nothing to refuse.

    Returns:
        The last state, after every tool was seen to succeed and to refuse.
    """
    tools = kind.tools()
    toolkit = kind.load(data)
    succeeded: set[str] = set()
    refused: set[str] = set()
    for name, arguments, expected in steps:
        saved = json.dumps(toolkit.save())
        toolkit = kind.load(json.loads(saved))
        assert json.dumps(toolkit.save()) == saved
        checked, complaint = tools[name].check(arguments)
        assert checked is not None, complaint
        try:
            value = pydantic_core.to_jsonable_python(getattr(toolkit, kind.method_name(name))(**checked))
        except ToolError as error:
            assert isinstance(expected, str), f"{name} {arguments}: {error}"
            assert expected in str(error), f"{name} {arguments}"
            assert json.dumps(toolkit.save()) == saved, f"{name} refused {arguments} and changed the state"
            refused.add(name)
            continue
        assert not isinstance(expected, str), f"{name} {arguments} gave {value}"
        assert _agree(value, expected), f"{name} {arguments} gave {value}"
        if tools[name].effect == "read":
            assert json.dumps(toolkit.save()) == saved, f"{name} reads and changed the state"
        else:
            assert json.dumps(toolkit.save()) != saved, f"{name} {arguments} changed nothing"
        succeeded.add(name)
    assert succeeded == set(tools)
    assert refused == set(tools) - set(never_refuse)
    return toolkit.state


def _agree(value: Any, expected: Any) -> bool:
    if isinstance(expected, dict):
        return isinstance(value, dict) and all(
            key in value and _agree(value[key], item) for key, item in expected.items()
        )
    if isinstance(expected, list):
        return len(value) == len(expected) and all(map(_agree, value, expected))
    return type(value) is type(expected) and bool(value == expected)
