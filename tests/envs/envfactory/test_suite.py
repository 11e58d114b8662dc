"""The tasks that come with EnvRL: what there is, that each measures what it should, and that they can be made again."""

import json
from collections import Counter
from pathlib import Path

import pytest

from envrl.envs.envfactory.conversation import mentions
from envrl.envs.envfactory.episode import Episode, text_of
from envrl.envs.envfactory.factory.suite import HELD_OUT, suite_stocks, write_suite
from envrl.envs.envfactory.library import SUITES, TaskLibrary, suite_folder
from envrl.envs.envfactory.session import Session
from envrl.envs.envfactory.sources import open_source
from envrl.envs.envfactory.task import METADATA, STATES, TASKS, ReferenceStep, Task
from envrl.envs.envfactory.toolkits import BUILTIN, DOMAINS
from envrl.envs.envfactory.user import ScriptedUser

FOLDER = suite_folder(SUITES[0])
#: tool -> toolkit
OWNERS = {tool: name for name in BUILTIN for tool in open_source(f"builtin:{name}").tools}


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    return list(map(TaskLibrary("builtin", "all", None).task, TaskLibrary("builtin", "all", None).ids))


def test_what_there_is(tasks: list[Task]) -> None:
    assert len(tasks) >= 500
    assert sum((FOLDER / name).stat().st_size for name in (TASKS, STATES, METADATA)) < 3_000_000
    splits = Counter(task.split for task in tasks)
    assert set(splits) == {"train", "held_out"} and splits["held_out"] >= 100
    counts = Counter(len(task.toolkits) for task in tasks)
    assert set(counts) == {1, 2, 3} and counts[2] >= 50 and counts[3] >= 10
    turns = Counter(len(task.turns) for task in tasks)
    assert turns[1] >= 500 and turns[2] + turns[3] >= 100
    assert {DOMAINS[use.name] for task in tasks for use in task.toolkits} == set(DOMAINS.values())
    called = Counter(step.tool for task in tasks for step in task.reference)
    assert all(called[tool] for tool in OWNERS), [tool for tool in OWNERS if not called[tool]]


def test_no_toolkit_is_in_both_splits(tasks: list[Task]) -> None:
    assert set(HELD_OUT) <= set(BUILTIN)
    for task in tasks:
        held_out = {use.name in HELD_OUT for use in task.toolkits}
        assert held_out == {task.split == "held_out"}


def test_values_flow_between_calls_and_between_toolkits(tasks: list[Task]) -> None:
    hidden = [item for task in tasks for item in task.provenance["hidden"]]
    across = [item for item in hidden if OWNERS[item["tool"]] != OWNERS[item["from"]]]
    assert len(hidden) >= 1000 and len(across) >= 50
    assert all(task.licence == "MIT" for task in tasks)


def test_users_say_nothing_that_is_to_be_found_or_told(tasks: list[Task]) -> None:
    for task in tasks:
        for output in task.outputs:
            assert not output.see or not any(mentions(turn.text, output.value) for turn in task.turns), (
                task.id
            )


class _Player:
    def __init__(self) -> None:
        self.library = TaskLibrary("builtin", "all", None)
        self.sessions: dict[tuple[str, str], Session] = {}

    def succeeds(self, task: Task, steps: list[ReferenceStep]) -> bool:
        episode: Episode = self.library.begin(task, self.sessions, ScriptedUser())
        for step in steps:
            if episode.act(text_of(step)).terminated:
                return episode.parts is not None and episode.parts.success
        return False


def test_every_task_measures_what_it_should(tasks: list[Task]) -> None:
    """The reference passes; doing nothing fails; leaving out any one call or question fails, unless it is optional."""
    player = _Player()
    dropped = 0
    for task in tasks:
        steps = list(task.reference)
        assert player.succeeds(task, steps), task.id
        for idle in ("Done.", "What else do you want?"):
            assert not player.succeeds(task, [ReferenceStep(say=idle)] * (2 * len(task.turns) + 1)), task.id
        for index, step in enumerate(steps):
            is_call, is_question = step.tool is not None, (step.say or "").endswith("?")
            if not step.optional and (is_call or is_question):
                rest = steps[:index] + steps[index + 1 :]
                assert not player.succeeds(task, rest), f"{task.id} without step {index}"
                dropped += 1
    assert dropped >= 3 * len(tasks)


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    write_suite(tmp_path, suite_stocks())
    for name in (TASKS, STATES, METADATA):
        made, kept = (tmp_path / name).read_bytes(), (FOLDER / name).read_bytes()
        assert made == kept, f"{name} differs; python -m envrl.envs.envfactory.factory.suite makes it anew"


def test_metadata_counts_what_was_refused() -> None:
    report = json.loads((FOLDER / METADATA).read_text())["report"]
    for split in ("train", "held_out"):
        counts = report[split]
        assert counts["chains tried"] == counts["chains kept"] + sum(counts["chains refused"].values())
        assert counts["chains kept"] == counts["tasks kept"] + sum(counts["tasks refused"].values())
