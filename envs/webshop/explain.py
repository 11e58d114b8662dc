"""Why an action did nothing, in words: the messages of ``feedback="explain"``.

They tell no more than a person in front of the page knows.
"""

from rapidfuzz import process

from envrl.envs.webshop.pages import Move, State, clickables
from envrl.envs.webshop.shop import BUY, SUB_PAGES, Shop, as_clicks

_FORMS = "write search[words] or click[label]"
#: labels above this similarity (0 to 100) are suggested
_NEAR = 60


def why_not(shop: Shop, state: State, text: str, move: Move | None) -> str:
    """One sentence or two: why ``text`` does nothing in ``state``.

    Args:
        shop: what the pages hold.
        state: where the buyer is.
        text: what the buyer wrote.
        move: what `envrl.envs.webshop.pages.parse_action` made of it.
    """
    if move is None:
        return _not_understood(text)
    label = move.argument
    shown = label if len(label) <= 60 else label[:57] + "..."
    if state.page == "index":
        return f"There is no {shown!r} to click here, only a search bar: write search[words]."
    if label == "search":
        return "There is no button to search here: write search[words]."
    if state.page == "results" and (label == BUY.lower() or label in (sub.lower() for sub in SUB_PAGES)):
        return f"To find {shown!r}, open a product first: click its ASIN."
    if state.page == "sub" and label in shop.item(state.asin).labels:
        return f"{shown!r} is on the page of the product: click[< prev] leads there."
    there = [label for label in clickables(shop, state) if as_clicks((label,))]
    near = process.extractOne(label, there, score_cutoff=_NEAR) if len(label) <= 200 else None
    hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(map(repr, there[:3]))} and so on."
    return f"There is no {shown!r} to click on this page; {hint}"


def _not_understood(text: str) -> str:
    line = text.partition("\n")[0]
    name, bracket, rest = line.partition("[")
    if not bracket:
        where = " on the first line" if "[" in text else ""
        return f"That is no action{where}: {_FORMS}."
    if "]" not in rest:
        return f"The closing bracket is missing: {_FORMS}."
    if name.strip().lower() in ("search", "click"):
        if rest.startswith("]"):
            return f"Nothing stands between the brackets: {_FORMS}."
        if name not in ("search", "click"):
            return f"Write {name.strip().lower()!r} in small letters at the very start: {_FORMS}."
        return f"There is one bracket too many: {_FORMS}."
    return f"{name[:40]!r} is no action: {_FORMS}."
