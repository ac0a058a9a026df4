"""Charts of matrices: one tile for each row and column, darker the larger its number, which stands in it.

A cell without a number is empty: it is no zero.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import ParameterError
from celosia.plots.style import INK, Labels, apply_style

if TYPE_CHECKING:
    import altair as alt
    from numpy.typing import ArrayLike

_TILE = 46
_MAX_TEXT_CELLS = 900  # beyond, numbers in the tiles would overlap
_LEAST_SIDE, _MOST_SIDE = 220, 900
_PALE, _DARK = "#e3eef6", "#08519c"


def matrices(
    rows: Sequence[str],
    columns: Sequence[str],
    values: "ArrayLike",
    *,
    labels: Labels,
    texts: Sequence[Sequence[str]] | None = None,
) -> "alt.LayerChart":
    """Draw a matrix of numbers; NaN is an empty cell.

    Parameters
    ----------
    rows, columns
        Their names, from the top and from the left.
    values
        The numbers: the darkest tile has the largest.
    labels
        The title and the names of the axes.
    texts
        What stands in the tiles; by default the numbers, in three digits.

    >>> chart = matrices(["a", "b"], ["c"], [[1.0], [float("nan")]], labels=Labels(title="Two"))
    >>> [row["text"] for row in chart.data.values]
    ['1']
    """
    import altair as alt

    from celosia.plots.offline import LayerChart

    cells = _make_cells(rows, columns, values, texts)
    top = max((cell["value"] for cell in cells), default=0.0)
    darkness = alt.Color(
        "value:Q", scale=alt.Scale(domain=[0, top or 1], range=[_PALE, _DARK], clamp=True), legend=None
    )
    base = alt.Chart().encode(
        x=alt.X("column:N", scale=alt.Scale(domain=list(columns)), title=labels.x, axis=_make_axis(columns, turn=True)),
        y=alt.Y("row:N", scale=alt.Scale(domain=list(rows)), title=labels.y, axis=_make_axis(rows, turn=False)),
        tooltip=[
            alt.Tooltip("row:N", title=labels.y),
            alt.Tooltip("column:N", title=labels.x),
            alt.Tooltip("text:N", title=labels.title),
        ],
    )
    on_dark = alt.condition(f"datum.value > {0.55 * top!r}", alt.value("white"), alt.value(INK))
    numbers = [] if len(cells) > _MAX_TEXT_CELLS else [base.mark_text(fontSize=12).encode(text="text:N", color=on_dark)]
    width, height = (min(max(_TILE * len(names), _LEAST_SIDE), _MOST_SIDE) for names in (columns, rows))
    chart = LayerChart(
        data=alt.InlineData(values=cells),
        layer=[base.mark_rect(stroke="white", strokeWidth=1.5).encode(color=darkness), *numbers],
        width=width,
        height=height,
        title=alt.TitleParams(labels.title, subtitle=labels.subtitle),
    )
    return apply_style(chart, labels.language)


def _make_axis(names: Sequence[str], *, turn: bool) -> "alt.Axis":
    import altair as alt

    slanted = turn and max(map(len, names), default=0) > 4
    return alt.Axis(labelAngle=-45 if slanted else 0, ticks=False, domain=False, labelPadding=6, labelLimit=260)


def _make_cells(
    rows: Sequence[str], columns: Sequence[str], values: "ArrayLike", texts: Sequence[Sequence[str]] | None
) -> list[dict[str, Any]]:
    array = np.asarray(values, dtype=np.float64)
    for names in (rows, columns):
        if not names or len(set(names)) != len(names):
            raise ParameterError("plots.repeated_names")
    if array.shape != (len(rows), len(columns)) or (array < 0).any() or np.isinf(array).any():
        raise ParameterError("plots.wrong_matrix", rows=len(rows), columns=len(columns))
    return [
        {
            "row": row,
            "column": column,
            "value": float(array[i, j]),
            "text": f"{array[i, j]:.3g}" if texts is None else texts[i][j],
        }
        for i, row in enumerate(rows)
        for j, column in enumerate(columns)
        if not np.isnan(array[i, j])
    ]
