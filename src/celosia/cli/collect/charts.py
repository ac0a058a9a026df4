"""The charts of ``celosia collect``: true and estimated numbers with their intervals, and errors by epsilon.

The charts show true values, and state that this is a simulation.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from celosia.cli.collect.show import bytes_text, epsilon_text, key_text, largest
from celosia.plots import Curve, Labels, curves, intervals

if TYPE_CHECKING:
    import altair as alt

    from celosia.local.simulation import Simulation

_MAX_BARS = 40
_MAX_LABEL_LENGTH = 40


def chart(runs: "Sequence[Simulation]", *, top: int) -> "alt.LayerChart":
    """Draw true and estimated numbers with their intervals; of several epsilons, the errors instead."""
    run = runs[0]
    name = type(run.protocol).__name__
    if len(runs) > 1 and run.metrics is not None:
        return _errors(runs, name)
    if len(runs) > 1:
        names, order = [f"ε = {epsilon_text(one)}" for one in runs], np.zeros(1, dtype=np.int64)
    else:
        order = largest(run)[: min(top, _MAX_BARS)]
        if all(isinstance(run.keys[i], int) for i in order):  # numbers are read from left to right
            order = np.array(sorted(order.tolist(), key=lambda i: run.keys[i]))
        names = _names(run, order.tolist())
    values, low, high, true = (
        np.concatenate([side[order] for side in sides])
        for sides in zip(*((one.estimated, one.low, one.high, one.true) for one in runs), strict=True)
    )
    spent = f"ε = {epsilon_text(run)} for each person, " if len(runs) == 1 else ""
    missed = " Values without a bar were missed." if len(runs) == 1 and (order >= run.found).any() else ""
    return intervals(
        names,
        values,
        (np.minimum(low, values), np.maximum(high, values)),
        true=true,
        mark="bar" if run.metrics is not None else "point",
        interval=f"{100 * run.level:g} % interval",
        labels=Labels(
            title=f"{name}: {run.reports:,} simulated reports",
            subtitle=f"{spent}{bytes_text(run)} a report. True values are known in a simulation only.{missed}",
            x="" if run.metrics is None else "Value",
            y="People" if run.metrics is not None else run.keys[0].capitalize(),
        ),
    )


def _errors(runs: "Sequence[Simulation]", name: str) -> "alt.LayerChart":
    spent = [float(run.protocol.guarantee.epsilon) for run in runs]
    lines = [Curve(name="measured", x=spent, y=[run.metrics.rmse for run in runs if run.metrics is not None])]
    expected = [run.expected_rmse for run in runs if run.expected_rmse is not None]
    if len(expected) == len(runs):
        lines.append(Curve(name="by the standard errors", x=spent, y=expected))
    above = all(run.metrics is not None and run.metrics.rmse > 0 for run in runs)
    return curves(
        lines,
        x_log=True,
        y_log=above,
        labels=Labels(
            title=f"{name}: error by ε, {runs[0].reports:,} simulated reports",
            subtitle="Root of the mean squared error of a count, which is known in a simulation only.",
            x="Epsilon of a report",
            y="People",
        ),
    )


def _names(run: "Simulation", order: list[int]) -> list[str]:
    names: list[str] = []
    for place, i in enumerate(order):
        text = key_text(run.keys[i])
        name = text if len(text) <= _MAX_LABEL_LENGTH else f"{text[: _MAX_LABEL_LENGTH - 1]}…"
        names.append(f"{name} ({place + 1})" if name in names else name)  # truncation may make labels equal
    return names
