"""What the commands of ALFWorld do, and when they are possible.

Every rule is an operator of ALFRED's PDDL domain as the reference engine plays it.
"""

from collections.abc import Callable

from envrl.envs.alfworld import text
from envrl.envs.alfworld.commands import Action
from envrl.envs.alfworld.facts import KEY_PRIME
from envrl.envs.alfworld.game import Game
from envrl.envs.alfworld.state import (
    AT,
    CLEAN,
    COOL,
    HOLDS,
    HOT,
    INSIDE,
    LYING,
    OPENED,
    SLICED,
    TAKEN,
    TOGGLED,
    State,
)
from envrl.envs.alfworld.text import ActionSyntax

#: types of the receptacles that change what is held
CLEANERS = ("sink", "sinkbasin")
HEATERS = ("microwave",)
COOLERS = ("fridge",)
#: types of the objects that slice
KNIVES = ("knife", "butterknife")


def carry_out(game: Game, state: State, action: Action, syntax: ActionSyntax = "0.4") -> str | None:
    """Do it: change the state and return what the player reads; None, and no change, where it cannot be."""
    return _RULES[action.verb](game, state, action.first, action.second, syntax)


def _receptacle_here(game: Game, state: State, thing: int) -> int:
    """Index of the receptacle that ``thing`` is and that stands where the agent is, else -1."""
    r = thing - len(game.objects)
    return r if r >= 0 and game.receptacle_locations[r] == state.location else -1


def _reachable(game: Game, state: State, r: int) -> bool:
    return not game.openable >> r & 1 or bool(state.opened >> r & 1)


def _look(game: Game, state: State, first: int, second: int, syntax: ActionSyntax) -> str:
    return text.surroundings(game, state)


def _inventory(game: Game, state: State, first: int, second: int, syntax: ActionSyntax) -> str:
    if state.holding < 0:
        return "You are not carrying anything."
    return f"You are carrying: a {game.object_names[state.holding]}."


def _help(game: Game, state: State, first: int, second: int, syntax: ActionSyntax) -> str:
    return text.help_text(syntax)


def _go(game: Game, state: State, first: int, second: int, syntax: ActionSyntax) -> str | None:
    r = first - len(game.objects)
    if r < 0:
        return None
    there = game.receptacle_locations[r]
    if there == state.location:
        return None
    state.key = (
        state.key + AT * (game.location_keys[there] - game.location_keys[state.location])
    ) % KEY_PRIME
    state.location = there
    place = game.location_names[there] if syntax == "0.3" else game.receptacle_names[r]
    return f"You arrive at {place}. {text.receptacle(game, state, r)}"


def _open(game: Game, state: State, first: int, second: int, syntax: ActionSyntax) -> str | None:
    r = _receptacle_here(game, state, first)
    if r < 0 or not (game.openable & ~state.opened) >> r & 1:
        return None
    state.opened |= 1 << r
    state.key = (state.key + OPENED * game.receptacle_keys[r]) % KEY_PRIME
    return f"You open the {game.receptacle_names[r]}. {text.receptacle(game, state, r)}"


def _close(game: Game, state: State, first: int, second: int, syntax: ActionSyntax) -> str | None:
    r = _receptacle_here(game, state, first)
    if r < 0 or not (game.openable & state.opened) >> r & 1:
        return None
    state.opened &= ~(1 << r)
    state.key = (state.key - OPENED * game.receptacle_keys[r]) % KEY_PRIME
    return f"You close the {game.receptacle_names[r]}."


def _take(game: Game, state: State, first: int, second: int, syntax: ActionSyntax) -> str | None:
    r, o = _receptacle_here(game, state, second), first
    if r < 0 or o >= len(game.objects) or state.holding >= 0 or not _reachable(game, state, r):
        return None
    bit = 1 << o
    if not state.contents[r] & game.pickupable & bit:
        return None
    here = state.location
    change = HOLDS - INSIDE * game.receptacle_keys[r]
    state.contents[r] ^= bit
    if not state.taken[r] & bit:
        state.taken[r] |= bit
        change += TAKEN * game.receptacle_keys[r]
    if state.at_location[here] & bit:
        state.at_location[here] ^= bit
        change -= LYING * game.location_keys[here]
    state.holding = o
    state.key = (state.key + change * game.object_keys[o]) % KEY_PRIME
    return f"You pick up the {game.object_names[o]} from the {game.receptacle_names[r]}."


def _move(game: Game, state: State, first: int, second: int, syntax: ActionSyntax) -> str | None:
    r, o = _receptacle_here(game, state, second), first
    if r < 0 or o != state.holding or not _reachable(game, state, r):
        return None
    if (game.receptacle_types[r], game.object_types[o]) not in game.can_contain:
        return None
    bit, here = 1 << o, state.location
    change = -HOLDS
    if not state.contents[r] & bit:
        state.contents[r] |= bit
        change += INSIDE * game.receptacle_keys[r]
    if state.taken[r] & bit:
        state.taken[r] ^= bit
        change -= TAKEN * game.receptacle_keys[r]
    if not state.at_location[here] & bit:
        state.at_location[here] |= bit
        change += LYING * game.location_keys[here]
    state.holding = -1
    state.key = (state.key + change * game.object_keys[o]) % KEY_PRIME
    if syntax == "0.3":
        return f"You put the {game.object_names[o]} in/on the {game.receptacle_names[r]}."
    return f"You move the {game.object_names[o]} to the {game.receptacle_names[r]}."


def _examine(game: Game, state: State, first: int, second: int, syntax: ActionSyntax) -> str | None:
    # Only the object in hand: the domain's clause about objects in sight never applies in the reference.
    if first == state.holding:
        return text.held_object(game, state, first)
    r = _receptacle_here(game, state, first)
    return text.receptacle(game, state, r) if r >= 0 else None


def _use(game: Game, state: State, first: int, second: int, syntax: ActionSyntax) -> str | None:
    # Works on things in closed receptacles too, and never turns anything off.
    bit = 1 << first
    if first >= len(game.objects) or not game.toggleable & bit:
        return None
    if not any(state.contents[r] & bit for r in game.receptacles_at[state.location]):
        return None
    if not state.toggled & bit:
        state.toggled |= bit
        state.key = (state.key + TOGGLED * game.object_keys[first]) % KEY_PRIME
    return f"You turn on the {game.object_names[first]}."


def _appliance(game: Game, state: State, o: int, thing: int, trait: int, types: tuple[str, ...]) -> int:
    """Index of the receptacle if it is of ``types`` and here, and what is held has the trait; else -1."""
    r = _receptacle_here(game, state, thing)
    fits = r >= 0 and o == state.holding and trait >> o & 1 and game.receptacle_types[r] in types
    return r if fits else -1


def _clean(game: Game, state: State, first: int, second: int, syntax: ActionSyntax) -> str | None:
    r = _appliance(game, state, first, second, game.cleanable, CLEANERS)
    if r < 0:
        return None
    if not state.clean >> first & 1:
        state.clean |= 1 << first
        state.key = (state.key + CLEAN * game.object_keys[first]) % KEY_PRIME
    return f"You clean the {game.object_names[first]} using the {game.receptacle_names[r]}."


def _heat(game: Game, state: State, first: int, second: int, syntax: ActionSyntax) -> str | None:
    r = _appliance(game, state, first, second, game.heatable, HEATERS)
    if r < 0:
        return None
    bit, change = 1 << first, 0
    if not state.hot & bit:
        state.hot |= bit
        change += HOT
    if state.cool & bit:
        state.cool ^= bit
        change -= COOL
    state.key = (state.key + change * game.object_keys[first]) % KEY_PRIME
    return f"You heat the {game.object_names[first]} using the {game.receptacle_names[r]}."


def _cool(game: Game, state: State, first: int, second: int, syntax: ActionSyntax) -> str | None:
    r = _appliance(game, state, first, second, game.coolable, COOLERS)
    if r < 0:
        return None
    bit, change = 1 << first, 0
    if not state.cool & bit:
        state.cool |= bit
        change += COOL
    if state.hot & bit:
        state.hot ^= bit
        change -= HOT
    state.key = (state.key + change * game.object_keys[first]) % KEY_PRIME
    return f"You cool the {game.object_names[first]} using the {game.receptacle_names[r]}."


def _slice(game: Game, state: State, first: int, second: int, syntax: ActionSyntax) -> str | None:
    if first >= len(game.objects) or second != state.holding or game.object_types[second] not in KNIVES:
        return None
    bit = 1 << first
    if not game.sliceable & state.at_location[state.location] & bit:
        return None
    if not state.sliced & bit:
        state.sliced |= bit
        state.key = (state.key + SLICED * game.object_keys[first]) % KEY_PRIME
    return f"You sliced the {game.object_names[first]} with the {game.object_names[second]}."


_RULES: dict[str, Callable[[Game, State, int, int, ActionSyntax], str | None]] = {
    "look": _look,
    "inventory": _inventory,
    "help": _help,
    "go": _go,
    "open": _open,
    "close": _close,
    "take": _take,
    "move": _move,
    "examine": _examine,
    "use": _use,
    "clean": _clean,
    "heat": _heat,
    "cool": _cool,
    "slice": _slice,
}
