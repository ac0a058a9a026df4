"""The hockey-stick divergence, which is the delta of (epsilon, delta)-privacy, and its value at 0, the total variation.

H_epsilon(P || Q) is the largest P(S) - e^epsilon Q(S) over events S: the sum of P - e^epsilon Q where that is positive
(Sason and Verdú 2016; Balle, Barthe and Gaboardi 2018). A mechanism is (epsilon, delta)-private exactly if H_epsilon is
at most delta in both directions for all neighbours.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from celosia.divergences.closed import hockey_stick_laplace, hockey_stick_normal, whiten
from celosia.divergences.distributions.arguments import as_number
from celosia.divergences.distributions.families import Laplace, MultivariateNormal, Normal
from celosia.divergences.distributions.pairs import pair_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


def hockey_stick(p: object, q: object, epsilon: float) -> float:
    """Return the hockey-stick divergence of ``p`` from ``q`` at ``epsilon``; see `renyi` for what they may be.

    >>> round(hockey_stick([0.75, 0.25], [0.25, 0.75], 0), 6), round(hockey_stick([0.75, 0.25], [0.25, 0.75], 1), 6)
    (0.5, 0.07043)
    """
    epsilon = as_number(epsilon, name="epsilon", least=0)
    if isinstance(p, Normal) and isinstance(q, Normal):
        return hockey_stick_normal(p, q, epsilon)
    if isinstance(p, Laplace) and isinstance(q, Laplace):
        return hockey_stick_laplace(p, q, epsilon)
    if isinstance(p, MultivariateNormal) and isinstance(q, MultivariateNormal):
        shifts, ratios = whiten(p, q)
        if np.allclose(ratios, 1, rtol=1e-9, atol=0):  # a common covariance: only the distance of the means counts
            return hockey_stick_normal(Normal(float(np.linalg.norm(shifts)), 1.0), Normal(0.0, 1.0), epsilon)

    def integrand(log_p: "NDArray[np.float64]", log_q: "NDArray[np.float64]") -> "NDArray[np.float64]":
        with np.errstate(invalid="ignore", divide="ignore"):
            loss = np.where(log_p == -math.inf, -math.inf, log_p - log_q)
            excess = log_p + np.log(-np.expm1(np.minimum(epsilon - loss, 0.0)))
        return np.where(loss > epsilon, excess, -math.inf)

    return min(1.0, math.exp(min(0.0, pair_of(p, q).log_integral(integrand))))


def total_variation(p: object, q: object) -> float:
    """Return the total variation distance: the largest difference between the probabilities of an event.

    >>> round(total_variation([0.75, 0.25], [0.25, 0.75]), 6)
    0.5
    """
    return hockey_stick(p, q, 0.0)
