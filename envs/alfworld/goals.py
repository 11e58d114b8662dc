"""What procedural games ask for: how common each room, object and target is, and the goal in words.

The weights are counts over the 3,693 released games (see `envrl.envs.alfworld.rooms`). The sentences are the
forms that the released games use, two for each task type.
"""

import re
from dataclasses import dataclass
from random import Random

from envrl.envs.alfworld.game import TASK_TYPES, Goal
from envrl.envs.alfworld.tables import Weighted, parse_counts, parse_weights, read_table, weighted

#: task type -> the two wordings; {o} is the object type, {t} the type of the target (a receptacle or a lamp)
SENTENCES: dict[str, tuple[str, str]] = {
    "pick_and_place_simple": ("put a {o} in {t}.", "put some {o} on {t}."),
    "look_at_obj_in_light": ("look at {o} under the {t}.", "examine the {o} with the {t}."),
    "pick_clean_then_place_in_recep": ("put a clean {o} in {t}.", "clean some {o} and put it in {t}."),
    "pick_heat_then_place_in_recep": ("put a hot {o} in {t}.", "heat some {o} and put it in {t}."),
    "pick_cool_then_place_in_recep": ("put a cool {o} in {t}.", "cool some {o} and put it in {t}."),
    "pick_two_obj_and_place": ("put two {o} in {t}.", "find two {o} and put them in {t}."),
}
_PATTERNS = tuple(
    (task_type, re.compile(re.escape(form).replace(r"\{o\}", r"(\w+)").replace(r"\{t\}", r"(\w+)")))
    for task_type, forms in SENTENCES.items()
    for form in forms
)
#: number of objects of the goal's type that can be reached: 0, 1, 2, ... in percent
TARGET_COUNTS: dict[str, Weighted[int]] = {
    "pick_and_place_simple": parse_counts("0 40 28 20 12"),
    "look_at_obj_in_light": parse_counts("0 35 29 22 14"),
    "pick_clean_then_place_in_recep": parse_counts("0 33 32 21 14"),
    "pick_heat_then_place_in_recep": parse_counts("0 29 28 26 17"),
    "pick_cool_then_place_in_recep": parse_counts("0 45 28 19 8"),
    "pick_two_obj_and_place": parse_counts("0 0 46 32 22"),
}
#: what the object needs, by task type: clean, heat, cool
TREATMENTS = {
    "pick_clean_then_place_in_recep": "clean",
    "pick_heat_then_place_in_recep": "heat",
    "pick_cool_then_place_in_recep": "cool",
}


@dataclass(frozen=True, slots=True)
class Wishes:
    """What one task type asks for in one kind of room.

    Attributes:
        objects: object type -> weight.
        targets: receptacle type (or lamp type) -> weight.
    """

    objects: dict[str, int]
    targets: dict[str, int]


_TABLE = """
look_at_obj_in_light bedroom: 268 | alarmclock 42 pillow 41 cd 36 book 30 pencil 23 bowl 19 laptop 18
      pen 18 cellphone 9 statue 6 tissuebox 6 creditcard 5 keychain 5 mug 4 vase 3 watch 3 | desklamp
      268
look_at_obj_in_light livingroom: 53 | newspaper 14 box 10 pillow 8 statue 6 tissuebox 4 laptop 3 plate 3
      watch 3 vase 2 | desklamp 53
pick_and_place_simple bathroom: 277 | toiletpaper 59 spraybottle 54 candle 52 soapbottle 52 handtowel 29
      cloth 10 tissuebox 8 soapbar 7 dishsponge 6 | toilet 94 garbagecan 48 toiletpaperhanger 44
      countertop 27 cabinet 24 drawer 16 cart 14 sidetable 6 dresser 2 shelf 2
pick_and_place_simple bedroom: 245 | cellphone 53 cd 30 book 29 keychain 26 pencil 26 alarmclock 22 pen
      20 creditcard 14 laptop 6 mug 6 remotecontrol 3 statue 3 tissuebox 3 pillow 2 watch 2 | desk 58
      shelf 40 sidetable 36 dresser 34 bed 20 armchair 16 safe 15 diningtable 13 drawer 8 cabinet 3
      garbagecan 2
pick_and_place_simple livingroom: 220 | remotecontrol 32 keychain 26 creditcard 21 book 20 box 20 statue
      19 newspaper 18 laptop 15 pillow 15 vase 11 watch 11 tissuebox 6 bowl 3 plate 3 | armchair 58 sofa
      56 coffeetable 45 ottoman 20 sidetable 13 dresser 12 drawer 6 garbagecan 3 safe 3 diningtable 2
      shelf 2
pick_and_place_simple kitchen: 83 | peppershaker 12 glassbottle 9 kettle 9 tomato 9 butterknife 6
      winebottle 6 egg 5 pan 5 bowl 3 bread 3 dishsponge 3 potato 3 saltshaker 3 fork 2 knife 2 lettuce
      2 soapbottle 1 | microwave 17 diningtable 12 drawer 10 countertop 9 shelf 9 cabinet 8 fridge 7
      sidetable 7 stoveburner 3 garbagecan 1
pick_clean_then_place_in_recep kitchen: 520 | kettle 47 ladle 43 knife 33 lettuce 33 mug 33 butterknife
      31 spatula 30 pan 28 tomato 27 bowl 26 spoon 26 apple 25 fork 25 potato 25 plate 24 egg 23 cup 20
      pot 16 dishsponge 5 | diningtable 104 countertop 75 drawer 59 microwave 50 fridge 42 sidetable 40
      cabinet 37 stoveburner 37 coffeemachine 33 shelf 31 garbagecan 12
pick_clean_then_place_in_recep bathroom: 157 | soapbar 88 cloth 49 dishsponge 20 | toilet 34 countertop
      29 drawer 29 cabinet 23 garbagecan 19 cart 12 shelf 9 dresser 2
pick_cool_then_place_in_recep kitchen: 558 | mug 75 pot 58 bowl 50 pan 49 apple 48 potato 44 cup 42
      bread 41 lettuce 39 tomato 39 plate 28 egg 26 winebottle 19 | microwave 103 countertop 96
      diningtable 96 cabinet 67 garbagecan 48 coffeemachine 48 shelf 45 stoveburner 41 sidetable 14
pick_heat_then_place_in_recep kitchen: 475 | mug 106 cup 72 egg 72 potato 62 tomato 57 apple 53 plate 41
      bread 12 | fridge 111 cabinet 75 countertop 67 coffeemachine 56 garbagecan 55 diningtable 46
      sidetable 45 shelf 20
pick_two_obj_and_place bedroom: 246 | cellphone 42 book 36 cd 27 pen 25 pencil 25 alarmclock 22
      creditcard 18 keychain 18 laptop 8 bowl 6 tissuebox 6 mug 5 watch 5 pillow 2 vase 1 | desk 55
      drawer 40 dresser 36 bed 31 sidetable 27 shelf 24 diningtable 11 garbagecan 8 safe 7 armchair 5
      cabinet 2
pick_two_obj_and_place bathroom: 242 | spraybottle 62 toiletpaper 45 soapbottle 44 candle 35 soapbar 18
      handtowel 16 tissuebox 9 dishsponge 7 cloth 6 | toilet 63 cabinet 42 drawer 41 garbagecan 38
      countertop 26 cart 16 shelf 11 dresser 3 sidetable 2
pick_two_obj_and_place livingroom: 221 | remotecontrol 44 newspaper 37 creditcard 36 keychain 16 vase 14
      tissuebox 12 cellphone 11 statue 10 watch 9 pillow 5 plate 5 box 4 book 3 bowl 3 laptop 3 pen 3
      pencil 3 wateringcan 3 | armchair 63 coffeetable 51 sofa 47 dresser 12 ottoman 12 drawer 8
      diningtable 7 garbagecan 6 sidetable 6 shelf 5 desk 3 safe 1
pick_two_obj_and_place kitchen: 128 | saltshaker 25 peppershaker 22 cup 14 lettuce 11 spatula 7 kettle 6
      winebottle 6 spoon 5 egg 4 glassbottle 4 ladle 4 potato 4 bread 3 knife 3 pan 3 pot 3 tomato 3
      apple 1 | drawer 28 cabinet 24 fridge 19 shelf 13 countertop 12 microwave 11 diningtable 11
      sidetable 7 garbagecan 3
"""


def _read() -> tuple[dict[str, Weighted[str]], dict[tuple[str, str], Wishes]]:
    rooms: dict[str, dict[str, int]] = {task_type: {} for task_type in TASK_TYPES}
    wishes = {}
    for key, row in read_table(_TABLE):
        task_type, kind = key.split()
        weight, objects, targets = row.split("|")
        rooms[task_type][kind] = int(weight)
        wishes[task_type, kind] = Wishes(parse_weights(objects), parse_weights(targets))
    return {task_type: weighted(kinds) for task_type, kinds in rooms.items()}, wishes


#: ROOMS: task type -> distribution of the kind of room; WISHES: (task type, kind of room) -> Wishes
ROOMS, WISHES = _read()


def sentence(goal: Goal, rng: Random) -> str:
    """One of the two wordings of the goal."""
    form = SENTENCES[goal.task_type][rng.random() < 0.5]
    return form.format(o=goal.object_type, t=goal.target_type)


def read_sentence(text: str) -> Goal | None:
    """The goal that a sentence states, with or without ``Your task is to:``; None for any other text.

    >>> read_sentence("Your task is to: cool some mug and put it in coffeemachine.")
    Goal(task_type='pick_cool_then_place_in_recep', object_type='mug', target_type='coffeemachine')
    """
    text = text.strip().removeprefix("Your task is to: ")
    for task_type, pattern in _PATTERNS:
        match = pattern.fullmatch(text)
        if match is not None:
            return Goal(task_type, match.group(1), match.group(2))
    return None
