"""The charts of the demonstration.

The first is the picture behind the definition: what the Laplace mechanism may answer on two data sets that differ in
one person, at a weak and at a strong setting. It is computed from the mechanism's own exact probabilities and shows no
data. The others are releases: a histogram with its intervals, quantiles, and what an attacker made of two averages.
True values are drawn beside them only because the table is synthetic.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from celosia.cli.costs import cost
from celosia.cli.demo.answers import Bars, Ranks
from celosia.cli.demo.attack import Attack
from celosia.cli.demo.story import Story
from celosia.mechanisms import Laplace
from celosia.plots import Curve, Labels, Panel, curves, densities, intervals

if TYPE_CHECKING:
    import altair as alt

_NEIGHBOURS = (108, 107)
_SETTINGS = (("1", 9), ("0.1", 45))  # epsilon, and how far from the true values the panel reaches


def laplace_neighbours() -> "alt.HConcatChart":
    """Draw what may be released for 108 and for 107 deaths, with epsilon 1 and 0.1."""
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
        subtitle=f"The curves stay within a factor of exp({epsilon}) ≈ {bound:.2f}",
        outputs=outputs,
        masses=(here, there),
    )


def age_histogram(bars: Bars, *, promise: str) -> "alt.LayerChart":
    """Draw the private number of deaths by violence in each decade of age; ``promise`` says what was guaranteed."""
    return intervals(
        bars.names,
        bars.values,
        (bars.low, bars.high),
        true=bars.true,
        labels=Labels(
            title="Deaths by violence, by age: a private histogram",
            subtitle=f"Laplace mechanism, {promise}. True values are shown only because the table is synthetic.",
            x="Age, in years",
            y="Deaths",
        ),
    )


def age_quantiles(ranks: Ranks, *, promise: str) -> "alt.LayerChart":
    """Draw private quantiles of age beside the true ones; ``promise`` says what was guaranteed."""
    return curves(
        [
            Curve(name="private", x=ranks.shares, y=ranks.values),
            Curve(name="true", x=ranks.shares, y=ranks.true),
        ],
        labels=Labels(
            title="Quantiles of the age at death",
            subtitle=f"Exponential mechanism, {promise} for all together. The true line is shown only because the "
            "table is synthetic.",
            x="Share of the deaths, in percent",
            y="Age, in years",
        ),
    )


def attacked(attack: Attack) -> "alt.LayerChart":
    """Draw which ages the attacker found, with their intervals, and the age that was looked for."""
    return intervals(
        [f"try {number}" for number in range(1, len(attack.tries) + 1)],
        [attempt.age for attempt in attack.tries],
        ([attempt.low for attempt in attack.tries], [attempt.high for attempt in attack.tries]),
        true=[attack.revealed] * len(attack.tries),
        mark="point",
        labels=Labels(
            title="What two averages say about one age, in a session",
            subtitle=f"Each try spends {cost(attack.cost)}. Two averages of the plain table give the age away.",
            y="Age found, in years",
        ),
    )


def drawn(story: Story) -> "dict[str, alt.TopLevelMixin]":
    """Draw all charts of the demonstration, by the names of their files."""
    charts: dict[str, alt.TopLevelMixin] = {"laplace-neighbours": laplace_neighbours()}
    for answer in story.answers:
        promise = cost(answer.guarantee)
        if answer.bars is not None:
            charts["age-histogram"] = age_histogram(answer.bars, promise=promise)
        if answer.ranks is not None:
            charts["age-quantiles"] = age_quantiles(answer.ranks, promise=promise)
    charts["attack"] = attacked(story.attack)
    return charts
