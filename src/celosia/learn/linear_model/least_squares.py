"""Least squares from noisy sums: the moments of the features and the target, and the line that fits them best.

A row's columns are centred integers z, between -r and r. Summed are the count, z, the products z z' of every two
columns once, and 2 z^2 - r^2, which stays as close to 0 as it can. Integer weights decide how one joint noise is
divided (``sum_weights``). How far one row moves all of it is known by formula (``proofs/least-squares.md``). After
Wang 2018, without the smallest eigenvalue, which costs more than it gains.

Least squares divides by a matrix that is noisy itself. Directions in which the data hardly vary would be all noise, so
each is damped by how far its eigenvalue stands out: ``L / (L^2 + f^2)`` takes the place of ``1 / L``, and 0 where L is
negative. The floor f follows from the known noise, from how far the target varies and from how much the features do,
all of it noisy: nothing here looks at data. As the noise goes to 0 so does f, and least squares remains. No line can
explain more of the target than it varies: slopes that do are shortened.
"""

import math
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from celosia.core.adjacency import AddRemove
from celosia.core.errors import InputError
from celosia.learn.linear_model.sum_weights import MOST_COUNT, Norm, choose_steps, find_sort, is_square
from celosia.learn.privacy.parameters import axis_of
from celosia.statistics.base.noise import RowSensitivity
from celosia.statistics.base.products import Products
from celosia.statistics.base.summary_request import Part, SummaryRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from celosia.data.schema.axis import Axis
    from celosia.learn.base.fit_spec import FitSpec
    from celosia.statistics.base.noise import Noise

Numbers = NDArray[np.float64]

_MAX_SUM = 2**61
_MEANS = 0.15  # how far means are from the middle of public bounds: the variance that is supposed
_SLACK = 0.5  # how much of the matrix's own noise the floor counts: the rest is in its eigenvalues already
_FLATTEST = 0.05  # features are supposed to vary by at least this much of what they can
_STEADIEST = 0.02  # and the target by this much


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much the summed numbers of one row can be: one bound for all that are of the same sort.

    ``feature`` and ``target`` are columns themselves, ``pair`` products of two features, ``cross`` of a feature and the
    target: they lie as far to either side of 0. ``squared_feature`` and ``squared_target`` say how far apart the
    squares of two rows can be.
    """

    features: int
    feature: int
    target: int
    pair: int
    cross: int
    squared_feature: int
    squared_target: int

    @property
    def replace_l1(self) -> int:
        """How far apart two rows are at the most, in L1.

        One row is at a corner, the other is t times that, between -1 and 1 in every column. What is to be made largest
        is a quadratic function of t; by symmetry, of the sum of the features' t and of the target's.
        """
        d, own, half = self.features, self.squared_feature, Fraction(self.pair, 2)
        everything = d * (self.feature + self.cross + own) + self.target + self.squared_target
        everything += self.pair * d * (d - 1) // 2
        curve, more = half, Fraction(0)
        if own >= half:
            curve += (own - half) / d
        else:
            more = (half - own) * d
        least = _least_in_box(curve, self.feature, self.cross, self.squared_target, self.target, d)
        return math.ceil(everything + more - least)

    @property
    def replace_l2_squared(self) -> int:
        """How far apart two rows are at the most, squared, in L2: at corners, where products change sign.

        Which corners is the largest cut of a graph whose vertices are 1, the features and the target. Squares count
        beyond that only where they are weighted more than the products beside them.
        """
        d = self.features
        a, v, p, c = (size**2 for size in (self.feature, self.target, self.pair, self.cross))
        cut = max(
            f * a + flip * v + p * f * (d - f) + c * (d - f if flip else f) for f in range(d + 1) for flip in (0, 1)
        )
        alone = 2 * self.squared_feature**2 - 2 * a - 2 * c - p * (d - 1)
        beyond = d * max(0, -(-alone // 2)) + max(0, self.squared_target**2 - v)
        return 4 * cut + beyond


def _least_in_box(curve: Fraction, slope: int, both: int, other: int, other_slope: int, reach: int) -> Fraction:
    """Return the least curve m^2 + slope m + both m t + other t^2 + other_slope t, |m| <= reach, |t| <= 1."""

    def value(m: Fraction, t: Fraction) -> Fraction:
        return curve * m * m + slope * m + both * m * t + other * t * t + other_slope * t

    far, one = Fraction(reach), Fraction(1)
    points = [(_lowest(curve, slope + both * t, far), t) for t in (-one, one)]
    points += [(m, _lowest(Fraction(other), other_slope + both * m, one)) for m in (-far, far)]
    points += [(m, t) for m in (-far, far) for t in (-one, one)]
    bent = 4 * curve * other - both * both
    if bent > 0:
        m, t = (both * other_slope - 2 * other * slope) / bent, (both * slope - 2 * curve * other_slope) / bent
        if abs(m) <= far and abs(t) <= one:
            points.append((m, t))
    return min(value(m, t) for m, t in points)


def _lowest(curve: Fraction, slope: Fraction, reach: Fraction) -> Fraction:
    """Where curve x^2 + slope x is least, |x| <= reach."""
    if curve <= 0:
        return -reach if slope > 0 else reach
    return min(max(-slope / (2 * curve), -reach), reach)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Line:
    """Slopes and a constant in columns between -1 and 1, and the floor below which an eigenvalue counts as noise."""

    slopes: Numbers
    constant: float
    floor: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moments:
    """Sums of the products of (1, features, target), noisy; ``variance`` is that of each entry's own noise.

    The noise of the count is also part of every square, ``carried`` times. Anything else is independent.
    """

    values: Numbers
    variance: Numbers
    carried: float = 0.0
    noise: str = "Gaussian"

    @property
    def rows(self) -> float:
        """The noisy number of rows; never less than its noise."""
        return max(float(self.values[0, 0]), math.sqrt(self.variance[0, 0]), 1.0)

    def means(self) -> Numbers:
        """The noisy means of all columns, drawn to the middle by as much as they are noise."""
        off = self.variance[0, 1:] / self.rows**2
        means: Numbers = np.clip(self.values[0, 1:] / self.rows / (1 + off / _MEANS), -1, 1)
        return means

    def spread(self) -> Numbers:
        """The variance of each entry's noise, the count's part in squares included."""
        spread = self.variance.copy()
        squares = np.arange(1, len(spread))
        spread[squares, squares] += self.carried**2 * self.variance[0, 0]
        return spread

    def error(self, direction: Numbers) -> Numbers:
        """Return the covariance of the noise in ``values @ direction``."""
        own = self.variance.copy()
        own[0, 0] = 0
        covariance = own * np.outer(direction, direction)
        np.fill_diagonal(covariance, own @ direction**2)
        shared = self.carried * direction
        shared[0] = direction[0]
        found: Numbers = covariance + self.variance[0, 0] * np.outer(shared, shared)
        return found

    def fit(self, *, through: Numbers | None = None, penalty: Numbers | None = None) -> Line:
        """Return the line of least squares, through a given point or through the means.

        ``penalty`` is added to the diagonal: one number for each feature.
        """
        centre = self.means() if through is None else through
        centred = self._about(centre)
        floor = self._floor(centred, centre)
        matrix = centred.values[1:-1, 1:-1]
        if penalty is not None:
            matrix = matrix + np.diag(penalty)
        slopes = self._shorten(_solve_damped(matrix, centred.values[1:-1, -1], floor), centred, centre)
        return Line(slopes=slopes, constant=float(centre[-1] - slopes @ centre[:-1]), floor=floor)

    def _about(self, centre: Numbers) -> "Moments":
        """Return the same moments about another point; variances are those of each entry alone."""
        shift = np.eye(len(self.values))
        shift[1:, 0] = -centre
        values = self.values.copy()
        values[0, 0] = self.rows
        squared, spread = shift**2, self.spread()
        crossed = spread - np.diag(np.diag(spread))
        variance = squared @ spread @ squared.T
        # An entry off the diagonal occurs twice in a square, as one noise.
        np.fill_diagonal(variance, np.diag(variance) + np.einsum("ia,ab,ib->i", squared, crossed, squared))
        return Moments(values=shift @ values @ shift.T, variance=variance, noise=self.noise)

    def _floor(self, centred: "Moments", centre: Numbers) -> float:
        """Return how large an eigenvalue must be to stand out from the noise."""
        count, rows = len(centre) - 1, self.rows
        matrix_noise = float(centred.variance[1:-1, 1:-1].mean())
        product_noise = float(centred.variance[1:-1, -1].mean())
        values = np.linalg.eigvalsh(centred.values[1:-1, 1:-1])
        slope = self._varied(centred, centre) / max(float(values[values > 0].sum()), count * _FLATTEST * rows)
        return math.sqrt(product_noise / slope + _SLACK * count * matrix_noise)

    def _varied(self, centred: "Moments", centre: Numbers) -> float:
        """Return how far the target varies in all: its noisy sum of squares, within what is possible."""
        most = self.rows * (1 + float(centre[-1]) ** 2)
        return min(max(float(centred.values[-1, -1]), _STEADIEST * self.rows), most)

    def _shorten(self, slopes: Numbers, centred: "Moments", centre: Numbers) -> Numbers:
        """Return shorter slopes where these explain more of the target than it varies, its noise included."""
        explained = float(slopes @ centred.values[1:-1, -1])
        most = self._varied(centred, centre) + math.sqrt(centred.variance[-1, -1])
        return slopes * (most / explained) if explained > most else slopes


def _solve_damped(matrix: Numbers, products: Numbers, floor: float) -> Numbers:
    """Return the solution of ``matrix @ x = products``, each eigenvector damped by the floor."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > max(0.0, np.finfo(np.float64).eps * len(values) * float(np.abs(values).max(initial=0.0)))
    along = np.where(kept, values, 0.0)
    factors = np.divide(along, along**2 + floor**2, out=np.zeros_like(along), where=kept)
    slopes: Any = vectors @ (factors * (vectors.T @ products))
    return np.asarray(slopes, dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """What is summed for some columns, the target last, and how noisy sums are read again.

    ``steps`` multiply the sums: of the count, the columns (if ``linear``), the products of two, the squares. Squares
    that are not ``centred`` are summed as they are.
    """

    products: Products
    steps: tuple[int, ...]
    linear: bool
    centred: bool

    @classmethod
    def of(
        cls,
        axes: "list[Axis]",
        *,
        linear: bool = True,
        centred: bool = True,
        norm: Norm = 2,
        replaced: bool = False,
    ) -> "Plan":
        """Return the plan for these axes.

        ``norm`` is that of the noise: 1 for Laplace, 2 for Gaussian. ``replaced`` means that rows are replaced: the
        count costs nothing then as long as no row is further from none than from another.
        """
        columns = len(axes)
        pairs = tuple(combinations(range(columns), 2))
        monomials = [(), *((j,) for j in range(columns) if linear), *pairs, *((j, j) for j in range(columns))]
        products = Products(tuple(axes), tuple(monomials))
        steps = choose_steps(products, norm, replaced=replaced)
        plan = cls(products=products, steps=steps, linear=linear, centred=centred)
        return plan._counting_more(norm) if replaced else plan

    def _counting_more(self, norm: Norm) -> "Plan":
        found, rest = self.sizes, self.largest[1:]
        if norm == 1:
            count = found.replace_l1 - sum(rest)
        else:
            count = math.isqrt(max(0, found.replace_l2_squared - sum(size**2 for size in rest)))
        return replace(self, steps=(max(self.steps[0], min(count, MOST_COUNT)), *self.steps[1:]))

    @property
    def largest(self) -> tuple[int, ...]:
        """How far each number of one row is from 0 at the most; a row at a corner is so far in all of them."""
        return tuple(step * size for step, size in zip(self.steps, self.products.largest, strict=True))

    @property
    def sizes(self) -> Sizes:
        """The largest of each sort."""
        last = len(self.products.columns) - 1
        found = dict.fromkeys(("feature", "target", "pair", "cross", "squared_feature", "squared_target"), 0)
        for monomial, unit in zip(self.products.monomials[1:], self._units[1:], strict=True):
            sort = find_sort(monomial, last)
            found[sort] = max(found[sort], unit)
        return Sizes(features=last, **found)

    @property
    def _units(self) -> tuple[int, ...]:
        """What 1 of each product of columns between -1 and 1 is in the summed numbers."""
        return tuple(
            size * (1 + (self.centred and is_square(monomial)))
            for monomial, size in zip(self.products.monomials, self.largest, strict=True)
        )

    @property
    def row_sensitivity(self) -> RowSensitivity:
        """How far one row moves the numbers."""
        sizes, largest = self.sizes, self.largest
        return RowSensitivity(
            l1=sum(largest),
            l2_squared=sum(size**2 for size in largest),
            replace_l1=sizes.replace_l1,
            replace_l2_squared=sizes.replace_l2_squared,
        )

    def combine(self, sums: NDArray[Any]) -> NDArray[Any]:
        """Return the noised numbers from exact sums: the steps times them, r^2 times the count off the squares before.

        In Python's integers, so that nothing can overflow.
        """
        if not self.centred:
            return sums  # they were multiplied as they were summed
        exact = sums.astype(object)
        squares = np.array([is_square(monomial) for monomial in self.products.monomials])
        far = np.array([reach**2 for reach in self.products.reaches], dtype=object)
        exact[squares] = 2 * exact[squares] - far * exact[0]
        combined: NDArray[Any] = exact * np.array(self.steps, dtype=object)
        return combined

    def request(self, spec: "FitSpec") -> "LeastSquares":
        """Return the request, with its noise."""
        asked = spec.request(self.parts, self.row_sensitivity)
        return LeastSquares(**{field.name: getattr(asked, field.name) for field in fields(asked)}, plan=self)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The measure, of all columns."""
        measure = self.products if self.centred else replace(self.products, weights=self.steps)
        return (Part(measure=measure, columns=tuple(range(len(self.products.columns)))),)

    def moments(self, noisy: NDArray[np.int64], noise: "Noise") -> Moments:
        """Return the noisy moments of columns between -1 and 1, with the variance of their noise."""
        if int(np.abs(noisy).max(initial=0)) >= _MAX_SUM:
            raise InputError("core.too_many_rows")
        units = np.array(self._units, dtype=np.float64)
        first, second = _places(self.products)
        size = len(self.products.columns) + 1
        values, variance = np.zeros((size, size)), np.zeros((size, size))
        for table, found in ((values, noisy / units), (variance, noise.variance / units**2)):
            table[first, second] = found
            table[second, first] = found
        carried = 0.5 if self.centred else 0.0
        squares = np.arange(1, size)
        values[squares, squares] += carried * values[0, 0]
        return Moments(values=values, variance=variance, carried=carried, noise=noise.kind)

    def expect_error(self, noise: "Noise") -> float:
        """Return a figure for the error of predictions: features spread over their bounds, squared slopes of 1/2."""
        features = len(self.products.columns) - 1
        direction = np.concatenate([[0.0], np.full(features, math.sqrt(0.5 / features)), [1.0]])
        moments = self.moments(np.zeros(len(self.steps), dtype=np.int64), noise)
        level, *slopes, _ = np.diag(moments.error(direction))
        return float(level + 3 * sum(slopes))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeastSquares(SummaryRequest):
    """A request whose sums are combined by its plan.

    A matrix for that would be as wide as there are sums, and empty.
    """

    plan: Plan

    def combine(self, sums: "Sequence[NDArray[Any]]") -> NDArray[Any]:
        """Return the exact numbers that are noised."""
        return self.plan.combine(SummaryRequest.combine(self, sums))

    def solve(
        self, noisy: NDArray[np.int64], *, through: NDArray[np.float64] | None, penalty: NDArray[np.float64]
    ) -> tuple[Moments, Line]:
        """Return the noisy moments and their damped line, ``through`` a point or anywhere."""
        moments = self.plan.moments(noisy, self.noise)
        return moments, moments.fit(through=through, penalty=penalty)


def plan_for(spec: "FitSpec", *, linear: bool = True) -> Plan:
    """Return the plan for a spec; ``linear`` unless the columns' own sums are not needed.

    Where the rows of a person were averaged, and so rounded, every sum must stand for itself; and what two persons
    can differ by is counted from 0, so that the count is not free. Where either noise would do, predictions decide.
    """
    axes = [axis_of(kind) for kind in spec.kinds]
    centred = spec.bounding.unit == "row"
    replaced = centred and spec.bounding.adjacency is not AddRemove

    def plan(norm: Norm) -> Plan:
        return Plan.of(axes, linear=linear, centred=centred, norm=norm, replaced=replaced)

    if spec.privacy.kind == "pure":
        return plan(1)
    for_gaussian, for_laplace = plan(2), plan(1)
    if for_laplace.request(spec).noise.kind == "Gaussian":
        return for_gaussian
    return min(for_gaussian, for_laplace, key=lambda one: one.expect_error(one.request(spec).noise))


def expected_sums(products: Products, values: NDArray[np.float64]) -> NDArray[Any]:
    """Return the integers that rows with these moments of (1, columns between -1 and 1) would add up to."""
    found = values[_places(products)] * np.array(products.largest, dtype=np.float64)
    return np.array([round(number) for number in found.tolist()], dtype=object)


def _places(products: Products) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the sums are in the matrix of moments."""
    pairs = [(*(place + 1 for place in monomial), 0, 0)[:2] for monomial in products.monomials]
    first, second = np.array(pairs, dtype=np.int64).T
    return first, second
