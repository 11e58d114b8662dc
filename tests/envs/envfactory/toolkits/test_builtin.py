"""What holds for every builtin toolkit."""

import json
import random
import re
from typing import Any

import numpy as np
import pydantic_core
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envrl.envs.envfactory.delta import rules
from envrl.envs.envfactory.sources import load_class
from envrl.envs.envfactory.toolkit import ToolError, Toolkit
from envrl.envs.envfactory.toolkits import BUILTIN

KINDS = [pytest.param(load_class(place), id=name) for name, place in BUILTIN.items()]


def _sampled(kind: type[Toolkit], seed: int) -> Any:
    return kind(kind.sample_state(np.random.default_rng(seed)))


def _tables(kind: type[Toolkit]) -> dict[str, Any]:
    return {name: table for name, table in _sampled(kind, 0).save().items() if isinstance(table, dict)}


def test_there_are_at_least_twelve_with_names_of_their_own() -> None:
    kinds = [load_class(place) for place in BUILTIN.values()]
    assert len(kinds) >= 12
    assert [kind.name for kind in kinds] == list(BUILTIN)
    tools = [name for kind in kinds for name in kind.tools()]
    assert len(tools) == len(set(tools))


@pytest.mark.parametrize("kind", KINDS)
def test_tools_are_described(kind: type[Toolkit]) -> None:
    assert 5 <= len(kind.tools()) <= 15
    for name, spec in kind.tools().items():
        properties = spec.parameters["properties"]
        for key, schema in properties.items():
            assert schema.get("description"), f"{name}: {key}"
        assert spec.phrases, name
        for phrase in spec.phrases:
            assert set(re.findall(r"\{(\w+)\}", phrase)) == set(spec.required), f"{name}: {phrase}"
            assert phrase[-1] in '.?"', phrase
            assert phrase[0].isupper() or phrase[0] == "{", phrase


@pytest.mark.parametrize("kind", KINDS)
def test_nouns_and_patterns_name_what_is_there(kind: type[Toolkit]) -> None:
    fields: set[str] = set()

    def collect(schema: Any) -> None:
        if isinstance(schema, dict):
            fields.update(schema.get("properties", {}))
            for value in schema.values():
                collect(value)
        elif isinstance(schema, list):
            for value in schema:
                collect(value)

    for spec in kind.tools().values():
        collect(spec.returns)
    named = fields | {key for spec in kind.tools().values() for key in spec.parameters["properties"]}
    for name, noun in kind.nouns.items():
        assert name in named
        blanks = re.findall(r"\{(\w+)\}", noun)
        assert blanks and set(blanks) <= fields, noun
    tables = _tables(kind)
    for pattern in (*rules(kind.unordered).unordered, *rules(kind.ignored).unordered):
        assert pattern[0] in tables, pattern
        if len(pattern) > 1:
            assert pattern[1] == "*" and pattern[2] in next(iter(tables[pattern[0]].values())), pattern


@pytest.mark.parametrize("kind", KINDS)
def test_sampled_states_are_small_varied_and_repeatable(kind: type[Toolkit]) -> None:
    random.seed(7)
    numpy_before = np.random.get_state()[1].copy()  # type: ignore[index, union-attr]
    python_before = random.getstate()
    texts = [json.dumps(_sampled(kind, seed).save()) for seed in range(20)]
    assert random.getstate() == python_before
    assert (np.random.get_state()[1] == numpy_before).all()  # type: ignore[index]
    assert len(set(texts)) == 20
    assert all(2_000 <= len(text) <= 15_000 for text in texts)
    assert texts == [json.dumps(_sampled(kind, seed).save()) for seed in range(20)]


@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_unique_over_the_tables_and_refer_to_records(kind: type[Toolkit]) -> None:
    for seed in range(10):
        data = _sampled(kind, seed).save()
        tables = {name: table for name, table in data.items() if isinstance(table, dict)}
        ids = [key for table in tables.values() for key in table]
        assert len(ids) == len(set(ids))
        for name, table in tables.items():
            # A field called like the singular of a table holds keys of it.
            singular = name[:-3] + "y" if name.endswith("ies") else name[:-1]
            for other in tables.values():
                for record in other.values():
                    if record.get(singular) is not None:
                        assert record[singular] in table, (singular, record)


def _arguments(draw: st.DrawFn, schema: dict[str, Any], pool: list[Any], texts: list[str]) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    for key, sub in schema["properties"].items():
        if key not in schema.get("required", ()) and draw(st.booleans()):
            continue
        if "enum" in sub:
            chosen[key] = draw(st.sampled_from(sub["enum"]))
        elif sub["type"] == "string":
            chosen[key] = draw(st.sampled_from(texts) | st.sampled_from(pool) | st.text(max_size=12))
        elif sub["type"] == "integer":
            chosen[key] = draw(st.integers(-2, 40) | st.integers())
        elif sub["type"] == "number":
            chosen[key] = draw(st.floats(-2, 500) | st.floats(allow_nan=False, allow_infinity=False))
        else:
            assert sub["type"] == "boolean", sub
            chosen[key] = draw(st.booleans())
    return chosen


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(data=st.data())
def test_calls_refuse_or_change_and_nothing_else(kind: type[Toolkit], data: st.DataObject) -> None:
    seed = data.draw(st.integers(0, 3))
    toolkit, twin = _sampled(kind, seed), _sampled(kind, seed)
    texts = [value for value in re.findall(r'"([^"\\]+)"', json.dumps(toolkit.save())) if len(value) < 40]
    for _ in range(data.draw(st.integers(1, 12))):
        saved = json.dumps(toolkit.save())
        ids = [key for table in toolkit.save().values() if isinstance(table, dict) for key in table]
        name = data.draw(st.sampled_from(list(kind.tools())))
        spec = kind.tools()[name]
        arguments = data.draw(st.composite(_arguments)(dict(spec.parameters), ids or [""], texts))
        checked, _ = spec.check(arguments)
        if checked is None:  # an integer beyond what JSON readers take, a surrogate
            continue
        outcomes = []
        for one in (toolkit, twin):
            try:
                value = getattr(one, kind.method_name(name))(**checked)
                outcomes.append(pydantic_core.to_json(value))
            except ToolError as error:
                assert str(error)
                outcomes.append(str(error).encode())
                assert json.dumps(one.save()) == saved, "refused, and changed the state"
            if spec.effect == "read":
                assert json.dumps(one.save()) == saved, "reads, and changed the state"
        assert outcomes[0] == outcomes[1]
        after = json.dumps(toolkit.save())
        assert json.dumps(twin.save()) == after
        twin = kind.load(json.loads(after))
        assert json.dumps(twin.save()) == after
