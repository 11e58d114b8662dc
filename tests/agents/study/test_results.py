"""Statistics of a study on results made by hand."""

import itertools
import json
import re
from xml.etree import ElementTree

import pytest

from envrl.agents.config import TrainConfig
from envrl.agents.study.config import StudyConfig
from envrl.agents.study.plot import Line, line_plot
from envrl.agents.study.report import to_markdown, to_plot
from envrl.agents.study.results import Point, RunResult, summarize, to_json

CONFIG = StudyConfig(arms=("rl", "envrl"), seeds=(0, 1), train=TrainConfig(eval_episodes=4))


def run(arm, seed, *solved, steps=1000, curve=()):
    outcomes = {f"task {i}": float(s) for i, s in enumerate(solved)}
    return RunResult(arm, seed, outcomes, list(curve), steps, 60.0)


RUNS = [
    run("rl", 0, 1, 0, 0, 0, curve=[Point(100, 0.0), Point(900, 0.25)]),
    run("rl", 1, 1, 1, 0, 0, curve=[Point(100, 0.2), Point(1100, 0.5)]),
    run("envrl", 0, 1, 1, 1, 0, steps=800, curve=[Point(100, 0.1), Point(800, 0.75)]),
    run("envrl", 1, 1, 1, 0, 0, curve=[Point(100, 0.3), Point(1000, 0.5)]),
]


def test_means_differences_and_curves():
    rl, envrl = summarize(CONFIG, RUNS)
    assert (rl.mean, envrl.mean) == (3 / 8, 5 / 8)
    assert rl.low < rl.mean < rl.high
    assert rl.difference is None
    assert envrl.difference.against == "rl"
    assert envrl.difference.mean == 2 / 8
    assert envrl.difference.by_seed == {0: 0.5, 1: 0.0}
    # by seed and task the differences are 0 1 1 0 / 0 0 0 0: never below 0
    assert envrl.difference.low == 0 and 0.5 <= envrl.difference.high <= 1
    assert rl.curve == [Point(100, 0.1), Point(1000, 0.375)]
    assert envrl.curve == [Point(100, 0.2), Point(900, 0.625)]


def test_an_arm_that_solves_the_same_tasks_differs_in_nothing():
    same = [run(arm, seed, 1, 0, 1, 0) for arm in ("rl", "envrl") for seed in (0, 1)]
    _, envrl = summarize(CONFIG, same)
    assert (envrl.difference.low, envrl.difference.mean, envrl.difference.high) == (0, 0, 0)
    assert envrl.low < envrl.mean < envrl.high  # though its own success is uncertain


def test_differences_are_taken_on_seeds_and_tasks_that_both_have():
    faulted = run("envrl", 0, 1, 1, 1, 0)
    faulted.outcomes.pop("task 1")
    odd = [*RUNS[:2], faulted, run("envrl", 5, 1, 1, 1, 1)]
    _, envrl = summarize(CONFIG, odd)
    assert envrl.difference.by_seed == {0: pytest.approx(1 / 3)}  # 1 1 0 less 1 0 0
    assert envrl.tasks == 3
    (rl,) = summarize(CONFIG, RUNS[:2])
    assert rl.arm == "rl"


def test_the_report_says_what_was_measured():
    arms = summarize(CONFIG, RUNS)
    text = to_markdown(CONFIG, arms, ["envrl-2"])
    assert text.startswith("# RL only / EnvRL\n")
    (row,) = re.findall(r"^\| EnvRL \|.*$", text, re.M)
    assert row.startswith("| EnvRL | 62.5% | ")
    assert "| +25.0 points | +0.0 to " in row and row.endswith("| 1 of 2 | 900 | 1.0 |")
    assert "| 0 | 25.0% | 75.0% |" in text
    assert "Not finished: envrl-2." in text
    report = json.loads(to_json(CONFIG, arms, []))
    assert report["arms"]["envrl"]["difference"]["by_seed"] == {"0": 0.5, "1": 0.0}
    assert report["arms"]["rl"]["seeds"]["1"]["success_rate"] == 0.5
    assert report["settings"]["eval_episodes"] == 4


def test_the_plot_is_drawn_where_the_numbers_are():
    svg = ElementTree.fromstring(to_plot(CONFIG, summarize(CONFIG, RUNS)))
    space = "{http://www.w3.org/2000/svg}"
    means = [p for p in svg.iter(f"{space}path") if p.get("class") == "mean"]
    assert len(means) == 2 and len([p for p in svg.iter(f"{space}path") if p.get("class") == "run"]) == 4
    # the axes: 0 at x = 58 and y = 372, the right end (1100 steps) at x = 570, the top (100 %) at y = 44
    (x0, y0), (x1, y1) = (tuple(map(float, p.split())) for p in means[0].get("d")[1:].split("L"))
    assert (x0, y0) == pytest.approx((58 + 512 * 100 / 1100, 372 - 328 * 0.1), abs=0.1)
    assert (x1, y1) == pytest.approx((58 + 512 * 1000 / 1100, 372 - 328 * 0.375), abs=0.1)
    labels = [t.text for t in svg.iter(f"{space}text")]
    assert "RL only 37.5%" in labels and "EnvRL 62.5%" in labels and "1k" in labels


def test_labels_of_a_plot_do_not_cover_each_other_and_text_is_escaped():
    lines = [Line(f"<{i}> & co", [(0, 0.0), (10, 0.001 * i)]) for i in range(5)]
    svg = ElementTree.fromstring(line_plot("a < b", "x & y", lines))
    labels = [t for t in svg.iter() if (t.text or "").startswith("<")]
    heights = sorted(float(t.get("y")) for t in labels)
    assert len(labels) == 5
    assert all(after - before >= 17.9 for before, after in itertools.pairwise(heights))
    assert heights[-1] <= 376
