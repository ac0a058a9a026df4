"""Charts of points with names: alternatives on two axes, such as risk and loss, and lines to compare with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.messages.message import Message
from celosia.plots.style import GREY, INK, PALETTE, Labels, apply_style

if TYPE_CHECKING:
    import altair as alt

_WIDTH, _HEIGHT = 640, 400
_GAP, _RISE = 14, 4  # of a name from its point, in pixels
_LETTER_WIDTH, _LETTER_HEIGHT, _DOT = 6.2, 13, 6  # approximate, in pixels
_SIDES: Final = {"a": (1, 1), "b": (-1, 1), "c": (1, -1), "d": (-1, -1)}  # right, up; in the order of preference
_SHAPES: Final = ("circle", "diamond", "square", "triangle-up", "cross", "triangle-down", "triangle-right")


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A point with its name, and the group that gives it a colour and a shape.

    >>> Point(name="plan", x=0.1, y=0.2).group
    ''
    """

    name: str
    x: float
    y: float
    group: str = ""


def points(
    marks: Sequence[Point], *, labels: Labels, levels: Mapping[str, float] | None = None, chosen: str = ""
) -> "alt.LayerChart":
    """Draw named points.

    Parameters
    ----------
    marks
        The points.
    labels
        The title and the names of the axes.
    levels
        Vertical dashed lines to compare with, by name.
    chosen
        The name of a point to emphasize.

    >>> chart = points([Point(name="a", x=0.5, y=1)], labels=Labels(title="One"))
    >>> [row["name"] for row in chart.data.values]
    ['a']
    """
    import altair as alt

    from celosia.plots.offline import LayerChart

    _check(marks)
    groups = list(dict.fromkeys(mark.group for mark in marks))
    sides = _place_names(marks)
    rows = [
        {"name": mark.name, "x": mark.x, "y": mark.y, "group": mark.group, "side": side}
        for mark, side in zip(marks, sides, strict=True)
    ]
    base = alt.Chart().encode(
        x=alt.X("x:Q", title=labels.x, scale=alt.Scale(zero=True, nice=True), axis=alt.Axis(tickCount=8)),
        y=alt.Y("y:Q", title=labels.y, scale=alt.Scale(zero=True, nice=True)),
        tooltip=[
            alt.Tooltip("name:N", title=labels.write(Message("plots.name"))),
            alt.Tooltip("x:Q", title=labels.x, format=".3~g"),
            alt.Tooltip("y:Q", title=labels.y, format=".3~g"),
        ],
    )
    legend = alt.Legend(title=None, symbolSize=130, symbolOpacity=1) if len(groups) > 1 else None
    layers: list[Any] = [
        *_draw_levels(levels or {}),
        base.mark_point(size=130, filled=True, opacity=0.9).encode(
            color=alt.Color(
                "group:N", scale=alt.Scale(domain=groups, range=list(PALETTE[: len(groups)])), legend=legend
            ),
            shape=alt.Shape(
                "group:N", scale=alt.Scale(domain=groups, range=list(_SHAPES[: len(groups)])), legend=legend
            ),
        ),
        *(_draw_names(base, side) for side in sorted(set(sides))),
    ]
    if chosen:
        layers.append(
            base.transform_filter(alt.FieldEqualPredicate(field="name", equal=chosen)).mark_point(
                size=460, filled=False, strokeWidth=2.5, color=INK
            )
        )
    chart: alt.LayerChart = LayerChart(
        data=alt.InlineData(values=rows),
        layer=layers,
        width=_WIDTH,
        height=_HEIGHT,
        title=alt.TitleParams(labels.title, subtitle=labels.subtitle),
    )
    return apply_style(chart, labels.language)


def _draw_names(base: "alt.Chart", side: str) -> "alt.Chart":
    """Draw the names of the points whose name goes to one side."""
    import altair as alt

    right, up = _SIDES[side]
    here = base.transform_filter(alt.FieldEqualPredicate(field="side", equal=side)).encode(text="name:N")
    named: alt.Chart = here.mark_text(
        align="left" if right > 0 else "right",
        baseline="bottom" if up > 0 else "top",
        dx=_GAP * right,
        dy=-_RISE * up,
        fontSize=12,
        color=INK,
    )
    return named


def _place_names(marks: Sequence[Point]) -> list[str]:
    """Return for each point the side of its name on which it meets the fewest names, points and edges."""
    places = np.array([(mark.x, mark.y) for mark in marks], dtype=np.float64)
    spans = np.maximum(places.max(axis=0), 0) - np.minimum(places.min(axis=0), 0)
    pixels = (places - np.minimum(places.min(axis=0), 0)) / np.where(spans > 0, spans, 1) * (_WIDTH, _HEIGHT) * 0.95
    taken = [_Box(x - _DOT, x + _DOT, y - _DOT, y + _DOT) for x, y in pixels]
    sides = []
    for mark, (x, y) in zip(marks, pixels, strict=True):
        boxes = {side: _make_box(x, y, len(mark.name) * _LETTER_WIDTH, *ways) for side, ways in _SIDES.items()}
        best = min(boxes, key=lambda side: (_count_conflicts(boxes[side], taken), list(_SIDES).index(side)))
        taken.append(boxes[best])
        sides.append(best)
    return sides


class _Box(NamedTuple):
    """A rectangle in pixels from the lower left corner."""

    left: float
    right: float
    low: float
    high: float


def _make_box(x: float, y: float, width: float, right: int, up: int) -> _Box:
    ends = sorted((x + right * _GAP, x + right * (_GAP + width)))
    heights = sorted((y + up * _RISE, y + up * (_RISE + _LETTER_HEIGHT)))
    return _Box(*ends, *heights)


def _count_conflicts(box: _Box, taken: Sequence[_Box]) -> int:
    outside = 2 * (box.left < 0) + 2 * (box.right > _WIDTH * 1.15) + 2 * (box.low < 0)
    return outside + sum(
        box.left < other.right and other.left < box.right and box.low < other.high and other.low < box.high
        for other in taken
    )


def _draw_levels(levels: Mapping[str, float]) -> "list[alt.Chart]":
    import altair as alt

    rows = alt.InlineData(values=[{"level": name, "at": at} for name, at in levels.items()])
    base = alt.Chart(rows).encode(x=alt.X("at:Q"))
    return [
        base.mark_rule(strokeDash=[6, 4], color=GREY, strokeWidth=1.5),
        base.mark_text(align="left", dx=4, dy=-4, baseline="bottom", color=GREY, fontSize=11).encode(
            y=alt.value(_HEIGHT), text="level:N"
        ),
    ]


def _check(marks: Sequence[Point]) -> None:
    names = [mark.name for mark in marks]
    if not names or len(set(names)) < len(names):
        raise ParameterError("plots.repeated_names")
    if not np.isfinite([(mark.x, mark.y) for mark in marks]).all():
        raise ParameterError("plots.wrong_points", count=len(names))
    if len({mark.group for mark in marks}) > len(PALETTE):
        raise ParameterError("plots.too_many_groups", most=len(PALETTE))
