import functools
import subprocess
import sys
import textwrap
from pathlib import Path

import broken_envs
import gymnasium
import pytest
from toy_env import ToyEnv

from envrl.envs.conformance.walks import first_difference, near_misses, walk, walk_in_process
from envrl.envs.testing import CHECKS, Conformance, check_text_env

ROOT = Path(__file__).resolve().parents[2]


def test_a_good_environment_passes_every_check():
    report = check_text_env(ToyEnv, vectors="full")
    assert report == Conformance(tuple(CHECKS), {})
    assert str(report) == "passed: " + ", ".join(CHECKS)


def test_a_registered_environment_passes_with_its_wrappers():
    report = check_text_env("Toy/Coin-v0", kwargs={"tasks": 3}, vectors="quick")
    assert report.passed == tuple(CHECKS)


#: fault -> (the check that finds it, words of its message)
FAULTS = {
    broken_envs.NoGoal: ("info", r"keys of info.*no \['goal'\]"),
    broken_envs.ListOfActions: ("info", "expected a tuple of str, found \\['go to"),
    broken_envs.NumberForSuccess: ("info", "'is_success'.*expected a bool, found 0"),
    broken_envs.OwnStatus: ("info", "'action_status'.*found fine, after the actions"),
    broken_envs.StatusAfterReset: ("info", "after reset: expected none, found ok"),
    broken_envs.NanReward: ("info", "reward: expected a finite number, found nan"),
    broken_envs.OwnTimeLimit: ("info", "truncated: expected True iff there is a fault"),
    broken_envs.LongText: ("info", r"observation: expected a member of FreeText\(8192"),
    broken_envs.UnseededReset: ("gymnasium", "check_env: expected no exception, found AssertionError"),
    broken_envs.WhateverTask: ("tasks", "expected InvalidTask, found none"),
    broken_envs.DeafToTask: ("tasks", "reset to task 'coin-4': expected coin-4, found coin-0"),
    broken_envs.LeftOver: (
        "tasks",
        r"'coin-\d' begun again in the same environment, at \[1\]\['state_key'\]",
    ),
    broken_envs.HalfReset: ("tasks", "running task after a reset that was refused"),
    broken_envs.LooseOptions: ("tasks", "expected ValueError, found none"),
    broken_envs.OneTask: ("seeds", "tasks of 32 seeds: expected several"),
    broken_envs.GlobalDraw: ("seeds", r"walk of seed \d+ again|global random generators: expected untouched"),
    broken_envs.GlobalSeeding: ("seeds", "global random generators: expected untouched"),
    broken_envs.CountsInstances: ("seeds", "again in another environment, at .*observation"),
    broken_envs.Amnesia: ("snapshots", r"set_state, at \[1\]\['state_key'\]"),
    broken_envs.SharedSnapshot: ("snapshots", "set_state, at"),
    broken_envs.StuckSnapshot: ("snapshots", "pickling a snapshot: expected no exception"),
    broken_envs.LostObservation: ("snapshots", "set_state, at .*found You are back"),
    broken_envs.AsciiOnly: ("actions", "step.*expected no exception, found UnicodeEncodeError"),
    broken_envs.NoSurrogates: (
        "actions",
        r"step\('\\ud800'\): expected no exception, found UnicodeEncodeError",
    ),
    broken_envs.NoEmptyText: ("actions", r"step\(''\): expected no exception, found IndexError"),
    broken_envs.RecursiveParser: ("actions", "expected no exception, found RecursionError"),
    broken_envs.MalformedMoves: ("actions", "state_key after .*, which is malformed: expected the same"),
    broken_envs.MalformedPays: ("actions", "which is malformed: expected reward 0, found"),
    broken_envs.OtherStatus: ("actions", "status of .* expected inadmissible, found malformed"),
    broken_envs.OtherMessage: ("actions", "foretold by classify_action: expected You cannot"),
    broken_envs.ClassifyMoves: ("actions", "state_key after classify_action"),
    broken_envs.ClassifyRaises: ("actions", r"classify_action\('\\ud800'\): expected no exception"),
    broken_envs.FalsePromise: ("admissible", "admissible action 'sing': expected ok, found malformed"),
    broken_envs.Twice: ("admissible", r"each action once, found \['look'\] twice"),
    broken_envs.BlindKey: ("state_keys", "states with one state_key"),
    broken_envs.CountingKey: ("actions", "state_key after"),
    broken_envs.StepsOn: ("end", "the step '' after the end, at"),
    broken_envs.PaysAgain: ("end", r"after the end, at \[1\]: expected 0.0, found 1.0"),
    broken_envs.EndOutlivesReset: ("end", "terminated after a reset: expected False, found True"),
    broken_envs.PoorExpert: ("experts", "end of the privileged plan: expected terminated and is_success"),
    broken_envs.TalkativeExpert: ("experts", "imitable expert: expected its next action"),
    broken_envs.HashOrder: ("processes", "PYTHONHASHSEED=1, at"),
    broken_envs.HashKey: ("processes", r"PYTHONHASHSEED=1, at .*state_key"),
    broken_envs.ClassState: ("vectors", r"a SyncVectorEnv \(NextStep\)"),
    broken_envs.OwnSpace: ("vectors", r"building a SyncVectorEnv \(NextStep\): .*not equivalent"),
    broken_envs.ArrayInfo: ("vectors", r"SyncVectorEnv.*ValueError"),
    broken_envs.WorkerFails: ("vectors", "AsyncVectorEnv.*RuntimeError: no screen in a worker"),
}


def test_there_is_a_planted_fault_for_every_check():
    planted = {check for check, _ in FAULTS.values()} | {"spec"}  # those of specs are in a test of their own
    assert planted == set(CHECKS)


@pytest.mark.filterwarnings("ignore:.*ERROR:UserWarning")
@pytest.mark.parametrize("broken", FAULTS, ids=lambda broken: broken.__name__)
def test_a_planted_fault_is_found_by_its_check(broken):
    check, words = FAULTS[broken]
    with pytest.raises(AssertionError, match=rf"(?s)^\[{check}\] .*{words}"):
        check_text_env(broken, vectors="quick", only=[check])


IN_ONE_PROCESS = [name for name in CHECKS if name not in ("processes", "vectors", "spec")]


@pytest.mark.parametrize(
    "broken",
    [broken for broken, (check, _) in FAULTS.items() if check in IN_ONE_PROCESS],
    ids=lambda broken: broken.__name__,
)
def test_no_planted_fault_gets_through_all_checks_of_one_process(broken):
    with pytest.raises(AssertionError, match=r"^\["):
        check_text_env(broken, only=IN_ONE_PROCESS)


# ---- specs -------------------------------------------------------------------------------------------------


def test_arguments_that_are_not_json():
    with pytest.raises(
        AssertionError, match=r"^\[spec\] JSON of the constructor's arguments.*not JSON serializable"
    ):
        check_text_env(broken_envs.TakesCallable, kwargs={"score": abs}, only=["spec"])


def test_an_entry_point_that_is_no_string():
    gymnasium.register("Toy/Callable-v0", entry_point=ToyEnv)
    try:
        with pytest.raises(
            AssertionError, match=r"^\[spec\] entry point: expected a str like 'module:Class'"
        ):
            check_text_env("Toy/Callable-v0", only=["spec"])
    finally:
        del gymnasium.registry["Toy/Callable-v0"]


def test_arguments_that_json_changes():
    class_with_tuple = functools.partial(broken_envs.TupleNames, names=("attic", "cellar"))
    with pytest.raises(AssertionError, match=r"^\[spec\] .*made from JSON"):
        check_text_env(class_with_tuple, only=["spec"])


def make_toy(**kwargs):
    return ToyEnv(**kwargs)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (make_toy, "neither an id nor a class"),
        (functools.partial(ToyEnv, "valid"), "positional arguments"),
        (type("Local", (ToyEnv,), {"__qualname__": "test.<locals>.Local"}), "defined inside something else"),
    ],
)
def test_where_there_can_be_no_spec_the_check_says_so(make, reason):
    report = check_text_env(make, only=["spec", "tasks"])
    assert report.passed == ("tasks",) and reason in report.skipped["spec"]
    assert "skipped: spec (" in str(report)


# ---- what does not apply, wrong use ------------------------------------------------------------------------


def test_without_an_expert_the_end_is_sought_at_random_or_told():
    report = check_text_env(broken_envs.NoExpertHere, only=["end", "experts"], steps=1, seeds=[0])
    assert set(report.skipped) == {"end", "experts"}
    assert "no end within 20 random steps; give winning_actions" in report.skipped["end"]
    report = check_text_env(broken_envs.NoExpertHere, only=["end"], winning_actions=ToyEnv.expert_actions)
    assert report.passed == ("end",)
    with pytest.raises(AssertionError, match=r"^\[end\] the end of winning_actions: expected terminated"):
        check_text_env(broken_envs.NoExpertHere, only=["end"], winning_actions=lambda env: ["look"])


def test_an_environment_of_another_contract_is_told_what_it_lacks():
    from foreign_env import ForeignEnv

    with pytest.raises(AssertionError, match=r"methods of the environment: .*no \['get_state', 'set_state'"):
        check_text_env(ForeignEnv)


def test_a_step_that_raises_is_told_with_its_actions():
    words = r"^\[info\] step: expected no exception, found IndexError: .*, after the actions \['go to"
    with pytest.raises(AssertionError, match=words):
        check_text_env(broken_envs.NoEmptyText, steps=300)


def test_a_check_that_meets_an_exception_names_itself():
    with pytest.raises(
        AssertionError, match=r"^\[state_keys\] expected no exception, found NotImplementedError"
    ):
        check_text_env(broken_envs.NoDescription, only=["state_keys"])


def test_unknown_names_are_told():
    with pytest.raises(ValueError, match=r"checks are info, gymnasium.*found 'colour'"):
        check_text_env(ToyEnv, skip=["colour"])
    assert "vectors" not in check_text_env(ToyEnv, skip=set(CHECKS) - {"info"}).passed


def test_an_environment_of_the_users_script_can_be_checked(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        from toy_env import ToyEnv
        from envrl.envs.testing import check_text_env

        class Mine(ToyEnv):
            pass

        if __name__ == "__main__":
            print(check_text_env(Mine, vectors="quick"))
        """)
    )
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"},
    )
    assert done.stdout == f"passed: {', '.join(CHECKS)}\n", done.stderr


# ---- walks -------------------------------------------------------------------------------------------------


def test_a_walk_is_the_same_in_another_process():
    here = [walk(ToyEnv(), seed, 40) for seed in (3, 4)]
    there = walk_in_process(ToyEnv, (3, 4), 40, hash_seed=5)
    assert first_difference(here, there) is None and first_difference(here[0], there[1]) is not None
    assert any(said["action"] is None for said in here[0][1:]) or len(here[0]) == 41


def test_a_process_that_fails_says_why():
    with pytest.raises(RuntimeError, match="a new interpreter failed with: ValueError: not today"):
        walk_in_process(broken_envs.refuse, (0,), 1, hash_seed=0)


def test_the_first_difference():
    assert first_difference({"a": [1, 2]}, {"a": [1, 3]}) == ("['a'][1]", 2, 3)
    assert first_difference({"a": 1}, {"b": 1}) == ("", {"a": 1}, {"b": 1})
    assert first_difference([1], [1, 2]) == ("", [1], [1, 2])
    assert first_difference((1, "x"), [1, "x"]) is None


def test_near_misses_by_hand():
    assert list(near_misses(["go on"])) == [
        "GO ON", "go o", "o on", " go on ", "go on.", "go on go on", "> go on",
        "go on\x00", "go  on", "go\u00a0on",
    ]  # fmt: skip
