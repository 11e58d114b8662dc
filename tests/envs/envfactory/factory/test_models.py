"""Language models in the factory, behind a real endpoint: rewording that loses nothing, and policies."""

import json
from collections.abc import Iterator

import pytest
from chat_server import ChatServer, chat_server

from envrl.envs.envfactory.factory.chain import Chain, ChainCall, Origin
from envrl.envs.envfactory.factory.models import keeps_all, load_policy, load_reword

FOUND = {"account": Origin(0, "account", {"kind": "joint"})}
CALLS = (
    ChainCall("list_accounts", "bank", {"owner": "Ada Brandt"}, 0, True),
    ChainCall("freeze_account", "bank", {"account": "A1"}, 0, False, FOUND),
)
CHAIN = Chain([0], {"bank": 0}, CALLS)
TEXT = "Freeze the joint account of Ada Brandt."


@pytest.fixture
def model() -> Iterator[ChatServer]:
    with chat_server() as server:
        yield server


def test_rewording_must_keep_every_value(model: ChatServer) -> None:
    good, bad = "Ada Brandt wants her joint account frozen.", "Freeze the account of Ada Brandt."
    assert keeps_all(good, TEXT, CHAIN) and not keeps_all(bad, TEXT, CHAIN)
    reword = load_reword(f"{model.url}#m")
    assert reword is not None
    model.answers[:] = [good, bad]
    assert (reword(TEXT, CHAIN), reword(TEXT, CHAIN)) == (good, TEXT)
    assert model.asked[0][2]["messages"][0]["content"].endswith(TEXT)


def test_a_policy_remembers_its_episode_only(model: ChatServer) -> None:
    policy = load_policy(f"{model.url}#m")
    assert policy is not None
    info = {"goal": TEXT, "tools": [{"type": "function"}]}
    model.answers[:] = ["one", "two", "three"]
    assert [policy(text, info) for text in (f"Rules.\n\nUser: {TEXT}", "a result", f"Rules.\n\nUser: {TEXT}")] == [
        "one", "two", "three",
    ]  # fmt: skip
    assert [len(body["messages"]) for _, _, body in model.asked] == [2, 4, 2]


def test_functions_and_nothing(model: ChatServer) -> None:
    assert load_reword(None) is None and load_policy(None) is None
    assert load_reword("json:dumps") is json.dumps and load_policy("json:loads") is json.loads
