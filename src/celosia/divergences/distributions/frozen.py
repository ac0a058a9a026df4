"""Pairs of frozen SciPy distributions: integrals over the line, sums over the integers.

SciPy's log-densities are used, with two exceptions. Laplace and discrete Laplace are written out, because SciPy takes
the logarithm of a density that has underflowed. Where q's density vanishes deep in its own tail while p's does not, the
divergence is unknown and an error is raised; in the middle of q it is a gap, and the divergence may be infinite.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy

from celosia.core.errors import InputError
from celosia.divergences.distributions.quadrature import Stretch, log_integral, supremum, window

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

Integrand: TypeAlias = "Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]"
"""From log p and log q, entry by entry, to the log of what is to be summed."""

_LEVELS = 1 / (1 + np.exp(np.linspace(30, -30, 41)))
_MODERATE = np.linspace(0.01, 0.99, 21)  # far quantiles of discrete distributions are sums, and slow
_TAIL = 1e-200
_MAX_RESOLVED_LOG = 1e6  # a difference of logarithms up to this size is right to nine digits
_MAX_TERMS = 1 << 22
_MAX_INTEGER_STRETCH = 36.0  # sinh of this is 2^51


@dataclass(frozen=True, slots=True, eq=False)
class Densities:
    """Two frozen continuous SciPy distributions."""

    p: Any
    q: Any

    def log_integral(self, integrand: Integrand) -> float:
        """Integrate between the ends of the supports, piece by piece."""
        marks = _marks(self.p, self.q)
        scale = _scale(self.p, self.q)
        edges = sorted({float(edge) for side in (self.p, self.q) for edge in side.support()})
        values = _log_values(self.p, self.q, integrand)
        pieces = [
            log_integral(values, Stretch(low=low, high=high, centre=float(self.p.median()), scale=scale), marks)
            for low, high in pairwise(edges)
        ]
        return float(scipy.special.logsumexp(pieces)) if max(pieces) < math.inf else math.inf

    def log_supremum(self) -> float:
        """Search piece by piece: the value is found, not certified."""
        marks, scale, centre = _marks(self.p, self.q), _scale(self.p, self.q), float(self.p.median())
        edges = sorted({float(edge) for side in (self.p, self.q) for edge in side.support()})
        loss = _loss(self.p, self.q)
        return max(
            supremum(loss, Stretch(low=low, high=high, centre=centre, scale=scale), marks)
            for low, high in pairwise(edges)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Countable:
    """Two frozen discrete SciPy distributions on integers."""

    p: Any
    q: Any

    def log_integral(self, integrand: Integrand) -> float:
        """Add over the integers on which the terms are not negligible."""
        _check_whole(self.p, self.q)
        (p_low, p_high), (q_low, q_high) = self.p.support(), self.q.support()
        low, high = min(p_low, q_low), max(p_high, q_high)
        values = _log_values(self.p, self.q, integrand)
        stretch = Stretch(low=-math.inf, high=math.inf, centre=float(self.p.median()), scale=1.0)

        def near(t: "NDArray[np.float64]") -> "NDArray[np.float64]":
            whole = np.rint(stretch.points(t))
            inside = (whole >= low) & (whole <= high)
            result = np.full(len(t), -math.inf)
            result[inside] = values(whole[inside]) + stretch.log_slope(t[inside])
            return result

        def terms(t: "NDArray[np.float64]") -> "NDArray[np.float64]":
            # Farther out doubles do not tell integers apart: the terms go on as the power that they were.
            held = np.clip(t, -_MAX_INTEGER_STRETCH, _MAX_INTEGER_STRETCH)
            value, beyond = near(held), np.abs(t - held)
            with np.errstate(invalid="ignore"):
                slope = np.where(beyond > 0, value - near(held - np.sign(t)), 0.0)
            return np.where(value == -math.inf, value, value + beyond * slope)

        found = window(terms, stretch.inverse(_marks(self.p, self.q, _MODERATE)))
        if found is None or found[2] == math.inf:
            return -math.inf if found is None else math.inf
        ends = np.rint(stretch.points(np.array(found[:2])))
        first, last = max(ends[0] - 1, low), min(ends[1] + 1, high)
        if last - first > _MAX_TERMS:
            raise InputError("divergences.too_many_integers", most=_MAX_TERMS)
        return float(scipy.special.logsumexp(values(np.arange(first, last + 1))))

    def log_supremum(self) -> float:
        """Search among the integers: the value is found, not certified."""
        _check_whole(self.p, self.q)
        loss = _loss(self.p, self.q)
        stretch = Stretch(low=-math.inf, high=math.inf, centre=float(self.p.median()), scale=1.0)
        return supremum(lambda x: loss(np.rint(x)), stretch, _marks(self.p, self.q, _MODERATE))


def _marks(p: Any, q: Any, levels: "NDArray[np.float64]" = _LEVELS) -> "NDArray[np.float64]":
    """Return points of every magnitude near the mass of p and q."""
    marks = np.concatenate([side.ppf(levels) for side in (p, q)] + [np.asarray(side.support()) for side in (p, q)])
    finite: NDArray[np.float64] = np.unique(marks[np.isfinite(marks)])
    return finite


def _check_whole(p: Any, q: Any) -> None:
    """Refuse atoms between the integers: a sum over integers would not see them."""
    for side, name in ((p, "p"), (q, "q")):
        atoms = np.concatenate(
            [np.asarray(getattr(side.dist, "xk", [0.0]), dtype=np.float64), _marks(side, side, _MODERATE)]
        )
        if (atoms != np.rint(atoms)).any():
            raise InputError("divergences.mass_not_on_integers", name=name)


def _scale(p: Any, q: Any) -> float:
    spreads = [float(side.ppf(0.75) - side.ppf(0.25)) for side in (p, q)]
    if not all(0 < spread < math.inf for spread in spreads):
        raise InputError("divergences.quartiles_not_apart")
    return min(spreads)


def _common(p: Any, q: Any) -> tuple[float, float]:
    """Return the interval on which both have their support."""
    (p_low, p_high), (q_low, q_high) = p.support(), q.support()
    return max(p_low, q_low), min(p_high, q_high)


def _log_densities(
    p: Any,
    q: Any,
) -> "Callable[[NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]]":
    low, high = _common(p, q)

    def densities(x: "NDArray[np.float64]") -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        with np.errstate(all="ignore"):  # densities of zero have no logarithm, and that is meant
            log_p, log_q = (np.asarray(log_density_of(side)(x), dtype=np.float64) for side in (p, q))
            lost = (log_q == -math.inf) & (log_p > -math.inf) & (x > low) & (x < high)
            if lost.any():  # a gap in the middle of q, or a tail below the smallest double?
                tail = np.minimum(q.cdf(x[lost]), q.sf(x[lost])) < _TAIL
                log_p[lost] = np.where(tail, math.nan, log_p[lost])
        return log_p, log_q

    return densities


def log_density_of(side: Any) -> "Callable[[NDArray[np.float64]], NDArray[np.float64]]":
    """Return SciPy's log-density, or ours where SciPy takes the logarithm of a density that has underflowed."""
    name = getattr(side.dist, "name", "")
    if name == "laplace":
        centre, scale = float(side.mean()), float(side.std()) / math.sqrt(2)
        return lambda x: -np.abs(x - centre) / scale - math.log(2 * scale)
    if name == "dlaplace":
        centre, rate = float(side.mean()), 2 * math.asinh(1 / math.sqrt(2 * float(side.var())))
        return lambda x: -np.abs(x - centre) * rate + math.log(math.tanh(rate / 2))
    return side.logpdf if hasattr(side, "logpdf") else side.logpmf  # type: ignore[no-any-return]  # SciPy's own


def _log_values(p: Any, q: Any, integrand: Integrand) -> "Callable[[NDArray[np.float64]], NDArray[np.float64]]":
    densities = _log_densities(p, q)

    def values(x: "NDArray[np.float64]") -> "NDArray[np.float64]":
        log_p, log_q = densities(x)
        if np.isnan(log_p).any() or np.isnan(log_q).any():
            raise InputError("divergences.log_density_lost")
        return integrand(log_p, log_q)

    return values


def _loss(p: Any, q: Any) -> "Callable[[NDArray[np.float64]], NDArray[np.float64]]":
    """Return the privacy loss log P / Q, minus infinity where P has no mass or the difference is not known."""
    densities = _log_densities(p, q)

    def loss(x: "NDArray[np.float64]") -> "NDArray[np.float64]":
        log_p, log_q = densities(x)
        known = (log_p > -_MAX_RESOLVED_LOG) & ((log_q > -_MAX_RESOLVED_LOG) | (log_q == -math.inf))
        with np.errstate(invalid="ignore"):
            return np.where(known, log_p - log_q, -math.inf)

    return loss
