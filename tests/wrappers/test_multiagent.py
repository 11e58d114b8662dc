"""A task as a conversation between two agents, through PettingZoo's own tests and by hand."""

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import pytest

pytest.importorskip("pettingzoo", reason="needs the extra pettingzoo")

from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test

import envrl  # noqa: F401  (registers the ids)
from envrl.envs.envfactory.actions import write_call
from envrl.envs.envfactory.dialogue import LEAVE
from envrl.envs.envfactory.task import (
    Output,
    ReferenceStep,
    Slot,
    Task,
    ToolkitUse,
    Turn,
    UserCall,
    write_folder,
)
from envrl.wrappers.multiagent import DialogueAEC, DialogueParallel

HOME = {
    "areas": {"HA1": {"area_name": "Study", "floor": 1}},
    "devices": {
        "DV1": {
            "device_name": "study lock", "kind": "lock", "area": "HA1", "setting": 0, "online": False,
        }
    },
    "scenes": {},
    "timers": {},
}  # fmt: skip
SET, RESTART = "set_device", "restart_device"


@pytest.fixture
def home(tmp_path: Path) -> str:
    """A task in which only the user can bring a device back and only the agent can set it."""
    task = Task(
        id="home/1",
        toolkits=(ToolkitUse(name="smart_home", source="builtin:smart_home", state="home-0"),),
        turns=(
            Turn(
                text="Lock DV1.",
                slots=(
                    Slot(
                        name="restart",
                        ask=("restart",),
                        reply="I have restarted it.",
                        calls=(UserCall(tool=RESTART, arguments={"device": "DV1"}),),
                    ),
                ),
            ),
        ),
        user_tools=(RESTART,),
        reference=(
            ReferenceStep(say="Please restart it."),
            ReferenceStep(tool=SET, arguments={"device": "DV1", "setting": 1}),
            ReferenceStep(say="It is locked."),
        ),
        goal=(
            {"path": ("smart_home", "devices", "DV1", "setting"), "op": "set", "value": 1},
            {"path": ("smart_home", "devices", "DV1", "online"), "op": "set", "value": True},
        ),  # type: ignore[arg-type]
    )
    write_folder(tmp_path, [task], {"home-0": ("builtin:smart_home", HOME)}, {})
    return str(tmp_path)


#: (who, action, part of what the one who acts next then sees)
DUAL_CONTROL = [
    ("agent", write_call(RESTART, {"device": "DV1"}), "there is no tool 'restart_device'"),
    ("agent", write_call(SET, {"device": "DV1", "setting": 1}), "device DV1 is offline"),
    ("agent", "Please restart it.", "Please restart it."),
    ("user", write_call(SET, {"device": "DV1", "setting": 1}), "'set_device' is no tool of yours"),
    ("user", '{"name": ', "not valid JSON"),
    ("user", write_call(RESTART, {"device": "DV1"}), '"online":true'),
    ("user", "I have restarted it.", "User: I have restarted it."),
    ("agent", write_call(SET, {"device": "DV1", "setting": 1}), '"setting":1'),
    ("agent", "It is locked.", "It is locked."),
    ("user", LEAVE, "has left"),
]


@pytest.mark.filterwarnings("ignore")
def test_passes_pettingzoos_tests() -> None:
    parallel_api_test(DialogueParallel(split="all", max_steps=25), num_cycles=100)
    api_test(DialogueAEC(split="all", max_steps=25), num_cycles=100)
    parallel_seed_test(lambda: DialogueParallel(split="all", max_steps=15), num_cycles=40)
    seed_test(lambda: DialogueAEC(split="all", max_steps=15), num_cycles=40)


def test_warns_only_of_what_is_no_array() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parallel_api_test(DialogueParallel(split="all", max_steps=10), num_cycles=20)
        api_test(DialogueAEC(split="all", max_steps=10), num_cycles=20)
    messages = {str(warning.message) for warning in caught}
    assert all(
        "NumPy array" in m or "probably should be" in m or "<descriptor>_<number>" in m for m in messages
    )


def test_dual_control_one_at_a_time(home: str) -> None:
    env = DialogueAEC(tasks=home, render_mode="ansi")
    env.reset()
    assert "observation" not in env.observation_space("agent")
    assert [tool["function"]["name"] for tool in env.infos["user"]["tools"]] == [RESTART]
    assert RESTART not in [tool["function"]["name"] for tool in env.infos["agent"]["tools"]]
    assert "Your tools:\nrestart_device(" in env.observe("user")["text"]
    assert "restart: I have restarted it." in env.observe("user")["text"]
    for who, action, expected in DUAL_CONTROL:
        assert env.agent_selection == who
        assert env.observe(who)["on_turn"] == 1
        env.step(action)
        assert expected in env.observe(env.agent_selection)["text"]
    assert env.terminations == {"agent": True, "user": True}
    assert env.rewards == {"agent": 1.0, "user": 1.0}
    assert env.infos["agent"]["is_success"] and env.infos["user"]["reward_parts"]["collateral"] == 0
    rendered = env.render()
    assert rendered is not None and "user> I have restarted it.\nUser: I have restarted it." in rendered
    env.close()


def test_dual_control_in_parallel(home: str) -> None:
    env = DialogueParallel(tasks=home)
    observations, _ = env.reset()
    for number, (who, action, expected) in enumerate(DUAL_CONTROL, 1):
        other = "user" if who == "agent" else "agent"
        assert (observations[who]["on_turn"], observations[other]["on_turn"]) == (1, 0)
        # What the other one says out of turn is not heard.
        observations, rewards, ended, cut, _ = env.step({who: action, other: LEAVE})
        on_turn = next(role for role in observations if observations[role]["on_turn"])
        assert expected in observations[on_turn]["text"]
        assert all(ended.values()) == (number == len(DUAL_CONTROL)) and not any(cut.values())
    assert rewards == {"agent": 1.0, "user": 1.0}
    assert env.agents == []


def test_the_scripted_user_acts_when_asked(home: str) -> None:
    env = gymnasium.make("EnvRL/EnvFactory-v0", tasks=home)
    env.reset()
    plan = env.unwrapped.expert_actions()  # type: ignore[attr-defined]
    seen = [env.step(action) for action in plan]
    assert "User: I have restarted it.\nrestart_device: {" in seen[0][0]
    assert seen[-1][2] and seen[-1][4]["is_success"]


def test_a_user_who_leaves_early_earns_nothing(home: str) -> None:
    env = DialogueParallel(tasks=home, reward="partial")
    env.reset()
    env.step({"agent": "Hello?", "user": ""})
    _, rewards, ended, _, infos = env.step({"agent": "", "user": LEAVE})
    assert rewards == {"agent": 0.0, "user": 0.0} and ended == {"agent": True, "user": True}
    assert infos["agent"]["reward_parts"]["delta_found"] == 0


def _play(env: DialogueAEC, task_id: str, reference: list[str], later: list[str]) -> dict[str, Any]:
    """Play a reference; the user says the later turns, then leaves."""
    env.reset(options={"task_id": task_id})
    later = [*later, LEAVE]
    for action in reference:
        assert env.agent_selection == "agent"
        env.step(action)
        if env.agent_selection == "user":
            env.step(later.pop(0))
    return env.infos["agent"]


def test_it_is_the_same_environment() -> None:
    single = gymnasium.make("EnvRL/EnvFactory-v0", split="all")
    env = DialogueAEC(split="all")
    played = 0
    for task_id in single.unwrapped.task_ids():  # type: ignore[attr-defined]
        task = env._table.library.task(task_id)
        if any(turn.slots for turn in task.turns):
            continue  # the scripted user answers those without going on to the next turn
        single.reset(options={"task_id": task_id})
        plan = single.unwrapped.expert_actions()  # type: ignore[attr-defined]
        info = _play(env, task_id, plan, [turn.text for turn in task.turns[1:]])
        assert info["is_success"], task_id
        played += 1
        if played == 25:
            break
    assert played >= 1
    env.close()


def test_says_what_is_missing_without_the_extra() -> None:
    code = "import sys; sys.modules['pettingzoo'] = None\nimport envrl.wrappers.multiagent"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingExtra: envrl.wrappers.multiagent needs pettingzoo" in done.stderr
    assert "pip install 'envrl[pettingzoo]'" in done.stderr


def test_output_values_must_be_told_by_the_agent_itself(tmp_path: Path) -> None:
    task = Task(
        id="home/2",
        toolkits=(ToolkitUse(name="smart_home", source="builtin:smart_home", state="home-0"),),
        turns=(Turn(text="On which floor is the study?"),),
        outputs=(Output(value="HA1"),),
    )
    write_folder(tmp_path, [task], {"home-0": ("builtin:smart_home", HOME)}, {})
    env = DialogueAEC(tasks=str(tmp_path))
    for actions, success in (
        (["It is HA1.", LEAVE], False),  # a guess
        (
            [write_call("find_area", {"area_name": "Study"}), "Done.", "So it is HA1.", LEAVE],
            False,
        ),  # the user says it
        ([write_call("find_area", {"area_name": "Study"}), "It is HA1.", LEAVE], True),
    ):
        env.reset()
        turns = list(actions)
        while turns and env.agents and not env.terminations["agent"]:
            action = turns.pop(0)
            if env.agent_selection == "agent" and action == LEAVE:
                env.step("Anything else?")
            env.step(action)
        assert env.infos["agent"]["is_success"] is success, json.dumps(actions)
