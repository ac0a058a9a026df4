"""The best way to spread the distance between two iterations over their noises.

Amounts a_t >= 0 are hidden in step t at the price R_alpha(noise_t, a_t). The amounts up to t must not exceed the shifts
up to t, and all shifts are hidden in the end. The theorem (Feldman, Mironov, Talwar and Thakurta 2018; Estrada Franco
2025, theorem 5.3) leaves the choice open. For Gaussian noise the best one is the greatest convex minorant of the sums
of shifts, drawn against the sums of variances; for Laplace noise blocks are pooled in the same way, each with one
multiplier (proofs/iteration.md). Every allocation that keeps the constraints gives a valid bound; they are kept
exactly, in rational numbers.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import double_at_least, double_at_most
from celosia.core.iterations import Run

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_EXACT_RUNS = 100  # runs up to which sums of fractions stay short
_BITS = 64  # that are kept of a fraction when there are more runs
_SAFE = 1 + 1e-12  # far above the rounding of the sums


def gaussian_rho(steps: Sequence[Run], start: Fraction = Fraction(0)) -> Fraction:
    """Return the rho for which D_alpha <= rho * alpha at every order, for runs of (shift, variance, count).

    Exact for up to a hundred runs; for more, shifts are rounded up and variances down, by less than one part in 2^63.
    """
    return sum((shift * shift / (2 * variance) for shift, variance, _ in _minorant(steps, start)), Fraction(0))


def gaussian_allocation(steps: Sequence[Run], start: Fraction = Fraction(0)) -> tuple[Fraction, ...]:
    """Return the amount per step of each run of (shift, variance, count); the same for every order."""
    runs = _short(steps)
    slopes = [shift / variance for shift, variance, count in _minorant(steps, start) for _ in range(count)]
    return tuple(slope * run[1] for slope, run in zip(slopes, runs, strict=True))


def _minorant(steps: Sequence[Run], start: Fraction) -> list[Run]:
    """Return the straight pieces of the greatest convex minorant: rise, width, number of runs.

    Within a run the points lie on a straight line, so only the ends of the runs matter.
    """
    pieces: list[Run] = []
    for shift, variance, count in _short(steps):
        rise, width, runs = shift * count + (Fraction(0) if pieces else start), variance * count, 1
        while pieces and pieces[-1][0] * width >= rise * pieces[-1][1]:  # not steeper than before: one piece
            before = pieces.pop()
            rise, width, runs = rise + before[0], width + before[1], runs + before[2]
        pieces.append((rise, width, runs))
    return pieces


def _short(steps: Sequence[Run]) -> list[Run]:
    """Return the runs with larger shifts and smaller noise of few bits, if many fractions would be added."""
    if len(steps) <= _MAX_EXACT_RUNS:
        return list(steps)
    return [(-_round_down(-shift), _round_down(size), count) for shift, size, count in steps]


def _round_down(number: Fraction) -> Fraction:
    places = _BITS + number.denominator.bit_length() - abs(number.numerator).bit_length()
    return Fraction(math.floor(number * Fraction(2) ** places)) / Fraction(2) ** places


def laplace_price(alpha: float, steps: Sequence[Run], start: Fraction = Fraction(0)) -> float:
    """Return an upper bound of D_alpha for runs of (shift, scale, count), by the best allocation for this order."""
    from celosia.divergences.magnitude import LaplaceNoise  # imports much, and is seldom used

    runs = _short(steps)
    amounts = laplace_allocation(alpha, steps, start)
    prices = [
        count * float(LaplaceNoise(scale=double_at_most(scale)).magnitude(alpha, double_at_least(amount)))
        for amount, (_, scale, count) in zip(amounts, runs, strict=True)
    ]
    total = sum(prices) * _SAFE
    if math.isinf(total):
        raise ParameterError("accounting.allocation_overflows")
    return total


def laplace_allocation(alpha: float, steps: Sequence[Run], start: Fraction = Fraction(0)) -> tuple[Fraction, ...]:
    """Return the amount per step of each run of (shift, scale, count), best for the order ``alpha``."""
    runs = _short(steps)
    if len({scale for _, scale, _ in runs}) == 1:  # one convex price for all: the minorant is best for every order
        return gaussian_allocation(steps, start)
    return _kept_within(runs, start, _pool_runs(alpha, runs, start))


def _pool_runs(alpha: float, runs: list[Run], start: Fraction) -> list[tuple[int, "NDArray[np.float64]"]]:
    """Return blocks of runs with one multiplier each, increasing from block to block: (last run, amounts per step)."""
    blocks: list[tuple[int, int, Fraction, float, NDArray[np.float64]]] = []
    for index, (shift, _, count) in enumerate(runs):
        first, rise = index, shift * count + (Fraction(0) if blocks else start)
        rate, amounts = _block(alpha, runs[first : index + 1], rise)
        while blocks and blocks[-1][3] >= rate:
            first, rise = blocks[-1][0], rise + blocks[-1][2]
            blocks.pop()
            rate, amounts = _block(alpha, runs[first : index + 1], rise)
        blocks.append((first, index, rise, rate, amounts))
    return [(last, amounts) for _, last, _, _, amounts in blocks]


def _block(alpha: float, runs: list[Run], rise: Fraction) -> tuple[float, "NDArray[np.float64]"]:
    """Return the multiplier at which the runs together hide ``rise``, and the amount of each of their steps."""
    scales = np.array([float(scale) for _, scale, _ in runs])
    counts = np.array([float(count) for _, _, count in runs])
    widest = float(scales.max())
    at = _amounts(alpha, scales / widest)
    total = double_at_least(rise) / widest  # in units of the widest noise, like all that follows
    if total == 0:
        return 0.0, np.zeros_like(scales)
    most = total / float(counts[scales == widest].sum())
    if counts @ at(most)[1] > total:  # otherwise the widest hides all of it, to the last digit
        from scipy import optimize  # a fifth of a second to import, and seldom used

        most = float(optimize.brentq(lambda a: float(counts @ at(a)[1]) - total, 0.0, most, xtol=1e-300, rtol=1e-14))
    rate, amounts = at(most)
    return rate / widest, amounts * widest


def _amounts(alpha: float, shares: "NDArray[np.float64]") -> "Callable[[float], tuple[float, NDArray[np.float64]]]":
    """Return a function of the amount of the widest noise, of scale 1: the multiplier, and the amount of every noise.

    The derivative of R_alpha at a is alpha (1 - r) / (alpha + (alpha - 1) r) with r = exp(-(2 alpha - 1) a), and can
    be inverted.
    """
    over, twice = alpha - 1, 2 * alpha - 1

    def at(a: float) -> "tuple[float, NDArray[np.float64]]":
        ratio = math.exp(-twice * a)
        rate = -math.expm1(-twice * a) * alpha / (alpha + over * ratio)
        missing = ratio * twice / (alpha + over * ratio)  # 1 - rate, which may be too small to be seen in rate
        scaled = shares * rate
        with np.errstate(divide="ignore"):
            left = np.where(scaled < 0.5, np.log1p(-scaled), np.log(1 - shares + shares * missing))
        amounts = shares / twice * (np.log1p(scaled * over / alpha) - left)
        return rate, np.where(shares == 1, a, amounts)

    return at


def _kept_within(
    runs: list[Run], start: Fraction, blocks: "list[tuple[int, NDArray[np.float64]]]"
) -> tuple[Fraction, ...]:
    """Return the amounts in rational numbers, corrected in their last digits so that the constraints hold exactly."""
    ends = {last for last, _ in blocks}
    wanted = np.concatenate([amounts for _, amounts in blocks])
    allowed, hidden, amounts = start, Fraction(0), []
    for index, (shift, _, count) in enumerate(runs):
        allowed += shift * count
        left = allowed - hidden
        portion = left if index in ends else min(Fraction(float(wanted[index])) * count, left)
        hidden += portion
        amounts.append(portion / count)
    return tuple(amounts)
