"""Environment ids and keyword arguments as a person types them."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envrl.commands.environment import parse_env_kwargs
from envrl.envs.errors import WrongUse
from envrl.envs.lookup import full_env_id, make_env


@pytest.mark.parametrize("name", ["EnvRL/ALFWorld-v0", "ALFWorld-v0", "alfworld", "ALFWORLD", "alfworld-v0"])
def test_short_ids(name: str) -> None:
    assert full_env_id(name) == "EnvRL/ALFWorld-v0"


@pytest.mark.parametrize("name", ["CartPole-v1", "some_package:Other/Text-v3"])
def test_foreign_ids_pass(name: str) -> None:
    assert full_env_id(name) == name


def test_values_are_json_where_they_are_json() -> None:
    words = ["a=5", "b=x y", "c=true", 'd=["p", "q"]', "e=", "f=a=b", '{"a": null, "g": {"h": 1}}']
    assert parse_env_kwargs(words) == {
        "a": None,
        "b": "x y",
        "c": True,
        "d": ["p", "q"],
        "e": "",
        "f": "a=b",
        "g": {"h": 1},
    }
    assert parse_env_kwargs([]) == {}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(NAMES, VALUES))
def test_both_forms_bring_every_json_value_back(kwargs: dict[str, object]) -> None:
    assert parse_env_kwargs([json.dumps(kwargs)]) == kwargs
    assert parse_env_kwargs([f"{key}={json.dumps(value)}" for key, value in kwargs.items()]) == kwargs


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.text(max_size=20), max_size=4))
def test_any_words_give_kwargs_or_a_clear_refusal(words: list[str]) -> None:
    try:
        kwargs = parse_env_kwargs(words)
    except WrongUse as error:
        assert any(repr(word) in str(error) for word in words)
    else:
        assert all(isinstance(key, str) for key in kwargs)


def test_make_env_reports_what_the_environment_does_not_take() -> None:
    with pytest.raises(WrongUse, match=r"cannot be made with .*speed"):
        make_env("alfworld", {"speed": 1})
    with pytest.raises(WrongUse, match=r"no_such_package.*install"):
        make_env("no_such_package:Text-v0", {})
