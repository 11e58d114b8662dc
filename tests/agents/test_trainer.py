import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from small_run import SMALL

from envrl.agents import checkpoint
from envrl.agents.config import TrainConfig
from envrl.agents.metrics import IMITATION_KEYS, KEYS
from envrl.agents.run_folder import RunFolder
from envrl.agents.trainer import train
from envrl.envs.errors import DataNotFound, EnvRLError
from envrl.wrappers.recording import iter_episodes, read_transitions

TIMES = {"wall_s", "time/rollout_s", "time/update_s"}


def metrics(folder: Path, file: str = "metrics.jsonl") -> list[dict]:
    rows = [json.loads(line) for line in (folder / file).read_text().splitlines()]
    return [{k: v for k, v in row.items() if k not in TIMES} for row in rows]


def weights(folder: Path) -> bytes:
    last = checkpoint.newest(folder / "checkpoints")
    assert last is not None
    return (last / "model" / "model.safetensors").read_bytes()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """An uninterrupted run and its results."""
    config = replace(SMALL, output=tmp_path_factory.mktemp("run") / "whole")
    return config, train(config)


def test_a_run_leaves_what_it_promises(finished):
    config, results = finished
    assert list(results) == ["untrained", "imitation", "reinforcement"]
    rows = [json.loads(line) for line in (config.output / "metrics.jsonl").read_text().splitlines()]
    assert [row["update"] for row in rows] == [1, 2, 3, 4, 5]
    for row in rows:
        assert set(KEYS) <= set(row)
        assert row["loss/state_prediction"] > 0
        assert row["loss/inverse_dynamics"] > 0
        assert (row["eval/success_rate"] is not None) == (row["update"] in (2, 4))
    assert rows[0]["aux/lambda"] == pytest.approx(0.2)
    assert rows[-1]["aux/lambda"] < rows[0]["aux/lambda"]
    imitation = metrics(config.output, "imitation.jsonl")
    assert [row["update"] for row in imitation] == list(range(1, config.sft_updates + 1))
    assert imitation[-1]["loss/action"] < imitation[0]["loss/action"]
    assert all(set(row) | TIMES >= set(IMITATION_KEYS) for row in imitation)
    written = json.loads((config.output / "config.json").read_text())
    assert written["seed"] == 0 and written["algorithm"] == "gigpo"
    steps = list(read_transitions(config.output / "transitions"))
    demonstrated = sum(1 for _ in read_transitions(config.output / "demonstrations"))
    assert len(steps) + demonstrated == rows[-1]["env_steps"]
    assert len(list(iter_episodes(config.output / "transitions"))) == 5 * 8
    for result in results.values():
        assert result.n == 4 and result.faulted == 0 and len(result.outcomes) == 4


def test_the_same_settings_give_the_same_numbers(finished, tmp_path):
    config, results = finished
    again = train(replace(config, output=tmp_path / "again"))
    assert again == results
    assert metrics(tmp_path / "again") == metrics(config.output)
    assert weights(tmp_path / "again") == weights(config.output)


def test_something_was_learned_from(finished):
    """The small run is one in which advantages were not all zero, or the tests here would show little."""
    assert any(row["grad/policy"] > 0 for row in metrics(finished[0].output))


def command(config: TrainConfig) -> list[str]:
    program = (
        "import pickle, sys; from pathlib import Path; from envrl.agents.trainer import train; "
        "train(pickle.loads(bytes.fromhex(sys.argv[1])))"
    )
    import pickle

    return [sys.executable, "-c", program, pickle.dumps(config).hex()]


def test_killed_three_times_and_resumed_equals_uninterrupted(finished, tmp_path):
    whole, results = finished
    config = replace(whole, output=tmp_path / "killed", resume=True)
    rng = random.Random(0)
    kills = 0
    for _ in range(3):
        process = subprocess.Popen(command(config), start_new_session=True, stdout=subprocess.DEVNULL)
        # let it get somewhere new, then strike at an arbitrary moment
        before = checkpoint.newest(config.output / "checkpoints")
        while process.poll() is None and checkpoint.newest(config.output / "checkpoints") == before:
            time.sleep(0.02)
        time.sleep(rng.random() * 0.8)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            kills += 1
        process.wait()
        for shard in (config.output / "transitions").glob("*.parquet"):
            list(read_transitions(shard))
    assert kills >= 1
    subprocess.run(command(config), check=True, stdout=subprocess.DEVNULL)
    for file in ("metrics.jsonl", "imitation.jsonl"):
        assert metrics(config.output, file) == metrics(whole.output, file)
    assert weights(config.output) == weights(whole.output)
    assert [(t.episode_id, t.step, t.action) for t in sorted_rows(config.output)] == [
        (t.episode_id.replace("whole", "killed"), t.step, t.action) for t in sorted_rows(whole.output)
    ]
    assert train(config).keys() == results.keys()


def sorted_rows(folder: Path) -> list:
    return sorted(read_transitions(folder / "transitions"), key=lambda t: (t.episode_id, t.step))


def test_ctrl_c_writes_a_checkpoint_and_the_run_goes_on(finished, tmp_path):
    whole, _ = finished
    config = replace(whole, output=tmp_path / "stopped", resume=True, checkpoint_every=1000)
    process = subprocess.Popen(
        command(config), start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    while not (config.output / "metrics.jsonl").exists() and process.poll() is None:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode != 0 and "Interrupted" in errors
    last = checkpoint.newest(config.output / "checkpoints")
    assert last is not None and checkpoint.load_state(last)["update"] == len(metrics(config.output))
    train(config)
    assert metrics(config.output) == metrics(whole.output)


def test_a_recording_that_is_not_there_is_told_before_anything_is_made(finished, tmp_path):
    config = replace(finished[0], output=tmp_path / "run", transitions=tmp_path / "none")
    with pytest.raises(DataNotFound, match="none"):
        train(config)
    assert not config.output.exists()


def test_objectives_off_is_reinforcement_alone(finished, tmp_path):
    off = {"state_prediction": 0.0, "inverse_dynamics": 0.0}
    config = replace(finished[0], output=tmp_path / "off", **off)
    train(config)
    rows = metrics(config.output)
    assert all("grad/objectives" not in row and row["loss/state_prediction"] is None for row in rows)
    # the first rollout comes from the same imitation stage and seeds
    assert rows[0]["train/return"] == metrics(finished[0].output)[0]["train/return"]


def test_shuffled_targets_reach_both_stages(finished, tmp_path):
    config = replace(finished[0], output=tmp_path / "placebo", aux_targets="shuffled")
    train(config)
    first, placebo = metrics(finished[0].output)[0], metrics(config.output)[0]
    for loss in ("loss/state_prediction", "loss/inverse_dynamics"):
        assert placebo[loss] != first[loss]


def test_recorded_transitions_feed_the_objectives(finished, tmp_path):
    whole = finished[0]
    config = replace(
        whole, output=tmp_path / "mixed", transitions=whole.output / "demonstrations", transitions_share=1.0
    )
    train(config)
    assert metrics(config.output)[0]["loss/policy"] == metrics(whole.output)[0]["loss/policy"]
    assert (
        metrics(config.output)[0]["loss/state_prediction"]
        != metrics(whole.output)[0]["loss/state_prediction"]
    )


def test_init_takes_a_run(finished, tmp_path):
    config = replace(
        finished[0],
        output=tmp_path / "more",
        init=finished[0].output,
        sft_episodes=0,
        updates=0,
        eval_every=0,
    )
    assert train(config)["untrained"] == finished[1]["reinforcement"]


def test_an_existing_run_is_not_overwritten(finished):
    with pytest.raises(EnvRLError, match="--resume"):
        train(finished[0])


def test_resuming_with_other_settings_says_which(finished):
    with pytest.raises(EnvRLError, match=r"lr: 0\.0003 then, 0\.1 now"):
        train(replace(finished[0], resume=True, lr=0.1))


def test_a_run_without_a_checkpoint_starts_again_with_its_own_settings(tmp_path):
    """It was killed in the supervised stage; what it wrote before is not there twice."""
    config = replace(SMALL, output=tmp_path / "run", resume=True, sft_episodes=20, sft_updates=3)
    config = replace(config, updates=0, eval_episodes=0, checkpoint_every=1000)
    folder = RunFolder(config)
    assert folder.open(writes=True) is None
    for update in (1, 2):
        folder.imitation_metrics.append({"update": update})
    with pytest.raises(EnvRLError, match="sft_episodes: 20 then, 30 now"):
        train(replace(config, sft_episodes=30))
    train(config)
    assert [row["update"] for row in metrics(config.output, "imitation.jsonl")] == [1, 2, 3]


@pytest.mark.parametrize(
    "bad",
    [
        {"group_size": 1},
        {"groups": 0},
        {"state_prediction": -1.0},
        {"temperature": 0.0},
        {"keep_checkpoints": 0},
        {"max_response_tokens": 0},
        {"eval_episodes": -1},
        {"history": -1},
        {"temperature": 0.7, "policy": "endpoint"},
    ],
)
def test_settings_that_cannot_work_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        TrainConfig(**bad)
