"""Least squares by adaptive sufficient statistics, as published: the matrix, the vector and the least eigenvalue.

Each gets a third of the rho and Gaussian noise of its own; the ridge covers the noise of the matrix, less
what the least eigenvalue gives (Wang 2018, with the noise of zCDP in the place of the one stated there). It is here to
be compared with. The least eigenvalue is found in integers, by signs of minors, so that one row moves it by no
more than its squared length: floating point would leave that open.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import ParameterError
from celosia.learn.linear_model.least_squares import Line, Moments, Sizes
from celosia.learn.privacy.parameters import axis_of
from celosia.statistics.base.noise import RowSensitivity
from celosia.statistics.base.products import REACH, Products
from celosia.statistics.base.summary_request import Part, SummaryRequest, unit_sensitivity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from celosia.learn.base.fit_spec import FitSpec
    from celosia.statistics.base.noise import Noise

Numbers = NDArray[np.float64]

_FAILURE = 0.05  # Wang's: how often the ridge may be too small
_THIRD = Fraction(1, 3)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AdaSSPRequest(SummaryRequest):
    """The sums of X'X (each entry once) and X'y, in this order; noised with the least eigenvalue of X'X after them.

    The first column of X is a constant; all are integers up to ``reaches``, the target's being the last.
    """

    noises: "tuple[Noise, Noise, Noise]"
    reaches: tuple[int, ...]

    def combine(self, sums: "Sequence[NDArray[Any]]") -> NDArray[Any]:
        """Return the exact entries: the constant column is as long as the others reach."""
        products = self.parts[0].measure
        assert isinstance(products, Products)  # noqa: S101 - for the type checker: it was made here
        factors = np.array([REACH ** (2 - len(monomial)) for monomial in products.monomials], dtype=object)
        exact: NDArray[Any] = SummaryRequest.combine(self, sums).astype(object) * factors
        return exact

    def release(self, exact: NDArray[Any], source: Any = None) -> NDArray[np.int64]:
        """Return all three with fresh noise."""
        whole, entries = np.asarray(exact), self._entries
        matrix = _symmetric(whole[:entries].astype(object), len(self.reaches) - 1)
        least = np.array([least_eigenvalue(matrix.tolist())], dtype=object)
        parts = (whole[:entries], whole[entries:], least)
        noisy = [noise.release(part.reshape(1, -1), source)[0] for noise, part in zip(self.noises, parts, strict=True)]
        return np.concatenate(noisy)

    @property
    def _entries(self) -> int:
        size = len(self.reaches) - 1
        return size * (size + 1) // 2

    def moments(self, noisy: NDArray[np.int64]) -> Moments:
        """Return the noisy moments of columns between -1 and 1; of the target's square only that it is at most 1."""
        size, entries = len(self.reaches), self._entries
        values, variance = np.zeros((size, size)), np.zeros((size, size))
        values[:-1, :-1] = _symmetric(noisy[:entries].astype(np.float64), size - 1)
        values[:-1, -1] = values[-1, :-1] = noisy[entries:-1]
        variance[:-1, :-1] = self.noises[0].variance
        variance[:-1, -1] = variance[-1, :-1] = self.noises[1].variance
        unit = np.outer(self.reaches, self.reaches).astype(np.float64)
        values /= unit
        values[-1, -1] = max(values[0, 0], 1.0)
        return Moments(values=values, variance=variance / unit**2)

    def solve(self, noisy: NDArray[np.int64], *, through: Numbers | None, penalty: Numbers) -> tuple[Moments, Line]:
        """Return the noisy moments and their line with Wang's ridge, ``through`` a point or anywhere."""
        moments = self.moments(noisy)
        values, reach = moments.values, np.array(self.reaches, dtype=np.float64) / REACH
        shift = np.eye(len(values))
        if through is not None:
            shift[1:, 0] = -through
        values = shift @ values @ shift.T
        ridge = self._ridge(int(noisy[-1]))
        used = slice(0 if through is None else 1, -1)
        diagonal = ridge / reach[used] ** 2 + np.concatenate([[0.0], penalty, [0.0]])[used]
        found: Numbers = np.linalg.lstsq(values[used, used] + np.diag(diagonal), values[used, -1], rcond=None)[
            0
        ].astype(np.float64)
        if through is None:
            return moments, Line(slopes=found[1:], constant=float(found[0]), floor=ridge)
        return moments, Line(slopes=found, constant=float(through[-1] - found @ through[:-1]), floor=ridge)

    def _ridge(self, noisy_least: int) -> float:
        """Return the ridge for the noise of the matrix, less a bound for the least eigenvalue, in units of REACH."""
        count = len(self.reaches) - 1
        matrix, _, least = (math.sqrt(noise.variance) / REACH**2 for noise in self.noises)
        bound = noisy_least / REACH**2 - least * math.sqrt(2 * math.log(6 / _FAILURE))
        return max(0.0, math.sqrt(count * math.log(2 * count**2 / _FAILURE)) * matrix - max(bound, 0.0))


def adassp_request(spec: "FitSpec") -> AdaSSPRequest:
    """Return the request for a spec, each part with a third of the rho."""
    privacy, guarantee = spec.privacy, spec.privacy.guarantee
    if privacy.kind == "pure" or guarantee is None:
        raise ParameterError("learn.adassp_needs_delta")
    if spec.bounding.unit != "row":
        raise ParameterError("learn.adassp_not_for_persons")
    axes, last = tuple(axis_of(kind) for kind in spec.kinds), len(spec.features)
    columns = [(), *((place,) for place in range(last + 1))]
    pairs = [(a, b) for a in range(last + 1) for b in range(a, last + 1)]
    pairs += [(a, last + 1) for a in range(last + 1)]
    products = Products(axes, tuple(columns[a] + columns[b] for a, b in pairs))
    reaches = (REACH, *products.reaches)
    row_sensitivities = _row_sensitivities(reaches)
    sensitivities = [unit_sensitivity(one, spec.bounding, droppable=spec.droppable) for one in row_sensitivities]
    widths = (len(pairs) - last - 1, last + 1, 1)
    first, second, third = (privacy.noise(s, width, _THIRD) for s, width in zip(sensitivities, widths, strict=True))
    return AdaSSPRequest(
        parts=(Part(measure=products, columns=tuple(range(last + 1))),),
        row_sensitivity=row_sensitivities[0],
        bounding=spec.bounding,
        noise=first,
        event=privacy.event(first.event, second.event, third.event),
        guarantee=guarantee,
        spec=spec,
        noises=(first, second, third),
        reaches=reaches,
    )


def _row_sensitivities(reaches: tuple[int, ...]) -> tuple[RowSensitivity, RowSensitivity, RowSensitivity]:
    """Return how far one row moves the matrix, the vector and the least eigenvalue."""
    inputs, target, far = reaches[:-1], reaches[-1], max(reaches[1:-1])
    apart = Sizes(
        features=len(inputs) - 1, feature=reaches[0] * far, target=0, pair=far**2, cross=0, squared_feature=far**2,
        squared_target=0,
    )  # fmt: skip
    entries = [a * b for place, a in enumerate(inputs) for b in inputs[place:]]
    vector = [a * target for a in inputs]
    length = sum(a * a for a in inputs)
    matrix = RowSensitivity(
        l1=sum(entries),
        l2_squared=sum(entry**2 for entry in entries),
        replace_l1=apart.replace_l1,
        replace_l2_squared=apart.replace_l2_squared,
    )
    flipped = RowSensitivity(
        l1=sum(vector),
        l2_squared=sum(entry**2 for entry in vector),
        replace_l1=2 * sum(vector),
        replace_l2_squared=4 * sum(entry**2 for entry in vector),
    )
    return (
        matrix,
        flipped,
        RowSensitivity(l1=length, l2_squared=length**2, replace_l1=length, replace_l2_squared=length**2),
    )


def least_eigenvalue(matrix: list[list[int]]) -> int:
    """Return the least eigenvalue of a matrix of integers without negative ones, less 1 and rounded up."""
    guess = float(np.linalg.eigvalsh(np.array(matrix, dtype=np.float64))[0])
    low, step = max(math.floor(guess), 0), 1
    while low > 0 and not _is_positive(matrix, low):
        low, step = max(low - step, 0), 2 * step
    high, step = low + 1, 1
    while _is_positive(matrix, high):
        low, high, step = high, high + step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _is_positive(matrix, middle) else (low, middle)
    return low


def _is_positive(matrix: list[list[int]], less: int) -> bool:
    """Whether all eigenvalues are above ``less``: all leading minors are positive (Bareiss 1968 keeps them whole)."""
    rows = [[entry - less * (a == b) for b, entry in enumerate(row)] for a, row in enumerate(matrix)]
    before = 1
    for place, pivot_row in enumerate(rows):
        pivot = pivot_row[place]
        if pivot <= 0:
            return False
        for row in rows[place + 1 :]:
            factor = row[place]
            row[place:] = [
                (pivot * entry - factor * above) // before
                for entry, above in zip(row[place:], pivot_row[place:], strict=True)
            ]
        before = pivot
    return True


def _symmetric(upper: NDArray[Any], size: int) -> NDArray[Any]:
    first, second = np.triu_indices(size)
    matrix = np.zeros((size, size), dtype=upper.dtype)
    matrix[first, second] = upper
    matrix[second, first] = upper
    return matrix
