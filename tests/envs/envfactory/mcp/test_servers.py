"""Sessions over real servers: state, deltas, snapshots, errors, whichever way the server keeps its state."""

import base64
import json
import pickle
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp_servers import LEDGER, filesystem, ledger, memory, sqlite

from envrl.envs.envfactory.delta import Change
from envrl.envs.envfactory.mcp import McpSession, McpSource
from envrl.envs.envfactory.schema import InvalidToolkit
from envrl.envs.envfactory.session import Result, SessionFault
from envrl.envs.errors import DataNotFound, InvalidData

Begin = Callable[..., McpSession]
Make = Callable[[dict[str, Any]], McpSource]


def test_a_server_that_loads_and_saves(session: Begin) -> None:
    bank = session(ledger(tools=["balance", "deposit", "careless"]))
    assert list(bank.tools) == ["balance", "deposit", "careless"]
    assert [bank.tools[name].effect for name in bank.tools] == ["read", "write", "write"]
    assert bank.tools["deposit"].check({"account": "ann", "amount": "3"})[1] == (
        "amount: should be an integer, found string"
    )
    before = bank.digest()
    assert bank.call("deposit", {"account": "bob", "amount": 5}) == Result("5", 5, True)
    assert bank.data() == {"ann": 3, "bob": 5} and bank.digest() != before
    assert bank.changes() == [Change(("bob",), "add", 5)]
    kept = pickle.loads(pickle.dumps(bank.snapshot()))
    bank.call("deposit", {"account": "ann", "amount": 1})
    bank.restore(kept)
    assert bank.data() == {"ann": 3, "bob": 5}


def test_what_a_failed_call_changed_is_taken_back(session: Begin) -> None:
    bank = session(ledger())
    before = bank.digest()
    result = bank.call("careless", {"account": "ann"})
    assert not result.ok and "went wrong afterwards" in result.text
    assert bank.digest() == before and bank.data() == {"ann": 3}


def test_a_tool_that_only_says_that_it_reads_is_found_out(session: Begin) -> None:
    bank = session(ledger())
    assert bank.tools["liar"].effect == "read"
    bank.call("liar", {})
    assert bank.changes() == [Change(("ann",), "remove")]


def test_sessions_and_resets_share_nothing(source: Make) -> None:
    made = source(ledger())
    one, other = made.open(), made.open()
    for session, state in ((one, {"ann": 1}), (other, {"bob": 2})):
        session.reset(made.load(json.dumps(state).encode()))
    pids = {session.call("whoami", {}).value["pid"] for session in (one, other)}
    assert len(pids) == 2
    one.call("deposit", {"account": "ann", "amount": 10})
    assert other.data() == {"bob": 2}
    one.reset(made.load(b'{"ann": 1}'))
    assert one.data() == {"ann": 1}
    one.close()
    other.close()


def test_the_directory_is_private_and_has_one_name(session: Begin) -> None:
    fresh = {"load_tool": None, "save_tool": None, "states": None, "restart": True}
    description = {key: value for key, value in ledger().items() if key not in fresh}
    ledger_here = session({**description, "files": {"old.txt": "x"}})
    result = ledger_here.call("write_note", {"name": "/workspace/a.txt", "text": "see /workspace/old.txt"})
    assert result.text == "/workspace/a.txt"
    assert ledger_here.changes()[0].path == ("files", "a.txt")
    who = ledger_here.call("whoami", {}).value
    assert (who["cwd"], who["home"]) == ("/workspace", "/workspace-private/home")


def test_memory_is_brought_back_by_playing_the_calls_again(source: Make) -> None:
    """The ledger without its load and save tools: all that is known of its memory is what a read call shows."""
    description = {key: value for key, value in ledger().items() if "_tool" not in key and key != "states"}
    made = source({**description, "reads": [{"tool": "save_ledger"}]})
    one = made.open()
    one.reset(made.load(b'{"files": {}}'))
    one.call("deposit", {"account": "ann", "amount": 2})
    first = one.call("whoami", {}).value["pid"]
    kept = one.snapshot()
    one.call("deposit", {"account": "ann", "amount": 3})
    assert one.data()["reads"] == {"save_ledger": {"ann": 5}}
    one.restore(kept)
    assert one.data()["reads"] == {"save_ledger": {"ann": 2}}
    assert one.call("whoami", {}).value["pid"] != first, "a fresh process"
    twin = made.open()
    twin.reset(made.load(json.dumps(one.data()).encode()))
    assert twin.digest() == one.digest(), "what is saved says how it came about"
    one.call("careless", {"account": "ann"})
    assert one.data()["reads"] == {"save_ledger": {"ann": 2}}
    one.reset(made.load(b'{"files": {}}'))
    assert one.data() == {"files": {}, "reads": {"save_ledger": {}}}
    for session in (one, twin):
        session.close()


def test_filesystem_server(session: Begin) -> None:
    files = session(filesystem())
    assert files.tools["read_text_file"].effect == "read" and files.tools["move_file"].effect == "write"
    assert files.call("read_text_file", {"path": "/workspace/notes/todo.txt"}).value == "buy milk\ncall Ann\n"
    before = files.digest()
    refused = files.call("move_file", {"source": "/workspace/none", "destination": "/workspace/x"})
    assert not refused.ok and files.digest() == before
    outside = files.call("read_text_file", {"path": "/etc/passwd"})
    assert not outside.ok
    kept = files.snapshot()
    files.call("move_file", {"source": "/workspace/report.md", "destination": "/workspace/notes/report.md"})
    files.call("create_directory", {"path": "/workspace/empty"})
    assert files.changes() == [
        Change(("files", "report.md"), "remove"),
        Change(("files", "empty/"), "add", None),
        Change(("files", "notes/report.md"), "add", "# Report\n"),
    ]
    pickle.loads(pickle.dumps(kept))
    files.restore(kept)
    assert files.digest() == before and files.changes() == []
    files.call("write_file", {"path": "/workspace/report.md", "content": "# Revised\n"})
    assert files.changes() == [Change(("files", "report.md"), "set", "# Revised\n")]


def test_memory_server(session: Begin) -> None:
    graph = session(memory(restart=False, reads=[{"tool": "read_graph"}]))
    entity = {"name": "Ann", "entityType": "person", "observations": ["likes tea"]}
    assert graph.call("create_entities", {"entities": [entity]}).ok
    assert graph.data()["reads"]["read_graph"] == {"entities": [entity], "relations": []}
    assert (
        graph.tools["create_entities"]
        .check({"entities": [{"name": "Bob"}]})[1]
        .startswith("entities.0.entityType: is missing")
    )


def test_memory_server_that_keeps_its_file_elsewhere_is_seen(source: Make) -> None:
    """Without MEMORY_FILE_PATH it writes beside its own program, where every process of it reads."""
    made = source({**memory(), "env": {}, "reads": [{"tool": "read_graph"}]})
    one, other = made.open(), made.open()
    for session in (one, other):
        session.reset(made.load(b'{"files": {}}'))
    before = other.digest()
    entity = {"name": "Leak", "entityType": "test", "observations": []}
    one.call("create_entities", {"entities": [entity]})
    leaked = other.call("read_graph", {}).value
    one.call("delete_entities", {"entityNames": ["Leak"]})
    other.changes()
    assert entity in leaked["entities"] and before == other.digest()
    for session in (one, other):
        session.close()


def test_sqlite_server_on_an_older_sdk(session: Begin, tmp_path: Path) -> None:
    file = tmp_path / "shop.db"
    with sqlite3.connect(file) as database:
        database.execute("create table item (name text, price real)")
        database.execute("insert into item values ('lamp', 20.5)")
    database.close()
    state = {"files": {"shop.db": {"base64": base64.b64encode(file.read_bytes()).decode()}}}
    description = sqlite(reads=[{"tool": "read_query", "arguments": {"query": "select * from item"}}])
    shop = session(description, state)
    label = 'read_query{"query": "select * from item"}'
    kept = shop.snapshot()
    assert shop.call("write_query", {"query": "insert into item values ('desk', 99)"}).ok
    assert "'desk'" in str(shop.data()["reads"][label])
    before = shop.digest()
    refused = shop.call("write_query", {"query": "insert into none values (1)"})
    assert not refused.ok and "no such table" in refused.text, "the server itself does not call this an error"
    assert shop.digest() == before
    shop.restore(kept)
    assert "'desk'" not in str(shop.data()["reads"][label])


def test_time_server_has_no_state(session: Begin) -> None:
    pytest.importorskip("mcp_server_time", reason="needs the package mcp-server-time (make data-packages)")
    clock = session({"command": "{python}", "args": ["-m", "mcp_server_time"], "tools": ["convert_time"]})
    before = clock.digest()
    asked = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    assert clock.call("convert_time", asked).value["time_difference"] == "+9.0h"
    assert not clock.call("convert_time", {**asked, "time": "25:00"}).ok
    assert clock.digest() == before and clock.changes() == []


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"save_tool": None}, InvalidData, "go together"),
        ({"colour": 1}, InvalidData, "known keys are"),
        ({"root": "workspace"}, InvalidData, "absolute path"),
        ({"states": "none.jsonl"}, DataNotFound, r"none\.jsonl"),
        ({"args": ["{here}/none.py"]}, DataNotFound, r"none\.py"),
        ({"states": []}, InvalidData, "holds no state"),
        ({"failures": ["("]}, InvalidData, "no regular expression"),
        ({"tools": ["fly"]}, InvalidToolkit, "have a tool 'fly'"),
        ({"args": [str(LEDGER), "--twins"]}, InvalidToolkit, "would both be called 'my_balance'"),
        ({"load_tool": "deposit"}, InvalidToolkit, "expected one argument"),
        ({"command": "no-such-program"}, SessionFault, "cannot run no-such-program"),
        ({"args": ["-c", "print('no protocol', flush=True)"]}, SessionFault, "did not start"),
        ({"states": [{"ann": "much"}]}, SessionFault, "does not load a state"),
    ],
)
def test_says_what_is_wrong_with_a_description(
    source: Make, change: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        made = source({**ledger(), **change})
        state = json.dumps(made._states[0]).encode()
        assert made.tools
        made.open().reset(made.load(state))


def test_states_that_are_none(source: Make) -> None:
    made = source(filesystem())
    for state, words in (
        ({"file": {}}, "expected a state"),
        ({"files": {"../x": "a"}}, "below the server's directory"),
        ({"files": {"x": {"base64": "?"}}}, "expected base64"),
        ({"files": {"x": {"blake2b": "00", "bytes": 3}}}, "by digest only"),
    ):
        with pytest.raises(InvalidData, match=words):
            made.load(json.dumps(state).encode())


def test_a_desktop_clients_file_will_do(source: Make) -> None:
    inner = {"type": "stdio", "command": "node", "args": ["x"], "env": {"A": "b"}}
    made = source({"mcpServers": {"notes": inner}})
    assert (made.name, made.description.args) == ("notes", ("x",))
    with pytest.raises(InvalidData, match="found 2"):
        source({"mcpServers": {"a": inner, "b": inner}})
