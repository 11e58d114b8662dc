"""The native engine: ALFWorld as pure functions over a `Game` and a `State`, no textworld, no subprocess.

    state = initial_state(game)
    text = step(game, state, admissible(game, state)[0])

`State.copy` branches. Nothing here is shared between states, so threads may step different states of one
game.
"""

from envrl.envs.alfworld.actions import CLEANERS, COOLERS, HEATERS, KNIVES, carry_out
from envrl.envs.alfworld.commands import Action, parse_action
from envrl.envs.alfworld.game import Game, bits
from envrl.envs.alfworld.state import State, initial_state, state_key
from envrl.envs.alfworld.text import NOTHING_HAPPENS, ActionSyntax, intro

__all__ = [
    "NOTHING_HAPPENS",
    "Action",
    "ActionSyntax",
    "State",
    "admissible",
    "carry_out",
    "initial_state",
    "intro",
    "is_won",
    "parse_action",
    "state_key",
    "step",
]


def step(game: Game, state: State, command: str, syntax: ActionSyntax = "0.4") -> str:
    """Carry out one command text, changing ``state``; the text the player reads.

    A command that is not possible or not understood changes nothing and reads "Nothing happens.".
    """
    action = parse_action(game, command, syntax)
    answer = carry_out(game, state, action, syntax) if action is not None else None
    return NOTHING_HAPPENS if answer is None else answer


def is_won(game: Game, state: State) -> bool:
    """Whether the PDDL goal of the game holds."""
    kind = game.goal.task_type
    if kind == "look_at_obj_in_light":
        if state.holding < 0 or not game.goal_objects >> state.holding & 1:
            return False
        lit = game.lamps & state.toggled
        return bool(lit) and any(state.contents[r] & lit for r in game.receptacles_at[state.location])
    wanted, contents = game.goal_objects, state.contents
    if kind == "pick_clean_then_place_in_recep":
        wanted &= state.clean
    elif kind == "pick_heat_then_place_in_recep":
        wanted &= state.hot
    elif kind == "pick_cool_then_place_in_recep":
        wanted &= state.cool
    if kind == "pick_two_obj_and_place":
        return any((contents[r] & wanted).bit_count() >= 2 for r in game.goal_receptacles)
    return wanted != 0 and any(contents[r] & wanted for r in game.goal_receptacles)


def admissible(game: Game, state: State, syntax: ActionSyntax = "0.4") -> tuple[str, ...]:
    """All commands that are possible now, sorted.

    Commands fall into blocks by verb, and the blocks stand in alphabetical order; only the few commands
    inside a block are sorted.
    """
    here, held = game.receptacles_at[state.location], state.holding
    names, objects = game.receptacle_names, game.object_names
    opened, openable = state.opened, game.openable
    examine = ["examine " + names[r] for r in here]
    clean: list[str] = []
    close: list[str] = []
    cool: list[str] = []
    heat: list[str] = []
    move: list[str] = []
    opens: list[str] = []
    slices: list[str] = []
    take: list[str] = []
    use: list[str] = []
    for r in here:
        name, inside = names[r], state.contents[r]
        reachable = True
        if openable >> r & 1:
            reachable = bool(opened >> r & 1)
            (close if reachable else opens).append(f"{'close' if reachable else 'open'} {name}")
        if held >= 0:
            kind = game.receptacle_types[r]
            if reachable and (kind, game.object_types[held]) in game.can_contain:
                move.append(
                    f"put {objects[held]} in/on {name}"
                    if syntax == "0.3"
                    else f"move {objects[held]} to {name}"
                )
            if kind in CLEANERS and game.cleanable >> held & 1:
                clean.append(f"clean {objects[held]} with {name}")
            elif kind in HEATERS and game.heatable >> held & 1:
                heat.append(f"heat {objects[held]} with {name}")
            elif kind in COOLERS and game.coolable >> held & 1:
                cool.append(f"cool {objects[held]} with {name}")
        elif reachable:
            take += [f"take {objects[o]} from {name}" for o in bits(inside & game.pickupable)]
        if inside & game.toggleable:
            use += ["use " + objects[o] for o in bits(inside & game.toggleable)]
    if held >= 0:
        examine.append("examine " + objects[held])
        if game.object_types[held] in KNIVES:
            sliceable = game.sliceable & state.at_location[state.location]
            slices = [f"slice {objects[o]} with {objects[held]}" for o in bits(sliceable)]
    for block in (close, clean, cool, examine, heat, move, opens, slices, take):
        block.sort()
    # An object in two receptacles here is named twice; the command is one.
    use = sorted(set(use)) if len(use) > 1 else use
    first = (*clean, *close, *cool, *examine, *game.go_to[state.location], *heat, "help", "inventory", "look")
    # "put ..." sorts after "open ...", "move ..." before it.
    middle = (*opens, *move) if syntax == "0.3" else (*move, *opens)
    return (*first, *middle, *slices, *take, *use)
