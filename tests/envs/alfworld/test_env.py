"""`EnvRL/ALFWorld-v0` from outside: the contract, the choices of its constructor, experts and snapshots."""

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import envrl  # noqa: F401 - registers the ids
from envrl.envs.alfworld.env import ALFWorldEnv
from envrl.envs.alfworld.game import TASK_TYPES
from envrl.envs.errors import DataNotFound, InvalidTask, NoExpert
from envrl.envs.testing import check_text_env

TASK = "procedural/pick_heat_then_place_in_recep/5"


def started(task_id: str = TASK, **kwargs: Any) -> tuple[ALFWorldEnv, str, dict[str, Any]]:
    env = ALFWorldEnv(**kwargs)
    observation, info = env.reset(options={"task_id": task_id})
    return env, observation, info


def win(env: ALFWorldEnv) -> tuple[str, float, bool, bool, dict[str, Any]]:
    for command in env.expert_actions():
        result = env.step(command)
    return result


def test_registered_with_its_limit_and_checked_by_gymnasium() -> None:
    env = gymnasium.make("EnvRL/ALFWorld-v0")
    assert env.spec is not None and env.spec.max_episode_steps == 50
    check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize(
    "kwargs", [{}, {"action_syntax": "0.3", "feedback": "explain", "split": "valid_unseen"}]
)
def test_keeps_the_contract(kwargs: dict[str, Any]) -> None:
    found = check_text_env("EnvRL/ALFWorld-v0", kwargs=kwargs, vectors="quick")
    assert not found.skipped


@pytest.mark.shared
def test_keeps_the_contract_with_official_games(shared_data: Path) -> None:
    archive = str(shared_data / "alfworld" / "valid_seen.tar.xz")
    check_text_env("EnvRL/ALFWorld-v0", kwargs={"games": archive, "split": "valid_seen"}, vectors="quick")


def test_an_episode_won_by_the_expert() -> None:
    env, observation, info = started()
    assert observation.endswith(f"Your task is to: {info['goal']}")
    assert (info["task_id"], info["action_status"], info["is_success"]) == (TASK, "none", False)
    plan = env.expert_actions()
    rewards = []
    for command in plan:
        assert command in info["admissible_actions"]
        observation, reward, terminated, truncated, info = env.step(command)
        rewards.append((reward, terminated, truncated, info["action_status"]))
    assert rewards == [(0.0, False, False, "ok")] * (len(plan) - 1) + [(1.0, True, False, "ok")]
    assert info["is_success"] and info["admissible_actions"]
    assert env.expert_actions() == env.expert_actions(privileged=False) == []
    again = env.step(info["admissible_actions"][0])
    assert again[:4] == (observation, 0.0, True, False)
    assert again[4]["state_key"] == info["state_key"] and again[4]["action_status"] == "inadmissible"
    assert env.classify_action("look") == ("inadmissible", observation)


def test_status_of_actions() -> None:
    env, _, info = started()
    elsewhere = info["admissible_actions"][0]
    assert elsewhere.startswith("go to ")
    place = elsewhere.removeprefix("go to ")
    for action, status in (
        ("dance", "malformed"),
        ("", "malformed"),
        ("open the fridge", "malformed"),
        (f"examine {place} 1", "malformed"),
        (f"examine {place}", "inadmissible"),
        (elsewhere, "ok"),
        (elsewhere, "inadmissible"),
    ):
        message = env.classify_action(action)
        observation, reward, _, _, info = env.step(action)
        assert info["action_status"] == status == message[0]
        assert message[1] == ("" if status == "ok" else observation)
        if status != "ok":
            assert (observation, reward) == ("Nothing happens.", 0.0)


def test_explained_feedback() -> None:
    env, _, info = started(feedback="explain")
    place = info["admissible_actions"][0].removeprefix("go to ")
    assert env.step(f"examine {place}")[0].startswith("Nothing happens. You can only examine")
    assert env.step("dance")[0].startswith("Nothing happens. That is no command.")
    assert env.classify_action("dance")[1] == env.step("dance")[0]
    assert env.step(f"go to {place}")[0].startswith(f"You arrive at {place}.")


def test_seeds_and_ids_choose_the_task() -> None:
    env = ALFWorldEnv()
    first = env.reset(seed=3)
    assert env.reset(seed=3) == first
    assert env.reset()[1]["task_id"] != first[1]["task_id"]
    assert env.reset(options={"task_id": first[1]["task_id"]}) == first
    assert first[1]["task_id"] in env.task_ids()


def test_an_id_of_another_split_is_accepted_and_nonsense_is_not() -> None:
    env = ALFWorldEnv(split="valid_unseen")
    assert TASK not in env.task_ids()
    before = env.reset(options={"task_id": TASK})
    for nonsense in ("", "procedural/pick/1", "procedural/pick_and_place_simple/x", 7, ["a"]):
        with pytest.raises(InvalidTask):
            env.reset(options={"task_id": nonsense})
    assert env.step("look")[4]["task_id"] == before[1]["task_id"]


def test_task_types_and_difficulty_reach_the_generator() -> None:
    env = ALFWorldEnv(
        task_types=["pick_two_obj_and_place"], difficulty={"receptacles": [10, 12], "clutter": 0}
    )
    for seed in range(5):
        _, info = env.reset(seed=seed)
        assert "pick_two_obj_and_place" in info["task_id"]
        assert 10 <= len([a for a in info["admissible_actions"] if a.startswith("go to ")]) <= 12


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"split": "test"}, "valid_seen"),
        ({"engine": "unity"}, "textworld"),
        ({"action_syntax": "0.5"}, "0.3"),
        ({"feedback": "verbose"}, "explain"),
        ({"task_types": ["sit"]}, "pick_and_place_simple"),
        ({"difficulty": {"rooms": 3}}, "receptacles"),
        ({"games": "/nowhere", "difficulty": {"clutter": 0}}, "procedural"),
        ({"render_mode": "human"}, "ansi"),
    ],
)
def test_wrong_arguments_say_what_is_right(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ALFWorldEnv(**kwargs)


def test_missing_games_say_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(DataNotFound, match="envrl data download alfworld"):
        ALFWorldEnv(games=str(tmp_path))


def test_the_old_wording_is_offered_accepted_and_planned() -> None:
    env, _, info = started(action_syntax="0.3")
    plan = env.expert_actions()
    assert any(command.startswith("put ") and " in/on " in command for command in plan)
    for command in plan:
        assert command in info["admissible_actions"]
        observation, _, terminated, _, info = env.step(command)
        assert command.startswith("go to ") == observation.startswith("You arrive at loc ")
    assert terminated and not any("move" in command for command in info["admissible_actions"])


@pytest.mark.parametrize("syntax", ["0.4", "0.3"])
@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_the_imitable_expert_plays_one_action_at_a_time(task_type: str, syntax: Any) -> None:
    env, _, info = started(f"procedural/{task_type}/1", action_syntax=syntax)
    for _ in range(50):
        (command,) = env.expert_actions(privileged=False)
        assert command in info["admissible_actions"]
        _, _, terminated, _, info = env.step(command)
        if terminated:
            break
    assert info["is_success"]


def test_no_expert_where_nothing_wins_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    env, _, _ = started()
    play = env._play
    assert play is not None
    for masks in (play.state.contents, play.state.at_location):
        masks[:] = [0] * len(masks)  # everything is gone
    with pytest.raises(NoExpert):
        env.expert_actions()


def test_snapshots_branch_and_come_back() -> None:
    env, _, info = started()
    plan = env.expert_actions()
    env.step(plan[0])
    snapshot = env.get_state()
    assert pickle.loads(pickle.dumps(snapshot)) == snapshot
    futures = []
    for _ in range(2):
        observation, info = env.set_state(snapshot)
        assert info["action_status"] == "none"
        futures.append((observation, info, env.expert_actions(privileged=False), win(env)))
    assert futures[0] == futures[1] and futures[0][3][2]
    # A snapshot of a finished episode stays finished, also in an environment that never played this task.
    finished, other = env.get_state(), ALFWorldEnv()
    other.reset(seed=1)
    other.set_state(finished)
    assert other.step("look") == env.step("look")
    other.set_state(snapshot)
    assert other.expert_actions() == plan[1:]


def test_random_play_reaches_equal_keys_only_in_equal_states() -> None:
    env, _, info = started()
    rng, seen = Random(0), {}
    for _ in range(200):
        words = env.describe_state()
        assert seen.setdefault(info["state_key"], words) == words
        _, _, terminated, _, info = env.step(rng.choice(info["admissible_actions"]))
        if terminated:
            _, info = env.reset(options={"task_id": TASK})
    assert len(seen) > 20


def test_the_hidden_state_in_words() -> None:
    env, _, _ = started()
    words = env.describe_state()
    assert "You are in the middle of the room." in words and "You are carrying nothing." in words
    assert "The fridge 1 (closed) holds " in words
    win(env)
    assert " is hot" in env.describe_state()


def test_sixty_four_environments_in_eight_threads_play_as_one_by_one() -> None:
    def play(seed: int) -> list[Any]:
        env, rng = ALFWorldEnv(), Random(seed)
        observation, info = env.reset(seed=seed % 16)
        lines: list[Any] = [observation]
        for _ in range(30):
            *result, info = env.step(rng.choice(info["admissible_actions"]))
            lines.append((*result, info))
        return lines

    alone = [play(seed) for seed in range(64)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(play, range(64))) == alone


def test_the_spec_is_json_and_rebuilds_the_environment() -> None:
    env = gymnasium.make(
        "EnvRL/ALFWorld-v0",
        split="valid_seen",
        task_types=["look_at_obj_in_light"],
        difficulty={"clutter": 0.5},
    )
    assert env.spec is not None
    rebuilt = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert rebuilt.reset(seed=4) == env.reset(seed=4)
    assert json.loads(env.spec.to_json())["kwargs"]["difficulty"] == {"clutter": 0.5}


@pytest.mark.shared
def test_official_games_through_the_environment(shared_data: Path) -> None:
    archive = str(shared_data / "alfworld" / "valid_seen.tar.xz")
    env = ALFWorldEnv(games=archive, split="valid_seen")
    assert len(env.task_ids()) == 140
    for task_id in env.task_ids()[::20]:
        env.reset(options={"task_id": task_id})
        assert win(env)[1:3] == (1.0, True)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_in_a_vector(mode: str) -> None:
    vector = gymnasium.make_vec("envrl:EnvRL/ALFWorld-v0", num_envs=3, vectorization_mode=mode)
    single = ALFWorldEnv()
    observations, infos = vector.reset(seed=[5, 6, 7])
    for i, seed in enumerate((5, 6, 7)):
        observation, info = single.reset(seed=seed)
        assert observations[i] == observation and infos["state_key"][i] == info["state_key"]
    observations, *_ = vector.step(("look",) * 3)
    assert set(observations) == {
        "You are in the middle of a room. Looking quickly around you, you see nothing."
    }
    vector.close()
