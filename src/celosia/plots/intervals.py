"""Charts of private values with their error bars, and of the true values where a demonstration may show them.

An interval shows how far the noise may have moved an answer; a private number without one invites people to read the
noise. True values are hollow diamonds, never joined or filled, so that they are not mistaken for a release.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.messages.message import Message
from celosia.plots.style import BLUE, INK, VERMILION, Labels, apply_style

if TYPE_CHECKING:
    import altair as alt
    from numpy.typing import ArrayLike

_WIDTH, _HEIGHT = 640, 320
_LETTER_WIDTH = 7  # approximate, in pixels
_COLUMNS = {"value": "plots.value", "low": "plots.low", "high": "plots.high", "true": "plots.true"}


def intervals(
    names: Sequence[str],
    values: "ArrayLike",
    bounds: "tuple[ArrayLike, ArrayLike]",
    *,
    labels: Labels,
    true: "ArrayLike | None" = None,
    mark: Literal["bar", "point"] = "bar",
    interval: str = "",
) -> "alt.LayerChart":
    """Draw one bar or point per name, with its interval and, if given, its true value.

    Parameters
    ----------
    names
        The names on the horizontal axis, in order.
    values
        The private values.
    bounds
        The lower and the upper ends of their intervals.
    labels
        The title and the names of the axes.
    true
        The true values, if they are public.
    mark
        Bars start at zero, points need not.
    interval
        The name of the intervals in the legend; by default it says that they are of 95 %.

    >>> chart = intervals(["0-9", "10-19"], [12, 30], ([9, 27], [15, 33]), labels=Labels(title="Ages"))
    >>> [row["value"] for row in chart.data.values]
    [12.0, 30.0]
    """
    import altair as alt

    from celosia.plots.offline import LayerChart

    if mark not in ("bar", "point"):
        raise ParameterError("plots.unknown_mark", value=repr(mark))
    columns = {"value": values, "low": bounds[0], "high": bounds[1]} | ({} if true is None else {"true": true})
    rows = _make_rows(names, columns)
    base = alt.Chart().encode(
        x=alt.X(
            "name:N",
            sort=None,
            title=labels.x,
            axis=alt.Axis(labelAngle=_label_angle(names), ticks=False, labelPadding=6),
        ),
        tooltip=[
            alt.Tooltip("name:N", title=labels.x),
            *(alt.Tooltip(f"{name}:Q", title=labels.write(Message(_COLUMNS[name])), format=",") for name in columns),
        ],
    )
    words = (Message("plots.private_value"), interval or Message("plots.interval"), Message("plots.true_value"))
    series = tuple(map(labels.write, words if true is not None else words[:2]))
    chart = LayerChart(
        data=alt.InlineData(values=rows),
        layer=_draw_layers(base, series, mark=mark, y_title=labels.y),
        width=_WIDTH,
        height=_HEIGHT,
        title=alt.TitleParams(labels.title, subtitle=labels.subtitle),
    )
    return apply_style(chart, labels.language)


def _label_angle(names: Sequence[str]) -> int:
    """Return the angle of the names: upright, or slanted if the longest would overlap its neighbour."""
    return 0 if max(map(len, names)) * _LETTER_WIDTH <= _WIDTH / len(names) else -45


def _draw_layers(base: "alt.Chart", series: tuple[str, ...], *, mark: str, y_title: str) -> "list[alt.Chart]":
    import altair as alt

    colours = alt.Scale(domain=list(series), range=[BLUE, INK, VERMILION][: len(series)])
    legend = alt.Legend(title=None, symbolType="square", symbolSize=120, symbolOpacity=1)

    def layer(column: str, name: str) -> "alt.Chart":
        # A constant column gives all layers one legend; Vega reads JSON's strings.
        return base.transform_calculate(series=json.dumps(name, ensure_ascii=False)).encode(
            y=alt.Y(f"{column}:Q", title=y_title, scale=alt.Scale(zero=mark == "bar", nice=True)),
            color=alt.Color("series:N", scale=colours, legend=legend),
        )

    whiskers = [
        layer("low", series[1]).encode(y2="high:Q").mark_rule(strokeWidth=1.5),
        *(layer(end, series[1]).mark_tick(thickness=1.5, width=10, opacity=1) for end in ("low", "high")),
    ]
    value = layer("value", series[0])
    # Whiskers end inside their bar, so they go over it, but under a point.
    layers = (
        [value.mark_bar(opacity=0.8), *whiskers]
        if mark == "bar"
        else [*whiskers, value.mark_circle(size=90, opacity=1)]
    )
    true = [
        layer("true", name).mark_point(shape="diamond", size=70, strokeWidth=1.75, opacity=1) for name in series[2:]
    ]
    return [*layers, *true]


def _make_rows(names: Sequence[str], columns: "dict[str, ArrayLike]") -> list[dict[str, float | str]]:
    if not names or len(set(names)) != len(names):
        raise ParameterError("plots.repeated_names")
    arrays = {column: np.asarray(given, dtype=np.float64) for column, given in columns.items()}
    for column, array in arrays.items():
        if array.shape != (len(names),) or not np.isfinite(array).all():
            raise ParameterError("plots.values_do_not_match_names", column=column, count=len(names))
    if (arrays["low"] > arrays["high"]).any():
        raise ParameterError("plots.bounds_in_wrong_order")
    lists: dict[str, list[float]] = {column: array.tolist() for column, array in arrays.items()}
    return [{"name": name} | {column: lists[column][i] for column in lists} for i, name in enumerate(names)]
