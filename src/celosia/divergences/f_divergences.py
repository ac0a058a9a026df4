"""f-divergences: the sum of Q f(P / Q) for a convex f with f(1) = 0.

All of them obey post-processing (Csiszár 1963), which makes each a possible measure of privacy. Where Q has no mass P
counts with the slope of f at infinity; where P has none, Q counts with f(0). Hellinger and chi-square are written
through the Rényi divergences of order 1/2 and 2, and so have its closed forms.
"""

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.divergences.distributions.arguments import as_number
from celosia.divergences.distributions.pairs import pair_of
from celosia.divergences.renyi import renyi

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_Convex: TypeAlias = "Callable[[NDArray[np.float64]], NDArray[np.float64]]"

# Beyond the first of these powers of e that leaves f among the doubles, f is continued as t^b (log t)^c.
_MAX_LOGS = (200.0, 100.0, 50.0)
_PROBES = np.array([0.0625, 0.125, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 4.0, 8.0, 16.0])


def f_divergence(p: object, q: object, f: _Convex, *, slope_at_infinity: float = math.inf) -> float:
    """Return the f-divergence of ``p`` from ``q``; see `renyi` for what they may be.

    ``f`` takes an array of ratios; it must be convex with f(1) = 0, which is checked at a few ratios.
    ``slope_at_infinity`` is the limit of f(t) / t, which counts where ``q`` has no mass.

    >>> round(f_divergence([0.75, 0.25], [0.25, 0.75], lambda t: abs(t - 1) / 2, slope_at_infinity=0.5), 6)
    0.5
    >>> f_divergence([0.75, 0.25], [0.25, 0.75], lambda t: -(t - 1) ** 2)
    Traceback (most recent call last):
    ...
    celosia.core.errors.ParameterError: f must be convex: it is not between the ratios 0.0625 and 0.25.
    """
    if slope_at_infinity != math.inf:
        slope_at_infinity = as_number(slope_at_infinity, name="slope_at_infinity")
    _check_convex(f)
    pair = pair_of(p, q)
    positive, negative = (pair.log_integral(_log_part(f, slope_at_infinity, sign)) for sign in (1, -1))
    if positive > 709:
        return math.inf
    return max(0.0, math.exp(positive) - math.exp(negative))


def hellinger(p: object, q: object) -> float:
    """Return the Hellinger distance, between 0 and 1: its square is one minus the sum of the roots of P Q.

    >>> hellinger([1.0, 0.0], [0.0, 1.0]), hellinger([0.5, 0.5], [0.5, 0.5])
    (1.0, 0.0)
    """
    return math.sqrt(-math.expm1(-renyi(p, q, 0.5) / 2))


def chi_square(p: object, q: object) -> float:
    """Return the chi-square divergence of ``p`` from ``q``: the sum of (P - Q)^2 / Q.

    >>> round(chi_square([0.75, 0.25], [0.5, 0.5]), 9)
    0.25
    """
    order_two = renyi(p, q, 2)
    return math.expm1(order_two) if order_two < 709 else math.inf


def _check_convex(f: _Convex) -> None:
    if not callable(f):
        raise ParameterError("divergences.f_not_a_function", value=safe_repr(f))
    values = np.asarray(f(_PROBES), dtype=np.float64)
    if values.shape != _PROBES.shape or not np.isfinite(values).all() or abs(values[5]) > 1e-12:
        raise ParameterError("divergences.f_not_finite")
    slopes = np.diff(values) / np.diff(_PROBES)
    bent = np.flatnonzero(np.diff(slopes) < -1e-9 * (1 + np.abs(slopes[1:])))
    if len(bent):
        first, last = _PROBES[bent[0]], _PROBES[bent[0] + 2]
        raise ParameterError("divergences.f_not_convex", first=first, last=last)


def _log_part(
    f: _Convex, slope: float, sign: int
) -> "Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]":
    """Return a function for the log of the positive or the negative part of Q f(P / Q)."""
    start, beyond = _continue(f, sign)

    def integrand(log_p: "NDArray[np.float64]", log_q: "NDArray[np.float64]") -> "NDArray[np.float64]":
        with np.errstate(all="ignore"):
            loss = np.where(log_p == -math.inf, -math.inf, log_p - log_q)
            steep = loss > start
            values = np.asarray(f(np.exp(np.where(steep, 0.0, loss))), dtype=np.float64)
            if np.isnan(values[log_q > -math.inf]).any():
                raise ParameterError("divergences.f_returned_nan")
            usual = log_q + np.log(np.maximum(sign * values, 0.0))
            far = log_q + beyond(np.where(steep, loss, start))
            gap = log_p + np.log(np.maximum(sign * slope, 0.0))
        value = np.where(log_q == -math.inf, gap, np.where(steep, far, usual))
        return np.where((log_q == -math.inf) & (log_p == -math.inf), -math.inf, value)

    return integrand


def _continue(f: _Convex, sign: int) -> "tuple[float, Callable[[NDArray[np.float64]], NDArray[np.float64]]]":
    """Return the log of the ratio from which f is continued, and the log of its positive or negative part there.

    The continuation a + b x + c log x goes through three points: powers, logarithms and their products are met exactly.
    """
    with np.errstate(all="ignore"):
        for start in _MAX_LOGS:
            x = start * np.array([0.5, 0.75, 1.0])
            values = np.asarray(f(np.exp(x)), dtype=np.float64)
            if np.isfinite(values).all():
                break
        heights = np.log(np.maximum(sign * values, 0.0))
    if np.isfinite(heights).all():
        a, b, c = np.linalg.solve(np.column_stack([np.ones(3), x, np.log(x)]), heights).tolist()
    else:  # zero or infinite at a point: as it is at the last one, at most as steep as the ratio itself
        a, b, c = (heights[2] - start, 1.0, 0.0) if np.isfinite(heights[2]) else (heights[2], 0.0, 0.0)
    return start, lambda loss: a + b * loss + c * np.log(loss)
