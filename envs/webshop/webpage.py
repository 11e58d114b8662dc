"""Pages as HTML: valid, with a little CSS, and with the same visible texts in the same order as the original's.

What scripts look for in the original's pages is there too: ``id="search_input"``, the classes ``btn`` and
``product-link``, radio buttons with the option's name and value. Buttons and links lead to ``?action=...`` with
the action as the environment takes it; `envrl play --browser` serves that.
"""

from collections.abc import Iterable
from html import escape
from urllib.parse import quote

from envrl.envs.webshop.pages import State
from envrl.envs.webshop.rendering import options_json
from envrl.envs.webshop.shop import BACK, BUY, NEXT, PREVIOUS, ItemPage, ResultsPage, Shop

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; background: #f4f5f7; color: #1c2430; }
main { max-width: 60rem; margin: 2rem auto; padding: 1.5rem 2rem; background: #fff; border-radius: 8px; }
h4.instruction { background: #eef3fb; border-left: 4px solid #3867d6; padding: .6rem 1rem; font-weight: 500; }
.btn { font: inherit; padding: .35rem .9rem; margin: .2rem 0; border: 1px solid #3867d6; border-radius: 5px;
  background: #3867d6; color: #fff; cursor: pointer; }
.btn.plain { background: #fff; color: #3867d6; }
.hit, .item { border-top: 1px solid #dde1e8; padding: .8rem 0; overflow: hidden; }
.hit img, .item img { float: left; max-height: 7rem; max-width: 9rem; margin: 0 1rem .5rem 0; }
.hit h4, .hit h5 { margin: .2rem 0; }
fieldset { border: 0; padding: 0; margin: .5rem 0; }
fieldset h4 { margin: .3rem 0; }
input[type=radio] { position: absolute; opacity: 0; }
label { display: inline-block; border: 1px solid #b8c0cc; border-radius: 5px; padding: .2rem .7rem;
  margin: .15rem; cursor: pointer; }
input:checked + label { background: #3867d6; color: #fff; }
input:focus-visible + label { outline: 2px solid #f39c12; }
#search_input { font: inherit; padding: .4rem .6rem; width: min(30rem, 70%); }
.notice { background: #fff4d6; border-left: 4px solid #f39c12; padding: .5rem 1rem; }
""".strip()
#: options have no button of their own: choosing one is a click
_SCRIPT = """
for (const option of document.querySelectorAll("input[type=radio]"))
  option.addEventListener("change", () => {
    location.search = "?action=" + encodeURIComponent(option.dataset.action);
  });
""".strip()
#: a search box sends the words alone; an action cannot hold an opening bracket, and search ignores it
_SEARCH_SCRIPT = """
document.getElementById("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const words = document.getElementById("search_input").value.replaceAll("[", " ");
  location.search = "?action=" + encodeURIComponent("search[" + words + "]");
});
""".strip()


def html(shop: Shop, state: State, instruction: str, notice: str = "") -> str:
    """The page as an HTML document.

    Args:
        shop: what the pages hold.
        state: the page.
        instruction: what the buyer is asked for.
        notice: a message above everything else, such as why the last click did nothing.
    """
    script = ""
    match state.page:
        case "index":
            body, script = _index(instruction), _SEARCH_SCRIPT
        case "results":
            body = _results(shop.results(state.query, state.number), state, instruction)
        case "item":
            body, script = _item(shop.item(state.asin), state, instruction), _SCRIPT
        case "sub":
            body = _sub_page(shop.item(state.asin), state, instruction)
        case "done":
            body = _done(state)
    warning = [f'<p class="notice" role="status">{escape(notice)}</p>'] if notice else []
    return "\n".join(
        (
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            "<title>WebShop</title>",
            '<link rel="icon" href="data:,">',
            f"<style>\n{_STYLE}\n</style>",
            "</head>",
            "<body>",
            "<main>",
            *warning,
            *body,
            "</main>",
            *([f"<script>\n{script}\n</script>"] if script else []),
            "</body>",
            "</html>",
            "",
        )
    )


def _index(instruction: str) -> Iterable[str]:
    yield "<h2>WebShop</h2>"
    yield f'<h4 class="instruction">Instruction: <br>{escape(instruction)}</h4>'
    yield '<form id="search" method="get">'
    yield '<input id="search_input" type="text" name="search_query" placeholder="Search..." required autofocus>'
    yield '<button class="btn" type="submit">Search</button>'
    yield "</form>"


def _head(instruction: str) -> Iterable[str]:
    yield f'<h4 class="instruction">Instruction:<br>{escape(instruction)}</h4>'
    yield _button(BACK)


def _button(label: str, look: str = " plain") -> str:
    """A button that clicks its label."""
    action = escape(f"click[{label.lower()}]")
    button = f'<button class="btn{look}" name="action" value="{action}">{escape(label)}</button>'
    return f'<form method="get">{button}</form>'


def _results(page: ResultsPage, state: State, instruction: str) -> Iterable[str]:
    yield from _head(instruction)
    yield f"<h3>Page {page.number} (Total results: {page.total})</h3>"
    if page.number > 1:
        yield _button(PREVIOUS)
    yield _button(NEXT)
    for hit in page.hits:
        product = hit.product
        address = escape("?action=" + quote(f"click[{hit.label}]", errors="replace"))
        style = ' style="color: #8a4fb0"' if hit.asin.upper() in state.visited else ""
        yield '<div class="hit">'
        if product.image:
            yield f'<img src="{escape(product.image)}" alt="" loading="lazy">'
        yield f'<h4><a class="product-link" href="{address}"{style}>{escape(hit.asin)}</a></h4>'
        yield f"<h4>{escape(product.title)}</h4>"
        yield f"<h5>{escape(product.price_tag)}</h5>"
        yield "</div>"


def _item(page: ItemPage, state: State, instruction: str) -> Iterable[str]:
    product, chosen = page.product, dict(state.options)
    pictures = [product.option_images[value] for value in chosen.values() if value in product.option_images]
    picture = pictures[-1] if pictures else product.image
    yield from _head(instruction)
    yield _button(PREVIOUS)
    yield '<div class="item">'
    if picture:
        yield f'<img id="product-image" src="{escape(picture)}" alt="">'
    for group, (name, values) in enumerate(product.options.items()):
        yield "<fieldset>"
        yield f"<h4>{escape(name)}</h4>"
        for place, value in enumerate(values):
            key = f"option-{group}-{place}"
            action = escape(f"click[{value}]")
            checked = " checked" if chosen.get(name) == value else ""
            facts = f'name="{escape(name)}" value="{escape(value)}" data-action="{action}"{checked}'
            yield f'<input type="radio" id="{key}" {facts}>'
            yield f'<label for="{key}">{escape(value)}</label>'
        yield "</fieldset>"
    yield f"<h2>{escape(product.title)}</h2>"
    yield f"<h4>Price: {escape(product.price_tag)}</h4>"
    yield "<h4>Rating: N.A.</h4>"
    yield from map(_button, page.sub_pages)
    yield _button(BUY, "")
    yield "</div>"


def _sub_page(page: ItemPage, state: State, instruction: str) -> Iterable[str]:
    product = page.product
    yield from _head(instruction)
    yield _button(PREVIOUS)
    yield '<div class="item">'
    if state.sub == "Description":
        yield f'<p class="product-info">{escape(product.description)}</p>'
    elif state.sub in ("Features", "Attributes"):
        texts = product.bullets if state.sub == "Features" else product.attributes
        yield "<ul>"
        for shown in texts:
            yield f'<li><p class="product-info"> {escape(shown)}</p></li>'
        yield "</ul>"
    yield "</div>"


def _done(state: State) -> Iterable[str]:
    yield "<h1>Thank you for shopping with us!</h1>"
    yield "<h3>Your code: </h3>"
    yield "<p><code>None</code> (Paste it in your MTurk interface.)</p>"
    # people do not see what follows, and it belongs to the text of the page all the same
    yield "<div hidden>"
    yield "<h2>Purchased</h2>"
    yield f'<div id="asin">asin<code>{escape(state.asin)}</code></div>'
    yield f'<div id="options">options<code>{escape(options_json(state))}</code></div>'
    for name in ("attrs", "category", "query", "product category"):
        yield f"<div>{name}<code>None</code></div>"
    yield "<h2>Target</h2>"
    target = ("asin", "options", "attrs", "price upper", "instuction text", "category", "product category")
    for name in (*target, "query"):
        yield f"<div>{name}<code></code></div>"
    yield '<div>Goal <span id="goal"><code>None</code></span></div>'
    yield "<h2>Reward</h2>"
    yield "</div>"
    yield f'<h3 id="reward">Your score (min 0.0, max 1.0)<br><code>{state.reward}</code></h3>'
    yield '<div hidden>Reward Details <span id="reward_info"><code>None</code></span></div>'
