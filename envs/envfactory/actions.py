"""What an agent's text means: calls of tools, a message to the user, or a call that is written wrongly.

Calls are JSON: one object ``{"name": ..., "arguments": {...}}``, a list of them, either of these in a code
fence, or any number of ``<tool_call>`` blocks, whose surroundings do not count. All other text is a message.
"""

import json
import re
from typing import Any, NamedTuple

_THOUGHT = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_BLOCK = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_FENCE = re.compile(r"```(?:json|tool_call)?\s*\n?(.*?)\n?\s*```", re.DOTALL)
#: ``[name(`` is how some models write calls; as a message it would end the conversation without a word
_PYTHON_CALL = re.compile(r"\[\s*[A-Za-z_][\w.]*\(")
_FORM = '{"name": "<tool>", "arguments": {...}}'


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON number")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


class Call(NamedTuple):
    """A call as it was written; neither the name nor the arguments have been checked."""

    name: str
    arguments: dict[str, Any]


class Message(NamedTuple):
    """Words for the user."""

    text: str


class Malformed(NamedTuple):
    """Text that is meant as a call and is none; the reason is for the agent to read."""

    reason: str


def parse_action(text: str) -> tuple[Call, ...] | Message | Malformed:
    """The meaning of ``text``; never raises.

    >>> parse_action('{"name": "list_files", "arguments": {}}')
    (Call(name='list_files', arguments={}),)
    >>> parse_action("Your balance is 5.")
    Message(text='Your balance is 5.')
    >>> parse_action('{"name": 3}').reason
    'a call is {"name": "<tool>", "arguments": {...}}; "name" is not a string'
    """
    first = text[:1]
    if first != "{" and first != "[":
        thought = _THOUGHT.match(text)
        text = (text[thought.end() :] if thought else text).strip()
        if "<tool_call>" in text:
            return _blocks(text)
        if text.startswith("```"):
            fence = _FENCE.fullmatch(text)
            text = fence.group(1).strip() if fence else text
        if not text:
            return Malformed("the text is empty; write a call or a message to the user")
        if text[0] not in "{[":
            return Message(text)
    if _PYTHON_CALL.match(text):
        return Malformed(f"calls are written as JSON: {_FORM}, or a list of such objects")
    if text[0] == "[" and text[1:].lstrip()[:1] not in ("{", "]", "[", '"', ""):
        return Message(text)
    data = _load(text)
    return data if isinstance(data, Malformed) else _calls(data)


def _blocks(text: str) -> tuple[Call, ...] | Malformed:
    calls: tuple[Call, ...] = ()
    for body in _BLOCK.findall(text):
        data = _load(body.strip())
        found = data if isinstance(data, Malformed) else _calls(data)
        if isinstance(found, Malformed):
            return found
        calls += found
    return calls


def _load(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        return Malformed(f"not valid JSON: {error.msg} at character {error.pos + 1}")
    except RecursionError:
        return Malformed("not valid JSON: nested too deeply")
    except ValueError as error:
        return Malformed(f"not valid JSON: {error}")


def _calls(data: Any) -> tuple[Call, ...] | Malformed:
    if not isinstance(data, list):
        call = _call(data)
        return call if isinstance(call, Malformed) else (call,)
    if not data:
        return Malformed(f"the list of calls is empty; a call is {_FORM}")
    calls: list[Call] = []
    for item in data:
        call = _call(item)
        if isinstance(call, Malformed):
            return call
        calls.append(call)
    return tuple(calls)


def _call(data: Any) -> Call | Malformed:
    if not isinstance(data, dict):
        return _wrong(f"found {_kind(data)}")
    if "name" not in data:
        return _wrong('"name" is missing')
    name, arguments = data["name"], data.get("arguments", {})
    if not isinstance(name, str):
        return _wrong('"name" is not a string')
    if isinstance(arguments, str):  # the form in which chat APIs hand calls over
        arguments = _load(arguments)
        if isinstance(arguments, Malformed):
            return _wrong(f'"arguments" is a string that is {arguments.reason}')
    if not isinstance(arguments, dict):
        return _wrong(f'"arguments" is {_kind(arguments)}, not an object')
    if len(data) > 1 + ("arguments" in data):
        extra = next(key for key in data if key not in ("name", "arguments"))
        return _wrong(f"found the key {json.dumps(extra)}")
    return Call(name, arguments)


def _wrong(what: str) -> Malformed:
    return Malformed(f"a call is {_FORM}; {what}")


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return kinds.get(type(value), "a number")


def write_call(name: str, arguments: dict[str, Any]) -> str:
    """A call as the action text that `parse_action` reads."""
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
