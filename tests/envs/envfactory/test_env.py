"""`EnvRL/EnvFactory-v0` from outside: the contract, what actions do, users, rewards, experts, snapshots."""

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import envrl  # noqa: F401 - registers the ids
from envrl.envs.envfactory.env import EnvFactoryEnv
from envrl.envs.envfactory.task import STATES, TASKS, write_folder
from envrl.envs.errors import DataNotFound, InvalidData, InvalidTask, NoExpert
from envrl.envs.testing import check_text_env

sys.path.insert(0, str(Path(__file__).parent))  # tasks name a toolkit by module
import episodes

FIND = '{"name": "find_book", "arguments": {"title": "Dune"}}'
LEND = '{"name": "lend_book", "arguments": {"book": "B1", "to": "bo"}}'
LEND_CY = '{"name": "lend_book", "arguments": {"book": "B1", "to": "cy"}}'
BACK = '{"name": "lend_book", "arguments": {"book": "B2", "to": "bo"}}'
TELL = "It costs $1,250.50."


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> str:
    return episodes.folder(tmp_path_factory.mktemp("tasks"), episodes.LEND, episodes.TALK)


def started(tasks: str, task_id: str = "lend", **kwargs: Any) -> tuple[EnvFactoryEnv, str, dict[str, Any]]:
    env = EnvFactoryEnv(tasks=tasks, split="all", **kwargs)
    observation, info = env.reset(options={"task_id": task_id})
    return env, observation, info


def play(env: EnvFactoryEnv, *actions: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
    for action in actions:
        result = env.step(action)
    return result


@pytest.mark.parametrize("kwargs", [{}, {"split": "held_out", "reward": "partial", "feedback": "classic"}])
def test_keeps_the_contract(kwargs: dict[str, Any]) -> None:
    assert not check_text_env("EnvRL/EnvFactory-v0", kwargs=kwargs, vectors="quick").skipped


def test_registered_with_its_limit_and_checked_by_gymnasium() -> None:
    env = gymnasium.make("EnvRL/EnvFactory-v0")
    assert env.spec is not None and env.spec.max_episode_steps == 30
    check_env(env.unwrapped, skip_render_check=True)


def test_an_episode(tasks: str) -> None:
    env, observation, info = started(tasks)
    assert "A book is lent to one person at a time." in observation
    assert "find_book(title: string) - Find a book." in observation
    assert (
        observation.endswith("\n\nUser: Lend Dune to bo and tell me what it costs.")
        and info["goal"] in observation
    )
    assert [tool["function"]["name"] for tool in info["tools"]] == list(episodes.Shelf.tools())
    assert info["action_templates"][0] == '{"name": "find_book", "arguments": {"title": "<title>"}}'
    assert info["admissible_actions"] == () and info["reward_parts"] == {}
    plan = env.expert_actions()
    assert plan == [FIND, LEND, TELL] and env.expert_actions(privileged=False) == [FIND]
    observation, reward, terminated, truncated, info = env.step(FIND)
    assert json.loads(observation) == {"book": "B1", "title": "Dune", "owner": None, "price": 1250.5}
    assert (reward, terminated, truncated, info["action_status"], info["is_success"]) == (
        0.0,
        False,
        False,
        "ok",
        False,
    )
    assert env.expert_actions() == [LEND, TELL]
    observation, reward, terminated, truncated, info = play(env, LEND, TELL)
    assert (observation, reward, terminated, info["is_success"]) == (
        "The user has left the conversation.",
        1.0,
        True,
        True,
    )
    assert info["reward_parts"] == {
        "success": True, "delta_wanted": 1, "delta_found": 1, "collateral": 0, "outputs_wanted": 2, "outputs_found": 2,
    }  # fmt: skip
    assert env.expert_actions() == [] and env.step(FIND)[:4] == (observation, 0.0, True, False)


@pytest.mark.parametrize(
    ("actions", "strict", "partial"),
    [
        ([FIND, LEND, TELL], 1.0, 1.0),
        ([f"[{FIND}, {LEND}]", TELL], 1.0, 1.0),
        (["Done."], 0.0, 0.0),  # the no-op
        ([TELL], 0.0, 0.0),  # a guess, though a right one
        ([LEND, TELL], 0.0, 1 / 3),  # the right id from nowhere, and a guess
        ([FIND, TELL], 0.0, 2 / 3),
        ([FIND, LEND, "It is lent."], 0.0, 2 / 3),
        ([FIND, LEND, "It costs 1250.55."], 0.0, 2 / 3),
        ([FIND, LEND, '{"name": "add_note", "arguments": {"text": "hm"}}', TELL], 0.0, 2 / 3),
        ([FIND, LEND_CY, TELL], 0.0, 1 / 3),
    ],
)
def test_rewards(tasks: str, actions: list[str], strict: float, partial: float) -> None:
    for kind, expected in (("strict", strict), ("partial", partial)):
        env, _, _ = started(tasks, reward=kind)
        _, reward, terminated, _, info = play(env, *actions)
        assert terminated and reward == pytest.approx(expected) and info["is_success"] == (strict == 1.0)


@pytest.mark.parametrize(
    ("action", "status", "answer"),
    [
        ("{", "malformed", "Error: not valid JSON: Expecting property name"),
        ("", "malformed", "Error: the text is empty"),
        ("[find_book(title='Dune')]", "malformed", "Error: calls are written as JSON"),
        ('{"name": "burn_book", "arguments": {}}', "inadmissible",
         "Error: there is no tool 'burn_book'; the tools are find_book"),
        ('{"name": "find_book", "arguments": {}}', "inadmissible",
         "Error: find_book: title: Field required (expected find_book(title: string) - Find a book.)"),
        ('{"name": "find_book", "arguments": {"title": 3}}', "inadmissible",
         "Error: find_book: title: Input should be a valid string"),
        (BACK, "inadmissible", "Error: B2 is lent already"),
        (f"[{LEND}, {BACK[:-2]}, \"x\": 1}}}}]", "inadmissible", "Error: lend_book: x: Extra inputs are not permitted"),
    ],
)  # fmt: skip
def test_rejected_actions_change_nothing(tasks: str, action: str, status: str, answer: str) -> None:
    env, _, info = started(tasks)
    assert env.classify_action(action)[0] == status
    observation, reward, terminated, _, after = env.step(action)
    assert observation.startswith(answer) and env.classify_action(action) == (status, observation)
    assert (reward, terminated, after["action_status"], after["state_key"]) == (
        0.0,
        False,
        status,
        info["state_key"],
    )
    terse, _, _ = started(tasks, feedback="classic")
    assert terse.step(action)[0] in ("Error: that is no valid call.", observation if action == BACK else "")


def test_a_list_goes_on_after_a_refusal(tasks: str) -> None:
    env, _, _ = started(tasks)
    observation, _, _, _, info = env.step(f"[{BACK}, {LEND}]")
    assert observation == "1. lend_book: Error: B2 is lent already\n2. lend_book: B1 is lent to bo"
    assert info["action_status"] == "ok"


TOOLS = ["find_book", "lend_book", "add_note", "set_airplane_mode", "other"]
VALUES = st.sampled_from(["Dune", "B1", "B2", "bo", "", 3, None, True, [], {"a": 1}]) | st.text(max_size=5)
CALLS = st.builds(
    lambda name, arguments: json.dumps({"name": name, "arguments": arguments}),
    st.sampled_from(TOOLS),
    st.dictionaries(st.sampled_from(["title", "book", "to", "text", "on", "x"]), VALUES, max_size=3),
)
TEXTS = (
    CALLS
    | st.lists(CALLS, max_size=3).map(lambda c: f"[{','.join(c)}]")
    | st.text()
    | st.text("{}[]\"':, \\aname<>")
)


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(TEXTS, min_size=1, max_size=6), st.sampled_from(["lend", "talk"]))
def test_no_text_raises_and_rejected_ones_leave_the_state(tasks: str, texts: list[str], task_id: str) -> None:
    env, _, info = started(tasks, task_id)
    for text in texts:
        foretold = env.classify_action(text)
        before, described = info["state_key"], env.describe_state()
        observation, reward, terminated, _, info = env.step(text)
        assert foretold[0] == info["action_status"]
        if info["action_status"] != "ok":
            assert foretold[1] == observation and (reward, terminated) == (0.0, terminated)
            assert info["state_key"] == before and env.describe_state() == described
        if terminated:
            break


def test_a_conversation_with_slots_turns_and_a_phone(tasks: str) -> None:
    env, observation, info = started(tasks, "talk")
    assert "Be brief." in observation and observation.endswith("User: Lend a book to cy.")
    assert "set_airplane_mode" not in observation and len(info["tools"]) == 3
    assert env.step("Which book, please?")[0] == "User: Dune."
    assert (
        env.step('{"name": "set_airplane_mode", "arguments": {"on": false}}')[4]["action_status"]
        == "inadmissible"
    )
    assert env.step("Switch airplane mode off, please.")[0] == "User: I try.\nset_airplane_mode: off"
    assert env.step("Shall I go on?")[0] == "User: Yes, please go ahead with what I asked for."
    assert env.step(FIND)[4]["action_status"] == "ok"
    assert env.step(LEND_CY)[0] == "B1 is lent to cy"
    assert env.step("Shall I go on?")[0] == "User: And write the note: back on Monday."
    observation, reward, terminated, _, info = play(
        env, '{"name": "add_note", "arguments": {"text": "back on Monday"}}', "Noted. Anything else?"
    )
    assert (reward, terminated, info["is_success"]) == (1.0, True, True)
    env.reset(options={"task_id": "talk"})
    assert play(env, *env.expert_actions())[1] == 1.0


def test_a_question_that_was_not_asked_is_missing(tasks: str) -> None:
    env, _, _ = started(tasks, "talk")
    plan = env.expert_actions()
    for index, action in enumerate(plan[:-1]):
        env.reset(options={"task_id": "talk"})
        *_, info = play(env, *plan[:index], *plan[index + 1 :])
        assert not info["is_success"], action


def test_new_records_may_have_other_keys(tasks: str) -> None:
    env, _, _ = started(tasks, "talk")
    plan = env.expert_actions()
    note, extra = plan[-2], '{"name": "add_note", "arguments": {"text": "hm"}}'
    *_, info = play(env, *plan[:-2], note, extra, plan[-1])
    assert info["reward_parts"]["collateral"] == 1 and info["reward_parts"]["delta_found"] == 3


def test_the_expert_after_a_detour(tasks: str) -> None:
    env, _, _ = started(tasks)
    play(env, '{"name": "find_book", "arguments": {"title": "Emma"}}', FIND, FIND)
    assert env.expert_actions() == [LEND, TELL]  # reading more does no harm
    env.step('{"name": "add_note", "arguments": {"text": "hm"}}')
    with pytest.raises(NoExpert, match="does not lead to success from here"):
        env.expert_actions()
    before = env.get_state()
    assert env.get_state() == before


def test_snapshots_travel(tasks: str) -> None:
    env, _, _ = started(tasks, "talk")
    play(env, "Which book, please?", FIND)
    snapshot = pickle.loads(pickle.dumps(env.get_state()))
    rest = env.expert_actions()
    first = [env.step(action)[0] for action in rest]
    other = EnvFactoryEnv(tasks=tasks, split="all")
    other.reset(options={"task_id": "lend"})
    observation, info = other.set_state(snapshot)
    assert json.loads(observation)["book"] == "B1" and info["task_id"] == "talk"
    assert [other.step(action)[0] for action in rest] == first and other.step("x")[4]["is_success"]


def test_environments_share_nothing(tasks: str) -> None:
    one, _, info = started(tasks)
    other, _, _ = started(tasks)
    one.step(LEND)
    assert other.step(FIND)[0].count("null") == 1 and info["state_key"] != one.get_state().hidden
    assert one.reset(options={"task_id": "lend"})[1]["state_key"] == info["state_key"]
    assert json.loads(one.step(FIND)[0])["owner"] is None


def test_state_keys_do_not_depend_on_the_way(tasks: str) -> None:
    one, _, _ = started(tasks, "talk")
    other, _, _ = started(tasks, "talk")
    note = '{"name": "add_note", "arguments": {"text": "hm"}}'
    assert play(one, note, LEND)[4]["state_key"] == play(other, LEND, note)[4]["state_key"]
    emma = FIND.replace("Dune", "Emma")  # which tells nothing that matters
    assert one.step(emma)[4]["state_key"] == other.step("{")[4]["state_key"] != one.step(FIND)[4]["state_key"]


def test_what_tasks_there_are(tasks: str) -> None:
    assert EnvFactoryEnv(tasks=tasks).task_ids() == ("lend",)
    assert EnvFactoryEnv(tasks=tasks, split="held_out").task_ids() == ("talk",)
    assert EnvFactoryEnv(tasks=f"{tasks}/{TASKS}", split="all").task_ids() == ("lend", "talk")
    env = EnvFactoryEnv(tasks=tasks)
    assert env.reset(options={"task_id": "talk"})[1]["task_id"] == "talk"  # one outside the split
    assert (env.task_type("talk"), env.task_type("lend"), env.task_type("?")) == ("multi_turn", "", "")
    with pytest.raises(DataNotFound, match=r"no task of split 'dev'.*\['held_out', 'train'\]"):
        EnvFactoryEnv(tasks=tasks, split="dev")
    with pytest.raises(DataNotFound, match=r"with only the toolkits \['bank'\]"):
        EnvFactoryEnv(tasks=tasks, toolkits=["bank"])
    with pytest.raises(DataNotFound, match="envrl factory build"):
        EnvFactoryEnv(tasks=f"{tasks}/nowhere")
    with pytest.raises(InvalidTask, match="no task 'x' among the 2"):
        env.reset(options={"task_id": "x"})


def test_toolkits_choose_among_the_builtin_tasks() -> None:
    env = EnvFactoryEnv(toolkits=["bank"])
    assert env.task_ids() and all("bank" in task_id and "+" not in task_id for task_id in env.task_ids())


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"suite": "other"}, "suite must be one of"),
        ({"reward": "half"}, "reward must be one of"),
        ({"feedback": "loud"}, "feedback must be one of"),
        ({"user": "nobody"}, "user must be"),
        ({"user": "nowhere:at"}, "expected 'module:function'"),
        ({"user": {"endpoint": "http://x"}}, "expected {'endpoint': URL, 'model': NAME}"),
        ({"render_mode": "human"}, "render_mode"),
    ],
)
def test_wrong_arguments(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("{", r"\{")):
        EnvFactoryEnv(**kwargs)


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        (TASKS, lambda t: t[: len(t) // 2], r"tasks.jsonl:1: expected a task, found"),
        (TASKS, lambda t: t + t, "is there twice"),
        (TASKS, lambda t: b"", "holds no task"),
        (TASKS, lambda t: t.replace(b'"outputs"', b'"outcomes"'), "outcomes: Extra inputs"),
        (STATES, lambda t: t.replace(b'"id":"s"', b'"id":"z"'), "expected the state 's'"),
        (STATES, lambda t: t[:30], "expected a state"),
        (STATES, lambda t: t.replace(b"1250.5", b'"dear"'), "expected a state of Shelf"),
    ],
)
def test_broken_files(tmp_path: Path, file: str, change: Any, message: str) -> None:
    folder = episodes.folder(tmp_path, episodes.LEND)
    path = tmp_path / file
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises((InvalidData, DataNotFound), match=message):
        EnvFactoryEnv(tasks=folder).reset()


def test_tasks_that_could_not_fail_are_refused() -> None:
    with pytest.raises(ValueError, match="doing nothing would solve it"):
        episodes.Task.model_validate({**episodes.LEND, "goal": [], "outputs": []})
    with pytest.raises(ValueError, match="doing nothing would solve it"):
        output = {"value": "x", "say": False, "see": False}
        episodes.Task.model_validate({**episodes.LEND, "goal": [], "outputs": [output]})
    with pytest.raises(ValueError, match="doing nothing would solve it"):
        episodes.Task.model_validate({**episodes.LEND, "ignored": ["**"], "outputs": []})
    with pytest.raises(ValueError, match="either `tool` or `say`"):
        episodes.Task.model_validate({**episodes.LEND, "reference": [{}]})
    with pytest.raises(ValueError, match="must differ"):
        episodes.Task.model_validate({**episodes.LEND, "toolkits": episodes.USE * 2})


def test_two_toolkits_with_tools_of_one_name(tmp_path: Path) -> None:
    uses = [{**episodes.USE[0], "name": name} for name in ("mine", "yours")]
    call = {"tool": "yours_lend_book", "arguments": {"book": "B1", "to": "bo"}}
    goal = [{"path": ["yours", "books", "B1", "owner"], "op": "set", "value": "bo"}]
    task = {**episodes.LEND, "toolkits": uses, "reference": [call], "goal": goal, "outputs": []}
    env, _, info = started(episodes.folder(tmp_path, task))
    names = [tool["function"]["name"] for tool in info["tools"]]
    assert names[:2] == ["mine_find_book", "mine_lend_book"] and names[4:6] == [
        "yours_find_book",
        "yours_lend_book",
    ]
    assert env.expert_actions()[-1] == "Done." and play(env, *env.expert_actions())[1] == 1.0


def test_a_large_state_is_not_copied(tmp_path: Path) -> None:
    books = {f"B{i}": {"title": f"Title {i}", "owner": None, "price": 5.0} for i in range(20_000)}
    state = {"books": {**books, **episodes.STATE["books"]}, "notes": {}}
    states: dict[str, tuple[str, Any]] = {"s": (episodes.SOURCE, state)}
    write_folder(tmp_path, [episodes.Task.model_validate(episodes.LEND)], states, {})
    env, _, info = started(str(tmp_path))
    again, _, _ = started(str(tmp_path))
    assert play(env, *env.expert_actions())[1] == 1.0
    shared = again._running._sessions["shelf"]._store.original.tables["books"]  # type: ignore[attr-defined]
    mine = env._running._sessions["shelf"]._store  # type: ignore[attr-defined]
    assert mine.original.tables["books"] is shared and len(mine.root.books.owned) < 20_000 + 1
    assert env.reset()[1]["state_key"] == info["state_key"]


def test_seeds_draw_tasks() -> None:
    env = EnvFactoryEnv()
    drawn = [env.reset(seed=seed)[1]["task_id"] for seed in range(5)]
    assert len(set(drawn)) > 1 and drawn == [env.reset(seed=seed)[1]["task_id"] for seed in range(5)]
    assert np.isfinite(len(env.task_ids()))
