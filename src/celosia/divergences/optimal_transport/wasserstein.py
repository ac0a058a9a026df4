"""Wasserstein distances W_p and W_infinity: how far mass must be carried to turn one distribution into another.

On the line quantiles are paired, which is exact and takes one sort. In R^d, W_p is a transport programme; W_infinity is
the smallest of the distances between points at which a coupling exists that carries nothing farther, found by
bisection: by matchings between equally many samples, by a transport programme else. W_p rises with p to W_infinity
(lemma 4.1 of Estrada Franco 2025). For samples it is the distance between the samples, an estimate for their
distributions.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.divergences.distributions.arguments import as_order
from celosia.divergences.distributions.discrete import Discrete, same_dimension
from celosia.divergences.distributions.families import Laplace, Normal
from celosia.divergences.distributions.samples import Samples
from celosia.divergences.optimal_transport.couplings import optimal_coupling, quantile_cells, witness
from celosia.divergences.optimal_transport.transport import distances

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_EXACT = 1 << 62


def wasserstein(p: object, q: object, order: float = 1.0, *, norm: float = 2.0) -> float:
    """Return W_order between two ``Discrete`` or ``Samples``, two ``Normal`` or two ``Laplace``; order 1 to infinity.

    ``norm`` is the l-norm in which the points of R^d are apart.

    >>> wasserstein(Samples([0, 1]), Samples([1, 3])), wasserstein(Samples([0, 1]), Samples([1, 3]), math.inf)
    (1.5, 2.0)
    >>> wasserstein(Normal(0, 1), Normal(3, 25), 2), wasserstein(Laplace(0, 1), Laplace(2, 1), math.inf)
    (5.0, 2.0)
    """
    order = as_order(order, least=1)
    if type(p) is type(q) and isinstance(p, (Normal, Laplace)) and isinstance(q, (Normal, Laplace)):
        return _location_scale(p, q, order)
    if isinstance(p, Samples) and isinstance(q, Samples) and p.values.ndim == q.values.ndim == 1:
        return _sorted_samples(np.sort(p.values), np.sort(q.values), order)
    left, right = (side.empirical() if isinstance(side, Samples) else side for side in (p, q))
    if not isinstance(left, Discrete) or not isinstance(right, Discrete):
        wrong = q if isinstance(left, Discrete) else p
        raise ParameterError("divergences.wasserstein_without_points", value=safe_repr(wrong))
    if same_dimension(left, right) == 1:
        orders = [np.argsort(side.rows[:, 0], kind="stable") for side in (left, right)]
        first, second, masses = quantile_cells(left.probabilities[orders[0]], right.probabilities[orders[1]])
        return _mean_power(_gaps(left.rows[orders[0][first], 0], right.rows[orders[1][second], 0]), masses, order)
    if order == math.inf:
        return _bottleneck(left, right, norm)
    coupling = optimal_coupling(left, right, order, norm=norm)
    lengths = distances(left, right, norm)[coupling.rows, coupling.columns]
    return _mean_power(lengths, coupling.masses, order)


def _sorted_samples(x: "NDArray[np.float64]", y: "NDArray[np.float64]", order: float) -> float:
    if len(x) == len(y):
        return _mean_power(_gaps(x, y), np.full(len(x), 1 / len(x)), order)
    if len(x) * len(y) >= _MAX_EXACT:
        raise ParameterError("divergences.too_many_samples", first=len(x), second=len(y))
    # In units of 1 / (n m) the levels are integers: no sliver of rounding can pair distant quantiles.
    levels = [np.arange(1, len(x) + 1) * len(y), np.arange(1, len(y) + 1) * len(x)]
    merged = np.sort(np.concatenate(levels), kind="stable")  # two sorted runs: the stable sort merges them
    cuts = merged[np.concatenate([[True], merged[1:] != merged[:-1]])]
    cells = [-(-cuts // len(y)) - 1, -(-cuts // len(x)) - 1]
    masses = np.diff(cuts, prepend=0) / (len(x) * len(y))
    return _mean_power(_gaps(x[cells[0]], y[cells[1]]), masses, order)


def _gaps(x: "NDArray[np.float64]", y: "NDArray[np.float64]") -> "NDArray[np.float64]":
    with np.errstate(over="ignore"):
        return np.abs(x - y)


def _mean_power(lengths: "NDArray[np.float64]", masses: "NDArray[np.float64]", order: float) -> float:
    largest = float(lengths.max())
    if largest == math.inf:
        raise ParameterError("divergences.points_too_far_apart")
    if order == math.inf or largest == 0:
        return largest
    return float(largest * ((lengths / largest) ** order @ masses) ** (1 / order))  # scaled: no power overflows


def _bottleneck(p: Discrete, q: Discrete, norm: float) -> float:
    lengths = distances(p, q, norm)
    candidates = np.unique(lengths)
    even = len(p.points) == len(q.points) and np.ptp(p.probabilities) == 0 and np.ptp(q.probabilities) == 0
    low, high = 0, len(candidates) - 1
    while low < high:
        middle = (low + high) // 2
        radius = float(candidates[middle])
        reaches = _matches(lengths <= radius) if even else witness(p, q, radius, norm=norm) is not None
        low, high = (low, middle) if reaches else (middle + 1, high)
    return float(candidates[low])


def _matches(allowed: "NDArray[np.bool_]") -> bool:
    from scipy import sparse
    from scipy.sparse import csgraph

    matching = csgraph.maximum_bipartite_matching(sparse.csr_array(allowed), perm_type="column")
    return bool((matching >= 0).all())


def _location_scale(p: Normal | Laplace, q: Normal | Laplace, order: float) -> float:
    """Return the mean of order ``order`` of the distance of location + spread Z from zero, for one standard Z."""
    if isinstance(p, Normal) and isinstance(q, Normal):
        shift, spread, standard = p.mean - q.mean, p.deviation - q.deviation, Normal(0, 1).frozen()
    elif isinstance(p, Laplace) and isinstance(q, Laplace):
        shift, spread, standard = p.location - q.location, p.scale - q.scale, Laplace(0, 1).frozen()
    if spread == 0:
        return abs(shift)
    if order == math.inf:
        return math.inf
    if order == 2:
        return math.hypot(shift, spread * float(standard.std()))
    from celosia.divergences.distributions.quadrature import Stretch, log_integral

    size = math.hypot(shift, spread)

    def log_values(z: "NDArray[np.float64]") -> "NDArray[np.float64]":
        with np.errstate(divide="ignore"):
            return np.asarray(order * np.log(np.abs(shift + spread * z) / size) + standard.logpdf(z))

    line = Stretch(low=-math.inf, high=math.inf, centre=0.0, scale=1.0)
    return size * math.exp(log_integral(log_values, line, np.array([0.0, -shift / spread])) / order)
