"""Written games: they read back as they were, open as a data set, and play alike on the original stack."""

import json
import tarfile
from pathlib import Path
from random import Random

import gymnasium
import pytest

import envrl  # noqa: F401 - registers the environment
from envrl.envs.alfworld import writer
from envrl.envs.alfworld.engine import admissible, initial_state, intro, is_won, step
from envrl.envs.alfworld.game import TASK_TYPES, Game
from envrl.envs.alfworld.generator import ProceduralTasks, generate_game
from envrl.envs.alfworld.pddl import parse_game
from envrl.envs.alfworld.privileged import remaining_plan
from envrl.envs.alfworld.writer import Rules, game_fields, load_rules, write_game, write_games
from envrl.envs.errors import DataNotFound, InvalidData, InvalidTask

#: enough of ALFWorld's texts for the native engine, which reads only the goal sentence from them
RULES = Rules("(define (domain alfred))", 'grammar :: "Your task is to: UNKNOWN GOAL."')


@pytest.fixture(scope="module")
def official_game(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One official game file."""
    with tarfile.open(shared_data / "alfworld" / "valid_seen.tar.xz", "r|xz") as archive:
        for member in archive:
            if member.name.endswith("game.tw-pddl"):
                file = archive.extractfile(member)
                assert file is not None
                path = tmp_path_factory.mktemp("official") / "game.tw-pddl"
                path.write_bytes(file.read())
                return path
    raise AssertionError("the archive holds no game")


def one_of_each_task_type() -> list[Game]:
    return [generate_game(task_id) for task_id in ProceduralTasks("valid_unseen")[: len(TASK_TYPES)]]


def test_a_written_game_reads_back_as_it_was(tmp_path):
    for game in one_of_each_task_type():
        path = write_game(game, tmp_path / game.task_id, RULES)
        assert path.name == "game.tw-pddl"
        back = parse_game(path.read_text(), game.task_id)
        assert back.walkthrough == tuple(remaining_plan(game, initial_state(game)))
        assert (back.facts(), back.goal, back.sentence) == (game.facts(), game.goal, game.sentence)
        assert (back.object_names, back.receptacle_names) == (game.object_names, game.receptacle_names)


def test_a_game_in_the_middle_of_things_reads_back_as_it_was(kitchen):
    facts = kitchen.facts()
    facts["holds"] = [(kitchen.agent, kitchen.objects[0])]
    facts["inreceptacle"] = [row for row in facts["inreceptacle"] if row[0] != kitchen.objects[0]]
    facts["opened"], facts["ishot"] = facts["openable"][:1], [(kitchen.objects[0],)]
    game = Game.from_facts(
        facts, task_id="by/hand", goal=kitchen.goal, sentence=kitchen.sentence, walkthrough=["look"]
    )
    fields = game_fields(game, RULES)
    assert "(holdsAny agent1)" in fields["pddl_problem"]
    assert fields["walkthrough"] == ["look"]
    assert parse_game(json.dumps(fields), "by/hand").facts() == game.facts()


@pytest.mark.shared
def test_official_games_survive_writing(valid_seen):
    for task_id in valid_seen.task_ids()[:20]:
        game = valid_seen.load(task_id)
        back = parse_game(game_fields(game, RULES), task_id)
        assert (back.facts(), back.goal, back.walkthrough) == (game.facts(), game.goal, game.walkthrough)


def test_written_games_open_as_a_data_set(tmp_path):
    ids = ProceduralTasks("valid_seen")[:12]
    paths = write_games(map(generate_game, ids), tmp_path, "valid_seen", RULES)
    assert len(set(paths)) == 12
    assert all(path.relative_to(tmp_path).parts[0] == "valid_seen" for path in paths)
    ours = gymnasium.make("EnvRL/ALFWorld-v0", split="valid_seen")
    written = gymnasium.make("EnvRL/ALFWorld-v0", split="valid_seen", games=str(tmp_path))
    sentences = {}
    for task_id in written.unwrapped.task_ids():
        observation, info = written.reset(options={"task_id": task_id})
        sentences[observation] = info["admissible_actions"]
    for task_id in ids:
        observation, info = ours.reset(options={"task_id": task_id})
        assert sentences[observation] == info["admissible_actions"]


@pytest.mark.shared
def test_rules_come_from_any_official_game(official_game):
    rules = load_rules(official_game)
    fields = game_fields(generate_game("procedural/pick_cool_then_place_in_recep/1"), rules)
    assert fields["pddl_domain"] == json.loads(official_game.read_text())["pddl_domain"]
    assert fields["grammar"].count("Your task is to: ") == 1
    with pytest.raises(InvalidTask):
        generate_game("trial")


def test_rules_that_are_not_there_are_an_error_that_says_what_to_do(tmp_path, monkeypatch):
    with pytest.raises(DataNotFound, match=r"game\.tw-pddl"):
        load_rules(tmp_path / "absent")
    (tmp_path / "broken").write_text('{"pddl_domain": 1')
    with pytest.raises(InvalidData, match="broken"):
        load_rules(tmp_path / "broken")
    (tmp_path / "other").write_text('{"pddl_domain": "no", "grammar": "no"}')
    with pytest.raises(InvalidData, match="Your task is to"):
        load_rules(tmp_path / "other")
    monkeypatch.setattr(writer.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DataNotFound, match=r"envrl\[reference\]"):
        load_rules()


@pytest.mark.reference
@pytest.mark.parametrize("packaged", [True, False])
def test_written_games_play_alike_on_the_original_stack(packaged, request):
    pytest.importorskip("alfworld", reason="extra `reference` is not installed")
    from envrl.envs.alfworld.reference import ReferencePlay

    rules = load_rules() if packaged else load_rules(request.getfixturevalue("official_game"))
    for task_type, seed in (("look_at_obj_in_light", 11), ("pick_heat_then_place_in_recep", 12)):
        game = generate_game(f"procedural/{task_type}/{seed}")
        other, state, rng = ReferencePlay(game, game_fields(game, rules)), initial_state(game), Random(seed)
        assert other.intro() == intro(game, state)
        for _ in range(8):
            assert other.admissible() == admissible(game, state)
            command = rng.choice(admissible(game, state))
            assert other.act(command) == step(game, state, command)
        for command in remaining_plan(game, state):
            assert other.act(command) == step(game, state, command)
            assert other.won == is_won(game, state)
        assert other.won
