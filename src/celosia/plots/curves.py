"""Charts of several functions of one variable: named lines, distinguished by dashes as well as by colour.

A line joins the given points only: there is no smoothing and no extrapolation, because a drawn bound must be a computed
bound. Where a function has no value, its line is missing.
"""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.messages.message import Message
from celosia.plots.style import DASHES, GREY, PALETTE, Labels, apply_style

if TYPE_CHECKING:
    import altair as alt
    from numpy.typing import ArrayLike, NDArray

_WIDTH, _HEIGHT = 560, 360
_SUBTITLE_WIDTH = 100  # characters, about as wide as the chart
_TICK_TOLERANCE = 1e-9
_MAX_LABELLED_POWERS = 8  # of ten on an axis; beyond, some have no number

# Vega's own choice between 0.000001 and 1e-6 changes within one axis.
_NUMBER = (
    "datum.value != 0 && (abs(datum.value) < 0.001 || abs(datum.value) >= 1e6) "
    "? replace(format(datum.value, '.3~e'), '+', '') : format(datum.value, ',.6~g')"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One named line through the points ``(x[i], y[i])``, in this order.

    ``look`` is its index among the colours and dashes, from 0 on, for charts that should agree. ``band`` has the lower
    and the upper ends of a region around it, in its colour.

    >>> Curve(name="basic", x=[1, 2], y=[0.1, 0.2]).name
    'basic'
    """

    name: str
    x: "ArrayLike"
    y: "ArrayLike"
    look: int | None = None
    band: "tuple[ArrayLike, ArrayLike] | None" = None


def curves(
    series: Sequence[Curve],
    *,
    labels: Labels,
    x_log: bool = False,
    y_log: bool = False,
    band: "tuple[ArrayLike, ArrayLike, ArrayLike] | None" = None,
) -> "alt.LayerChart":
    """Draw up to seven named lines, with a legend in the order given.

    Each line has its own colour and dashes: those of its place in the list, unless it has a ``look``.

    Parameters
    ----------
    series
        The lines; the first look is solid.
    labels
        The title and the names of the axes.
    x_log, y_log
        Whether an axis is logarithmic; its values must then be greater than 0.
    band
        A region behind the lines, ``(x, low, high)``.

    >>> line = Curve(name="basic", x=[1, 10], y=[0.1, 1])
    >>> chart = curves([line], labels=Labels(title="Growth", x="Releases", y="Epsilon"), x_log=True)
    >>> chart.to_dict()["title"]["text"]
    'Growth'
    """
    import altair as alt

    from celosia.plots.offline import LayerChart

    _check_series(series)
    logarithmic = {"x": x_log, "y": y_log}
    # Dashes go over the solid line: where lines coincide, all of them are visible.
    drawn = [curve for _, curve in sorted(zip(_list_looks(series), series, strict=True), key=lambda pair: pair[0])]
    rows = [row for curve in drawn for row in _make_rows(curve.name, logarithmic, x=curve.x, y=curve.y)]
    behind = [] if band is None else _make_rows("band", logarithmic, x=band[0], y=band[1], y_high=band[2])
    around = [
        (PALETTE[look], _make_rows(curve.name, logarithmic, x=curve.x, y=curve.band[0], y_high=curve.band[1]))
        for look, curve in zip(_list_looks(series), series, strict=True)
        if curve.band is not None
    ]
    shown = [*rows, *behind, *(row for _, values in around for row in values)]
    across, up = (_make_axis(shown, axis, log=logarithmic[axis]) for axis in ("x", "y"))
    encoded = {
        "x": alt.X("x:Q", title=labels.x, scale=across[0], axis=across[1]),
        "y": alt.Y("y:Q", title=labels.y, scale=up[0], axis=up[1]),
    }
    tooltip = [
        alt.Tooltip("name:N", title=labels.write(Message("plots.line"))),
        alt.Tooltip("x:Q", title=labels.x or "x", format=".6~g"),
        alt.Tooltip("y:Q", title=labels.y or "y", format=".6~g"),
    ]
    shade = alt.Chart(alt.InlineData(values=behind)).mark_area(color=GREY, opacity=0.15)
    lines = alt.Chart(alt.InlineData(values=rows)).mark_line(strokeWidth=2.25)
    # Each in a colour of its own, not in one that is encoded: the legend would take their opacity.
    bands = [
        alt.Chart(alt.InlineData(values=values)).mark_area(color=colour, opacity=0.15) for colour, values in around
    ]
    chart = LayerChart(
        layer=[
            *([] if band is None else [shade.encode(y2="y_high:Q", **encoded)]),
            *(one.encode(y2="y_high:Q", **encoded) for one in bands),
            lines.encode(order="place:Q", tooltip=tooltip, **encoded, **_encode_looks(series)),
        ],
        width=_WIDTH,
        height=_HEIGHT,
        title=alt.TitleParams(labels.title, subtitle=_wrap_subtitle(labels.subtitle)),
    )
    return apply_style(chart, labels.language)


def _wrap_subtitle(subtitle: str) -> list[str] | str:
    return textwrap.wrap(subtitle, _SUBTITLE_WIDTH, break_on_hyphens=False) or ""  # an empty list would leave a gap


def _encode_looks(series: Sequence[Curve]) -> "dict[str, alt.Color | alt.StrokeDash]":
    """Return the encodings of colour and dashes, which share one legend."""
    import altair as alt

    legend = alt.Legend(
        title=None, orient="right", symbolType="stroke", symbolSize=900, symbolStrokeWidth=2.25, labelLimit=0
    )
    names = [curve.name for curve in series]
    looks = _list_looks(series)
    colours = alt.Scale(domain=names, range=[PALETTE[look] for look in looks])
    dashes = alt.Scale(domain=names, range=[list(DASHES[look]) for look in looks])
    return {
        "color": alt.Color("name:N", sort=None, scale=colours, legend=legend),
        "strokeDash": alt.StrokeDash("name:N", sort=None, scale=dashes, legend=legend),
    }


def _list_looks(series: Sequence[Curve]) -> list[int]:
    return [place if curve.look is None else curve.look for place, curve in enumerate(series)]


def _make_axis(rows: list[dict[str, float | str]], axis: str, *, log: bool) -> "tuple[alt.Scale, alt.Axis]":
    import altair as alt

    values = [float(row[name]) for row in rows for name in (axis, f"{axis}_high") if name in row]
    if not log:
        least = 1 if all(value.is_integer() for value in values) else alt.Undefined  # there is no record 1.5
        shown = alt.Axis(labelExpr=_NUMBER, labelFlush=False, tickCount=8, tickMinStep=least)
        return alt.Scale(zero=axis == "y", nice=True), shown
    room = 1.15 if axis == "y" or min(values) == max(values) else 1.0
    domain = [min(values) / room, max(values) * room]
    powers = range(math.floor(math.log10(domain[0])), math.ceil(math.log10(domain[1])) + 1)
    if len(powers) > 4:
        ticks = [10.0**power for power in powers[:: math.ceil(len(powers) / _MAX_LABELLED_POWERS)]]
    else:
        digits = range(1, 10) if domain[1] < 4 * domain[0] else (1, 2, 5)
        ticks = [digit * 10.0**power for power in powers for digit in digits]
    inside = [tick for tick in ticks if domain[0] * (1 - _TICK_TOLERANCE) <= tick <= domain[1] * (1 + _TICK_TOLERANCE)]
    shown = alt.Axis(values=inside, labelExpr=_NUMBER, labelFlush=False)
    return alt.Scale(type="log", domain=domain, nice=False), shown


def _check_series(series: Sequence[Curve]) -> None:
    names = [curve.name for curve in series]
    if not 1 <= len(names) <= len(PALETTE) or len(set(names)) != len(names) or "" in names:
        raise ParameterError("plots.wrong_curve_names", most=len(PALETTE), names=repr(names))
    looks = [curve.look for curve in series if curve.look is not None]
    if not all(look in range(len(PALETTE)) for look in looks):
        raise ParameterError("plots.look_out_of_range", most=len(PALETTE) - 1, looks=repr(looks))


def _make_rows(name: str, logarithmic: dict[str, bool], **columns: "ArrayLike") -> list[dict[str, float | str]]:
    arrays: dict[str, NDArray[np.float64]] = {key: np.asarray(given, np.float64) for key, given in columns.items()}
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) != 1 or arrays["x"].ndim != 1 or arrays["x"].size < 2:
        shown = ", ".join(map(str, sorted(shapes)))
        raise ParameterError("plots.curve_lengths_differ", name=name, shapes=shown)
    for key, array in arrays.items():
        if not np.isfinite(array).all():
            raise ParameterError("plots.curve_not_finite", name=name, key=key)
        if logarithmic[key[0]] and not (array > 0).all():
            raise ParameterError("plots.curve_not_positive", name=name, key=key)
    lists: dict[str, list[float]] = {key: array.tolist() for key, array in arrays.items()}
    return [
        {"name": name, "place": float(place), **{key: column[place] for key, column in lists.items()}}
        for place in range(arrays["x"].size)
    ]
