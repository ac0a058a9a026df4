"""Charts on pages: a Vega-Lite specification in a language and theme, and its SVG for pages without scripts.

The page interprets the specification's expressions and never compiles them. It has no tooltips, whose style the Content
Security Policy refuses. Both themes use a palette for colour-blind readers.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from celosia.plots.style import BLUE, GREY, INK

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


def adapt_chart(spec: Mapping[str, Any], words: Mapping[str, str], *, code: str, dark: bool = False) -> dict[str, Any]:
    """Return a specification for a page: as wide as its container, with other ``words``, and untouched data."""
    rows = {name: spec[name] for name in ("data", "datasets") if name in spec}
    style = {name: part for name, part in spec.items() if name not in {*rows, "title"}}
    colours = _DARK_COLOURS if dark else {}
    replaced = {**colours, **words, **{json.dumps(old): json.dumps(new) for old, new in words.items()}}
    adapted: dict[str, Any] = _replace_texts(style, replaced)
    adapted["config"] |= {"background": "transparent", "padding": 4}
    adapted["config"]["legend"]["direction"] = "vertical"  # side by side they do not fit on a phone
    size = {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
    return adapted | rows | size | {"usermeta": {"locale": _LOCALES[code]}}


def _replace_texts(part: Any, replaced: Mapping[str, str]) -> Any:
    """Return a part of a specification with other texts, without tooltips."""
    match part:
        case dict():
            return {name: _replace_texts(value, replaced) for name, value in part.items() if name != "tooltip"}
        case list():
            return [_replace_texts(value, replaced) for value in part]
        case str():
            return replaced.get(part, part)
    return part


def chart_picture(spec: Mapping[str, Any]) -> str:
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
