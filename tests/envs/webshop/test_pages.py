"""The shop as a state machine: by hand, and what no string of an agent may do."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from envrl.envs.webshop import rendering
from envrl.envs.webshop.explain import why_not
from envrl.envs.webshop.pages import (
    Move,
    State,
    accepts,
    advance,
    classify,
    clickables,
    parse_action,
    state_key,
)
from envrl.envs.webshop.shop import Shop, visible


def go(shop: Shop, *actions: str, state: State | None = None) -> State:
    """The state after actions that the shop must accept."""
    state = State() if state is None else state
    for action in actions:
        status, move = classify(shop, state, action)
        assert status == "ok" and move is not None, f"{action} is {status} on {clickables(shop, state)}"
        state = advance(shop, state, move)
    return state


# ---- actions ---------------------------------------------------------------------------------------------------

PATTERN = re.compile(r"(.+)\[(.+)\]")


def pattern_says(text: str) -> tuple[str, str] | None:
    """The grammar of the original, as it is written there."""
    match = PATTERN.match(text)
    return None if match is None else (match[1], match[2].lower())


@given(st.text("ab[]\n ", max_size=14) | st.text(max_size=20))
@example("search[]")
@example("search[a]")
@example("search[]]")
@example("search[[]")
@example("search[a]b")
@example("a\nsearch[b]")
@example("search[a\nb]")
def test_actions_are_parsed_as_by_the_originals_pattern(text: str) -> None:
    for candidate in (text, f"search[{text}]", f"click[{text}", f"click{text}"):
        said = pattern_says(candidate)
        expected = Move(*said) if said and said[0] in ("search", "click") else None
        assert parse_action(candidate) == expected


@pytest.mark.parametrize(
    "text", ["[" * 200_000, "]" * 200_000, "search[" * 50_000, "search" + "[]" * 100_000]
)
def test_rows_of_brackets_take_no_time(text: str) -> None:
    assert parse_action(text) == (
        None if "]" not in text else parse_action(text)
    )  # the pattern takes minutes


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("search[red]", "ok"),
        ("search[Red Shoes] and more", "ok"),
        ("Search[red]", "malformed"),
        (" search[red]", "malformed"),
        ("search[]", "malformed"),
        ("search red", "malformed"),
        ("think[what now]", "malformed"),
        ("click[search]", "inadmissible"),
        ("click[buy now]", "inadmissible"),
    ],
)
def test_what_the_index_page_takes(shop: Shop, text: str, status: str) -> None:
    assert classify(shop, State(), text)[0] == status


# ---- pages -----------------------------------------------------------------------------------------------------


def test_labels_come_in_the_originals_order(shop: Shop) -> None:
    assert clickables(shop, State()) == ("search",)
    results = go(shop, "search[canvas shoes]")
    hits = ("b000000003", "b000000001", "b000000006")
    assert clickables(shop, results) == ("back to search", "next >", *hits)
    second = go(shop, "click[next >]", state=results)
    assert second.number == 2 and clickables(shop, second) == ("back to search", "< prev", "next >")
    item = go(shop, "click[B000000001]", state=results)
    buttons = ("back to search", "< prev", "description", "features", "reviews", "buy now")
    assert clickables(shop, item) == (*buttons, "7", "8", "9 1 | 2", "red", "navy | white", '28" x 30"')
    assert clickables(shop, go(shop, "click[reviews]", state=item)) == ("back to search", "< prev")
    assert clickables(shop, go(shop, "click[buy now]", state=item)) == ()


def test_options_are_kept_where_the_original_keeps_them(shop: Shop) -> None:
    item = go(shop, "search[canvas shoes]", "click[b000000001]", "click[8]", "click[red]", "click[7]")
    assert item.options == (("size", "7"), ("color", "red"))  # another value of an option keeps its place
    sub = go(shop, "click[features]", state=item)
    assert (sub.page, sub.sub, sub.options) == ("sub", "Features", item.options)
    assert go(shop, "click[< prev]", state=sub) == item
    results = go(shop, "click[< prev]", state=item)
    assert (results.page, results.number, results.asin, results.options) == ("results", 1, "", ())
    assert results.visited == ("B000000001",)
    assert go(shop, "search[boots]", state=item).visited == ("B000000001",)  # a search is taken anywhere
    assert go(shop, "click[back to search]", state=item) == State()


def test_prev_leads_to_the_page_of_results_that_the_product_was_on(official_shop: Shop) -> None:
    second = go(official_shop, "search[shoes]", "click[next >]")
    asin = clickables(official_shop, second)[3]
    assert go(official_shop, f"click[{asin}]", "click[< prev]", state=second)._replace(visited=()) == second
    assert go(official_shop, "click[< prev]", state=second).number == 1
    # the original offers further pages for ever
    beyond = go(official_shop, *["click[next >]"] * 9, state=second)
    assert beyond.number == 11 and rendering.text(official_shop, beyond, "x").endswith(
        "Page 11 (Total results: 39) [SEP] < Prev [SEP] Next >"
    )


def test_values_that_are_called_like_something_else(shop: Shop) -> None:
    item = go(shop, "search[odd options]", "click[b000000003]")
    # "description" stands where the button stands and opens the sub page; "small" counts for the last option
    assert clickables(shop, item)[2:] == (
        "description",
        "features",
        "reviews",
        "buy now",
        "search",
        "small",
        "large",
        "a[b]",
    )
    assert go(shop, "click[description]", state=item).sub == "Description"
    assert go(shop, "click[small]", state=item).options == (("fit", "small"),)
    assert classify(shop, item, "click[search]")[0] == "inadmissible"
    assert classify(shop, item, "click[a[b]]")[0] == "malformed"  # the grammar cannot say it
    assert not any(text in " ".join(shop.item(item.asin).admissible) for text in ("[search]", "a[b]"))
    assert not shop.item(item.asin).can_be_chosen("description") and shop.item(item.asin).can_be_chosen(
        "large"
    )


def test_the_page_of_attributes_is_offered_only_on_request(catalog: object, shop: Shop) -> None:
    shown = Shop(shop.catalog, show_attributes=True)
    item = go(shown, "search[canvas]", "click[b000000001]")
    assert clickables(shown, item)[2:6] == ("description", "features", "reviews", "attributes")
    sub = go(shown, "click[attributes]", state=item)
    assert rendering.text(shown, sub, "x").endswith("< Prev [SEP] canvas upper [SEP] non slip")
    assert classify(shop, item, "click[attributes]")[0] == "inadmissible"


def test_nothing_is_taken_after_the_end(shop: Shop) -> None:
    done = go(shop, "search[boots]", "click[b000000002]", "click[buy now]")
    assert (
        classify(shop, done, "search[boots]")[0]
        == classify(shop, done, "click[buy now]")[0]
        == "inadmissible"
    )


# ---- what is shown ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [("", []), (" ", [" "]), (" \t ", [" "]), ("\n", []), (" \n ", []), ("\xa0", ["\xa0"]), (" a ", [" a "])],
)
def test_texts_of_blanks_are_shown_as_the_originals_parser_leaves_them(text: str, shown: list[str]) -> None:
    assert [piece.text for piece in visible("plain", text)] == shown


def test_an_empty_feature_is_an_empty_segment(shop: Shop) -> None:
    state = go(shop, "search[boots]", "click[b000000002]", "click[features]")
    assert rendering.text(shop, state, "buy").endswith("< Prev [SEP] Made with care [SEP] ")
    assert rendering.text_rich(shop, state, "buy", 0).endswith("[button_]\n Made with care \n \n")


def test_chosen_options_are_read_off_the_address(shop: Shop) -> None:
    state = go(shop, "search[canvas shoes]", "click[b000000001]", "click[red]", "click[8]")
    rich = rendering.text_rich(shop, state, "buy shoes", 3)
    assert rich.startswith("You have clicked red.\nYou have clicked 8.\nInstruction:\nbuy shoes\n")
    assert "  [clicked button] red [clicked button_]\n" in rich and "  [button] 7 [button_]\n" in rich
    # a value with quotation marks is escaped there and so never found
    state = go(shop, 'click[28" x 30"]', state=state)
    assert '  [button] 28" x 30" [button_]\n' in rendering.text_rich(shop, state, "buy shoes", 3)
    # and one that the query names in quotation marks always is
    state = go(shop, 'search[canvas shoes "7"]', "click[b000000001]")
    assert rendering.text_rich(shop, state, "buy", 3).startswith("You have clicked 7.\n")


def test_addresses(shop: Shop) -> None:
    item = go(shop, "search[canvas  shoes]", "click[b000000001]", "click[red]")
    base = "http://127.0.0.1:3000"
    assert rendering.url(State(), 3) == f"{base}/3"
    assert rendering.url(item, 3) == f'{base}/item_page/3/B000000001/canvas++shoes/1/{{"color": "red"}}'
    sub = go(shop, "click[features]", state=item)
    assert (
        rendering.url(sub, 3)
        == f"{base}/item_sub_page/3/B000000001/canvas++shoes/1/Features/{{'color': 'red'}}"
    )
    assert (
        rendering.url(go(shop, "click[buy now]", state=item), 3)
        == f"{base}/done/3/B000000001/{{'color': 'red'}}"
    )


def test_the_last_page_shows_options_as_safe_json_by_name() -> None:
    state = State("done", asin="B1", options=(("size", "men's <8> & \xe9"), ("color", "red")), reward=0.5)
    assert rendering.options_json(state) == (
        '{"color": "red", "size": "men\\u0027s \\u003c8\\u003e \\u0026 \\u00e9"}'
    )
    assert "Your score (min 0.0, max 1.0)" in rendering.done_texts(state) and "0.5" in rendering.done_texts(
        state
    )


# ---- any string, any state ---------------------------------------------------------------------------------------

WORDS = ["canvas shoes", "boots", "b000000001", "b000000003", "8", "red", "small", "description", "features"]
WORDS += [
    "< prev",
    "next >",
    "back to search",
    "buy now",
    "search",
    "attributes",
    "<c> fashion",
    "<a>",
    "<r>",
]
moves = st.builds(
    "{}[{}]".format, st.sampled_from(["search", "click"]), st.sampled_from(WORDS) | st.text(max_size=9)
)


def admissible(shop: Shop, state: State) -> tuple[str, ...]:
    if state.page == "results":
        return shop.results(state.query, state.number).admissible
    return shop.item(state.asin).admissible if state.page == "item" else ()


@given(st.lists(moves | st.text(max_size=12), max_size=25))
def test_walks_keep_what_always_holds(shop_for_walks: Shop, texts: list[str]) -> None:
    shop, state = shop_for_walks, State()
    for text in texts:
        status, move = classify(shop, state, text)
        before = state_key("t", state)
        if status == "ok":
            assert move is not None and accepts(shop, state, move)
            state = advance(shop, state, move)
        else:
            assert why_not(shop, state, text, move) and state_key("t", state) == before
        assert (state.asin != "") == (state.page in ("item", "sub", "done"))
        assert (state.number > 0) == (state.page != "index")
        assert (state.sub != "") == (state.page == "sub")
        assert not state.asin or state.asin in state.visited
        held = shop.item(state.asin).product.options if state.asin else {}
        assert all(value in held[name] for name, value in state.options)
        assert rendering.text(shop, state, "x") == " [SEP] ".join(
            piece.text.strip() for piece in rendering.pieces(shop, state, "x")
        )
        labels = clickables(shop, state)
        for action in admissible(shop, state):
            assert classify(shop, state, action)[0] == "ok"
        assert len(set(labels)) == len(labels)


@pytest.fixture(scope="module")
def shop_for_walks(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    from envrl.envs.webshop.catalog import catalog_of
    from envrl.envs.webshop.official import clean_product

    odd = {"Style": ["Description", "search", "small", ""], "Fit": ["small", "large", "8"]}
    options = {name: [{"value": value} for value in values] for name, values in odd.items()}
    entries = [
        {"asin": f"B00000000{n}", "name": name, "category": "fashion", "customization_options": options}
        for n, name in enumerate(["Boots", "Canvas Shoes", "", "Odd canvas\nshoes"])
    ]
    return Shop(catalog_of([clean_product(entry, None) for entry in entries]), show_attributes=True)


def test_states_have_equal_keys_only_if_they_are_equal(shop: Shop) -> None:
    item = go(shop, "search[canvas shoes]", "click[b000000001]", "click[8]", "click[red]")
    other = go(shop, "search[canvas shoes]", "click[b000000001]", "click[red]", "click[8]")
    assert item.options != other.options  # the address shows the order
    states = [
        State(),
        item,
        other,
        item._replace(query="canvas"),
        item._replace(visited=("B0", "B000000001")),
    ]
    assert len({state_key("t", state) for state in states}) == len(states)
    assert state_key("t", item) == state_key("t", State(*item)) != state_key("u", item)


# ---- reasons -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("buy it", "That is no action: write search[words] or click[label]."),
        ("hm\nsearch[x]", "no action on the first line"),
        ("click[8", "The closing bracket is missing"),
        ("Click[8]", "Write 'click' in small letters at the very start"),
        (" search[x]", "Write 'search' in small letters at the very start"),
        ("click[]", "Nothing stands between the brackets"),
        ("click[[a]b]", "There is one bracket too many"),
        ("think[x]", "'think' is no action"),
        ("click[rad]", "There is no 'rad' to click on this page; did you mean 'red'?"),
        ("click[xyzzy]", "it has 'back to search', '< prev', 'description' and so on."),
        ("click[search]", "There is no button to search here"),
    ],
)
def test_reasons_on_the_page_of_a_product(shop: Shop, text: str, reason: str) -> None:
    state = go(shop, "search[canvas shoes]", "click[b000000001]")
    status, move = classify(shop, state, text)
    assert status != "ok" and reason in why_not(shop, state, text, move)


def test_reasons_elsewhere(shop: Shop) -> None:
    def reason(state: State, text: str) -> str:
        return why_not(shop, state, text, parse_action(text))

    results = go(shop, "search[canvas shoes]")
    sub = go(shop, "click[b000000001]", "click[reviews]", state=results)
    assert (
        reason(State(), "click[red]")
        == "There is no 'red' to click here, only a search bar: write search[words]."
    )
    assert "open a product first" in reason(results, "click[buy now]")
    assert "click[< prev] leads there" in reason(sub, "click[red]")
    assert len(reason(results, f"click[{'x' * 9000}]")) < 250
    # "search" and "a[b]" are there and cannot be clicked
    odd = go(shop, "click[b000000003]", state=results)
    assert "did you mean 'search'" not in reason(odd, "click[searhc]")
    assert "a[b]" not in reason(odd, "click[ab]")
