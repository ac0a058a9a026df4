"""Charts of the same numbers before and after: two bars side by side for each name."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.messages.message import Message
from celosia.plots.style import BLUE, GREY, Labels, apply_style

if TYPE_CHECKING:
    import altair as alt
    from numpy.typing import ArrayLike

_WIDTH, _HEIGHT = 640, 300
_LETTER_WIDTH: Final = 7  # approximate, in pixels


def pairs(
    names: Sequence[str],
    before: "ArrayLike",
    after: "ArrayLike",
    *,
    labels: Labels,
    series: tuple[str, str] | None = None,
) -> "alt.LayerChart":
    """Draw two bars per name.

    Parameters
    ----------
    names
        The names on the horizontal axis, in order.
    before, after
        The numbers, 0 or more.
    labels
        The title and the names of the axes.
    series
        What the two bars are called; by default before and after.

    >>> chart = pairs(["F", "M"], [3, 4], [3.5, 3.5], labels=Labels(title="Sex"))
    >>> len(chart.data.values)
    4
    """
    import altair as alt

    from celosia.plots.offline import LayerChart

    called = series or (Message("plots.before"), Message("plots.after"))
    texts = [labels.write(name) for name in called]
    columns = [np.asarray(one, dtype=np.float64) for one in (before, after)]
    for text, column in zip(texts, columns, strict=True):
        if column.shape != (len(names),) or not np.isfinite(column).all() or (column < 0).any():
            raise ParameterError("plots.values_do_not_match_names", column=text, count=len(names))
    if not names or len(set(names)) < len(names):
        raise ParameterError("plots.repeated_names")
    rows = [
        {"name": name, "series": text, "value": float(value)}
        for text, column in zip(texts, columns, strict=True)
        for name, value in zip(names, column, strict=True)
    ]
    slanted = max(map(len, names)) * _LETTER_WIDTH > _WIDTH / len(names)
    bars = (
        alt.Chart()
        .mark_bar()
        .encode(
            x=alt.X("name:N", sort=None, title=labels.x, axis=alt.Axis(labelAngle=-45 if slanted else 0, ticks=False)),
            xOffset=alt.XOffset("series:N", sort=texts),
            y=alt.Y("value:Q", title=labels.y, scale=alt.Scale(zero=True, nice=True)),
            color=alt.Color(
                "series:N", scale=alt.Scale(domain=texts, range=[GREY, BLUE]), legend=alt.Legend(title=None)
            ),
            tooltip=[
                alt.Tooltip("name:N", title=labels.x),
                alt.Tooltip("series:N", title=labels.write(Message("plots.name"))),
                alt.Tooltip("value:Q", title=labels.y, format=",.4~g"),
            ],
        )
    )
    chart = LayerChart(
        data=alt.InlineData(values=rows),
        layer=[bars],
        width=_WIDTH,
        height=_HEIGHT,
        title=alt.TitleParams(labels.title, subtitle=labels.subtitle),
    )
    return apply_style(chart, labels.language)
