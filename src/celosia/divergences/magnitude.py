"""R_alpha(noise, radius): the largest Rényi divergence between a noise and itself moved by at most ``radius``.

It measures what one noisy step of an iteration can hide (Feldman, Mironov, Talwar and Thakurta 2018; Estrada Franco
2025, definition 5.5). Gaussian noise: alpha radius^2 / (2 variance), in any dimension. Laplace noise: the closed form
of one coordinate, for distances that are sums of absolute values; a convex function with value 0 at 0 is largest on
such a ball where all of the distance is in one coordinate. Other densities: by integration, an estimate rather than a
bound. Noise on a grid or an interval has no R_alpha: its divergence from itself moved is infinite.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy

from celosia.core.errors import ParameterError
from celosia.core.exact import exact_positive, safe_repr
from celosia.divergences.distributions.arguments import as_number
from celosia.divergences.distributions.frozen import log_density_of
from celosia.divergences.distributions.quadrature import Stretch, log_integral
from celosia.divergences.exponentials import exp_minus_linear

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

_SHIFTS = np.linspace(-1, 1, 33)
_LEVELS = 1 / (1 + np.exp(np.linspace(30, -30, 41)))


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianNoise:
    """Independent normal noise of ``variance`` on each coordinate; distances are Euclidean.

    >>> GaussianNoise(variance=4.0)
    GaussianNoise(variance=4.0)
    """

    variance: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", float(exact_positive(self.variance, name="variance")))

    def magnitude(self, alpha: "ArrayLike", radius: "ArrayLike") -> "NDArray[np.float64]":
        """Return R_alpha for arrays of orders above 1 and of radii.

        >>> GaussianNoise(variance=4).magnitude([2, 3], 2)
        array([1. , 1.5])
        """
        with np.errstate(over="ignore"):
            ratio = np.asarray(radius, dtype=np.float64) / math.sqrt(self.variance)
            return np.asarray(np.asarray(alpha, dtype=np.float64) / 2 * ratio**2)

    def ppf(self, probability: "ArrayLike") -> "NDArray[np.float64]":
        """Return quantiles.

        >>> GaussianNoise(variance=4).ppf([0.5, 0.975]).round(3)
        array([0.  , 3.92])
        """
        return np.asarray(math.sqrt(self.variance) * scipy.special.ndtri(np.asarray(probability, dtype=np.float64)))


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceNoise:
    """Independent Laplace noise of ``scale`` on each coordinate; distances are sums of absolute values.

    >>> LaplaceNoise(scale=2.0)
    LaplaceNoise(scale=2.0)
    """

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", float(exact_positive(self.scale, name="scale")))

    def magnitude(self, alpha: "ArrayLike", radius: "ArrayLike") -> "NDArray[np.float64]":
        """Return R_alpha for arrays of orders above 1 and of radii, to a few units of the last place.

        >>> LaplaceNoise(scale=2).magnitude([2, 1e6], 2).round(6)
        array([0.619124, 0.999999])
        """
        with np.errstate(over="ignore"):  # what overflows is infinite, or not the branch that is taken
            alpha, t = np.broadcast_arrays(
                np.asarray(alpha, dtype=np.float64), np.asarray(radius, dtype=np.float64) / self.scale
            )
            over = alpha - 1
            # Without its linear part, which cancels, the sum has two terms that are both positive.
            excess = (alpha * exp_minus_linear(over * t) + over * exp_minus_linear(-alpha * t)) / (alpha + over)
            near = np.log1p(np.where(over * t < 1, excess, 0.0)) / over
            far = t + (np.log(alpha / (alpha + over)) + np.log1p(over / alpha * np.exp(-(alpha + over) * t))) / over
            return np.asarray(np.where(over * t < 1, near, far))

    def ppf(self, probability: "ArrayLike") -> "NDArray[np.float64]":
        """Return quantiles.

        >>> LaplaceNoise(scale=2).ppf([0.25, 0.75]).round(3)
        array([-1.386,  1.386])
        """
        p = np.asarray(probability, dtype=np.float64)
        return np.asarray(np.sign(p - 0.5) * -self.scale * np.log(2 * np.minimum(p, 1 - p)))


Noise: TypeAlias = GaussianNoise | LaplaceNoise | Any
"""A noise: one of ours, or a frozen continuous SciPy distribution on the whole line."""


def R(alpha: float, noise: Noise, radius: float) -> float:  # noqa: N802 - the letter of the theorem
    """Return the largest Rényi divergence of order ``alpha`` between ``noise`` and itself moved by up to ``radius``.

    For a SciPy distribution the divergence is integrated, and the largest of 33 shifts is returned: not a bound.

    >>> R(2, GaussianNoise(variance=4), 1)
    0.25
    >>> from scipy import stats
    >>> round(R(2, LaplaceNoise(scale=1), 1) - R(2, stats.laplace(), 1), 9) + 0.0
    0.0
    >>> R(2, stats.uniform(), 1)
    Traceback (most recent call last):
    ...
    celosia.core.errors.ParameterError: noise must have the whole line for its support.
    """
    alpha = as_number(alpha, name="alpha", above=1)
    radius = as_number(radius, name="radius", least=0)
    if isinstance(noise, GaussianNoise | LaplaceNoise):
        value = float(noise.magnitude(alpha, radius))
    else:
        _check_density(noise)
        value = max(_integrate_shift(alpha, noise, shift) for shift in radius * _SHIFTS) if radius else 0.0
    if not math.isfinite(value):
        raise ParameterError("divergences.infinite_magnitude", radius=safe_repr(radius), alpha=safe_repr(alpha))
    return value


def _check_density(noise: Any) -> None:
    if not all(hasattr(noise, name) for name in ("dist", "support", "logpdf", "ppf")):
        raise ParameterError("divergences.noise_not_continuous", noise=safe_repr(noise))
    if tuple(float(end) for end in noise.support()) != (-math.inf, math.inf):
        raise ParameterError("divergences.noise_support_not_whole_line")


def _integrate_shift(alpha: float, noise: Any, shift: float) -> float:
    """Return the divergence of the noise moved by ``shift`` from the noise, by integration."""
    quantiles = np.asarray(noise.ppf(_LEVELS), dtype=np.float64)
    scale = float(noise.ppf(0.75) - noise.ppf(0.25))
    marks = np.unique(np.concatenate([quantiles, quantiles + shift, quantiles + alpha * shift]))
    line = Stretch(low=-math.inf, high=math.inf, centre=float(noise.ppf(0.5)), scale=scale)
    return max(0.0, log_integral(_log_ratio(alpha, noise, shift), line, marks) / (alpha - 1))


def _log_ratio(
    alpha: float,
    noise: Any,
    shift: float,
) -> "Callable[[NDArray[np.float64]], NDArray[np.float64]]":
    log_density = log_density_of(noise)

    def values(x: "NDArray[np.float64]") -> "NDArray[np.float64]":
        with np.errstate(all="ignore"):  # far out both densities are zero, and count for nothing
            moved, still = log_density(x - shift), log_density(x)
            # The support is the line: a density of zero has underflowed, and what it is divided by is not known.
            value = np.where(still == -math.inf, math.nan, alpha * moved + (1 - alpha) * still)
            return np.where(moved == -math.inf, -math.inf, value)

    return values
