"""Where a player's lines come from: prompt_toolkit on a terminal that has it, else plain input."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from envrl.play.session import Session

if TYPE_CHECKING:
    from prompt_toolkit.completion import CompleteEvent, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.key_binding import KeyBindings

COMMANDS = (":actions", ":goal", ":help", ":hint", ":history", ":new", ":quit", ":restart", ":undo")
_KEYS = {"f1": ":help", "f2": ":hint", "f3": ":undo"}


class Reader(Protocol):
    """A source of lines."""

    def read(self, session: Session) -> str:
        """The next line. Raises EOFError at the end of input."""


def completions(session: Session, text: str) -> list[str]:
    """Lines that ``text`` could become: admissible actions, open templates up to their first blank, commands.

    Actions that start with the text; where there is none, those that hold all of its words.
    """
    if text.startswith(":"):
        return [command for command in COMMANDS if command.startswith(text)]
    info = session.info
    # "search[<query>]" completes to "search[": the rest is the player's
    openings = [template.partition("<")[0] for template in info["action_templates"]]
    offered = [*info["admissible_actions"], *(o for o in openings if o)]
    starting = [action for action in offered if action.lower().startswith(text.lower())]
    if starting:
        return starting
    words = text.lower().split()
    return [action for action in offered if all(word in action.lower() for word in words)]


def make_reader() -> Reader:
    """The best reader there is here."""
    if sys.stdin.isatty() and sys.stdout.isatty():
        try:
            return PromptReader()
        except ModuleNotFoundError:
            print("For completion and keys: pip install 'envrl[play]'", file=sys.stderr)
    return PlainReader()


class PlainReader:
    """Lines of standard input. A pipe's lines are echoed, so that a transcript reads like a game."""

    def read(self, session: Session) -> str:
        """The next line of standard input."""
        line = input("> ")
        if not sys.stdin.isatty():
            print(line)
        return line


class PromptReader:
    """A line editor with completion, history, keys and a status line (extra ``play``)."""

    def __init__(self) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import Completer, Completion

        reader = self
        self._session: Session | None = None

        class ActionCompleter(Completer):
            def get_completions(self, document: "Document", event: "CompleteEvent") -> Iterator["Completion"]:
                text = document.text_before_cursor.lstrip()
                if reader._session is not None:
                    for line in completions(reader._session, text):
                        yield Completion(line, start_position=-len(text))

        self._prompt: PromptSession[str] = PromptSession(
            completer=ActionCompleter(),
            complete_while_typing=False,
            key_bindings=_key_bindings(),
            bottom_toolbar=self._status,
        )

    def read(self, session: Session) -> str:
        """The next line typed."""
        self._session = session
        return self._prompt.prompt("> ")

    def _status(self) -> str:
        session = self._session
        if session is None:
            return ""
        limit = f"/{session.limit}" if session.limit is not None else ""
        progress = f"step {len(session.turns)}{limit}  score {session.score:g}"
        return f"{progress}  F1 help  F2 hint  F3 undo  Ctrl-D quit"


def _key_bindings() -> "KeyBindings":
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    bindings = KeyBindings()
    for key, command in _KEYS.items():

        def press(event: KeyPressEvent, command: str = command) -> None:
            event.app.exit(result=command)

        bindings.add(key)(press)
    return bindings
