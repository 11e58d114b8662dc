import pickle
import random

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st
from toy_env import ROOMS, ToyEnv

from envrl.envs.core import Info, StepResult, TextEnv
from envrl.envs.errors import DataNotFound, InvalidTask, NoExpert

WIN = ["look", "take coin", "drop coin"]  # of coin-0
START = "You are in the hall. A coin is hidden somewhere."


@pytest.fixture
def env() -> ToyEnv:
    env = ToyEnv()
    env.reset(options={"task_id": "coin-0"})
    return env


@pytest.mark.filterwarnings("error::UserWarning")
def test_gymnasium_accepts_it():
    check_env(gymnasium.make("Toy/Coin-v0").unwrapped)


def test_the_keys_of_info_are_the_same_after_reset_and_step():
    env = ToyEnv()
    _, before = env.reset(seed=0)
    _, _, _, _, after = env.step("look")
    assert set(before) == set(after) == set(Info.__annotations__)
    assert before["action_status"] == "none" and after["action_status"] == "ok"
    assert before["fault"] is None and before["text_cut"] is False


# ---- tasks and seeds ---------------------------------------------------------------------------------------


def test_a_seed_draws_the_same_tasks_again():
    def tasks(seed: int) -> list[str]:
        env = ToyEnv(tasks=1000)
        first = env.reset(seed=seed)[1]["task_id"]
        return [first] + [env.reset()[1]["task_id"] for _ in range(5)]

    assert tasks(7) == tasks(7) != tasks(8)
    assert len(set(tasks(7))) > 3, "resets without a seed go on drawing"


def test_a_task_id_brings_the_task_back_and_draws_nothing():
    env = ToyEnv(tasks=1000)
    env.reset(seed=7)
    drawn = env.reset()[1]["task_id"]
    env.reset(seed=7)
    assert env.reset(options={"task_id": "coin-3"})[1]["task_id"] == "coin-3"
    assert env.reset()[1]["task_id"] == drawn


def test_tasks_do_not_come_from_a_global_generator():
    random.seed(0)
    np.random.seed(0)
    before = random.getstate(), np.random.get_state()[1].tolist()
    env = ToyEnv()
    env.reset()
    env.step("look")
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


def test_a_task_outside_the_split_is_accepted():
    assert ToyEnv(tasks=2).reset(options={"task_id": "coin-7"})[1]["task_id"] == "coin-7"


@pytest.mark.parametrize("task_id", ["chair-1", "", 3, "coin-x"])
def test_a_task_that_does_not_exist_leaves_the_old_one_running(env, task_id):
    env.step("look")
    with pytest.raises(InvalidTask):
        env.reset(options={"task_id": task_id})
    observation, _, _, _, info = env.step("take coin")
    assert observation == "You hold the coin." and info["task_id"] == "coin-0"


def test_a_failed_reset_does_not_revive_an_ended_episode(env):
    for action in WIN:
        env.step(action)
    with pytest.raises(InvalidTask):
        env.reset(options={"task_id": "chair-1"})
    observation, reward, terminated, _, _ = env.step("look")
    assert (observation, reward, terminated) == ("The coin is home.", 0.0, True)


def test_an_unknown_option_is_told():
    with pytest.raises(ValueError, match=r"unknown reset option 'task'; ToyEnv knows \['task_id'\]"):
        ToyEnv().reset(options={"task": "coin-1"})


def test_an_empty_split_is_told():
    with pytest.raises(DataNotFound, match="empty split in ToyEnv"):
        ToyEnv(tasks=0).reset()


# ---- steps -------------------------------------------------------------------------------------------------


def test_a_won_episode(env):
    results = [env.step(action) for action in WIN]
    assert [r[1] for r in results] == [0.0, 0.0, 1.0]
    assert [r[2] for r in results] == [False, False, True]
    assert results[-1][4]["is_success"] is True


def test_a_step_after_the_end_changes_nothing(env):
    for action in WIN:
        last = env.step(action)
    for action in ("go to attic", "", "drop coin"):
        observation, reward, terminated, truncated, info = env.step(action)
        assert (observation, reward, terminated, truncated) == (last[0], 0.0, True, False)
        assert info == {**last[4], "action_status": "inadmissible"}


class FaultyEnv(ToyEnv):
    def _act(self, action):
        if action != "crash":
            return super()._act(action)
        return StepResult("lost", fault="server died", extra={"code": 7})


def test_a_fault_truncates_and_stays():
    env = FaultyEnv()
    env.reset(options={"task_id": "coin-0"})
    observation, reward, terminated, truncated, info = env.step("crash")
    assert (observation, reward, terminated, truncated) == ("lost", 0.0, False, True)
    assert info["fault"] == "server died" and info["code"] == 7
    observation, reward, terminated, truncated, info = env.step("look")
    assert (observation, reward, terminated, truncated) == ("lost", 0.0, False, True)
    assert info["fault"] == "server died" and "code" not in info
    _, info = env.reset()
    assert info["fault"] is None and env.step("look")[3] is False


@given(
    st.text(st.characters(exclude_categories=()))
    | st.sampled_from(["look", "note[", "note[]", "go to attic"])
)
def test_whatever_an_agent_writes_is_answered(action):
    env = ToyEnv()
    _, before = env.reset(options={"task_id": "coin-0"})
    expected = env.classify_action(action)
    observation, reward, _, _, info = env.step(action)
    assert info["action_status"] == expected[0]
    if expected[0] != "ok":
        assert (observation, reward) == (expected[1], 0.0) and info["state_key"] == before["state_key"]


def test_text_of_numpy_is_text(env):
    assert env.step(np.array(["look"])[0])[0] == "A coin!"


@pytest.mark.parametrize("action", [None, 3, b"look", ["look"]])
def test_what_is_no_text_is_a_mistake_of_the_caller(env, action):
    with pytest.raises(TypeError, match="an action is a str, got"):
        env.step(action)


def test_nothing_works_before_reset():
    with pytest.raises(ResetNeeded, match=r"call env\.reset\(\) first"):
        ToyEnv().step("look")
    with pytest.raises(ResetNeeded, match=r"call env\.reset\(\) first"):
        ToyEnv().get_state()


@pytest.mark.parametrize("name", ["ALFWorld", "WebShop", "EnvFactory"])
def test_nothing_can_be_asked_of_an_episode_before_reset(name):
    env = gymnasium.make(f"EnvRL/{name}-v0", disable_env_checker=True).unwrapped
    for ask in (env.describe_state, env.expert_actions, env.get_state, lambda: env.classify_action("look")):
        with pytest.raises(ResetNeeded, match=r"call env\.reset\(\)"):
            ask()


# ---- over-long text ----------------------------------------------------------------------------------------


def test_over_long_text_is_cut_and_said_so():
    env = ToyEnv(max_observation_length=20)
    observation, info = env.reset(options={"task_id": "coin-0"})
    assert observation == START[:20] and info["text_cut"] is True
    observation, _, _, _, info = env.step("look")
    assert observation == "A coin!" and info["text_cut"] is False
    observation, _, _, _, info = env.step("note[" + "\udcff" * 10 + "]")  # "You note: " and ten: just fits
    assert observation == "You note: " + "\udcff" * 10 and info["text_cut"] is False


def test_a_long_action_is_accepted():
    env = ToyEnv(max_action_length=4)
    env.reset()
    assert env.step("note[" + "x" * 100_000 + "]")[4]["action_status"] == "ok"


# ---- snapshots ---------------------------------------------------------------------------------------------


ACTIONS = [*(f"go to {room}" for room in ROOMS), "look", "take coin", "drop coin", "note[x]", "?"]


@given(st.lists(st.sampled_from(ACTIONS)))
def test_a_snapshot_leads_to_the_same_future(actions):
    env = ToyEnv()
    env.reset(options={"task_id": "coin-1"})
    half = len(actions) // 2
    for action in actions[:half]:
        env.step(action)
    state = pickle.loads(pickle.dumps(env.get_state()))
    future = [env.step(action) for action in actions[half:]]
    other = ToyEnv()  # one that was never reset
    for branch in (env, other):
        branch.set_state(state)
        assert [branch.step(action) for action in actions[half:]] == future


def test_a_snapshot_of_the_end_and_of_cut_text():
    env = ToyEnv(max_observation_length=20)
    env.reset(options={"task_id": "coin-0"})
    cut = env.get_state()
    for action in WIN:
        env.step(action)
    ended = env.get_state()
    observation, info = env.set_state(cut)
    assert observation == START[:20] and info["text_cut"] is True and info["action_status"] == "none"
    assert env.step("look")[2] is False
    env.set_state(ended)
    assert env.step("look")[:3] == ("The coin is home.", 0.0, True)


# ---- the rest ----------------------------------------------------------------------------------------------


def test_rendering():
    with pytest.raises(ValueError, match=r"render_mode must be one of \['ansi'\] or None, got 'human'"):
        ToyEnv(render_mode="human")
    env = ToyEnv(render_mode="ansi")
    env.reset(options={"task_id": "coin-0"})
    assert env.render() == START
    env.step("look")
    assert env.render() == "A coin!"
    env = ToyEnv()
    env.reset()
    assert env.render() is None


def test_experts(env):
    assert env.expert_actions() == WIN
    with pytest.raises(NoExpert):
        env.expert_actions(privileged=False)
    with pytest.raises(NoExpert, match="ToyEnv has no privileged expert"):
        TextEnv.expert_actions(env)


def test_an_environment_must_implement_every_hook():
    class Half(TextEnv):
        def task_ids(self):
            return ["a"]

    with pytest.raises(TypeError, match="abstract"):
        Half()
