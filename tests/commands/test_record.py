"""`envrl record` with every scripted policy, on real games."""

import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pexpect
import pytest

from envrl.agents.policies.scripted import RandomPolicy
from envrl.cli import main
from envrl.envs.lookup import make_env
from envrl.envs.webshop.env import WebShopEnv
from envrl.envs.webshop.generator import generate_products
from envrl.envs.webshop.official_writer import write_official
from envrl.wrappers import Transition, iter_episodes


def record(folder: Path, *options: str) -> list[list[Transition]]:
    assert main(["record", "--env", "alfworld", "--output", str(folder), *options]) == 0
    return list(iter_episodes(folder))


def traces(episodes: list[list[Transition]]) -> list[list[tuple[str, str]]]:
    return [[(row.task_id, row.action) for row in episode] for episode in episodes]


@pytest.mark.parametrize("policy", ["expert", "imitable", "explorer", "random"])
def test_every_policy_is_recorded_and_repeats_itself(policy: str, tmp_path: Path) -> None:
    options = ("--policy", policy, "--episodes", "4", "--split", "valid_seen")
    first = record(tmp_path / "a", *options)
    assert len(first) == 4
    assert {(row.policy, row.split, row.env_id) for e in first for row in e} == {
        (policy, "valid_seen", "EnvRL/ALFWorld-v0")
    }
    assert traces(record(tmp_path / "b", *options)) == traces(first)
    assert traces(record(tmp_path / "c", *options, "--seed", "1")) != traces(first)
    # an episode is the same however many are played
    shorter = record(tmp_path / "d", *options[:2], "--episodes", "2", *options[4:])
    assert traces(shorter) == traces(first)[:2]


def test_experts_win_and_the_explorer_strays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for policy in ("expert", "imitable"):
        episodes = record(tmp_path / policy, "--policy", policy, "--episodes", "5")
        assert all(e[-1].is_success and e[-1].terminated for e in episodes)
    summary = capsys.readouterr().out.splitlines()[-1]
    steps = sum(map(len, episodes))
    assert summary.startswith(f"5 episodes, {steps} steps, solved 5/5 (56.6-100.0% with 95% confidence)")
    strayed = record(tmp_path / "explorer", "--policy", "explorer", "--episodes", "5", "--epsilon", "0.5")
    assert sum(map(len, strayed)) > steps


def test_tasks_in_the_order_of_the_split(tmp_path: Path) -> None:
    kwargs = ("--env-kwargs", "split=valid_seen", 'task_types=["look_at_obj_in_light"]')
    episodes = record(tmp_path, "--episodes", "3", "--order", "listed", *kwargs)
    env = make_env("alfworld", {"split": "valid_seen", "task_types": ["look_at_obj_in_light"]})
    assert [e[0].task_id for e in episodes] == list(env.unwrapped.task_ids()[:3])


@pytest.mark.parametrize(
    "options, reason",
    [
        (
            ("--policy", "genius"),
            "expected one of expert, imitable, explorer, random or the path of a trained run; got 'genius'",
        ),
        (("--episodes", "0"), "--episodes must be at least 1"),
        (("--policy", "explorer", "--epsilon", "1.5"), "--epsilon between 0 and 1"),
        (("--env-kwargs", "games=/no/such/folder"), "/no/such/folder"),
    ],
)
def test_refusals(
    options: tuple[str, ...], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["record", "--env", "alfworld", "--output", str(tmp_path / "x"), *options]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("envrl: ") and reason in error


def test_an_environment_without_the_expert_asked_for_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    coin, foreign = "toy_env:Toy/Coin-v0", "foreign_env:Foreign/Countdown-v0"
    for env, policy in [(coin, "imitable"), (coin, "explorer"), (foreign, "expert"), (foreign, "imitable")]:
        assert main(["record", "--env", env, "--output", str(tmp_path), "--policy", policy]) == 2
        error = capsys.readouterr().err.splitlines()[-1]
        assert error.startswith("envrl: ") and ("no imitable expert" in error or "TextEnv" in error)


def test_tasks_that_no_expert_can_win_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = [product for product in generate_products(60, seed=1) if product.instruction][:3]
    # bought, the value is cut to its colour; wanted, it is not
    wanted[1] = replace(wanted[1], options={"color": ("2005black",)})
    write_official(tmp_path / "shop", wanted)
    shop = ["--env", "webshop", "--policy", "expert", "--split", "test", "--order", "listed"]
    shop += ["--env-kwargs", f"catalog={tmp_path / 'shop'}", "--episodes"]
    tasks = len(WebShopEnv(catalog=str(tmp_path / "shop"), split="test").task_ids())
    assert main(["record", *shop, str(tasks), "--output", str(tmp_path / "out")]) == 0
    episodes = list(iter_episodes(tmp_path / "out"))
    assert len(episodes) == tasks - 1 and all(rows[-1].is_success for rows in episodes)
    assert "(1 tasks without a plan of the expert left out)" in capsys.readouterr().out


def test_any_text_environment_can_be_recorded_at_random(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for env in ("toy_env:Toy/Coin-v0", "foreign_env:Foreign/Countdown-v0"):
        folder = tmp_path / env.partition(":")[0]
        assert main(["record", "--env", env, "--output", str(folder), "--episodes", "3"]) == 0
        assert len(list(iter_episodes(folder))) == 3
    toy, foreign = capsys.readouterr().out.splitlines()
    assert "solved" in toy
    assert foreign == f"3 episodes, 9 steps, in {tmp_path / 'foreign_env'}"  # it does not say what success is


def test_open_actions_are_filled_with_words_of_the_goal() -> None:
    policy = RandomPolicy()
    policy.begin(make_env("alfworld", {}), np.random.default_rng(0))
    info = {
        "goal": "buy red shoes",
        "admissible_actions": ("back",),
        "action_templates": ("search[<query>]",),
    }
    seen = Counter(policy.act("", info) for _ in range(200))
    assert seen.pop("back") > 50
    inside = {action.removeprefix("search[").removesuffix("]") for action in seen}
    assert inside == {"buy", "buy red", "buy red shoes", "red", "red shoes", "shoes"}


def test_drawing_by_verb_gives_rare_verbs_their_share() -> None:
    info = {"admissible_actions": (*(f"go to shelf {i}" for i in range(30)), "open box 1")}
    shares = {}
    for by_verb in (False, True):
        policy = RandomPolicy(by_verb)
        policy.begin(make_env("alfworld", {}), np.random.default_rng(0))
        shares[by_verb] = sum(policy.act("", info) == "open box 1" for _ in range(400)) / 400
    assert shares[False] < 0.1 and 0.4 < shares[True] < 0.6


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo terminal")
def test_a_terminal_sees_a_bar_and_a_pipe_sees_lines(tmp_path: Path) -> None:
    words = ["-m", "envrl", "record", "--env", "alfworld", "--episodes", "30", "--output", str(tmp_path)]
    piped = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=300)
    first, last = piped.stderr.splitlines()
    assert first == "recording EnvRL/ALFWorld-v0 (random) ..."
    assert last.startswith("recording EnvRL/ALFWorld-v0 (random): 30 episodes in ")
    child = pexpect.spawn(sys.executable, words, encoding="utf-8", timeout=300, dimensions=(24, 120))
    shown = child.read()
    child.close()
    assert child.exitstatus == 0
    assert "30/30" in shown and "━━━" in shown and "\x1b[" in shown
    assert "30 episodes, 1500 steps, solved " in shown.splitlines()[-1]


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_an_interrupted_recording_keeps_what_was_played(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "envrl", "record", "--env", "alfworld", "--output", str(tmp_path)]
    process = subprocess.Popen([*words, "--episodes", "1000000"], stderr=subprocess.PIPE, text=True)
    while not any(tmp_path.glob("*.parquet")):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130 and err.endswith("envrl: interrupted\n")
    *whole, _ = iter_episodes(tmp_path)
    assert len(whole) > 50 and all(e[-1].truncated or e[-1].terminated for e in whole)
