import functools
import pickle
from copy import deepcopy

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.spaces import utils as space_utils
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import (
    batch_space,
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)
from hypothesis import given
from hypothesis import strategies as st
from text_envs import EchoDictEnv, EchoEnv

from envrl.envs.spaces import FreeText

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)


# ---- the space by itself -----------------------------------------------------------------------------------


@given(ANY_TEXT)
def test_any_text_of_a_fitting_length_is_a_member(text):
    assert text in FreeText(40)
    assert (text in FreeText(10)) == (len(text) <= 10)
    assert (text in FreeText(40, min_length=5)) == (len(text) >= 5)


@pytest.mark.parametrize("value", [None, 3, b"x", ["x"], ("x",)])
def test_nothing_but_text_is_a_member(value):
    assert value not in FreeText(10)
    assert np.str_("x") in FreeText(10)


@given(st.integers(0, 80), st.integers(0, 300), st.integers(0, 2**31))
def test_samples_are_members(shortest, more, seed):
    space = FreeText(shortest + more, min_length=shortest, seed=seed)
    sample = space.sample()
    assert sample in space and len(sample) <= max(64, shortest)


def test_samples_follow_the_seed_and_reach_both_bounds():
    one, other = FreeText(4, min_length=2, seed=3), FreeText(4, min_length=2, seed=3)
    drawn = [one.sample() for _ in range(200)]
    assert drawn == [other.sample() for _ in range(200)]
    assert {len(text) for text in drawn} == {2, 3, 4}


def test_sampling_with_gymnasiums_masks():
    space = FreeText(10, seed=0)
    only_a = np.array([character == "a" for character in space.character_list], dtype=np.int8)
    assert space.sample(mask=(3, only_a)) == "aaa"
    assert space.sample(probability=(2, only_a.astype(np.float64))) == "aa"


def test_equality():
    assert FreeText(5) == FreeText(5, seed=1)
    assert FreeText(5) != FreeText(6) and FreeText(5) != FreeText(5, min_length=1)
    assert FreeText(5) != spaces.Text(5, min_length=0) and spaces.Text(5, min_length=0) != FreeText(5)
    assert FreeText(5) != "FreeText(5)"
    assert spaces.Dict(a=FreeText(5)) == spaces.Dict(a=FreeText(5)) != spaces.Dict(a=FreeText(6))


def test_repr_can_be_read_back():
    assert eval(repr(FreeText(5, min_length=2))) == FreeText(5, min_length=2)


def test_copies():
    space = FreeText(5, min_length=2, seed=9)
    space.sample()
    for copy in (deepcopy(space), pickle.loads(pickle.dumps(space))):
        assert copy == space and copy.sample() == deepcopy(space).sample()


def test_it_does_not_flatten_to_an_array():
    assert not FreeText(5).is_np_flattenable
    assert not spaces.Dict(a=FreeText(5), n=spaces.Discrete(3)).is_np_flattenable
    with pytest.raises(ValueError, match="must be less than or equal"):
        FreeText(3, min_length=4)


def test_json():
    space = FreeText(20)
    samples = ["a", "€\n", "\udcff"]
    assert space.from_jsonable(space.to_jsonable(samples)) == samples


def test_its_batch_is_a_tuple():
    assert batch_space(FreeText(5), 2) == spaces.Tuple([FreeText(5)] * 2)
    assert space_utils.is_space_dtype_shape_equiv(FreeText(5), FreeText(5))


# ---- shared memory -----------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 2), ANY_TEXT), max_size=10))
def test_shared_memory_gives_back_what_was_written_last(writes):
    space = FreeText(40)
    memory = create_shared_memory(space, n=3)
    view = read_from_shared_memory(space, memory, n=3)
    expected = ["", "", ""]
    for index, text in writes:
        write_to_shared_memory(space, index, text, memory)
        expected[index] = text
    assert tuple(view) == deepcopy(view) == tuple(expected)
    assert len(view) == 3 and view[1] == expected[1] and view[-1] == expected[-1]


def test_a_copy_of_shared_memory_stays_as_it_was():
    space = FreeText(4)
    memory = create_shared_memory(space, n=1)
    view = read_from_shared_memory(space, memory, n=1)
    write_to_shared_memory(space, 0, "old", memory)
    copy = deepcopy(view)
    write_to_shared_memory(space, 0, "new", memory)
    assert copy == ("old",) and tuple(view) == ("new",)


def test_the_longest_text_of_the_widest_characters_fits():
    space = FreeText(7)
    memory = create_shared_memory(space, n=2)
    write_to_shared_memory(space, 0, "\U0001f600" * 7, memory)
    write_to_shared_memory(space, 1, "b", memory)
    assert deepcopy(read_from_shared_memory(space, memory, n=2)) == ("\U0001f600" * 7, "b")


@pytest.mark.parametrize("text", ["x" * 8, "\U0001f600" * 8])
def test_a_text_that_is_too_long_is_refused_and_overwrites_nothing(text):
    space = FreeText(7)
    memory = create_shared_memory(space, n=2)
    write_to_shared_memory(space, 1, "next", memory)
    with pytest.raises(ValueError, match=r"8 characters does not fit FreeText\(7\).*must cut"):
        write_to_shared_memory(space, 0, text, memory)
    assert deepcopy(read_from_shared_memory(space, memory, n=2)) == ("", "next")


# ---- environments and vectors ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize("env_id", ["Toy/Echo-v0", "Toy/EchoDict-v0"])
def test_gymnasium_accepts_environments_with_it(env_id):
    check_env(gymnasium.make(env_id).unwrapped)


ACTIONS = [("first \ud83d", "日本"), ("", "\U0001f600" * 100), ("end", "x"), ("after", "end")]


def play(make, vector):
    """The observations of `ACTIONS` in a vector of two, next to those of two single environments."""
    mode = vector.metadata["autoreset_mode"]
    singles = [make(), make()]
    observations, _ = vector.reset(seed=[1, 2])
    assert list(observations) == [env.reset(seed=n + 1)[0] for n, env in enumerate(singles)]
    ended = [False, False]
    for actions in ACTIONS:
        observations, _, terminated, _, infos = vector.step(actions)
        finals = [None, None]
        for n, (env, action) in enumerate(zip(singles, actions, strict=True)):
            if ended[n]:
                expected, ended[n] = env.reset()[0], False
            else:
                expected, _, done, _, _ = env.step(action)
                assert bool(terminated[n]) == done
                if done and mode == AutoresetMode.SAME_STEP:
                    finals[n], expected = expected, env.reset()[0]
                ended[n] = done and mode == AutoresetMode.NEXT_STEP
            assert observations[n] == expected
        if mode == AutoresetMode.SAME_STEP and terminated.any():
            assert infos["final_obs"].tolist() == finals
        if mode == AutoresetMode.DISABLED and terminated.any():
            observations, _ = vector.reset(options={"reset_mask": terminated.copy()})
            for n in np.flatnonzero(terminated):
                assert observations[n] == singles[n].reset()[0]
    vector.close()


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_sync_vector(mode):
    play(EchoEnv, SyncVectorEnv([EchoEnv] * 2, autoreset_mode=mode))


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("shared_memory", [True, False], ids=["shared", "pipes"])
def test_async_vector(shared_memory, context, mode):
    play(
        EchoEnv,
        AsyncVectorEnv([EchoEnv] * 2, shared_memory=shared_memory, context=context, autoreset_mode=mode),
    )


@pytest.mark.parametrize("shared_memory", [True, False], ids=["shared", "pipes"])
@pytest.mark.parametrize("copy", [True, False], ids=["copy", "view"])
def test_async_vector_of_dicts(shared_memory, copy):
    vector = AsyncVectorEnv([EchoDictEnv] * 2, shared_memory=shared_memory, context="spawn", copy=copy)
    observations, _ = vector.reset(seed=1)
    assert tuple(observations["goal"]) == ("say end", "say end")
    for actions in ACTIONS[:2]:
        observations, *_ = vector.step(actions)
        assert tuple(observations["text"]) == actions
        assert observations["count"].tolist() == [ACTIONS.index(actions) + 1] * 2
    assert vector.observation_space["text"] == spaces.Tuple([FreeText(128)] * 2)
    vector.close()


@pytest.mark.filterwarnings("ignore:.*ERROR:UserWarning")
def test_over_long_text_in_shared_memory_reaches_the_user_as_an_error():
    make = functools.partial(EchoEnv, cut=False)
    vector = AsyncVectorEnv([make, make], context="spawn")
    vector.reset()
    with pytest.raises(ValueError, match="a text of 129 characters does not fit"):
        vector.step(("x" * 129, "y"))
    vector.close(terminate=True)


# ---- Minari ------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*is set to None:UserWarning")
@pytest.mark.parametrize("env_id", ["Toy/Echo-v0", "Toy/EchoDict-v0"])
def test_minari_stores_it_and_reads_it(tmp_path, monkeypatch, env_id):
    minari = pytest.importorskip("minari", reason="minari is not installed (extra `minari`)")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    env = gymnasium.make(env_id)
    actions = ["€ mug\n", "end"]
    seen = [env.reset(seed=0)[0]] + [env.step(action)[0] for action in actions]
    if env_id == "Toy/EchoDict-v0":
        seen = {key: [observation[key] for observation in seen] for key in seen[0]}
    buffer = minari.data_collector.EpisodeBuffer(
        observations=seen,
        actions=actions,
        rewards=[0.0, 0.0],
        terminations=[False, True],
        truncations=[False, False],
    )
    minari.create_dataset_from_buffers("echo-v0", [buffer], env=env, data_format="parquet")
    dataset = minari.load_dataset("echo-v0")
    (episode,) = dataset.iterate_episodes()
    assert episode.actions == actions
    if env_id == "Toy/EchoDict-v0":
        assert (
            episode.observations["text"] == seen["text"] and episode.observations["goal"] == ["say end"] * 3
        )
    else:
        assert episode.observations == seen
    # Minari's own description of a text space keeps the bounds; the environment itself brings FreeText back.
    assert (dataset.action_space.min_length, dataset.action_space.max_length) == (0, 128)
    assert dataset.recover_environment().action_space == FreeText(128)
