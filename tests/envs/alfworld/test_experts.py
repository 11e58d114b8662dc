"""The experts: plans are short and win from anywhere; the imitable one wins by reading alone."""

from collections import deque
from random import Random

import gymnasium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import envrl  # noqa: F401 - registers the environment
from envrl.envs.alfworld.engine import State, admissible, initial_state, intro, is_won, state_key, step
from envrl.envs.alfworld.experts import Explorer, ImitableExpert, imitable_action, remaining_plan
from envrl.envs.alfworld.game import TASK_TYPES, Game, Goal
from envrl.envs.alfworld.generator import ProceduralTasks, generate_game
from envrl.envs.alfworld.memory import Memory
from envrl.envs.errors import NoExpert

LIMIT = 50


def games(count: int, split: str = "valid_unseen") -> list[Game]:
    return [generate_game(task_id) for task_id in ProceduralTasks(split)[:count]]


def with_goal(game: Game, goal: Goal, sentence: str = "") -> Game:
    return Game.from_facts(game.facts(), task_id=game.task_id, goal=goal, sentence=sentence or game.sentence)


def wander(game: Game, steps: int, seed: int) -> State:
    """A state after random admissible commands, short of a win."""
    state, rng = initial_state(game), Random(seed)
    for _ in range(steps):
        before = state.copy()
        step(game, state, rng.choice(admissible(game, state)))
        if is_won(game, state):
            return before
    return state


def fits_nowhere(game: Game, state: State) -> bool:
    """Whether the thing in hand can never be put down again, which loses most games for good."""
    held = state.holding
    return held >= 0 and not any(
        (place, game.object_types[held]) in game.can_contain for place in game.receptacle_types
    )


def run(game: Game, state: State, commands: list[str]) -> State:
    for command in commands:
        assert command in admissible(game, state), command
        step(game, state, command)
    return state


# ---- the privileged expert -------------------------------------------------------------------------------


@pytest.mark.shared
def test_plans_for_official_games_are_as_short_as_their_walkthroughs(valid_seen):
    for task_id in valid_seen.task_ids():
        game = valid_seen.load(task_id)
        plan = remaining_plan(game, initial_state(game))
        assert len(plan) <= len(game.walkthrough), task_id
        assert is_won(game, run(game, initial_state(game), plan)), task_id


@pytest.mark.shared
@pytest.mark.parametrize("steps", [5, 20, 100])
def test_official_games_are_won_after_random_play(valid_seen, steps):
    lost = 0
    for seed, task_id in enumerate(valid_seen.task_ids()):
        game = valid_seen.load(task_id)
        state = wander(game, steps, seed)
        if fits_nowhere(game, state) and not game.goal_objects >> state.holding & 1:
            lost += 1
            with pytest.raises(NoExpert, match="no receptacle takes it"):
                remaining_plan(game, state)
            continue
        plan = remaining_plan(game, state)
        assert len(plan) <= 20
        assert is_won(game, run(game, state, plan)), task_id
    assert lost < 0.1 * len(valid_seen.task_ids())


@given(st.sampled_from(TASK_TYPES), st.integers(0, 999_999), st.integers(0, 60))
@settings(deadline=None, max_examples=150)
def test_procedural_games_are_won_from_any_reachable_state(task_type, seed, steps):
    game = generate_game(f"procedural/{task_type}/{seed}")
    state = wander(game, steps, seed)
    before = state.copy()
    if fits_nowhere(game, state) and not game.goal_objects >> state.holding & 1:
        with pytest.raises(NoExpert, match="no receptacle takes it"):
            remaining_plan(game, state)
        return
    plan = remaining_plan(game, state)
    assert state == before
    assert is_won(game, run(game, state, plan))


def shortest(game: Game, start: State, depth: int) -> int | None:
    """Length of the shortest win by breadth-first search over everything that is admissible."""
    frontier, seen = deque([(start, 0)]), {start.key}
    while frontier:
        state, steps = frontier.popleft()
        if is_won(game, state):
            return steps
        if steps == depth:
            continue
        for command in admissible(game, state):
            if command.startswith(("examine", "help", "inventory", "look")):
                continue
            after = state.copy()
            step(game, after, command)
            if after.key not in seen:
                seen.add(after.key)
                frontier.append((after, steps + 1))
    return None


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_plans_are_shortest(task_type):
    compared = 0
    for seed in range(6):
        game = generate_game(f"procedural/{task_type}/{seed}", receptacles=(6, 7), clutter=0.1)
        # Halfway through the plan little enough is left to search through.
        state = wander(game, 2 * seed, seed)
        for command in remaining_plan(game, state)[:-4]:
            step(game, state, command)
        plan = remaining_plan(game, state)
        compared += len(plan) > 2
        assert len(plan) == shortest(game, state, len(plan)), game.task_id
    assert compared > 2


def test_a_useless_thing_in_hand_is_put_where_the_target_lies(kitchen):
    game = with_goal(kitchen, Goal("pick_cool_then_place_in_recep", "apple", "countertop"))
    state = run(game, initial_state(game), ["go to countertop 1", "take knife 1 from countertop 1"])
    run(game, state, ["go to fridge 1"])
    # Knives go on the countertop only.
    assert remaining_plan(game, state) == [
        "go to countertop 1",
        "move knife 1 to countertop 1",
        "go to fridge 1",
        "open fridge 1",
        "take apple 1 from fridge 1",
        "cool apple 1 with fridge 1",
        "go to countertop 1",
        "move apple 1 to countertop 1",
    ]


def test_what_was_undone_is_done_again(kitchen):
    game = with_goal(kitchen, Goal("pick_heat_then_place_in_recep", "mug", "cabinet"))
    state = run(game, initial_state(game), ["go to countertop 1", "take mug 2 from countertop 1"])
    run(game, state, ["go to microwave 1", "heat mug 2 with microwave 1"])
    assert remaining_plan(game, state) == ["go to cabinet 2", "open cabinet 2", "move mug 2 to cabinet 2"]
    run(game, state, ["go to fridge 1", "cool mug 2 with fridge 1"])
    assert remaining_plan(game, state)[:2] == ["go to microwave 1", "heat mug 2 with microwave 1"]


def test_a_lamp_that_burns_is_not_used_again(kitchen):
    game = with_goal(kitchen, Goal("look_at_obj_in_light", "pen", "desklamp"))
    state = run(game, initial_state(game), ["go to cabinet 1", "use desklamp 1"])
    plan = remaining_plan(game, state)
    assert plan == ["go to countertop 1", "take pen 1 from countertop 1", "go to cabinet 1"]


def test_a_won_game_needs_nothing(kitchen):
    game = with_goal(kitchen, Goal("pick_and_place_simple", "mug", "countertop"))
    assert remaining_plan(game, initial_state(game)) == []


def test_a_missing_appliance_leaves_no_plan(kitchen):
    game = with_goal(kitchen, Goal("pick_and_place_simple", "apple", "safe"))
    with pytest.raises(NoExpert, match="no safe"):
        remaining_plan(game, initial_state(game))


# ---- the imitable expert ---------------------------------------------------------------------------------


def imitate(game: Game, state: State, expert: ImitableExpert, limit: int = LIMIT) -> list[str]:
    """Play on until the game is won or the limit is reached; the commands."""
    commands: list[str] = []
    while not is_won(game, state) and len(commands) < limit:
        offered = admissible(game, state)
        command = expert.act(offered)
        assert command in offered
        expert.observe(step(game, state, command), command)
        commands.append(command)
    return commands


def read_start(game: Game) -> tuple[State, ImitableExpert]:
    state, expert = initial_state(game), ImitableExpert(game.sentence)
    expert.observe(intro(game, state))
    return state, expert


@pytest.mark.shared
def test_the_imitable_expert_wins_official_games(valid_seen):
    ids = list(valid_seen.task_ids())
    won = dict.fromkeys(TASK_TYPES, 0)
    for task_id in ids:
        game = valid_seen.load(task_id)
        state, expert = read_start(game)
        imitate(game, state, expert)
        won[game.goal.task_type] += is_won(game, state)
    for task_type in TASK_TYPES:
        assert won[task_type] >= 0.95 * sum(valid_seen.load(i).goal.task_type == task_type for i in ids)


def test_the_imitable_expert_wins_procedural_games():
    won = dict.fromkeys(TASK_TYPES, 0)
    for game in games(360):
        state, expert = read_start(game)
        imitate(game, state, expert)
        won[game.goal.task_type] += is_won(game, state)
    assert min(won.values()) >= 57  # of 60 each


def test_the_imitable_expert_never_repeats_itself():
    for game in games(120, "valid_seen"):
        state, expert = read_start(game)
        done = set()
        while not is_won(game, state) and len(done) < LIMIT:
            command = expert.act(admissible(game, state))
            assert (state_key(game, state), command) not in done, game.task_id
            done.add((state_key(game, state), command))
            expert.observe(step(game, state, command), command)


@pytest.mark.parametrize("reads_the_past", [True, False])
def test_the_imitable_expert_takes_over_a_strange_episode(reads_the_past):
    won = tried = 0
    for seed, game in enumerate(games(240)):
        state, expert = read_start(game)
        if not reads_the_past:
            expert = ImitableExpert(game.goal)
        rng = Random(seed)
        for _ in range(20):
            command = rng.choice(admissible(game, state))
            if reads_the_past:
                expert.observe(step(game, state, command), command)
            else:
                step(game, state, command)
            if is_won(game, state):
                break
        if is_won(game, state) or fits_nowhere(game, state):
            continue
        tried += 1
        imitate(game, state, expert)
        won += is_won(game, state)
    assert tried > 200
    assert won >= 0.95 * tried


def test_a_thing_that_fits_nowhere_is_the_end():
    game, trap, where = next(
        (game, o, r)
        for game in games(200)
        for o, kind in enumerate(game.object_types)
        if kind in ("teddybear", "papertowelroll")
        for r, inside in enumerate(game.start_contents)
        if inside >> o & 1 and not game.openable >> r & 1
    )
    state, expert = read_start(game)
    run(game, state, [f"go to {game.receptacle_names[where]}"])
    run(game, state, [f"take {game.object_names[trap]} from {game.receptacle_names[where]}"])
    with pytest.raises(NoExpert, match=game.object_names[trap]):
        expert.act(admissible(game, state))


def test_the_imitable_expert_knows_only_what_it_read():
    """What lies where it has not looked does not change what it does."""
    for seed in range(20):
        game = generate_game(f"procedural/pick_clean_then_place_in_recep/{seed}")
        state, expert = read_start(game)
        first = expert.act(admissible(game, state))
        facts = game.facts()
        facts["inreceptacle"], facts["objectatlocation"] = [], []
        emptied = Game.from_facts(facts, task_id=game.task_id, goal=game.goal, sentence=game.sentence)
        state, expert = read_start(emptied)
        assert expert.act(admissible(emptied, state)) == first


def test_the_imitable_expert_is_deterministic_and_its_noise_is_seeded():
    game = generate_game("procedural/pick_two_obj_and_place/3")

    def play(noise: float, seed: int) -> tuple[str, ...]:
        state, _ = read_start(game)
        expert = ImitableExpert(game.sentence, rng=Random(seed), noise=noise)
        expert.observe(intro(game, state))
        return tuple(imitate(game, state, expert))

    assert play(0.0, 1) == play(0.0, 2)
    assert play(1.0, 1) == play(1.0, 1)
    assert len({play(1.0, seed) for seed in range(8)}) > 2
    with pytest.raises(ValueError, match="rng"):
        ImitableExpert(game.sentence, noise=1.0)
    with pytest.raises(NoExpert, match="make tea"):
        ImitableExpert("make tea")


@pytest.mark.parametrize("syntax", ["0.4", "0.3"])
def test_the_environment_offers_the_imitable_expert(syntax):
    env = gymnasium.make("EnvRL/ALFWorld-v0", split="valid_seen", action_syntax=syntax)
    for task_id in env.unwrapped.task_ids()[:24]:
        observation, info = env.reset(options={"task_id": task_id})
        expert = ImitableExpert(info["goal"])
        expert.observe(observation)
        terminated = truncated = False
        while not (terminated or truncated):
            (action,) = env.unwrapped.expert_actions(privileged=False)
            assert action == expert.act(info["admissible_actions"])
            state = env.unwrapped.get_state()
            observation, _, terminated, truncated, info = env.step(action)
            expert.observe(observation, action)
            if not terminated:
                env.unwrapped.set_state(state)
                assert env.unwrapped.expert_actions(privileged=False) == [action]
                env.unwrapped.step(action)
        assert info["is_success"]


def test_a_history_gives_the_same_command_as_a_memory_that_watched():
    for game in games(60, "train"):
        state, expert = read_start(game)
        history = [("", intro(game, state))]
        while not is_won(game, state):
            offered = admissible(game, state)
            command = expert.act(offered)
            assert imitable_action(game.sentence, history, offered) == command
            observation = step(game, state, command)
            expert.observe(observation, command)
            history.append((command, observation))


# ---- its memory ------------------------------------------------------------------------------------------


def test_memory_reads_what_the_player_reads():
    memory = Memory()
    memory.read(
        "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly around you, "
        "you see a cabinet 2, a cabinet 1, and a fridge 1.\n\nYour task is to: put a mug in cabinet."
    )
    assert list(memory.receptacles) == ["cabinet 2", "cabinet 1", "fridge 1"]
    memory.read("You arrive at fridge 1. The fridge 1 is closed.")
    assert memory.closed == {"fridge 1"} and not memory.contents
    memory.read("You open the fridge 1. The fridge 1 is open. In it, you see a mug 1, and a apple 2.")
    assert memory.opened == {"fridge 1"} and not memory.closed
    assert memory.contents == {"fridge 1": ["mug 1", "apple 2"]}
    assert memory.places("mug") == [("mug 1", "fridge 1")]
    memory.read("You pick up the mug 1 from the fridge 1.")
    assert memory.holding == "mug 1" and not memory.places("mug")
    memory.read("You heat the mug 1 using the microwave 1.")
    memory.read("You clean the mug 1 using the sinkbasin 1.")
    memory.read("You cool the mug 1 using the fridge 1.")
    assert memory.treated == {"mug 1": {"clean", "cool"}}
    memory.read("You arrive at loc 4. On the countertop 1, you see nothing.")
    memory.read("You put the mug 1 in/on the countertop 1.")
    assert memory.holding is None and memory.places("mug") == [("mug 1", "countertop 1")]
    memory.read("Nothing happens.")
    memory.read("You close the fridge 1.")
    assert memory.closed == {"fridge 1"}
    assert memory.of_kind("cabinet") == ["cabinet 2", "cabinet 1"]


def test_memory_notices_what_the_admissible_commands_give_away():
    memory = Memory()
    memory.read("On the desk 1, you see a pen 1, and a desklamp 1.")
    offered = (
        "examine desk 1",
        "go to bed 1",
        "go to drawer 1",
        "look",
        "take mug 1 from desk 1",
        "use desklamp 1",
    )
    memory.notice(offered)
    assert memory.here == ("desk 1",) and memory.holding is None
    assert memory.inside("desk 1") == ["mug 1", "desklamp 1"]  # the pen is gone
    assert memory.contents["desk 1"] == ["pen 1", "desklamp 1"]
    memory.notice(("examine drawer 1", "examine mug 1", "go to bed 1", "go to desk 1", "open drawer 1"))
    assert memory.here == ("drawer 1",) and memory.holding == "mug 1"
    assert memory.is_closed("drawer 1") and memory.is_closed("desk 1") is False
    assert memory.is_closed("bed 1") is None
    assert memory.knows("desk 1", "pen") and not memory.knows("drawer 1", "pen")


@given(st.text())
def test_memory_reads_any_text(text):
    Memory().read(text)
    Memory().notice([text])


# ---- the explorer ----------------------------------------------------------------------------------------


def explore(game: Game, seed: int, epsilon: float, steps: int = 60) -> tuple[list[str], bool]:
    explorer, state = Explorer(Random(seed), epsilon), initial_state(game)
    explorer.start(game.sentence, intro(game, state))
    commands: list[str] = []
    for _ in range(steps):
        offered = admissible(game, state)
        command = explorer.act(offered)
        assert command in offered
        explorer.observe(step(game, state, command), command)
        commands.append(command)
        if is_won(game, state):
            return commands, True
    return commands, False


def test_the_explorer_strays_as_much_as_it_is_told():
    some = games(60)
    wins = [sum(explore(game, 1, epsilon)[1] for game in some) for epsilon in (0.0, 0.4, 1.0)]
    assert wins[0] == len(some)
    assert wins[0] >= wins[1] > 0.7 * len(some) > wins[2]
    lengths = [sum(len(explore(game, 1, epsilon)[0]) for game in some) for epsilon in (0.0, 0.4)]
    assert lengths[0] < lengths[1]
    verbs = {command.split()[0] for game in some for command in explore(game, 1, 1.0)[0]}
    assert {"go", "take", "move", "open", "close", "examine", "look", "inventory", "help"} <= verbs


def test_the_explorer_is_seeded():
    game = generate_game("procedural/pick_heat_then_place_in_recep/5")
    assert explore(game, 3, 0.5) == explore(game, 3, 0.5)
    assert len({tuple(explore(game, seed, 0.5)[0]) for seed in range(6)}) == 6
    with pytest.raises(ValueError, match="epsilon"):
        Explorer(Random(0), 1.5)
    with pytest.raises(NoExpert, match="start"):
        Explorer(Random(0)).act(["look"])
