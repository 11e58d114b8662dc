"""Failures of environments cost their episodes and nothing else."""

import json
import threading
import time
from dataclasses import replace

import pytest
from faulty_env import KINDS, drawn_fault
from small_run import SMALL

from envrl.agents.models import TinyConfig, build_tiny
from envrl.agents.policies.constrained import ConstrainedPolicy
from envrl.agents.rollout import Task, rollout
from envrl.agents.tagged_format import TaggedFormat
from envrl.agents.tasks import make_envs
from envrl.agents.trainer import train
from envrl.envs.errors import InvalidTask
from envrl.wrappers.faults import TimedOut, time_limit
from envrl.wrappers.recording import read_transitions

TEXTS = ["You are in the hall. A coin is hidden somewhere.", "go to attic", "look", "take coin"] * 20


@pytest.fixture(scope="module")
def policy():
    lm = build_tiny(
        TEXTS, TinyConfig(hidden_size=32, layers=1, intermediate_size=32, initializer_range=0.3), seed=1
    )
    return ConstrainedPolicy(lm, TaggedFormat(lm), longest=4)


def play(policy, count, kwargs, envs=60, timeout=0.0):
    made = make_envs("Test/Faulty-v0", envs, None, kwargs)
    tasks = [Task(f"coin-{i}", i) for i in range(count)]
    return made, rollout(made, tasks, policy, (7,), timeout=timeout)


def test_a_thousand_faults_change_no_other_episode(policy):
    count, share = 1600, 0.66
    faults = {f"coin-{i}": drawn_fault(f"coin-{i}", share) for i in range(count)}
    faults = {task: fault for task, fault in faults.items() if fault[1]}
    _, sound = play(policy, count, {})
    envs, episodes = play(policy, count, {"share": share})
    assert all(e.fault is None for e in sound)
    lost = {e.task_id for e in episodes if e.fault is not None}
    # an episode may end before the step at which it would fail
    early = {e.task_id for e in sound if e.task_id in faults and len(e.transitions) <= faults[e.task_id][0]}
    assert lost == set(faults) - {t for t in early if faults[t][1] != "reset"} and len(lost) >= 1000
    for before, after in zip(sound, episodes, strict=True):
        if after.fault is None:
            assert [replace(t, extras={}) for t in after.transitions] == [
                replace(t, extras={}) for t in before.transitions
            ]
            assert after.tokens.ids == before.tokens.ids
            assert [d[:3] for d in after.tokens.decisions] == [d[:3] for d in before.tokens.decisions]
            for one, other in zip(before.tokens.decisions, after.tokens.decisions, strict=True):
                # a batch of another size may round in another way
                assert one.logprob == pytest.approx(other.logprob, abs=1e-5)
        else:  # it went as it would have gone, up to there
            steps = [t.action for t in after.transitions]
            assert steps == [t.action for t in before.transitions][: len(steps)]
    assert len(envs) == 60 and all(env.reset(options={"task_id": "coin-0"}) for env in envs)


@pytest.mark.parametrize("kind", [*KINDS, "hang", "loop"])
def test_each_kind(policy, kind):
    envs, episodes = play(policy, 3, {"faults": {"coin-1": (2, kind)}}, envs=3, timeout=0.2)
    assert [e.fault is None for e in episodes] == [True, False, True]
    expected = {
        "raise": "step: RuntimeError: out of luck",
        "die": "step: BrokenPipeError: the process is gone",
        "no text": "step: TypeError: expected a str as observation, got NoneType",
        "no number": "step: TypeError: expected a finite number as reward, got '1'",
        "not finite": "step: TypeError: expected a finite number as reward, got nan",
        "no info": "step: TypeError: expected a dict as info, got NoneType",
        "no actions": "step: TypeError: expected strings in info['admissible_actions'], got 'look'",
        "reported": "the server is gone",
        "reset": "reset: ConnectionError: nobody there",
        "hang": "step: TimedOut: no answer within 0.2 s",
        "loop": "step: TimedOut: no answer within 0.2 s",
    }[kind]
    assert episodes[1].fault == expected
    steps = episodes[1].transitions
    assert len(steps) == (0 if kind == "reset" else 3)
    if steps:
        assert steps[-1].fault == expected and steps[-1].truncated and steps[-1].reward == 0.0
        assert all(t.fault is None for t in steps[:-1])
        assert len(episodes[1].tokens.actions) == len(steps)
    assert len(envs) == 3 and all(env.reset(options={"task_id": "coin-0"}) for env in envs)


def test_a_task_that_does_not_exist_ends_the_rollout(policy):
    envs = make_envs("Test/Faulty-v0", 1, None, {})
    with pytest.raises(InvalidTask):
        rollout(envs, [Task("penny-1", 0)], policy, (0,))


def test_code_that_swallows_the_interruption_is_interrupted_again():
    swallowed = 0
    with pytest.raises(TimedOut), time_limit(0.05):
        for _ in range(3):
            try:
                time.sleep(5)
            except TimedOut:
                swallowed += 1
                if swallowed == 3:
                    raise
    assert swallowed == 3


def test_no_limit_outside_the_main_thread():
    done = []

    def work():
        with time_limit(0.01):
            time.sleep(0.05)
        done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]


def test_training_goes_on_and_counts_them(tmp_path):
    faults = {f"coin-{i}": (1, "raise" if i % 4 else "reported") for i in range(0, 8, 2)}
    config = replace(
        SMALL,
        env="Test/Faulty-v0",
        env_kwargs={"faults": faults},
        output=tmp_path / "run",
        sft_episodes=0,
        updates=3,
        eval_every=0,
        eval_episodes=8,
        groups=4,
        group_size=2,
    )
    result = train(config)["reinforcement"]
    assert (result.n, result.faulted) == (4, 4)
    rows = [json.loads(line) for line in (config.output / "metrics.jsonl").read_text().splitlines()]
    counted = [row["rollout/faulted"] for row in rows]
    recorded = list(read_transitions(config.output / "transitions"))
    assert sum(counted) == sum(t.fault is not None for t in recorded) > 0
    assert len({t.episode_id for t in recorded}) == 3 * 8
