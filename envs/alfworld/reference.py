"""The original stack behind ``engine="textworld"``: alfworld's grammar on textworld and fast-downward.

It is slow (a second to load a game, a tenth of a second a step) and is here for comparison: observations,
admissible commands and wins are the stack's own, and the hidden state is read off its facts.
"""

import importlib
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from envrl.envs.alfworld.game import OBJECT_STATES, Game
from envrl.envs.alfworld.state import State, full_key
from envrl.envs.alfworld.text import HELP_OF_PUTTING, ActionSyntax
from envrl.envs.errors import MissingExtra

#: One lock for the whole stack: its parsers and its PDDL translation keep their state in modules.
_STACK = threading.RLock()

# What the 0.4 grammar and the 0.3 grammar say differently, pair by pair.
_WORDINGS = {
    "0.4": (
        '"move {o} to {r}"',
        "You move the {o.name} to the {r.name}.",
        "You arrive at {r.name}.",
        HELP_OF_PUTTING["0.4"],
    ),
    "0.3": (
        '"put {o} in/on {r}"',
        "You put the {o.name} in/on the {r.name}.",
        "You arrive at {lend.name}.",
        HELP_OF_PUTTING["0.3"],
    ),
}


@contextmanager
def _exclusively() -> Iterator[None]:
    """Hold the lock, and put ``sys.argv`` back, which the translation overwrites."""
    with _STACK:
        argv = sys.argv
        try:
            yield
        finally:
            sys.argv = argv


def new_stack() -> Any:
    """alfworld's wrapper, which gives things their names, around textworld's environment for PDDL games."""
    with _exclusively():
        try:
            textworld = importlib.import_module("textworld")
            pddl = importlib.import_module("textworld.envs.pddl")
            alfworld = importlib.import_module("alfworld.agents.environment.alfred_tw_env")
        except ImportError as error:
            raise MissingExtra(
                f"engine='textworld' needs the original stack ({error}); "
                "install it with: pip install 'envrl[reference]'"
            ) from None
        infos = textworld.EnvInfos(admissible_commands=True, won=True)
        return alfworld.AlfredDemangler(pddl.PddlEnv(infos), shuffle=False)


def reworded(grammar: str, syntax: ActionSyntax) -> str:
    """A game's grammar in the wording asked for."""
    other = "0.3" if syntax == "0.4" else "0.4"
    for found, wanted in zip(_WORDINGS[other], _WORDINGS[syntax], strict=True):
        grammar = grammar.replace(found, wanted)
    return grammar


class ReferencePlay:
    """A game on the original stack, with the methods of `envrl.envs.alfworld.play.Play`.

    Args:
        game: the same game for the native engine; it gives names and indices to the hidden state.
        source: the game file.
        syntax: the wording of commands and texts.
        before: an earlier play whose planner library is taken over (it cannot be unloaded); that play is
            over.

    Raises:
        MissingExtra: the stack is not installed.
    """

    def __init__(
        self,
        game: Game,
        source: Mapping[str, Any],
        syntax: ActionSyntax = "0.4",
        before: "ReferencePlay | None" = None,
    ) -> None:
        self.game = game
        self.syntax = syntax
        self._env: Any = new_stack() if before is None else before._env
        with _exclusively():
            self._env.load({**source, "grammar": reworded(source["grammar"], syntax)})
        self._begin()

    def intro(self) -> str:
        """The first observation."""
        return str(self._first)

    def accepts(self, command: str) -> bool:
        """Whether the command is possible now."""
        return command.strip() in self._admissible

    def act(self, command: str) -> str | None:
        """Carry out a command; None where it is not possible or no command."""
        if not self.accepts(command):
            return None
        with _exclusively():
            observed, _, _ = self._env.step(command)
        self._commands.append(command.strip())
        self._take_up(observed)
        return str(observed.feedback)

    def admissible(self) -> tuple[str, ...]:
        """All commands that are possible now, sorted."""
        return self._admissible

    @property
    def state(self) -> State:
        """The hidden state, read off the stack's facts."""
        return self._state

    def snapshot(self) -> tuple[str, ...]:
        """The commands that led here from the start; the stack itself cannot be copied."""
        return tuple(self._commands)

    def restore(self, snapshot: tuple[str, ...]) -> None:
        """Play the commands of a snapshot again from the start."""
        if snapshot[: len(self._commands)] != tuple(self._commands):
            self._begin()
        for command in snapshot[len(self._commands) :]:
            self.act(command)

    def _begin(self) -> None:
        with _exclusively():
            observed = self._env.reset()
        self._first = observed.feedback
        self._commands: list[str] = []
        self._take_up(observed)

    def _take_up(self, observed: Any) -> None:
        self._admissible = tuple(observed["admissible_commands"])
        self.won = bool(observed["won"])
        self._state = state_of_facts(self.game, observed["_facts"])


def state_of_facts(game: Game, facts: Any) -> State:
    """The hidden state in the native engine's form, from the facts of the stack (textworld propositions)."""
    objects = {o: i for i, o in enumerate(game.objects)}
    receptacles = {r: i for i, r in enumerate(game.receptacles)}
    locations = {at: i for i, at in enumerate(game.locations)}
    masks = dict.fromkeys(("is" + name for name in OBJECT_STATES), 0)
    state = State(
        -1, -1, 0, 0, 0, 0, 0, 0, [0] * len(receptacles), [0] * len(locations), [0] * len(receptacles), 0
    )
    for fact in facts:
        first, last = fact.arguments[0].name, fact.arguments[-1].name
        if fact.name == "atlocation":
            state.location = locations[last]
        elif fact.name == "holds":
            state.holding = objects[last]
        elif fact.name == "opened":
            state.opened |= 1 << receptacles[first]
        elif fact.name in masks:
            masks[fact.name] |= 1 << objects[first]
        elif fact.name == "inreceptacle":
            state.contents[receptacles[last]] |= 1 << objects[first]
        elif fact.name == "objectatlocation":
            state.at_location[locations[last]] |= 1 << objects[first]
        elif fact.name == "not_inreceptacle":
            state.taken[receptacles[last]] |= 1 << objects[first]
    for name in OBJECT_STATES:
        setattr(state, name, masks["is" + name])
    state.key = full_key(game, state)
    return state
