"""The minimum of a noisy polynomial: post-processing, so it costs nothing and may be done in any way.

Noise can bend a bowl downwards, and then there is no minimum. A quadratic is repaired as Zhang et al. (2012) do it: its
diagonal is raised by four standard deviations of the noise, and directions that still bend downwards are left out. On
a ball every polynomial has a minimum: of a line it is on the edge, of a quadratic it is found by the secular equation
(Moré and Sorensen 1983), of anything else by descent from several starts.
"""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from celosia.learn.functional.control_points import Places

PENALTY: Final = 4.0
"""Standard deviations of the noise by which a noisy diagonal is raised."""

_STARTS = 8
_HALVINGS = 200


def quadratic_of(
    monomials: "tuple[Places, ...]", coefficients: NDArray[Any], weights: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the symmetric matrix M and the vector a of the polynomial w'Mw + a'w, of degree 2 at the most."""
    matrix, vector = np.zeros((weights, weights)), np.zeros(weights)
    for monomial, number in zip(monomials, coefficients, strict=True):
        if len(monomial) == 1:
            vector[monomial[0]] += number
        else:
            matrix[monomial] += number / 2
            matrix[monomial[::-1]] += number / 2
    return matrix, vector


def trimmed_minimum(
    matrix: NDArray[Any], vector: NDArray[Any], deviation: float, *, free: bool = False
) -> NDArray[np.float64]:
    """Return the weights at which w'Mw + a'w is least, after M was raised and trimmed for noise of this ``deviation``.

    ``free``: the first weight is an intercept. It is not drawn towards 0, and is solved for last, its own square being
    taken for at least as large as its noise.
    """
    if free:
        own = max(float(matrix[0, 0]), PENALTY * deviation, np.finfo(float).tiny)
        cross = np.asarray(matrix[0, 1:], dtype=np.float64)
        rest = matrix[1:, 1:] - np.outer(cross, cross) / own
        slopes = trimmed_minimum(rest, vector[1:] - cross * (vector[0] / own), deviation)
        return np.concatenate([[-(vector[0] / 2 + cross @ slopes) / own], slopes])
    raised = (matrix + matrix.T) / 2 + PENALTY * deviation * np.eye(len(vector))
    values, directions = np.linalg.eigh(raised)
    kept = values > 1e-12 * float(np.abs(values).max(initial=0.0))
    along = directions[:, kept].T @ vector
    found: NDArray[np.float64] = directions[:, kept] @ (-along / (2 * values[kept]))
    return found


def stationary_point(matrix: NDArray[Any], vector: NDArray[Any]) -> NDArray[np.float64]:
    """Return where the gradient of w'Mw + a'w is 0, or nearest to it: a minimum only if M bends upwards."""
    found: NDArray[np.float64] = np.linalg.lstsq(matrix + matrix.T, -vector, rcond=None)[0]
    return found


def quadratic_on_ball(matrix: NDArray[Any], vector: NDArray[Any], radius: float) -> NDArray[np.float64]:
    """Return the weights of length ``radius`` or less at which w'Mw + a'w is least, however M bends."""
    values, directions = np.linalg.eigh((matrix + matrix.T) / 2)
    along = directions.T @ np.asarray(vector, dtype=np.float64)

    def at(shift: float) -> NDArray[np.float64]:
        bent = 2 * (values + shift)
        inside: NDArray[np.float64] = np.divide(-along, bent, out=np.zeros_like(along), where=np.abs(bent) > 1e-300)
        return inside

    if values[0] > 0 and np.linalg.norm(at(0.0)) <= radius:
        return np.asarray(directions @ at(0.0), dtype=np.float64)
    low = max(0.0, -float(values[0]))
    high = low + float(np.linalg.norm(along)) / radius + 1e-300
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if np.linalg.norm(at(middle)) > radius else (low, middle)
    found = at(high)
    missing = radius**2 - float(found @ found)
    if missing > 1e-9 * radius**2 and values[0] <= 0:  # nothing pulls along the lowest direction: go to the edge
        found[0] += np.sqrt(missing) if along[0] <= 0 else -np.sqrt(missing)
    return np.asarray(directions @ found, dtype=np.float64)


def ball_minimum(
    monomials: "tuple[Places, ...]", coefficients: NDArray[Any], weights: int, radius: float
) -> NDArray[np.float64]:
    """Return weights of length ``radius`` or less at which a polynomial is low: the lowest of several descents."""
    from scipy.optimize import minimize

    size = max(float(np.abs(coefficients).max(initial=0.0)), np.finfo(float).tiny)
    alike = _by_degree(monomials, np.asarray(coefficients, dtype=np.float64) / size)

    def value(w: NDArray[np.float64]) -> float:
        return float(sum(numbers @ np.prod(w[places], axis=1) for places, numbers in alike))

    def slope(w: NDArray[np.float64]) -> NDArray[np.float64]:
        found = np.zeros(weights)
        for places, numbers in alike:
            for factor in range(places.shape[1]):
                others = np.prod(np.delete(w[places], factor, axis=1), axis=1)
                found += np.bincount(places[:, factor], weights=numbers * others, minlength=weights)
        return found

    inside: Any = {"type": "ineq", "fun": lambda w: radius**2 - w @ w, "jac": lambda w: -2 * w}
    ends = [np.zeros(weights)]
    for start in _starts(weights, radius):
        end = minimize(value, start, jac=slope, method="SLSQP", constraints=[inside], options={"maxiter": 500}).x
        ends.append(end * min(1.0, radius / max(float(np.linalg.norm(end)), np.finfo(float).tiny)))
    return min((end for end in ends if np.isfinite(end).all()), key=value)


def _by_degree(
    monomials: "tuple[Places, ...]", numbers: NDArray[np.float64]
) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Return the places of the weights and the numbers before them, the products of as many weights together."""
    lengths = np.array([len(monomial) for monomial in monomials])
    return [
        (np.array([m for m in monomials if len(m) == length], dtype=np.int64), numbers[lengths == length])
        for length in np.unique(lengths).tolist()
    ]


def _starts(weights: int, radius: float) -> NDArray[np.float64]:
    """Return starts that are spread over the ball, the same every time: near 0 and along the axes, both ways."""
    axes = np.eye(weights)[: _STARTS // 2]
    spread = np.concatenate([axes, -axes, np.ones((1, weights)) / weights**0.5, -np.ones((1, weights)) / weights**0.5])
    return np.concatenate([np.full((1, weights), 1e-3), spread / 2]) * radius
