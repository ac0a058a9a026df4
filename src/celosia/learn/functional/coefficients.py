"""The coefficients of an objective as integers: rounded record by record, summed exactly, noised together.

A record's coefficients are computed in doubles and rounded to a grid so fine that nothing is lost in noise, and so
coarse that the error of the doubles is far below a step. What rounding may add to the distance of two neighbours, a
step for each coefficient, is part of the row_sensitivity: the noise pays for it. ``proofs/functional.md``.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from celosia.core.adjacency import AddRemove
from celosia.core.errors import ParameterError
from celosia.learn.functional.objective import Objective
from celosia.statistics.base.noise import RowSensitivity

if TYPE_CHECKING:
    from celosia.core.adjacency import Adjacency
    from celosia.statistics.base.noise import Noise
    from celosia.statistics.base.target import Target

_BLOCK: Final = 65_536  # records whose coefficients are in memory together
_MAX_COEFFICIENT_STEPS: Final = Fraction(
    2**38
)  # steps of one record's largest coefficient: sums of millions of records fit 62 bits
_MAX_L1: Final = Fraction(2**46)
_FINEST: Final = Fraction(2**34)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficients:
    """What is summed and noised: each record's coefficients, divided by their units, as integer numbers of steps.

    ``step`` is what one of them is worth. ``noised`` says which coefficients are: those that are the same for every
    record are known where the number of records is.
    """

    objective: Objective
    step: Fraction
    noised: tuple[int, ...]

    @classmethod
    def of(cls, objective: Objective, adjacency: "Adjacency") -> "Coefficients":
        """Return the grid for an objective: as fine as sums and noise in 62 bits allow."""
        sizes = [
            sum((abs(number) for _, number in found), Fraction(0)) / abs(unit)
            for (_, found), unit in zip(objective.terms, objective.units, strict=True)
        ]
        most = min(_MAX_COEFFICIENT_STEPS / max(sizes), _MAX_L1 / (2 * sum(sizes, Fraction(0))), _FINEST)
        fine = Fraction(2) ** (most.numerator.bit_length() - most.denominator.bit_length())
        fine = fine if fine <= most else fine / 2
        noised = tuple(place for place, public in enumerate(objective.public) if adjacency is AddRemove or not public)
        if not noised:
            raise ParameterError("learn.nothing_to_learn")
        return cls(objective=objective, step=1 / fine, noised=noised)

    @property
    def row_sensitivity(self) -> RowSensitivity:
        """How far one record is from none, and from another, in steps, rounding included.

        A coefficient is rounded to the nearest step after an arithmetic of doubles whose error is far below half a step
        (no coefficient has more than 2^38 of them), so it is less than one step off.
        """
        extent, count = self.objective.extent, len(self.noised)
        return RowSensitivity(
            l1=math.ceil(extent.l1 / self.step) + count,
            l2_squared=_square_sum(extent.l2_squared / self.step**2, count),
            replace_l1=math.ceil(extent.replace_l1 / self.step) + 2 * count,
            replace_l2_squared=_square_sum(extent.replace_l2_squared / self.step**2, 4 * count),
        )

    @property
    def worth(self) -> NDArray[np.float64]:
        """What a step of every noised coefficient is worth, its unit included."""
        return np.array([float(self.objective.units[place] * self.step) for place in self.noised])

    def steps(self, X: NDArray[Any], y: NDArray[Any]) -> NDArray[np.int64]:  # noqa: N803 - scikit-learn's
        """Return the noised coefficients of every record, in whole steps, for columns between 0 and 1."""
        values = self.objective.coefficients(np.clip(X, 0.0, 1.0), np.clip(y, 0.0, 1.0))[:, list(self.noised)]
        found: NDArray[np.int64] = np.rint(values / self.worth).astype(np.int64)
        return found

    def sums(self, X: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:  # noqa: N803 - scikit-learn's
        """Return the sums over records, exact integers of any size."""
        total: NDArray[Any] = np.zeros(len(self.noised), dtype=object)
        for start in range(0, len(y), _BLOCK):
            block = slice(start, start + _BLOCK)
            total = total + self.steps(X[block], y[block]).sum(axis=0).astype(object)
        return total

    def noise(self, target: "Target") -> "Noise":
        """Return the noise of all coefficients together."""
        return target.noise(self.row_sensitivity.sensitivity(target.bounding), len(self.noised))

    def polynomial(self, numbers: NDArray[Any], rows: int) -> NDArray[np.float64]:
        """Return all coefficients from the noisy ones; the others, which are public, are those of ``rows`` records."""
        found = np.array([float(rows * sum(number for _, number in terms)) for _, terms in self.objective.terms])
        found[list(self.noised)] = np.asarray(numbers, dtype=np.float64) * self.worth
        return found


def _square_sum(square: Fraction, error_squared: int) -> int:
    """Return at least the square of a length plus another, from their squares."""
    both = math.isqrt(math.ceil(square * error_squared)) + 1
    return math.ceil(square) + 2 * both + error_squared
