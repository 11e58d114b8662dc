"""Games from facts and from game files."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from envrl.envs.alfworld.game import TASK_TYPES, Game, Goal, bits
from envrl.envs.alfworld.official import OfficialLibrary
from envrl.envs.alfworld.pddl import parse_game, parse_goal
from envrl.envs.errors import InvalidData

Facts = dict[str, list[tuple[str, ...]]]
MUG = Goal("pick_and_place_simple", "mug", "microwave")


def build(facts: Facts, goal: Goal = MUG) -> Game:
    return Game.from_facts(facts, task_id="a/b/c", goal=goal, sentence="put some mug in microwave.")


def test_names_count_down_over_sorted_ids_and_basins_are_named_so(kitchen: Game) -> None:
    assert kitchen.receptacles[:2] == ("cabinet_bar_a", "cabinet_bar_b")
    assert kitchen.receptacle_names == (
        "cabinet 2",
        "cabinet 1",
        "countertop 1",
        "fridge 1",
        "microwave 1",
        "sinkbasin 1",
    )
    assert kitchen.object_names == ("apple 1", "bowl 1", "desklamp 1", "knife 1", "mug 2", "mug 1", "pen 1")
    assert kitchen.location_names == ("loc 6", "loc 5", "loc 4", "loc 3", "loc 2", "loc 1")


def test_masks_and_lookups(kitchen: Game) -> None:
    def named(mask: int) -> set[str]:
        return {kitchen.object_names[o] for o in bits(mask)}

    assert named(kitchen.toggleable) == {"desklamp 1"}
    assert named(kitchen.goal_objects) == {"mug 1", "mug 2"}
    assert named(kitchen.start_contents[2]) == {"bowl 1", "knife 1", "mug 2", "pen 1"}
    assert [len(here) for here in kitchen.receptacles_at] == [0, 2, 1, 1, 1, 1]
    assert kitchen.receptacle_types[5] == "sinkbasin"
    assert "go to cabinet 1" not in kitchen.go_to[1] and "go to fridge 1" in kitchen.go_to[1]
    assert kitchen.things["mug 1"] == 5 and kitchen.things["fridge 1"] == len(kitchen.objects) + 3


def test_facts_come_back(kitchen_facts: Facts) -> None:
    game = build(kitchen_facts)
    assert game.facts() == {name: sorted(rows) for name, rows in kitchen_facts.items()}
    assert build(game.facts()) == game


@pytest.mark.parametrize(
    ("task_type", "wanted"),
    [("pick_heat_then_place_in_recep", {"apple 1"}), ("pick_clean_then_place_in_recep", {"apple 1"})],
)
def test_the_goal_asks_for_a_trait_too(
    kitchen_facts: Facts, task_type: str, wanted: set[str], kitchen_for: Callable[[Goal], Game]
) -> None:
    game = kitchen_for(Goal(task_type, "apple", "countertop"))
    assert {game.object_names[o] for o in bits(game.goal_objects)} == wanted
    trait = "heatable" if "heat" in task_type else "cleanable"
    kitchen_facts[trait].remove(("apple_bar_a",))
    assert build(kitchen_facts, game.goal).goal_objects == 0


def test_equal_facts_make_equal_keys_and_other_facts_other_ones(kitchen_facts: Facts) -> None:
    first = build(kitchen_facts)
    kitchen_facts["pickupable"].reverse()
    assert build(kitchen_facts).base_key == first.base_key
    kitchen_facts["cancontain"].append(("fridgetype", "bowltype"))
    assert build(kitchen_facts).base_key != first.base_key


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda facts: facts.pop("atlocation"), "atlocation"),
        (lambda facts: facts["receptacletype"].pop(), "sink_bar_a_bar_sinkbasin"),
        (lambda facts: facts["inreceptacle"].append(("mug_bar_a", "shelf_bar_x")), "shelf_bar_x"),
        (lambda facts: facts["objecttype"].append(("spoon", "spoontype")), "spoon"),
        (lambda facts: facts["inreceptacle"].append(("mug_bar_a",)), "arguments"),
    ],
)
def test_facts_that_do_not_add_up(kitchen_facts: Facts, change: Callable[[Facts], Any], message: str) -> None:
    change(kitchen_facts)
    with pytest.raises(InvalidData, match=message):
        build(kitchen_facts)


def test_an_unknown_task_type(kitchen_facts: Facts) -> None:
    with pytest.raises(InvalidData, match="pick_and_place_simple"):
        build(kitchen_facts, Goal("pick_up", "mug", "microwave"))


def test_an_object_without_a_type_is_there_but_fits_nowhere(kitchen_facts: Facts) -> None:
    kitchen_facts["pickupable"].append(("egg_bar_a_bar_cracked",))
    game = build(kitchen_facts)
    assert "egg 1" in game.object_names
    assert game.object_types[game.object_names.index("egg 1")] == ""


# ---- game files ------------------------------------------------------------------------------------------


def official_file(library: OfficialLibrary, task_type: str) -> dict[str, Any]:
    task_id = next(task_id for task_id in library.task_ids() if task_type in task_id)
    return library.game_file(task_id)


@pytest.mark.shared
@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_goals_of_official_games(valid_seen: OfficialLibrary, task_type: str) -> None:
    task_id = next(task_id for task_id in valid_seen.task_ids() if task_type in task_id)
    kind, wanted, _, target, _ = task_id.split("/")[1].rsplit("-", 4)
    game = parse_game(valid_seen.game_file(task_id), task_id)
    assert (kind, wanted.lower()) == (game.goal.task_type, game.goal.object_type)
    assert game.goal.target_type in target.lower() or target == "SinkBasin"
    assert game.walkthrough and game.sentence.endswith(".")


@pytest.mark.shared
def test_files_in_the_0_3_wording_load_as_the_same_game(valid_seen: OfficialLibrary) -> None:
    fields = official_file(valid_seen, "pick_and_place_simple")
    old = {
        **fields,
        "grammar": fields["grammar"].replace('"move {o} to {r}"', '"put {o} in/on {r}"'),
        "walkthrough": [
            command.replace("move ", "put ").replace(" to ", " in/on ")
            if command.startswith("move")
            else command
            for command in fields["walkthrough"]
        ],
    }
    assert old["walkthrough"] != fields["walkthrough"] and old["grammar"] != fields["grammar"]
    assert parse_game(json.dumps(old), "x") == parse_game(fields, "x")


@pytest.mark.shared
def test_the_sentence_may_hold_quotation_marks(valid_seen: OfficialLibrary) -> None:
    fields = official_file(valid_seen, "pick_and_place_simple")
    sentence = parse_game(fields, "x").sentence
    fields["grammar"] = fields["grammar"].replace(sentence, r"put the \"best\" mug\u00e9 away.")
    assert parse_game(fields, "x").sentence == 'put the "best" mugé away.'


@pytest.mark.shared
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[: len(text) // 2], "JSON"),
        (lambda text: "[1, 2]", "list"),
        (lambda text: text.replace('"pddl_problem"', '"problem"'), "pddl_problem"),
        (lambda text: text.replace("(:init", "(:start"), ":init"),
        (lambda text: text.replace("Your task is to", "Do"), "Your task is to"),
        (lambda text: text.replace("(receptacleType ?r", "(kind ?r"), "six task types"),
    ],
)
def test_damaged_files_are_named(
    valid_seen: OfficialLibrary, change: Callable[[str], str], message: str
) -> None:
    text = json.dumps(official_file(valid_seen, "pick_and_place_simple"))
    with pytest.raises(InvalidData, match=message) as error:
        parse_game(change(text), "valid_seen/this/one")
    assert "valid_seen/this/one" in str(error.value)


def test_a_goal_of_another_kind() -> None:
    with pytest.raises(InvalidData, match="six task types"):
        parse_goal("(:goal (and (issliced ?o)))", "a/b/c")
