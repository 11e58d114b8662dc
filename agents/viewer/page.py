"""The page: template, style, scripts and data in one HTML file that asks for nothing else."""

import json
from importlib.resources import files
from string import Template
from typing import Any

#: in this order they make one script
_SCRIPTS = ("dom.js", "charts.js", "evaluations.js", "episode.js", "episodes.js", "settings.js", "main.js")


def page(title: str, data: dict[str, Any]) -> str:
    """The whole page.

    Args:
        title: of the document.
        data: what it shows, as plain data without NaN.
    """
    script = "\n".join(_asset(name) for name in _SCRIPTS)
    return Template(_asset("page.html")).substitute(
        title=_escaped(title), style=_asset("style.css"), script=script, data=_embedded(data)
    )


def _asset(name: str) -> str:
    return files("envrl.agents.viewer").joinpath("assets", name).read_text(encoding="utf-8")


def _embedded(data: dict[str, Any]) -> str:
    """JSON that no HTML parser takes for the end of its element, whatever an environment wrote."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("&", "\\u0026").replace(">", "\\u003e")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
