"""The commands of ALFWorld: how they are written, in either wording, and what they name.

Commands are recognised by grammar and name, not by membership in the list of admissible ones, so that "not
possible now" and "not a command" can be told apart.
"""

from typing import NamedTuple

from envrl.envs.alfworld.game import Game
from envrl.envs.alfworld.text import ActionSyntax


class Action(NamedTuple):
    """A command taken apart: verb, and the things it names.

    ``first`` and ``second`` are indices as in `Game.things` (objects first, then receptacles), -1 where
    absent. The verb is that of the 0.4 wording: look, inventory, help, go, open, close, take, move, examine,
    use, clean, heat, cool, slice.
    """

    verb: str
    first: int = -1
    second: int = -1


#: verb -> word between its two things, in the 0.4 wording
_JOINED = {"take": "from", "move": "to", "clean": "with", "heat": "with", "cool": "with", "slice": "with"}
_ALONE = {word: Action(word) for word in ("look", "inventory", "help")}
_SINGLE = frozenset({"open", "close", "examine", "use"})


def parse_action(game: Game, command: str, syntax: ActionSyntax = "0.4") -> Action | None:
    """The action that a command text means, or None if it is no command or names nothing in this game.

    Like the reference, only white space at both ends is forgiven.
    """
    command = command.strip()
    verb, _, rest = command.partition(" ")
    things = game.things
    if not rest:
        return _ALONE.get(verb)
    if verb == "go":
        thing = things.get(rest[3:], -1) if rest.startswith("to ") else -1
        return Action("go", thing) if thing >= 0 else None
    if verb in _SINGLE:
        thing = things.get(rest, -1)
        return Action(verb, thing) if thing >= 0 else None
    if syntax == "0.3" and verb in ("put", "move"):
        if verb == "move":
            return None
        verb, word = "move", "in/on"
    else:
        word = _JOINED.get(verb, "")
        if not word:
            return None
    first, _, second = rest.partition(f" {word} ")
    one, two = things.get(first, -1), things.get(second, -1)
    return Action(verb, one, two) if one >= 0 and two >= 0 else None
