"""Logistic regression by objective perturbation: a random linear term is added to the loss, and the minimiser released.

The minimiser and the random vector determine each other, so the density of one is that of the other times a
determinant (Chaudhuri, Monteleoni and Sarwate 2011; Kifer, Smith and Thakurta 2012). With a penalty of at least
``stiffness`` that determinant changes little by one record, and the vector moves along the record's features by at most
their length: ``proofs/noisy-gradient.md`` has the constants used here. All of it is about real numbers and the exact
minimiser, which a computer only comes near: the event says ``arithmetic="real"``, and ledgers may refuse it.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from celosia.core.adjacency import AddRemove
from celosia.core.errors import ParameterError
from celosia.core.events import Event
from celosia.core.structure import GuaranteedEvent
from celosia.mechanisms.real_gaussian import RealGaussian
from celosia.statistics.base.target import Target

if TYPE_CHECKING:
    from celosia.core.mechanism import Source

_CURVATURE = 0.25  # the logistic loss curves by no more, for rows no longer than 1
_FOR_PENALTY = 0.2  # part of epsilon that the determinant may take
_MAX_PENALTY_EPSILON = 10.0  # beyond, the penalty would be nothing beside rounding
_WIDER = 1 + 1e-9  # constants are worked out in doubles: the noise is this much larger
_NEAR = 1e-5  # of the weights: from here on whole steps converge
_MAX_STEPS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Perturbation:
    """The penalty and the noise of one fit: ``stiffness`` times half the squared weights, and a vector of ``scale``.

    For pure privacy the vector has a density falling like exp(-length / scale); for an (epsilon, delta) it is normal
    with standard deviation ``scale``.
    """

    target: Target
    stiffness: float
    scale: float

    @classmethod
    def of(cls, target: Target, *, stiffness: float = 0.0) -> "Perturbation":
        """Return the perturbation for a target; a larger penalty leaves more of epsilon to the noise."""
        if target.kind not in {"pure", "approximate"}:
            raise ParameterError("learn.objective_takes_no_rho")
        epsilon = float(target.epsilon)
        stiffness = max(stiffness, _CURVATURE / math.expm1(min(_FOR_PENALTY * epsilon, _MAX_PENALTY_EPSILON)))
        left = epsilon - math.log1p(_CURVATURE / stiffness)
        records = 1 if target.adjacency is AddRemove else 2
        scale = records / left if target.kind == "pure" else _normal_scale(left, float(target.delta), records)
        return cls(target=target, stiffness=stiffness * _WIDER, scale=scale * _WIDER)

    @property
    def event(self) -> Event:
        """The guarantee, for real arithmetic."""
        guarantee = self.target.guarantee
        assert guarantee is not None  # noqa: S101 - for the type checker: seen when it was made
        return GuaranteedEvent(guarantee=guarantee, arithmetic="real")

    def draw(self, width: int, source: "Source") -> NDArray[np.float64]:
        """Draw the random vector."""
        normal = RealGaussian(1)
        direction = normal.sample(width, source=source)
        if self.target.kind == "approximate":
            return direction * self.scale
        # A length of density x^(width - 1) exp(-x) is half a sum of 2 * width squared normal numbers.
        length = float((normal.sample(2 * width, source=source) ** 2).sum()) / 2
        drawn: NDArray[np.float64] = direction * (self.scale * length / float(np.linalg.norm(direction)))
        return drawn


def _normal_scale(epsilon: float, delta: float, records: int) -> float:
    """The least sigma with ``records * z / sigma + records^2 / (2 sigma^2) <= epsilon``, z exceeded once in delta."""
    from scipy.special import ndtri

    z = max(-float(ndtri(delta / records)), 0.0) * records
    return (z + math.sqrt(z * z + 2 * epsilon * records**2)) / (2 * epsilon)


def minimiser(
    rows: NDArray[np.float64], codes: NDArray[np.int64], stiffness: float, vector: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the minimum of the sum of losses, the penalty and the linear term.

    By Newton's method with shorter steps.
    """
    weights = np.zeros(rows.shape[1])
    value = _objective(rows, codes, stiffness, vector, weights)
    for _ in range(_MAX_STEPS):
        chances = expit(rows @ weights)
        gradient = rows.T @ (chances - codes) + stiffness * weights + vector
        curved = (rows * (chances * (1 - chances))[:, None]).T @ rows + stiffness * np.eye(len(weights))
        move = np.linalg.solve(curved, gradient)
        size = float(np.linalg.norm(move)) / (1 + float(np.linalg.norm(weights)))
        while size > _NEAR and _objective(rows, codes, stiffness, vector, weights - move) > value:
            move, size = move / 2, size / 2
        weights = weights - move
        if size <= _NEAR**2:  # the next step would be shorter than rounding: Newton's method squares the error
            break
        value = _objective(rows, codes, stiffness, vector, weights)
    return weights


def _objective(
    rows: NDArray[np.float64],
    codes: NDArray[np.int64],
    stiffness: float,
    vector: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> float:
    scores = rows @ weights
    losses = np.logaddexp(0.0, scores).sum() - scores @ codes
    return float(losses + stiffness / 2 * weights @ weights + vector @ weights)
