"""Rooms of procedural games: which receptacles, where they stand, and which rooms are held out.

A room is drawn from its kind and a number, so that many tasks share a room, as in ALFRED. Rooms are told
apart by their *layout*: the number of receptacles of each type, which is what a player sees of
an empty room. One layout in `HELD_OUT_ONE_IN` is held out, by a digest of the layout itself: training games
never take place in such a layout and games of ``valid_unseen`` always do, whatever the difficulty. Rooms
with numbers below `SEEN_ROOMS` belong to training and ``valid_seen``, the others to ``valid_unseen``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from random import Random

from envrl.envs.alfworld.rooms import (
    BASINS,
    KEPT,
    OPENABLE,
    RECEPTACLE_COUNTS,
    SHARED_SPOTS,
    SPARE,
)
from envrl.envs.alfworld.tables import mean, weighted

#: rooms of each kind that training games share, and that held-out games share
SEEN_ROOMS, UNSEEN_ROOMS = 4096, 512
HELD_OUT_ONE_IN = 8
#: smallest room that has the appliances of a kitchen and somewhere to put things
SMALLEST = 6
#: layouts to try before a range of sizes counts as too narrow for the split
_TRIES = 500
#: pieces of ids: coordinates in hundredths of a metre, and steps of a quarter metre
_COORDINATES = tuple(
    f"_{'minus' if c < 0 else 'plus'}_{abs(c) // 100:02d}_dot_{abs(c) % 100:02d}" for c in range(-450, 451)
)
_STEPS = tuple(f"_minus_{-c}" if c < 0 else str(c) for c in range(-20, 20))


@dataclass(frozen=True, slots=True)
class Room:
    """A room without objects.

    Attributes:
        kind: kitchen, livingroom, bedroom or bathroom.
        counts: receptacle type -> number of them, at least one.
        receptacles: ids by type.
        spots: receptacle id -> location id; neighbours may share one.
        openable: ids of the receptacles that open.
        start: location id where the agent begins; no receptacle stands there.
    """

    kind: str
    counts: dict[str, int]
    receptacles: dict[str, tuple[str, ...]]
    spots: dict[str, str]
    openable: frozenset[str]
    start: str


def seeded(*parts: object) -> Random:
    """A generator of random numbers that depends only on the parts' texts."""
    text = "/".join(map(str, parts))
    return Random(int.from_bytes(blake2b(text.encode(), digest_size=16).digest(), "big"))


def layout_of(counts: Mapping[str, int]) -> str:
    """The layout in words: ``cabinet 4 countertop 1 ...``."""
    return " ".join(f"{name} {n}" for name, n in sorted(counts.items()) if n)


def is_held_out(layout: str) -> bool:
    """Whether only ``valid_unseen`` games take place in this layout."""
    return blake2b(layout.encode(), digest_size=4).digest()[0] % HELD_OUT_ONE_IN == 0


def entity_id(name: str, rng: Random, taken: set[str]) -> str:
    """A new id in ALFRED's form, ``mug_bar__plus_00_dot_16_bar_...``: a type and coordinates in metres."""
    base, ending = (BASINS[name], f"_bar_{name}") if name in BASINS else (name, "")
    side = len(_COORDINATES)
    while True:
        point = int(rng.random() * side**3)
        x, y, z = (
            _COORDINATES[point // side**2],
            _COORDINATES[point // side % side],
            _COORDINATES[point % side],
        )
        made = f"{base}_bar_{x}_bar_{y}_bar_{z}{ending}"
        if made not in taken:
            taken.add(made)
            return made


def spot_id(rng: Random, taken: set[str]) -> str:
    """A new location id."""
    side = len(_STEPS)
    while True:
        point = int(rng.random() * side * side * 4)
        made = (
            f"loc_bar_{_STEPS[point % side]}_bar_{_STEPS[point // side % side]}_bar_{point // side**2}_bar_60"
        )
        if made not in taken:
            taken.add(made)
            return made


@lru_cache(maxsize=256)
def draw_room(kind: str, number: int, low: int, high: int) -> Room:
    """Room ``number`` of a kind, with ``low`` to ``high`` receptacles.

    Raises:
        ValueError: the range is so narrow that no layout on this side of the hold-out turns up.
    """
    rng = seeded("room", kind, number, low, high)
    unseen = number >= SEEN_ROOMS
    for _ in range(_TRIES):
        counts = _draw_counts(kind, rng, low, high)
        if is_held_out(layout_of(counts)) == unseen:
            return _furnish(kind, counts, rng)
    raise ValueError(
        f"no {'held-out ' if unseen else ''}layout of a {kind} with {low} to {high} receptacles in {_TRIES} "
        f"tries; give a wider range, receptacles=(low, high)"
    )


def _draw_counts(kind: str, rng: Random, low: int, high: int) -> dict[str, int]:
    shares = RECEPTACLE_COUNTS[kind]
    counts = {name: n for name, share in shares.items() if (n := share.draw(rng))}
    total = sum(counts.values())
    # A room outside the range ends up in the quarter of it that lies nearest, not always at the very end.
    margin = int(rng.random() * ((high - low) // 4 + 1))
    if total > high:
        for _ in range(total - high + margin):
            # Large rooms are cut where they differ most, at their many cabinets; whole types go now and then.
            spare = {n: c - 0.7 for n, c in counts.items() if c > 1 or n not in KEPT[kind]}
            name = weighted(spare).draw(rng)
            counts[name] -= 1
            if not counts[name]:
                del counts[name]
    elif total < low:
        more = {name: mean(shares[name]) for name in SPARE if name in shares}
        for _ in range(low - total + margin):
            name = weighted(more).draw(rng)
            counts[name] = counts.get(name, 0) + 1
    return counts


def _furnish(kind: str, counts: dict[str, int], rng: Random) -> Room:
    ids: set[str] = set()
    places: set[str] = set()
    start = spot_id(rng, places)
    receptacles = {
        name: tuple(entity_id(name, rng, ids) for _ in range(n)) for name, n in sorted(counts.items())
    }
    spots: dict[str, str] = {}
    openable = set()
    for name, group in receptacles.items():
        neighbour, share = SHARED_SPOTS.get(name, ("", 0.0))
        opens = OPENABLE.get(name, 0.0)
        for i, one in enumerate(group):
            others = receptacles.get(neighbour, ())
            beside = (
                group[i - 1] if neighbour == name and i else others[0] if neighbour != name and others else ""
            )
            # Countertops come before toasters in the order of names, so a neighbour has its spot already.
            if beside in spots and rng.random() < share:
                spots[one] = spots[beside]
            else:
                spots[one] = spot_id(rng, places)
            if opens and rng.random() < opens:
                openable.add(one)
    return Room(kind, counts, receptacles, spots, frozenset(openable), start)
