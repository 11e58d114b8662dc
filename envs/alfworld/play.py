"""One running game behind the environment's face: the native engine, or anything that offers the same
methods.
"""

from typing import Any, Protocol

from envrl.envs.alfworld import text
from envrl.envs.alfworld.actions import carry_out
from envrl.envs.alfworld.commands import parse_action
from envrl.envs.alfworld.engine import admissible, is_won
from envrl.envs.alfworld.explain import why_not
from envrl.envs.alfworld.game import Game
from envrl.envs.alfworld.state import State, initial_state, state_key
from envrl.envs.alfworld.text import NOTHING_HAPPENS, ActionSyntax
from envrl.envs.core import ActionStatus


class Play(Protocol):
    """A game being played. `NativePlay` and `envrl.envs.alfworld.reference.ReferencePlay` are the two
    engines.
    """

    game: Game
    syntax: ActionSyntax
    won: bool

    @property
    def state(self) -> State:
        """The hidden state; callers copy it before they change it."""

    def intro(self) -> str:
        """The first observation."""

    def accepts(self, command: str) -> bool:
        """Whether the command is possible now."""

    def act(self, command: str) -> str | None:
        """Carry out a command; None where it is not possible or no command."""

    def admissible(self) -> tuple[str, ...]:
        """All commands that are possible now, sorted."""

    def snapshot(self) -> Any:
        """A picklable value that later steps do not change."""

    def restore(self, snapshot: Any) -> None:
        """Return to a snapshot of the same game."""


class NativePlay:
    """A game on the native engine."""

    __slots__ = ("game", "state", "syntax", "won")

    def __init__(self, game: Game, syntax: ActionSyntax = "0.4", state: State | None = None) -> None:
        self.game = game
        self.syntax = syntax
        self.state = initial_state(game) if state is None else state.copy()
        self.won = is_won(game, self.state)

    def intro(self) -> str:
        """The first observation."""
        return text.intro(self.game, self.state)

    def accepts(self, command: str) -> bool:
        """Whether the command is possible now."""
        action = parse_action(self.game, command, self.syntax)
        return action is not None and carry_out(self.game, self.state.copy(), action, self.syntax) is not None

    def act(self, command: str) -> str | None:
        """Carry out a command; None where it is not possible or no command."""
        action = parse_action(self.game, command, self.syntax)
        if action is None:
            return None
        answer = carry_out(self.game, self.state, action, self.syntax)
        if answer is not None:
            self.won = is_won(self.game, self.state)
        return answer

    def admissible(self) -> tuple[str, ...]:
        """All commands that are possible now, sorted."""
        return admissible(self.game, self.state, self.syntax)

    def snapshot(self) -> State:
        """A copy of the state."""
        return self.state.copy()

    def restore(self, snapshot: State) -> None:
        """Return to a snapshot of the same game."""
        self.state = snapshot.copy()
        self.won = is_won(self.game, self.state)


def classify(play: Play, command: str, explain: bool) -> tuple[ActionStatus, str]:
    """(status, answer) of a command without carrying it out; the answer is "" where it is possible."""
    if play.accepts(command):
        return "ok", ""
    action = parse_action(play.game, command, play.syntax)
    status: ActionStatus = "malformed" if action is None else "inadmissible"
    if not explain:
        return status, NOTHING_HAPPENS
    return status, f"{NOTHING_HAPPENS} {why_not(play.game, play.state, command, action, play.syntax)}"


def digest(play: Play) -> str:
    """The state key of the present state."""
    return state_key(play.game, play.state)
