"""The changing part of a game: plain integers, cheap to copy, with a digest kept up to date by every change.

The digest (`state_key`) is a sum over the facts that hold, modulo the prime 2**127 - 1; a fact's term is the
product of a constant for its predicate and one number for each entity in it, all drawn from SHAKE-128 of the
game's facts. Two different sets of facts are two different polynomials of degree three in these numbers, so
they collide with a probability of about 2**-125, in every process and under every hash seed alike.
"""

from dataclasses import dataclass

from envrl.envs.alfworld.facts import KEY_PRIME, numbers
from envrl.envs.alfworld.game import OBJECT_STATES, Game, bits

_PREDICATES = ("at", "holds", "opened", "inside", "lying", "taken", *OBJECT_STATES)
AT, HOLDS, OPENED, INSIDE, LYING, TAKEN, HOT, COOL, CLEAN, SLICED, TOGGLED = numbers(
    "predicates of the state key", len(_PREDICATES)
)


@dataclass(slots=True)
class State:
    """Where everything is and in what condition. Indices and masks are those of the `Game`.

    Attributes:
        location: the agent's location.
        holding: the object in hand, -1 for none.
        opened: mask of opened receptacles.
        hot, cool, clean, sliced, toggled: masks of objects.
        contents: per receptacle, mask of the objects in it (an object may stand in two receptacles at once,
            as it does in many official games).
        at_location: per location, mask of the objects that lie there; `slice` asks for this.
        taken: per receptacle, mask of the objects that were taken from it and not put back; `look` shows
            those that lie at the same location again.
        key: the digest as an integer.
    """

    location: int
    holding: int
    opened: int
    hot: int
    cool: int
    clean: int
    sliced: int
    toggled: int
    contents: list[int]
    at_location: list[int]
    taken: list[int]
    key: int

    def copy(self) -> "State":
        """An independent copy."""
        return State(
            self.location,
            self.holding,
            self.opened,
            self.hot,
            self.cool,
            self.clean,
            self.sliced,
            self.toggled,
            self.contents.copy(),
            self.at_location.copy(),
            self.taken.copy(),
            self.key,
        )


def initial_state(game: Game) -> State:
    """The state in which the game begins."""
    state = State(
        game.start_location,
        game.start_holding,
        game.start_opened,
        game.start_hot,
        game.start_cool,
        game.start_clean,
        game.start_sliced,
        game.start_toggled,
        list(game.start_contents),
        list(game.start_at_location),
        [0] * len(game.receptacles),
        0,
    )
    state.key = full_key(game, state)
    return state


def full_key(game: Game, state: State) -> int:
    """The digest computed from nothing; equals ``state.key`` at all times."""
    objects, receptacles, locations = game.object_keys, game.receptacle_keys, game.location_keys
    total = game.base_key + AT * locations[state.location]
    if state.holding >= 0:
        total += HOLDS * objects[state.holding]
    total += OPENED * sum(receptacles[r] for r in bits(state.opened))
    for constant, mask in (
        (HOT, state.hot),
        (COOL, state.cool),
        (CLEAN, state.clean),
        (SLICED, state.sliced),
        (TOGGLED, state.toggled),
    ):
        total += constant * sum(objects[o] for o in bits(mask))
    for constant, places, masks in (
        (INSIDE, receptacles, state.contents),
        (LYING, locations, state.at_location),
        (TAKEN, receptacles, state.taken),
    ):
        for place, mask in zip(places, masks, strict=True):
            if mask:
                total += constant * place * sum(objects[o] for o in bits(mask))
    return total % KEY_PRIME


def state_key(game: Game, state: State) -> str:
    """The digest of the whole hidden state as 32 hexadecimal digits: equal iff the states are equal."""
    return f"{state.key:032x}"
