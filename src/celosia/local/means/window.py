"""The piecewise law on a grid: a report is likelier inside a window at the true position than outside it.

Positions are 0 to L, reports the M = L + W integers from 0; the W of them that start at the position are the
window. Each number inside has e^epsilon times the probability of each one outside, so the law is epsilon-private
for every W, and the mean of a report is an exactly linear function of the position: `proofs/local-means.md`. The
discrete form of the mechanism of Wang, Xiao, Yang, Zhao, Hui, Shin, Shin and Yu 2019.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from celosia.core.enclosure import exp_at_most
from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact_integer, safe_repr
from celosia.local.means.base import MeanProtocol
from celosia.local.means.interval import DEFAULT_GRID, PART_BITS, exact_grid, round_part, round_parts
from celosia.noise.bernoulli import bernoulli_odds, flip_odds
from celosia.noise.uniform import integer_below, uniform_below

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source
    from celosia.local.base.protocol import State

Width: TypeAlias = int | Literal["published", "least"]
"""A number of likely reports, or the rule that chooses it."""

_HALF = 32  # bits of the halves in which squares add up without overflow
_LOW = np.uint64((1 << _HALF) - 1)
_WIDTH_CANDIDATES = 4001  # evenly spread in their logarithm: the minimum is flat


def exact_width(width: Width, epsilon: Fraction, steps: int) -> int:
    """Return a number of likely reports, from 1 to ``steps``."""
    if isinstance(width, str):
        if width not in _WIDTHS:
            raise ParameterError("local.unknown_window_width", value=safe_repr(width))
        return _WIDTHS[width](epsilon, steps)
    likely = exact_integer(width, name="width")
    if likely > steps:
        raise ParameterError("local.window_too_wide", steps=steps, value=safe_repr(width))
    return likely


def published_width(epsilon: Fraction, steps: int) -> int:
    """Return the width of Wang et al.: the integer nearest to ``steps * exp(-epsilon/2)``, at least 1."""
    return max(1, math.floor(steps * exp_at_most(-epsilon / 2) + Fraction(1, 2)))


def least_width(epsilon: Fraction, steps: int) -> int:
    """Return the width with the least mean variance over evenly spread numbers.

    It has less variance than the published one for every number.
    """
    ratio = math.exp(-float(epsilon))
    shares = np.exp(np.linspace(-min(float(epsilon), 40.0), 0.0, _WIDTH_CANDIDATES))
    slopes = -math.expm1(-float(epsilon)) / (1 + ratio / shares)
    spreads = (slopes * shares**2 + ratio * (1 + shares) ** 3 / (shares + ratio)) / 3
    best = shares[int(np.argmin(spreads / slopes**2 + (1 / slopes - 1) / 3))]
    return min(max(1, round(steps * float(best))), steps)


_WIDTHS = {"published": published_width, "least": least_width}


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The law of a report for ``steps`` L and ``width`` W, with the moments that estimates need.

    ``spread`` is the second moment of a report about the middle, in squared steps, for the middle position; ``slope``
    is the derivative of the mean of a report by the position.
    """

    epsilon: Fraction
    steps: int
    width: int

    @property
    def size(self) -> int:
        """The number of reports."""
        return self.steps + self.width

    @property
    def slope(self) -> float:
        """The derivative of the mean of a report by the position."""
        ratio = math.exp(-float(self.epsilon))
        return -math.expm1(-float(self.epsilon)) / (1 + self.steps / self.width * ratio)

    @property
    def spread(self) -> float:
        """The second moment of a report about the middle, for the middle position, in squared steps."""
        ratio = math.exp(-float(self.epsilon))
        outside = ratio / (self.width + self.steps * ratio)
        return (self.slope * (self.width**2 - 1) + outside * self.size * (self.size**2 - 1)) / 12

    def variance_at(self, square: float, rounding: float = 0.0) -> float:
        """Return the variance of one report for bounds of -1 and 1, where ``square`` is the square of the true number.

        ``rounding`` is the variance of the random rounding to a step, in squared steps.
        """
        noise = (rounding / self.slope + self.spread / self.slope**2) / (self.steps / 2) ** 2
        return square * (1 / self.slope - 1) + noise

    @property
    def worst(self) -> float:
        """The largest variance of one report, for bounds of -1 and 1."""
        # Along the last step the variance is a parabola with its top within the step or at its end.
        last = self.steps / 2 - 1
        share = min(1.0, last * (1 / self.slope - 1) + 1 / (2 * self.slope))
        return self.variance_at(((last + share) / (self.steps / 2)) ** 2, share * (1 - share))

    def log_masses(self, part: int, said: "NDArray[np.int64]") -> "NDArray[np.float64]":
        """Return the logarithms of the probabilities of reports, for a number that lies at a part of a step."""
        position, rest = divmod(part, 1 << PART_BITS)
        below = self._log_masses(position, said)
        if not rest:
            return below
        share = rest / (1 << PART_BITS)
        return np.logaddexp(math.log1p(-share) + below, math.log(share) + self._log_masses(position + 1, said))

    def _log_masses(self, position: int, said: "NDArray[np.int64]") -> "NDArray[np.float64]":
        epsilon = float(self.epsilon)
        inside = -math.log(self.width + self.steps * math.exp(-epsilon))
        return np.where((said >= position) & (said < position + self.width), inside, inside - epsilon)

    def sample(self, parts: "NDArray[np.int64]", source: "Source") -> "NDArray[np.int64]":
        """Draw one report for each number."""
        positions = round_parts(parts, source)
        near = bernoulli_odds(self.epsilon, Fraction(self.steps, self.width), parts.size, source)
        inside = uniform_below(self.width, parts.size, source)
        outside = uniform_below(self.steps, parts.size, source)
        return np.where(near, positions + inside, outside + self.width * (outside >= positions))

    def sample_one(self, part: int, source: "Source") -> int:
        """Draw one report: the rounding below 2^32, the coin of the window, a place inside it and a place outside."""
        position = round_part(part, source)
        near = flip_odds(self.epsilon, Fraction(self.steps, self.width), source)
        inside, outside = integer_below(self.width, source), integer_below(self.steps, source)
        return position + inside if near else outside + self.width * (outside >= position)

    def add(self, state: "State", said: "NDArray[np.uint64]") -> None:
        """Add reports to the sums of a state."""
        squares = said * said  # below 2^62
        state["sum"] += int(said.sum())
        state["squares"] += np.array([(squares & _LOW).sum(), (squares >> np.uint64(_HALF)).sum()], dtype=np.int64)

    def is_reachable(self, state: "State", reports: int) -> bool:
        """Return whether ``reports`` numbers below size can have these sums, of the numbers and their squares."""
        total, (low, high) = int(state["sum"][0]), state["squares"].tolist()
        squares, most = low + (high << _HALF), self.size - 1
        # Cauchy and Schwarz; a square has the parity of its number.
        near = total**2 <= reports * squares and squares <= most * total and (squares - total) % 2 == 0
        return 0 <= total <= reports * most and near

    def moments(self, state: "State", reports: int) -> tuple[float, float]:
        """Return the estimated mean and mean square of the numbers, for bounds of -1 and 1."""
        half, middle = self.steps / 2, Fraction(self.size - 1, 2)
        low, high = state["squares"].tolist()
        average, square = Fraction(int(state["sum"][0]), reports), Fraction(low + (high << _HALF), reports)
        mean = float(average - middle) / self.slope / half
        second = float(square - 2 * middle * average + middle**2)
        return mean, min(max((second - self.spread) / self.slope / half**2, min(mean**2, 1.0)), 1.0)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class WindowMean(MeanProtocol):
    """A mean from reports of the piecewise law, alone (``Piecewise``) or beside Duchi's bit (``Hybrid``)."""

    grid: int
    width: int

    def __init__(
        self, *, low: Exact, high: Exact, epsilon: Exact, grid: int = DEFAULT_GRID, width: Width = "published"
    ) -> None:
        self._set_bounds(low, high, epsilon)
        steps = exact_grid(grid)
        self._set(grid=steps, width=exact_width(width, self.epsilon, steps))

    @property
    def window(self) -> Window:
        """The piecewise law of a report.

        >>> from celosia.local.means.piecewise import Piecewise
        >>> Piecewise(low=0, high=1, epsilon=2, grid=8).window.width
        3
        """
        return Window(epsilon=self.epsilon, steps=self.grid, width=self.width)

    @property
    def parts(self) -> int:
        return self.grid << PART_BITS

    @property
    def increment_bounds(self) -> tuple[int, int]:
        return 0, (1 << _HALF) - 1  # squares are added up in halves
