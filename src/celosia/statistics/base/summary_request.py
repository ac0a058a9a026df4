"""Summary requests of estimators: integers that are summed once, noised once, and then solved.

Queries and learning meet here without knowing each other. A ``Learner`` states from public knowledge alone which sums
it needs, their sensitivity and their noise. The holder of the rows (a database, or an array in memory) sums exactly,
adds the noise, and returns noisy numbers and nothing else.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from celosia.core.errors import InputError, ParameterError
from celosia.statistics.base.measure import Measure
from celosia.statistics.base.noise import ContributionBounds, Noise, RowSensitivity, Sensitivity
from celosia.statistics.base.products import Products

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from celosia.core.events import Event
    from celosia.core.guarantees import Guarantee
    from celosia.data.schema.columns import Kind, Value

_MAX_SUM = 2**62 - 1  # what noise is added to at the most: see ``Noise.release``


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One measure, the places of the columns that it is taken of, and whether it is summed for each class apart.

    Places count the features from 0; the target, where it is a number, comes after the last of them.

    >>> from celosia.statistics.moments.measures import Bins
    >>> Part(measure=Bins(3), columns=(0,), by_class=True).measure.width
    3
    """

    measure: Measure
    columns: tuple[int, ...]
    by_class: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SummaryRequest:
    """All that is summed: ``parts`` one after the other, each class by class where it is taken so, then combined.

    ``combination`` is a matrix of integers, NumPy's or a sparse one of SciPy's, by which the exact sums are
    multiplied before there is noise; None leaves them as they are. ``row_sensitivity`` is that of one row's part in the
    combined numbers.

    >>> from celosia.statistics.moments.measures import RowCount
    >>> one = RowSensitivity(l1=1, l2_squared=1, replace_l1=1, replace_l2_squared=1)
    >>> noise = Noise.laplace(1, one.sensitivity(ContributionBounds()), 1, 1, ContributionBounds())
    >>> request = SummaryRequest(
    ...     parts=(Part(measure=RowCount(), columns=()),), row_sensitivity=one,
    ...     bounding=ContributionBounds(), noise=noise,
    ...     event=noise.event, guarantee=noise.guarantee,
    ... )
    >>> request.combine([np.array([[108]])]).tolist()
    [108]
    """

    parts: tuple[Part, ...]
    row_sensitivity: RowSensitivity
    bounding: ContributionBounds
    noise: Noise
    event: "Event"
    guarantee: "Guarantee"
    classes: "tuple[Value, ...] | None" = None
    combination: Any = None
    spec: object = None  # whatever the learner wants to find again

    @property
    def cells(self) -> int:
        """The number of classes; one without classes."""
        return 1 if self.classes is None else len(self.classes)

    @property
    def sum_count(self) -> int:
        """How many integers are summed, before they are combined."""
        return sum(part.measure.width * (self.cells if part.by_class else 1) for part in self.parts)

    @property
    def width(self) -> int:
        """How many integers are noised."""
        return self.sum_count if self.combination is None else int(self.combination.shape[0])

    @property
    def bounds_averages(self) -> bool:
        """Whether the row sensitivity also holds for rows of one unit that were averaged, coordinate by coordinate.

        Rounding an average towards 0 can take it out of what single rows combine to, but never takes a coordinate
        beyond its largest value. If all coordinates at their largest stay within, so does every average.

        >>> from celosia.statistics.moments.measures import RowCount
        >>> one = RowSensitivity(l1=1, l2_squared=1, replace_l1=1, replace_l2_squared=1)
        >>> noise = Noise.laplace(1, one.sensitivity(ContributionBounds()), 1, 1, ContributionBounds())
        >>> SummaryRequest(
        ...     parts=(Part(measure=RowCount(), columns=()),), row_sensitivity=one,
        ...     bounding=ContributionBounds(), noise=noise,
        ...     event=noise.event, guarantee=noise.guarantee,
        ... ).bounds_averages
        True
        """
        if self.combination is None:
            return True
        if not all(isinstance(part.measure, Products) for part in self.parts):
            return False
        sizes = abs(self.combination)
        return all(self._is_within(_product(sizes, self._largest(cell))) for cell in range(self.cells))

    def _largest(self, cell: int) -> "NDArray[Any]":
        """The largest sizes of what a row of one class is summed from; 0 in the places of other classes."""
        found: list[int] = []
        for part in self.parts:
            assert isinstance(part.measure, Products)  # noqa: S101 - for the type checker: looked at before
            for other in range(self.cells if part.by_class else 1):
                here = not part.by_class or other == cell
                found += [size if here else 0 for size in part.measure.largest]
        return np.array(found, dtype=object)

    def _is_within(self, reach: "NDArray[Any]") -> bool:
        """Whether a combined vector that reaches this far in every coordinate is within the row_sensitivity."""
        return bool(reach.sum() <= self.row_sensitivity.l1 and (reach * reach).sum() <= self.row_sensitivity.l2_squared)

    def combine(self, sums: "Sequence[NDArray[Any]]") -> "NDArray[Any]":
        """Return the exact numbers that are noised, from an array of classes by width for each part.

        Integers of any size go in; what comes out is exact.
        """
        flat = np.concatenate([np.asarray(array).reshape(-1) for array in sums])
        if len(flat) != self.sum_count:
            raise InputError("statistics.wrong_number_of_sums", wanted=self.sum_count)
        if self.combination is None:
            return flat
        return _product(self.combination, flat)

    def release(self, exact: "NDArray[Any]", source: Any = None) -> "NDArray[np.int64]":
        """Return combined numbers with fresh noise; refuse, judging by them, sums that were cut off for their size."""
        noisy: NDArray[np.int64] = self.noise.release(np.asarray(exact).reshape(1, -1), source)[0]
        edge = max(
            _MAX_SUM - 40 * self.noise.variance**0.5, _MAX_SUM / 2
        )  # where a sum that was cut off is found, noisy
        if np.abs(noisy).max(initial=0) >= edge:
            raise InputError("core.too_many_rows")
        return noisy


def _product(matrix: Any, numbers: "NDArray[Any]") -> "NDArray[Any]":
    """Return the exact product, in Python's integers; most entries of the matrix are 0 and skipped."""
    rows, columns, factors = _entries(matrix)
    exact: NDArray[Any] = np.zeros(matrix.shape[0], dtype=object)
    np.add.at(exact, rows, factors.astype(object) * numbers[columns].astype(object))
    return exact


def _entries(matrix: Any) -> "tuple[NDArray[Any], NDArray[Any], NDArray[Any]]":
    """Return rows, columns and values of the entries of a matrix that are not 0."""
    if isinstance(matrix, np.ndarray):
        rows, columns = np.nonzero(matrix)
        return rows, columns, matrix[rows, columns]
    sparse = matrix.tocoo()
    return sparse.row, sparse.col, sparse.data


def unit_sensitivity(
    row_sensitivity: RowSensitivity, bounding: ContributionBounds, *, droppable: bool = False
) -> Sensitivity:
    """Return how far one unit moves the combined numbers: all its rows may be anywhere, in any class.

    ``droppable``: a row may be left out for what it holds (a null, a condition), so a replaced one can come or go.

    Several rows of a unit were averaged towards 0, coordinate by coordinate. That brings no average further from 0, but
    may move two of them apart; so of units that may have several rows, also of those of which one row counts (an
    average of all of them), twice the distance from 0 is taken (``proofs/fitting.md``).

    >>> row_sensitivity = RowSensitivity(l1=3, l2_squared=5, replace_l1=4, replace_l2_squared=6)
    >>> from celosia.core import ReplaceOne
    >>> unit_sensitivity(row_sensitivity, ContributionBounds(rows=2, adjacency=ReplaceOne))
    Sensitivity(l1=12, l2_squared=80)
    """
    rows = bounding.rows * bounding.groups
    if rows == 1 and bounding.unit == "row":
        if droppable:
            row_sensitivity = replace(
                row_sensitivity,
                replace_l1=max(row_sensitivity.l1, row_sensitivity.replace_l1),
                replace_l2_squared=max(row_sensitivity.l2_squared, row_sensitivity.replace_l2_squared),
            )
        return row_sensitivity.sensitivity(ContributionBounds(adjacency=bounding.adjacency, unit=bounding.unit))
    doubled = RowSensitivity(
        l1=row_sensitivity.l1,
        l2_squared=row_sensitivity.l2_squared,
        replace_l1=2 * row_sensitivity.l1,
        replace_l2_squared=4 * row_sensitivity.l2_squared,
    )
    return doubled.sensitivity(ContributionBounds(rows=rows, adjacency=bounding.adjacency, unit=bounding.unit))


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Public facts of a fit, beside the noisy numbers: nothing in it was learned from the rows.

    >>> Provenance(seeded=False, table="deaths").where is None
    True
    """

    seeded: bool
    table: str | None = None
    where: str | None = None
    schema: str | None = None  # of the columns that were read, as TOML


@runtime_checkable
class Learner(Protocol):
    """What a session needs of an estimator that learns from sums.

    >>> from celosia.learn import StandardScaler
    >>> isinstance(StandardScaler(), Learner)
    True
    """

    def plan_fit(
        self,
        features: "Mapping[str, Kind]",
        target: "Kind | None" = None,
        *,
        bounding: ContributionBounds | None = None,
        droppable: bool = False,
        exact: bool = True,
    ) -> SummaryRequest:
        """Return the sums to take, from public knowledge alone; refuse what cannot be learned from it.

        ``droppable``: a row may be left out for what it holds. ``exact``: the budget is an epsilon, and Gaussian noise
        may be certified exactly; where it is a rho or a curve, the noise costs what concentrated privacy says.
        """

    def finish_fit(self, noisy: "NDArray[np.int64]", request: SummaryRequest, provenance: Provenance) -> object:
        """Take the noisy numbers and solve; return the fitted estimator."""


def check_learner(estimator: object) -> "Learner":
    """Return an estimator that learns from sums; refuse any other.

    >>> check_learner(3)
    Traceback (most recent call last):
    ...
    celosia.core.errors.ParameterError: int is no estimator of celosia.learn that learns from sums alone: take one, ...
    """
    if not isinstance(estimator, Learner):
        raise ParameterError("statistics.estimator_not_from_sums", type=type(estimator).__name__)
    return estimator
