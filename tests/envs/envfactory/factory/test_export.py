"""What trainers get: files that `datasets` reads as they are, and that lead back to solved tasks."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from envrl.envs.envfactory.env import EnvFactoryEnv
from envrl.envs.envfactory.factory.arena import Stock
from envrl.envs.envfactory.factory.build import make_tasks, split_states, write_tasks
from envrl.envs.envfactory.factory.explore import explore
from envrl.envs.envfactory.factory.export import ALPACA, RL, SFT, actions_of, export_folder
from envrl.envs.envfactory.factory.graph import build_graph
from envrl.envs.envfactory.sources import open_source
from envrl.envs.envfactory.task import METADATA, STATES, TASKS


def make(folder: Path) -> None:
    """A task folder over two toolkits, as the build command writes it."""
    stocks = {}
    for name in ("bank", "tickets"):
        source = open_source(f"builtin:{name}")
        found = explore(source)
        stocks[name] = Stock(source, found, build_graph(source, found))
    plan = split_states(stocks, 40, 0.25, seed=2, licence="CC0-1.0")
    tasks, counts = make_tasks(stocks, plan)
    reports = {name: {"tools": len(s.source.tools), "coverage": {}} for name, s in stocks.items()}
    write_tasks(folder, tasks, stocks, reports, plan, counts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tasks")
    make(path)
    return path


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]


def test_conversations_solve_their_tasks(folder: Path) -> None:
    env = EnvFactoryEnv(tasks=str(folder), split="all")
    conversations = rows(folder, SFT)
    assert [row["task_id"] for row in conversations] == list(env.task_ids())
    for row in conversations:
        observation, info = env.reset(options={"task_id": row["task_id"]})
        assert json.loads(row["tools"]) == info["tools"] and row["messages"][1]["content"] == info["goal"]
        assert observation.startswith(row["messages"][0]["content"].split("\n\n")[0])
        answers = [m["content"] for m in row["messages"][2:] if m["role"] in ("user", "tool")]
        for action in actions_of(row["messages"]):
            observation, reward, terminated, _, info = env.step(action)
            if not terminated:
                assert observation.removeprefix("User: ") == answers.pop(0)
        assert reward == 1.0 and terminated and info["is_success"] and not answers


def test_steps_and_prompts(folder: Path) -> None:
    env = EnvFactoryEnv(tasks=str(folder), split="all")
    steps = rows(folder, ALPACA)
    for task_id in env.task_ids():
        own = [row for row in steps if row["task_id"] == task_id]
        env.reset(options={"task_id": task_id})
        assert [row["output"] for row in own] == env.expert_actions()
        assert own[0]["input"] == "" and all(a["output"] in b["input"] for a, b in pairwise(own))
    for row in rows(folder, RL):
        _, info = env.reset(options={"task_id": row["task_id"]})
        assert [m["role"] for m in row["prompt"]] == ["system", "user"] and row["prompt"][1][
            "content"
        ] == info["goal"]
        assert row["env"] == "EnvRL/EnvFactory-v0" and (json.loads(row["goal"]) or json.loads(row["outputs"]))


def test_every_row_says_where_it_comes_from(folder: Path) -> None:
    for name in (SFT, ALPACA, RL):
        for row in rows(folder, name):
            assert row["licence"] == "CC0-1.0" and row["split"] in ("train", "held_out")
            assert json.loads(row["provenance"])["chain"]


@pytest.mark.parametrize("name", [SFT, ALPACA, RL])
def test_datasets_reads_them(folder: Path, name: str, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="needs the package datasets")
    loaded = datasets.load_dataset(
        "json", data_files=str(folder / name), split="train", cache_dir=str(tmp_path)
    )
    written = rows(folder, name)
    assert len(loaded) == len(written) and list(loaded["task_id"]) == [row["task_id"] for row in written]
    if name == SFT:  # keys that a message does not have come back as None
        assert [actions_of(row["messages"]) for row in loaded] == [
            actions_of(row["messages"]) for row in written
        ]


def test_the_same_seed_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    make(tmp_path)
    for name in (TASKS, STATES, METADATA, SFT, ALPACA, RL):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
    assert export_folder(folder, tmp_path / "again") == 40
    for name in (SFT, ALPACA, RL):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_the_metadata_counts(folder: Path) -> None:
    metadata = json.loads((folder / METADATA).read_text())
    assert metadata["splits"] == {"train": 30, "held_out": 10} and sum(metadata["types"].values()) == 40
    report = metadata["report"]
    assert report["edges"]["bank"]["value"] > 0 and report["train"]["tasks kept"] == 30
    counts = report["train"]
    assert counts["chains tried"] == counts["chains kept"] + sum(counts["chains refused"].values())
    assert counts["chains kept"] == counts["tasks kept"] + sum(counts["tasks refused"].values())
