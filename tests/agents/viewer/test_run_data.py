import json

import pytest

from envrl.agents.metrics import IMITATION_KEYS, MetricsFile
from envrl.agents.statistics import wilson_interval
from envrl.agents.viewer.run_data import MOST_ROWS, columns, read_run
from envrl.envs.errors import DataNotFound, InvalidData

RESULT = {
    "success_rate": 0.5, "n": 4, "successes": 2, "low": 0.15, "high": 0.85, "mean_return": 0.5, "mean_steps": 20.0,
    "faulted": 1, "by_type": {"heat": [2, 3], "cool": [0, 1]}, "outcomes": {},
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    """A run with two checkpoints and three updates."""
    (tmp_path / "config.json").write_text(json.dumps({"env": "Any-v0", "updates": 3}))
    for serial, stage, results in ((1, "imitation", []), (2, "done", [["imitation", RESULT, 700, 9.5]])):
        checkpoint = tmp_path / "checkpoints" / f"{serial}"
        checkpoint.mkdir(parents=True)
        (checkpoint / "state.json").write_text(
            json.dumps({"serial": serial, "stage": stage, "results": results})
        )
    metrics = MetricsFile(tmp_path / "metrics.jsonl")
    for update in (1, 2, 3):
        metrics.append({"update": update, "loss/policy": float("nan"), "loss/kl": 1 / 3, "own/count": update})
    MetricsFile(tmp_path / "imitation.jsonl", IMITATION_KEYS).append({"update": 1, "loss/action": 2.5})
    return tmp_path


def test_a_run_is_read_without_its_model(folder):
    run = read_run(folder)
    assert run.settings == {"env": "Any-v0", "updates": 3}
    assert run.position["stage"] == "done"
    assert [row["loss/action"] for row in run.imitation] == [2.5] and columns(run.imitation)["update"] == [1]
    (evaluation,) = run.evaluations
    assert (evaluation["stage"], evaluation["env_steps"], evaluation["faulted"]) == ("imitation", 700, 1)
    low, high = wilson_interval(2, 3)
    assert evaluation["kinds"][0] == {"kind": "heat", "won": 2, "n": 3, "low": low, "high": high}


def test_columns_hold_numbers_and_leave_out_what_says_nothing(folder):
    found = columns(read_run(folder).metrics)
    assert found["update"] == [1, 2, 3] and found["own/count"] == [1, 2, 3]
    assert found["loss/kl"] == [0.333333] * 3
    assert "loss/policy" not in found and "eval/success_rate" not in found
    assert columns([]) == {}


def test_long_runs_are_thinned_out_to_their_end():
    rows = [{"update": i} for i in range(1, 4 * MOST_ROWS + 2)]
    updates = columns(rows)["update"]
    assert len(updates) <= MOST_ROWS and updates[-1] == 4 * MOST_ROWS + 1
    assert len({b - a for a, b in zip(updates, updates[1:], strict=False)}) == 1  # noqa: RUF007


def test_the_output_of_an_evaluation_is_a_run_without_updates(tmp_path):
    (tmp_path / "evaluation.json").write_text(
        json.dumps({**RESULT, "settings": {"env": "Any-v0", "model": "m"}})
    )
    run = read_run(tmp_path)
    assert (
        run.settings == {"env": "Any-v0", "model": "m"}
        and run.metrics == run.imitation == []
        and run.position == {}
    )
    assert run.evaluations[0]["success_rate"] == 0.5


def test_what_is_no_run_is_told(tmp_path):
    with pytest.raises(DataNotFound, match=r"no run at .*config.json"):
        read_run(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(InvalidData, match=r"config.json is not JSON"):
        read_run(tmp_path)
