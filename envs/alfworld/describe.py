"""The hidden state in words, for simulators that predict from it and for people who debug."""

from envrl.envs.alfworld.game import OBJECT_STATES, Game, bits
from envrl.envs.alfworld.state import State
from envrl.envs.alfworld.text import listing


def describe(game: Game, state: State) -> str:
    """Everything that is true now, one fact a line; contents of closed receptacles included."""
    here = [game.receptacle_names[r] for r in game.receptacles_at[state.location]]
    held = f"a {game.object_names[state.holding]}" if state.holding >= 0 else "nothing"
    lines = [
        f"Task: {game.sentence}",
        f"You are at {listing(here)}." if here else "You are in the middle of the room.",
        f"You are carrying {held}.",
    ]
    for r, name in enumerate(game.receptacle_names):
        condition = ""
        if game.openable >> r & 1:
            condition = " (open)" if state.opened >> r & 1 else " (closed)"
        inside = listing([f"a {game.object_names[o]}" for o in bits(state.contents[r])])
        lines.append(f"The {name}{condition} holds {inside}.")
    for o, name in enumerate(game.object_names):
        conditions = [word for word in OBJECT_STATES if getattr(state, word) >> o & 1]
        if conditions:
            words = ["switched on" if word == "toggled" else word for word in conditions]
            lines.append(f"The {name} is {' and '.join(words)}.")
    return "\n".join(lines)
