"""Samples in place of distributions: divergences and distances estimated from draws.

There are three readings, chosen by the caller because they estimate different quantities. As they are: the empirical
distribution, right for values that repeat. In ``bins``: cells of equal pooled count, for continuous values on the line;
binning is post-processing, so the estimated divergence is at most the true one. By ``neighbours``: distances to the
k-th nearest draw, for continuous values in R^d (Wang, Kulkarni and Verdú 2009; Póczos and Schneider 2011). All three
are estimates: none is a bound, and a guarantee of privacy never rests on one.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer
from celosia.divergences.distributions.arguments import as_array
from celosia.divergences.distributions.discrete import Discrete

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Samples:
    """Draws from a distribution: numbers, or rows of R^d. Estimates made from them are not bounds.

    >>> Samples([1, 1, 2]).empirical().probabilities.round(3).tolist()
    [0.667, 0.333]
    """

    values: "NDArray[np.float64]"
    bins: int | None
    neighbours: int | None

    def __init__(self, values: "ArrayLike", *, bins: int | None = None, neighbours: int | None = None) -> None:
        if bins is not None and neighbours is not None:
            raise ParameterError("divergences.both_bins_and_neighbours", bins=repr(bins), neighbours=repr(neighbours))
        array = as_array(values, name="values", dimensions=(1, 2)) + 0.0  # no negative zero
        if bins is not None and array.ndim != 1:
            raise ParameterError("divergences.bins_of_vectors", bins=repr(bins))
        array.flags.writeable = False
        object.__setattr__(self, "values", array)
        object.__setattr__(self, "bins", None if bins is None else exact_integer(bins, name="bins"))
        object.__setattr__(
            self, "neighbours", None if neighbours is None else exact_integer(neighbours, name="neighbours")
        )

    def __repr__(self) -> str:
        # The draws may be private data: they are counted, not shown.
        return f"Samples(<{len(self.values)} values>, bins={self.bins!r}, neighbours={self.neighbours!r})"

    def empirical(self) -> Discrete:
        """Return the distribution that picks one of the values at random.

        >>> Samples([[1, 2], [1, 2]]).empirical().points.tolist()
        [[1.0, 2.0]]
        """
        points, counts = np.unique(self.values, axis=0, return_counts=True)
        return Discrete(points=points, probabilities=counts / len(self.values))

    def bin_with(self, other: "Samples") -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        """Return the shares of both samples in cells of equal pooled count.

        >>> [side.tolist() for side in Samples([1, 2, 3, 4], bins=2).bin_with(Samples([3, 4, 5, 6], bins=2))]
        [[0.75, 0.25], [0.25, 0.75]]
        """
        if self.bins is None or self.bins != other.bins:
            raise ParameterError("divergences.bins_differ", first=repr(self.bins), second=repr(other.bins))
        pooled = np.concatenate([self.values, other.values])
        inner = np.unique(np.quantile(pooled, np.arange(1, self.bins) / self.bins))
        places = (np.searchsorted(inner, side.values, side="left") for side in (self, other))
        counts = [np.bincount(place, minlength=len(inner) + 1) for place in places]
        return counts[0] / len(self.values), counts[1] / len(other.values)


def neighbour_renyi(p: Samples, q: Samples, order: float) -> float:
    """Estimate the Rényi divergence of continuous distributions from the distances to the k-th nearest draws."""
    from scipy import spatial, special

    k = p.neighbours
    if k is None or k != q.neighbours:
        raise ParameterError("divergences.neighbours_differ", first=repr(k), second=repr(q.neighbours))
    x, y = (side.values.reshape(len(side.values), -1) for side in (p, q))
    if x.shape[1] != y.shape[1] or len(x) <= k or len(y) < k or k <= abs(order - 1):
        raise ParameterError(
            "divergences.unsuitable_neighbour_samples", neighbours=k, first=len(x), second=len(y), order=order
        )
    own = np.asarray(spatial.KDTree(x).query(x, k=[k + 1])[0])[:, 0]  # the nearest is the point itself
    other = np.asarray(spatial.KDTree(y).query(x, k=[k])[0])[:, 0]
    if not (own.min() > 0 and other.min() > 0):
        raise ParameterError("divergences.repeated_samples")
    log_ratio = x.shape[1] * (np.log(other) - np.log(own)) + math.log(len(y)) - math.log(len(x) - 1)
    if order == 1:
        return float(log_ratio.mean())
    # The k-th distances fluctuate; this factor makes the power of their ratio unbiased in the limit.
    bias = 2 * special.gammaln(k) - special.gammaln(k - order + 1) - special.gammaln(k + order - 1)
    log_power = special.logsumexp((order - 1) * log_ratio) - math.log(len(x))
    return float((log_power + bias) / (order - 1))
