"""Save charts to files: SVG, PNG, or an HTML page that needs no network.

A file is written beside its place and renamed, so that it is never incomplete. The HTML page contains the Vega
libraries, and a content policy that forbids it to load or send anything, so that opening a page about private data
reveals nothing.
"""

import functools
import html
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celosia.core.errors import ParameterError
from celosia.core.messages.system_errors import describe_os_error
from celosia.plots.texts import make_drawable

if TYPE_CHECKING:
    import altair as alt

_SUFFIXES = (".html", ".png", ".svg")
_PNG_SCALE = 2.0  # pixels per point: sharp on today's screens

# Vega compiles its expressions, hence unsafe-eval; with default-src 'none' the page can still send nothing.
_PAGE = """<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>body {{ margin: 1rem; background: white; }} #chart {{ overflow-x: auto; }}</style>
<script>{libraries}</script>
</head>
<body>
<main id="chart"></main>
<script>
vegaEmbed("#chart", {spec}, {{renderer: "svg", actions: {{export: true, source: true, editor: false}}}});
</script>
</body>
</html>
"""


def save(chart: "alt.TopLevelMixin", path: str | os.PathLike[str]) -> Path:
    """Write a chart to ``path``, in the format of its suffix: ``.svg``, ``.png`` or ``.html``. Return the path.

    >>> save(None, "chart.bmp")
    Traceback (most recent call last):
    ...
    celosia.core.errors.ParameterError: A chart is saved as .html, .png or .svg, not as 'chart.bmp'.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in _SUFFIXES:
        raise ParameterError("plots.unknown_chart_format", name=repr(target.name))
    write(target, render(chart.to_dict(), suffix))
    return target


def render(spec: dict[str, Any], suffix: str) -> bytes:
    """Render a Vega-Lite specification as SVG or PNG, or as a page that needs no network."""
    import vl_convert

    if suffix == ".svg":
        return render_svg(spec).encode()
    if suffix == ".png":
        return vl_convert.vegalite_to_png(make_drawable(spec), vl_version=_vega_lite_version(), scale=_PNG_SCALE)
    # "<" is escaped: inside a script, a title with "</script>" would otherwise end it.
    safe = json.dumps(spec, ensure_ascii=False).replace("<", "\\u003c")
    language = "es" if "locale" in spec.get("config", {}) else "en"
    return _PAGE.format(
        language=language, title=html.escape(_title(spec)), libraries=_bundle_libraries(_vega_lite_version()), spec=safe
    ).encode()


def render_svg(spec: dict[str, Any], *, locale: dict[str, Any] | None = None) -> str:
    """Render a Vega-Lite specification as SVG, with numbers in a locale of d3."""
    import vl_convert

    picture: str = vl_convert.vegalite_to_svg(
        make_drawable(spec), vl_version=_vega_lite_version(), format_locale=locale
    )
    return picture


def _vega_lite_version() -> str:
    import altair as alt

    return ".".join(alt.SCHEMA_VERSION.split(".")[:2])


@functools.cache  # it takes seconds, and is the same for every page
def _bundle_libraries(version: str) -> str:
    import vl_convert

    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=version)


def _title(spec: dict[str, Any]) -> str:
    title = spec.get("title", "Chart")
    text = title.get("text", "Chart") if isinstance(title, dict) else title
    return " ".join(text) if isinstance(text, list) else str(text)


def write(target: Path, content: bytes) -> None:
    """Write a file atomically."""
    if not target.parent.is_dir():
        raise ParameterError("plots.missing_directory", directory=repr(str(target.parent)), name=repr(target.name))
    try:
        # In the target's own directory, because a rename is atomic only within one file system.
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".celosia-") as directory:
            part = Path(directory) / target.name
            part.write_bytes(content)
            part.replace(target)
    except OSError as error:
        raise ParameterError(
            "plots.chart_not_writable", path=repr(str(target)), reason=describe_os_error(error)
        ) from error
