"""Charts of graphs: named points, and lines between them with a number on each.

Numbers on the lines are shown as text and as width; marked points differ in shape as well as in colour.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.messages.message import Message
from celosia.plots.style import BLUE, GREY, INK, VERMILION, Labels, apply_style

if TYPE_CHECKING:
    import altair as alt
    from numpy.typing import ArrayLike

_SIDE = 460
_DOT, _DOTS = 900, 20  # the area of a point, in square pixels, for so many points; more are smaller
_MARGIN = 36  # pixels around the points, so that names at the edge are not cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A line from one named point to another; ``width`` is between 0 and 1, ``text`` stands at its middle.

    >>> Link(start="a", end="b", text="0.31").width
    0.0
    """

    start: str
    end: str
    text: str = ""
    width: float = 0.0


def networks(
    names: Sequence[str], points: "ArrayLike", links: Sequence[Link], *, labels: Labels, marked: Sequence[str] = ()
) -> "alt.LayerChart":
    """Draw named points and the lines between them.

    Parameters
    ----------
    names
        The names of the points.
    points
        Their places, one row of two numbers each.
    links
        The lines.
    labels
        The title; the axes have none. ``labels.x`` is the legend of the points that are not marked, ``labels.y`` of
        those that are.
    marked
        Names of points that are drawn as squares.

    >>> chart = networks(["a", "b"], [[0, 0], [1, 0]], [Link(start="a", end="b")], labels=Labels(title="Two"))
    >>> chart.to_dict()["title"]["text"]
    'Two'
    """
    import altair as alt

    from celosia.plots.offline import LayerChart

    places = _check_points(names, points, links)
    kinds = [labels.x or labels.write(Message("plots.point")), labels.y or labels.write(Message("plots.marked_point"))]
    nodes = [{"name": name, "x": x, "y": y, "kind": kinds[name in set(marked)]} for name, (x, y) in places.items()]
    height = max(y for _, y in places.values()) + _MARGIN
    axes = {
        "x": alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, _SIDE], nice=False)),
        "y": alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[0, height], nice=False)),
    }
    shown = kinds if marked else kinds[:1]
    legend = alt.Legend(title=None, labelLimit=0)
    kind = {
        "color": alt.Color(
            "kind:N", scale=alt.Scale(domain=shown, range=[BLUE, VERMILION][: len(shown)]), legend=legend
        ),
        "shape": alt.Shape(
            "kind:N", scale=alt.Scale(domain=shown, range=["circle", "square"][: len(shown)]), legend=legend
        ),
        "tooltip": [alt.Tooltip("name:N", title=labels.write(Message("plots.name")))],
    }
    dots = alt.Chart(alt.InlineData(values=nodes))
    chart = LayerChart(
        layer=[
            *_draw_links(links, places, axes),
            dots.mark_point(filled=True, size=min(_DOT, _DOT * _DOTS / len(nodes)), opacity=1).encode(**axes, **kind),
            dots.mark_text(color="white", fontWeight="bold", fontSize=13)
            .transform_filter(_SHORT)
            .encode(text="name:N", **axes),
            dots.mark_text(color=INK, fontWeight="bold", fontSize=12, dy=-24)
            .transform_filter(f"!({_SHORT})")
            .encode(text="name:N", **axes),
        ],
        width=_SIDE,
        height=height,
        title=alt.TitleParams(labels.title, subtitle=labels.subtitle),
    )
    return apply_style(chart, labels.language)


_SHORT = "length(datum.name) <= 2"  # such a name fits into its point


def _draw_links(
    links: Sequence[Link], places: dict[str, tuple[float, float]], axes: dict[str, Any]
) -> "list[alt.Chart]":
    import altair as alt

    rows: list[dict[str, Any]] = []
    for link in links:
        (x, y), (x_end, y_end) = places[link.start], places[link.end]
        ends = {"x": x, "y": y, "x_end": x_end, "y_end": y_end}
        rows.append(ends | {"text": link.text, "width": 1.5 + 5 * link.width})
    lines = alt.Chart(alt.InlineData(values=rows)).mark_rule(color=GREY, opacity=0.55)
    width = alt.StrokeWidth("width:Q", scale=None, legend=None)
    middles = [
        row | {"x": (row["x"] + row["x_end"]) / 2, "y": (row["y"] + row["y_end"]) / 2} for row in rows if row["text"]
    ]
    texts = alt.Chart(alt.InlineData(values=middles)).encode(text="text:N", **axes)
    return [
        lines.encode(x2="x_end:Q", y2="y_end:Q", strokeWidth=width, **axes),
        # A white copy below keeps the number legible on its line.
        texts.mark_text(color="white", stroke="white", strokeWidth=6, fontSize=12),
        texts.mark_text(color=INK, fontSize=12),
    ]


def _check_points(names: Sequence[str], points: "ArrayLike", links: Sequence[Link]) -> dict[str, tuple[float, float]]:
    """Return the places of the points in pixels, to one scale across and up."""
    array = np.asarray(points, dtype=np.float64)
    if not names or len(set(names)) != len(names):
        raise ParameterError("plots.repeated_names")
    if array.shape != (len(names), 2) or not np.isfinite(array).all():
        raise ParameterError("plots.wrong_points", count=len(names))
    for name in (name for link in links for name in (link.start, link.end)):
        if name not in names:
            raise ParameterError("plots.unknown_point", name=repr(name))
    low, spread = array.min(axis=0), np.ptp(array, axis=0)
    pixels = (_SIDE - 2 * _MARGIN) / (float(spread.max()) or 1.0)
    inside = _MARGIN + (array - low) * pixels + ((spread.max() - spread) * pixels / 2 * [1, 0])
    return {name: (float(x), float(y)) for name, (x, y) in zip(names, inside.tolist(), strict=True)}
