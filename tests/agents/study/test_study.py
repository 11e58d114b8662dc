"""Real studies, small ones."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from rich.console import Console
from small_run import SMALL

from envrl.agents.study.command import study
from envrl.agents.study.config import StudyConfig
from envrl.agents.study.plan import plan
from envrl.agents.study.processes import Job, run_jobs
from envrl.envs.errors import EnvRLError
from envrl.wrappers.recording import iter_episodes

TRAIN = replace(SMALL, sft_episodes=20, sft_updates=6, updates=2, eval_every=1, eval_episodes=6)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Two arms by two seeds, two processes at a time."""
    config = StudyConfig(
        output=tmp_path_factory.mktemp("study") / "s",
        arms=("rl", "placebo"),
        seeds=(0, 1),
        parallel=2,
        train=TRAIN,
    )
    console = Console(record=True, width=200, file=io.StringIO())
    return config, study(config, console), console.export_text()


def test_a_study_leaves_a_report_a_plot_and_all_runs(finished):
    config, results, shown = finished
    assert [arm.arm for arm in results] == ["rl", "placebo"]
    report = json.loads((config.output / "report.json").read_text())
    assert report["missing"] == [] and set(report["arms"]) == {"rl", "placebo"}
    for arm in results:
        assert {run.seed for run in arm.runs} == {0, 1} and arm.tasks == 6
        for run in arm.runs:
            # untrained, imitation, one within reinforcement, its end
            assert len(run.curve) == 4 and run.curve[0].env_steps == 0
            assert run.curve[-1].env_steps == run.env_steps > 0
    assert results[1].difference.by_seed.keys() == {0, 1}
    assert (config.output / "curves.svg").read_text().startswith("<svg")
    text = (config.output / "report.md").read_text()
    assert "| shuffled placebo |" in text and text in shown
    assert "placebo-1: started" in shown


def test_arms_got_their_settings_and_share_demonstrations(finished):
    config, _, _ = finished
    read = {run.name: json.loads((run.folder / "config.json").read_text()) for run in plan(config)}
    assert read["rl-0"]["state_prediction"] == read["rl-0"]["sft_state_prediction"] == 0
    assert read["placebo-1"]["aux_targets"] == "shuffled" and read["placebo-1"]["seed"] == 1
    assert (
        read["rl-0"]["demonstrations"]
        == read["placebo-0"]["demonstrations"]
        != read["rl-1"]["demonstrations"]
    )
    for seed in (0, 1):
        assert len(list(iter_episodes(config.output / "demonstrations" / f"seed-{seed}"))) == 20


def test_a_finished_study_is_not_repeated(finished):
    config, results, _ = finished
    files = {p: p.stat().st_mtime_ns for p in config.output.glob("*/metrics.jsonl")}
    assert len(files) == 4
    console = Console(record=True, width=200, file=io.StringIO())
    assert study(config, console) == results
    assert {p: p.stat().st_mtime_ns for p in config.output.glob("*/metrics.jsonl")} == files
    assert "4 of 4 runs are finished already" in console.export_text()


def test_another_arm_is_added_and_other_settings_are_refused(finished):
    config, _, _ = finished
    wider = replace(config, arms=("rl", "placebo", "id"))
    assert [run.name for run in plan(wider) if not run.finished] == ["id-0", "id-1"]
    with pytest.raises(
        EnvRLError, match=rf"rl-0 was run with other settings \(lr: {TRAIN.lr} then, 0.1 now\)"
    ):
        plan(replace(config, train=replace(TRAIN, lr=0.1)))


def test_an_interrupted_study_goes_on_where_it_was(tmp_path):
    """Ctrl-C stops the runs with checkpoints, and their numbers in the end are those of an uninterrupted study."""
    train = replace(TRAIN, updates=3, eval_every=0, eval_episodes=2, checkpoint_every=1)
    whole = StudyConfig(output=tmp_path / "whole", arms=("envrl",), seeds=(3,), train=train)
    study(whole, Console(file=io.StringIO()))
    stopped = replace(whole, output=tmp_path / "stopped")
    program = (
        "import pickle, sys; from envrl.agents.study.command import study; "
        "study(pickle.loads(bytes.fromhex(sys.argv[1])))"
    )
    import pickle

    words = [sys.executable, "-c", program, pickle.dumps(stopped).hex()]
    process = subprocess.Popen(
        words, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    metrics = stopped.output / "envrl-3" / "metrics.jsonl"
    while process.poll() is None and not metrics.exists():
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait() != 0
    (run,) = plan(stopped)
    log = (stopped.output / "envrl-3.log").read_text()
    assert "interrupted; go on with" in log
    assert not run.finished and run.state is not None
    (arm,) = study(stopped, Console(file=io.StringIO()))
    lost = {"wall_s", "time/rollout_s", "time/update_s"}

    def numbers(folder):
        rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        return [{k: v for k, v in row.items() if k not in lost} for row in rows]

    assert numbers(run.folder) == numbers(whole.output / "envrl-3")
    assert len(arm.runs) == 1


def test_a_run_that_fails_is_named_and_the_others_are_reported(tmp_path):
    train = replace(TRAIN, updates=1, eval_every=0, eval_episodes=2)
    config = StudyConfig(output=tmp_path / "s", arms=("rl", "sp"), seeds=(0,), train=train)
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "sp-0").write_text("in the way")
    with pytest.raises(EnvRLError, match=r"1 of 2 runs failed; see .*sp-0.log"):
        study(config, Console(file=io.StringIO()))
    assert "sp-0" in (tmp_path / "s" / "sp-0.log").read_text()
    report = json.loads((tmp_path / "s" / "report.json").read_text())
    assert report["missing"] == ["sp-0"] and list(report["arms"]) == ["rl"]


@pytest.mark.parametrize(
    "bad", [{"arms": ()}, {"arms": ("rl", "rl")}, {"seeds": ()}, {"parallel": 0}, {"confidence": 1.0}]
)
def test_settings_that_cannot_work_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        StudyConfig(**bad)


# ---- processes --------------------------------------------------------------------------------------------------


def python(name, code, folder):
    return Job(name, [sys.executable, "-c", code], folder / f"{name}.log")


def test_jobs_run_in_order_a_few_at_a_time(tmp_path):
    # each notes when it began and ended, in a clock that all processes share
    code = "import time; print(time.monotonic()); time.sleep(0.3); print(time.monotonic())"
    events = []
    codes = run_jobs(
        [python(str(i), code, tmp_path) for i in range(4)],
        2,
        lambda name: events.append(("started", name)),
        lambda name, code: events.append(("ended", name)),
    )
    assert codes == {"0": 0, "1": 0, "2": 0, "3": 0}
    spans = [tuple(map(float, (tmp_path / f"{i}.log").read_text().split())) for i in range(4)]
    for begin, _ in spans:
        assert sum(b <= begin < e for b, e in spans) <= 2
    assert [name for what, name in events if what == "started"] == ["0", "1", "2", "3"]


def test_exit_codes_and_signals_are_told(tmp_path):
    codes = run_jobs(
        [
            python("five", "import sys; print('why'); sys.exit(5)", tmp_path),
            python("killed", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", tmp_path),
        ],
        1,
    )
    assert codes == {"five": 5, "killed": -signal.SIGKILL}
    assert (tmp_path / "five.log").read_text() == "why\n"


def test_a_run_whose_study_was_killed_stops_by_itself(tmp_path):
    """The parent dies by SIGKILL; the worker notices, writes a checkpoint and ends."""
    config = replace(
        TRAIN, output=tmp_path / "run", resume=True, updates=10_000, eval_every=0, eval_episodes=0
    )
    (tmp_path / "run.json").write_text(config.to_json())
    parent = (
        "import sys; from pathlib import Path; from envrl.agents.study.processes import Job, run_jobs; "
        "run_jobs([Job('run', [sys.executable, '-m', 'envrl.agents.study.worker', sys.argv[1]], Path(sys.argv[2]))], 1)"
    )
    words = [sys.executable, "-c", parent, str(tmp_path / "run.json"), str(tmp_path / "run.log")]
    process = subprocess.Popen(words)
    metrics = tmp_path / "run" / "metrics.jsonl"
    while process.poll() is None and not metrics.exists():
        time.sleep(0.02)
    process.kill()
    process.wait()
    log = tmp_path / "run.log"
    deadline = time.monotonic() + 120
    while "interrupted" not in log.read_text() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert re.search(r"interrupted; go on with", log.read_text())
