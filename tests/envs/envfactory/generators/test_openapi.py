"""Toolkits from OpenAPI documents."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envrl.envs.envfactory.factory.verify import verify
from envrl.envs.envfactory.generators import generate, is_document
from envrl.envs.envfactory.generators.generate import blueprint_of
from envrl.envs.envfactory.sources import open_source
from envrl.envs.errors import InvalidData

CLINIC = Path(__file__).with_name("clinic.yaml")
ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture
def clinic() -> Path:
    pytest.importorskip("yaml", reason="needs the extra openapi")
    return CLINIC


def test_resources_become_tables_and_operations_tools(clinic: Path) -> None:
    plan = blueprint_of(clinic)
    assert {t.plural: [c.name for c in t.columns] for t in plan.tables} == {
        "owners": ["name", "city", "phone"],
        "pets": ["name", "species", "weight", "owner"],
        "visits": ["pet", "date", "reason", "status"],
    }
    assert {o.tool: (o.deed, o.table, o.columns) for o in plan.operations} == {
        "list_owners": ("list", "owner", ("city",)),
        "add_owner": ("add", "owner", ("name", "city", "phone")),
        "get_owner": ("get", "owner", ()),
        "update_owner": ("set", "owner", ("name", "city", "phone")),
        "pets_of_owner": ("find", "pet", ("owner",)),
        "add_pet": ("add", "pet", ("owner", "name", "species", "weight")),
        "get_pet": ("get", "pet", ()),
        "remove_pet": ("remove", "pet", ()),
        "list_visits": ("list", "visit", ("pet",)),
        "book_visit": ("add", "visit", ("pet", "date", "reason")),
        "get_visit": ("get", "visit", ()),
        "cancel_visit": ("move", "visit", ("status",)),
    }
    assert [line.partition(":")[0] for line in plan.left_out] == [
        "pets.tags",
        "POST /visits/{visitId}/teleport",
        "GET /health",
    ]


def test_an_episode_of_calls(clinic: Path, tmp_path: Path) -> None:
    source = open_source(generate(clinic, tmp_path), tmp_path)
    session = source.open()
    state = source.sample(np.random.default_rng(0))
    session.reset(source.load(json.dumps(state).encode()))
    owner = session.call("add_owner", {"name": "Ada Brandt"}).value["owner"]
    pet = session.call("add_pet", {"owner": owner, "name": "Milo", "species": "cat"}).value
    assert pet["owner"] == owner
    assert session.call("pets_of_owner", {"owner": owner}).value == [pet]
    visit = session.call("book_visit", {"pet": pet["pet"], "date": "2025-05-05"}).value
    assert visit["status"] == "booked", "what nobody is asked for begins with the first choice"
    assert session.call("cancel_visit", {"visit": visit["visit"]}).value["status"] == "cancelled"
    before = session.digest()
    again = session.call("cancel_visit", {"visit": visit["visit"]})
    assert not again.ok and "is cancelled already" in again.text
    assert not session.call("remove_pet", {"pet": pet["pet"]}).ok, "it still has a visit"
    assert session.digest() == before
    listed = session.call("list_visits", {"pet": pet["pet"]}).value
    assert [each["visit"] for each in listed] == [visit["visit"]]
    assert len(session.call("list_visits", {}).value) == 1 + len(state["visits"])


def test_json_needs_no_yaml(clinic: Path, tmp_path: Path) -> None:
    import yaml

    document = tmp_path / "clinic.json"
    document.write_text(json.dumps(yaml.safe_load(clinic.read_text())))
    assert is_document(document)
    code = (
        "import sys; sys.modules['yaml'] = None; from pathlib import Path; "
        "from envrl.envs.envfactory.generators import generate; "
        f"print(generate(Path({str(document)!r}), Path({str(tmp_path / 'out')!r})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "toolkit.py:Clinic", done.stderr
    generate(clinic, tmp_path / "other")
    assert (tmp_path / "out" / "toolkit.py").read_text() == (tmp_path / "other" / "toolkit.py").read_text()
    done = subprocess.run(
        [sys.executable, "-c", code.replace(str(document), str(clinic))],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert "envrl[openapi]" in done.stderr


def test_the_generated_toolkit_passes_every_gate(clinic: Path, tmp_path: Path) -> None:
    report, _ = verify(generate(clinic, tmp_path), tmp_path)
    assert report.passed, report.to_json()


def pages(tmp_path: Path, operation: str = "list_pages") -> Path:
    """A document with one collection, whose rows are all optional."""
    fields = {
        "title": {"type": ["string", "null"]},
        "words": {"type": "integer", "minimum": 1, "maximum": 10},
        "weight": {"type": "number", "maximum": -1.5},
        "rating": {"enum": [1, 2, 3]},
    }
    answer = {"content": {"application/json": {"schema": {"type": "array", "items": {"properties": fields}}}}}
    body = {"content": {"application/json": {"schema": {"properties": fields}}}}
    methods = {
        "get": {"operationId": operation, "responses": {"200": answer}},
        "post": {"operationId": "save", "requestBody": body, "responses": {"201": {}}},
    }
    path = tmp_path / "page.openapi.json"
    path.write_text(json.dumps({"openapi": "3.1.0", "paths": {"/pages": methods}}))
    return path


def test_rows_keep_the_bounds_of_the_schema(tmp_path: Path) -> None:
    plan = blueprint_of(pages(tmp_path))
    rows = list(plan.table("page").rows.values())
    for name, fits in {
        "words": lambda value: type(value) is int and 1 <= value <= 10,
        "weight": lambda value: value <= -1.5,
        "rating": lambda value: value in (1, 2, 3),
    }.items():
        values = [row[name] for row in rows if row[name] is not None]
        assert values and all(map(fits, values))
    titles = [row["title"] for row in rows]
    assert titles.count(None) > 1 and not any("None" in title for title in titles if title)
    source = open_source(generate(pages(tmp_path), tmp_path), tmp_path)
    check = source.tools["save"].check
    assert (
        check({"words": 10, "rating": 3})[0] and not check({"words": 11})[0] and not check({"rating": 4})[0]
    )


@pytest.mark.parametrize("operation", ["list", "load", "tools", "name", "state"])
def test_operations_may_have_any_name(tmp_path: Path, operation: str) -> None:
    """Also those that a class of toolkits, or its file, has for something else; so may the document."""
    source = open_source(generate(pages(tmp_path, operation), tmp_path), tmp_path)
    session = source.open()
    session.reset(source.load(json.dumps(source.sample(np.random.default_rng(0))).encode()))
    listing = next(name for name, spec in source.tools.items() if spec.effect == "read")
    before = len(session.call(listing, {}).value)
    assert listing.rstrip("_") == operation and session.call("save", {"title": "Moss"}).ok
    assert len(session.call(listing, {}).value) == before + 1


def test_two_documents_in_one_folder(clinic: Path, tmp_path: Path) -> None:
    specs = [generate(clinic, tmp_path), generate(pages(tmp_path), tmp_path), generate(clinic, tmp_path)]
    assert specs == ["toolkit.py:Clinic", "page_toolkit.py:Page", "toolkit.py:Clinic"]
    assert [open_source(spec, tmp_path).name for spec in specs[:2]] == ["clinic", "page"]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"swagger": "2.0", "paths": {}}, "found version 2.0"),
        ({"paths": {}}, "found none"),
        ([], "found none"),
        ({"openapi": "3.1.0", "paths": {"/health": {"get": {}}}}, "expected paths with collections"),
        (
            {"openapi": "3.1.0", "paths": {"/{x}/{y}": {"get": {}}, "/a/{b}": None}},
            "expected paths with collections",
        ),
    ],
)
def test_says_what_is_wrong(tmp_path: Path, document: Any, words: str) -> None:
    path = tmp_path / "api.openapi.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InvalidData, match=words):
        generate(path, tmp_path / "out")


def test_a_reference_to_itself_ends(tmp_path: Path) -> None:
    node = {
        "type": "object",
        "properties": {"id": {"type": "string"}, "next": {"$ref": "#/components/schemas/Node"}},
    }
    document = {
        "openapi": "3.0.0",
        "paths": {
            "/nodes": {
                "get": {
                    "responses": {
                        "200": {
                            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Node"}}}
                        }
                    }
                }
            }
        },
        "components": {"schemas": {"Node": node, "Loop": {"$ref": "#/components/schemas/Loop"}}},
    }
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(document))
    assert "get_nodes" in open_source(generate(path, tmp_path / "out"), tmp_path / "out").tools
