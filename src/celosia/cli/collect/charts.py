"""The charts of ``celosia collect``: true and estimated numbers with their intervals, and errors by epsilon.

The charts show true values, and state that this is a simulation.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from celosia.cli.collect.show import bytes_text, epsilon_text, key_text, largest
from celosia.cli.language import current_language, say, translate
from celosia.core.messages.message import Message, join_messages
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
        names, order = [f"ε = {translate(epsilon_text(one))}" for one in runs], np.zeros(1, dtype=np.int64)
    else:
        order = largest(run)[: min(top, _MAX_BARS)]
        if all(isinstance(run.keys[i], int) for i in order):  # numbers are read from left to right
            order = np.array(sorted(order.tolist(), key=lambda i: run.keys[i]))
        names = _names(run, order.tolist())
    values, low, high, true = (
        np.concatenate([side[order] for side in sides])
        for sides in zip(*((one.estimated, one.low, one.high, one.true) for one in runs), strict=True)
    )
    missed = len(runs) == 1 and bool((order >= run.found).any())
    return intervals(
        names,
        values,
        (np.minimum(low, values), np.maximum(high, values)),
        true=true,
        mark="bar" if run.metrics is not None else "point",
        interval=say("cli_collect.interval", level=100 * run.level),
        labels=Labels(
            title=Message("cli_collect.chart_title", protocol=name, reports=run.reports),
            subtitle=_subtitle(run, one=len(runs) == 1, missed=missed),
            x="" if run.metrics is None else Message("cli_collect.value"),
            y=Message("cli_collect.people") if run.metrics is not None else translate(run.keys[0]).capitalize(),
            language=current_language(),
        ),
    )


def _subtitle(run: "Simulation", *, one: bool, missed: bool) -> str:
    size, known = bytes_text(run), Message("cli_collect.true_in_simulation")
    first = Message("cli_collect.size_of_report", size=size)
    if one:
        first = Message("cli_collect.cost_and_size", epsilon=epsilon_text(run), size=size)
    return translate(join_messages([first, known, *([Message("cli_collect.bars_missed")] if missed else [])]))


def _errors(runs: "Sequence[Simulation]", name: str) -> "alt.LayerChart":
    spent = [float(run.protocol.guarantee.epsilon) for run in runs]
    lines = [
        Curve(
            name=say("cli_collect.measured"), x=spent, y=[run.metrics.rmse for run in runs if run.metrics is not None]
        )
    ]
    expected = [run.expected_rmse for run in runs if run.expected_rmse is not None]
    if len(expected) == len(runs):
        lines.append(Curve(name=say("cli_collect.by_standard_errors"), x=spent, y=expected))
    above = all(run.metrics is not None and run.metrics.rmse > 0 for run in runs)
    return curves(
        lines,
        x_log=True,
        y_log=above,
        labels=Labels(
            title=Message("cli_collect.errors_title", protocol=name, reports=runs[0].reports),
            subtitle=Message("cli_collect.errors_subtitle"),
            x=Message("cli_collect.epsilon_axis"),
            y=Message("cli_collect.people"),
            language=current_language(),
        ),
    )


def _names(run: "Simulation", order: list[int]) -> list[str]:
    names: list[str] = []
    for place, i in enumerate(order):
        text = key_text(run.keys[i])
        name = text if len(text) <= _MAX_LABEL_LENGTH else f"{text[: _MAX_LABEL_LENGTH - 1]}…"
        names.append(f"{name} ({place + 1})" if name in names else name)  # truncation may make labels equal
    return names
