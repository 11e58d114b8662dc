"""Toolkits from databases and CSV folders: what is recognised, and that the result is a toolkit like any other."""

import csv
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envrl.envs.envfactory.generators import generate, is_document
from envrl.envs.envfactory.generators.generate import blueprint_of
from envrl.envs.envfactory.generators.rows import draw_rows
from envrl.envs.envfactory.session import ToolkitSession
from envrl.envs.envfactory.sources import ToolkitSource, open_source
from envrl.envs.errors import DataNotFound, InvalidData

SCHEMA = """
create table customers(id integer primary key, name text not null, city text);
create table products(sku text primary key, title text not null, price real not null);
create table orders(
    id integer primary key,
    customer_id integer not null references customers(id),
    product text not null references products(sku),
    status text not null,
    class text not null,
    scan blob
);
create table blank(id integer primary key);
"""
CUSTOMERS = [(number, f"Person {number}", ["Oslo", "Rome"][number % 2]) for number in range(1, 31)]
PRODUCTS = [(f"SKU-{letter}", f"Thing {letter}", 2.5 * number) for number, letter in enumerate("abcdefgh", 1)]
ORDERS = [
    (number, 1 + number % 30, f"SKU-{'abcdefgh'[number % 8]}", ["open", "paid"][number % 2], "x", b"\0")
    for number in range(1, 61)
]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    database = sqlite3.connect(path)
    database.executescript(SCHEMA)
    for table, rows in (("customers", CUSTOMERS), ("products", PRODUCTS), ("orders", ORDERS)):
        database.executemany(f"insert into {table} values ({', '.join('?' * len(rows[0]))})", rows)
    database.commit()
    database.close()
    return path


@pytest.fixture
def session(shop: Path, tmp_path: Path) -> Iterator[ToolkitSession]:
    """The generated toolkit over all rows."""
    spec = generate(shop, tmp_path / "out")
    source = open_source(spec, tmp_path / "out")
    assert isinstance(source, ToolkitSource)
    made = source.open()
    made.reset(
        source.load(
            source.kind(source.kind.sample_state(np.random.default_rng(3))).state.model_dump_json().encode()
        )
    )
    yield made


def test_what_is_recognised(shop: Path) -> None:
    plan = blueprint_of(shop)
    assert [table.plural for table in plan.tables] == ["customers", "products", "orders"]
    order = plan.table("order")
    assert {c.name: (c.kind, c.refers, c.choices) for c in order.columns} == {
        "customer": ("string", "customer", ()),
        "product": ("string", "product", ()),
        "status": ("string", "", ("open", "paid")),
        "class_": ("string", "", ()),
    }
    assert plan.table("customer").label == "name" and plan.table("product").label == "title"
    assert next(iter(order.rows.items())) == (
        "O1",
        {"customer": "C2", "product": "SKU-b", "status": "paid", "class_": "x"},
    )
    assert plan.left_out == ("table blank: it is empty",)
    assert 5 <= len(plan.operations) <= 24


def test_the_same_source_gives_the_same_bytes(shop: Path, tmp_path: Path) -> None:
    texts = set()
    for name in ("one", "two"):
        generate(shop, tmp_path / name)
        texts.add((tmp_path / name / "toolkit.py").read_bytes())
    assert len(texts) == 1


def test_what_people_changed_is_kept(shop: Path, tmp_path: Path) -> None:
    generate(shop, tmp_path / "out")
    file = tmp_path / "out" / "toolkit.py"
    file.write_text(file.read_text().replace("Show an order.", "Show one order."))
    assert generate(shop, tmp_path / "out") == "toolkit.py:Shop"
    assert "Show one order." in file.read_text()


def test_states_are_small_whole_and_different(shop: Path, tmp_path: Path) -> None:
    source = open_source(generate(shop, tmp_path / "out"), tmp_path / "out")
    states = [source.sample(np.random.default_rng(seed)) for seed in range(4)]
    for state in states:
        assert 10 <= len(state["orders"]) <= 30
        for order in state["orders"].values():
            assert order["customer"] in state["customers"] and order["product"] in state["products"]
    assert len({str(state) for state in states}) == 4
    assert states[0] == source.sample(np.random.default_rng(0))


def test_tools_do_what_they_say(session: ToolkitSession) -> None:
    data = session.data()
    customer, product = next(iter(data["customers"])), next(iter(data["products"]))
    made = session.call(
        "add_order", {"customer": customer, "product": product, "status": "open", "class_": "y"}
    ).value
    assert made["order"] == "O61", "the first number that the whole database has not used"
    assert session.call("set_order_status", {"order": "O61", "status": "paid"}).value["status"] == "paid"
    found = session.call("find_orders_by_customer", {"customer": customer}).value
    assert made["order"] in {order["order"] for order in found}
    before = session.digest()
    for tool, arguments, words in (
        ("get_order", {"order": "O999"}, "no order 'O999'"),
        (
            "add_order",
            {"customer": "C999", "product": product, "status": "open", "class_": "y"},
            "no customer 'C999'",
        ),
        ("remove_customer", {"customer": customer}, "still has orders"),
        ("set_customer_city", {"customer": customer, "city": " "}, "city is empty"),
        ("find_customers_by_name", {"name": "Nobody"}, "no customer has the name 'Nobody'"),
    ):
        result = session.call(tool, arguments)
        assert not result.ok and words in result.text
        assert session.digest() == before
    assert (
        session.tools["add_order"]
        .check({"customer": "C1", "status": "late"})[1]
        .startswith("product: Field required")
    )
    assert session.call("remove_order", {"order": "O61"}).ok


def test_csv_folder(tmp_path: Path) -> None:
    folder = tmp_path / "club"
    folder.mkdir()
    tables: dict[str, list[list[Any]]] = {
        "members": [
            ["id", "Full Name", "paid", "zip", "joined"],
            *([n, f"M {n}", "true", f"0{n}11", ""] for n in range(4)),
        ],
        "boats": [["Boat Name", "length", "member_id"], ["Ada", 7.5, 1], ["Bea", 9, 3], ["Cleo", 6, ""]],
    }
    for name, rows in tables.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    assert is_document(folder)
    plan = blueprint_of(folder)
    assert {c.name: (c.kind, c.optional, c.refers) for c in plan.table("boat").columns} == {
        "boat_name": ("string", False, ""),
        "length": ("number", False, ""),
        "member": ("string", True, "member"),
    }
    assert {c.name: (c.kind, c.optional) for c in plan.table("member").columns} == {
        "full_name": ("string", False),
        "paid": ("boolean", False),
        "zip": ("string", False),
        "joined": ("string", True),
    }
    assert plan.table("boat").rows["B3"] == {"boat_name": "Cleo", "length": 6.0, "member": None}
    source = open_source(generate(folder, tmp_path / "out"), tmp_path / "out")
    assert "find_boats_by_member" in source.tools


def database(path: Path, script: str) -> Path:
    with closing(sqlite3.connect(path)) as made:
        made.executescript(script)
    return path


def test_references_that_lead_nowhere(tmp_path: Path) -> None:
    """SQLite checks no reference unless it is told to, and takes names in any case."""
    file = database(
        tmp_path / "sales.db",
        """
        create table Customers (id integer primary key, email text not null unique);
        create table orders (id integer primary key, customer_id integer not null references customers);
        create table cards (id integer primary key, email text not null references Customers (email));
        insert into Customers values (1, 'a@example.org'), (2, 'b@example.org');
        insert into orders values (1, 2), (2, 7);
        insert into cards values (1, 'a@example.org');
        """,
    )
    plan = blueprint_of(file)
    column = plan.table("order").column("customer")
    assert (column.refers, column.optional) == ("customer", True)
    assert [row["customer"] for row in plan.table("order").rows.values()] == ["C2", None]
    assert plan.left_out == ("orders.customer_id: 1 values that no row of Customers has, such as 7",)
    # A reference to another column than the key stays what it is, a text.
    assert plan.table("card").rows["CA1"] == {"email": "a@example.org"}


@pytest.mark.parametrize(
    ("tables", "tool", "arguments", "row"),
    [
        # By the toolkit; by what its file imports; by Python; by another table; by the lines of a method.
        ({"shops": ""}, "get_shop", {"shop": "S2"}, {"label": "b", "shop": "S2"}),
        ({"toolkits": ""}, "get_toolkit", {"toolkit": "T2"}, {"label": "b", "toolkit": "T2"}),
        ({"a": ""}, "get_a", {"a": "A2"}, {"label": "b", "a": "A2"}),
        (
            {"item": "", "items": "item_id integer default 2 references item"},
            "find_items_items_by_item",
            {"item": "I2"},
            {"label": "b", "item": "I2", "items_item": "IT2"},
        ),
        (
            {"rows": "", "seats": "row_id integer default 2 references rows"},
            "find_seats_by_row_",
            {"row_": "R2"},
            {"label": "b", "row_": "R2", "seat": "S2"},
        ),
    ],
)
def test_names_that_are_taken(
    tmp_path: Path, tables: dict[str, str], tool: str, arguments: dict[str, str], row: dict[str, Any]
) -> None:
    script = ""
    for name, more in tables.items():
        columns = ", ".join(filter(None, ("id integer primary key", "label text", more)))
        script += (
            f"create table {name} ({columns}); insert into {name} (id, label) values (1, 'a'), (2, 'b');"
        )
    generate(database(tmp_path / "shop.db", script), tmp_path)
    source = open_source("toolkit.py:Shop", tmp_path)
    session = source.open()
    session.reset(source.load(json.dumps(source.sample(np.random.default_rng(0))).encode()))
    found = session.call(tool, arguments)
    assert row in (found.value if isinstance(found.value, list) else [found.value]), found


def test_tables_without_a_tool_are_named(tmp_path: Path) -> None:
    names = [f"{letter * 3}rs" for letter in "bcdfghk"]
    script = "".join(f"create table {name} (label); insert into {name} values ('a');" for name in names)
    left_out = blueprint_of(database(tmp_path / "many.db", script)).left_out
    assert left_out == ("table kkkrs: the 24 tools are those of the tables before it",)


def test_codes_and_semicolons(tmp_path: Path) -> None:
    """What `int` and `float` would read, and no table means as a number, stays a text."""
    lines = ["id;phone;code;size;big", *(f"{n};+4712345{n};1_0{n};{n}.5;{n}e3" for n in range(1, 5))]
    (tmp_path / "people.csv").write_text("\n".join(lines))
    table = blueprint_of(tmp_path).tables[0]
    assert [column.kind for column in table.columns] == ["string", "string", "number", "number"]
    assert table.rows["P1"] == {"phone": "+47123451", "code": "1_01", "size": 1.5, "big": 1000.0}


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        (None, DataNotFound, "no such file"),
        ({"shop.db": b"no database at all"}, InvalidData, "expected a SQLite database"),
        ({"t.csv": b"a,b\n1\n"}, InvalidData, "as many values"),
        ({"t.csv": b""}, InvalidData, "a header and rows"),
        ({"t.csv": b"a,b\n"}, InvalidData, "a table with rows"),
        ({"t.csv": b"a,b\n\xff,1\n"}, InvalidData, "a header and rows"),
    ],
)
def test_says_what_is_wrong(tmp_path: Path, content: Any, error: type[Exception], words: str) -> None:
    document = tmp_path / "shop.db"
    for name, data in (content or {}).items():
        (tmp_path / name).write_bytes(data)
        document = tmp_path / name if name.endswith(".db") else tmp_path
    with pytest.raises(error, match=words):
        generate(document, tmp_path / "out")


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("abcdef"), min_size=1),
    st.integers(0, 50),
    st.integers(1, 4),
)
def test_drawn_rows_lead_nowhere_else(links: dict[str, str], seed: int, count: int) -> None:
    rows = {"things": {key: {"next": target if target in links else None} for key, target in links.items()}}
    drawn = draw_rows(rows, {"things": {"next": "things"}}, np.random.default_rng(seed), count)["things"]
    assert min(count, len(links)) <= len(drawn)
    assert all(row["next"] is None or row["next"] in drawn for row in drawn.values())
    assert list(drawn) == [key for key in rows["things"] if key in drawn]
