"""What a server's answer says to an agent, and which value it stands for."""

import json
from collections.abc import Callable
from typing import Any

import pydantic_core

from envrl.envs.envfactory.session import Result


def read_result(answer: Any, rename: Callable[[Any], Any]) -> Result:
    """The result of a call.

    Args:
        answer: the SDK's ``CallToolResult``, or the text of an error in place of one.
        rename: applied to all that the agent sees.
    """
    if isinstance(answer, str):
        return Result(f"Error: {rename(answer)}", None, False)
    parts = [_words(block) for block in answer.content]
    value = rename(answer.structured_content)
    text = rename("\n".join(parts))
    if answer.is_error:
        return Result(text if text.startswith("Error") else f"Error: {text}", None, False)
    if value is None:
        value = _value(text) if len(parts) == 1 else text
    elif isinstance(value, dict) and set(value) == {"result"}:
        value = value["result"]  # how the SDK wraps what is no object
    elif isinstance(value, dict) and value == {"content": text}:
        value = _value(text)  # how some servers wrap a text
    return Result(text or pydantic_core.to_json(value).decode(), value, True)


def _words(block: Any) -> str:
    """A content block as text; what is none is named."""
    if block.type == "text":
        return str(block.text)
    if block.type == "resource":
        resource = block.resource
        return str(getattr(resource, "text", None) or f"[resource {resource.uri}]")
    if block.type == "resource_link":
        return f"[resource {block.uri}]"
    return f"[{block.type} {getattr(block, 'mime_type', '')}, {len(getattr(block, 'data', ''))} characters]"


def _value(text: str) -> Any:
    """JSON where the text is an object or a list, else the text."""
    if text[:1] in ("{", "["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass
    return text
