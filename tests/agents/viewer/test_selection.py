from dataclasses import replace

import pytest

from envrl.agents.viewer.selection import Outline, choose, outlines, read_episodes
from envrl.envs.errors import DataNotFound
from envrl.wrappers.shards import ShardWriter
from envrl.wrappers.transition import Transition


def episode(name, task, *, steps=3, success=False, fault=None):
    row = Transition(observation="o", action="a", next_observation="p", episode_id=name, task_id=task)
    rows = [replace(row, step=i, action=f"{name} {i}", is_success=False) for i in range(steps)]
    rows[-1] = replace(rows[-1], is_success=success, terminated=success, truncated=not success, fault=fault)
    return rows


@pytest.fixture
def recording(tmp_path):
    """Six episodes, two of them interleaved, in two files."""
    runs = [
        episode("r-0/update-0/0", "heat/1"),
        episode("r-0/update-0/1", "cool/1", success=True),
        episode("r-0/update-1/0", "heat/2", fault="the server died"),
        episode("r-0/update-1/1", "cool/2", success=True),
    ]
    last = [episode("r-0/update-9/0", "heat/3"), episode("r-0/update-9/1", "heat/3", success=True)]
    with ShardWriter(tmp_path) as writer:
        for rows in runs:
            writer.extend(rows)
        writer.flush()
        for pair in zip(*last, strict=True):
            writer.extend(pair)
    return tmp_path


def test_outlines_say_what_became_of_each_episode(recording):
    found = outlines(recording)
    assert [(o.episode_id[-3:], o.task_id, o.update, o.outcome) for o in found] == [
        ("0/0", "heat/1", 1, "failed"),
        ("0/1", "cool/1", 1, "solved"),
        ("1/0", "heat/2", 2, "faulted"),
        ("1/1", "cool/2", 2, "solved"),
        ("9/0", "heat/3", 10, "failed"),
        ("9/1", "heat/3", 10, "solved"),
    ]


def test_a_handful_has_every_outcome_and_kind_newest_first(recording):
    found = outlines(recording)
    kind = lambda task: task.split("/")[0]  # noqa: E731
    assert [o.episode_id[-3:] for o in choose(found, 4, kind)] == ["1/0", "1/1", "9/0", "9/1"]
    assert choose(found, 100, kind) == found
    assert choose(found, 0, kind) == []
    assert [o.episode_id[-3:] for o in choose(found, 9, kind, updates=[2])] == ["1/0", "1/1"]


def test_outcomes_take_turns(recording):
    many = [Outline(str(i), "t", i, success=i % 10 == 0, faulted=False) for i in range(1, 41)]
    picked = choose(many, 4)
    assert [o.episode_id for o in picked] == ["30", "38", "39", "40"]
    assert [o.outcome for o in picked] == ["solved", "failed", "failed", "solved"]


def test_rows_of_chosen_episodes_come_in_order(recording):
    found = outlines(recording)
    rows = read_episodes(recording, [found[5], found[0]])
    assert [[r.action for r in steps] for steps in rows] == [
        [f"r-0/update-9/1 {i}" for i in range(3)],
        [f"r-0/update-0/0 {i}" for i in range(3)],
    ]


def test_no_recording_is_told(tmp_path):
    with pytest.raises(DataNotFound):
        outlines(tmp_path / "none")
