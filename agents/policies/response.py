"""From a generated text to an action: bare, or between tags."""

import re

_TAG = re.compile(r"</?(?:think|action)>")
_FORM = re.compile(
    r"\s*(?:<think>(?P<thought>.*?)</think>\s*)?(?:<action>(?P<tagged>.*?)</action>|(?P<bare>.*))\s*",
    re.DOTALL,
)


def parse_response(text: str) -> str | None:
    """The action in a response: ``<think>..</think><action>..</action>``, either part of which may be missing.

    A bare action stands by itself or after the thought. Tags must be exactly these, each at most once, in this order,
    with nothing but white space between and around the parts.

    Args:
        text: what was generated, without the token that ends it.

    Returns:
        The action without white space around it; None if the tags are wrong or there is no action.

    >>> parse_response("<think>A key?</think><action>open door</action>")
    'open door'
    >>> parse_response("open door")
    'open door'
    >>> parse_response("<action>open</action> door") is None
    True
    """
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    action = match["bare"] if match["tagged"] is None else match["tagged"]
    if _TAG.search(action) or _TAG.search(match["thought"] or ""):
        return None
    return action.strip() or None
