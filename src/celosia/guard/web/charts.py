"""Charts of answers: one Vega-Lite specification for the script, and an SVG for pages without scripts.

A chart is made from the release alone. The page interprets its expressions and never compiles them. It has no tooltips,
whose style the Content Security Policy refuses. Both themes use a palette for colour-blind readers.
"""

import json
import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from celosia.plots.style import BLUE, GREY, INK

if TYPE_CHECKING:
    from celosia.guard.web.i18n.language import Language
    from celosia.query.release import TableRelease

_MAX_BARS: Final = 200
_MAX_CHARTS: Final = 4
_DARK_COLOURS: Final = {
    INK: "#ece8e0",
    GREY: "#b1b5b3",
    BLUE: "#56b4e9",
    "#999999": "#819094",
    "#e8e8e8": "#344145",
}
_LOCALES: Final[dict[str, dict[str, Any]]] = {
    "en": {"decimal": ".", "thousands": ",", "grouping": [3], "currency": ["$", ""]},
    "es": {"decimal": ",", "thousands": ".", "grouping": [3], "currency": ["", " €"]},
}


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
    spec: dict[str, Any] = release.plot(column, level=level, title=column).to_dict()
    rows = {name: spec.pop(name) for name in ("data", "datasets") if name in spec}
    words = {
        "private value": language.text("chart.value"),
        release.name_interval(level): language.text(
            "chart.interval" if release.true_intervals is None else "chart.noise_interval", level=f"{100 * level:g}"
        ),
    }
    restyled: dict[str, Any] = _restyle(spec, words, _DARK_COLOURS if dark else {})
    restyled.pop("title", None)
    restyled["config"] |= {"background": "transparent", "padding": 4}
    restyled["config"]["legend"]["direction"] = "vertical"  # side by side they do not fit on a phone
    locale = {"locale": _LOCALES[language.code]}
    return (
        restyled
        | rows
        | {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}, "usermeta": locale}
    )


def _restyle(part: Any, words: dict[str, str], colours: dict[str, str]) -> Any:
    """Return the specification without data in a language and theme, without tooltips."""
    match part:
        case dict():
            return {name: _restyle(value, words, colours) for name, value in part.items() if name != "tooltip"}
        case list():
            return [_restyle(value, words, colours) for value in part]
        case str():
            known = colours | words | {json.dumps(old): json.dumps(new) for old, new in words.items()}
            return known.get(part, part)
    return part


def chart_picture(spec: dict[str, Any]) -> str:
    """Return a chart as SVG."""
    fixed = {name: value for name, value in spec.items() if name != "autosize"} | {"width": 720}
    return _render_svg(json.dumps(fixed, sort_keys=True))


@lru_cache(maxsize=64)
def _render_svg(text: str) -> str:
    import altair as alt
    import vl_convert

    spec = json.loads(text)
    locale = spec.pop("usermeta")["locale"]
    version = ".".join(alt.SCHEMA_VERSION.split(".")[:2])
    picture: str = vl_convert.vegalite_to_svg(spec, vl_version=version, format_locale=locale)
    return picture
