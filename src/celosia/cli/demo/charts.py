"""The charts of the demonstration.

The first illustrates the definition: the answers of the Laplace mechanism on two data sets that differ in one person,
at a weak and at a strong setting. It is computed from the mechanism's own exact probabilities and shows no data. The
others are releases: a histogram with its intervals, quantiles, and the results of an attacker. True values are drawn
beside them only because the table is synthetic.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from celosia.cli.costs import cost
from celosia.cli.demo.answers import Bars, Ranks
from celosia.cli.demo.attack import Attack
from celosia.cli.demo.story import Story
from celosia.cli.language import current_language, say, translate
from celosia.core.messages.message import Message, Numeral
from celosia.mechanisms import Laplace
from celosia.plots import Curve, Labels, Panel, curves, densities, intervals

if TYPE_CHECKING:
    import altair as alt

_NEIGHBOURS = (108, 107)
_SETTINGS = (("1", 9), ("0.1", 45))  # epsilon, and how far from the true values the panel reaches


def laplace_neighbours() -> "alt.HConcatChart":
    """Draw the distributions of releases for 108 and for 107 deaths, with epsilon 1 and 0.1."""
    return densities(
        [_panel(epsilon, reach) for epsilon, reach in _SETTINGS],
        values=_NEIGHBOURS,
        labels=Labels(
            title=Message("cli_demo.neighbours_title"),
            x=Message("cli_demo.released_deaths"),
            y=Message("cli_demo.probability"),
            language=current_language(),
        ),
    )


def _panel(epsilon: str, reach: int) -> Panel:
    mechanism = Laplace(epsilon=epsilon, sensitivity=1)
    outputs = np.arange(min(_NEIGHBOURS) - reach, max(_NEIGHBOURS) + reach + 1)
    here, there = (np.exp(mechanism.log_masses(value, outputs.tolist())) for value in _NEIGHBOURS)
    bound = math.exp(float(epsilon))
    return Panel(
        title=f"ε = {translate(Numeral(epsilon))}",
        subtitle=say("cli_demo.within_factor", epsilon=Numeral(epsilon), bound=bound),
        outputs=outputs,
        masses=(here, there),
    )


def age_histogram(bars: Bars, *, guarantee: str) -> "alt.LayerChart":
    """Draw the private number of deaths by violence in each decade of age."""
    return intervals(
        bars.names,
        bars.values,
        (bars.low, bars.high),
        true=bars.true,
        labels=_make_labels(
            Message("cli_demo.histogram_title"),
            Message("cli_demo.histogram_subtitle", cost=guarantee),
            x=Message("cli_demo.age_in_years"),
            y=Message("cli_demo.deaths"),
        ),
    )


def age_quantiles(ranks: Ranks, *, guarantee: str) -> "alt.LayerChart":
    """Draw private quantiles of age beside the true ones."""
    return curves(
        [
            Curve(name=say("cli_demo.private_line"), x=ranks.shares, y=ranks.values),
            Curve(name=say("cli_demo.true_line"), x=ranks.shares, y=ranks.true),
        ],
        labels=_make_labels(
            Message("cli_demo.quantiles_title"),
            Message("cli_demo.quantiles_subtitle", cost=guarantee),
            x=Message("cli_demo.share_of_deaths"),
            y=Message("cli_demo.age_in_years"),
        ),
    )


def draw_attack(attack: Attack) -> "alt.LayerChart":
    """Draw the ages that the attacker found, with their intervals, and the true age."""
    return intervals(
        [say("cli_demo.try_number", number=number) for number in range(1, len(attack.tries) + 1)],
        [attempt.age for attempt in attack.tries],
        ([attempt.low for attempt in attack.tries], [attempt.high for attempt in attack.tries]),
        true=[attack.revealed] * len(attack.tries),
        mark="point",
        labels=_make_labels(
            Message("cli_demo.attack_title"),
            Message("cli_demo.attack_subtitle", cost=cost(attack.cost)),
            y=Message("cli_demo.age_found_in_years"),
        ),
    )


def _make_labels(title: str, subtitle: str, **axes: str) -> Labels:
    return Labels(title=title, subtitle=subtitle, language=current_language(), **axes)


def draw_charts(story: Story) -> "dict[str, alt.TopLevelMixin]":
    """Draw all charts of the demonstration, by the names of their files."""
    charts: dict[str, alt.TopLevelMixin] = {"laplace-neighbours": laplace_neighbours()}
    for answer in story.answers:
        guarantee = cost(answer.guarantee)
        if answer.bars is not None:
            charts["age-histogram"] = age_histogram(answer.bars, guarantee=guarantee)
        if answer.ranks is not None:
            charts["age-quantiles"] = age_quantiles(answer.ranks, guarantee=guarantee)
    charts["attack"] = draw_attack(story.attack)
    return charts
