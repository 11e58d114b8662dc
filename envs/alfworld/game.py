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
        # Imported here because building needs the class.
        from envrl.envs.alfworld.facts import build_game

        return build_game(facts, task_id, goal, sentence, tuple(walkthrough))

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
