"""Procedural games: ids, determinism, the hold-out, solvability, and likeness to the released games."""

import doctest
import json
import os
import subprocess
import sys
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envrl.envs.alfworld import generator, goals
from envrl.envs.alfworld.engine import initial_state, intro, is_won, step
from envrl.envs.alfworld.game import TASK_TYPES, Game, bits
from envrl.envs.alfworld.generator import Difficulty, ProceduralTasks, generate_game
from envrl.envs.alfworld.goals import SENTENCES, read_sentence
from envrl.envs.alfworld.layout import draw_room, is_held_out, layout_of
from envrl.envs.alfworld.pddl import parse_game
from envrl.envs.alfworld.privileged import remaining_plan
from envrl.envs.alfworld.rooms import CAN_CONTAIN, FIXTURES, OPENABLE
from envrl.envs.alfworld.task_ids import parse_task_id, split_of
from envrl.envs.errors import InvalidTask

SAMPLE = 600


def kind_of_room(game: Game) -> str:
    types = set(game.receptacle_types)
    if "fridge" in types:
        return "kitchen"
    if "toilet" in types:
        return "bathroom"
    return "bedroom" if "bed" in types else "livingroom"


def layout(game: Game) -> str:
    return layout_of(Counter(game.receptacle_types))


@pytest.fixture(scope="module")
def train() -> list[Game]:
    return [generate_game(task_id) for task_id in ProceduralTasks("train")[:SAMPLE]]


@pytest.fixture(scope="module")
def unseen() -> list[Game]:
    return [generate_game(task_id) for task_id in ProceduralTasks("valid_unseen")]


@pytest.fixture(scope="module")
def official(shared_data: Path) -> list[Game]:
    """The first 900 training games in the archive, whose order is random."""
    games: list[Game] = []
    with tarfile.open(shared_data / "alfworld" / "train.tar.xz", "r|xz") as archive:
        for member in archive:
            if member.name.endswith("game.tw-pddl"):
                file = archive.extractfile(member)
                assert file is not None
                games.append(parse_game(file.read().decode(), member.name))
                if len(games) == 900:
                    break
    return games


# ---- ids -------------------------------------------------------------------------------------------------


def test_splits_are_lazy_sequences_of_ids():
    ids = ProceduralTasks("train")
    assert len(ids) == 6_000_000
    assert ids[0] == "procedural/pick_and_place_simple/0"
    assert ids[7] == "procedural/look_at_obj_in_light/1"
    assert ids[-1] == "procedural/pick_two_obj_and_place/999999"
    assert ids[2:4] == [ids[2], ids[3]]
    with pytest.raises(IndexError):
        ids[6_000_000]
    assert len(list(ProceduralTasks("valid_seen"))) == 144
    assert len(list(ProceduralTasks("valid_unseen"))) == 600


def test_every_prefix_is_balanced_over_the_task_types():
    counts = Counter(parse_task_id(task_id)[0] for task_id in ProceduralTasks("train")[:60])
    assert counts == dict.fromkeys(TASK_TYPES, 10)
    two = ProceduralTasks("valid_seen", ["pick_two_obj_and_place", "look_at_obj_in_light"])
    assert Counter(parse_task_id(task_id)[0] for task_id in two) == dict.fromkeys(two.task_types, 24)


def test_splits_are_disjoint_and_know_their_ids():
    splits = {name: ProceduralTasks(name) for name in ("train", "valid_seen", "valid_unseen")}
    for name, ids in splits.items():
        for task_id in (ids[0], ids[len(ids) // 2], ids[-1]):
            assert split_of(parse_task_id(task_id)[1]) == name
            assert [other for other, others in splits.items() if task_id in others] == [name]
    assert "procedural/pick_and_place_simple/x" not in splits["train"]
    assert 3 not in splits["train"]


@pytest.mark.parametrize(
    "task_id",
    [
        "",
        "procedural",
        "procedural/pick_and_place_simple",
        "procedural/pick_and_place_simple/",
        "procedural/pick_and_place_simple/-1",
        "procedural/pick_and_place_simple/007",
        "procedural/pick_and_place_simple/3000000000",
        "procedural/pick_and_place_simple/1/2",
        "procedural/make_tea/1",
        "train/pick_and_place_simple/1",
    ],
)
def test_other_ids_are_refused_with_the_form_expected(task_id):
    with pytest.raises(InvalidTask, match="expected procedural/<task_type>/<seed>"):
        generate_game(task_id)


@given(st.text())
def test_any_text_is_a_task_or_an_invalid_task(text):
    try:
        task_type, seed = parse_task_id(f"procedural/{text}")
    except InvalidTask:
        return
    assert f"{task_type}/{seed}" == text


def test_unknown_splits_and_task_types_are_refused():
    with pytest.raises(ValueError, match="train, valid_seen, valid_unseen"):
        ProceduralTasks("test")
    with pytest.raises(ValueError, match="pick_heat_then_place_in_recep"):
        ProceduralTasks("train", ["pick"])
    with pytest.raises(ValueError, match="task_types"):
        ProceduralTasks("train", [])


# ---- determinism -----------------------------------------------------------------------------------------

_DIGEST = """
import hashlib, json, sys
from envrl.envs.alfworld.generator import ProceduralTasks, generate_game
out = hashlib.blake2b(digest_size=16)
for split in ("train", "valid_seen", "valid_unseen"):
    for task_id in ProceduralTasks(split)[:18]:
        game = generate_game(task_id)
        out.update(json.dumps([game.facts(), game.sentence, game.object_names]).encode())
print(out.hexdigest())
"""


def test_games_are_the_same_in_every_process_and_under_every_hash_seed():
    digests = {
        subprocess.run(
            [sys.executable, "-c", _DIGEST],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for seed in ("1", "4242")
    }
    assert len(digests) == 1


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(generator).failed == doctest.testmod(goals).failed == 0


def test_a_game_does_not_depend_on_the_games_made_before_it():
    ids = ProceduralTasks("train")[:12]
    forward = [generate_game(task_id) for task_id in ids]
    draw_room.cache_clear()
    assert [generate_game(task_id) for task_id in reversed(ids)] == forward[::-1]


# ---- the hold-out ----------------------------------------------------------------------------------------


def test_training_and_unseen_games_never_share_a_layout(train, unseen):
    assert not any(is_held_out(layout(game)) for game in train)
    assert all(is_held_out(layout(game)) for game in unseen)
    small = [generate_game(task_id, receptacles=(6, 12)) for task_id in ProceduralTasks("train")[:120]]
    assert not any(is_held_out(layout(game)) for game in small)
    small_unseen = [
        generate_game(task_id, receptacles=(6, 12)) for task_id in ProceduralTasks("valid_unseen")[:120]
    ]
    assert all(is_held_out(layout(game)) for game in small_unseen)
    assert not {layout(game) for game in train + small} & {layout(game) for game in unseen + small_unseen}


def test_seen_validation_games_are_new_games_in_training_layouts(train):
    seen = [generate_game(task_id) for task_id in ProceduralTasks("valid_seen")]
    assert not any(is_held_out(layout(game)) for game in seen)
    known = {(g.sentence, g.receptacles, g.objects) for g in train}
    assert not any((g.sentence, g.receptacles, g.objects) in known for g in seen)


# ---- what a game is --------------------------------------------------------------------------------------


def test_each_game_can_be_won_and_is_not_won_at_the_start(train, unseen):
    for game in train + unseen:
        state = initial_state(game)
        assert not is_won(game, state), game.task_id
        plan = remaining_plan(game, state)
        assert len(plan) <= 20
        for command in plan:
            assert step(game, state, command) != "Nothing happens.", (game.task_id, command)
        assert is_won(game, state), game.task_id


def test_goal_and_sentence_belong_to_the_task_id(train):
    wordings = defaultdict(set)
    for game in train:
        assert game.goal.task_type == parse_task_id(game.task_id)[0]
        assert read_sentence(game.sentence) == game.goal
        assert read_sentence(f"Your task is to: {game.sentence}") == game.goal
        assert intro(game, initial_state(game)).endswith(f"Your task is to: {game.sentence}")
        wordings[game.goal.task_type].add(
            game.sentence.replace(game.goal.object_type, "{o}", 1).replace(game.goal.target_type, "{t}", 1)
        )
    assert {task_type: set(forms) for task_type, forms in SENTENCES.items()} == wordings


def test_rooms_obey_the_domain(train):
    for game in train:
        assert 10 <= len(game.receptacles) <= 35
        assert not game.start_opened
        assert not game.receptacles_at[game.start_location]
        assert all(kind in OPENABLE for r, kind in enumerate(game.receptacle_types) if game.openable >> r & 1)
        for o, kind in enumerate(game.object_types):
            assert bool(game.pickupable >> o & 1) == (kind not in FIXTURES)
        for receptacle, kind in game.can_contain:
            assert kind in CAN_CONTAIN[receptacle]
        for r, inside in enumerate(game.start_contents):
            assert inside & ~game.start_at_location[game.receptacle_locations[r]] == 0
        assert len(set(game.object_names) | set(game.receptacle_names)) == len(game.things)
    assert any(len(rs) > 1 for game in train for rs in game.receptacles_at)
    assert {kind_of_room(game) for game in train} == {"kitchen", "livingroom", "bedroom", "bathroom"}


def test_targets_start_neither_at_the_goal_nor_in_the_appliance(train):
    appliance = {
        "pick_clean_then_place_in_recep": "sinkbasin",
        "pick_heat_then_place_in_recep": "microwave",
        "pick_cool_then_place_in_recep": "fridge",
        "look_at_obj_in_light": "",
    }
    for game in train:
        places = [
            game.receptacle_types[r]
            for r, inside in enumerate(game.start_contents)
            if inside & game.goal_objects
        ]
        assert places
        assert appliance.get(game.goal.task_type, game.goal.target_type) not in places
        reachable = sum((inside & game.goal_objects).bit_count() for inside in game.start_contents)
        assert reachable >= (2 if game.goal.task_type == "pick_two_obj_and_place" else 1)


# ---- difficulty ------------------------------------------------------------------------------------------


def test_room_size_follows_the_difficulty():
    for low, high in ((6, 8), (12, 12), (40, 50)):
        for task_id in ProceduralTasks("train")[:60]:
            assert low <= len(generate_game(task_id, receptacles=(low, high)).receptacles) <= high


def test_clutter_sets_the_number_of_other_objects():
    def others(clutter: float) -> list[int]:
        out = []
        for task_id in ProceduralTasks("train")[:60]:
            game = generate_game(task_id, clutter=clutter)
            inside = 0
            for contents in game.start_contents:
                inside |= contents
            out.append((inside & ~game.goal_objects & ~game.lamps).bit_count())
        return out

    assert set(others(0.0)) == {0}
    half, usual, double = (sum(others(clutter)) for clutter in (0.5, 1.0, 2.0))
    assert half < 0.8 * usual < 0.8 * 0.7 * double


def test_hidden_sets_where_the_targets_start():
    def hidden(factor: float) -> float:
        games = [generate_game(task_id, hidden=factor) for task_id in ProceduralTasks("train")[:240]]
        inside, closed = 0, 0
        for game in games:
            for r, contents in enumerate(game.start_contents):
                n = (contents & game.goal_objects).bit_count()
                inside += n
                closed += n * (game.openable >> r & 1)
        return closed / inside

    assert hidden(0.0) < 0.03 < hidden(0.6) < hidden(50.0)
    assert hidden(50.0) > 0.5


@pytest.mark.parametrize(
    "difficulty", [{"receptacles": (3, 5)}, {"receptacles": (20, 10)}, {"clutter": -1}, {"hidden": -0.1}]
)
def test_impossible_difficulties_are_refused(difficulty):
    with pytest.raises(ValueError, match=next(iter(difficulty))):
        Difficulty(**difficulty)
    with pytest.raises(ValueError, match=next(iter(difficulty))):
        generate_game("procedural/pick_and_place_simple/1", **difficulty)


def test_difficulty_is_jsonable():
    made = Difficulty(**json.loads('{"receptacles": [8, 12], "clutter": 0.5}'))
    assert made.receptacles == (8, 12)
    assert generate_game("procedural/look_at_obj_in_light/5", receptacles=[8, 12]) == generate_game(
        "procedural/look_at_obj_in_light/5", receptacles=(8, 12)
    )


# ---- likeness to the released games ----------------------------------------------------------------------


def distance(one: Counter, other: Counter) -> float:
    """Total variation distance of two histograms, 0 to 1."""
    a, b = one.total(), other.total()
    return 0.5 * sum(abs(one[key] / a - other[key] / b) for key in one.keys() | other.keys())


def reachable(game: Game) -> int:
    inside = 0
    for contents in game.start_contents:
        inside |= contents
    return inside


def in_room(games: Iterable[Game], kind: str) -> list[Game]:
    return [game for game in games if kind_of_room(game) == kind]


@pytest.fixture(scope="module")
def full_size() -> list[Game]:
    """As many games as the archive gives, over the full span of official room sizes."""
    return [generate_game(task_id, receptacles=(6, 54)) for task_id in ProceduralTasks("train")[:1800]]


@pytest.mark.shared
@pytest.mark.parametrize("kind", ["kitchen", "livingroom", "bedroom", "bathroom"])
def test_histograms_are_like_those_of_the_official_games(kind, official, full_size):
    ours, theirs = in_room(full_size, kind), in_room(official, kind)
    assert len(ours) > 100 and len(theirs) > 100

    def mean(games: list[Game], count) -> float:
        return sum(map(count, games)) / len(games)

    def receptacles(game: Game) -> int:
        return len(game.receptacles)

    def objects(game: Game) -> int:
        return reachable(game).bit_count()

    for count in (receptacles, objects):
        assert mean(ours, count) == pytest.approx(mean(theirs, count), rel=0.12), count.__name__
        coarse = [Counter(count(game) // 6 for game in games) for games in (ours, theirs)]
        assert distance(*coarse) < 0.3, count.__name__  # the released games have but 27 rooms of a kind

    def receptacle_types(games: list[Game]) -> Counter:
        return Counter(name for game in games for name in game.receptacle_types)

    def object_types(games: list[Game]) -> Counter:
        return Counter(game.object_types[o] for game in games for o in bits(reachable(game)))

    def placements(games: list[Game]) -> Counter:
        return Counter(
            (game.object_types[o], game.receptacle_types[r])
            for game in games
            for r, inside in enumerate(game.start_contents)
            for o in bits(inside)
        )

    assert distance(receptacle_types(ours), receptacle_types(theirs)) < 0.12
    assert distance(object_types(ours), object_types(theirs)) < 0.12
    assert distance(placements(ours), placements(theirs)) < 0.25


@pytest.mark.shared
def test_tasks_take_as_many_commands_as_the_official_ones(official, train):
    def lengths(games: list[Game]) -> dict[str, float]:
        of_type = defaultdict(list)
        for game in games:
            of_type[game.goal.task_type].append(len(remaining_plan(game, initial_state(game))))
        return {task_type: sum(plans) / len(plans) for task_type, plans in of_type.items()}

    ours, theirs = lengths(train), lengths(official)
    for task_type in TASK_TYPES:
        assert ours[task_type] == pytest.approx(theirs[task_type], rel=0.1), task_type


@pytest.mark.shared
def test_official_sentences_have_the_forms_that_we_write(official):
    assert all(read_sentence(game.sentence) == game.goal for game in official)
    assert read_sentence("make some tea.") is None
