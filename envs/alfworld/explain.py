"""Why a command did nothing, in words: the answers of ``feedback="explain"``.

The reasons never tell more than a person in the room could know: what lies in a closed receptacle stays
hidden.
"""

from envrl.envs.alfworld.actions import CLEANERS, COOLERS, HEATERS, KNIVES
from envrl.envs.alfworld.commands import Action
from envrl.envs.alfworld.game import Game
from envrl.envs.alfworld.state import State
from envrl.envs.alfworld.text import ActionSyntax

_FORMS = {
    "go": "go to <receptacle>",
    "open": "open <receptacle>",
    "close": "close <receptacle>",
    "take": "take <object> from <receptacle>",
    "move": "move <object> to <receptacle>",
    "put": "put <object> in/on <receptacle>",
    "examine": "examine <receptacle or object>",
    "use": "use <object>",
    "heat": "heat <object> with <receptacle>",
    "clean": "clean <object> with <receptacle>",
    "cool": "cool <object> with <receptacle>",
    "slice": "slice <object> with <object>",
    "look": "look",
    "inventory": "inventory",
    "help": "help",
}
#: verb -> (trait of the object, types of the receptacle, the receptacle in words)
_APPLIANCES = {
    "clean": ("cleanable", CLEANERS, "a sink"),
    "heat": ("heatable", HEATERS, "a microwave"),
    "cool": ("coolable", COOLERS, "a fridge"),
}


def why_not(
    game: Game, state: State, command: str, action: Action | None, syntax: ActionSyntax = "0.4"
) -> str:
    """One or two sentences: why ``command`` is not possible in ``state``.

    Args:
        game: the game.
        state: the state in which the command was given.
        command: the text the player wrote.
        action: what `parse_action` made of it, None if it was no command.
        syntax: the wording in use.
    """
    if action is None:
        return _not_understood(game, command, syntax)
    return _not_possible(game, state, action)


def _not_understood(game: Game, command: str, syntax: ActionSyntax) -> str:
    verb = command.strip().partition(" ")[0]
    foreign = "put" if syntax == "0.4" else "move"
    if verb in _FORMS and verb != foreign:
        return (
            f"It must read '{_FORMS[verb]}' with the names and numbers of things in this room, such as "
            f"'{game.receptacle_names[0]}'."
            if "<" in _FORMS[verb]
            else f"'{verb}' stands alone."
        )
    if verb == foreign:
        return f"To put something down, write '{_FORMS['move' if syntax == '0.4' else 'put']}'."
    known = ", ".join(form for name, form in _FORMS.items() if name != foreign)
    return f"That is no command. Commands: {known}."


def _not_possible(game: Game, state: State, action: Action) -> str:
    verb, first, second = action
    if verb in ("go", "open", "close"):
        return _about_receptacle(game, state, verb, first)
    if verb in ("take", "move"):
        return _about_carrying(game, state, verb, first, second)
    if verb == "examine":
        name = _name(game, first)
        return f"You can only examine what you hold or a receptacle where you are; the {name} is neither."
    if verb == "use":
        return _about_using(game, state, first)
    if verb == "slice":
        return _about_slicing(game, state, first, second)
    return _about_appliance(game, state, verb, first, second)


def _name(game: Game, thing: int) -> str:
    count = len(game.objects)
    return game.object_names[thing] if thing < count else game.receptacle_names[thing - count]


def _elsewhere(game: Game, state: State, thing: int) -> str:
    """Why the receptacle ``thing`` cannot be reached, "" if the agent stands at it."""
    r = thing - len(game.objects)
    if r < 0:
        return f"The {_name(game, thing)} is not a receptacle."
    if game.receptacle_locations[r] != state.location:
        return f"You are not at the {_name(game, thing)}: go to it first."
    return ""


def _closed(game: Game, state: State, thing: int) -> bool:
    r = thing - len(game.objects)
    return bool((game.openable & ~state.opened) >> r & 1)


def _about_receptacle(game: Game, state: State, verb: str, thing: int) -> str:
    r, name = thing - len(game.objects), _name(game, thing)
    if verb == "go":
        return (
            f"The {name} is not a receptacle: go to what it lies on."
            if r < 0
            else f"You are already at the {name}."
        )
    if reason := _elsewhere(game, state, thing):
        return reason
    if not game.openable >> r & 1:
        return f"The {name} cannot be opened or closed."
    return f"The {name} is already {'closed' if verb == 'close' else 'open'}."


def _about_carrying(game: Game, state: State, verb: str, first: int, second: int) -> str:
    name, place = _name(game, first), _name(game, second)
    if first >= len(game.objects):
        return f"The {name} is a receptacle and stays where it is."
    if verb == "take" and state.holding == first:
        return f"You are already carrying the {name}."
    if reason := _elsewhere(game, state, second):
        return reason
    if verb == "move" and state.holding != first:
        return f"You are not carrying the {name}."
    if _closed(game, state, second):
        return f"The {place} is closed: open it first."
    r = second - len(game.objects)
    if verb == "move":
        return f"A {game.receptacle_types[r]} does not take a {game.object_types[first]}."
    if not state.contents[r] >> first & 1:
        return f"There is no {name} in or on the {place}."
    if not game.pickupable >> first & 1:
        return f"The {name} cannot be picked up."
    return f"Your hands are full: you are carrying the {game.object_names[state.holding]}."


def _about_using(game: Game, state: State, thing: int) -> str:
    name = _name(game, thing)
    if thing >= len(game.objects) or not game.toggleable >> thing & 1:
        return f"The {name} is not something to switch on."
    return f"There is no {name} where you are."


def _about_slicing(game: Game, state: State, first: int, second: int) -> str:
    what, tool = _name(game, first), _name(game, second)
    if first >= len(game.objects) or not game.sliceable >> first & 1:
        return f"The {what} cannot be sliced."
    if second >= len(game.objects) or game.object_types[second] not in KNIVES:
        return f"The {tool} does not slice: it takes a knife or a butterknife."
    if state.holding != second:
        return f"You are not carrying the {tool}."
    return f"The {what} is not where you are."


def _about_appliance(game: Game, state: State, verb: str, first: int, second: int) -> str:
    trait, types, tool = _APPLIANCES[verb]
    name = _name(game, first)
    r = second - len(game.objects)
    if r < 0 or game.receptacle_types[r] not in types:
        return f"The {_name(game, second)} does not {verb} things: it takes {tool}."
    if first >= len(game.objects) or not getattr(game, trait) >> first & 1:
        return f"The {name} is not something to {verb}."
    if state.holding != first:
        return f"You are not carrying the {name}."
    return _elsewhere(game, state, second)
