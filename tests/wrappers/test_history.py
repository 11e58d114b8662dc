import dataclasses
import doctest
import pickle

import gymnasium
import pytest
from foreign_env import ForeignEnv
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st
from toy_env import ToyEnv

import envrl.wrappers.history
from envrl.wrappers import HistoryPrompt, PromptTemplate, RecordTransitions, iter_episodes, render_prompt

PAST = [("a door", "open door"), ("a hall", "go north"), ("a wall", "go back")]


def test_the_default_prompt_word_for_word():
    assert render_prompt(PromptTemplate(), "find the coin", [], "a door", ["open door", "wait"]) == (
        "Your task: find the coin\n"
        "\n"
        "You see: a door\n"
        "\n"
        "Possible actions:\n"
        "- open door\n"
        "- wait\n"
        "\n"
        "Your action:"
    )
    assert render_prompt(PromptTemplate(), "find the coin", PAST, "a hall", last=2) == (
        "Your task: find the coin\n"
        "\n"
        "Steps so far: 3. The last 2:\n"
        "2. You saw: a hall\n"
        "   You did: go north\n"
        "3. You saw: a wall\n"
        "   You did: go back\n"
        "\n"
        "Now you see: a hall\n"
        "\n"
        "Your action:"
    )


SHORT = PromptTemplate(
    first="{observation}",
    later="{history}|{observation}|{shown}/{steps}",
    turn="{number}{observation}{action}",
)


@pytest.mark.parametrize(
    ("last", "steps", "expected"),
    [
        (None, None, "1a dooropen door\n2a hallgo north\n3a wallgo back|x|3/3"),
        (1, None, "3a wallgo back|x|1/3"),
        (9, None, "1a dooropen door\n2a hallgo north\n3a wallgo back|x|3/3"),
        (0, None, "x"),
        (None, 10, "8a dooropen door\n9a hallgo north\n10a wallgo back|x|3/10"),
    ],
)
def test_which_steps_are_shown_and_how_they_are_numbered(last, steps, expected):
    assert render_prompt(SHORT, "g", PAST, "x", last=last, steps=steps) == expected


def test_text_with_braces_is_left_alone():
    prompt = render_prompt(SHORT, "{goal}", [("{x}", "{}")], "{observation}", ["{0}"])
    assert prompt == "1{x}{}|{observation}|1/1"
    assert render_prompt(PromptTemplate(first="{{{goal}}}"), "g", [], "") == "{g}"


def test_what_does_not_fit_goes_oldest_first_then_the_observation_then_the_end():
    def fit(length: int) -> str:
        return render_prompt(SHORT, "", [("aaa", "b"), ("ccc", "d")], "0123456789", max_length=length)

    assert fit(26) == "1aaab\n2cccd|0123456789|2/2"
    assert fit(25) == "2cccd|0123456789|1/2"
    assert fit(19) == "0123456789"
    assert fit(4) == "0123"
    frame = PromptTemplate(first="<{observation}>{admissible}", admissible="[{actions}]")
    assert render_prompt(frame, "", [], "0123456789", ["go"], max_length=12) == "<0123>[- go]"
    assert render_prompt(frame, "", [], "0123456789", ["go"], max_length=5) == "<>[- "


@given(
    st.lists(st.tuples(st.text(max_size=9), st.text(max_size=9)), max_size=5),
    st.text(max_size=30),
    st.lists(st.text(max_size=9), max_size=4),
    st.integers(0, 200),
)
def test_a_prompt_is_never_longer_than_asked(history, observation, admissible, max_length):
    whole = render_prompt(PromptTemplate(), "goal", history, observation, admissible)
    cut = render_prompt(PromptTemplate(), "goal", history, observation, admissible, max_length=max_length)
    assert len(cut) <= max_length
    assert cut == whole or len(whole) > max_length


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"turn": "{goal}"}, r"PromptTemplate\.turn may use {number}, {observation}, {action}, found {goal}"),
        ({"first": "{}"}, r"PromptTemplate\.first may use"),
        ({"later": "{goal.__class__}"}, r"found {goal.__class__}"),
        ({"action": "{action"}, r"PromptTemplate\.action is no format string"),
    ],
)
def test_a_template_with_wrong_fields_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        PromptTemplate(**changes)
    with pytest.raises(ValueError, match=message):
        HistoryPrompt(ToyEnv(), template=changes)


def test_a_template_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        SHORT.turn = ""


# ---- the wrapper -------------------------------------------------------------------------------------------

BRIEF = {
    "first": "{goal}: {observation} {admissible}",
    "later": "{history} -> {observation}",
    "turn": "{number}:{action}",
    "turn_separator": ",",
    "admissible": "({actions})",
    "action": "{action}",
    "action_separator": "/",
}


def test_the_wrapper_step_by_step():
    env = HistoryPrompt(ToyEnv(), length=2, template=BRIEF)
    prompt, info = env.reset(options={"task_id": "coin-0"})
    start = "You are in the hall. A coin is hidden somewhere."
    assert prompt == f"bring the coin to the hall: {start} (go to attic/go to cellar/go to müll room/look)"
    assert info["raw_observation"] == start and info["task_id"] == "coin-0"
    assert env.step("look")[0] == "1:look -> A coin!"
    assert env.step("sing")[0] == "1:look,2:sing -> What?"
    prompt, reward, terminated, _, info = env.step("take coin")
    assert prompt == "2:sing,3:take coin -> You hold the coin."
    assert (reward, terminated, info["raw_observation"]) == (0.0, False, "You hold the coin.")
    prompt, _ = env.reset(options={"task_id": "coin-0"})
    assert prompt.startswith("bring the coin")


def test_no_history_and_no_actions_on_request():
    env = HistoryPrompt(ToyEnv(), length=0, template=BRIEF, show_admissible=False)
    env.reset(options={"task_id": "coin-0"})
    assert env.step("look")[0] == "bring the coin to the hall: A coin! "


def test_facts_of_a_foreign_environment():
    env = HistoryPrompt(ForeignEnv(), template=BRIEF, info_keys={"admissible_actions": "admissible_commands"})
    assert env.reset()[0] == ": 3 left (say 3)"
    assert HistoryPrompt(ForeignEnv(), template=BRIEF).reset()[0] == ": 3 left "


def test_it_is_a_good_gymnasium_environment():
    env = HistoryPrompt(gymnasium.make("Toy/Coin-v0"), max_length=120)
    observation, _ = env.reset(seed=1)
    assert len(observation) == 120 and observation in env.observation_space
    with pytest.warns(UserWarning, match="different from the unwrapped version"):
        check_env(env, skip_render_check=True)


@pytest.mark.parametrize("template", [None, BRIEF, SHORT])
def test_a_stored_spec_rebuilds_it(template):
    env = HistoryPrompt(gymnasium.make("Toy/Coin-v0"), length=5, template=template)
    for spec in (pickle.loads(pickle.dumps(env.spec)), EnvSpec.from_json(env.spec.to_json())):
        again = gymnasium.make(spec)
        assert again.template == env.template
        assert again.reset(seed=3)[0] == env.reset(seed=3)[0]


def test_branching_takes_the_history_along(tmp_path):
    env = HistoryPrompt(RecordTransitions(gymnasium.make("Toy/Coin-v0"), tmp_path), template=BRIEF)
    env.reset(options={"task_id": "coin-0"})
    env.step("look")
    state = pickle.loads(pickle.dumps(env.get_state()))
    ahead = env.step("take coin")[0]
    env.step("go to attic")
    prompt, info = env.set_state(state)
    assert prompt == "1:look -> A coin!" and info["raw_observation"] == "A coin!"
    assert env.step("take coin")[0] == ahead == "1:look,2:take coin -> You hold the coin."
    env.close()
    assert sorted(len(rows) for rows in iter_episodes(tmp_path)) == [1, 3]  # the recorder below was told


def test_a_recorder_above_records_prompts_and_branches_too(tmp_path):
    env = RecordTransitions(HistoryPrompt(ToyEnv(), template=BRIEF), tmp_path)
    env.reset(options={"task_id": "coin-0"})
    for action in ("look", "take coin", "drop coin"):
        state = env.get_state()
        env.step(action)
    env.set_state(env.get_state())
    env.step("look")  # after the end
    env.set_state(state)
    env.step("drop coin")
    env.close()
    first, branch = sorted(iter_episodes(tmp_path), key=len, reverse=True)
    assert [row.action for row in first] == ["look", "take coin", "drop coin"]
    assert [row.observation for row in branch] == ["1:look,2:take coin -> You hold the coin."]


def test_wrong_use_is_told():
    with pytest.raises(ValueError, match="expected >= 0, found -1"):
        HistoryPrompt(ToyEnv(), length=-1)
    with pytest.raises(ValueError, match=r"PromptTemplate has first, later.*found 'turns'"):
        HistoryPrompt(ToyEnv(), template={"turns": "x"})


def test_the_examples_in_the_docstrings():
    assert doctest.testmod(envrl.wrappers.history).failed == 0
