"""Toolkits as authors write them: schemas from hints and docstrings, strict arguments, sessions, sources."""

import json
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envrl.envs.envfactory import InvalidToolkit, ToolError, Toolkit, next_id, tool
from envrl.envs.envfactory.schema import ToolSpec, read_docstring, type_words
from envrl.envs.envfactory.session import Result, ToolkitSession
from envrl.envs.envfactory.sources import fingerprint_of, load_class, open_source
from envrl.envs.envfactory.state import Original
from envrl.envs.envfactory.toolkits import BUILTIN
from envrl.envs.errors import DataNotFound, InvalidData


class AccountState(pydantic.BaseModel):
    balances: dict[str, float]


class Unit(Enum):
    KILO = "kg"
    TON = "t"


class Address(pydantic.BaseModel):
    street: str
    number: int


class Bank(Toolkit):
    State = AccountState

    @classmethod
    def sample_state(cls, rng: np.random.Generator) -> AccountState:
        return AccountState(balances={"ann": float(rng.integers(10, 99)), "bo": 5.0})

    @tool(effect="write", phrases="Move {amount} from {source} to {target}.")
    def transfer(self, source: str, target: str, amount: float) -> str:
        """Move money between accounts.

        The amount leaves at once.

        Args:
            source: who pays
            target: who receives,
                by name
            amount (float): how much
        """
        for name in (source, target):
            if name not in self.state.balances:
                raise ToolError(f"no account {name!r}")
        self.state.balances[source] -= amount
        if self.state.balances[source] < 0:
            raise ToolError("not enough money")
        self.state.balances[target] += amount
        return "done"

    @tool(effect="read", name="balance")
    def read_balance(self, name: str, unit: Unit = Unit.KILO, where: Address | None = None) -> dict[str, Any]:
        """Show a balance."""
        return {"balance": self.state.balances[name], "unit": unit, "street": where.street if where else None}


class Lying(Bank):
    last: ClassVar[list[str]] = []

    @tool(effect="read", name="balance")
    def read_balance(self, name: str) -> float:
        """Show a balance, and charge for it."""
        self.state.balances[name] -= 1
        return float(self.state.balances[name])


def session(kind: type[Toolkit] = Bank, trusted: bool = False) -> ToolkitSession:
    made = ToolkitSession(kind, trusted)
    made.reset(Original(kind.State, {"balances": {"ann": 50, "bo": 5}}))
    return made


def test_a_schema_from_hints_and_docstring() -> None:
    spec = Bank.tools()["transfer"]
    assert (spec.name, spec.effect, spec.required) == ("transfer", "write", ("source", "target", "amount"))
    assert spec.description == "Move money between accounts.\n\nThe amount leaves at once."
    assert spec.parameters == {
        "type": "object",
        "additionalProperties": False,
        "required": ["source", "target", "amount"],
        "properties": {
            "source": {"type": "string", "description": "who pays"},
            "target": {"type": "string", "description": "who receives, by name"},
            "amount": {"type": "number", "description": "how much"},
        },
    }
    assert (
        spec.signature()
        == "transfer(source: string, target: string, amount: number) - Move money between accounts."
    )
    assert spec.openai()["function"]["name"] == "transfer" and json.dumps(spec.openai())
    assert spec.phrases == ("Move {amount} from {source} to {target}.",)
    assert (
        Bank.tools()["balance"]
        .signature()
        .startswith('balance(name: string, unit: object = "kg", where: object|null')
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"source": "ann", "target": "bo", "amount": 5}, ""),
        ({"source": "ann", "target": "bo", "amount": "5"}, "amount: Input should be a valid number"),
        ({"source": "ann", "target": "bo"}, "amount: Field required"),
        ({"source": "ann", "target": "bo", "amount": 1, "x": 2}, "x: Extra inputs are not permitted"),
        ({"source": 1, "target": None, "amount": True}, "source: Input should be a valid string"),
        ({"source": "\ud800", "target": "bo", "amount": 1}, "not valid JSON"),
        ({}, "source: Field required; target: Field required; amount: Field required"),
    ],
)
def test_arguments_are_checked_strictly(arguments: dict[str, Any], complaint: str) -> None:
    checked, found = Bank.tools()["transfer"].check(arguments)
    assert (checked is None) == bool(complaint) and complaint in found


def test_enums_and_models_are_read_as_json_says() -> None:
    where = {"street": "Elm", "number": 3}
    checked, _ = Bank.tools()["balance"].check({"name": "ann", "unit": "t", "where": where})
    assert checked == {"name": "ann", "unit": Unit.TON, "where": Address(street="Elm", number=3)}
    result = session().call("balance", checked)
    assert result == Result(
        '{"balance":50.0,"unit":"t","street":"Elm"}', {"balance": 50.0, "unit": "t", "street": "Elm"}, True
    )
    assert "kg" in Bank.tools()["balance"].check({"name": "ann", "unit": "lb"})[1]


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_checking_never_raises(value: Any) -> None:
    for arguments in ({"name": value}, value if isinstance(value, dict) else {"unit": value}):
        checked, complaint = Bank.tools()["balance"].check(arguments)
        assert (checked is None) == bool(complaint)


def test_docstrings() -> None:
    text = "Pay.\n\nMore of it.\n\nArgs:\n    a: first\n    b (int): second:\n        third\n\nReturns:\n    c: none\n"
    assert read_docstring(text) == ("Pay.\n\nMore of it.", {"a": "first", "b": "second: third"})
    assert read_docstring("") == ("", {})
    assert (
        type_words({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]})
        == "integer[]|null"
    )


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("def f(self, x):\n        '''D.'''", "needs a type hint"),
        ("def f(self, *x: int):\n        '''D.'''", "named parameters only"),
        ("def f(self, x: int): ...", "docstring"),
        ("def f(self, x: 'Nowhere'):\n        '''D.'''", "cannot be read"),
        ("def f(self, x: complex.__class__):\n        '''D.'''", "no JSON schema"),
    ],
)
def test_methods_that_are_no_tools(body: str, complaint: str) -> None:
    scope: dict[str, Any] = {"Toolkit": Toolkit, "tool": tool}
    exec(f"class T(Toolkit):\n    @tool(effect='read')\n    {body}", scope)
    with pytest.raises(InvalidToolkit, match=complaint):
        scope["T"].tools()


def test_other_faults_of_a_class() -> None:
    with pytest.raises(InvalidToolkit, match="'read' or 'write'"):
        tool(effect="delete")  # type: ignore[arg-type]
    with pytest.raises(InvalidToolkit, match="no tools"):
        type("Empty", (Toolkit,), {}).tools()
    with pytest.raises(InvalidToolkit, match="State must be a pydantic"):
        type("NoState", (Toolkit,), {})()
    with pytest.raises(InvalidToolkit, match="sample_state"):
        type("NoSample", (Toolkit,), {"State": AccountState})()
    with pytest.raises(InvalidToolkit, match="letters, digits"):
        ToolSpec("a b", "read", "d", {}, lambda a: (dict(a), ""), {})
    with pytest.raises(InvalidToolkit, match="two tools"):
        twice = {"a": Bank.__dict__["transfer"], "b": Bank.__dict__["transfer"]}
        marked = {k: tool(effect="read", name="same")(lambda self: None) for k in twice}
        for method in marked.values():
            method.__doc__ = "D."
        type("Twice", (Toolkit,), marked).tools()
    with pytest.raises(InvalidToolkit, match="no parameter"):
        scope: dict[str, Any] = {"Toolkit": Toolkit, "tool": tool}
        exec(
            "class T(Toolkit):\n    @tool(effect='read', phrases='Do {y}.')\n    def f(self, x: int):\n        'D.'",
            scope,
        )
        scope["T"].tools()


def test_tools_are_inherited_replaced_and_taken_away() -> None:
    assert list(Lying.tools()) == ["transfer", "balance"] and list(
        Lying.tools()["balance"].parameters["properties"]
    ) == ["name"]
    assert list(type("Less", (Bank,), {"transfer": None}).tools()) == ["balance"]
    assert Bank.name == "bank" and type("MyHTTPBank2", (Bank,), {}).name == "my_httpbank2"


def test_save_and_load() -> None:
    bank = Bank({"balances": {"ann": 3}})
    assert bank.save() == {"balances": {"ann": 3.0}} and Bank.load(bank.save()).state == bank.state
    assert Bank().state == Bank.sample_state(np.random.default_rng(0))
    assert next_id("T", {"T7", "T8"}, first=7) == "T9"


def test_a_call_and_what_it_changed() -> None:
    bank = session()
    digest = bank.digest()
    assert bank.call("transfer", {"source": "ann", "target": "bo", "amount": 20}).text == "done"
    assert [(c.path, c.op, c.value) for c in bank.changes()] == [
        (("balances", "ann"), "set", 30.0),
        (("balances", "bo"), "set", 25.0),
    ]
    snapshot = bank.snapshot()
    bank.reset(Original(AccountState, {"balances": {"ann": 50, "bo": 5}}))
    assert bank.digest() == digest and bank.changes() == []
    bank.restore(snapshot)
    assert bank.data() == {"balances": {"ann": 30.0, "bo": 25.0}}


@pytest.mark.parametrize("trusted", [False, True])
def test_a_call_that_fails_changes_nothing(trusted: bool) -> None:
    bank = session(trusted=trusted)
    digest = bank.digest()
    result = bank.call("transfer", {"source": "bo", "target": "ann", "amount": 20})  # takes before it looks
    assert result == Result("Error: not enough money", None, False)
    result = bank.call("balance", {"name": "cy"})
    assert result.text == "Error: balance failed: KeyError: 'cy'" and not result.ok
    assert bank.digest() == digest and bank.data() == {"balances": {"ann": 50.0, "bo": 5.0}}


def test_the_word_of_a_reading_tool_is_not_taken() -> None:
    lying = session(Lying)
    assert lying.call("balance", {"name": "ann"}).ok and lying.data()["balances"]["ann"] == 49.0
    trusted = session(Lying, trusted=True)
    result = trusted.call("balance", {"name": "ann"})
    assert "marked as reading and changed the state" in result.text and not result.ok
    assert trusted.data()["balances"]["ann"] == 50.0


def test_sessions_share_nothing() -> None:
    one, other = session(), session()
    one.call("transfer", {"source": "ann", "target": "bo", "amount": 20})
    assert other.data() == {"balances": {"ann": 50.0, "bo": 5.0}}


FILE = '''
import pydantic
from envrl.envs.envfactory import Toolkit, tool

class S(pydantic.BaseModel):
    n: int = 0

class Counter(Toolkit):
    """Counts."""
    State = S

    @classmethod
    def sample_state(cls, rng):
        return S(n=int(rng.integers(100)))

    @tool(effect="write")
    def count(self) -> int:
        """Count one further."""
        self.state.n += 1
        return self.state.n
'''


def test_sources_by_name(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FILE)
    source = open_source("mine.py:Counter", tmp_path)
    assert source.name == "counter" and source.spec == "mine.py:Counter" and list(source.tools) == ["count"]
    assert open_source(f"{tmp_path}/mine.py:Counter").tools.keys() == source.tools.keys()
    assert load_class("mine.py:Counter", tmp_path) is load_class("mine.py:Counter", tmp_path)
    running = source.open()
    running.reset(source.load(json.dumps(source.sample(np.random.default_rng(3))).encode()))
    assert running.call("count", {}).value == source.sample(np.random.default_rng(3))["n"] + 1
    assert source.load(b'{"n":1}') is source.load(b'{"n":1}')
    assert open_source("envrl.envs.envfactory.toolkits.bank:Bank").name == "bank"
    for name in BUILTIN:
        assert open_source(f"builtin:{name}").name == name


def test_edited_code_is_another_class(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FILE)
    before = load_class("mine.py:Counter", tmp_path)
    (tmp_path / "mine.py").write_text(FILE.replace("+= 1", "+= 2"))
    after = load_class("mine.py:Counter", tmp_path)
    assert (
        before is not after and fingerprint_of(before) == fingerprint_of(after) != ""
    )  # both of the file as it is


@pytest.mark.parametrize(
    ("spec", "error", "words"),
    [
        ("builtin:nothing", DataNotFound, "no builtin toolkit"),
        ("nowhere.at.all:Thing", DataNotFound, "nowhere"),
        ("json:JSONDecoder", InvalidToolkit, "expected a subclass"),
        ("envrl.envs.envfactory.toolkits.bank:Nothing", DataNotFound, "has no 'Nothing'"),
        ("absent.py:Thing", DataNotFound, "no such file"),
        ("just words", DataNotFound, "expected builtin:NAME"),
    ],
)
def test_names_that_lead_nowhere(spec: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        open_source(spec)


def test_files_that_do_not_load(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import no_such_module_at_all")
    with pytest.raises(InvalidToolkit, match="no_such_module_at_all"):
        open_source("broken.py:X", tmp_path)
    with pytest.raises(InvalidData, match="expected a state of Bank"):
        open_source("builtin:bank").load(b'{"accounts": 3}')


def test_literals_become_choices() -> None:
    class Lamp(Bank):
        @tool(effect="read")
        def shine(self, level: Literal["low", "high"], times: int = 2) -> str:
            """Shine."""
            return level

    assert Lamp.tools()["shine"].signature() == 'shine(level: "low"|"high", times: integer = 2) - Shine.'
    assert Lamp.tools()["shine"].check({"level": "mid"})[1] == "level: Input should be 'low' or 'high'"
