"""Altair charts whose HTML pages need no network.

Altair's ``Chart.save("chart.html")`` loads the Vega libraries from a server, which then learns who views the chart, and
a name in the data that ends a script can run as one. The charts of this package write the page of
``celosia.plots.save`` instead. Altair is imported here, so this module is imported where a chart is drawn, not before.
"""

import os
from pathlib import Path
from typing import IO, Any

import altair as alt

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.plots.save import render, write


class _OfflineSave:
    """Mixin with a ``save`` that writes self-contained HTML."""

    def save(self, fp: "str | os.PathLike[str] | IO[Any]", format: str | None = None, **options: Any) -> None:  # noqa: A002 - Altair's
        """Save a chart as ``altair.Chart.save`` does, but HTML as the page of ``celosia.plots.save``."""
        path = Path(fp) if isinstance(fp, str | os.PathLike) else None
        kind = format or ("" if path is None else path.suffix.lower().removeprefix("."))
        if kind != "html":
            super().save(fp, format=format, **options)  # type: ignore[misc] # Altair's comes after
            return
        if {name: given for name, given in options.items() if (name, given) != ("inline", True)}:
            raise ParameterError("plots.html_takes_no_options", option=safe_repr(next(iter(options))))
        page = render(self.to_dict(), ".html")  # type: ignore[attr-defined] # likewise
        if path is not None:
            write(path, page)
        else:
            fp.write(page.decode())  # type: ignore[union-attr] # a file


class LayerChart(_OfflineSave, alt.LayerChart):  # type: ignore[misc] # save takes fewer options
    """Layers in one chart."""


class HConcatChart(_OfflineSave, alt.HConcatChart):  # type: ignore[misc] # likewise
    """Charts side by side."""
