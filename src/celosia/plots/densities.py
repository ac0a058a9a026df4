"""Charts of a mechanism's output distributions on two neighbouring data sets, one over the other.

Differential privacy is a statement about this picture: nowhere is one curve more than ``exp(epsilon)`` times the other.
Each panel holds the two distributions for one setting; dashed lines mark the two true values. The curves are steps: the
noise is integer, so a distribution is a set of masses, not a smooth density.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.messages.message import Message
from celosia.plots.style import BLUE, VERMILION, Labels, apply_style

if TYPE_CHECKING:
    import altair as alt
    from numpy.typing import ArrayLike

_WIDTH, _HEIGHT = 360, 280


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One pair of distributions: the probabilities of ``outputs`` under each of two neighbours.

    >>> Panel(title="epsilon = 1", outputs=[0, 1], masses=([0.7, 0.3], [0.3, 0.7])).title
    'epsilon = 1'
    """

    title: str
    outputs: "ArrayLike"
    masses: "tuple[ArrayLike, ArrayLike]"
    subtitle: str = ""


def densities(
    panels: Sequence[Panel],
    *,
    values: tuple[float, float],
    labels: Labels,
    neighbours: tuple[str, str] = ("D", "D′"),
) -> "alt.HConcatChart":
    """Draw panels side by side, each with two distributions and a dashed line at each of the two true ``values``.

    Every panel has its own scales, because the point is how the two curves of one panel differ.

    Parameters
    ----------
    panels
        The pairs of distributions.
    values
        The true values of the first and of the second neighbour.
    labels
        The title and the names of the axes.
    neighbours
        The names of the two data sets.

    >>> panel = Panel(title="epsilon = 1", outputs=[107, 108], masses=([0.3, 0.7], [0.7, 0.3]))
    >>> densities([panel], values=(108, 107), labels=Labels(title="Two neighbours")).to_dict()["title"]["text"]
    'Two neighbours'
    """
    import altair as alt

    from celosia.plots.offline import HConcatChart

    if not panels:
        raise ParameterError("plots.densities_without_panels")
    if len(set(neighbours)) != 2:
        raise ParameterError("plots.wrong_neighbour_names", value=repr(neighbours))
    colour = alt.Color(
        "neighbour:N",
        scale=alt.Scale(domain=list(neighbours), range=[BLUE, VERMILION]),
        legend=alt.Legend(title=None, symbolType="stroke", symbolSize=400, symbolOpacity=1),
    )
    marks = _mark_true_values(values, neighbours, colour)
    drawn = [
        alt.LayerChart(
            layer=[*_draw_curves(_make_rows(panel, neighbours), colour, labels), *marks],
            width=_WIDTH,
            height=_HEIGHT,
            title=alt.TitleParams(
                panel.title, subtitle=panel.subtitle, fontSize=14, subtitleFontSize=12, anchor="start", offset=26
            ),
        )
        for panel in panels
    ]
    title = alt.TitleParams(labels.title, subtitle=labels.subtitle)
    return apply_style(HConcatChart(hconcat=drawn, spacing=40, title=title), labels.language)


def _draw_curves(
    rows: list[dict[str, float | str]], colour: "alt.Color", labels: Labels
) -> "tuple[alt.Chart, alt.Chart]":
    import altair as alt

    top = 1.08 * max(float(row["mass"]) for row in rows)  # room above the peaks, where the true values are named
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("output:Q", title=labels.x, scale=alt.Scale(zero=False, nice=False), axis=alt.Axis(grid=False)),
        y=alt.Y("mass:Q", title=labels.y, stack=None, scale=alt.Scale(domain=[0, top], nice=False)),
        color=colour,
        tooltip=[
            alt.Tooltip("neighbour:N", title=labels.write(Message("plots.data_set"))),
            alt.Tooltip("output:Q", title=labels.write(Message("plots.released"))),
            alt.Tooltip("mass:Q", title=labels.write(Message("plots.probability")), format=".4f"),
        ],
    )
    return base.mark_area(interpolate="step", opacity=0.12), base.mark_line(interpolate="step", strokeWidth=2)


def _mark_true_values(
    values: tuple[float, float], neighbours: tuple[str, str], colour: "alt.Color"
) -> "tuple[alt.Chart, alt.Chart, alt.Chart]":
    """Draw two dashed lines, named on their outer sides, so that the names of close values do not collide."""
    import altair as alt

    (low, first), (high, second) = sorted(zip(values, neighbours, strict=True))
    rules, left, right = (
        alt.Chart(
            alt.InlineData(
                values=[{"value": value, "neighbour": name, "text": f"f({name}) = {value:g}"} for value, name in kept]
            )
        ).encode(x="value:Q", color=colour)
        for kept in (((low, first), (high, second)), ((low, first),), ((high, second),))
    )
    return (
        rules.mark_rule(strokeDash=[5, 4], strokeWidth=1.5),
        left.mark_text(align="right", dx=-1, y=-2, baseline="bottom", fontSize=12, fontWeight="bold").encode(
            text="text:N"
        ),
        right.mark_text(align="left", dx=1, y=-2, baseline="bottom", fontSize=12, fontWeight="bold").encode(
            text="text:N"
        ),
    )


def _make_rows(panel: Panel, neighbours: tuple[str, str]) -> list[dict[str, float | str]]:
    outputs = np.asarray(panel.outputs, dtype=np.float64)
    rows: list[dict[str, float | str]] = []
    for neighbour, given in zip(neighbours, panel.masses, strict=True):
        masses = np.asarray(given, dtype=np.float64)
        if outputs.ndim != 1 or outputs.shape != masses.shape or not outputs.size:
            raise ParameterError("plots.mass_lengths_differ", outputs=outputs.shape, masses=masses.shape)
        if not (np.isfinite(outputs).all() and np.isfinite(masses).all() and (masses >= 0).all()):
            raise ParameterError("plots.masses_not_finite")
        rows += [
            {"output": output, "mass": mass, "neighbour": neighbour}
            for output, mass in zip(outputs.tolist(), masses.tolist(), strict=True)
        ]
    return rows
