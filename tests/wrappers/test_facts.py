import numpy as np
import pytest

from envrl.wrappers.facts import FACTS, InfoReader, offered


def facts(info, **kwargs):
    return dict(zip(FACTS, InfoReader(**kwargs).facts(info), strict=True))


def test_nothing_known_is_none():
    assert set(facts({}).values()) == {None} and InfoReader().extras({}) == {}


def test_foreign_values_are_converted():
    found = facts(
        {"goal": np.str_("g"), "task_id": 7, "is_success": np.bool_(True), "fault": ValueError("died")}
    )
    assert (found["goal"], found["task_id"], found["is_success"], found["fault"]) == ("g", "7", True, "died")
    assert type(found["goal"]) is str and type(found["is_success"]) is bool


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["a", "b"], ("a", "b")),
        (np.array(["a", "b"]), ("a", "b")),
        ((1, 2), ("1", "2")),
        ({"a": 1}, ("a",)),
        ((), ()),
        ("look", None),
        (3, None),
        (None, None),
    ],
)
def test_admissible_actions_of_any_form(value, expected):
    found = facts({"admissible_actions": value})["admissible_actions"]
    assert found == expected and (found is None or all(type(action) is str for action in found))


def test_extras_are_copies_that_json_can_hold():
    nested = {"list": [1, (2, np.float32(0.5))], 3: np.arange(2)}
    info = {"goal": "g", "nested": nested, "object": object(), "set": {1}, "bad": [object()], "none": None}
    extras = InfoReader().extras(info)
    assert extras == {"nested": {"list": [1, [2, 0.5]], "3": [0, 1]}, "none": None}
    nested["list"].append(4)
    assert extras["nested"]["list"] == [1, [2, 0.5]]


@pytest.mark.parametrize("templates", [("search[<q>]",), np.array(["search[<q>]"])])
def test_the_rest_of_the_contract_is_kept_only_where_it_says_something(templates):
    reader = InfoReader()
    assert reader.extras({"action_templates": (), "text_cut": False}) == {}
    assert reader.extras({"action_templates": templates, "text_cut": True}) == {"text_cut": True}
    assert offered({"action_templates": templates}) == {"action_templates": ["search[<q>]"]}
    assert offered({"action_templates": ()}) == offered({}) == {}


def test_one_key_may_be_two_facts():
    found = facts({"id": "x"}, info_keys={"goal": "id", "task_id": "id"})
    assert (found["goal"], found["task_id"], found["state_key"]) == ("x", "x", None)
    with pytest.raises(ValueError, match=r"info_keys may rename goal, .*; found 'colour'"):
        InfoReader({"colour": "red"})
