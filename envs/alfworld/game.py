"""One ALFWorld game as plain, immutable facts: what there is, where it starts, and what is to be done.

A `Game` comes from a ``game.tw-pddl`` file (`envrl.envs.alfworld.pddl`) or from facts in memory
(`Game.from_facts`, used by the generator). Everything is indexed by small integers and sets of objects or
receptacles are bit masks, so that a state of the game (see `envrl.envs.alfworld.state`) is a handful of
integers.

The names follow the reference engine (textworld 1.7 with alfworld 0.4): the part of the id before ``_bar_``,
with ``basin`` appended where the id contains it, and a number handed out in descending order over the sorted
ids.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from envrl.envs.errors import InvalidData

#: ALFRED's six names, in the order used wherever task types are listed
TASK_TYPES = (
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
)
#: predicates over one object that a game may start with and that actions change
OBJECT_STATES = ("hot", "cool", "clean", "sliced", "toggled")
#: predicates over one object that never change
OBJECT_TRAITS = ("pickupable", "cleanable", "heatable", "coolable", "sliceable", "toggleable")

#: what the PDDL goal asks of the object besides its type
_TRAIT_OF_GOAL = {
    "pick_clean_then_place_in_recep": "cleanable",
    "pick_heat_then_place_in_recep": "heatable",
    "pick_cool_then_place_in_recep": "coolable",
}
#: modulus of the state key (a Mersenne prime, see `envrl.envs.alfworld.state`)
KEY_PRIME = 2**127 - 1


@dataclass(frozen=True, slots=True)
class Goal:
    """What wins: a task type, the type of object, and the receptacle type (or the lamp type of "look").

    Types are lower case, without the ending ``type``: ``Goal("pick_two_obj_and_place", "pen", "drawer")``.
    """

    task_type: str
    object_type: str
    target_type: str


@dataclass(frozen=True, slots=True)
class Game:
    """Static facts and the initial state of one game; shared freely between environments and threads.

    Attributes:
        task_id: ``<split>/<task>/<trial>`` of an official game, ``procedural/<task_type>/<seed>`` of a
            generated one.
        goal: what wins.
        sentence: the goal in words, as the player reads it (``put some watch on sidetable.``).
        walkthrough: commands that win in the 0.4 wording, () if unknown.
        agent: id of the agent.
        locations: ids, sorted. location_names: ``loc 1`` ... (the 0.3 texts show them).
        receptacles: ids, sorted; with receptacle_names, receptacle_types (``cabinet``) and
            receptacle_locations (indices into locations) in the same order.
        objects: ids, sorted; with object_names and object_types.
        pickupable ... toggleable, receptacle_objects: masks over objects. openable: mask over receptacles.
        can_contain: pairs (receptacle type, object type) that `move` accepts.
        nested: pairs (inner object, outer object), indices, that start one inside the other and stay so.
        start_location, start_holding (-1: nothing), start_opened (mask over receptacles), start_hot ...
            start_toggled (masks over objects), start_contents (per receptacle, mask of objects),
            start_at_location (per location, mask of objects): the initial state.
        receptacles_at: per location, the indices of its receptacles. things: index by name; objects come
            first, receptacle r has index len(objects) + r.
        goal_objects, lamps: masks of the objects of the goal's type (that also have the trait the goal asks
            for).
        goal_receptacles: indices of the receptacles of the goal's type.
        go_to: per location, the sorted commands that lead to a receptacle elsewhere.
        object_keys, receptacle_keys, location_keys, base_key: numbers that the state key is made of.
    """

    task_id: str
    goal: Goal
    sentence: str
    walkthrough: tuple[str, ...]
    agent: str
    locations: tuple[str, ...]
    location_names: tuple[str, ...]
    receptacles: tuple[str, ...]
    receptacle_names: tuple[str, ...]
    receptacle_types: tuple[str, ...]
    receptacle_locations: tuple[int, ...]
    objects: tuple[str, ...]
    object_names: tuple[str, ...]
    object_types: tuple[str, ...]
    pickupable: int
    cleanable: int
    heatable: int
    coolable: int
    sliceable: int
    toggleable: int
    receptacle_objects: int
    openable: int
    can_contain: frozenset[tuple[str, str]]
    nested: tuple[tuple[int, int], ...]
    start_location: int
    start_holding: int
    start_opened: int
    start_hot: int
    start_cool: int
    start_clean: int
    start_sliced: int
    start_toggled: int
    start_contents: tuple[int, ...]
    start_at_location: tuple[int, ...]
    receptacles_at: tuple[tuple[int, ...], ...]
    things: Mapping[str, int]
    goal_objects: int
    lamps: int
    goal_receptacles: tuple[int, ...]
    go_to: tuple[tuple[str, ...], ...]
    object_keys: tuple[int, ...]
    receptacle_keys: tuple[int, ...]
    location_keys: tuple[int, ...]
    base_key: int

    @classmethod
    def from_facts(
        cls,
        facts: Mapping[str, Iterable[tuple[str, ...]]],
        *,
        task_id: str,
        goal: Goal,
        sentence: str,
        walkthrough: Iterable[str] = (),
    ) -> "Game":
        """A game from its initial facts, the vocabulary of ALFRED's PDDL in lower case.

        Args:
            facts: predicate -> argument tuples. ``atlocation`` (agent, location) holds exactly one fact;
                every receptacle needs ``receptacletype`` (r, ``cabinettype``) and ``receptacleatlocation``
                (r, location); every object ``objecttype`` (o, ``mugtype``). Optional: ``objectatlocation``
                (o, location), ``inreceptacle`` (o, r), ``cancontain`` (``cabinettype``, ``mugtype``),
                ``openable`` and ``opened`` (r,), the traits ``pickupable cleanable heatable coolable
                sliceable toggleable isreceptacleobject`` and the states ``ishot iscool isclean issliced
                istoggled`` (o,), ``holds`` (agent, o), ``inreceptacleobject`` (inner, outer). An object that
                stands in a receptacle should also have ``objectatlocation`` at that place (`slice` needs it).
            task_id: the id under which the game is known.
            goal: what wins.
            sentence: the goal in words without "Your task is to: ".
            walkthrough: commands that win.

        Ids decide names and order: lower case, ``<type>_bar_<anything>`` (``mug_bar_07``), objects and
        receptacles sorted by id; within a type the first id gets the highest number.

        Raises:
            InvalidData: a fact names an entity that has no type or place, or the start is missing.
        """
        return _build(facts, task_id, goal, sentence, tuple(walkthrough))

    def facts(self) -> dict[str, list[tuple[str, ...]]]:
        """The initial facts again, in the form that `from_facts` takes (sorted)."""
        objects, receptacles, locations = self.objects, self.receptacles, self.locations
        out: dict[str, list[tuple[str, ...]]] = {
            "atlocation": [(self.agent, locations[self.start_location])],
            "receptacletype": [
                (r, t + "type") for r, t in zip(receptacles, self.receptacle_types, strict=True)
            ],
            "receptacleatlocation": [
                (r, locations[at]) for r, at in zip(receptacles, self.receptacle_locations, strict=True)
            ],
            "objecttype": [(o, t + "type") for o, t in zip(objects, self.object_types, strict=True)],
            "objectatlocation": [
                (objects[o], at)
                for at, held in zip(locations, self.start_at_location, strict=True)
                for o in bits(held)
            ],
            "inreceptacle": [
                (objects[o], r)
                for r, held in zip(receptacles, self.start_contents, strict=True)
                for o in bits(held)
            ],
            "cancontain": [(r + "type", o + "type") for r, o in sorted(self.can_contain)],
            "inreceptacleobject": [(objects[i], objects[o]) for i, o in self.nested],
            "isreceptacleobject": [(objects[o],) for o in bits(self.receptacle_objects)],
            "openable": [(receptacles[r],) for r in bits(self.openable)],
            "opened": [(receptacles[r],) for r in bits(self.start_opened)],
        }
        for trait in OBJECT_TRAITS:
            out[trait] = [(objects[o],) for o in bits(getattr(self, trait))]
        for name in OBJECT_STATES:
            out["is" + name] = [(objects[o],) for o in bits(getattr(self, "start_" + name))]
        if self.start_holding >= 0:
            out["holds"] = [(self.agent, objects[self.start_holding])]
        return {predicate: sorted(rows) for predicate, rows in out.items() if rows}


def bits(mask: int) -> Iterator[int]:
    """Indices of the set bits, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _names(ids: Iterable[str]) -> dict[str, str]:
    """Display names by id; the ids must come sorted."""
    bases: dict[str, list[str]] = {}
    for entity in ids:
        base, mark, _ = entity.partition("_bar_")
        if mark:
            bases.setdefault(base + "basin" if "basin" in entity else base, []).append(entity)
    return {
        entity: f"{base} {len(group) - i}" for base, group in bases.items() for i, entity in enumerate(group)
    }


def _key_number(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=16).digest(), "big") % KEY_PRIME


@lru_cache(maxsize=1024)
def _shared_pairs(pairs: frozenset[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """The same frozenset for equal ones: thousands of games have only about a hundred of them."""
    return pairs


def _untyped(name: str) -> str:
    return name.removesuffix("type")


def _build(
    facts: Mapping[str, Iterable[tuple[str, ...]]],
    task_id: str,
    goal: Goal,
    sentence: str,
    walkthrough: tuple[str, ...],
) -> Game:
    rows: dict[str, list[tuple[str, ...]]] = {name: list(group) for name, group in facts.items()}

    def fact(name: str) -> list[tuple[str, ...]]:
        return rows.get(name, [])

    if goal.task_type not in TASK_TYPES:
        raise InvalidData(f"game {task_id}: task type {goal.task_type!r} is none of {', '.join(TASK_TYPES)}")
    if len(fact("atlocation")) != 1:
        raise InvalidData(f"game {task_id}: expected one 'atlocation' fact, found {len(fact('atlocation'))}")
    ((agent, start),) = fact("atlocation")
    entities = sorted({entity for group in rows.values() for row in group for entity in row})
    names = _names(entities)
    object_type, receptacle_type = dict(fact("objecttype")), dict(fact("receptacletype"))
    place = dict(fact("receptacleatlocation"))
    objects = tuple(sorted(object_type))
    receptacles = tuple(sorted(place))
    locations = tuple(sorted({start, *place.values(), *(row[1] for row in fact("objectatlocation"))}))
    o_index = {entity: i for i, entity in enumerate(objects)}
    r_index = {entity: i for i, entity in enumerate(receptacles)}
    l_index = {entity: i for i, entity in enumerate(locations)}

    def mask(name: str, index: Mapping[str, int]) -> int:
        value = 0
        for (entity,) in fact(name):
            value |= 1 << index[entity]
        return value

    try:
        contents, at_location = [0] * len(receptacles), [0] * len(locations)
        for o, r in fact("inreceptacle"):
            contents[r_index[r]] |= 1 << o_index[o]
        for o, at in fact("objectatlocation"):
            at_location[l_index[at]] |= 1 << o_index[o]
        object_names = tuple(names[o] for o in objects)
        receptacle_names = tuple(names[r] for r in receptacles)
        receptacle_locations = tuple(l_index[place[r]] for r in receptacles)
        object_types = tuple(_untyped(object_type[o]) for o in objects)
        receptacle_types = tuple(_untyped(receptacle_type[r]) for r in receptacles)
        masks = {trait: mask(trait, o_index) for trait in OBJECT_TRAITS}
        states = {"start_" + name: mask("is" + name, o_index) for name in OBJECT_STATES}
        receptacle_objects = mask("isreceptacleobject", o_index)
        openable, opened = mask("openable", r_index), mask("opened", r_index)
        holding = o_index[fact("holds")[0][1]] if fact("holds") else -1
        nested = tuple(sorted({(o_index[i], o_index[o]) for i, o in fact("inreceptacleobject")}))
    except KeyError as error:
        raise InvalidData(
            f"game {task_id}: a fact names {error.args[0]!r}, which has no type or no place"
        ) from None
    receptacles_at = tuple(
        tuple(r for r, at in enumerate(receptacle_locations) if at == here) for here in range(len(locations))
    )
    by_command = sorted(
        (f"go to {name}", at) for name, at in zip(receptacle_names, receptacle_locations, strict=True)
    )
    things = {name: i for i, name in enumerate(object_names + receptacle_names)}
    of_type = sum(1 << o for o, t in enumerate(object_types) if t == goal.object_type)
    trait = _TRAIT_OF_GOAL.get(goal.task_type)
    lamps = sum(1 << o for o, t in enumerate(object_types) if t == goal.target_type) & masks["toggleable"]
    can_contain = _shared_pairs(frozenset((_untyped(r), _untyped(o)) for r, o in fact("cancontain")))
    static = sorted({(name, *row) for name, group in rows.items() for row in group})
    return Game(
        task_id=task_id,
        goal=goal,
        sentence=sentence,
        walkthrough=walkthrough,
        agent=agent,
        locations=locations,
        location_names=tuple(names.get(at, at) for at in locations),
        receptacles=receptacles,
        receptacle_names=receptacle_names,
        receptacle_types=receptacle_types,
        receptacle_locations=receptacle_locations,
        objects=objects,
        object_names=object_names,
        object_types=object_types,
        **masks,
        receptacle_objects=receptacle_objects,
        openable=openable,
        can_contain=can_contain,
        nested=nested,
        start_location=l_index[start],
        start_holding=holding,
        start_opened=opened,
        **states,
        start_contents=tuple(contents),
        start_at_location=tuple(at_location),
        receptacles_at=receptacles_at,
        things=things,
        goal_objects=of_type & masks[trait] if trait else of_type,
        lamps=lamps,
        goal_receptacles=tuple(r for r, t in enumerate(receptacle_types) if t == goal.target_type),
        go_to=tuple(tuple(c for c, at in by_command if at != here) for here in range(len(locations))),
        object_keys=tuple(map(_key_number, objects)),
        receptacle_keys=tuple(map(_key_number, receptacles)),
        location_keys=tuple(map(_key_number, locations)),
        base_key=_key_number("\n".join(map(" ".join, static)) + f"\n{goal.task_type} {sentence}"),
    )
