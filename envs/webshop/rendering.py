"""Pages as observations: ``text``, ``text_rich`` and ``url``, letter for letter as the original's.

Source: ``convert_html_to_text`` and the addresses in ``web_agent_site/envs/web_agent_text_env.py``.
"""

import json
from collections.abc import Iterable

from envrl.envs.webshop.pages import State
from envrl.envs.webshop.shop import BUTTON, LINK, OPTION, PLAIN, Piece, Shop, joined, visible

BASE_URL = "http://127.0.0.1:3000"
_SEP = " [SEP] "


def text(shop: Shop, state: State, instruction: str) -> str:
    """The page in the mode ``text``: its visible texts between separators."""
    told = instruction.strip()
    match state.page:
        case "results":
            rest = shop.results(state.query, state.number).text
        case "item":
            rest = shop.item(state.asin).text
        case "sub":
            rest = joined(shop.item(state.asin).sub_page(state.sub))
        case _:
            return joined(pieces(shop, state, instruction))
    return f"Instruction:{_SEP}{told}{_SEP}{rest}" if told else f"Instruction:{_SEP}{rest}"


def text_rich(shop: Shop, state: State, instruction: str, session: int) -> str:
    """The page in the mode ``text_rich``: a line for each visible text, with what can be clicked marked.

    Chosen options and visited products are marked as clicked. Whether an option is chosen is read off the
    address, as in the original: a value with a quotation mark or outside ASCII is never found there, and one
    that the query has in quotation marks always is.
    """
    address = url(state, session)
    lines: list[str] = []
    clicked: list[str] = []
    for kind, shown in pieces(shop, state, instruction):
        if kind == BUTTON:
            lines.append(f"[button] {shown} [button_]")
        elif kind == OPTION:
            if f'"{shown}"' in address:
                clicked.append(f"You have clicked {shown}.")
                lines.append(f"  [clicked button] {shown} [clicked button_]")
            else:
                lines.append(f"  [button] {shown} [button_]")
        elif kind == LINK:
            mark = "clicked button" if shown.upper() in state.visited else "button"
            lines.append(f"\n[{mark}] {shown} [{mark}_]")
        else:
            lines.append(shown)
    clicked.reverse()
    return "\n".join((*clicked, *lines, ""))


def pieces(shop: Shop, state: State, instruction: str) -> tuple[Piece, ...]:
    """Everything that the page shows, in order."""
    told = visible(PLAIN, instruction)
    match state.page:
        case "index":
            head = (Piece(PLAIN, "WebShop"), Piece(PLAIN, "Instruction: "))
            return (*head, *told, Piece(BUTTON, "Search"))
        case "results":
            rest: Iterable[Piece] = shop.results(state.query, state.number).pieces
        case "item":
            rest = shop.item(state.asin).pieces
        case "sub":
            rest = shop.item(state.asin).sub_page(state.sub)
        case "done":
            return tuple(Piece(PLAIN, shown) for shown in done_texts(state))
    return (Piece(PLAIN, "Instruction:"), *told, *rest)


def done_texts(state: State) -> tuple[str, ...]:
    """The texts of the last page. Most of it is hidden from people, and all of it is in the observation."""
    bought = ("Purchased", "asin", state.asin, "options", options_json(state))
    facts = ("attrs", "None", "category", "None", "query", "None", "product category", "None")
    target = ("asin", "options", "attrs", "price upper", "instuction text", "category", "product category")
    return (
        "Thank you for shopping with us!",
        "Your code: ",
        "None",
        " (Paste it in your MTurk interface.)",
        *bought,
        *facts,
        "Target",
        *target,
        "query",
        "Goal ",
        "None",
        "Reward",
        "Your score (min 0.0, max 1.0)",
        str(state.reward),
        "Reward Details ",
        "None",
    )


def options_json(state: State) -> str:
    """The chosen options as the last page shows them: JSON that is safe in HTML, names sorted."""
    shown = json.dumps(dict(state.options), sort_keys=True)
    for character in "<>&'":
        shown = shown.replace(character, f"\\u{ord(character):04x}")
    return shown


def url(state: State, session: int) -> str:
    """The page's address.

    Args:
        state: the page.
        session: index of the goal.
    """
    words = state.query.replace(" ", "+")
    match state.page:
        case "index":
            return f"{BASE_URL}/{session}"
        case "results":
            return f"{BASE_URL}/search_results/{session}/{words}/{state.number}"
        case "item":
            options = json.dumps(dict(state.options))
            return f"{BASE_URL}/item_page/{session}/{state.asin}/{words}/{state.number}/{options}"
        case "sub":
            options = str(dict(state.options))
            return f"{BASE_URL}/item_sub_page/{session}/{state.asin}/{words}/{state.number}/{state.sub}/{options}"
        case "done":
            return f"{BASE_URL}/done/{session}/{state.asin}/{dict(state.options)}"
