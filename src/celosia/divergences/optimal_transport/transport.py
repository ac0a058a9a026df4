"""Optimal transport between finite distributions, for any cost: a linear programme.

The smallest mean cost over all couplings (Kantorovich 1942) is a linear programme in one variable per pair of points,
solved by HiGHS through SciPy; equal weights on equally many points need only an assignment. The optimum is right to the
solver's tolerance, about 1e-9 of the largest cost.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.errors import InputError, ParameterError
from celosia.divergences.distributions.arguments import as_array, as_order, as_probabilities
from celosia.divergences.distributions.discrete import Discrete, same_dimension

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_MAX_PAIRS = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Transport:
    """A cheapest plan (one row per point of p, one column per point of q) and its mean cost.

    >>> transport([[0, 1], [1, 0]], [0.5, 0.5], [0.25, 0.75]).plan.tolist()
    [[0.25, 0.25], [0.0, 0.5]]
    """

    plan: "NDArray[np.float64]"
    cost: float


def transport(costs: "ArrayLike", p: "ArrayLike", q: "ArrayLike") -> Transport:
    """Return a plan of least mean cost from ``p`` to ``q``, for any finite cost matrix.

    Example 4.1 of Estrada Franco 2025, with cost 1 for going to the second point:

    >>> round(transport([[0, 1]] * 4, [0.75, 0.10, 0.10, 0.05], [0.75, 0.25]).cost, 9)
    0.25
    """
    matrix = as_array(costs, name="costs", dimensions=(2,))
    left, right = as_probabilities(p, name="p"), as_probabilities(q, name="q")
    if matrix.shape != (len(left), len(right)):
        wanted = (len(left), len(right))
        raise ParameterError("divergences.wrong_transport_costs_shape", shape=matrix.shape, wanted=wanted)
    if matrix.size > _MAX_PAIRS:
        raise ParameterError("divergences.too_many_costs", size=matrix.size, most=_MAX_PAIRS)
    if len(left) == len(right) and (left == left[0]).all() and (right == right[0]).all():
        from scipy import optimize

        plan = np.zeros(matrix.shape)
        plan[optimize.linear_sum_assignment(matrix)] = left[0]
    else:
        plan = _programme(matrix, left, right)
    return Transport(plan=plan, cost=float((plan * matrix).sum()))


def distances(p: Discrete, q: Discrete, norm: float = 2.0) -> "NDArray[np.float64]":
    """Return the distances between the points of p (rows) and of q (columns) in the l_norm norm."""
    from scipy.spatial import distance

    same_dimension(p, q)
    norm = as_order(norm, least=1)
    # In units of a power of two near the largest coordinate, which is exact, no power leaves the doubles.
    size = math.ldexp(1.0, math.frexp(max(float(np.abs(side.rows).max()) for side in (p, q)))[1] - 1)
    x, y = p.rows / size, q.rows / size
    if norm == math.inf:
        lengths = distance.cdist(x, y, "chebyshev")
    elif norm == 2:
        lengths = distance.cdist(x, y, "euclidean")
    else:
        lengths = distance.cdist(x, y, "minkowski", p=norm)
    with np.errstate(over="ignore"):
        lengths *= size
    if not np.isfinite(lengths).all():
        raise ParameterError("divergences.points_too_far_apart")
    return lengths


def _programme(
    costs: "NDArray[np.float64]", p: "NDArray[np.float64]", q: "NDArray[np.float64]"
) -> "NDArray[np.float64]":
    from scipy import optimize, sparse

    size = np.abs(costs).max()
    rows = sparse.kron(sparse.eye_array(len(p)), np.ones((1, len(q))))
    columns = sparse.kron(np.ones((1, len(p))), sparse.eye_array(len(q)))
    # One equation follows from the others; left in, rounding of the sums would make the programme infeasible.
    equations = sparse.vstack([rows, columns], format="csr")[:-1]
    solved = optimize.linprog(  # type: ignore[call-overload]  # the stubs do not know sparse equations
        (costs / size if size > 0 else costs).ravel(),
        A_eq=equations,
        b_eq=np.concatenate([p, q])[:-1],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if solved.status != 0:
        raise InputError("divergences.transport_not_solved", reason=solved.message)
    return np.maximum(np.asarray(solved.x, dtype=np.float64).reshape(costs.shape), 0.0)
