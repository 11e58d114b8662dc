"""Language models in the factory, behind a real endpoint: rewording that loses nothing, and policies."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from envrl.envs.envfactory.factory.chain import Chain, ChainCall, Origin
from envrl.envs.envfactory.factory.models import keeps_all, load_policy, load_reword

FOUND = {"account": Origin(0, "account", {"kind": "joint"})}
CALLS = (
    ChainCall("list_accounts", "bank", {"owner": "Ada Brandt"}, 0, True),
    ChainCall("freeze_account", "bank", {"account": "A1"}, 0, False, FOUND),
)
CHAIN = Chain([0], {"bank": 0}, CALLS)
TEXT = "Freeze the joint account of Ada Brandt."


class Model(BaseHTTPRequestHandler):
    """Answers with what the test put in."""

    def do_POST(self) -> None:
        server: Any = self.server
        server.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"choices": [{"message": {"content": server.answers.pop(0)}}]}).encode())

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def model() -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.asked, server.answers = [], []
    server.place = f"http://127.0.0.1:{server.server_port}/v1#m"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_rewording_must_keep_every_value(model: Any) -> None:
    good, bad = "Ada Brandt wants her joint account frozen.", "Freeze the account of Ada Brandt."
    assert keeps_all(good, TEXT, CHAIN) and not keeps_all(bad, TEXT, CHAIN)
    reword = load_reword(model.place)
    assert reword is not None
    model.answers[:] = [good, bad]
    assert (reword(TEXT, CHAIN), reword(TEXT, CHAIN)) == (good, TEXT)
    assert model.asked[0]["messages"][0]["content"].endswith(TEXT)


def test_a_policy_remembers_its_episode_only(model: Any) -> None:
    policy = load_policy(model.place)
    assert policy is not None
    info = {"goal": TEXT, "tools": [{"type": "function"}]}
    model.answers[:] = ["one", "two", "three"]
    assert [policy(text, info) for text in (f"Rules.\n\nUser: {TEXT}", "a result", f"Rules.\n\nUser: {TEXT}")] == [
        "one", "two", "three",
    ]  # fmt: skip
    assert [len(body["messages"]) for body in model.asked] == [2, 4, 2]


def test_functions_and_nothing(model: Any) -> None:
    assert load_reword(None) is None and load_policy(None) is None
    assert load_reword("json:dumps") is json.dumps and load_policy("json:loads") is json.loads
