"""Vectors of environments in Ray actors, beside Gymnasium's own vectors."""

import os
import signal
import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import psutil
import pytest
import toy_env  # noqa: F401 - registers the id
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import envrl  # noqa: F401 - registers the ids
from envrl.envs.errors import DataNotFound, EnvRLError, InvalidTask
from envrl.wrappers.faults import Fault
from envrl.wrappers.ray_vector import RayVectorEnv

COIN = "toy_env:Toy/Coin-v0"
FAULTY = "faulty_env:Test/Faulty-v0"

pytestmark = pytest.mark.usefixtures("ray_instance")


@pytest.fixture
def make(request):
    """Makes vectors that are closed after the test."""

    def make_vector(*arguments: Any, **named: Any) -> RayVectorEnv:
        vector = RayVectorEnv(*arguments, **named)
        request.addfinalizer(vector.close)
        return vector

    return make_vector


def pid(vector: RayVectorEnv, actor: int) -> int:
    import ray

    return ray.get(vector._actors.actors[actor].__ray_call__.remote(lambda _: os.getpid()))


def kill(vector: RayVectorEnv, actor: int) -> None:
    process = psutil.Process(pid(vector, actor))
    process.send_signal(signal.SIGKILL)
    process.wait()


def plain(value: Any) -> Any:
    """Arrays and tuples as lists, for comparisons."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | tuple | list):
        return [plain(item) for item in value]
    return value


def assert_equal(found: tuple, expected: tuple) -> None:
    assert plain(found) == plain(expected)
    for one, other in zip(found, expected, strict=True):
        assert type(one) is type(other)
        if isinstance(one, np.ndarray):
            assert one.dtype == other.dtype and one.shape == other.shape


@pytest.mark.parametrize("mode", AutoresetMode)
def test_plays_as_gymnasiums_own_vector(make, mode):
    makers = [lambda: gymnasium.make(COIN, tasks=5)] * 3
    single = SyncVectorEnv(makers, autoreset_mode=mode)
    vector = make(COIN, 3, 2, env_kwargs={"tasks": 5}, autoreset_mode=mode.value)
    assert vector.metadata == single.metadata and vector.render_mode is None
    for space in ("observation_space", "action_space", "single_observation_space", "single_action_space"):
        assert getattr(vector, space) == getattr(single, space)
    assert_equal(vector.reset(seed=3), single.reset(seed=3))
    rng, ends = np.random.default_rng(0), 0
    admissible = [("look",)] * 3
    for _ in range(60):
        actions = tuple(str(rng.choice(choices)) for choices in admissible)
        found, expected = vector.step(actions), single.step(actions)
        assert_equal(found, expected)
        ended, admissible = found[2] | found[3], found[4]["admissible_actions"]
        ends += ended.sum()
        if mode == AutoresetMode.DISABLED and ended.any():
            options = {"reset_mask": ended}
            begun = vector.reset(seed=[7, 8, 9], options=options)
            assert_equal(begun, single.reset(seed=[7, 8, 9], options=dict(options)))
            assert "reset_mask" in options  # it is the caller's
            admissible = [begun[1]["admissible_actions"][i] or admissible[i] for i in range(3)]
    assert ends >= 3


def test_environments_of_numbers_too(make):
    single = SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 3)
    vector = make("CartPole-v1", 3, 2)
    assert_equal(vector.reset(seed=1), single.reset(seed=1))
    single.action_space.seed(0)
    for _ in range(40):
        actions = single.action_space.sample()
        assert_equal(vector.step(actions), single.step(actions))


def test_environments_of_an_actor_share_its_product_index(make):
    import ray

    vector = make("envrl:EnvRL/WebShop-v0", 5, 2)
    observations, _ = vector.reset(seed=0)
    assert len(observations) == 5
    found = [
        ray.get(
            actor.__ray_call__.remote(
                lambda worker: (
                    os.getpid(),
                    len(worker.envs),
                    len({id(env.unwrapped._shop) for env in worker.envs.values()}),
                )
            )
        )
        for actor in vector._actors.actors
    ]
    assert [rest for _, *rest in found] == [[3, 1], [2, 1]]
    assert len({number for number, *_ in found} | {os.getpid()}) == 3


@pytest.mark.parametrize("mode", AutoresetMode)
def test_an_actor_that_dies_truncates_its_episodes(make, mode):
    vector = make(COIN, 4, 2, autoreset_mode=mode)
    vector.reset(seed=0, options={"task_id": "coin-1"})
    before, *_ = vector.step(("go to attic",) * 4)
    kill(vector, 0)
    observations, rewards, terminated, truncated, infos = vector.step(("look",) * 4)
    assert truncated.tolist() == [True, True, False, False]
    assert not terminated.any() and not rewards.any()
    assert observations[2:] == ("A coin!",) * 2
    ended = infos["final_info"] if mode == AutoresetMode.SAME_STEP else infos
    assert all(fault.startswith("step: the Ray actor died") for fault in ended["fault"][:2])
    assert list(infos["fault"][2:]) == [None, None]
    last = infos["final_obs"] if mode == AutoresetMode.SAME_STEP else observations
    assert tuple(last[:2]) == before[:2]
    if mode == AutoresetMode.DISABLED:
        observations, infos = vector.reset(options={"reset_mask": truncated})
    elif mode == AutoresetMode.NEXT_STEP:
        observations, rewards, _, truncated, infos = vector.step(("take coin",) * 4)
        assert not truncated.any() and observations[2:] == ("You hold the coin.",) * 2
    assert all(text.startswith("You are in the hall.") for text in observations[:2])
    assert list(infos["fault"][:2]) == [None, None]
    observations, *_ = vector.step(("go to cellar",) * 4)
    assert observations == ("You are in the cellar.",) * 4


def test_an_actor_that_dies_between_episodes_costs_nothing(make):
    vector = make(COIN, 2, 1)
    vector.reset(seed=0)
    kill(vector, 0)
    assert vector.reset(seed=0)[0] == vector.reset(seed=0)[0]
    vector.set_attr("split", "other")
    kill(vector, 0)
    (observation, info), _ = vector.try_reset([(0, 0, {"task_id": "coin-3"}), (1, 1, None)])
    assert observation.startswith("You are in the hall.") and info["task_id"] == "coin-3"


def test_an_actor_that_dies_of_every_reset_ends_it(make):
    vector = make(FAULTY, 2, 2, env_kwargs={"faults": {"coin-0": (0, "exit at reset")}})
    with pytest.raises(EnvRLError, match=r"reset of environments in a Ray actor: .*died"):
        vector.reset(options={"task_id": "coin-0"})
    found = vector.try_reset([(0, 0, {"task_id": "coin-0"}), (1, 0, {"task_id": "coin-1"})])
    assert isinstance(found[0], Fault) and found[0].reason.startswith("reset: the Ray actor died")
    assert found[1][1]["task_id"] == "coin-1"


def test_one_by_one(make):
    faults = {"coin-1": (0, "raise"), "coin-2": (0, "die"), "coin-3": (0, "hang"), "coin-5": (0, "reset")}
    vector = make(FAULTY, 4, 2, env_kwargs={"faults": faults})

    def begin(*numbers: int) -> list[Any]:
        return vector.try_reset([(i, 0, {"task_id": f"coin-{n}"}) for i, n in enumerate(numbers)])

    assert [begun[1]["task_id"] for begun in begin(0, 1, 2, 3)] == ["coin-0", "coin-1", "coin-2", "coin-3"]
    assert vector.try_step([]) == []
    found = vector.try_step([(i, "look") for i in (3, 0, 2, 1)], timeout=0.2)
    assert found[1][0] == "Nothing here." or found[1][0] == "A coin!"
    assert [fault.reason for fault in (found[0], found[2], found[3])] == [
        "step: TimedOut: no answer within 0.2 s",
        "step: BrokenPipeError: the process is gone",
        "step: RuntimeError: out of luck",
    ]
    assert vector.try_step([(1, "look")])[0].reason.startswith("step: ResetNeeded")
    begun = begin(5, 0, 0, 0)  # those that failed are as new
    assert begun[0] == Fault("reset: ConnectionError: nobody there")
    assert [b[1]["task_id"] for b in begun[1:]] == ["coin-0"] * 3
    kill(vector, 1)
    lost, kept = vector.try_step([(3, "look"), (1, "look")])
    assert lost.reason.startswith("step: the Ray actor died") and kept[0] == "A coin!"
    assert vector.try_step([(2, "look")]) == [Fault("step: the environment was made anew and not reset")]


def test_mistakes_and_errors_come_as_they_are(make):
    vector = make(FAULTY, 2, 2, env_kwargs={"faults": {"coin-0": (0, "raise")}})
    with pytest.raises(InvalidTask, match="penny-1"):
        vector.try_reset([(0, 0, {"task_id": "penny-1"})])
    vector.reset(options={"task_id": "coin-0"})
    with pytest.raises(RuntimeError) as raised:
        vector.step(("look", "look"))
    assert type(raised.value) is RuntimeError and str(raised.value) == "out of luck"
    assert "faulty_env.py" in "".join(raised.value.__notes__)  # where in the actor
    with pytest.raises(DataNotFound):
        make("envrl:EnvRL/WebShop-v0", 2, 1, env_kwargs={"catalog": "/nowhere"})
    with pytest.raises(gymnasium.error.NameNotFound):
        make("EnvRL/Nothing-v0", 1, 1)


def test_attributes(make):
    vector = make(COIN, 3, 2, env_kwargs={"render_mode": "ansi"})
    vector.reset(options={"task_id": "coin-2"})
    assert vector.render_mode == "ansi" and len(set(vector.render())) == 1
    assert vector.call("classify_action", "dance") == (("malformed", "What?"),) * 3
    vector.set_attr("split", ["a", "b", "c"])
    assert vector.get_attr("split") == ("a", "b", "c")
    vector.set_attr("split", "d")
    assert vector.get_attr("split") == ("d",) * 3
    with pytest.raises(ValueError, match="a value for each of 3"):
        vector.set_attr("split", ["a"])


def test_wrong_use_says_so(make):
    for actors in (0, 3):
        with pytest.raises(ValueError, match=r"num_actors must lie in 1 \.\. num_envs \(2\)"):
            RayVectorEnv(COIN, 2, actors)
    vector = make(COIN, 2, 2, autoreset_mode="Disabled")
    with pytest.raises(ValueError, match="a seed for each of 2"):
        vector.reset(seed=[1])
    for mask, words in (([True, False], "boolean array"), (np.zeros(2, dtype=bool), "at least one")):
        with pytest.raises(ValueError, match=words):
            vector.reset(options={"reset_mask": mask})
    vector.reset(options={"task_id": "coin-0"})
    for action in ("look", "take coin", "drop coin"):
        ended = vector.step((action, "look"))[2]
    assert ended.tolist() == [True, False]
    with pytest.raises(ResetNeeded, match=r"environments \[0\] have ended"):
        vector.step(("look", "look"))
    vector.close()
    vector.close()
    with pytest.raises(ClosedEnvironmentError):
        vector.reset()


def test_actors_end_with_their_vector():
    vector = RayVectorEnv(COIN, 2, 2)
    processes = [psutil.Process(pid(vector, actor)) for actor in range(2)]
    vector.close()
    _, alive = psutil.wait_procs(processes, timeout=60)
    assert not alive


def test_says_what_is_missing_without_the_extra():
    code = (
        "import sys; sys.modules['ray'] = None\nfrom envrl.wrappers.ray_vector import RayVectorEnv\n"
        "RayVectorEnv('envrl:EnvRL/ALFWorld-v0', 1, 1)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingExtra" in done.stderr and "pip install 'envrl[ray]'" in done.stderr
