"""Tail bounds of sums of many independent noises, such as those of thousands of counters.

Chernoff's bound: whatever s > 0, the sum of n noises exceeds (n · log E[exp(s·noise)] + log(1/failure)) / s with
probability ``failure`` at most. The discrete Gaussian's moments are at most those of the normal distribution of its
parameter (Canonne, Kamath and Steinke 2020); those of the discrete Laplace are known.
"""

import math

import numpy as np

from celosia.core.errors import ParameterError
from celosia.mechanisms.gaussian import Gaussian
from celosia.mechanisms.k_norm import KNorm
from celosia.mechanisms.laplace import Laplace

_EXPONENT_SHARES = 1 - np.exp2(-np.arange(0.005, 40, 0.005))  # of the largest s with finite moments


def sum_margin(mechanism: Laplace | Gaussian | KNorm, count: int, failure: float) -> float:
    """Return a bound that the sum of ``count`` noises of a mechanism exceeds with probability ``failure`` at most.

    The bound is one-sided; by symmetry the same holds below 0.
    """
    if isinstance(mechanism, KNorm):
        raise ParameterError("statistics.no_noise_sums")
    if isinstance(mechanism, Gaussian):
        return math.sqrt(2 * count * float(mechanism.event.variance) * -math.log(failure))
    largest = 1 / float(mechanism.event.scale)
    s = largest * _EXPONENT_SHARES
    # E exp(s x) = (1 - q)^2 / ((1 - q e^s)(1 - q e^-s)) with q = e^-largest, by its logarithm.
    moments = 2 * np.log(-np.expm1(-largest)) - np.log(-np.expm1(s - largest)) - np.log(-np.expm1(-s - largest))
    return float(np.min((count * moments - math.log(failure)) / s))
