"""From initial facts to a `Game`: names, indices, masks, and what the engine looks up again and again."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b, shake_128
from itertools import chain, islice
from typing import Any

from envrl.envs.alfworld.game import OBJECT_STATES, OBJECT_TRAITS, TASK_TYPES, Game, Goal
from envrl.envs.errors import InvalidData

Facts = Mapping[str, Iterable[tuple[str, ...]]]

#: modulus of the state key, a Mersenne prime (see `envrl.envs.alfworld.state`)
KEY_PRIME = 2**127 - 1
#: what the PDDL goal asks of the object besides its type
_TRAIT_OF_GOAL = {
    "pick_clean_then_place_in_recep": "cleanable",
    "pick_heat_then_place_in_recep": "heatable",
    "pick_cool_then_place_in_recep": "coolable",
}


def build_game(facts: Facts, task_id: str, goal: Goal, sentence: str, walkthrough: tuple[str, ...]) -> Game:
    """The game that `Game.from_facts` documents."""
    if goal.task_type not in TASK_TYPES:
        raise InvalidData(f"game {task_id}: task type {goal.task_type!r} is none of {', '.join(TASK_TYPES)}")
    rows = {name: tuple(group) for name, group in facts.items() if name != "cancontain"}
    try:
        fields = _entities(rows)
        fields |= _conditions(rows, fields)
    except KeyError as error:
        raise InvalidData(
            f"game {task_id}: a fact names {error.args[0]!r}, which has no type, place or '_bar_' in its id"
        ) from None
    except ValueError as error:
        raise InvalidData(f"game {task_id}: a fact with too many or too few arguments ({error})") from None
    can_contain, containment = _containment(frozenset(facts.get("cancontain", ())))
    text = repr([goal, sentence, containment, sorted(fields.items())])
    return Game(
        task_id=task_id,
        goal=goal,
        sentence=sentence,
        walkthrough=walkthrough,
        can_contain=can_contain,
        **fields,
        **_lookups(goal, fields),
        **_keys(text, fields),
    )


def _names(ids: Iterable[str]) -> dict[str, str]:
    """Display names by id; the ids must come sorted. The rule is that of alfworld's demangler."""
    bases: dict[str, list[str]] = {}
    for entity in ids:
        base, mark, _ = entity.partition("_bar_")
        if mark:
            bases.setdefault(base + "basin" if "basin" in entity else base, []).append(entity)
    return {
        entity: f"{base} {len(group) - i}" for base, group in bases.items() for i, entity in enumerate(group)
    }


def _untyped(name: str) -> str:
    return name.removesuffix("type")


@lru_cache(maxsize=1024)
def _containment(pairs: frozenset[tuple[str, ...]]) -> tuple[frozenset[tuple[str, str]], str]:
    """The canContain relation without "type", and a digest of it.

    Cached because thousands of official games share about a hundred of them.
    """
    relation = frozenset((_untyped(r), _untyped(o)) for r, o in pairs)
    text = "\n".join(f"{r} {o}" for r, o in sorted(relation))
    return relation, blake2b(text.encode(), digest_size=16).hexdigest()


def _entities(rows: Mapping[str, tuple[tuple[str, ...], ...]]) -> dict[str, Any]:
    """Ids, names, types and places."""
    ((agent, start),) = rows.get("atlocation") or _missing("atlocation")
    object_type: dict[str, str] = dict(rows.get("objecttype", ()))  # type: ignore[arg-type] # two columns
    receptacle_type: dict[str, str] = dict(rows.get("receptacletype", ()))  # type: ignore[arg-type]
    place: dict[str, str] = dict(rows.get("receptacleatlocation", ()))  # type: ignore[arg-type]
    names = _names(sorted(set(chain.from_iterable(chain.from_iterable(rows.values())))))
    objects, receptacles = _objects(rows, object_type), tuple(sorted(place))
    locations = tuple(sorted({start, *place.values(), *(at for _, at in rows.get("objectatlocation", ()))}))
    index = {at: i for i, at in enumerate(locations)}
    return {
        "agent": agent,
        "locations": locations,
        "location_names": tuple(names.get(at, at) for at in locations),
        "receptacles": receptacles,
        "receptacle_names": tuple(names[r] for r in receptacles),
        "receptacle_types": tuple(_untyped(receptacle_type[r]) for r in receptacles),
        "receptacle_locations": tuple(index[place[r]] for r in receptacles),
        "objects": objects,
        "object_names": tuple(names[o] for o in objects),
        "object_types": tuple(_untyped(object_type.get(o, "")) for o in objects),
        "start_location": index[start],
    }


def _objects(rows: Mapping[str, tuple[tuple[str, ...], ...]], typed: Iterable[str]) -> tuple[str, ...]:
    """All objects, sorted. Two official games have one, out of reach, that only a trait mentions."""
    objects = set(typed)
    for predicate in (*OBJECT_TRAITS, *("is" + name for name in OBJECT_STATES), "isreceptacleobject"):
        objects.update(o for (o,) in rows.get(predicate, ()))
    for predicate in ("inreceptacle", "objectatlocation"):
        objects.update(o for o, _ in rows.get(predicate, ()))
    return tuple(sorted(objects))


def _missing(predicate: str) -> tuple[tuple[str, ...], ...]:
    raise ValueError(f"no {predicate!r}")


def _conditions(rows: Mapping[str, tuple[tuple[str, ...], ...]], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Traits that never change and the initial values of what does."""
    objects = {o: i for i, o in enumerate(fields["objects"])}
    receptacles = {r: i for i, r in enumerate(fields["receptacles"])}
    locations = {at: i for i, at in enumerate(fields["locations"])}
    contents, at_location = [0] * len(receptacles), [0] * len(locations)
    for o, r in rows.get("inreceptacle", ()):
        contents[receptacles[r]] |= 1 << objects[o]
    for o, at in rows.get("objectatlocation", ()):
        at_location[locations[at]] |= 1 << objects[o]

    def mask(predicate: str, index: Mapping[str, int]) -> int:
        value = 0
        for (entity,) in rows.get(predicate, ()):
            value |= 1 << index[entity]
        return value

    held = [objects[o] for _, o in rows.get("holds", ())]
    nested = {(objects[inner], objects[outer]) for inner, outer in rows.get("inreceptacleobject", ())}
    return {
        **{trait: mask(trait, objects) for trait in OBJECT_TRAITS},
        **{"start_" + name: mask("is" + name, objects) for name in OBJECT_STATES},
        "receptacle_objects": mask("isreceptacleobject", objects),
        "nested": tuple(sorted(nested)),
        "openable": mask("openable", receptacles),
        "start_opened": mask("opened", receptacles),
        "start_holding": held[0] if held else -1,
        "start_contents": tuple(contents),
        "start_at_location": tuple(at_location),
    }


def _lookups(goal: Goal, fields: Mapping[str, Any]) -> dict[str, Any]:
    """What the engine reads at every step, worked out once."""
    types, places = fields["object_types"], fields["receptacle_locations"]
    here = range(len(fields["locations"]))
    at: list[list[int]] = [[] for _ in here]
    for r, place in enumerate(places):
        at[place].append(r)
    commands = sorted((f"go to {name}", places[r]) for r, name in enumerate(fields["receptacle_names"]))
    wanted = sum(1 << o for o, kind in enumerate(types) if kind == goal.object_type)
    if trait := _TRAIT_OF_GOAL.get(goal.task_type):
        wanted &= fields[trait]
    lamps = sum(1 << o for o, kind in enumerate(types) if kind == goal.target_type)
    names = fields["object_names"] + fields["receptacle_names"]
    return {
        "receptacles_at": tuple(map(tuple, at)),
        "things": {name: i for i, name in enumerate(names)},
        "goal_objects": wanted,
        "lamps": lamps & fields["toggleable"],
        "goal_receptacles": tuple(
            r for r, kind in enumerate(fields["receptacle_types"]) if kind == goal.target_type
        ),
        "go_to": tuple(tuple([command for command, place in commands if place != i]) for i in here),
    }


def numbers(text: str, count: int) -> list[int]:
    """Numbers below `KEY_PRIME` drawn from a text, the same in every process (SHAKE-128)."""
    stream = shake_128(text.encode()).digest(16 * count)
    return [int.from_bytes(stream[i : i + 16], "big") % KEY_PRIME for i in range(0, 16 * count, 16)]


def _keys(text: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers that the state key is made of: one for the game, one for each of its entities."""
    sizes = {name: len(fields[name + "s"]) for name in ("object", "receptacle", "location")}
    drawn = iter(numbers(text, 1 + sum(sizes.values())))
    keys: dict[str, Any] = {"base_key": next(drawn)}
    for name, size in sizes.items():
        keys[name + "_keys"] = tuple(islice(drawn, size))
    return keys
