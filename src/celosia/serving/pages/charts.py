"""Charts on pages: a Vega-Lite specification in a language and theme, and its SVG for pages without scripts.

The page interprets the specification's expressions and never compiles them. It has no tooltips, whose style the Content
Security Policy refuses. Both themes use a palette for colour-blind readers.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from celosia.plots.style import BLUE, GREY, INK
from celosia.plots.texts import make_drawable

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
    """Return a specification for a page: as wide as its container, with other ``words``, and the same data."""
    rows = {name: spec[name] for name in ("data", "datasets") if name in spec}
    style = {name: part for name, part in spec.items() if name not in {*rows, "title"}}
    colours = _DARK_COLOURS if dark else {}
    in_expressions = {_quote(old): _quote(new) for old, new in words.items()}
    adapted: dict[str, Any] = _replace_texts(style, {**colours, **words, **in_expressions})
    adapted["config"] |= {"background": "transparent", "padding": 4}
    adapted["config"]["legend"]["direction"] = "vertical"  # side by side they do not fit on a phone
    size = {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
    drawable: dict[str, Any] = make_drawable(adapted | rows | size | {"usermeta": {"locale": _LOCALES[code]}})
    return drawable


def _quote(text: str) -> str:
    """Return a text as ``plots`` writes it into an expression."""
    return json.dumps(text, ensure_ascii=False)


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
    from celosia.plots.save import render_svg

    spec = json.loads(text)
    return render_svg(spec, locale=spec.pop("usermeta")["locale"])
