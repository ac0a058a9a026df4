"""Charts from plain values: curves, densities of neighbours, intervals, matrices, graphs, and saving them.

A chart shows the numbers it gets, so it is private exactly if they are: this package has no data, no mechanism and no
budget. Every chart is an Altair chart: one Vega-Lite specification for a notebook, a file and the web. Altair is
imported when the first chart is drawn.
"""

from celosia.plots.curves import Curve, curves
from celosia.plots.densities import Panel, densities
from celosia.plots.intervals import intervals
from celosia.plots.matrices import matrices
from celosia.plots.networks import Link, networks
from celosia.plots.pairs import pairs
from celosia.plots.points import Point, points
from celosia.plots.save import save
from celosia.plots.style import Labels

__all__ = [
    "Curve",
    "Labels",
    "Link",
    "Panel",
    "Point",
    "curves",
    "densities",
    "intervals",
    "matrices",
    "networks",
    "pairs",
    "points",
    "save",
]
