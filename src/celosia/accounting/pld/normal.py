"""Two normal distributions one mu apart, the pair of Gaussian differential privacy, and the same under sampling.

N(mu, 1) against N(0, 1) dominates every mu-GDP mechanism (Dong, Roth and Su 2022). With Poisson sampling at rate q
under add-remove the pair is R = (1 - q) N(0, 1) + q N(mu, 1) against N(0, 1), in both directions; with samples of fixed
size under replace-one it is symmetric (Zhu, Dong and Wang 2022). Profiles have closed forms; Rényi divergences, at
whole and fractional orders alike, are trapezium sums of positive terms. Everything is rounded up by a part in about
10^12, far above the error of the sums.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from celosia.accounting.checks import Array, check_epsilons, check_orders, check_positive, check_probability
from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr

Kind = Literal["remove", "add", "fixed"]
"""Which sampled pair: the mixture against the plain, the plain against the mixture, or samples of fixed size."""

_KINDS: tuple[Kind, ...] = ("remove", "add", "fixed")
_MAX_SUMMED_MU = 40.0  # beyond this mu sums give way to bounds: typical losses are above 800
_MAX_SUMMED_PEAK = 1e7  # order * mu: beyond, squares near the peak differ by rounding only
_MAX_MU = 1e8  # mu; the smallest is its inverse
_SAFE = 1e-12
_LAST_PLACE = 4e-16  # relative: rounding of a sum or of an exponential
_UNDERFLOW = 1e-300
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


@dataclass(frozen=True, slots=True)
class Normal:
    """The pair N(mu, 1) against N(0, 1)."""

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", _check_mu(self.mu))

    def profile(self, epsilons: ArrayLike) -> Array:
        """Return the hockey-stick divergence at each e^epsilon, rounded up; epsilon may be negative."""
        values = check_epsilons(epsilons)
        above = _delta(np.abs(values), self.mu)
        return np.where(values >= 0, above, _reflect(values, above))

    def renyi(self, orders: ArrayLike) -> Array:
        """Return order * mu^2 / 2, rounded up."""
        return check_orders(orders) * (self.mu * self.mu / 2) * (1 + _SAFE)

    def swap(self) -> "Normal":
        """Return the pair from the other side, which is the same."""
        return self

    def poisson(self, probability: float) -> "tuple[SampledNormal, SampledNormal]":
        """Return both directions of Poisson sampling under add-remove."""
        return SampledNormal(self.mu, probability, "remove"), SampledNormal(self.mu, probability, "add")

    def fixed(self, probability: float) -> "SampledNormal":
        """Return the pair for samples of fixed size under replace-one; ``probability`` is size over population."""
        return SampledNormal(self.mu, probability, "fixed")


@dataclass(frozen=True, slots=True)
class SampledNormal:
    """A normal pair under sampling of the given ``kind``."""

    mu: float
    probability: float
    kind: Kind

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", _check_mu(self.mu))
        object.__setattr__(self, "probability", check_probability(self.probability))
        if self.kind not in _KINDS:
            raise ParameterError("core.unknown_kind", known=", ".join(_KINDS), value=safe_repr(self.kind))

    def profile(self, epsilons: ArrayLike) -> Array:
        """Return the hockey-stick divergence at each e^epsilon, rounded up; epsilon may be negative."""
        values = check_epsilons(epsilons)
        if self.kind == "remove":
            return _removal_profile(values, self.mu, self.probability)
        if self.kind == "add":
            return _addition_profile(values, self.mu, self.probability)
        above = _removal_profile(np.abs(values), self.mu, self.probability)
        return np.where(values >= 0, above, _reflect(values, above))

    def renyi(self, orders: ArrayLike) -> Array:
        """Return the Rényi divergence at each order, rounded up."""
        values = check_orders(orders)
        if self.probability == 1:
            return Normal(self.mu).renyi(values)
        from celosia.accounting.pld.kernels import sampled_normal_renyi

        out = _bound(values, self.mu, self.probability, self.kind)
        summed = (values <= _MAX_SUMMED_PEAK / self.mu) & (self.mu <= _MAX_SUMMED_MU)
        out[summed] = sampled_normal_renyi(self.mu, self.probability, values[summed], _KINDS.index(self.kind))
        return out

    def swap(self) -> "SampledNormal":
        """Return the pair from the other side."""
        other: dict[Kind, Kind] = {"remove": "add", "add": "remove", "fixed": "fixed"}
        return SampledNormal(self.mu, self.probability, other[self.kind])


def _check_mu(mu: float) -> float:
    value = check_positive(mu, "mu")
    if not 1 / _MAX_MU <= value <= _MAX_MU:
        raise ParameterError("accounting.mu_out_of_range", least=1 / _MAX_MU, most=_MAX_MU, mu=safe_repr(mu))
    return value


def _reflect(epsilons: Array, above: Array) -> Array:
    """Return the profile of a symmetric pair at negative epsilons, from that at their absolute values."""
    negative = np.minimum(epsilons, 0.0)
    return np.minimum(-np.expm1(negative) * (1 + _SAFE) + np.exp(negative) * above, 1.0)


def _delta(epsilons: Array, mu: float) -> Array:
    """Return Phi(-z) - e^epsilon Phi(-z - mu), z = epsilon / mu - mu / 2, for epsilon >= 0, rounded up.

    With Mills' ratio m it is density(z) (m(z) - m(z + mu)), and for small mu the integral of -m' = 1 - t m(t) > 0.
    """
    from scipy import special

    z = epsilons / mu - mu / 2
    out = np.zeros(z.size)
    low = z < -1
    out[low] = special.ndtr(-z[low]) - np.exp(epsilons[low] + special.log_ndtr(-z[low] - mu))
    high = ~low & (z < 40)
    at = z[high]
    density = np.exp(-at * at / 2) / math.sqrt(2 * math.pi)
    if mu >= 1:
        out[high] = density * (_mills(at) - _mills(at + mu))
    else:
        t = at[:, None] + mu * (_NODES + 1) / 2
        out[high] = density * ((1 - t * _mills(t)) @ _WEIGHTS) * (mu / 2)
    # An error of a few units in the last place of z is z times as much in the exponent.
    safe = 1 + _SAFE + _LAST_PLACE * np.clip(z, 2, 40) * (epsilons / mu + mu + 40)
    return np.minimum(out * safe + _UNDERFLOW, 1.0)


def _mills(t: Array) -> Array:
    from scipy import special

    return np.asarray(math.sqrt(math.pi / 2) * special.erfcx(t / math.sqrt(2)))


def _log_quotient(above: Array, below: float) -> Array:
    with np.errstate(over="ignore"):
        quotient = above / below
    return np.where(quotient < math.inf, np.log(quotient), np.log(above) - math.log(below))


def _removal_profile(epsilons: Array, mu: float, share: float) -> Array:
    """Return H(R, Q) = share E(e^l - c)_+ with share c = e^epsilon - 1 + share; 1 - e^epsilon where c <= 0."""
    with np.errstate(over="ignore"):
        cut = np.expm1(np.minimum(epsilons, 700.0)) + share
    below = epsilons < 0
    cut = np.where(below, cut - _LAST_PLACE * (share + np.abs(np.expm1(np.minimum(epsilons, 0.0)))), cut)
    inside = cut > 0
    ratio = _log_quotient(np.where(inside, cut, share), share)
    small = np.abs(epsilons) < share / 2  # to all digits where the ratio is nearly 1
    ratio = np.where(small, np.log1p(np.expm1(np.where(small, epsilons, 0.0)) / share), ratio)
    ratio = np.where(epsilons > 700, epsilons - math.log(share), ratio)
    delta = _delta(np.abs(ratio), mu)
    outside = -np.expm1(np.minimum(epsilons, 0.0)) * (1 + _SAFE)
    reflected = outside + np.maximum(cut, 0.0) * delta * (1 + _SAFE)
    return np.minimum(np.where(inside, np.where(ratio >= 0, share * delta, reflected), outside), 1.0)


def _addition_profile(epsilons: Array, mu: float, share: float) -> Array:
    """Return H(Q, R) = e^epsilon share E(c - e^l)_+ with share c = e^-epsilon - 1 + share, 0 where c <= 0."""
    negative = np.clip(-epsilons, -700.0, 700.0)
    # Raised by the rounding of the difference: H grows with c.
    decay = np.expm1(negative)
    cut = share + decay + _LAST_PLACE * (share + np.abs(decay))
    if share > 0.5:  # 1 - share is exact, and e^-epsilon has digits where e^-epsilon - 1 has lost them
        cut = np.minimum(cut, np.exp(negative) * (1 + _LAST_PLACE) - (1 - share) * (1 - _LAST_PLACE))
    inside = cut > 0
    ratio = _log_quotient(np.where(inside, cut, share), share)
    small = np.abs(epsilons) < share / 2
    ratio = np.where(small, np.log1p(np.expm1(np.where(small, -epsilons, 0.0)) / share), ratio)
    delta = _delta(np.abs(ratio), mu)
    # E(c - e^l)_+ = c delta(-ln c), and where c > 1 it is c - 1 + delta(ln c).
    with np.errstate(over="ignore"):
        scale = np.exp(np.minimum(epsilons, 700.0))
    less = scale * np.maximum(cut, 0.0) * delta
    more = -np.expm1(np.minimum(epsilons, 0.0)) + scale * share * delta
    return np.minimum(np.where(inside, np.where(ratio <= 0, less, more), 0.0) * (1 + _SAFE), 1.0)


def _bound(orders: Array, mu: float, share: float, kind: Kind) -> Array:
    """Bound the divergences for a mu or an order so large that sums are pointless: powers are convex in the ratio r.

    E r^a <= 1 - q + q E e^(a l); for the other direction also r >= 1 - q; for fixed size E(r^a - r)_+ <= q E e^(a l).
    Sampling never makes a pair easier to tell apart: order * mu^2 / 2 bounds all of them.
    """
    over = orders - 1
    with np.errstate(over="ignore"):
        grown = orders * over * (mu * mu / 2)
        whole = np.logaddexp(math.log(share) + grown, 0.0 if kind == "fixed" else math.log1p(-share))
        if kind != "fixed":  # to all digits where the sum is nearly 1
            whole = np.where(grown < 1, np.log1p(share * np.expm1(np.minimum(grown, 1.0))), whole)
        whole = whole / over
        if kind == "add":
            whole = np.minimum(whole, -math.log1p(-share))
        return np.minimum(whole, orders * (mu * mu / 2)) * (1 + _SAFE)
