"""Open actions: templates such as ``search[<query>]``, their blanks, and which tokens may fill them.

A blank's content is sampled token by token. What may stand in it follows from what surrounds it, so that a filled
template is always well formed: no bracket in ``search[<query>]``, no bare quote in a JSON string, brackets closed in a
JSON value. The rules look at the text that each id stands for; a blank ends when the first token of what follows it
is sampled, so that token is never content.
"""

import functools
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from envrl.agents.models import LanguageModel
from envrl.agents.prompts import Excluded

_BLANK = re.compile(r"<[^<>]*>")
_OPENERS = {"]": "[", ")": "(", "}": "{", ">": "<"}
_MARKS = re.compile(r"[\x00-\x1f\"\\\[\]{}()<>,]")
#: of numbers, true, false and null
_SCALAR = "+-.0123456789eEtrufalsn"
_ESCAPES = '"\\/bfnrt'
#: brackets in a JSON value may be nested so deep
_DEEPEST = 6


class Blank(NamedTuple):
    """A place in a template to be filled.

    kind: ``words`` (one line without the closing character), ``string`` (inside a JSON string), ``value`` (a JSON
    value) or ``message`` (any text, the whole action). closing: the mark that follows and may not stand in the blank;
    ``""`` where a word follows, or nothing.
    """

    kind: Literal["words", "string", "value", "message"]
    closing: str


@dataclass(frozen=True)
class Template:
    """An open action: ``literals[0] blank literals[1] blank ... literals[-1]``."""

    text: str
    literals: tuple[str, ...]
    blanks: tuple[Blank, ...]

    def contents(self, action: str) -> list[str] | None:
        """What fills the blanks in ``action``; None if it is no instance of the template."""
        pattern = re.escape(self.literals[0])
        for literal in self.literals[1:]:
            pattern += "(.+?)" + re.escape(literal)
        match = re.fullmatch(pattern, action, re.DOTALL)
        return None if match is None else list(match.groups())


def parse_template(text: str) -> Template:
    """Read a template: ``<...>`` are blanks, all else is literal.

    >>> parse_template("search[<query>]").blanks
    (Blank(kind='words', closing=']'),)
    """
    literals = tuple(_BLANK.split(text))
    is_json = literals[0].lstrip().startswith(("{", "["))
    blanks = []
    for before, after in itertools.pairwise(literals):
        closing = "" if after[:1].isalnum() or after[:1].isspace() else after[:1]
        if is_json and before.endswith('"') and closing == '"':
            blanks.append(Blank("string", closing))
        elif is_json:
            blanks.append(Blank("value", closing))
        else:
            blanks.append(Blank("words" if any(literals) else "message", closing))
    return Template(text, literals, tuple(blanks))


def read(blank: Blank, state: str, text: str) -> str | None:
    """Go through more content of a blank.

    Args:
        blank: which.
        state: where its content stands: ``""`` at the start. In a ``string``: a backslash that waits for its
            character. In a ``value``: ``-`` in a number or word, ``.`` after a whole string, list or object, else the
            open brackets and quotes, innermost last, and a backslash that waits.
        text: what is added.

    Returns:
        The state after it; None if it may not stand here.
    """
    if blank.kind == "message":
        return state
    for character in text:
        if character < " ":  # a line break or another control character
            return None
        if blank.kind == "words":
            if blank.closing and character in (blank.closing, _OPENERS.get(blank.closing)):
                return None
            continue
        following = _in_string(state, character) if blank.kind == "string" else _in_value(state, character)
        if following is None:
            return None
        state = following
    return state


def _in_string(state: str, character: str) -> str | None:
    if state:
        return "" if character in _ESCAPES else None
    return None if character == '"' else "\\" if character == "\\" else ""


def _in_value(state: str, character: str) -> str | None:
    if state[-1:] == "\\":
        return state[:-1] if character in _ESCAPES else None
    if state[-1:] == '"':
        if character == "\\":
            return state + character
        return (state[:-1] or ".") if character == '"' else state
    if character == " ":
        return state
    if state == ".":
        return None
    if character in _OPENERS:
        return (state[:-1] or ".") if state and state[-1] == _OPENERS[character] else None
    if character in '"[{':
        return state + character if state != "-" and len(state) < _DEEPEST else None
    if state in ("", "-"):
        return "-" if character in _SCALAR else None
    return state


def completion(state: str) -> str:
    """The shortest text that closes all that is open.

    >>> completion('["')
    '"]'
    """
    closers = {"[": "]", "{": "}", '"': '"', "\\": "\\", "-": "", ".": ""}
    return "".join(closers[c] for c in reversed(state))


class BlankRules:
    """Which ids may not come next in a blank.

    Args:
        lm: the model, for the text of its ids.
        stop: the id that ends an action.
    """

    def __init__(self, lm: LanguageModel, stop: int) -> None:
        self.lm, self.stop = lm, stop
        self._excluded: dict[tuple[Blank, str, int | None], Excluded] = {}

    @functools.cached_property
    def _marked(self) -> list[int]:
        """Ids with a mark; all others are plain words, which may stand anywhere but after a backslash."""
        return [i for i, text in enumerate(self.lm.token_texts) if _MARKS.search(text)]

    @functools.cached_property
    def _silent(self) -> frozenset[int]:
        """Ids without text of their own."""
        return frozenset(i for i, text in enumerate(self.lm.token_texts) if not text)

    def may_close(self, blank: Blank, state: str, content: Sequence[int]) -> bool:
        """Whether the blank may end here: it holds something, and nothing in it is open."""
        if blank.kind == "value":
            return state in ("-", ".")
        return not state and bool(self.lm.decode(content).strip())

    def excluded(self, blank: Blank, state: str, close: int | None) -> Excluded:
        """All ids but the content that may come next and ``close``.

        Args:
            blank: which.
            state: of `read`.
            close: the id that ends the blank here; None where it must not end.
        """
        key = (blank, state, close)
        found = self._excluded.get(key)
        if found is None:
            texts = self.lm.token_texts
            usual = blank.kind != "value" and not state and (not blank.closing or _MARKS.match(blank.closing))
            suspects: Sequence[int] = self._marked if usual else range(len(texts))
            barred = {i for i in suspects if texts[i] and read(blank, state, texts[i]) is None} | self._silent
            found = self._excluded[key] = Excluded(sorted(barred - {close}))
        return found
