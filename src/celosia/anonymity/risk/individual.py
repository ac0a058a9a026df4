"""The risk that a record is re-identified, from its class in the sample and its estimated class in the population.

An intruder who knows the key of a person links it to a record of its class, and is right with probability 1/F, where F
is the size of the class in the population. F is unknown: given ``f`` records in the sample it has a negative binomial
posterior with probability ``p = f / F_hat``, where ``F_hat`` is the sum of the sampling weights. The risk is the mean
of 1/F. The model ignores what other classes say of this one, and errors in the weights.

The mean is the integral of ``p u**(f-1) / (p + q u)`` over u from 0 to 1, with ``q = 1 - p``. It gives the recursion
``risk(f+1) = (p / q) (1/f - risk(f))`` from ``risk(1) = -(p / q) ln p``, whose steps 2 and 3 are the closed forms of
the literature; it is stable for p < 1/2. Elsewhere the hypergeometric series ``(p / f) 2F1(1, 1; f + 1; q)`` converges
fast. Benedetti and Franconi 1998; Franconi and Polettini 2004; Rinott 2003.
"""

from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.core.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_MOST_STEPS: Final = 32  # of the recursion
_TERMS: Final = 64  # what is left out is below 2**-60 where the series is used


def estimate_individual_risk(frequencies: "ArrayLike", populations: "ArrayLike") -> "NDArray[np.float64]":
    """Return the Benedetti-Franconi risk of classes.

    Parameters
    ----------
    frequencies
        The number of records of each class, at least 1.
    populations
        The sum of their weights: how many persons of the population the class has. Below the number of records it
        counts as that number.

    Examples
    --------
    >>> [round(float(risk), 6) for risk in estimate_individual_risk([2, 2, 1, 1], [110, 84.5, 17, 1])]
    [0.017144, 0.022042, 0.177076, 1.0]
    """
    sample, population = np.broadcast_arrays(
        np.asarray(frequencies, dtype=np.float64), np.asarray(populations, dtype=np.float64)
    )
    whole = np.isfinite(sample) & (sample >= 1) & (sample == np.rint(sample))
    if not (whole & np.isfinite(population) & (population > 0)).all():
        raise ParameterError("anonymity_risk.wrong_class_sizes")
    pairs, places = np.unique(sample.ravel() + 1j * population.ravel(), return_inverse=True)
    risks = _average_inverse(pairs.real, np.minimum(pairs.real / pairs.imag, 1.0))
    return risks[places.ravel()].reshape(sample.shape)


def _average_inverse(sample: "NDArray[np.float64]", part: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return the mean of 1/F given the class in the sample, and the part of the population in the sample."""
    risks = np.empty(len(sample))
    recursive = (part < 0.5) & (sample <= _MOST_STEPS)
    risks[recursive] = _recur(sample[recursive], part[recursive])
    risks[~recursive] = _sum_series(sample[~recursive], part[~recursive])
    return risks


def _recur(sample: "NDArray[np.float64]", part: "NDArray[np.float64]") -> "NDArray[np.float64]":
    odds = part / (1 - part)
    risks = -odds * np.log(part)
    for step in range(1, int(sample.max(initial=1))):
        risks = np.where(sample > step, odds * (1 / step - risks), risks)
    return risks


def _sum_series(sample: "NDArray[np.float64]", part: "NDArray[np.float64]") -> "NDArray[np.float64]":
    total, term = np.ones(len(sample)), np.ones(len(sample))
    for step in range(1, _TERMS):
        term = term * (step / (sample + step)) * (1 - part)
        total += term
    return part / sample * total
