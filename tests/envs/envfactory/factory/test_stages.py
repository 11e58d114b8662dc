"""The stages one by one: exploring, the graph, chains, words, refinement, and what the tasks then keep."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envrl.envs.envfactory.conversation import mentions
from envrl.envs.envfactory.episode import text_of
from envrl.envs.envfactory.factory import clauses, graph, leaves, refine, sample, synthesize, wording
from envrl.envs.envfactory.factory.arena import Stock
from envrl.envs.envfactory.factory.build import make_tasks, split_states
from envrl.envs.envfactory.factory.chain import Chain
from envrl.envs.envfactory.factory.explore import Exploration, explore
from envrl.envs.envfactory.factory.graph_page import columns, graph_page
from envrl.envs.envfactory.factory.mutation import damages, weakest_mutant
from envrl.envs.envfactory.factory.phrasing import Phrasing
from envrl.envs.envfactory.factory.workspace import Workspace
from envrl.envs.envfactory.sources import Source, open_source
from envrl.envs.envfactory.task import Task
from envrl.envs.errors import DataNotFound


@pytest.fixture(scope="module")
def bank() -> Source:
    return open_source("builtin:bank")


@pytest.fixture(scope="module")
def found(bank: Source) -> Exploration:
    return explore(bank)


@pytest.fixture(scope="module")
def bank_graph(bank: Source, found: Exploration) -> graph.ToolGraph:
    return graph.build_graph(bank, found)


@pytest.fixture(scope="module")
def stocks(bank: Source, found: Exploration, bank_graph: graph.ToolGraph) -> dict[str, Stock]:
    tickets = open_source("builtin:tickets")
    seen = explore(tickets)
    other = Stock(tickets, seen, graph.build_graph(tickets, seen))
    return {"bank": Stock(bank, found, bank_graph), "tickets": other}


@pytest.fixture(scope="module")
def chains(stocks: dict[str, Stock]) -> list[Chain]:
    sampler = sample.Sampler(stocks, 0)
    drawn = [chain for _ in range(150) if (chain := sampler.sample()) is not None]
    assert sampler.tried == 150 and len(drawn) + sampler.refused.total() == 150
    sampler.close()
    return drawn


@pytest.fixture(scope="module")
def tasks(stocks: dict[str, Stock]) -> list[Task]:
    made, counts = make_tasks(stocks, split_states(stocks, 60, 0.25, seed=1))
    assert {split: count["tasks kept"] for split, count in counts.items()} == {"train": 45, "held_out": 15}
    return made


# ---- explore ---------------------------------------------------------------------------------------------


def test_exploring_reaches_every_tool(bank: Source, found: Exploration) -> None:
    coverage = found.coverage(bank.tools)
    assert all(count["ok"] and count["refused"] for count in coverage.values())
    assert all(
        bool(count["changed"]) == (bank.tools[name].effect == "write") for name, count in coverage.items()
    )
    assert Exploration.from_json(found.to_json()) == found
    assert explore(bank) == found and explore(bank, seed=1).states != found.states


# ---- names and leaves ------------------------------------------------------------------------------------


@given(st.text())
def test_names_of_any_kind(name: str) -> None:
    assert wording.normal(wording.normal(name)) == wording.normal(name)
    assert isinstance(wording.readable(name), str) and isinstance(wording.bare(name), str)


def test_leaves_and_records() -> None:
    data = {"items": [{"id": "A1", "tags": ["x"]}, {"id": "A2", "tags": []}], "total": 2}
    assert [leaf[:2] for leaf in leaves.leaves(data)] == [
        ("id", "A1"),
        ("tags", "x"),
        ("id", "A2"),
        ("total", 2),
    ]
    assert [r["id"] for r in leaves.records(data)] == ["A1", "A2"]
    assert (
        leaves.records({"id": "A1"}) == [{"id": "A1"}] and leaves.records("text") == leaves.records([1]) == []
    )
    table = {"A1": {"kind": "joint"}, "A2": {"kind": "single"}}
    assert [(leaf.value, leaf.key) for leaf in leaves.leaves(table, "accounts")] == [
        ("A1", True), ("joint", False), ("A2", True), ("single", False),
    ]  # fmt: skip
    assert leaves.readable_data('{"a": 1}') == {"a": 1} and leaves.readable_data("[no json") == "[no json"


# ---- graph -----------------------------------------------------------------------------------------------


def test_edges_have_a_kind_and_a_confidence(bank_graph: graph.ToolGraph) -> None:
    flows = [edge for edge in bank_graph.edges if (edge.consumer, edge.kind) == ("get_account", "value")]
    best = max(flows, key=lambda edge: edge.confidence)
    assert (best.producer, best.output, best.parameter) == (
        "list_accounts",
        "account",
        "account",
    ) and best.seen >= 3
    source = bank_graph.producers("transfer_money", "source")  # a name that no field has: only values tell
    assert {edge.kind for edge in source} == {"value"}
    assert {"list_accounts", "get_account"} <= {edge.producer for edge in source if edge.output == "account"}
    names = [edge for edge in bank_graph.edges if edge.kind == "name" and edge.parameter == "card"]
    assert {(edge.output, edge.confidence) for edge in names} == {("card", 0.8)}
    assert all(0 < edge.confidence <= 1 for edge in bank_graph.edges)
    assert bank_graph.count()["value"] and graph.ToolGraph.from_json(bank_graph.to_json()) == bank_graph
    assert {p.name for p in bank_graph.parameters if p.by_id} >= {"account", "card", "source"}
    assert "owner" not in {p.name for p in bank_graph.parameters if p.by_id}


def vectors(texts: list[str]) -> np.ndarray:
    """A bag of letters."""
    return np.array(
        [[text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]
    )


def test_embedding_edges(bank: Source, found: Exploration) -> None:
    made = graph.build_graph(bank, found, embed=f"{__name__}:vectors")
    edges = [edge for edge in made.edges if edge.kind == "embedding"]
    assert edges and all(0.8 <= edge.confidence <= 1 for edge in edges)


def test_the_page_stands_alone(bank_graph: graph.ToolGraph) -> None:
    page = graph_page({"bank": bank_graph})
    assert "http://" not in page and "https://" not in page and "src=" not in page
    for tool in bank_graph.tools:
        assert f'data-tool="{tool}"' in page
    drawn = [edge for edge in bank_graph.edges if bank_graph.tools[edge.producer] == "read"]
    assert page.count('class="edge"') == len(drawn)
    assert (
        columns(bank_graph)["list_accounts"]
        < columns(bank_graph)["list_cards"]
        < columns(bank_graph)["block_card"]
    )


# ---- chains ----------------------------------------------------------------------------------------------


ROWS = [
    {"id": 1, "kind": "joint", "city": "Oslo", "owner": "ann"},
    {"id": 2, "kind": "joint", "city": "Riga", "owner": "ann"},
    {"id": 3, "kind": "single", "city": "Riga", "owner": "ann"},
]


def test_clauses_pick_exactly_one() -> None:
    assert clauses.find_clause(ROWS[0], "id", ROWS) == {"city": "Oslo"}
    assert clauses.find_clause(ROWS[1], "id", ROWS) == {"kind": "joint", "city": "Riga"}
    assert clauses.find_clause(ROWS[2], "id", ROWS, ["owner"]) == {"owner": "ann", "kind": "single"}
    assert clauses.find_clause(ROWS[0], "id", [*ROWS, {**ROWS[0], "id": 4}]) is None
    assert clauses.find_clause(ROWS[0], "id", [*ROWS, dict(ROWS[0])]) == {
        "city": "Oslo"
    }  # the same thing twice
    assert clauses.find_clause(ROWS[0], "id", ROWS, ["no such"]) == {"city": "Oslo"}
    assert not clauses.picks_one(ROWS, {"city": "Rome"}, "id", 1)


def test_chains_run_and_hide_only_what_can_be_found(stocks: dict[str, Stock], chains: list[Chain]) -> None:
    assert len(chains) > 100 and len({chain.signature for chain in chains}) == len(chains)
    hidden = 0
    for chain in chains:
        assert 1 <= len(chain.goals()) <= 3 and {call.toolkit for call in chain.calls} == set(chain.states)
        again = sample.Sampler(stocks, 0)
        done = sample.carry_out(again._arena(dict(chain.states)), chain.calls)
        assert tuple(done) == chain.calls
        for index, call in enumerate(chain.calls):
            for name, origin in call.origins.items():
                hidden += 1
                assert origin.call < index  # producers before consumers
                assert call.arguments[name] not in chain.calls[origin.call].arguments.values()
    assert hidden > 100
    assert Counter(len(chain.states) for chain in chains)[2] > 10


def test_the_same_seed_draws_the_same_chains(stocks: dict[str, Stock]) -> None:
    def draw(seed: int) -> list[Chain | None]:
        fresh = {name: Stock(s.source, s.exploration, s.graph) for name, s in stocks.items()}
        sampler = sample.Sampler(fresh, seed, {"bank": [1]})
        return [sampler.sample() for _ in range(30)]

    one = draw(3)
    assert one == draw(3) != draw(4)
    assert {chain.states["bank"] for chain in one if chain is not None and "bank" in chain.states} == {1}


def test_a_chain_that_does_not_run_is_refused(stocks: dict[str, Stock], chains: list[Chain]) -> None:
    chain = next(c for c in chains if any(call.lookup for call in c.calls))
    arena = sample.Sampler(stocks, 0)._arena(dict(chain.states))
    lookup = next(index for index, call in enumerate(chain.calls) if call.lookup)
    user = next(call for call in chain.calls if any(o.call == lookup for o in call.origins.values()))
    name = next(name for name, origin in user.origins.items() if origin.call == lookup)
    from dataclasses import replace

    wrong = replace(user, arguments={**user.arguments, name: "nothing like it"})
    calls = [wrong if call is user else call for call in chain.calls]
    with pytest.raises(sample.Rejected, match="not found where it should be"):
        sample.carry_out(arena, calls)


# ---- words -----------------------------------------------------------------------------------------------


def test_drafts_say_everything_but_what_is_hidden(stocks: dict[str, Stock], chains: list[Chain]) -> None:
    refiner = refine.Refiner(stocks)
    for chain in chains:
        draft = synthesize.synthesize(chain, stocks, refiner.toolbox(chain.states))
        assert draft == synthesize.synthesize(chain, stocks, refiner.toolbox(chain.states))
        text = " ".join([t.text for t in draft.turns] + [s.reply for t in draft.turns for s in t.slots])
        for call in chain.calls:
            for name, value in call.arguments.items():
                if name not in call.origins:
                    assert mentions(text, str(value)) or mentions(text, value), (text, call)
        assert "{" not in text and "  " not in text
        assert draft.reference[-1].say is not None and len(draft.turns) in (1, len(chain.goals()))
    kinds = Counter(synthesize.synthesize(c, stocks, refiner.toolbox(c.states)).kind for c in chains)
    assert set(kinds) == {"direct", "lookup", "ask_user", "multi_turn", "cross_toolkit"}


def test_phrases(stocks: dict[str, Stock], chains: list[Chain]) -> None:
    chain = next(c for c in chains if any(call.tool == "freeze_account" and call.origins for call in c.calls))
    call = next(call for call in chain.calls if call.tool == "freeze_account")
    refiner = refine.Refiner(stocks)
    specs = {c.tool: refiner.toolbox(chain.states).place(c.tool)[1] for c in chain.calls}
    phrasing = Phrasing(chain, {name: stocks[name].source for name in chain.states}, specs)
    text = phrasing.request(call, np.random.default_rng(0))
    assert text.startswith("Freeze the ") and call.arguments["account"] not in text
    assert phrasing.request(call, np.random.default_rng(0), unsaid="account") == "Freeze a certain account."


# ---- refinement ------------------------------------------------------------------------------------------


def test_tasks_measure_what_they_should(stocks: dict[str, Stock], tasks: list[Task]) -> None:
    refiner = refine.Refiner(stocks)
    for task in tasks:
        assert refiner.objection(task) == ""
        assert task.licence == "MIT" and task.provenance["chain"]
    assert len({refine.signature(task) for task in tasks}) == len(tasks)
    used = {(task.split, use.state) for task in tasks for use in task.toolkits}
    assert len({state for _, state in used}) == len(used)  # no state in two splits


def test_objections(stocks: dict[str, Stock], tasks: list[Task]) -> None:
    refiner = refine.Refiner(stocks)
    task = next(t for t in tasks if t.type == "lookup" and t.goal and len(t.reference) > 2)
    assert refiner.objection(
        task.model_copy(update={"reference": task.reference[:-2] + task.reference[-1:]})
    ) == ("the reference does not succeed")
    bare = task.model_copy(update={"outputs": ()})
    assert refiner.objection(bare) == "a step of the reference can be left out"
    optional = tuple(
        s.model_copy(update={"optional": s.tool != task.reference[-2].tool}) for s in bare.reference
    )
    assert refiner.objection(bare.model_copy(update={"reference": optional})) == ""
    says = {"goal": (), "outputs": [{"value": "Done", "see": False}], "reference": [{"say": "Done."}]}
    empty = Task.model_validate({**task.model_dump(), **says})
    assert refiner.objection(empty) == "the no-op succeeds"


def test_a_band_of_difficulty(stocks: dict[str, Stock], tasks: list[Task]) -> None:
    single = [t for t in tasks if t.type == "direct" and len(t.reference) == 2][:3]
    never = refine.Refiner(stocks, policy=lambda observation, info: "no idea", tries=2)
    assert {never.objection(task) for task in single} == {"too hard for the policy"}
    plans = {task.turns[0].text: [text_of(step) for step in task.reference] for task in single}

    def always(observation: str, info: Any) -> str:
        return str(plans[info["goal"]][0 if observation.endswith(info["goal"]) else 1])

    assert {refine.Refiner(stocks, policy=always, tries=2).objection(t) for t in single} == {
        "too easy for the policy"
    }
    turns = iter(range(100))
    mixed = refine.Refiner(
        stocks, policy=lambda o, i: always(o, i) if next(turns) % 3 else "no idea", tries=3
    )
    assert mixed.objection(single[0]) == ""


def test_words_that_give_something_away_are_refused(stocks: dict[str, Stock], chains: list[Chain]) -> None:
    refiner = refine.Refiner(stocks)
    chain = next(c for c in chains if c.calls[-1].origins and not c.calls[-1].asks)
    draft = synthesize.synthesize(chain, stocks, refiner.toolbox(chain.states))
    blab = draft.turns[0].model_copy(update={"text": f"{draft.turns[0].text} ({draft.hidden[0]})"})
    assert refiner.refine(draft._replace(turns=(blab, *draft.turns[1:])), "x") is None
    assert refiner.refused == {"the words give a hidden value away": 1}


# ---- mutation --------------------------------------------------------------------------------------------


def test_every_broken_variant_of_a_sound_toolkit_is_noticed(bank: Source, found: Exploration) -> None:
    assert weakest_mutant(bank, found, 0) is None
    assert set(damages("x", "read")) == {"refuses", "misreads"} and set(damages("x", "write")) == {
        "refuses",
        "forgets",
    }


# ---- files between the stages ----------------------------------------------------------------------------


def test_stages_hand_on_what_they_made(tmp_path: Path, stocks: dict[str, Stock], chains: list[Chain]) -> None:
    work = Workspace(tmp_path)
    with pytest.raises(DataNotFound, match="envrl factory explore"):
        work.sources()
    for name, stock in stocks.items():
        work.save_exploration(name, stock.exploration)
        work.save_graph(name, stock.graph)
    assert work.sources() == {"bank": "builtin:bank", "tickets": "builtin:tickets"}
    assert (
        work.exploration("bank") == stocks["bank"].exploration and work.graph("bank") == stocks["bank"].graph
    )
    with pytest.raises(DataNotFound, match="envrl factory sample"):
        list(work.chains())
    work.save_chains([("train", chain) for chain in chains])
    assert list(work.chains()) == [("train", chain) for chain in chains]
    toolbox = refine.Refiner(stocks).toolbox
    drafts = [("train", synthesize.synthesize(chain, stocks, toolbox(chain.states))) for chain in chains]
    work.save_drafts(drafts)
    assert list(work.drafts()) == drafts
