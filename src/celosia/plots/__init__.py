"""Charts from plain values: curves, densities of neighbours, bars and points with intervals, and saving them.

A chart shows what it is given, so it is private exactly when the numbers are: this room knows no data, no mechanism and
no budget. Everything is an Altair chart, which is one Vega-Lite specification for a notebook, a file and the web;
Altair itself is imported when the first chart is drawn, not before.
"""

from celosia.plots.curves import Curve, curves
from celosia.plots.densities import Panel, densities
from celosia.plots.intervals import intervals
from celosia.plots.save import save
from celosia.plots.style import Labels

__all__ = ["Curve", "Labels", "Panel", "curves", "densities", "intervals", "save"]
