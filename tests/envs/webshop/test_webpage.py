"""Pages as HTML: valid, with the visible texts of the original's pages, and with what scripts look for."""

from collections.abc import Callable, Iterable
from html.parser import HTMLParser
from typing import Any

import html5lib
import pytest

from envrl.envs.webshop import rendering
from envrl.envs.webshop.catalog import catalog_of
from envrl.envs.webshop.official import clean_product
from envrl.envs.webshop.pages import State, advance, clickables, parse_action
from envrl.envs.webshop.shop import Shop
from envrl.envs.webshop.webpage import html

_UNSEEN = {"style", "script", "head", "title", "meta"}
_VOID = {"meta", "link", "br", "input", "img", "hr"}
_BLANKS = " \t\n\f\r"


class Reader(HTMLParser):
    """Reads a page as the original does: texts with the element they stand in, and labels that can be clicked."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[tuple[str, str]] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self._data = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._flush()
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self._flush()
        # the original's pages close what they did not open
        while tag in self._open and self._open.pop() != tag:
            pass

    def handle_comment(self, data: str) -> None:
        self._flush()

    def handle_data(self, data: str) -> None:
        self._data += data

    def _flush(self) -> None:
        text, self._data = self._data, ""
        parent = self._open[-1] if self._open else ""
        if not text.strip(_BLANKS):  # what BeautifulSoup makes of blanks
            text = "\n" if "\n" in text else " " if text else ""
        if text and text != "\n" and parent and not _UNSEEN & set(self._open):
            self.texts.append((parent, text))


def texts(page: str) -> list[str]:
    return [text for _, text in Reader(page).texts]


def check(page: str) -> None:
    """Valid by the rules of HTML's own parser."""
    html5lib.HTMLParser(strict=True).parse(page)


def walk(shop: Shop, actions: Iterable[str]) -> Iterable[State]:
    state = State()
    yield state
    for action in actions:
        move = parse_action(action)
        assert move is not None
        state = advance(shop, state, move)
        yield state


@pytest.fixture
def nasty() -> Shop:
    """Products whose texts would break a page that did not escape them."""
    text = "</p><script>alert(\"x\")</script> & 'quotes' \u20ac \U0001f600 <b>"
    options = {text: [{"value": text, "image": "pic\"'.jpg"}, {"value": "plain"}], "Style": [{"value": ""}]}
    entry = {
        "asin": "B&<'\"",
        "name": text,
        "full_description": text,
        "small_description": [text, "", "two\nlines"],
        "customization_options": options,
        "images": ['a"b.jpg'],
    }
    return Shop(catalog_of([clean_product(entry, {"attributes": [text]})]), show_attributes=True)


WALK = [
    "search[alert]",
    "click[b&<'\"]",
    "click[plain]",
    "click[description]",
    "click[< prev]",
    "click[features]",
]
WALK += ["click[< prev]", "click[attributes]", "click[< prev]", "click[buy now]"]


def test_every_page_is_valid_and_shows_what_the_text_mode_shows(nasty: Shop) -> None:
    instruction = 'Find <me> a "thing" & more'
    for state in walk(nasty, WALK):
        page = html(nasty, state, instruction)
        check(page)
        assert texts(page) == [piece.text for piece in rendering.pieces(nasty, state, instruction)]


def test_a_notice_stands_above_the_page(shop: Shop) -> None:
    page = html(shop, State(), "buy", "There is no <button>.")
    check(page)
    assert texts(page)[0] == "There is no <button>." and texts(page)[1:] == texts(html(shop, State(), "buy"))


def test_what_scripts_look_for_is_there(shop: Shop) -> None:
    for state in walk(shop, ["search[canvas shoes]", "click[b000000001]", "click[red]", "click[features]"]):
        reader = Reader(html(shop, state, "buy"))
        assert any(facts.get("id") == "search_input" for _, facts in reader.elements) == (
            state.page == "index"
        )
        buttons = [text for tag, text in reader.texts if tag == "button"]
        links = [text for tag, text in reader.texts if tag == "a"]
        assert [f["class"] for tag, f in reader.elements if tag == "a"] == ["product-link"] * len(links)
        radios = [facts for tag, facts in reader.elements if facts.get("type") == "radio"]
        labels = dict.fromkeys(
            [label.lower() for label in buttons + links] + [str(r["value"]) for r in radios]
        )
        assert tuple(labels) == clickables(shop, state)
        assert [radio["name"] for radio in radios if "checked" in radio] == [
            name for name, _ in state.options
        ] or state.page == "sub"
        if state.page in ("index", "sub"):
            continue
        actions = [str(f["value"]) for tag, f in reader.elements if tag == "button"]
        actions += [str(radio["data-action"]) for radio in radios]
        if state.page == "item":
            assert tuple(actions) == shop.item(state.asin).admissible


def test_the_picture_is_that_of_the_latest_option(raw: Any) -> None:
    items = raw[0]
    items[0]["images"] = ["front.jpg"]
    items[0]["customization_options"]["Color"][0]["image"] = "red.jpg"
    small = Shop(catalog_of([clean_product(items[0], None)]))
    pictures = []
    for state in walk(small, ["search[shoes]", "click[b000000001]", "click[red]", "click[8]"]):
        elements = Reader(html(small, state, "buy")).elements
        pictures.append([facts["src"] for tag, facts in elements if tag == "img"])
    assert pictures == [[], ["front.jpg"], ["front.jpg"], ["red.jpg"], ["red.jpg"]]


@pytest.mark.shared
def test_visible_texts_equal_those_of_the_recorded_pages(
    official_shop: Shop, golden: Callable[[str], Any]
) -> None:
    goals = official_shop.catalog.goals("synthetic", 0)
    compared = 0
    for episode in golden("episodes.jsonl"):
        goal, state = goals[episode["goal_idx"]], State()
        for step in [episode["init"], *episode["steps"]]:
            move = parse_action(step.get("action", ""))
            if move is not None and (
                move.name == "search" or move.argument in clickables(official_shop, state)
            ):
                state = advance(official_shop, state, move)
            if step.get("done"):
                state = state._replace(reward=step["reward"])
            if "html" in step:
                page = html(official_shop, state, goal.instruction)
                check(page)
                assert texts(page) == texts(step["html"])
                compared += 1
    assert compared == 44
