"""Sentences and charts that the attacks share."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from celosia.core.messages.message import Message, Numeral
from celosia.plots import Curve, Labels, curves

if TYPE_CHECKING:
    import altair as alt
    from numpy.typing import NDArray

_MOST_STEPS: Final = 400


def write_sentences(messages: Sequence[Message], language: str = "en") -> str:
    """Return messages in a language, one in each line."""
    return "\n".join(message.render(language) for message in messages)


def write_share(share: float) -> Numeral:
    """Return a share in percent; what is neither none nor all is not written as that."""
    percent = 100 * share
    text = f"{percent:.3g}"
    if text == "100" and share < 1:
        text = "> 99.9"
    return Numeral(f"{text} %")


def _thin(steps: "NDArray[Any]") -> "NDArray[Any]":
    """Return steps that a chart can show; the first and the last stay."""
    if len(steps) <= _MOST_STEPS:
        return steps
    kept: NDArray[Any] = steps[np.linspace(0, len(steps) - 1, _MOST_STEPS).round().astype(np.int64)]
    return kept


def draw_growth(series: "Mapping[Message, NDArray[np.int64]]", total: int, labels: Labels) -> "alt.LayerChart":
    """Draw, for each series of counts, the share of ``total`` persons whose count is at most x."""
    top = max([2, *(int(counts.max(initial=1)) for counts in series.values())])  # a curve has two points or more
    lines = []
    for name, counts in series.items():
        steps = _thin(np.unique(np.concatenate([[1, top], counts])))
        shares = np.searchsorted(np.sort(counts), steps, side="right") / total
        # A step stays level until the next one.
        x, y = np.repeat(steps, 2)[1:], np.repeat(shares, 2)[:-1]
        lines.append(Curve(name=labels.write(name), x=x, y=y))
    return curves(lines, labels=labels, x_log=top > 20)


def draw_decline(series: "Mapping[Message, NDArray[np.float64]]", labels: Labels) -> "alt.LayerChart":
    """Draw, for each series of numbers, the share of them that are at least x."""
    lines = []
    for name, numbers in series.items():
        steps = _thin(np.unique(numbers))
        shares = 1 - np.searchsorted(np.sort(numbers), steps, side="left") / len(numbers)
        x, y = np.repeat(steps, 2)[:-1], np.repeat(shares, 2)[1:]
        lines.append(Curve(name=labels.write(name), x=np.append(x, steps[-1:]), y=np.append(y, [0.0])))
    return curves(lines, labels=labels)
