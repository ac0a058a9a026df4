"""Charts of answers, made from the release alone."""

import math
from typing import TYPE_CHECKING, Any, Final

from celosia.serving.pages.charts import adapt_chart

if TYPE_CHECKING:
    from celosia.query.release import TableRelease
    from celosia.serving.pages.languages import Language

_MAX_BARS: Final = 200
_MAX_CHARTS: Final = 4


def chart_columns(release: "TableRelease") -> list[str]:
    """Return the columns that can be drawn; empty if there are too many bars or a number is missing."""
    if not 0 < release.value.num_rows <= _MAX_BARS:
        return []
    return [name for name in release.intervals if _is_finite(release, name)][:_MAX_CHARTS]


def _is_finite(release: "TableRelease", name: str) -> bool:
    values = release.value[name].to_pylist()
    low, high = (end.tolist() for end in release.intervals[name](0.999))
    # Dates and categories have intervals, but no height.
    return all(isinstance(value, int | float) and math.isfinite(value) for value in [*values, *low, *high])


def chart_specification(
    release: "TableRelease", column: str, *, level: float, language: "Language", dark: bool = False
) -> dict[str, Any]:
    """Return the specification of a column's chart, as wide as its container."""
    interval = "chart.interval" if release.true_intervals is None else "chart.noise_interval"
    words = {
        "private value": language.text("chart.value"),
        release.name_interval(level): language.text(interval, level=f"{100 * level:g}"),
    }
    spec = release.plot(column, level=level, title=column).to_dict()
    return adapt_chart(spec, words, code=language.code, dark=dark)
