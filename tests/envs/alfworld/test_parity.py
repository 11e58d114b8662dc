"""The native engine against what the original engine was recorded to do."""

import json
from pathlib import Path

import pytest

from envrl.envs.alfworld import engine
from envrl.envs.alfworld.official import OfficialLibrary, open_official

pytestmark = pytest.mark.shared


def test_recorded_play_is_repeated_without_a_difference(
    shared_data: Path, valid_seen: OfficialLibrary
) -> None:
    steps = 0
    with (shared_data / "alfworld" / "reference_valid_seen.jsonl").open() as file:
        games = [json.loads(line) for line in file]
    for recorded in games:
        game = valid_seen.load(recorded["game"].removesuffix("/game.tw-pddl"))
        state = engine.initial_state(game)
        reset = {"obs": engine.intro(game, state), "admissible": list(engine.admissible(game, state))}
        assert reset == recorded["reset"]
        for step in recorded["steps"]:
            found = {
                "action": step["action"],
                "obs": engine.step(game, state, step["action"]),
                "admissible": list(engine.admissible(game, state)),
                "won": engine.is_won(game, state),
            }
            assert found == {key: step[key] for key in found}, recorded["game"]
            assert step["done"] == step["won"] and step["score"] == float(step["won"])
            steps += 1
            if step["done"]:
                break
    assert (len(games), steps) == (36, 810)


@pytest.mark.parametrize(("split", "count"), [("valid_seen", 140), ("train", 3553)])
def test_every_official_walkthrough_wins(shared_data: Path, split: str, count: int) -> None:
    library = open_official(str(shared_data / "alfworld" / f"{split}.tar.xz"), split)
    assert len(library.task_ids()) == count
    for task_id in library.task_ids():
        game = library.load(task_id)
        state = engine.initial_state(game)
        for command in game.walkthrough:
            assert not engine.is_won(game, state)
            assert command in engine.admissible(game, state), (task_id, command)
            engine.step(game, state, command)
        assert engine.is_won(game, state), task_id
