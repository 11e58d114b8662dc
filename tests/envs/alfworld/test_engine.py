"""The rules of the native engine, on a kitchen small enough to follow by hand, and laws of any play."""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envrl.envs.alfworld import engine
from envrl.envs.alfworld.game import TASK_TYPES, Game, Goal
from envrl.envs.alfworld.generator import generate_game
from envrl.envs.alfworld.state import State, full_key

NOTHING = "Nothing happens."


def play(game: Game, *commands: str, state: State | None = None) -> tuple[State, list[str]]:
    state = engine.initial_state(game) if state is None else state
    return state, [engine.step(game, state, command) for command in commands]


# ---- what the player reads -------------------------------------------------------------------------------


def test_intro(kitchen: Game) -> None:
    assert engine.intro(kitchen, engine.initial_state(kitchen)) == (
        "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly around you, "
        "you see a cabinet 2, a cabinet 1, a countertop 1, a fridge 1, a microwave 1, and a sinkbasin 1.\n\n"
        "Your task is to: do something."
    )


def test_looking(kitchen: Game) -> None:
    _, texts = play(kitchen, "look", "go to cabinet 1", "look")
    assert texts == [
        "You are in the middle of a room. Looking quickly around you, you see nothing.",
        "You arrive at cabinet 1. The cabinet 1 is closed.",
        "You are facing the cabinet 2, and cabinet 1. Next to it, you see nothing.",
    ]


def test_look_lists_what_was_taken_from_one_receptacle_here_and_put_into_another(kitchen: Game) -> None:
    state, texts = play(
        kitchen,
        "go to cabinet 2",
        "open cabinet 2",
        "take mug 1 from cabinet 2",
        "look",
        "open cabinet 1",
        "move mug 1 to cabinet 1",
        "look",
        "take mug 1 from cabinet 1",
        "move mug 1 to cabinet 2",
        "look",
    )
    assert texts[3] == "You are facing the cabinet 2, and cabinet 1. Next to it, you see nothing."
    assert texts[6] == "You are facing the cabinet 2, and cabinet 1. Next to it, you see a mug 1."
    # Taken from cabinet 1 and put back into cabinet 2: now it is cabinet 1 that it was taken from.
    assert texts[9] == "You are facing the cabinet 2, and cabinet 1. Next to it, you see a mug 1."
    assert state.taken == [0, 1 << kitchen.object_names.index("mug 1"), 0, 0, 0, 0]


def test_receptacles(kitchen: Game) -> None:
    _, texts = play(
        kitchen,
        "go to countertop 1",
        "examine countertop 1",
        "go to fridge 1",
        "open fridge 1",
        "examine fridge 1",
        "close fridge 1",
        "examine fridge 1",
        "go to sinkbasin 1",
    )
    assert texts == [
        "You arrive at countertop 1. On the countertop 1, you see a bowl 1, a knife 1, a mug 2, and a pen 1.",
        "On the countertop 1, you see a bowl 1, a knife 1, a mug 2, and a pen 1.",
        "You arrive at fridge 1. The fridge 1 is closed.",
        "You open the fridge 1. The fridge 1 is open. In it, you see a apple 1.",
        "The fridge 1 is open. In it, you see a apple 1.",
        "You close the fridge 1.",
        "The fridge 1 is closed.",
        "You arrive at sinkbasin 1. On the sinkbasin 1, you see nothing.",
    ]


def test_inventory_taking_and_moving(kitchen: Game) -> None:
    _, texts = play(
        kitchen,
        "inventory",
        "go to countertop 1",
        "take mug 2 from countertop 1",
        "inventory",
        "take pen 1 from countertop 1",
        "move mug 2 to countertop 1",
        "inventory",
    )
    assert texts[0] == "You are not carrying anything."
    assert texts[2:] == [
        "You pick up the mug 2 from the countertop 1.",
        "You are carrying: a mug 2.",
        NOTHING,
        "You move the mug 2 to the countertop 1.",
        "You are not carrying anything.",
    ]


MUG_IN_HAND = ("go to countertop 1", "take mug 2 from countertop 1")
CLEAN, HEAT, COOL = "clean mug 2 with sinkbasin 1", "heat mug 2 with microwave 1", "cool mug 2 with fridge 1"


@pytest.mark.parametrize(
    ("done", "text"),
    [
        ((), "There's nothing special about mug 2."),
        ((CLEAN,), "This is a clean mug 2."),
        ((HEAT,), "This is a hot mug 2."),
        ((COOL,), "This is a cold mug 2."),
        ((CLEAN, HEAT), "This is a hot and clean mug 2."),
        ((COOL, CLEAN), "This is a cool and clean mug 2."),
        ((COOL, HEAT), "This is a hot mug 2."),
        ((HEAT, COOL), "This is a cold mug 2."),
    ],
)
def test_the_condition_of_what_is_held(kitchen: Game, done: tuple[str, ...], text: str) -> None:
    state, _ = play(kitchen, *MUG_IN_HAND)
    for command in done:
        tool = command.rpartition(" with ")[2]
        _, (_, answer) = play(kitchen, f"go to {tool}", command, state=state)
        verb = command.partition(" ")[0]
        assert answer == f"You {verb} the mug 2 using the {tool}."
    assert engine.step(kitchen, state, "examine mug 2") == text


@pytest.mark.parametrize(
    ("states", "text"),
    [
        (("sliced",), "This is a sliced apple 1."),
        (("sliced", "clean"), "This is a clean sliced apple 1."),
        (("sliced", "hot"), "This is a hot sliced apple 1."),
        (("sliced", "cool"), "This is a cool sliced apple 1."),
        (("sliced", "hot", "clean"), "This is a hot and clean sliced apple 1."),
        (("sliced", "cool", "clean"), "This is a cool and clean sliced apple 1."),
    ],
)
def test_the_condition_of_what_is_sliced(
    kitchen_facts: dict[str, list[tuple[str, ...]]], states: tuple[str, ...], text: str
) -> None:
    for name in states:
        kitchen_facts["is" + name] = [("apple_bar_a",)]
    goal = Goal("pick_and_place_simple", "mug", "microwave")
    game = Game.from_facts(kitchen_facts, task_id="k", goal=goal, sentence="x.")
    _, texts = play(game, "go to fridge 1", "open fridge 1", "take apple 1 from fridge 1", "examine apple 1")
    assert texts[-1] == text


def test_receptacle_objects_show_what_started_in_them(kitchen: Game) -> None:
    _, texts = play(kitchen, "go to countertop 1", "take bowl 1 from countertop 1", "examine bowl 1")
    assert texts[-1] == "This is a normal bowl 1. In it, you see a pen 1."


def test_lamps_work_behind_closed_doors_and_never_go_off(kitchen: Game) -> None:
    state, texts = play(kitchen, "go to cabinet 1", "use desklamp 1", "use desklamp 1")
    assert texts[1:] == ["You turn on the desklamp 1."] * 2
    assert state.toggled == kitchen.toggleable
    assert "use desklamp 1" in engine.admissible(kitchen, state)
    assert play(kitchen, "go to fridge 1", "use desklamp 1")[1][1] == NOTHING


def test_slicing_takes_a_knife_in_hand_and_the_object_at_the_place(kitchen: Game) -> None:
    state, texts = play(
        kitchen,
        "go to countertop 1",
        "take knife 1 from countertop 1",
        "slice apple 1 with knife 1",
        "go to fridge 1",
        "slice apple 1 with knife 1",
    )
    # Through the closed door of the fridge, as in the reference engine.
    assert texts[2] == NOTHING and texts[4] == "You sliced the apple 1 with the knife 1."
    assert state.sliced == 1 << kitchen.object_names.index("apple 1")


def test_appliances_work_when_closed(kitchen: Game) -> None:
    state, _ = play(kitchen, *MUG_IN_HAND, "go to microwave 1")
    assert HEAT in engine.admissible(kitchen, state)
    assert "move mug 2 to microwave 1" not in engine.admissible(kitchen, state)


def test_help(kitchen: Game) -> None:
    new, old = (
        engine.step(kitchen, engine.initial_state(kitchen), "help", syntax) for syntax in ("0.4", "0.3")
    )
    assert new.startswith("Available commands:\n  look:                             look around your")
    assert "\n  move (object) to (receptacle):  place an object in or on a receptacle\n" in new
    assert "\n  put (object) in/on (receptacle):  place an object in or on a receptacle\n" in old
    assert new.endswith("slice an object using a sharp object\n") and len(new.splitlines()) == 14


def test_the_0_3_wording(kitchen: Game) -> None:
    state = engine.initial_state(kitchen)

    def step(command: str) -> str:
        return engine.step(kitchen, state, command, "0.3")

    assert step("go to countertop 1").startswith("You arrive at loc 4. On the countertop 1, you see")
    step("take mug 2 from countertop 1")
    offered = engine.admissible(kitchen, state, "0.3")
    assert "put mug 2 in/on countertop 1" in offered and list(offered) == sorted(offered)
    assert step("move mug 2 to countertop 1") == NOTHING
    assert step("put mug 2 in/on countertop 1") == "You put the mug 2 in/on the countertop 1."
    assert engine.step(kitchen, state, "put mug 2 in/on countertop 1", "0.4") == NOTHING


@pytest.mark.parametrize(
    "command",
    [
        "",
        " ",
        "dance",
        "LOOK",
        "look around",
        "go",
        "go to",
        "go  to fridge 1",
        "go to fridge",
        "go to fridge 2",
        "open mug 1",
        "take mug 2",
        "take mug 2 from",
        "take mug 2 from countertop 1 from countertop 1",
        "examine desklamp 1",
        "use fridge 1",
        "move mug 2 to countertop 1",
        "slice mug 2 with mug 1",
        "heat fridge 1 with microwave 1",
        "clean mug 2 with mug 1",
        "put mug 2 in/on countertop 1",
        "with",
        "\x00",
        "go to \ud800",
    ],
)
def test_what_is_no_command_or_not_possible_changes_nothing(kitchen: Game, command: str) -> None:
    state, _ = play(kitchen, "go to countertop 1")
    before = state.copy()
    assert engine.step(kitchen, state, command) == NOTHING
    assert state == before


def test_white_space_around_a_command_is_forgiven(kitchen: Game) -> None:
    assert play(kitchen, "\t go to fridge 1 \n")[1] == ["You arrive at fridge 1. The fridge 1 is closed."]


def test_an_object_in_two_receptacles_leaves_one_at_a_time(
    kitchen_facts: dict[str, list[tuple[str, ...]]],
) -> None:
    kitchen_facts["inreceptacle"].append(("mug_bar_b", "cabinet_bar_b"))
    kitchen_facts["opened"] = [("cabinet_bar_a",), ("cabinet_bar_b",)]
    goal = Goal("pick_and_place_simple", "mug", "microwave")
    game = Game.from_facts(kitchen_facts, task_id="k", goal=goal, sentence="x.")
    state, texts = play(game, "go to cabinet 1", "take mug 1 from cabinet 1", "examine cabinet 2", "look")
    assert texts[2] == "The cabinet 2 is open. In it, you see a mug 1."
    assert texts[3].endswith("you see nothing.")
    play(game, "move mug 1 to cabinet 1", "take mug 1 from cabinet 2", "move mug 1 to cabinet 1", state=state)
    assert engine.step(game, state, "look").endswith("you see a mug 1.")


# ---- winning ---------------------------------------------------------------------------------------------

WINS: dict[Goal, tuple[str, ...]] = {
    Goal("pick_and_place_simple", "mug", "microwave"): (
        *MUG_IN_HAND,
        "go to microwave 1",
        "open microwave 1",
        "move mug 2 to microwave 1",
    ),
    Goal("look_at_obj_in_light", "mug", "desklamp"): (*MUG_IN_HAND, "go to cabinet 1", "use desklamp 1"),
    Goal("pick_clean_then_place_in_recep", "mug", "sinkbasin"): (
        *MUG_IN_HAND,
        "go to sinkbasin 1",
        CLEAN,
        "move mug 2 to sinkbasin 1",
    ),
    Goal("pick_heat_then_place_in_recep", "mug", "countertop"): (
        *MUG_IN_HAND,
        "go to microwave 1",
        HEAT,
        "go to countertop 1",
        "move mug 2 to countertop 1",
    ),
    Goal("pick_cool_then_place_in_recep", "mug", "countertop"): (
        *MUG_IN_HAND,
        "go to fridge 1",
        COOL,
        "go to countertop 1",
        "move mug 2 to countertop 1",
    ),
    Goal("pick_two_obj_and_place", "mug", "cabinet"): (
        *MUG_IN_HAND,
        "go to cabinet 2",
        "open cabinet 2",
        "move mug 2 to cabinet 2",
    ),
}


@pytest.mark.parametrize("goal", WINS, ids=lambda goal: goal.task_type)
def test_the_last_command_wins_and_none_before(kitchen_for: Callable[[Goal], Game], goal: Goal) -> None:
    game = kitchen_for(goal)
    state = engine.initial_state(game)
    won = []
    for command in WINS[goal]:
        assert engine.step(game, state, command) != NOTHING
        won.append(engine.is_won(game, state))
    assert won == [False] * (len(won) - 1) + [True]


def test_one_object_is_not_two(kitchen_facts: dict[str, list[tuple[str, ...]]]) -> None:
    goal = Goal("pick_two_obj_and_place", "apple", "countertop")
    game = Game.from_facts(kitchen_facts, task_id="k", goal=goal, sentence="x.")
    state, _ = play(
        game,
        "go to fridge 1",
        "open fridge 1",
        "take apple 1 from fridge 1",
        "go to countertop 1",
        "move apple 1 to countertop 1",
    )
    assert not engine.is_won(game, state)


def test_the_lamp_must_be_where_the_player_is(kitchen_for: Callable[[Goal], Game]) -> None:
    game = kitchen_for(Goal("look_at_obj_in_light", "mug", "desklamp"))
    state, _ = play(game, "go to cabinet 1", "use desklamp 1", *MUG_IN_HAND)
    assert not engine.is_won(game, state)
    engine.step(game, state, "go to cabinet 2")
    assert engine.is_won(game, state)


# ---- laws ------------------------------------------------------------------------------------------------

TASKS = st.builds(
    lambda kind, seed: f"procedural/{kind}/{seed}", st.sampled_from(TASK_TYPES), st.integers(0, 10_000)
)


def varied(game: Game, state: State, rng: Random) -> str:
    """A possible command, its verb drawn first: the many "go to" must not crowd out the rest."""
    offered = engine.admissible(game, state)
    verb = rng.choice(sorted({command.partition(" ")[0] for command in offered}))
    return rng.choice([command for command in offered if command.partition(" ")[0] == verb])


@settings(max_examples=40, deadline=None)
@given(task_id=TASKS, seed=st.integers(0, 2**32))
def test_the_digest_follows_every_change(task_id: str, seed: int) -> None:
    game, rng = generate_game(task_id), Random(seed)
    state = engine.initial_state(game)
    seen = {engine.state_key(game, state): state.copy()}
    for _ in range(60):
        engine.step(game, state, varied(game, state, rng))
        assert state.key == full_key(game, state)
        known = seen.setdefault(engine.state_key(game, state), state.copy())
        assert known == state  # equal keys, equal states
    assert len({repr(known) for known in seen.values()}) == len(seen)  # and the other way round


@settings(max_examples=40, deadline=None)
@given(task_id=TASKS, seed=st.integers(0, 2**32), syntax=st.sampled_from(["0.4", "0.3"]))
def test_a_command_does_something_exactly_when_it_is_offered(
    task_id: str, seed: int, syntax: engine.ActionSyntax
) -> None:
    game, rng = generate_game(task_id), Random(seed)
    state = engine.initial_state(game)
    for _ in range(25):
        offered = engine.admissible(game, state, syntax)
        assert list(offered) == sorted(set(offered))
        for command in every_command(game, state, rng, syntax):
            answer = engine.step(game, state.copy(), command, syntax)
            assert (answer != NOTHING) == (command in offered), command
        engine.step(game, state, varied(game, state, rng))


def every_command(game: Game, state: State, rng: Random, syntax: str) -> list[str]:
    """Commands of every form, over things drawn from the whole room and over what is at hand."""
    objects = rng.sample(game.object_names, min(4, len(game.object_names)))
    places = rng.sample(game.receptacle_names, 4)
    places += [game.receptacle_names[r] for r in game.receptacles_at[state.location]]
    if state.holding >= 0:
        objects.append(game.object_names[state.holding])
    things = objects + places
    put = "put {} in/on {}" if syntax == "0.3" else "move {} to {}"
    two = (
        "take {} from {}",
        put,
        "clean {} with {}",
        "heat {} with {}",
        "cool {} with {}",
        "slice {} with {}",
    )
    one = ("go to {}", "open {}", "close {}", "examine {}", "use {}")
    return [form.format(a) for form in one for a in things] + [
        form.format(a, b) for form in two for a in things for b in things
    ]


WORDS = (
    *("go", "to", "open", "close", "take", "from", "move", "put", "in/on", "examine", "use", "clean", "heat"),
    *("cool", "slice", "with", "look", "inventory", "help", "mug", "1", "2", "cabinet", "fridge", "apple"),
    *("knife", "countertop", "desklamp"),
)
words = st.sampled_from(WORDS)
scribble = st.one_of(
    st.text(max_size=40), st.lists(words, max_size=7).map(" ".join), st.binary(max_size=20).map(repr)
)


@settings(max_examples=10_000, deadline=None)
@given(command=scribble)
def test_no_text_raises_or_changes_what_it_should_not(kitchen: Game, command: str) -> None:
    state, _ = play(kitchen, "go to countertop 1", "take mug 2 from countertop 1")
    possible = command.strip() in engine.admissible(kitchen, state)
    before = state.copy()
    answer = engine.step(kitchen, state, command)
    assert possible or (answer == NOTHING and state == before)
    assert state.key == full_key(kitchen, state)


def trace(seed: int, steps: int = 60) -> list[tuple[str, str]]:
    rng = Random(seed)
    game = generate_game(f"procedural/{TASK_TYPES[seed % 6]}/{seed}")
    state = engine.initial_state(game)
    lines = [(engine.intro(game, state), engine.state_key(game, state))]
    for _ in range(steps):
        text = engine.step(game, state, varied(game, state, rng))
        lines.append((text, engine.state_key(game, state)))
    return lines


def test_threads_do_not_disturb_each_other() -> None:
    alone = [trace(seed) for seed in range(64)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(trace, range(64))) == alone


def test_one_game_in_many_threads() -> None:
    game = generate_game("procedural/pick_two_obj_and_place/3")

    def run(seed: int) -> list[str]:
        rng, state = Random(seed), engine.initial_state(game)
        return [engine.step(game, state, varied(game, state, rng)) + str(state.key) for _ in range(100)]

    alone = [run(seed) for seed in range(16)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, range(16))) == alone


def test_keys_are_the_same_under_every_hash_seed() -> None:
    program = (
        "import envrl\n"
        "from envrl.envs.alfworld import engine\n"
        "from envrl.envs.alfworld.generator import generate_game\n"
        "game = generate_game('procedural/pick_heat_then_place_in_recep/11')\n"
        "state = engine.initial_state(game)\n"
        "for i in range(80):\n"
        "    offered = engine.admissible(game, state)\n"
        "    text = engine.step(game, state, offered[i * 7 % len(offered)])\n"
        "    print([text, engine.state_key(game, state)])\n"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1] and len(runs[0].splitlines()) == 80


def test_a_copy_lives_its_own_life(kitchen: Game) -> None:
    state, _ = play(kitchen, "go to countertop 1")
    branch = state.copy()
    engine.step(kitchen, branch, "take mug 2 from countertop 1")
    assert branch != state and state == play(kitchen, "go to countertop 1")[0]
