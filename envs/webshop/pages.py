"""The shop as a state machine: which page a buyer is on, what can be done there, and where it leads.

States are plain values and `advance` is a function of them; nothing is rendered here
(`envrl.envs.webshop.rendering`, `envrl.envs.webshop.webpage`). The behaviour is that of ``SimServer`` and
``SimBrowser`` in ``web_agent_site/envs/web_agent_text_env.py`` of the original, and of ``parse_action``.
"""

from hashlib import blake2b
from typing import Literal, NamedTuple

from envrl.envs.core import ActionStatus
from envrl.envs.webshop.shop import BACK, BUY, NEXT, PREVIOUS, SUB_PAGES, Shop

Page = Literal["index", "results", "item", "sub", "done"]


class State(NamedTuple):
    """Where a buyer is.

    page: the kind of page. query: the latest search, lower case. number: page of the results, from 1. asin: the
    open product. options: chosen (name, value) pairs in the order in which the names were first chosen. sub: the
    open sub page. visited: ASINs opened since the last visit of the index page, sorted. reward: of the purchase.
    """

    page: Page = "index"
    query: str = ""
    number: int = 0
    asin: str = ""
    options: tuple[tuple[str, str], ...] = ()
    sub: str = ""
    visited: tuple[str, ...] = ()
    reward: float = 0.0


class Move(NamedTuple):
    """An action as the shop understands it: ``search`` or ``click``, and what for, in lower case."""

    name: str
    argument: str


def parse_action(text: str) -> Move | None:
    """The move that a text asks for, None if it asks for none.

    The original matches ``(.+)\\[(.+)\\]`` at the start of the text: the first line counts up to its last closing
    bracket, what stands after that is ignored, and the last opening bracket parts name and argument. Names are
    compared exactly. (Written with searches for brackets: the pattern needs quadratic time on a row of them.)

    >>> parse_action("search[Red Shoes]")
    Move(name='search', argument='red shoes')
    >>> parse_action("click[a[b]]")  # the name is "click[a"
    """
    line = text.partition("\n")[0]
    closing = line.rfind("]")
    opening = line.rfind("[", 1, max(closing - 1, 0))
    if opening < 1 or line[:opening] not in ("search", "click"):
        return None
    return Move(line[:opening], line[opening + 1 : closing].lower())


def clickables(shop: Shop, state: State) -> tuple[str, ...]:
    """Labels that can be clicked, lower case, in the original's order: buttons, products, option values."""
    match state.page:
        case "index":
            return ("search",)
        case "results":
            return tuple(shop.results(state.query, state.number).labels)
        case "item":
            return tuple(shop.item(state.asin).labels)
        case "sub":
            return (BACK.lower(), PREVIOUS.lower())
        case "done":
            return ()


def accepts(shop: Shop, state: State, move: Move) -> bool:
    """Whether the shop does anything at a move.

    A search is accepted wherever one is, a click where there is such a label. ``search`` is a label of the
    original that it refuses to click.
    """
    if state.page == "done":
        return False
    if move.name == "search":
        return True
    label = move.argument
    if label == "search":
        return False
    match state.page:
        case "results":
            return label in shop.results(state.query, state.number).labels
        case "item":
            return label in shop.item(state.asin).labels
        case _:
            return label in clickables(shop, state)


def advance(shop: Shop, state: State, move: Move) -> State:
    """The state after a move that `accepts` takes. On ``done`` the reward is still to be filled in."""
    if move.name == "search":
        return State("results", move.argument, 1, visited=state.visited)
    label = move.argument
    if label == BUY.lower():
        return state._replace(page="done")
    if label == BACK.lower():
        return State()
    if state.page == "results":
        if label in (NEXT.lower(), PREVIOUS.lower()):
            return state._replace(number=state.number + (1 if label == NEXT.lower() else -1))
        asin = shop.results(state.query, state.number).labels[label]
        return state._replace(page="item", asin=asin, visited=tuple(sorted({*state.visited, asin})))
    if label == PREVIOUS.lower():
        if state.page == "sub":
            return state._replace(page="item", sub="")
        return State("results", state.query, state.number, visited=state.visited)
    # an option value that is called like a sub page opens the sub page, shown or not, as in the original
    sub = next((name for name in SUB_PAGES if name.lower() == label), None)
    if sub is not None:
        return state._replace(page="sub", sub=sub)
    name = shop.item(state.asin).labels[label]
    return state._replace(options=_chosen(state.options, name, label))


def _chosen(options: tuple[tuple[str, str], ...], name: str, value: str) -> tuple[tuple[str, str], ...]:
    """The options with one more chosen; another value of the same option takes its place."""
    chosen = dict(options)
    chosen[name] = value
    return tuple(chosen.items())


def state_key(task_id: str, state: State) -> str:
    """A digest of the task and the whole state."""
    facts = repr((task_id, *state)).encode("utf-8", "surrogatepass")
    return blake2b(facts, digest_size=16).hexdigest()


def classify(shop: Shop, state: State, text: str) -> tuple[ActionStatus, Move | None]:
    """How the shop takes a text, and the move it asks for."""
    move = parse_action(text)
    if move is None:
        return "malformed", None
    return ("ok" if accepts(shop, state, move) else "inadmissible"), move
