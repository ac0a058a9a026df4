"""Charts of points with names: alternatives on two axes, such as risk and loss, and lines to compare with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.messages.message import Message
from celosia.plots.style import GREY, INK, PALETTE, Labels, apply_style

if TYPE_CHECKING:
    import altair as alt

_WIDTH, _HEIGHT = 640, 400
_SHAPES: Final = ("circle", "diamond", "square", "triangle-up", "cross", "triangle-down", "triangle-right")


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A point with its name, and the group that gives it a colour and a shape."""

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
    rows = [{"name": mark.name, "x": mark.x, "y": mark.y, "group": mark.group} for mark in marks]
    base = alt.Chart().encode(
        x=alt.X("x:Q", title=labels.x, scale=alt.Scale(zero=True, nice=True)),
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
        base.mark_text(align="left", baseline="bottom", dx=14, dy=-4, fontSize=12, color=INK).encode(text="name:N"),
    ]
    if chosen:
        layers.append(
            base.transform_filter(alt.FieldEqualPredicate(field="name", equal=chosen)).mark_point(
                size=460, filled=False, strokeWidth=2.5, color=INK
            )
        )
    chart = LayerChart(
        data=alt.InlineData(values=rows),
        layer=layers,
        width=_WIDTH,
        height=_HEIGHT,
        title=alt.TitleParams(labels.title, subtitle=labels.subtitle),
    )
    return apply_style(chart, labels.language)


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
