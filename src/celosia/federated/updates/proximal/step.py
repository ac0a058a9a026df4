"""The proximal local step of many parties at once, and a certificate of how far each result is from the true one.

A party returns the argmin, over a ball, of the mean loss of its records + penalty/2 |w|^2 + mu/2 |w - start|^2. One
record moves that argmin by little, but what a solver returns is only near it, so the distance is bounded from the
weights and the gradient alone, rounding included, and paid for (``bounds``, proofs/proximal.md). Whether a
solver thinks that it has converged is not asked. Li, Sahu, Zaheer, Sanjabi, Talwalkar and Smith, *Federated
optimization in heterogeneous networks*, 2020.
"""

import itertools
import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import EngineError, InputError, ParameterError
from celosia.core.exact import Exact, double_at_least, double_at_most, exact_non_negative, exact_positive, safe_repr
from celosia.federated.updates.proximal.kernel import Descent, minimise
from celosia.learn.optimize.losses import Loss, OwnLoss, SquaredLoss

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import ArrayLike

Floats = NDArray[np.float64]

_UNIT: Final = 2.0**-52
_OWN_SLOPE: Final = 2.0**-45  # how right, relative to its bound, a slope of the caller's own is taken to be
_SAFE: Final = 1.0 + 2.0**-40
_RANGE: Final = 2.0**100  # squares of what is between this and its inverse are far from the ends of the doubles
_MAX_STEPS: Final = 20_000
_NEWTON_STEPS: Final = 32
_MAX_CELLS: Final = 2**25  # numbers in the Gram matrices of all parties


class ProximalSolver:
    """The local steps of parties whose records stand one after the other.

    Parameters
    ----------
    rows, targets
        The records of all parties. Rows longer than 1 are scaled down to it, targets cut at -1 and 1.
    offsets
        Party p has ``rows[offsets[p]:offsets[p + 1]]``.
    loss
        Of a prediction and a target.
    mu, penalty, radius
        The pull towards the start, the pull towards 0, and the ball.
    tolerance
        How far from the true argmin a result may be: a distance that privacy pays for twice.
    lipschitz
        Slopes beyond it are cut. Left out: the steepest there is in the ball.
    sizes
        How many records all parties have, where others are elsewhere: every node then takes the same steps.

    Examples
    --------
    >>> solver = ProximalSolver(
    ...     [[1.0], [0.5], [-1.0]], [1, 1, 1], [0, 2, 3], loss=SquaredLoss(), mu=1, radius=1, tolerance="1e-9"
    ... )
    >>> weights, distances = solver.step([0.0])
    >>> weights.round(6).tolist(), bool((distances < 1e-9).all())
    ([[0.461538], [-0.5]], True)
    """

    def __init__(  # noqa: PLR0913 - the parameters of the step
        self,
        rows: "ArrayLike",
        targets: "ArrayLike",
        offsets: "ArrayLike",
        *,
        loss: Loss,
        mu: Exact,
        radius: Exact,
        lipschitz: Exact | None = None,
        tolerance: Exact,
        penalty: Exact = 0,
        sizes: NDArray[np.int64] | None = None,
    ) -> None:
        values, wanted, places = _read_records(rows, targets, offsets)
        self._rows, self._targets, self._offsets = _shorten(values), np.clip(wanted, -1.0, 1.0), places
        self._loss = loss
        self.bound = _bound_slopes(loss, exact_positive(radius, name="radius"), lipschitz)
        # Rounded so that the problem that is solved has no smaller pull, no larger ball and no steeper slope.
        self._mu = _double("mu", exact_positive(mu, name="mu"))
        self._penalty = _double("penalty", exact_non_negative(penalty, name="penalty"))
        self._radius = _double("radius", exact_positive(radius, name="radius"), down=True)
        self._slope = _double("lipschitz", self.bound, down=True)
        self._smoothness = _double("smoothness", loss.smoothness)
        self.tolerance = _double("tolerance", exact_positive(tolerance, name="tolerance"), down=True)
        steepest = loss.lipschitz(exact_positive(radius, name="radius"))
        self._sizes = np.diff(places) if sizes is None else sizes
        size = (len(self._sizes) + 1) * values.shape[1] ** 2
        exact = isinstance(loss, SquaredLoss) and self.bound >= steepest and size <= _MAX_CELLS
        self._run = self._plan_descent()
        self._refuse_hopeless(iterative=not exact)
        self._grams = _find_grams(self._rows, self._targets, places) if exact else None

    def step(self, start: "ArrayLike") -> tuple[Floats, Floats]:
        """Return the weights of each party, and how far each is from the true argmin at the most.

        A start outside the ball is projected to it first; it may be one for all parties, or one for each. A party
        without records returns the start. **Weights whose distance is above ``tolerance`` must not be used**: the party
        counts as silent.
        """
        starts = self._read_start(start)
        if self._grams is not None:
            weights, gradients = self._solve(starts, *self._grams)
        else:
            weights, gradients = self._descend(starts)
        distances = self._bound_distance(weights, gradients)
        empty = np.diff(self._offsets) == 0
        weights[empty], distances[empty] = starts[empty], 0.0
        return weights, np.where(np.isfinite(distances), distances, math.inf)

    # ------------------------------------------------------------------------------------------------- certificate

    def _bound_distance(self, weights: Floats, gradients: Floats) -> Floats:
        """Bound the distance to the argmin by the length of gradient + normal, over the strong convexity.

        ``pull * weights`` is a normal of the ball at the point of the sphere beside the weights; inside it is 0. Both
        bounds hold for any weights, so the smaller one is taken.
        """
        convexity = self._mu + self._penalty
        lengths = np.linalg.norm(weights, axis=1)
        blur = _UNIT * (weights.shape[1] + 8) * lengths  # the rounding of a length
        pull = np.maximum(0.0, -np.einsum("pj,pj->p", gradients, weights) / np.maximum(lengths**2, 1 / _RANGE**2))
        error = self._bound_rounding(lengths) + _UNIT * 8 * pull * lengths
        inside = np.linalg.norm(gradients, axis=1) + error
        inside_gap = np.maximum(0.0, lengths + blur - self._radius)
        edge = np.linalg.norm(gradients + pull[:, None] * weights, axis=1) + error
        edge_gap = np.abs(lengths - self._radius) + blur
        curvature = self._smoothness + convexity
        least = np.minimum(
            inside_gap + (inside + curvature * inside_gap) / convexity,
            edge_gap + (edge + (curvature + pull) * edge_gap) / convexity,
        )
        return np.asarray(least * _SAFE)

    def _bound_rounding(self, lengths: "Floats | float", records: NDArray[np.int64] | None = None) -> Floats:
        """Bound the rounding error of a computed gradient, and of its length, for weights of these lengths."""
        records, size = np.diff(self._offsets) if records is None else records, self._rows.shape[1]
        moved = self._mu * (lengths + self._radius)
        terms = self._slope + (self._smoothness + self._penalty) * lengths + moved
        own = _OWN_SLOPE * self._slope if isinstance(self._loss, OwnLoss) else 0.0
        return np.asarray(_UNIT * (records + 2 * size + 32) * terms + own)

    def _refuse_hopeless(self, *, iterative: bool) -> None:
        """Refuse, from public numbers alone, what rounding or the number of steps would leave uncertified."""
        floor = float(self._bound_rounding(self._radius, self._sizes).max()) / (self._mu + self._penalty)
        # Rounding leaves certificates of two to four floors.
        if 8 * floor > self.tolerance or (iterative and self._run.steps > _MAX_STEPS):
            raise ParameterError("federated.mu_too_small", mu=safe_repr(self._mu), tolerance=safe_repr(self.tolerance))

    # ------------------------------------------------------------------------------------------------------ solvers

    def _solve(self, starts: Floats, matrices: Floats, vectors: Floats, *eigen: Floats) -> tuple[Floats, Floats]:
        """Solve least squares exactly: on the sphere by the secular equation (Moré and Sorensen 1983)."""
        values, directions = eigen
        convexity = self._mu + self._penalty
        along = _multiply(directions.transpose(0, 2, 1), vectors + self._mu * starts)
        bent = values + convexity
        shift = np.zeros((len(starts), 1))
        for _ in range(_NEWTON_STEPS):  # from the left the steps never go too far
            found = along / (bent + shift)
            squared = np.einsum("pj,pj->p", found, found)[:, None]
            falling = np.einsum("pj,pj,pj->p", found, found, 1 / (bent + shift))[:, None]
            over = np.sqrt(squared) / self._radius - 1.0
            shift += np.maximum(over, 0.0) * squared / np.maximum(falling, 1 / _RANGE**2)
        weights = _project(_multiply(directions, along / (bent + shift)), self._radius)
        gradients = _multiply(matrices, weights) - vectors + self._penalty * weights + self._mu * (weights - starts)
        return weights, gradients

    def _descend(self, starts: Floats) -> tuple[Floats, Floats]:
        weights, gradients = np.zeros_like(starts), np.zeros_like(starts)
        failed, slope = False, self._loss.compiled_slope
        arrays = self._rows, self._targets, self._offsets
        try:
            minimise(*arrays, starts, weights=weights, gradients=gradients, run=self._run, slope=slope)
        except Exception:  # noqa: BLE001 - whatever the caller's loss raises; raised below, without its frames
            failed = True
        if failed:
            raise EngineError("federated.local_step_failed")
        return weights, gradients

    def _plan_descent(self) -> Descent:
        """Choose steps by their theorems: plain where the problem is round, accelerated where it is long."""
        convexity = self._mu + self._penalty
        ratio = 1.0 + max(self._smoothness / convexity, 2.0**-20)
        steepest = self._slope + (self._penalty + 2 * self._mu) * self._radius
        # A result as near as this has a certificate within a half of the tolerance.
        near = self.tolerance / 8 / (ratio + steepest / (convexity * self._radius))
        plain = math.log(2 * self._radius / near) / math.log1p(2 / (ratio - 1))
        above = 4 * steepest * self._radius / convexity + 4 * self._radius**2
        accelerated = 2 * math.log(math.sqrt(above) / near) / -math.log1p(-1 / math.sqrt(ratio))
        root, fast = math.sqrt(ratio), accelerated < plain
        return Descent(
            bound=self._slope,
            mu=self._mu,
            penalty=self._penalty,
            rate=1 / (ratio * convexity) if fast else 2 / ((ratio + 1) * convexity),
            momentum=(root - 1) / (root + 1) if fast else 0.0,
            steps=max(1, math.ceil(min(plain, accelerated))),
            loss=self._loss.numbers,
            shape=np.array([0.0, self._radius]),
        )

    def _read_start(self, start: "ArrayLike") -> Floats:
        given = _doubles(start)
        wanted = (len(self._offsets) - 1, self._rows.shape[1])
        if given.shape not in {wanted, wanted[1:]} or not np.isfinite(given).all():
            raise InputError("federated.start_not_usable", weights=wanted[1])
        return _project(np.broadcast_to(given, wanted).copy(), self._radius)


def solve_proximal(
    rows: "ArrayLike", targets: "ArrayLike", start: "ArrayLike", **parameters: Any
) -> tuple[Floats, float]:
    """Return the weights of one party, and how far they are from the true argmin at the most.

    The parameters are those of `ProximalSolver`. Weights whose distance is above ``tolerance`` must not be used.

    >>> weights, distance = solve_proximal(
    ...     [[1.0], [0.5]], [1, 1], [0.0], loss=SquaredLoss(), mu=1, radius="0.25", tolerance="1e-9"
    ... )
    >>> weights.tolist(), distance < 1e-9
    ([0.25], True)
    """
    weights, distances = ProximalSolver(rows, targets, [0, len(np.atleast_1d(targets))], **parameters).step(start)
    return weights[0], float(distances[0])


def _bound_slopes(loss: Loss, radius: "Fraction", lipschitz: Exact | None) -> "Fraction":
    """Return the longest gradient of a record in the ball: of the loss, or where its slopes are cut."""
    steepest = loss.lipschitz(radius)
    return steepest if lipschitz is None else min(steepest, exact_positive(lipschitz, name="lipschitz"))


def _double(name: str, value: "Fraction", *, down: bool = False) -> float:
    number = double_at_most(value) if down else double_at_least(value)
    if number != 0 and not 1 / _RANGE <= number <= _RANGE:
        raise ParameterError("federated.step_out_of_range", name=name, value=safe_repr(number))
    return number


def _read_records(
    rows: "ArrayLike", targets: "ArrayLike", offsets: "ArrayLike"
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    values, wanted, places = _doubles(rows), _doubles(targets), _doubles(offsets)
    if values.ndim != 2 or not values.shape[1] or wanted.shape != values.shape[:1]:
        raise InputError("federated.step_shape_mismatch")
    ends = places.astype(np.int64) if places.ndim == 1 and np.isfinite(places).all() else np.zeros(0, np.int64)
    if len(ends) < 2 or ends[0] != 0 or ends[-1] != len(wanted) or (np.diff(ends) < 0).any() or (ends != places).any():
        raise InputError("federated.step_shape_mismatch")
    if not (np.isfinite(values).all() and np.isfinite(wanted).all()):
        raise InputError("federated.step_not_finite")
    return values, wanted, ends


def _doubles(values: "ArrayLike") -> Floats:
    """Return an array of doubles; what cannot be one is not quoted."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        pass
    raise InputError("federated.step_not_finite")


def _shorten(rows: Floats) -> Floats:
    """Scale rows down to a length that doubles cannot round above 1."""
    largest = np.maximum(np.abs(rows).max(axis=1, initial=0.0), 1.0)[:, None]  # squares of large numbers overflow
    return np.ascontiguousarray(_project(rows / largest, (1.0 - 2.0**-40) / largest) * largest)


def _project(vectors: Floats, radius: "Floats | float") -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors * np.minimum(1.0, radius / np.maximum(lengths, radius)))


def _multiply(matrices: Floats, vectors: Floats) -> Floats:
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])


def _find_grams(rows: Floats, targets: Floats, offsets: NDArray[np.int64]) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the mean products of rows, of rows and targets, and the eigenvalues and directions of the former."""
    parties, size = len(offsets) - 1, rows.shape[1]
    matrices, vectors = np.zeros((parties, size, size)), np.zeros((parties, size))
    for party, (begin, end) in enumerate(itertools.pairwise(offsets.tolist())):
        own = rows[begin:end]
        matrices[party], vectors[party] = own.T @ own, targets[begin:end] @ own
    counts = np.maximum(np.diff(offsets), 1)[:, None]
    matrices, vectors = matrices / counts[:, :, None], vectors / counts
    values, directions = np.linalg.eigh(matrices)
    return matrices, vectors, np.maximum(values, 0.0), directions
