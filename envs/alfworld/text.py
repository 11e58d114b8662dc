"""What the player reads, byte for byte as the reference engine prints it (alfworld 0.4.2, textworld 1.7)."""

from collections.abc import Sequence
from typing import Literal

from envrl.envs.alfworld.game import Game, bits
from envrl.envs.alfworld.state import State

#: the wording of games and prompts: of alfworld 0.4, or of 0.3 ("put X in/on Y")
ActionSyntax = Literal["0.4", "0.3"]

NOTHING_HAPPENS = "Nothing happens."
_WELCOME = "-= Welcome to TextWorld, ALFRED! =-"
_MIDDLE = "You are in the middle of a room. Looking quickly around you, you see "
# ("", "") stands for the line about putting things down, which is not aligned in the reference's own text.
_HELP = (
    ("look", "look around your current location"),
    ("inventory", "check your current inventory"),
    ("go to (receptacle)", "move to a receptacle"),
    ("open (receptacle)", "open a receptacle"),
    ("close (receptacle)", "close a receptacle"),
    ("take (object) from (receptacle)", "take an object from a receptacle"),
    ("", ""),
    ("examine (something)", "examine a receptacle or an object"),
    ("use (object)", "use an object"),
    ("heat (object) with (receptacle)", "heat an object using a receptacle"),
    ("clean (object) with (receptacle)", "clean an object using a receptacle"),
    ("cool (object) with (receptacle)", "cool an object using a receptacle"),
    ("slice (object) with (object)", "slice an object using a sharp object"),
)
HELP_OF_PUTTING = {
    "0.4": "  move (object) to (receptacle):  place an object in or on a receptacle",
    "0.3": "  put (object) in/on (receptacle):  place an object in or on a receptacle",
}


def listing(items: Sequence[str]) -> str:
    """``a``, ``a, and b``, ``a, b, and c``; "nothing" when empty."""
    if not items:
        return "nothing"
    if len(items) == 1:
        return items[0]
    return ", ".join(items[:-1]) + ", and " + items[-1]


def _things(names: Sequence[str], mask: int) -> str:
    return listing(["a " + names[i] for i in bits(mask)])


def help_text(syntax: ActionSyntax = "0.4") -> str:
    """The list of commands that ``help`` prints."""
    lines = [
        f"  {command + ':':<33} {what}" if command else HELP_OF_PUTTING[syntax] for command, what in _HELP
    ]
    return "\n".join(["Available commands:", *lines, ""])


def intro(game: Game, state: State) -> str:
    """The first observation."""
    return f"{_WELCOME}\n\n{surroundings(game, state, at_start=True)}\n\nYour task is to: {game.sentence}"


def surroundings(game: Game, state: State, at_start: bool = False) -> str:
    """What ``look`` prints.

    The receptacles of the whole room are listed only at the start: while a game runs, the reference binds its
    query to the agent's location, where there is no receptacle, and so finds nothing.
    """
    here = game.receptacles_at[state.location]
    names = game.receptacle_names
    if not here:
        return _MIDDLE + (listing(["a " + name for name in names]) if at_start else "nothing") + "."
    lying = state.at_location[state.location]
    taken = 0
    for r in here:
        taken |= state.taken[r]
    # Like the reference: an object taken from two of the receptacles here is listed twice.
    beside = [
        "a " + game.object_names[o] for o in bits(lying & taken) for r in here if state.taken[r] >> o & 1
    ]
    return f"You are facing the {listing([names[r] for r in here])}. Next to it, you see {listing(beside)}."


def receptacle(game: Game, state: State, r: int) -> str:
    """What ``examine`` prints for a receptacle; also the second half of arriving and opening."""
    name = game.receptacle_names[r]
    if game.openable >> r & 1:
        if not state.opened >> r & 1:
            return f"The {name} is closed."
        return f"The {name} is open. In it, you see {_things(game.object_names, state.contents[r])}."
    return f"On the {name}, you see {_things(game.object_names, state.contents[r])}."


def held_object(game: Game, state: State, o: int) -> str:
    """What ``examine`` prints for the object in hand."""
    name = game.object_names[o]
    if game.receptacle_objects >> o & 1:
        inner = listing(["a " + game.object_names[i] for i, outer in game.nested if outer == o])
        return f"This is a normal {name}. In it, you see {inner}."
    clean, sliced = state.clean >> o & 1, state.sliced >> o & 1
    temperature = "hot" if state.hot >> o & 1 else "cool" if state.cool >> o & 1 else ""
    # The reference's order of rules: "cold" only where nothing else is to be said, and "on" before "sliced".
    if not clean and not sliced and temperature == "cool":
        return f"This is a cold {name}."
    condition = " and ".join(word for word in (temperature, "clean" if clean else "") if word)
    if condition:
        return f"This is a {condition} {'sliced ' if sliced else ''}{name}."
    if (game.toggleable & state.toggled) >> o & 1:
        return f"This {name} is on."
    if sliced and game.sliceable >> o & 1:
        return f"This is a sliced {name}."
    return f"There's nothing special about {name}."
