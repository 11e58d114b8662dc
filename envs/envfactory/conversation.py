"""The conversation as plain data: which turn it is, what was asked, said and seen."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from envrl.envs.envfactory.task import Output, Task

_NUMBER = re.compile(r"(?<![\w.])-?\$?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?!\w)")


class Conversation(NamedTuple):
    """Where a conversation stands; sets are bit masks, so that two of them compare quickly.

    Attributes:
        turn: index of the user's turn that is being worked on.
        answered: slots of this turn that the user has filled.
        questions: other questions answered in this turn.
        said, seen: outputs of the task that the agent told, that it came across.
        guessed: outputs that it put into a call before it came across them, where that must not be.
        ended: the user has left.
        transcript: (speaker, text) so far, only where the user needs it.
    """

    turn: int = 0
    answered: int = 0
    questions: int = 0
    said: int = 0
    seen: int = 0
    guessed: int = 0
    ended: bool = False
    transcript: tuple[tuple[str, str], ...] = ()


def see(task: Task, at: Conversation, text: str, put_in: Mapping[str, Any] | None = None) -> Conversation:
    """The agent reads ``text``, a tool's result or an answer of the user.

    What it put in itself (``put_in``, the arguments of the call) is no news when it comes back.
    """
    found = _mentioned(task, text, skip=at.seen | at.guessed, said=False)
    if found and put_in:
        found &= ~_mentioned(task, json.dumps(put_in, ensure_ascii=False), skip=~found, said=False)
    return at._replace(seen=at.seen | found) if found else at


def use(task: Task, at: Conversation, put_in: Mapping[str, Any]) -> Conversation:
    """The agent makes a call with the arguments ``put_in``."""
    open_ones = sum(1 << i for i, output in enumerate(task.outputs) if output.unused) & ~(
        at.seen | at.guessed
    )
    if not open_ones:
        return at
    found = _mentioned(task, json.dumps(put_in, ensure_ascii=False), skip=~open_ones, said=False)
    return at._replace(guessed=at.guessed | found) if found else at


def say(task: Task, at: Conversation, text: str) -> Conversation:
    """The agent tells the user ``text``; what it has not come across does not count as told."""
    unknown = sum(1 << index for index, output in enumerate(task.outputs) if output.see) & ~at.seen
    found = _mentioned(task, text, skip=at.said | unknown, said=True)
    return at._replace(said=at.said | found) if found else at


def _mentioned(task: Task, text: str, skip: int, said: bool) -> int:
    """The outputs, as bits, to be ``said`` or else to be seen, that stand in a text; those of ``skip`` left out."""
    found, lowered = 0, ""
    for index, output in enumerate(task.outputs):
        if skip >> index & 1 or not (output.say if said else output.see):
            continue
        value = output.value
        if isinstance(value, str):
            # Most texts have nothing of it, which is found out here much more quickly than by the pattern.
            lowered = lowered or text.lower()
            if value.split()[-1:] and value.split()[-1].lower() not in lowered:
                continue
        if mentions(text, value):
            found |= 1 << index
    return found


def given(outputs: Sequence[Output], at: Conversation) -> list[bool]:
    """Which outputs have been brought up as they must be."""
    return [
        (not output.say or bool(at.said >> index & 1)) and (not output.see or bool(at.seen >> index & 1))
        for index, output in enumerate(outputs)
    ]


def mentions(text: str, value: int | float | str) -> bool:
    """Whether a value stands in a text: numbers in any usual form, words whole and in any case.

    >>> mentions("You have $1,250.50 left.", 1250.5), mentions("Order A12 is late", "a1")
    (True, False)
    """
    if isinstance(value, str):
        return _words(value).search(text) is not None
    # Amounts are often rounded to cents when they are told; whole numbers are not, nor are small shares.
    near = min(0.005, abs(value) / 100) if value != int(value) else 0.0
    for found in _NUMBER.findall(text):
        number = float(found.replace(",", "").replace("$", ""))
        if number == value or abs(number - value) <= near:
            return True
    return False


@lru_cache(maxsize=4096)  # a task looks for the same few values in every text
def _words(value: str) -> re.Pattern[str]:
    words = r"\s+".join(map(re.escape, value.split()))
    before = r"(?<!\w)" if words[:1].isalnum() else ""
    after = r"(?!\w)" if words[-1:].isalnum() else ""
    return re.compile(before + words + after, re.IGNORECASE)
