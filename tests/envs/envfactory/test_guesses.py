"""Ids that nobody can know do not count as found once they were put into a call."""

import json
from pathlib import Path

import gymnasium
import pytest

import envrl  # noqa: F401  (registers the ids)
from envrl.envs.envfactory.actions import write_call
from envrl.envs.envfactory.conversation import Conversation, see, use
from envrl.envs.envfactory.task import Output, Task, ToolkitUse, Turn, write_folder

HOME = {
    "areas": {"HA123": {"area_name": "Study", "floor": 1}},
    "devices": {"DV456": {"device_name": "study light", "kind": "light", "area": "HA123", "setting": 10}},
    "scenes": {},
    "timers": {},
}
LOOK_UP = write_call("find_area", {"area_name": "Study"})
LIST = write_call("list_devices", {"area": "HA123"})
SET = write_call("set_device", {"device": "DV456", "setting": 30})


def _task(unused: bool) -> Task:
    goal = {"path": ("smart_home", "devices", "DV456", "setting"), "op": "set", "value": 30}
    return Task.model_validate(
        {
            "id": "home/1",
            "toolkits": (ToolkitUse(name="smart_home", source="builtin:smart_home", state="home-0"),),
            "turns": (Turn(text="Set the study light to 30."),),
            "goal": (goal,),
            "outputs": [Output(value=v, say=False, unused=unused) for v in ("HA123", "DV456")],
        }
    )


@pytest.mark.parametrize(
    ("unused", "calls", "success"),
    [
        (True, [LOOK_UP, LIST, SET], True),
        (True, [LIST, SET], False),  # set_device shows the area, too late
        (False, [LIST, SET], True),
        (True, [LIST, LOOK_UP, LIST, SET], False),
        (True, [write_call("list_devices", {"area": "HA999"}), LOOK_UP, LIST, SET], True),
        (True, [f"[{LOOK_UP}, {LIST}, {SET}]"], True),
    ],
)
def test_a_guess_is_no_find(tmp_path: Path, unused: bool, calls: list[str], success: bool) -> None:
    write_folder(tmp_path, [_task(unused)], {"home-0": ("builtin:smart_home", HOME)}, {})
    env = gymnasium.make("EnvRL/EnvFactory-v0", tasks=str(tmp_path))
    _, info = env.reset()
    keys = {info["state_key"]}
    for call in [*calls, "Done."]:
        _, reward, terminated, _, info = env.step(call)
        keys.add(info["state_key"])
    assert terminated and info["is_success"] is success and reward == float(success)
    assert len(keys) >= 3


def test_what_was_seen_can_be_used() -> None:
    task = _task(True)
    guessed = use(task, Conversation(), {"area": "HA123"})
    assert (guessed.guessed, guessed.seen) == (0b01, 0)
    assert see(task, guessed, json.dumps({"area": "HA123", "device": "DV456"})).seen == 0b10
    seen = see(task, Conversation(), "It is in HA123.")
    assert use(task, seen, {"area": "HA123"}) == seen
    assert use(task, seen, {"areas": ["HA123", "DV456"]}).guessed == 0b10
