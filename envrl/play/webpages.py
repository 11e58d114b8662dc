"""A game as a web page: the environment's own page where it draws one, else its text with buttons; no server here.

Every action is a link or a form that leads to ``?action=...``, every command of the player to ``?command=...``.
"""

from html import escape
from urllib.parse import urlencode

from envrl.play.session import Session

#: command -> the word on its button
COMMANDS = {"hint": "Hint", "undo": "Undo", "restart": "Start again", "new": "New task", "quit": "Quit"}

_BAR_STYLE = (
    "font: 14px/1.4 system-ui, sans-serif; background: #1c2430; color: #fff; padding: .5rem 1rem;"
    " display: flex; flex-wrap: wrap; gap: 1rem; align-items: center;"
)
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; }
main { max-width: 60rem; margin: 1rem auto; padding: 0 1rem; }
pre { white-space: pre-wrap; }
button, input { font: inherit; margin: .15rem; }
.notice { background: #fff4d6; padding: .5rem 1rem; }
""".strip()


def page_of(session: Session, notice: str = "") -> str:
    """The present page of a game as an HTML document, with the player's bar on top.

    An environment that has a method ``webpage(notice) -> str`` draws its own page; the bar is put at the start
    of its body.
    """
    draw = getattr(session.inner, "webpage", None)
    page = plain_page(session, notice) if draw is None else str(draw(notice))
    head, body, rest = page.partition("<body>")
    return f"{head}{body}\n{bar(session)}{rest}"


def bar(session: Session) -> str:
    """Progress, the outcome once there is one, and the commands."""
    limit = f"/{session.limit}" if session.limit is not None else ""
    parts = [f'<span id="progress">step {len(session.turns)}{limit}</span>']
    if session.over:
        parts.append(f'<strong id="outcome">{escape(session.outcome())}</strong>')
    for command, word in COMMANDS.items():
        address = escape("?" + urlencode({"command": command}))
        parts.append(f'<a id="{command}" style="color: #9cc4ff" href="{address}">{word}</a>')
    return f'<nav style="{_BAR_STYLE}">{"".join(parts)}</nav>'


def plain_page(session: Session, notice: str) -> str:
    """The observation as text, a box for any action, and a button for each admissible one."""
    info = session.info
    buttons = "".join(
        f'<button name="action" value="{escape(action)}">{escape(action)}</button>'
        for action in info["admissible_actions"]
    )
    forms = ", ".join(map(escape, info["action_templates"]))
    return "\n".join(
        (
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            "<title>EnvRL</title>",
            f"<style>{_STYLE}</style>",
            "</head>",
            "<body>",
            "<main>",
            *([f'<p class="notice" role="status">{escape(notice)}</p>'] if notice else []),
            f"<p><strong>{escape(info['goal'])}</strong></p>",
            f"<pre>{escape(session.observation)}</pre>",
            '<form method="get">',
            f'<p><input name="action" aria-label="action" placeholder="{forms or "action"}" autofocus>',
            "<button>Do it</button></p>",
            "</form>",
            f'<form method="get"><p>{buttons}</p></form>' if buttons else "",
            "</main>",
            "</body>",
            "</html>",
            "",
        )
    )
