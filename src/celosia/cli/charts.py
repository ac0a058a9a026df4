"""The charts of the demonstration.

The first is the picture behind the definition: what the Laplace mechanism may answer on two data sets that differ in
one person, at a weak and at a strong setting. It is computed from the mechanism's own exact probabilities and shows no
data. The second is a release: a private histogram with its intervals.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from celosia.cli.answers import Bars
from celosia.mechanisms import Laplace
from celosia.plots import Labels, Panel, densities, intervals

if TYPE_CHECKING:
    import altair as alt

__all__ = ["age_histogram", "laplace_neighbours"]

_NEIGHBOURS = (108, 107)
_SETTINGS = (("1", 9), ("0.1", 45))  # epsilon, and how far from the true values the panel reaches


def laplace_neighbours() -> "alt.HConcatChart":
    """Draw what may be released for 108 and for 107 deaths, with epsilon 1 and 0.1.

    >>> len(laplace_neighbours().to_dict()["hconcat"])
    2
    """
    return densities(
        [_panel(epsilon, reach) for epsilon, reach in _SETTINGS],
        values=_NEIGHBOURS,
        labels=Labels(
            title="Laplace mechanism: what may be released for two neighbours, with 108 and 107 deaths",
            x="Released number of deaths",
            y="Probability",
        ),
    )


def _panel(epsilon: str, reach: int) -> Panel:
    mechanism = Laplace(epsilon=epsilon, sensitivity=1)
    outputs = np.arange(min(_NEIGHBOURS) - reach, max(_NEIGHBOURS) + reach + 1)
    here, there = (np.exp(mechanism.log_masses(value, outputs.tolist())) for value in _NEIGHBOURS)
    bound = math.exp(float(epsilon))
    return Panel(
        title=f"ε = {epsilon}",
        subtitle=f"No output is more than exp({epsilon}) ≈ {bound:.2f} times likelier for one than for the other",
        outputs=outputs,
        masses=(here, there),
    )


def age_histogram(bars: Bars, *, promise: str) -> "alt.LayerChart":
    """Draw the private number of deaths by violence in each decade of age; ``promise`` says what was guaranteed.

    >>> one = np.array([1])
    >>> bars = Bars(names=("0–9",), values=one, low=one - 1, high=one + 1, true=one)
    >>> age_histogram(bars, promise="ε = 1").to_dict()["title"]["text"]
    'Deaths by violence, by age: a private histogram'
    """
    return intervals(
        bars.names,
        bars.values,
        (bars.low, bars.high),
        true=bars.true,
        labels=Labels(
            title="Deaths by violence, by age: a private histogram",
            subtitle=f"Gaussian mechanism, {promise}. True values are shown only because the table is synthetic.",
            x="Age, in years",
            y="Deaths",
        ),
    )
