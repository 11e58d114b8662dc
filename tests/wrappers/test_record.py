import dataclasses
import functools
import pickle

import gymnasium
import numpy as np
import pytest
from foreign_env import ForeignEnv
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import Autoreset, TimeLimit, TransformObservation
from toy_env import ToyEnv

from envrl.envs.core import StepResult
from envrl.envs.spaces import FreeText
from envrl.wrappers import RecordTransitions, Transition, iter_episodes, read_env_spec, read_transitions

WIN = ["look", "take coin", "drop coin"]  # task coin-0 has its coin in the hall, where it starts


def record(tmp_path, actions, env=None, task="coin-0", **kwargs):
    env = RecordTransitions(env or ToyEnv(), tmp_path, **kwargs)
    env.reset(options={"task_id": task})
    results = [env.step(action) for action in actions]
    env.close()
    return list(read_transitions(tmp_path)), results


def test_an_episode_row_by_row(tmp_path):
    rows, _ = record(tmp_path, ["look", "dance", "take coin", "drop coin"], policy="me", run_id="r1")
    elsewhere = ("go to attic", "go to cellar", "go to müll room", "look")
    keys = [row.state_key for row in rows] + [rows[-1].next_state_key]
    assert len(set(keys)) == 4 and keys[1] == keys[2], "only the dance leaves the state as it is"
    common = {
        "run_id": "r1", "env_id": "toy_env:ToyEnv", "episode_id": rows[0].episode_id, "task_id": "coin-0",
        "split": "train", "goal": "bring the coin to the hall", "policy": "me",
        "extras": {"action_templates": ["note[<text>]"]},
    }  # fmt: skip
    start = "You are in the hall. A coin is hidden somewhere."
    assert rows == [
        Transition(
            **common, step=0, observation=start, action="look", next_observation="A coin!",
            action_status="ok",
            is_success=False, admissible_actions=elsewhere, next_admissible_actions=(*elsewhere, "take coin"),
            state_key=keys[0], next_state_key=keys[1],
        ),
        Transition(
            **common, step=1, observation="A coin!", action="dance", next_observation="What?",
            action_status="malformed", is_success=False, admissible_actions=(*elsewhere, "take coin"),
            next_admissible_actions=(*elsewhere, "take coin"), state_key=keys[1], next_state_key=keys[2],
        ),
        Transition(
            **common, step=2, observation="What?", action="take coin", next_observation="You hold the coin.",
            action_status="ok", is_success=False, admissible_actions=(*elsewhere, "take coin"),
            next_admissible_actions=(*elsewhere, "drop coin"), state_key=keys[2], next_state_key=keys[3],
        ),
        Transition(
            **common, step=3, observation="You hold the coin.", action="drop coin",
            next_observation="The coin is home.", reward=1.0, terminated=True, action_status="ok",
            is_success=True, admissible_actions=(*elsewhere, "drop coin"), next_admissible_actions=elsewhere,
            state_key=keys[3], next_state_key=keys[4],
        ),
    ]  # fmt: skip


def test_the_wrapped_environment_behaves_as_before(tmp_path):
    _, recorded = record(tmp_path, ["look", "dance", *WIN])
    plain = ToyEnv()
    plain.reset(options={"task_id": "coin-0"})
    assert recorded == [plain.step(action) for action in ["look", "dance", *WIN]]
    check_env(RecordTransitions(ToyEnv(), tmp_path).unwrapped, skip_render_check=True)


def test_steps_after_the_end_are_no_transitions(tmp_path):
    rows, _ = record(tmp_path, [*WIN, "look", "look"])
    assert [row.action for row in rows] == WIN


def test_an_abandoned_episode_has_no_end(tmp_path):
    env = RecordTransitions(ToyEnv(), tmp_path)
    for actions in (["look"], WIN, ["look", "look"]):
        env.reset(options={"task_id": "coin-0"})
        for action in actions:
            env.step(action)
    env.close()
    episodes = sorted(iter_episodes(tmp_path), key=lambda rows: rows[0].episode_id)
    assert [[row.step for row in rows] for rows in episodes] == [[0], [0, 1, 2], [0, 1]]
    assert [rows[-1].terminated for rows in episodes] == [False, True, False]
    assert len({rows[0].episode_id for rows in episodes}) == 3


def test_a_time_limit_below_is_recorded(tmp_path):
    rows, _ = record(tmp_path, ["look"] * 5, env=TimeLimit(ToyEnv(), 3))
    assert [(row.terminated, row.truncated) for row in rows] == [
        (False, False),
        (False, False),
        (False, True),
    ]


class FaultyEnv(ToyEnv):
    def _act(self, action):
        return StepResult("lost", fault="server died") if action == "crash" else super()._act(action)


def test_a_fault_is_recorded_and_ends_the_episode(tmp_path):
    rows, _ = record(tmp_path, ["look", "crash", "look"], env=FaultyEnv())
    assert [(row.fault, row.truncated) for row in rows] == [(None, False), ("server died", True)]


def test_text_that_is_not_utf8_and_text_that_was_cut(tmp_path):
    rows, _ = record(
        tmp_path, ["note[\ud83d\x00]", "note[" + "x" * 60 + "]"], env=ToyEnv(max_observation_length=50)
    )
    assert rows[0].action == "note[\ud83d\x00]" and rows[0].next_observation == "You note: \ud83d\x00"
    assert "text_cut" not in rows[0].extras and rows[1].extras["text_cut"] is True


def test_the_split_given_wins_over_that_of_the_environment(tmp_path):
    rows, _ = record(tmp_path / "a", ["look"], env=ToyEnv(split="valid"))
    assert rows[0].split == "valid"
    rows, _ = record(tmp_path / "b", ["look"], env=ToyEnv(split="valid"), split="mine")
    assert rows[0].split == "mine"


# ---- environments of others -------------------------------------------------------------------------------


def test_a_foreign_environment(tmp_path):
    env = RecordTransitions(ForeignEnv(), tmp_path)
    env.reset()
    for action in ("a", "b", "c"):
        env.step(action)
    env.close()
    rows = list(read_transitions(tmp_path))
    nothing = Transition(observation="", action="", next_observation="")
    assert dataclasses.replace(rows[2], run_id="", episode_id="", extras={}) == dataclasses.replace(
        nothing, env_id="foreign_env:ForeignEnv", step=2, observation="1 left", action="c",
        next_observation="0 left", reward=1.0, terminated=True,
    )  # fmt: skip
    # The environment goes on to change its one dict; each row keeps what it was. The engine is no JSON.
    assert [row.extras for row in rows] == [
        {"admissible_commands": [f"say {left}"], "won": left == 0, "score": 3.0 - left, "grid": [0, 1]}
        for left in (2, 1, 0)
    ]


def test_facts_under_other_names(tmp_path):
    names = {"admissible_actions": "admissible_commands", "is_success": "won"}
    env = RecordTransitions(gymnasium.make("Foreign/Countdown-v0", start=2), tmp_path, info_keys=names)
    env.reset()
    env.step("a")
    env.step("b")
    env.close()
    rows = list(read_transitions(tmp_path))
    assert [row.admissible_actions for row in rows] == [("say 2",), ("say 1",)]
    assert [row.next_admissible_actions for row in rows] == [("say 1",), ("say 0",)]
    assert [row.is_success for row in rows] == [False, True]
    assert rows[0].env_id == "Foreign/Countdown-v0" and rows[0].extras == {"score": 1.0, "grid": [0, 1]}


class OtherInfo(gymnasium.Wrapper):
    """Changes what the environment below says."""

    def _change(self, info):
        return {"goal": 7, "legal": np.array(info["admissible_actions"]), "is_success": np.bool_(True)}

    def reset(self, **kwargs):
        observation, info = self.env.reset(**kwargs)
        return observation, self._change(info)

    def step(self, action):
        *answer, info = self.env.step(action)
        return *answer, self._change(info)


def test_facts_that_a_wrapper_changed(tmp_path):
    rows, _ = record(tmp_path / "a", ["look"], env=OtherInfo(ToyEnv()))
    assert (rows[0].goal, rows[0].is_success, rows[0].state_key) == ("7", True, None)
    assert rows[0].admissible_actions is None and rows[0].extras["legal"][-1] == "take coin"
    rows, _ = record(
        tmp_path / "b", ["look"], env=OtherInfo(ToyEnv()), info_keys={"admissible_actions": "legal"}
    )
    assert rows[0].next_admissible_actions[-1] == "take coin"
    rows, _ = record(tmp_path / "c", ["look"], env=ToyEnv(), info_keys={"goal": "task_id", "fault": "none"})
    assert rows[0].goal == "coin-0" and rows[0].state_key is not None


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: gymnasium.make("CartPole-v1"), "observation space .* found Box"),
        (
            lambda: TransformObservation(
                ToyEnv(), lambda text: {"text": text}, gymnasium.spaces.Dict({"text": FreeText()})
            ),
            "observation space .* found Dict",
        ),
        (lambda: SyncVectorEnv([ToyEnv]), "single gymnasium.Env, found SyncVectorEnv"),
    ],
)
def test_what_is_not_text_is_refused(tmp_path, make, what):
    with pytest.raises(TypeError, match=what):
        RecordTransitions(make(), tmp_path)


class OwnSpace(gymnasium.Space):
    """A text space of a third party."""


def test_values_of_unknown_spaces_are_checked_as_they_come(tmp_path):
    env = TransformObservation(ToyEnv(), lambda text: text.encode(), OwnSpace())
    with pytest.raises(TypeError, match="expected the observation to be a str, found bytes"):
        RecordTransitions(env, tmp_path).reset()


def test_an_autoreset_below_is_refused(tmp_path):
    with pytest.raises(ValueError, match="would make resets look like steps"):
        RecordTransitions(TimeLimit(Autoreset(ToyEnv()), 5), tmp_path)
    Autoreset(RecordTransitions(ToyEnv(), tmp_path))


def test_unknown_info_keys_are_refused(tmp_path):
    with pytest.raises(ValueError, match="found 'colour'"):
        RecordTransitions(ToyEnv(), tmp_path, info_keys={"colour": "red"})


# ---- specs, vectors, snapshots ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "store", [lambda spec: pickle.loads(pickle.dumps(spec)), lambda s: EnvSpec.from_json(s.to_json())]
)
def test_a_stored_spec_rebuilds_the_whole_stack(tmp_path, store):
    names = {"is_success": "is_success"}
    made = gymnasium.make("Toy/Coin-v0", tasks=3)
    env = RecordTransitions(made, tmp_path, policy="p", run_id="r", info_keys=names, max_rows=2, split="s")
    env.close()
    again = gymnasium.make(store(env.spec))
    assert isinstance(again, RecordTransitions) and str(again) == str(env)
    again.reset(options={"task_id": "coin-1"})
    again.step("look")
    again.close()
    (row,) = read_transitions(tmp_path)
    assert (row.policy, row.run_id, row.split, row.env_id, row.task_id) == (
        "p",
        "r",
        "s",
        "Toy/Coin-v0",
        "coin-1",
    )
    assert again.unwrapped.tasks == 3


def test_a_recording_knows_the_environment_it_is_of(tmp_path):
    made = gymnasium.make("Toy/Coin-v0", tasks=3)
    record(tmp_path, ["look"], env=made)
    assert read_env_spec(tmp_path) == made.spec
    assert gymnasium.make(read_env_spec(tmp_path)).unwrapped.tasks == 3


def make_recorder(folder):
    return RecordTransitions(gymnasium.make("toy_env:Toy/Coin-v0"), folder, run_id="vector")


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("kind", ["sync", "spawn"])
def test_inside_a_vector_only_real_steps_are_recorded(tmp_path, mode, kind):
    fns = [functools.partial(make_recorder, str(tmp_path))] * 2
    if kind == "sync":
        vector = SyncVectorEnv(fns, autoreset_mode=mode)
    else:
        vector = AsyncVectorEnv(fns, context=kind, autoreset_mode=mode)
    vector.reset(options={"task_id": "coin-0"})
    ends = 0
    for action in [*WIN, "look", "look"]:
        _, _, terminated, _, _ = vector.step((action, "look"))
        ends += int(terminated.sum())
        if mode == AutoresetMode.DISABLED and terminated.any():
            vector.reset(options={"task_id": "coin-0", "reset_mask": np.array(terminated)})
    vector.close()
    assert ends == 1
    episodes = sorted((tuple(row.action for row in rows) for rows in iter_episodes(tmp_path)), key=len)
    # Of five steps NEXT_STEP spends one on the reset, and that one is no transition.
    after = ("look",) if mode == AutoresetMode.NEXT_STEP else ("look", "look")
    assert episodes == [after, tuple(WIN), ("look",) * 5]
    assert {row.run_id for row in read_transitions(tmp_path)} == {"vector"}


def test_going_back_to_a_snapshot_begins_a_new_episode(tmp_path):
    env = RecordTransitions(gymnasium.make("Toy/Coin-v0"), tmp_path)
    env.reset(options={"task_id": "coin-0"})
    env.step("look")
    state = env.get_state()
    env.step("go to attic")
    observation, info = env.set_state(state)
    assert observation == "A coin!" and "take coin" in info["admissible_actions"]
    env.step("take coin")
    env.close()
    first, second = sorted(iter_episodes(tmp_path), key=lambda rows: rows[0].episode_id)
    assert [row.action for row in first] == ["look", "go to attic"]
    (branch,) = second
    assert (branch.step, branch.observation, branch.action) == (0, "A coin!", "take coin")
    assert branch.state_key == first[0].next_state_key
    assert branch.extras["restored"] is True and "restored" not in first[0].extras


def test_nothing_is_recorded_from_a_snapshot_of_an_ended_episode(tmp_path):
    env = RecordTransitions(ToyEnv(), tmp_path)
    env.reset(options={"task_id": "coin-0"})
    for action in WIN:
        env.step(action)
    env.set_state(env.get_state())
    env.step("look")
    env.close()
    assert [row.action for row in read_transitions(tmp_path)] == WIN


def test_a_reset_that_fails_records_nothing_until_the_next(tmp_path):
    env = RecordTransitions(ToyEnv(), tmp_path)
    env.reset(options={"task_id": "coin-0"})
    with pytest.raises(Exception, match="expected a task like"):
        env.reset(options={"task_id": "nonsense"})
    env.step("look")  # of the old episode, which the caller gave up
    env.reset(options={"task_id": "coin-1"})
    env.step("look")
    env.close()
    assert [row.task_id for row in read_transitions(tmp_path)] == ["coin-1"]
