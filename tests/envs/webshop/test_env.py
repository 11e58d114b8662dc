"""`EnvRL/WebShop-v0` from outside: the contract, the original's episodes, any action, threads and processes."""

import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

import envrl  # noqa: F401 - registers the ids
from envrl.envs.conformance.walks import Walker, facts, walk
from envrl.envs.core import Info
from envrl.envs.errors import DataNotFound, InvalidTask
from envrl.envs.testing import check_text_env
from envrl.envs.webshop.env import OBSERVATION_MODES, WebShopEnv
from envrl.wrappers import RecordTransitions, iter_episodes

TASK = "synthetic/1502"


@pytest.fixture
def small(folder: Path) -> WebShopEnv:
    """The small shop; its synthetic goals are all in the split ``test``."""
    return WebShopEnv(catalog=str(folder), split="test")


def bought(env: WebShopEnv, goal: int, *actions: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
    env.reset(options={"task_id": f"{env._kind}/{goal}"})
    for action in actions:
        result = env.step(action)
        assert result[4]["action_status"] == "ok", action
    return result


def goal_for(env: WebShopEnv, asin: str, *options: Any) -> int:
    return next(g.index for g in env._goals if g.product.asin == asin and set(options) <= set(g.options))


# ---- the contract ------------------------------------------------------------------------------------------------


def test_registered_with_its_limit_and_checked_by_gymnasium() -> None:
    env = gymnasium.make("EnvRL/WebShop-v0")
    assert env.spec is not None and env.spec.max_episode_steps == 15
    check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"observation_mode": "text_rich", "feedback": "explain", "split": "test_by_product", "seed": 3},
        {"observation_mode": "html", "num_products": 300, "split": "eval", "show_attrs": True},
        {"observation_mode": "url", "num_products": 100, "split": "test", "render_mode": "html"},
    ],
)
def test_keeps_the_contract(kwargs: dict[str, Any]) -> None:
    found = check_text_env("EnvRL/WebShop-v0", kwargs=kwargs, vectors="quick")
    assert not found.skipped


@pytest.mark.shared
@pytest.mark.parametrize("kwargs", [{"split": "test"}, {"split": "test", "goals": "human"}])
def test_keeps_the_contract_with_official_products(official: Path, kwargs: dict[str, Any]) -> None:
    check_text_env("EnvRL/WebShop-v0", kwargs={"catalog": str(official), **kwargs}, vectors="quick")


def test_info_of_an_episode_that_ends_well(small: WebShopEnv) -> None:
    goal = goal_for(small, "B000000001", ("size", "8"), ("color", "red"))
    observation, info = small.reset(options={"task_id": f"synthetic/{goal}"})
    assert info["goal"].startswith(
        "Find me non slip walking shoes with color: red, and size: 8, and price lower"
    )
    assert observation == f"WebShop [SEP] Instruction: [SEP] {info['goal']} [SEP] Search"
    assert info["admissible_actions"] == () and info["action_templates"] == ("search[<query>]",)
    assert small.available_actions() == {"has_search_bar": True, "clickables": ["search"]}
    *_, info = small.step("search[non slip shoes]")
    assert info["action_templates"] == () and info["admissible_actions"][0] == "click[back to search]"
    observation, reward, terminated, truncated, info = bought(
        small,
        goal,
        "search[red canvas shoes]",
        "click[b000000001]",
        "click[red]",
        "click[8]",
        "click[buy now]",
    )
    assert (reward, terminated, truncated, info["is_success"]) == (1.0, True, False, True)
    assert info["reward_parts"]["r_option"] == 1.0 and info["reward_parts"]["w_price"] == 1 / 4
    assert observation.endswith("Your score (min 0.0, max 1.0) [SEP] 1.0 [SEP] Reward Details [SEP] None")
    assert small.available_actions() == {"has_search_bar": False, "clickables": []}
    assert small.expert_actions() == small.expert_actions(privileged=False) == []
    again = small.step("search[more]")
    assert again[:3] == (observation, 0.0, True) and again[4]["action_status"] == "inadmissible"
    assert small.classify_action("search[more]") == ("inadmissible", observation)


def test_a_purchase_worth_less_ends_the_episode_without_success(small: WebShopEnv) -> None:
    goal = goal_for(small, "B000000001", ("size", "8"), ("color", "red"))
    _, reward, terminated, _, info = bought(
        small, goal, "search[red canvas shoes]", "click[b000000001]", "click[7]", "click[buy now]"
    )
    assert (reward, terminated, info["is_success"]) == (0.5, True, False)
    scored = small.score_purchase(goal, "b000000001", {"size": "7"})
    assert scored == (0.5, info["reward_parts"])
    assert small.score_purchase(goal, "B000000001", ["red", "8"], price=1e9)[0] == 0.75


def test_score_purchase_refuses_what_is_not_there(small: WebShopEnv) -> None:
    with pytest.raises(InvalidTask, match="a goal from 0 to 19, got 20"):
        small.score_purchase(20, "B000000001")
    with pytest.raises(KeyError, match="B999"):
        small.score_purchase(0, "B999")


def test_classic_feedback_shows_the_same_page_again(small: WebShopEnv) -> None:
    before, info = small.reset(seed=1)
    for action in ("buy", "click[red]", "Search[shoes]", "search[]"):
        assert small.classify_action(action)[1] == before
        observation, reward, terminated, _, after = small.step(action)
        assert (observation, reward, terminated, after["state_key"]) == (
            before,
            0.0,
            False,
            info["state_key"],
        )


@pytest.mark.parametrize(
    ("mode", "start"),
    [
        (
            "text",
            "There is no 'rad' to click here, only a search bar: write search[words]. [SEP] WebShop [SEP] ",
        ),
        ("text_rich", "There is no 'rad' to click here, only a search bar: write search[words].\nWebShop\n"),
        (
            "url",
            "There is no 'rad' to click here, only a search bar: write search[words].\nhttp://127.0.0.1:3000/",
        ),
        ("html", "<!DOCTYPE html>"),
    ],
)
def test_explained_feedback_says_why_above_the_page(folder: Path, mode: Any, start: str) -> None:
    env = WebShopEnv(catalog=str(folder), split="test", observation_mode=mode, feedback="explain")
    first, info = env.reset(seed=1)
    status, message = env.classify_action("click[rad]")
    observation, *_, after = env.step("click[rad]")
    assert (status, message) == (after["action_status"], observation) == ("inadmissible", observation)
    assert observation.startswith(start) and after["state_key"] == info["state_key"]
    assert "only a search bar" in observation and observation != first
    # the page after the next action is as it always is
    assert "only a search bar" not in env.step("search[shoes]")[0]


def test_modes_show_the_same_state(folder: Path) -> None:
    envs = {
        mode: WebShopEnv(catalog=str(folder), split="test", observation_mode=mode)
        for mode in OBSERVATION_MODES
    }
    walks = {}
    for mode, env in envs.items():
        walker = Walker(5)
        _, info = env.reset(seed=2)
        said = [facts(info)]
        for _ in range(60):
            _, _, terminated, _, info = env.step(walker.pick(info))
            said.append(facts(info) | {"text_cut": False})  # pages differ in length
            if terminated:
                _, info = env.reset(seed=len(said))
                said.append(facts(info))
        walks[mode] = said
    assert walks["text"] == walks["text_rich"] == walks["html"] == walks["url"]


def test_render_gives_html_in_any_mode(folder: Path) -> None:
    env = WebShopEnv(catalog=str(folder), split="test", render_mode="html")
    assert env.render() is None or env.render() == ""
    env.reset(seed=1)
    env.step("search[shoes]")
    page = env.render()
    assert page is not None and page.startswith("<!DOCTYPE html>") and "Page 1 (Total results: 3)" in page
    page_mode = WebShopEnv(catalog=str(folder), split="test", observation_mode="html", render_mode="ansi")
    assert page_mode.reset(seed=1)[0] == page_mode.render()
    both = WebShopEnv(
        catalog=str(folder), split="test", observation_mode="html", render_mode="html", feedback="explain"
    )
    both.reset(seed=1)
    refused, state = both.step("click[nothing]")[0], both.get_state()
    both.step("search[shoes]")
    assert both.set_state(state)[0] == refused == both.render()


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"observation_mode": "pixels"}, "text_rich"),
        ({"split": "validation"}, "train_by_product"),
        ({"goals": "animal"}, "synthetic"),
        ({"feedback": "verbose"}, "explain"),
        ({"num_products": -1}, "positive"),
        ({"num_products": "20"}, "num_products must be a whole number, got '20'"),
        ({"num_products": 10.5}, "num_products must be a whole number"),
        ({"seed": None}, "seed must be a whole number, got None"),
        ({"render_mode": "human"}, "ansi"),
    ],
)
def test_wrong_arguments_say_what_is_right(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WebShopEnv(**kwargs)


def test_missing_data_and_empty_splits_are_errors(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBSHOP_DATA", str(folder / "nothing"))
    with pytest.raises(DataNotFound, match="envrl data download webshop"):
        WebShopEnv(catalog="official-1k")
    with pytest.raises(DataNotFound, match="the catalogue has 20 synthetic goals"):
        WebShopEnv(catalog=str(folder))
    (folder / "items_human_ins.json").unlink()
    with pytest.raises(DataNotFound, match="the catalogue has 0 human goals"):
        WebShopEnv(catalog=str(folder), goals="human")


def test_tasks_outside_the_split_are_accepted_and_nonsense_is_not() -> None:
    env = WebShopEnv(split="test")
    assert TASK not in env.task_ids()
    _, info = env.reset(options={"task_id": TASK})
    for nonsense in ("", "synthetic", "synthetic/x", "human/3", "synthetic/99999999", 7):
        with pytest.raises(InvalidTask):
            env.reset(options={"task_id": nonsense})
    assert env.step("search[a]")[4]["task_id"] == info["task_id"] == TASK
    assert env.task_type(TASK) in {"beauty", "electronics", "fashion", "garden", "grocery"}


def test_the_hidden_state_is_described(small: WebShopEnv) -> None:
    goal = goal_for(small, "B000000001", ("size", "8"), ("color", "red"))
    small.reset(options={"task_id": f"synthetic/{goal}"})
    for action in ("search[canvas shoes]", "click[b000000003]", "click[large]", "click[features]"):
        small.step(action)
    described = small.describe_state()
    for fact in (
        "The buyer is on the sub page.",
        "It found 3 products: B000000003, B000000001, B000000006.",
        "The open product is B000000003, 'Canvas Shoes with Odd Options'; it costs 20.00 dollars, shown as $20.0.",
        "Options chosen: fit: large.",
        "Its page 'Features' is open.",
        "The product that fits is B000000001, 'Red Canvas Shoes for Walking';",
        "Wanted options: color: red, size: 8.",
        "Its option 'size': 7, 8, 9 1 | 2.",
    ):
        assert fact in described
    small.step("click[< prev]")
    small.step("click[buy now]")
    assert "The reward was 0." in small.describe_state()


def test_a_long_page_is_cut_and_says_so(folder: Path) -> None:
    env = WebShopEnv(catalog=str(folder), split="test", max_observation_length=40)
    observation, info = env.reset(seed=0)
    assert len(observation) == 40 and info["text_cut"]


# ---- the original's episodes -------------------------------------------------------------------------------------


@pytest.mark.shared
@pytest.mark.parametrize("mode", ["text", "text_rich", "url"])
def test_recorded_episodes(official: Path, golden: Callable[[str], Any], mode: Any) -> None:
    env = WebShopEnv(catalog=str(official), observation_mode=mode)
    episodes = golden("episodes.jsonl")
    steps = 0
    for episode in episodes:
        observation, info = env.reset(options={"task_id": f"synthetic/{episode['goal_idx']}"})
        assert f"Instruction: {info['goal']}" == episode["instruction"]
        assert (observation, env.available_actions()) == (episode["init"][mode], episode["init"]["available"])
        for step in episode["steps"]:
            observation, reward, terminated, _, info = env.step(step["action"])
            assert observation == step[mode] and env.available_actions() == step["available"], step["action"]
            assert (reward, terminated) == (pytest.approx(step["reward"]), step["done"])
            steps += 1
            if terminated:
                break
    assert (len(episodes), steps) == (36, 468)


@pytest.mark.shared
def test_recorded_searches(official: Path, golden: Callable[[str], Any]) -> None:
    env = WebShopEnv(catalog=str(official))
    searches = golden("search_top50.jsonl")
    assert len(searches) == 606
    assert [env.search(record["q"]) for record in searches] == [record["ids"] for record in searches]


# ---- any action --------------------------------------------------------------------------------------------------

_FORMS = (
    *("{}", "search[{}]", "click[{}]", "click[{}", "search[{}] {}", "Click[{}]", "[{}]", "{}\nsearch[x]"),
    *("search[<r> {}]", "search[<a> {}]"),
)
_SAID = ["buy now", "< prev", "next >", "description", "b000000001", "8", "red", "<a> x", "<c>", "<r>"]
_ANY_TEXT = st.one_of(
    st.text(max_size=30),
    st.text(st.characters(codec=None), max_size=10),  # lone surrogates and nulls
    st.text("[]", max_size=30),
    st.sampled_from(_SAID),
)
_ANY_ACTION = st.builds(lambda form, text: form.format(text, text), st.sampled_from(_FORMS), _ANY_TEXT)


@pytest.fixture(scope="module")
def env_for_strings() -> WebShopEnv:
    return WebShopEnv(num_products=60, split="test", feedback="explain")


def check_strings(env: WebShopEnv, texts: list[str]) -> None:
    """None of the texts raises, and those that are refused change nothing."""
    _, info = env.reset(seed=0)
    for text in texts:
        before, key = env.get_state(), info["state_key"]
        status, message = env.classify_action(text)
        observation, reward, terminated, truncated, info = env.step(text)
        assert info["action_status"] == status and not truncated
        assert observation in env.observation_space
        if status != "ok":
            assert (info["state_key"], reward, env.get_state().hidden) == (key, 0.0, before.hidden)
            assert message[: len(observation)] == observation
        if terminated:
            _, info = env.reset()


@settings(max_examples=500)
@given(st.lists(_ANY_ACTION, min_size=20, max_size=20))
def test_ten_thousand_strings_never_raise_and_change_nothing_when_refused(
    env_for_strings: WebShopEnv, texts: list[str]
) -> None:
    check_strings(env_for_strings, texts)


@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("piece", ["a", "[", "]", "\x00", "\U0001f600 ", "x ["])
def test_strings_of_100_kilobytes_never_raise(env_for_strings: WebShopEnv, form: str, piece: str) -> None:
    text = piece * (100_000 // len(piece.encode()))
    check_strings(env_for_strings, [form.format(text, text), "click[next >]", form.format(text, text)])


# ---- snapshots ---------------------------------------------------------------------------------------------------


def test_snapshots_bring_back_any_page_and_pickle(small: WebShopEnv, folder: Path) -> None:
    goal = goal_for(small, "B000000001", ("size", "8"))
    small.reset(options={"task_id": f"synthetic/{goal}"})
    snapshots, said = [], []
    for action in (
        "search[shoes]",
        "click[b000000001]",
        "click[8]",
        "click[reviews]",
        "click[< prev]",
        "click[buy now]",
    ):
        result = small.step(action)
        snapshots.append(pickle.loads(pickle.dumps(small.get_state())))
        said.append(
            (result[0], result[4]["state_key"], result[4]["admissible_actions"], result[4]["is_success"])
        )
    other = WebShopEnv(catalog=str(folder), split="test")
    for env in (small, other):
        for snapshot, expected in reversed(list(zip(snapshots, said, strict=True))):
            observation, info = env.set_state(snapshot)
            assert (
                observation,
                info["state_key"],
                info["admissible_actions"],
                info["is_success"],
            ) == expected


# ---- threads, processes, vectors, recordings ---------------------------------------------------------------------


def trace(env: WebShopEnv, seed: int, steps: int = 40) -> list[Any]:
    return walk(env, seed, steps)


def test_64_environments_in_8_threads_give_the_traces_of_one_after_the_other() -> None:
    alone = [trace(WebShopEnv(num_products=200, split="test"), seed) for seed in range(64)]
    envs = [WebShopEnv(num_products=200, split="test") for _ in range(64)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(trace, envs, range(64))) == alone


def test_processes_with_other_hash_seeds_give_equal_traces() -> None:
    code = (
        "import json, sys; from envrl.envs.conformance.walks import walk;"
        "from envrl.envs.webshop.env import WebShopEnv;"
        "env = WebShopEnv(num_products=300, split='test', observation_mode='text_rich');"
        "print(json.dumps(walk(env, 7, 300)))"
    )
    said = set()
    for seed in ("0", "1", "12345"):
        run = subprocess.run(
            [sys.executable, "-c", code],
            env={**_environ(), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stderr
        said.add(run.stdout)
    assert len(said) == 1
    assert len(json.loads(said.pop())) > 300


def _environ() -> dict[str, str]:
    import os

    return dict(os.environ)


def test_vectors_of_processes_see_what_one_environment_sees() -> None:
    kwargs = {"num_products": 100, "split": "test"}
    vector = gymnasium.make_vec("envrl:EnvRL/WebShop-v0", num_envs=3, vectorization_mode="async", **kwargs)
    singles = [gymnasium.make("EnvRL/WebShop-v0", **kwargs) for _ in range(3)]
    try:
        observations, _ = vector.reset(seed=[4, 5, 6])
        assert list(observations) == [
            env.reset(seed=seed)[0] for env, seed in zip(singles, (4, 5, 6), strict=True)
        ]
        actions = ["search[gift]", "click[nothing]", "search[\u20ac]"]
        observations, rewards, *_ = vector.step(actions)
        assert list(observations) == [
            env.step(action)[0] for env, action in zip(singles, actions, strict=True)
        ]
        assert np.array_equal(rewards, np.zeros(3))
    finally:
        vector.close()


def test_recordings_hold_every_step(folder: Path, tmp_path: Path) -> None:
    env = RecordTransitions(WebShopEnv(catalog=str(folder), split="test"), tmp_path / "runs")
    inner = env.unwrapped
    assert isinstance(inner, WebShopEnv)
    goal = goal_for(inner, "B000000006")
    env.reset(options={"task_id": f"synthetic/{goal}"})
    plan = inner.expert_actions()
    for action in ["click[nothing]", *plan]:
        _, reward, terminated, _, _ = env.step(action)
    env.close()
    assert terminated and reward == 1.0
    (episode,) = iter_episodes(tmp_path / "runs")
    assert [row.action for row in episode] == ["click[nothing]", *plan]
    assert [row.action_status for row in episode] == ["inadmissible", *["ok"] * len(plan)]
    assert (episode[-1].reward, episode[-1].is_success, episode[0].split) == (1.0, True, "test")
    assert (
        episode[0].observation.startswith("WebShop [SEP] Instruction:")
        and episode[-1].task_id == f"synthetic/{goal}"
    )


def test_info_has_the_contracts_keys_and_parts_only_with_a_purchase(small: WebShopEnv) -> None:
    goal = goal_for(small, "B000000006")
    _, info = small.reset(options={"task_id": f"synthetic/{goal}"})
    assert set(info) == set(Info.__annotations__)
    infos = [small.step(action)[4] for action in small.expert_actions()]
    assert [set(info) - set(Info.__annotations__) for info in infos] == [set()] * (len(infos) - 1) + [
        {"reward_parts"}
    ]
