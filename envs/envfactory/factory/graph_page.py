"""The graph as a picture: one page of HTML that needs nothing else.

A tool is a box with its arguments on the left and the fields of its results on the right; lines lead from fields to
the arguments that they can fill. Tools that need nothing stand on the left.
"""

import json
from collections.abc import Mapping
from html import escape
from typing import NamedTuple

from envrl.envs.envfactory.factory.graph import Edge, ToolGraph

_WIDTH, _GAP, _ROW, _HEAD = 230, 130, 18, 26
_MARGIN = 48
_SHOWN_FIELDS = 14
_COLOURS = {"name": "#7a8699", "value": "#1b7f5c", "embedding": "#8a4fbf"}
_STRONG = 0.35  # edges below are drawn only when the slider asks for them


class Box(NamedTuple):
    """Where a tool stands."""

    x: float
    y: float
    inputs: dict[str, float]
    outputs: dict[str, float]
    height: float


def graph_page(graphs: Mapping[str, ToolGraph]) -> str:
    """A page with one picture a toolkit.

    Args:
        graphs: toolkit name -> graph.
    """
    sections = []
    for name, graph in graphs.items():
        counts = ", ".join(f"{count} by {kind}" for kind, count in graph.count().items() if count)
        sections.append(
            f'<section><h2>{escape(name)}</h2><p class="about">{len(graph.tools)} tools, {len(graph.parameters)} '
            f"arguments, edges: {counts or 'none'} &middot; <code>{escape(graph.source)}</code></p>"
            f"<div class='scroll'>{_picture(graph)}</div></section>"
        )
    return _PAGE.replace("%%SECTIONS%%", "\n".join(sections))


def columns(graph: ToolGraph) -> dict[str, int]:
    """Tool -> column: one more than the farthest of the nearest producers of the ids that it requires."""
    needs: dict[str, list[set[str]]] = {tool: [] for tool in graph.tools}
    for parameter in graph.parameters:
        producers = {
            edge.producer
            for edge in graph.producers(parameter.tool, parameter.name)
            if edge.confidence >= _STRONG and graph.tools[edge.producer] == "read"
        }
        if parameter.required and parameter.by_id and producers:
            needs[parameter.tool].append(producers)
    column = {tool: 0 if not wants else None for tool, wants in needs.items()}
    for _ in range(len(graph.tools)):
        for tool, wants in needs.items():
            near = [
                min((c for producer in producers if (c := column[producer]) is not None), default=None)
                for producers in wants
            ]
            if column[tool] is None and all(depth is not None for depth in near):
                column[tool] = 1 + max(depth for depth in near if depth is not None)
    # What only feeds on its like (get_account takes an account of list_accounts, which takes an owner of
    # get_account) stands in the first column with what reads, and after it with what writes.
    placed = {tool: 0 if graph.tools[tool] == "read" else 1 for tool, at in column.items() if at is None}
    return {tool: placed[tool] if at is None else at for tool, at in column.items()}


def _picture(graph: ToolGraph) -> str:
    boxes = _boxes(graph)
    width = max(box.x for box in boxes.values()) + _WIDTH + _MARGIN
    height = max(box.y + box.height for box in boxes.values()) + _MARGIN
    best: dict[tuple[str, str, str, str, str], Edge] = {
        (e.producer, e.output, e.consumer, e.parameter, e.kind): e
        for e in graph.edges
        if graph.tools[e.producer] == "read"
    }
    lines = [_line(edge, boxes) for edge in best.values()]
    drawn = [_box(graph, tool, box) for tool, box in boxes.items()]
    return (
        f'<svg width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="tool graph">{"".join(lines)}{"".join(drawn)}</svg>'
    )


def _boxes(graph: ToolGraph) -> dict[str, Box]:
    boxes: dict[str, Box] = {}
    filled: dict[int, float] = {}
    for tool, column in sorted(columns(graph).items(), key=lambda item: item[1]):
        inputs = [p.name for p in graph.parameters if p.tool == tool]
        outputs = [f.name for f in graph.fields if f.tool == tool][:_SHOWN_FIELDS]
        height = _HEAD + _ROW * max(1, len(inputs), len(outputs)) + 8
        x, y = _MARGIN + column * (_WIDTH + _GAP), filled.get(column, _MARGIN)
        filled[column] = y + height + 22
        rows = {name: y + _HEAD + _ROW * (i + 0.7) for i, name in enumerate(inputs)}
        ends = {name: y + _HEAD + _ROW * (i + 0.7) for i, name in enumerate(outputs)}
        boxes[tool] = Box(x, y, rows, ends, height)
    return boxes


def _line(edge: Edge, boxes: Mapping[str, Box]) -> str:
    start, end = boxes[edge.producer], boxes[edge.consumer]
    x1, y1 = start.x + _WIDTH, start.outputs.get(edge.output, start.y + _HEAD / 2)
    x2, y2 = end.x, end.inputs[edge.parameter]
    bend = max(50.0, abs(x2 - x1) / 2)
    title = f"{edge.producer}.{edge.output} → {edge.consumer}.{edge.parameter}: {edge.kind}, {edge.confidence:.2f}"
    title += f", {edge.seen} values" if edge.seen else ""
    return (
        f'<path class="edge" data-ends="{escape(json.dumps([edge.producer, edge.consumer]))}" '
        f'data-confidence="{edge.confidence}" data-kind="{edge.kind}" fill="none" stroke="{_COLOURS[edge.kind]}" '
        f'stroke-width="{0.6 + 1.8 * edge.confidence:.1f}" d="M{x1:.1f},{y1:.1f} C{x1 + bend:.1f},{y1:.1f} '
        f'{x2 - bend:.1f},{y2:.1f} {x2:.1f},{y2:.1f}"><title>{escape(title)}</title></path>'
    )


def _box(graph: ToolGraph, tool: str, box: Box) -> str:
    required = {p.name for p in graph.parameters if p.tool == tool and p.required}
    rows = [
        f'<circle cx="{box.x}" cy="{y - 4:.1f}" r="3"/><text x="{box.x + 9}" y="{y:.1f}" '
        f'class="{"in" if name in required else "in optional"}">{escape(name)}</text>'
        for name, y in box.inputs.items()
    ]
    rows += [
        f'<circle cx="{box.x + _WIDTH}" cy="{y - 4:.1f}" r="3"/><text x="{box.x + _WIDTH - 9}" y="{y:.1f}" '
        f'text-anchor="end" class="out">{escape(name) or "(result)"}</text>'
        for name, y in box.outputs.items()
    ]
    return (
        f'<g class="tool {graph.tools[tool]}" data-tool="{escape(tool)}"><rect x="{box.x}" y="{box.y}" '
        f'width="{_WIDTH}" height="{box.height}" rx="7"/><text x="{box.x + 10}" y="{box.y + 18}" class="name">'
        f"{escape(tool)}</text>{''.join(rows)}</g>"
    )


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Tool graph</title>
<style>
:root { color-scheme: light; font: 14px/1.45 system-ui, sans-serif; }
body { margin: 0; background: #f6f7f9; color: #1d2430; }
header { position: sticky; top: 0; background: #fffffff2; border-bottom: 1px solid #d9dee6; padding: 10px 24px;
  display: flex; gap: 22px; align-items: center; flex-wrap: wrap; z-index: 1; }
h1 { font-size: 17px; margin: 0; } h2 { font-size: 16px; margin: 24px 24px 0; }
.about { margin: 2px 24px 8px; color: #5a6576; } .scroll { overflow: auto; }
label { display: inline-flex; gap: 6px; align-items: center; }
.key { width: 22px; height: 3px; border-radius: 2px; display: inline-block; }
svg text { font: 12px system-ui, sans-serif; fill: #1d2430; } svg .name { font-weight: 600; font-size: 13px; }
svg .optional { fill: #8791a1; } svg .out { fill: #46505f; }
.tool rect { fill: #fff; stroke: #b9c2cf; } .tool.write rect { fill: #fff6ec; stroke: #d9a866; }
.tool circle { fill: #66707f; } .edge { opacity: .5; }
.faded { opacity: .12; } .edge.faded { opacity: .04; } .edge.near { opacity: .95; } .hidden { display: none; }
</style></head><body>
<header><h1>Tool graph</h1>
<label><input type="checkbox" data-kind="value" checked><span class="key" style="background:#1b7f5c"></span>values
seen to flow</label>
<label><input type="checkbox" data-kind="name" checked><span class="key" style="background:#7a8699"></span>names
agree</label>
<label><input type="checkbox" data-kind="embedding" checked><span class="key" style="background:#8a4fbf"></span>
descriptions alike</label>
<label>confidence from <input id="least" type="range" min="0" max="1" step="0.05" value="0.6"><output>0.60</output>
</label>
<span>white: reads &middot; orange: writes &middot; grey argument: optional &middot; point at a tool to follow it</span>
</header>
%%SECTIONS%%
<script>
const edges = [...document.querySelectorAll(".edge")], tools = [...document.querySelectorAll(".tool")];
const least = document.getElementById("least");
function refresh() {
  const kinds = new Set([...document.querySelectorAll("input[data-kind]:checked")].map(box => box.dataset.kind));
  least.nextElementSibling.value = (+least.value).toFixed(2);
  for (const edge of edges)
    edge.classList.toggle("hidden", !kinds.has(edge.dataset.kind) || +edge.dataset.confidence < +least.value);
}
function follow(tool) {
  const near = new Set([tool.dataset.tool]);
  for (const edge of tool.closest("svg").querySelectorAll(".edge")) {
    const ends = JSON.parse(edge.dataset.ends), touches = ends.includes(tool.dataset.tool);
    if (touches && !edge.classList.contains("hidden")) ends.forEach(end => near.add(end));
    edge.classList.toggle("near", touches); edge.classList.toggle("faded", !touches);
  }
  for (const other of tool.closest("svg").querySelectorAll(".tool"))
    other.classList.toggle("faded", !near.has(other.dataset.tool));
}
function leave() { for (const part of [...edges, ...tools]) part.classList.remove("near", "faded"); }
for (const tool of tools) { tool.onmouseenter = () => follow(tool); tool.onmouseleave = leave; }
document.querySelectorAll("header input").forEach(input => input.oninput = refresh);
refresh();
</script></body></html>
"""
