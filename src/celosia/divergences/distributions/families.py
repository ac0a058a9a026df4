"""The distributions that mechanisms are analysed with, by their parameters: Bernoulli, normal, Laplace.

Between two members of one family divergences have closed forms (``celosia.divergences.closed``); against anything else
``frozen()`` gives SciPy's distribution and the integral is numeric. These are descriptions for analysis: nothing is
drawn from them here.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.divergences.distributions.arguments import as_array, as_number

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class Bernoulli:
    """One with probability ``probability``, else zero.

    >>> Bernoulli(0.75).masses.tolist()
    [0.25, 0.75]
    """

    probability: float

    def __post_init__(self) -> None:
        probability = as_number(self.probability, name="probability", least=0)
        if probability > 1:
            raise ParameterError("divergences.probability_out_of_range", probability=safe_repr(self.probability))
        object.__setattr__(self, "probability", probability)

    @property
    def masses(self) -> "NDArray[np.float64]":
        """The probabilities of 0 and of 1.

        >>> Bernoulli(1).masses.tolist()
        [0.0, 1.0]
        """
        return np.array([1 - self.probability, self.probability])


@dataclass(frozen=True, slots=True)
class Normal:
    """The normal distribution on the line, by mean and *variance*.

    >>> Normal(0, 4).deviation
    2.0
    """

    mean: float
    variance: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", as_number(self.mean, name="mean"))
        object.__setattr__(self, "variance", as_number(self.variance, name="variance", above=0))

    @property
    def deviation(self) -> float:
        """The square root of the variance.

        >>> Normal(0, 9).deviation
        3.0
        """
        return math.sqrt(self.variance)

    def frozen(self) -> Any:
        """SciPy's distribution with these parameters.

        >>> Normal(1, 4).frozen().std()
        np.float64(2.0)
        """
        from scipy import stats

        return stats.norm(self.mean, self.deviation)


@dataclass(frozen=True, slots=True)
class Laplace:
    """The Laplace distribution on the line, by location and scale.

    >>> Laplace(0, 2).frozen().var()
    np.float64(8.0)
    """

    location: float
    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "location", as_number(self.location, name="location"))
        object.__setattr__(self, "scale", as_number(self.scale, name="scale", above=0))

    def frozen(self) -> Any:
        """SciPy's distribution with these parameters.

        >>> Laplace(3, 1).frozen().mean()
        np.float64(3.0)
        """
        from scipy import stats

        return stats.laplace(self.location, self.scale)


@dataclass(frozen=True, slots=True, init=False, eq=False)
class MultivariateNormal:
    """The normal distribution in R^d, by mean vector and positive definite covariance matrix.

    >>> MultivariateNormal([0, 0], [[1, 0.5], [0.5, 1]]).mean.shape
    (2,)
    """

    mean: "NDArray[np.float64]"
    covariance: "NDArray[np.float64]"

    def __init__(self, mean: "ArrayLike", covariance: "ArrayLike") -> None:
        mean = as_array(mean, name="mean")
        covariance = as_array(covariance, name="covariance", dimensions=(2,))
        if covariance.shape != (len(mean), len(mean)):
            raise ParameterError("divergences.wrong_covariance_shape", size=len(mean), shape=covariance.shape)
        # Rounding may leave a computed covariance a few bits from symmetric; more than that is another matrix.
        if not np.allclose(covariance, covariance.T, rtol=1e-10, atol=0) or np.linalg.eigvalsh(covariance)[0] <= 0:
            raise ParameterError("divergences.covariance_not_positive_definite")
        for array in (mean, covariance):
            array.flags.writeable = False
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "covariance", covariance)
