"""Procedural ALFWorld games: rooms, objects and tasks drawn to resemble the released games, without any download.

>>> game = generate_game("procedural/pick_heat_then_place_in_recep/7")
>>> game.goal.task_type, game.goal.object_type in HEATABLE
('pick_heat_then_place_in_recep', True)

A game is a pure function of its ``task_id`` and the difficulty, the same in every process and on every Python
version. Each game can be won: what the goal names is in reach, and so are the appliance and the target.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import overload

from envrl.envs.alfworld.game import TASK_TYPES, Game, Goal
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
    SLICEABLE,
)
from envrl.envs.alfworld.tables import Random, below, weighted
from envrl.envs.errors import InvalidTask

PREFIX = "procedural"
#: split -> (first seed, number of seeds for each task type)
SPLITS = {
    "train": (0, 1_000_000),
    "valid_seen": (1_000_000_000, 24),
    "valid_unseen": (2_000_000_000, 100),
}
_END = 3_000_000_000
#: rooms to try for a task before giving up (a goal's receptacle type may be missing from a room)
_TRIES = 200


@dataclass(frozen=True, slots=True)
class Difficulty:
    """How large and how full the rooms are. All fields are JSON-able; the defaults give games of official size.

    Args:
        receptacles: fewest and most receptacles in the room. Rooms of the released games have 6 to 54.
        clutter: factor on the number of objects that the task does not ask for; 0 leaves only what is needed.
    """

    receptacles: tuple[int, int] = (10, 35)
    clutter: float = 1.0

    def __post_init__(self) -> None:
        low, high = self.receptacles
        if not SMALLEST <= high or not 0 <= low <= high:
            raise ValueError(f"receptacles must be (low, high) with low <= high and high >= {SMALLEST}, got {(low, high)}")
        if not 0 <= self.clutter <= 4:
            raise ValueError(f"clutter must lie between 0 and 4, got {self.clutter}")
        object.__setattr__(self, "receptacles", (int(low), int(high)))


class ProceduralTasks(Sequence[str]):
    """The task ids of a split, made on demand: ``procedural/<task_type>/<seed>``.

    Task types alternate, so every prefix is balanced over them. Splits have disjoint seeds.

    Args:
        split: ``train`` (a million ids for each task type), ``valid_seen`` (24) or ``valid_unseen`` (100).
        task_types: names among ALFRED's six; None for all.
    """

    def __init__(self, split: str = "train", task_types: Sequence[str] | None = None) -> None:
        if split not in SPLITS:
            raise ValueError(f"split must be one of {', '.join(SPLITS)}, got {split!r}")
        chosen = tuple(TASK_TYPES if task_types is None else dict.fromkeys(task_types))
        unknown = [name for name in chosen if name not in TASK_TYPES]
        if unknown or not chosen:
            raise ValueError(f"task_types must name some of {', '.join(TASK_TYPES)}, got {list(chosen)}")
        self.split, self.task_types = split, chosen
        self._first, self._each = SPLITS[split]

    def __len__(self) -> int:
        return self._each * len(self.task_types)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        n = len(self)
        if not -n <= index < n:
            raise IndexError(f"index {index} is outside the {n} tasks of {self.split}")
        seed, which = divmod(index % n, len(self.task_types))
        return f"{PREFIX}/{self.task_types[which]}/{self._first + seed}"

    def __contains__(self, task_id: object) -> bool:
        try:
            task_type, seed = parse_task_id(str(task_id))
        except InvalidTask:
            return False
        return task_type in self.task_types and self._first <= seed < self._first + self._each

    def __repr__(self) -> str:
        return f"ProceduralTasks({self.split!r}, {list(self.task_types)}, {len(self):,} ids)"


def parse_task_id(task_id: str) -> tuple[str, int]:
    """(task type, seed) of ``procedural/<task_type>/<seed>``.

    Raises:
        InvalidTask: another form, an unknown task type, or a seed outside 0 to 2,999,999,999.
    """
    prefix, _, rest = task_id.partition("/")
    task_type, _, number = rest.partition("/")
    if prefix == PREFIX and task_type in TASK_TYPES and number.isascii() and number.isdigit():
        seed = int(number)
        if seed < _END and str(seed) == number:
            return task_type, seed
    raise InvalidTask(
        f"expected {PREFIX}/<task_type>/<seed> with one of {', '.join(TASK_TYPES)} and a seed below {_END}, "
        f"got {task_id!r}"
    )


def split_of(seed: int) -> str:
    """The split that a seed belongs to; seeds beyond its listed ids belong to it all the same."""
    return max((first, split) for split, (first, _) in SPLITS.items() if seed >= first)[1]


def generate_game(
    task_id: str, *, receptacles: Sequence[int] = (10, 35), clutter: float = 1.0
) -> Game:
    """The game that a task id names, at a difficulty (see `Difficulty`).

    Raises:
        InvalidTask: not a procedural task id.
        ValueError: a difficulty that cannot be met.
    """
    difficulty = Difficulty(tuple(receptacles), clutter)  # type: ignore[arg-type]
    task_type, seed = parse_task_id(task_id)
    rng = seeded(task_id)
    first, count = (SEEN_ROOMS, UNSEEN_ROOMS) if split_of(seed) == "valid_unseen" else (0, SEEN_ROOMS)
    for _ in range(_TRIES):
        kind = ROOMS[task_type].draw(rng)
        room = draw_room(kind, first + below(rng, count), *difficulty.receptacles)
        goal = _draw_goal(task_type, room, rng)
        if goal is not None:
            contents = _Contents(room, rng)
            if _place_targets(goal, room, contents, rng):
                _place_clutter(goal, room, contents, rng, difficulty.clutter)
                return Game.from_facts(
                    contents.facts(goal), task_id=task_id, goal=goal, sentence=sentence(goal, rng)
                )
    raise ValueError(f"no room with {difficulty.receptacles} receptacles suits {task_type}; give a wider range")


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

    def put(self, name: str, weights: dict[str, float], chill: bool = False) -> bool:
        """Put a new object into a receptacle drawn by the weight of its type; False where there is no room."""
        receptacles, filled = self.room.receptacles, self.filled
        weights = {kind: w * len(receptacles[kind]) for kind, w in weights.items() if w and kind in receptacles}
        while weights:
            kind = weighted(weights).draw(self.rng)
            group = receptacles[kind]
            limit = CAPACITY.get(kind)
            if limit is not None:
                group = tuple(one for one in group if filled.get(one, 0) < limit)
            if not group:
                del weights[kind]
                continue
            where = group[below(self.rng, len(group))]
            made = self._new(name)
            filled[where] = filled.get(where, 0) + 1
            self.inside.append((made, where))
            self.places.append((made, self.room.spots[where]))
            if chill and kind == "fridge":
                self.cool.append((made,))
            return True
        return False

    def drop(self, name: str, spots: set[str]) -> None:
        """Leave a new object where it cannot be reached."""
        self.places.append((self._new(name), spot_id(self.rng, spots)))

    def _new(self, name: str) -> str:
        made = entity_id(name, self.rng, self.ids)
        self.types.append((made, name))
        return made

    def facts(self, goal: Goal) -> dict[str, list[tuple[str, ...]]]:
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
            "receptacletype": [(one, kind + "type") for kind, group in room.receptacles.items() for one in group],
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


def _place_targets(goal: Goal, room: Room, contents: _Contents, rng: Random) -> bool:
    """Place the objects that the goal asks for, and a lamp; False if they find no place."""
    banned = set()
    treatment = TREATMENTS.get(goal.task_type)
    if treatment is not None:
        # No released game starts with such an object in the appliance that would treat it.
        banned.add(APPLIANCES[treatment])
    elif goal.task_type != "look_at_obj_in_light":
        banned.add(goal.target_type)
    weights = _attraction(room, goal.object_type, banned)
    if not weights:
        return False
    # In the released games whatever lies in the fridge and is asked for is cool already.
    for _ in range(TARGET_COUNTS[goal.task_type].draw(rng)):
        if not contents.put(goal.object_type, weights, chill=goal.object_type in COOLABLE):
            return False
    if goal.task_type == "look_at_obj_in_light":
        return contents.put(goal.target_type, _attraction(room, goal.target_type, set()) or _tables(room))
    return True


def _place_clutter(goal: Goal, room: Room, contents: _Contents, rng: Random, clutter: float) -> None:
    spots = {room.start, *room.spots.values()}
    for name, placement in PLACEMENTS[room.kind].items():
        inside, beside = placement.inside.draw(rng), placement.beside.draw(rng)
        if name == goal.object_type:
            inside = 0
        elif clutter != 1.0:
            inside = int(inside * clutter + rng.random())
        if inside and not (name == "desklamp" and goal.target_type == "desklamp"):
            attraction: dict[str, float] = dict(placement.attraction)
            for _ in range(inside):
                if not contents.put(name, attraction):
                    break
        for _ in range(beside):
            contents.drop(name, spots)


def _attraction(room: Room, name: str, banned: set[str]) -> dict[str, float]:
    """Where objects of a type may start in this room, weighted; any place that can hold one if none is usual."""
    placement = PLACEMENTS[room.kind].get(name)
    usual = placement.attraction if placement is not None else {}
    weights: dict[str, float] = {
        kind: usual.get(kind, 0) for kind in room.counts if kind not in banned and usual.get(kind, 0)
    }
    return weights or {
        kind: 1.0 for kind in room.counts if kind not in banned and name in CAN_CONTAIN.get(kind, frozenset())
    }


def _tables(room: Room) -> dict[str, float]:
    """Receptacles a lamp can stand on where the kind of room names none."""
    return {
        kind: 1.0 for kind in ("sidetable", "desk", "dresser", "shelf", "diningtable", "coffeetable") if kind in room.counts
    }
