"""Procedural ALFWorld games: rooms, objects and tasks that resemble the released games, without any download.

>>> generate_game("procedural/pick_heat_then_place_in_recep/7").sentence
'heat some plate and put it in countertop.'

A game is a pure function of its ``task_id`` and the difficulty, the same in every process and on every Python
version. Each game can be won: what the goal names is in reach, and so are the appliance and the target.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from envrl.envs.alfworld.game import Game, Goal
from envrl.envs.alfworld.goals import ROOMS, TARGET_COUNTS, TREATMENTS, WISHES, sentence
from envrl.envs.alfworld.layout import (
    SEEN_ROOMS,
    SMALLEST,
    UNSEEN_ROOMS,
    Room,
    draw_room,
    entity_id,
    seeded,
    spot_id,
)
from envrl.envs.alfworld.placements import PLACEMENTS
from envrl.envs.alfworld.rooms import (
    APPLIANCES,
    CAN_CONTAIN,
    CAPACITY,
    CLEANABLE,
    COOLABLE,
    FIXTURES,
    HEATABLE,
    HOLLOW,
    LAMPS,
    OPENABLE,
    SLICEABLE,
)
from envrl.envs.alfworld.tables import Weighted, below, weighted
from envrl.envs.alfworld.task_ids import ProceduralTasks, parse_task_id, split_of

__all__ = ["Difficulty", "ProceduralTasks", "generate_game"]

#: where a lamp can stand in a kind of room whose table names no place for one
_TABLES = ("sidetable", "desk", "dresser", "shelf", "diningtable", "coffeetable")
#: rooms to try for a task before giving up (a goal's receptacle type may be missing from a room)
_TRIES = 200


@dataclass(frozen=True, slots=True)
class Difficulty:
    """How large and full the rooms are. All fields are JSON-able; the defaults give games of official size.

    Args:
        receptacles: fewest and most receptacles in the room. Rooms of the released games have 6 to 54.
        clutter: factor on the number of objects that the task does not ask for; 0 leaves only what is needed.
        hidden: factor on the chance that what the task asks for starts in a receptacle that opens. 0 puts it
            in the open where the room allows; 0.6 matches the released games.
    """

    receptacles: tuple[int, int] = (10, 35)
    clutter: float = 1.0
    hidden: float = 0.6

    def __post_init__(self) -> None:
        low, high = self.receptacles
        if high < SMALLEST or not 0 <= low <= high:
            raise ValueError(
                f"receptacles must be (low, high) with low <= high and high >= {SMALLEST}, got {(low, high)}"
            )
        if not 0 <= self.clutter <= 4:
            raise ValueError(f"clutter must lie between 0 and 4, got {self.clutter}")
        if not 0 <= self.hidden <= 100:
            raise ValueError(f"hidden must lie between 0 and 100, got {self.hidden}")
        object.__setattr__(self, "receptacles", (int(low), int(high)))


def generate_game(
    task_id: str, *, receptacles: Sequence[int] = (10, 35), clutter: float = 1.0, hidden: float = 0.6
) -> Game:
    """The game that a task id names, at a difficulty (see `Difficulty`).

    Raises:
        InvalidTask: not a procedural task id.
        ValueError: a difficulty that cannot be met.
    """
    difficulty = Difficulty(tuple(receptacles), clutter, hidden)  # type: ignore[arg-type]
    task_type, seed = parse_task_id(task_id)
    rng = seeded(task_id)
    first, count = (SEEN_ROOMS, UNSEEN_ROOMS) if split_of(seed) == "valid_unseen" else (0, SEEN_ROOMS)
    for _ in range(_TRIES):
        kind = ROOMS[task_type].draw(rng)
        room = draw_room(kind, first + below(rng, count), *difficulty.receptacles)
        goal = _draw_goal(task_type, room, rng)
        if goal is not None:
            contents = _Contents(room, rng)
            if _place_targets(goal, room, contents, rng, difficulty.hidden):
                _place_clutter(goal, room, contents, rng, difficulty.clutter)
                return Game.from_facts(
                    contents.facts(), task_id=task_id, goal=goal, sentence=sentence(goal, rng)
                )
    raise ValueError(
        f"no room with {difficulty.receptacles} receptacles suits {task_type}; give a wider range"
    )


@dataclass(slots=True)
class _Contents:
    """Objects put into a room so far."""

    room: Room
    rng: Random
    ids: set[str] = field(default_factory=set)
    types: list[tuple[str, str]] = field(default_factory=list)
    inside: list[tuple[str, str]] = field(default_factory=list)
    places: list[tuple[str, str]] = field(default_factory=list)
    cool: list[tuple[str]] = field(default_factory=list)
    filled: dict[str, int] = field(default_factory=dict)

    def chances(self, weights: Mapping[str, float]) -> Weighted[str] | None:
        """Which type of receptacle an object goes to, by the weight of one of each; None if none is here."""
        receptacles = self.room.receptacles
        present = {kind: w * len(receptacles[kind]) for kind, w in weights.items() if kind in receptacles}
        return weighted(present) if any(present.values()) else None

    def put(self, name: str, chances: Weighted[str], chill: bool = False) -> bool:
        """Put a new object into a receptacle; False where those drawn are full."""
        for _ in range(8):
            kind = chances.draw(self.rng)
            group = self.room.receptacles[kind]
            where = group[below(self.rng, len(group))]
            if kind not in CAPACITY or self.filled.get(where, 0) < CAPACITY[kind]:
                break
        else:
            return False
        made = self._new(name)
        self.filled[where] = self.filled.get(where, 0) + 1
        self.inside.append((made, where))
        self.places.append((made, self.room.spots[where]))
        if chill and kind == "fridge":
            self.cool.append((made,))
        return True

    def drop(self, name: str, spots: set[str]) -> None:
        """Leave a new object where it cannot be reached."""
        self.places.append((self._new(name), spot_id(self.rng, spots)))

    def _new(self, name: str) -> str:
        made = entity_id(name, self.rng, self.ids)
        self.types.append((made, name))
        return made

    def facts(self) -> dict[str, list[tuple[str, ...]]]:
        """The initial facts in the form that `Game.from_facts` takes."""
        room, types = self.room, self.types
        present = {name for _, name in types}
        by_trait = {
            "cleanable": CLEANABLE,
            "heatable": HEATABLE,
            "coolable": COOLABLE,
            "sliceable": SLICEABLE,
            "toggleable": LAMPS,
            "isreceptacleobject": HOLLOW,
        }
        facts: dict[str, list[tuple[str, ...]]] = {
            trait: [(made,) for made, name in types if name in members] for trait, members in by_trait.items()
        }
        facts |= {
            "atlocation": [("agent1", room.start)],
            "receptacletype": [
                (one, kind + "type") for kind, group in room.receptacles.items() for one in group
            ],
            "receptacleatlocation": list(room.spots.items()),
            "openable": [(one,) for one in sorted(room.openable)],
            "cancontain": [
                (kind + "type", name + "type")
                for kind in room.counts
                for name in sorted(CAN_CONTAIN.get(kind, frozenset()) & present)
            ],
            "objecttype": [(made, name + "type") for made, name in types],
            "objectatlocation": list(self.places),
            "inreceptacle": list(self.inside),
            "pickupable": [(made,) for made, name in types if name not in FIXTURES],
            "iscool": list(self.cool),
        }
        return facts


def _draw_goal(task_type: str, room: Room, rng: Random) -> Goal | None:
    """What to ask for in this room, or None if the room lacks every target of the task type."""
    wishes = WISHES[task_type, room.kind]
    if task_type == "look_at_obj_in_light":
        return Goal(task_type, weighted(wishes.objects).draw(rng), weighted(wishes.targets).draw(rng))
    targets = {kind: w for kind, w in wishes.targets.items() if kind in room.counts}
    if not targets:
        return None
    target = weighted(targets).draw(rng)
    objects = {name: w for name, w in wishes.objects.items() if name in CAN_CONTAIN[target]}
    return Goal(task_type, weighted(objects).draw(rng), target) if objects else None


def _place_targets(goal: Goal, room: Room, contents: _Contents, rng: Random, hidden: float) -> bool:
    """Place the objects that the goal asks for, and a lamp; False if they find no place."""
    banned = set()
    treatment = TREATMENTS.get(goal.task_type)
    if treatment is not None:
        # No released game starts with such an object in the appliance that would treat it.
        banned.add(APPLIANCES[treatment])
    elif goal.task_type != "look_at_obj_in_light":
        banned.add(goal.target_type)
    usual = _attraction(room, goal.object_type, banned)
    shifted = {kind: w * hidden if kind in OPENABLE else w for kind, w in usual.items()}
    chances = contents.chances(shifted) or contents.chances(usual)
    if chances is None:
        return False
    for _ in range(TARGET_COUNTS[goal.task_type].draw(rng)):
        # In the released games whatever lies in the fridge and is asked for is cool already.
        if not contents.put(goal.object_type, chances, chill=goal.object_type in COOLABLE):
            return False
    if goal.task_type == "look_at_obj_in_light":
        lamp = contents.chances(_attraction(room, goal.target_type, set()) or dict.fromkeys(_TABLES, 1.0))
        return lamp is not None and contents.put(goal.target_type, lamp)
    return True


def _place_clutter(goal: Goal, room: Room, contents: _Contents, rng: Random, clutter: float) -> None:
    spots = {room.start, *room.spots.values()}
    for name, placement in PLACEMENTS[room.kind].items():
        inside, beside = placement.inside.draw(rng), placement.beside.draw(rng)
        if clutter != 1.0:
            inside = int(inside * clutter + rng.random())
        asked_for = name in (goal.object_type, goal.target_type)
        if inside and not asked_for and (chances := contents.chances(placement.attraction)) is not None:
            for _ in range(inside):
                contents.put(name, chances)
        for _ in range(beside):
            contents.drop(name, spots)


def _attraction(room: Room, name: str, banned: set[str]) -> dict[str, float]:
    """Where objects of a type may start in this room, weighted; any place that fits if none is usual."""
    placement = PLACEMENTS[room.kind].get(name)
    usual = placement.attraction if placement is not None else {}
    weights = {kind: float(w) for kind, w in usual.items() if kind in room.counts and kind not in banned}
    if weights:
        return weights
    return {kind: 1.0 for kind in room.counts if kind not in banned and name in CAN_CONTAIN.get(kind, ())}
