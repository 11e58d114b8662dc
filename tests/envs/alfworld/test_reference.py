"""The native engine and the original stack, side by side (extra ``reference``)."""

import importlib.util
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pytest

from envrl.envs.alfworld.env import ALFWorldEnv
from envrl.envs.alfworld.game import TASK_TYPES
from envrl.envs.alfworld.generator import generate_game
from envrl.envs.alfworld.official import open_official
from envrl.envs.alfworld.parity import differences, seeded_commands
from envrl.envs.alfworld.pddl import parse_game
from envrl.envs.alfworld.play import NativePlay
from envrl.envs.alfworld.privileged import remaining_plan
from envrl.envs.alfworld.reference import ReferencePlay, reworded
from envrl.envs.alfworld.text import ActionSyntax
from envrl.envs.alfworld.writer import game_fields, load_rules
from envrl.envs.errors import MissingExtra

installed = all(importlib.util.find_spec(name) is not None for name in ("alfworld", "textworld"))


def on_the_stack(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that plays on the original stack."""
    skip = pytest.mark.skipif(
        not installed, reason="extra `reference` (alfworld, textworld) is not installed"
    )
    return pytest.mark.reference(skip(test))


@pytest.mark.skipif(installed, reason="extra `reference` is installed")
def test_without_the_stack_the_extra_is_named() -> None:
    game = generate_game("procedural/pick_and_place_simple/1")
    with pytest.raises(MissingExtra, match=r"envrl\[reference\]"):
        ReferencePlay(game, {"grammar": "", "pddl_problem": "", "pddl_domain": ""})


def test_wordings_turn_into_each_other() -> None:
    new = '"move {o} to {r}" You move the {o.name} to the {r.name}. You arrive at {r.name}.'
    old = '"put {o} in/on {r}" You put the {o.name} in/on the {r.name}. You arrive at {lend.name}.'
    assert (reworded(new, "0.3"), reworded(old, "0.4")) == (old, new)
    assert (reworded(new, "0.4"), reworded(old, "0.3")) == (new, old)


def compare(fields: dict[str, Any], task_id: str, syntax: ActionSyntax = "0.4", steps: int = 15) -> None:
    """Random play with nonsense in it, then a plan from wherever that led, on both engines."""
    game = parse_game(fields, task_id)
    native, original = NativePlay(game, syntax), ReferencePlay(game, fields, syntax)

    def commands() -> Any:
        yield from seeded_commands(native, Random(task_id), steps)
        for command in remaining_plan(game, native.state):
            yield command if syntax == "0.4" else in_old_wording(command)

    assert list(differences(native, original, commands())) == []
    assert native.won and original.won


def in_old_wording(command: str) -> str:
    if not command.startswith("move "):
        return command
    return command.replace("move ", "put ").replace(" to ", " in/on ")


@pytest.mark.shared
@pytest.mark.parametrize("which", range(6))
@on_the_stack
def test_official_games(shared_data: Path, which: int) -> None:
    library = open_official(str(shared_data / "alfworld" / "train.tar.xz"), "train", [TASK_TYPES[which]])
    task_id = library.task_ids()[100 + 7 * which]
    compare(library.game_file(task_id), task_id, "0.3" if which == 1 else "0.4")


@pytest.mark.parametrize("which", range(6))
@on_the_stack
def test_procedural_games(which: int) -> None:
    game = generate_game(f"procedural/{TASK_TYPES[which]}/{200 + which}")
    fields = game_fields(game, load_rules())
    parsed = parse_game(fields, game.task_id)
    assert parsed.base_key == game.base_key and parsed.facts() == game.facts()
    compare(fields, game.task_id)


@on_the_stack
def test_the_environment_on_either_engine() -> None:
    native, original = ALFWorldEnv(), ALFWorldEnv(engine="textworld")
    argv = list(sys.argv)
    for seed in (5, 11):
        first = native.reset(seed=seed)
        assert original.reset(seed=seed) == first
        plan = native.expert_actions()
        assert original.expert_actions() == plan
        assert original.describe_state() == native.describe_state()
        for action in ("dance", "look", "examine fridge 1", *plan[:-1]):
            assert original.classify_action(action) == native.classify_action(action)
            assert original.step(action) == native.step(action)
        snapshot = original.get_state()
        ends = [original.step(plan[-1])]
        _, info = original.set_state(snapshot)
        assert info["state_key"] == native._info("none")["state_key"]
        ends.append(original.step(plan[-1]))
        assert ends[0] == ends[1] == native.step(plan[-1]) and ends[0][2]
    assert sys.argv == argv


@on_the_stack
def test_threads_take_turns_on_the_stack() -> None:
    def play(seed: int) -> list[Any]:
        env = ALFWorldEnv(engine="textworld")
        reset = env.reset(seed=seed)
        return [reset, env.step(env.expert_actions()[0])]

    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(play, (5, 11)))
    assert together == [play(5), play(11)]
