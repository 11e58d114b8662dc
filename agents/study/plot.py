"""A line plot as SVG text: success against environment steps, a colour an arm."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

#: told apart by people with any kind of colour vision (M. Okabe, K. Ito, 2008)
COLOURS = ("#5b6470", "#0072b2", "#009e73", "#d98c00", "#cc79a7", "#56b4e9", "#d55e00")
_WIDTH, _HEIGHT = 760, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 190, 44, 48
_STYLE = """
text { font: 13px system-ui, sans-serif; fill: #333a42 }
.title { font-weight: 600; font-size: 15px }
.grid { stroke: #8884; stroke-width: 1 }
.run { fill: none; stroke-width: 1; opacity: .3 }
.mean { fill: none; stroke-width: 2.5; stroke-linejoin: round }
.whisker { stroke-width: 2 }
@media (prefers-color-scheme: dark) { text { fill: #c9d1d9 } }
"""

XY = tuple[float, float]
_Scale = Callable[[float], float]


@dataclass(frozen=True)
class Line:
    """A line with a label at its end.

    points: the mean. thin: what it is the mean of. interval: ends of a whisker at the last point.
    """

    label: str
    points: Sequence[XY]
    thin: Sequence[Sequence[XY]] = field(default=())
    interval: tuple[float, float] | None = None


def line_plot(title: str, x_label: str, lines: Sequence[Line]) -> str:
    """SVG of lines over a common x axis; y runs from 0 to 1 and is shown in percent.

    Args:
        title, x_label: in words.
        lines: drawn in order, each in the next of `COLOURS`.
    """
    drawn = [points for line in lines for points in (line.points, *line.thin)]
    right = max((x for points in drawn for x, _ in points), default=1.0) or 1.0
    ticks = _ticks(right)
    highest = [y for points in drawn for _, y in points]
    highest += [line.interval[1] for line in lines if line.interval is not None]
    top = next((top for top in (0.1, 0.25, 0.5, 0.75) if max(highest, default=1.0) <= top), 1.0)

    def x_of(x: float) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * x / right, 1)

    def y_of(y: float) -> float:
        return round(_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * y / top, 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(title)}"><style>{_STYLE}</style>',
        f'<text class="title" x="{_LEFT}" y="22">{escape(title)}</text>',
    ]
    for step in range(6):
        y = top * step / 5
        parts.append(f'<path class="grid" d="M{_LEFT} {y_of(y)}H{_WIDTH - _RIGHT}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y_of(y) + 4}" text-anchor="end">{y:.0%}</text>')
    parts += [
        f'<text x="{x_of(tick)}" y="{_HEIGHT - _BOTTOM + 20}" text-anchor="middle">{_short(tick)}</text>'
        for tick in ticks
    ]
    parts.append(
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 8}" text-anchor="middle">{escape(x_label)}</text>'
    )
    places = _spread([y_of(line.points[-1][1]) if line.points else 0.0 for line in lines])
    for number, line in enumerate(lines):
        colour = COLOURS[number % len(COLOURS)]
        parts += [
            f'<path class="run" stroke="{colour}" d="{_path(thin, x_of, y_of)}"/>' for thin in line.thin
        ]
        if not line.points:
            continue
        parts.append(f'<path class="mean" stroke="{colour}" d="{_path(line.points, x_of, y_of)}"/>')
        x, y = line.points[-1]
        if line.interval is not None:
            low, high = (y_of(end) for end in line.interval)
            at = x_of(x) + 4 + 5 * number  # side by side
            parts.append(f'<path class="whisker" stroke="{colour}" d="M{at} {low}V{high}"/>')
        parts.append(f'<circle cx="{x_of(x)}" cy="{y_of(y)}" r="3" fill="{colour}"/>')
        label = f"{line.label} {y:.1%}"
        left = _WIDTH - _RIGHT + 12 + 5 * len(lines)
        parts.append(
            f'<text x="{left}" y="{places[number] + 4}" style="fill: {colour}; font-weight: 600">{escape(label)}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _path(points: Sequence[XY], x_of: _Scale, y_of: _Scale) -> str:
    return "M" + "L".join(f"{x_of(x)} {y_of(y)}" for x, y in points)


def _ticks(right: float) -> list[float]:
    """Round numbers from 0 to about ``right``."""
    raw = right / 5
    size = 10 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw)
    return [step * i for i in range(math.floor(right / step + 1e-9) + 1)]


def _short(value: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _spread(places: Sequence[float], gap: float = 18.0) -> list[float]:
    """The same places moved apart, within the plot, so that labels do not cover each other."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    out = list(places)
    for before, after in itertools.pairwise(order):
        out[after] = max(out[after], out[before] + gap)
    limit = float(_HEIGHT - _BOTTOM)
    for i in reversed(order):
        out[i] = min(out[i], limit)
        limit = out[i] - gap
    return out
