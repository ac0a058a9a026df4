"""How far the sum of many independent noises goes: thousands of counters, where a few have exact tails.

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

_CHOICES = 1 - np.exp2(-np.arange(0.005, 40, 0.005))  # of s, as shares of the largest for which there are moments


def sum_margin(mechanism: Laplace | Gaussian | KNorm, count: int, failure: float) -> float:
    """Return what the sum of ``count`` noises of a mechanism on integers exceeds with probability ``failure``.

    To one side; by symmetry it is as far below 0 as often.
    """
    if isinstance(mechanism, KNorm):
        raise ParameterError("Sums are known of noises that are drawn one by one, of Laplace or Gaussian mechanisms.")
    if isinstance(mechanism, Gaussian):
        return math.sqrt(2 * count * float(mechanism.event.variance) * -math.log(failure))
    largest = 1 / float(mechanism.event.scale)
    s = largest * _CHOICES
    # E exp(s x) = (1 - q)^2 / ((1 - q e^s)(1 - q e^-s)) with q = e^-largest, by its logarithm.
    moments = 2 * np.log(-np.expm1(-largest)) - np.log(-np.expm1(s - largest)) - np.log(-np.expm1(-s - largest))
    return float(np.min((count * moments - math.log(failure)) / s))
