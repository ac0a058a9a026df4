"""Distributions on finitely many points, and the alignment of two of them.

An array of probabilities has no points: two arrays are *aligned*, entry against entry. ``Discrete`` also has points, in
R or in R^d, as Wasserstein distances need; two of them are aligned on the union of their points, where equal means
equal to the last bit.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.errors import ParameterError
from celosia.divergences.distributions.arguments import as_array, as_probabilities

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Discrete:
    """Probabilities on points of the line (one-dimensional ``points``) or of R^d (one row per point).

    >>> coin = Discrete(points=[0, 1], probabilities=[0.5, 0.5])
    >>> coin.dimension, coin.points.tolist()
    (1, [0.0, 1.0])
    """

    points: "NDArray[np.float64]"
    probabilities: "NDArray[np.float64]"

    def __init__(self, *, points: "ArrayLike", probabilities: "ArrayLike") -> None:
        points = as_array(points, name="points", dimensions=(1, 2)) + 0.0  # no negative zero
        probabilities = as_probabilities(probabilities, name="probabilities")
        if len(points) != len(probabilities):
            raise ParameterError(
                "divergences.points_and_probabilities_differ", points=len(points), probabilities=len(probabilities)
            )
        for array in (points, probabilities):
            array.flags.writeable = False
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "probabilities", probabilities)

    @property
    def dimension(self) -> int:
        """The d of R^d.

        >>> Discrete(points=[[0, 0], [3, 4]], probabilities=[0.5, 0.5]).dimension
        2
        """
        return 1 if self.points.ndim == 1 else self.points.shape[1]

    @property
    def rows(self) -> "NDArray[np.float64]":
        """The points with one row each, also on the line.

        >>> Discrete(points=[7], probabilities=[1]).rows
        array([[7.]])
        """
        return self.points.reshape(len(self.points), -1)


def align(p: Discrete, q: Discrete) -> "tuple[Discrete, Discrete]":
    """Return both distributions on the union of their points, sorted, each point once."""
    same_dimension(p, q)
    union, place = np.unique(np.concatenate([p.rows, q.rows]), axis=0, return_inverse=True)
    place = place.reshape(-1)
    points = union[:, 0] if p.dimension == q.dimension == 1 else union
    sides = []
    for side, where in ((p, place[: len(p.points)]), (q, place[len(p.points) :])):
        masses = np.asarray(np.bincount(where, weights=side.probabilities, minlength=len(union)), dtype=np.float64)
        sides.append(Discrete(points=points, probabilities=masses))
    return sides[0], sides[1]


def same_dimension(p: Discrete, q: Discrete) -> int:
    """Return the common dimension of both, or raise ``ParameterError``."""
    if p.dimension != q.dimension:
        raise ParameterError("divergences.point_dimensions_differ", first=p.dimension, second=q.dimension)
    return p.dimension


def exact_masses(masses: "NDArray[np.float64]") -> list[int]:
    """Return the masses exactly, as multiples of a power of two: sums of them lose nothing in the tails."""
    ratios = [mass.as_integer_ratio() for mass in masses.tolist()]
    finest = max(bottom for _, bottom in ratios)
    return [top * (finest // bottom) for top, bottom in ratios]
