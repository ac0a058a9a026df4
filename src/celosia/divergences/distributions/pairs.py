"""The common form of two distributions, from which every divergence is computed.

A divergence is a sum or an integral of a function of the two log-densities. So a pair in any form only has to
integrate: ``Masses`` adds over aligned probabilities, ``Countable`` over integers (SciPy's discrete
distributions), ``Densities`` over the line (SciPy's continuous ones). Logarithms throughout, so that high orders
neither overflow nor vanish.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import scipy

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.divergences.distributions.arguments import as_probabilities
from celosia.divergences.distributions.discrete import Discrete, align
from celosia.divergences.distributions.families import Bernoulli, MultivariateNormal
from celosia.divergences.distributions.frozen import Countable, Densities
from celosia.divergences.distributions.samples import Samples

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.divergences.distributions.frozen import Integrand


class Pair(Protocol):
    """Two distributions that can be integrated together."""

    def log_integral(self, integrand: "Integrand") -> float:
        """Return the log of the sum or integral of ``exp(integrand)``."""

    def log_supremum(self) -> float:
        """Return the largest log of P / Q."""


@dataclass(frozen=True, slots=True, eq=False)
class Masses:
    """Aligned probabilities."""

    p: "NDArray[np.float64]"
    q: "NDArray[np.float64]"

    def log_integral(self, integrand: "Integrand") -> float:
        """Add over the entries."""
        with np.errstate(divide="ignore"):
            values = integrand(np.log(self.p), np.log(self.q))
        return float(scipy.special.logsumexp(values)) if (values > -math.inf).any() else -math.inf

    def log_supremum(self) -> float:
        """Take the largest over the entries."""
        kept = self.p > 0
        with np.errstate(divide="ignore"):
            return float((np.log(self.p[kept]) - np.log(self.q[kept])).max())


def pair_of(p: object, q: object) -> Pair:
    """Return the pair for two distributions given in any of the accepted forms."""
    p, q = (side.frozen() if hasattr(side, "frozen") else side for side in (p, q))
    for side, name in ((p, "p"), (q, "q")):
        if isinstance(side, Samples) and side.neighbours is not None:
            raise ParameterError("divergences.neighbours_not_supported", name=name, neighbours=side.neighbours)
    p, q = (side.empirical() if isinstance(side, Samples) and side.bins is None else side for side in (p, q))
    if isinstance(p, Samples) and isinstance(q, Samples):
        return Masses(*p.bin_with(q))
    if isinstance(p, Discrete) and isinstance(q, Discrete):
        return Masses(*(side.probabilities for side in align(p, q)))
    if _frozen(p, "logpdf") and _frozen(q, "logpdf"):
        return Densities(p, q)
    if _frozen(p, "logpmf") and _frozen(q, "logpmf"):
        return Countable(p, q)
    return Masses(*_align(p, q))


def _align(p: object, q: object) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
    sides = []
    for side, name in ((p, "p"), (q, "q")):
        if isinstance(side, (Discrete, MultivariateNormal, Samples, str, bytes, dict, set)) or hasattr(side, "dist"):
            raise ParameterError("divergences.sides_not_comparable", name=name, value=safe_repr(side))
        sides.append(side.masses if isinstance(side, Bernoulli) else as_probabilities(side, name=name))
    if len(sides[0]) != len(sides[1]):
        raise ParameterError("divergences.probabilities_not_aligned", first=len(sides[0]), second=len(sides[1]))
    return sides[0], sides[1]


def _frozen(side: object, density: str) -> bool:
    return hasattr(side, "dist") and hasattr(side, "support") and hasattr(side, density)
