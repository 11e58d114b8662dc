"""Rollouts through Ray actors give the numbers of rollouts in the process."""

import json
from dataclasses import astuple, replace
from pathlib import Path

import pytest
from faulty_env import drawn_fault
from small_run import SMALL

from envrl.agents.checkpoint import model_folder
from envrl.agents.config import TrainConfig
from envrl.agents.demonstrate import record_demonstrations
from envrl.agents.eval_command import evaluate
from envrl.agents.eval_config import EvalConfig
from envrl.agents.models import TinyConfig, build_tiny
from envrl.agents.policies.constrained import ConstrainedPolicy
from envrl.agents.policies.scripted import RandomPolicy
from envrl.agents.pool import LocalPool, RayPool
from envrl.agents.rollout import Task, rollout
from envrl.agents.tagged_format import TaggedFormat
from envrl.agents.tasks import make_envs, make_pool
from envrl.agents.trainer import train
from envrl.envs.errors import InvalidTask
from envrl.wrappers.recording import read_transitions

TEXTS = ["You are in the hall. A coin is hidden somewhere.", "go to attic", "look", "take coin"] * 20
TIMES = {"wall_s", "time/rollout_s", "time/update_s"}

pytestmark = pytest.mark.usefixtures("ray_instance")


@pytest.fixture(scope="module")
def policy():
    sizes = TinyConfig(hidden_size=32, layers=1, intermediate_size=32, initializer_range=0.3)
    lm = build_tiny(TEXTS, sizes, seed=1)
    return ConstrainedPolicy(lm, TaggedFormat(lm), longest=4)


@pytest.fixture
def pool(request):
    """Makes pools that are closed after the test."""

    def make(workers, count, kwargs):
        made = make_pool(workers, "Test/Faulty-v0", count, None, kwargs)
        request.addfinalizer(made.close)
        return made

    return make


def play(policy, pool, count, timeout=0.0):
    return rollout(pool, [Task(f"coin-{i}", i // 2) for i in range(count)], policy, (7,), timeout=timeout)


def test_episodes_are_those_of_the_process_faults_included(policy, pool):
    share = 0.3
    local = play(policy, pool("local", 12, {"share": share}), 60)
    through_ray = play(policy, pool("ray:2", 12, {"share": share}), 60)
    faulted = sum(e.fault is not None for e in local)
    assert 0 < faulted <= sum(bool(drawn_fault(f"coin-{i}", share)[1]) for i in range(60))
    for one, other in zip(local, through_ray, strict=True):
        assert (one.task_id, one.group, one.fault) == (other.task_id, other.group, other.fault)
        assert one.transitions == other.transitions
        assert [astuple(s) for s in one.sequences] == [astuple(s) for s in other.sequences]


def test_an_actor_that_dies_costs_the_episodes_in_it(policy, pool):
    count = 24
    sound = play(policy, pool("local", 6, {}), count)
    # of 3 actors with 2 environments each, that of coin-9 (the second wave's fourth) is the second one
    died = play(policy, pool("ray:3", 6, {"faults": {"coin-9": (1, "exit")}}), count)
    lost = {e.task_id: e for e in died if e.fault is not None}
    assert set(lost) <= {"coin-8", "coin-9"} and "coin-9" in lost
    for episode in lost.values():
        assert episode.fault.startswith("step: the Ray actor died")
        last = episode.transitions[-1]
        assert (last.fault, last.truncated, last.reward) == (episode.fault, True, 0.0)
    for before, after in zip(sound, died, strict=True):
        if after.fault is None:
            assert [replace(t, extras={}) for t in after.transitions] == [
                replace(t, extras={}) for t in before.transitions
            ]


def test_an_environment_that_hangs_costs_its_episode(policy, pool):
    episodes = play(policy, pool("ray:2", 3, {"faults": {"coin-1": (1, "loop")}}), 3, timeout=0.3)
    assert [e.fault for e in episodes] == [None, "step: TimedOut: no answer within 0.3 s", None]


def test_a_task_that_does_not_exist_ends_the_rollout(policy, pool):
    with pytest.raises(InvalidTask):
        rollout(pool("ray:1", 1, {}), [Task("penny-1", 0)], policy, (0,))


def test_environments_are_spread_evenly_over_no_more_actors_than_there_are_environments(pool):
    made = pool("ray:8", 3, {})
    assert isinstance(made, RayPool) and len(made) == 3 and made.env_id(2) == "Test/Faulty-v0"
    assert len(made._vector._actors.actors) == 3
    assert isinstance(pool("local", 3, {}), LocalPool)


def test_others_are_made_like_one_that_can_be_made_again():
    from faulty_env import FaultyEnv

    with pytest.raises(ValueError, match="found faulty_env:FaultyEnv without a spec"):
        RayPool(FaultyEnv(), 2, 1)


@pytest.mark.parametrize("workers", ["", "ray", "ray:", "ray:0", "ray:-1", "ray:two", "Ray:2", "dask:2"])
def test_other_workers_are_refused(workers):
    with pytest.raises(ValueError, match="rollout_workers must be 'local' or 'ray:N'"):
        TrainConfig(rollout_workers=workers)
    with pytest.raises(ValueError, match="rollout_workers"):
        evaluate(EvalConfig(rollout_workers=workers))


def metrics(folder: Path) -> list[dict]:
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in row.items() if k not in TIMES} for row in rows]


def steps(folder: Path) -> list:
    rows = sorted(read_transitions(folder), key=lambda t: (t.episode_id, t.step))
    return [replace(row, run_id="", episode_id=row.episode_id.partition("/")[2]) for row in rows]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The same run twice: in the process and through Ray; with its results."""
    folder = tmp_path_factory.mktemp("runs")
    config = replace(SMALL, sft_updates=40, updates=2, eval_every=1)
    results = {
        workers: train(replace(config, output=folder / name, rollout_workers=workers))
        for workers, name in (("local", "local"), ("ray:2", "ray"))
    }
    return folder, results


def test_training_gives_the_same_numbers(trained):
    folder, results = trained
    assert results["local"] == results["ray:2"] and list(results["local"]) == [
        "untrained",
        "imitation",
        "reinforcement",
    ]
    assert metrics(folder / "local") == metrics(folder / "ray")
    assert any(row["grad/policy"] > 0 for row in metrics(folder / "ray"))
    assert steps(folder / "local" / "transitions") == steps(folder / "ray" / "transitions") != []
    weights = [(model_folder(folder / name) / "model.safetensors").read_bytes() for name in ("local", "ray")]
    assert weights[0] == weights[1]


def test_so_does_an_evaluation(trained):
    folder, _ = trained
    config = EvalConfig(model=folder / "ray", episodes=6, batch=4, env_kwargs=SMALL.env_kwargs)
    assert evaluate(config) == evaluate(replace(config, rollout_workers="ray:2"))


def test_a_run_may_go_on_elsewhere(trained):
    folder, results = trained
    config = replace(SMALL, sft_updates=40, updates=2, eval_every=1, output=folder / "ray", resume=True)
    assert train(config) == results["local"]


def test_training_goes_on_when_actors_die(tmp_path):
    (sound,) = make_envs("Toy/Coin-v0", 1, None, {})
    record_demonstrations(sound, tmp_path / "played", RandomPolicy(), 20, 0, label="random", split="train")
    config = replace(
        SMALL,
        env="Test/Faulty-v0",
        env_kwargs={"faults": {f"coin-{i}": (1, "exit") for i in range(0, 8, 4)}},
        output=tmp_path / "run",
        demonstrations=tmp_path / "played",
        sft_updates=0,
        updates=2,
        eval_every=0,
        eval_episodes=0,
        groups=4,
        group_size=2,
        rollout_workers="ray:4",
    )
    train(config)
    counted = [row["rollout/faulted"] for row in metrics(config.output)]
    recorded = list(read_transitions(config.output / "transitions"))
    assert sum(counted) == sum(t.fault is not None for t in recorded) > 0
    assert len({t.episode_id for t in recorded}) == 2 * 8
