"""What contribution limits cut off, measured beside an answer, and intervals for true values that include it.

A noise interval holds the number that the limits leave. How much they cut off can be bounded where the owner has
declared a public fact: no person has more than so many rows. Then a fixed part of the cost of every query counts, with
noise of that scale, the rows kept and cut off in each cell, and the persons of whom some rows are cut off. All of it is
read together with the answer, so that the same groups of a person count. Statement and assumptions are in
``proofs/cut-off.md``.
"""

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.html_table import draw_table
from celosia.query.needs import Need
from celosia.statistics import (
    CutPersons,
    CutRows,
    Distinct,
    Estimate,
    FirstMoments,
    Measure,
    MomentsOfAll,
    RowCount,
    SecondMoments,
    SharedMoments,
    Total,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from celosia.query.plan import Plan
    from celosia.query.question import Question
    from celosia.statistics import Noise

    Ends = tuple[NDArray[Any], NDArray[Any]]
    Interval = Callable[[float], Ends]

__all__ = ["LEVEL", "CutOff", "Measured", "bound_true_values", "cut_off_needs", "cut_off_notes", "estimate_cut_off"]

LEVEL: Final = 0.95
"""The level of the intervals of a ``CutOff``."""

_ROWS_PART: Final = Fraction(3, 20)
_PERSONS_PART: Final = Fraction(1, 20)
_MOMENTS: Final = (FirstMoments, SecondMoments, MomentsOfAll)
_LINEAR: Final = (RowCount, Distinct, Total, SharedMoments, *_MOMENTS)
_LARGEST_VARIANCE: Final = 0.25  # of values between 0 and 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOff:
    """Estimated shares of the rows and of the persons that contribution limits keep, with 95 % intervals.

    A person is kept if all of its rows count. ``max_rows_per_person`` is what the owner declared.

    >>> CutOff(rows=0.73, rows_low=0.7, rows_high=0.76, persons=0.8, persons_low=0.79, persons_high=0.81,
    ...     max_rows_per_person=638).describe()
    'With probability 0.95 each, the limits keep 70 to 76 % of the rows and all rows of 79 to 81 % of the persons.'
    """

    rows: float
    rows_low: float
    rows_high: float
    persons: float
    persons_low: float
    persons_high: float
    max_rows_per_person: int

    def __post_init__(self) -> None:
        for field in fields(self)[:-1]:
            if not 0 <= getattr(self, field.name) <= 1:
                message = f"{field.name} must be between 0 and 1."
                raise ParameterError(message)

    def describe(self) -> str:
        """Return one sentence for a reader, its numbers rounded outwards."""
        rows, persons = (
            f"{math.floor(1000 * low) / 10:g} to {math.ceil(1000 * high) / 10:g} %"
            for low, high in ((self.rows_low, self.rows_high), (self.persons_low, self.persons_high))
        )
        kept = f"the limits keep {rows} of the rows and all rows of {persons} of the persons"
        return f"With probability {LEVEL} each, {kept}."

    def _repr_html_(self) -> str:
        shares = (
            ("rows", self.rows, self.rows_low, self.rows_high),
            ("persons with all their rows", self.persons, self.persons_low, self.persons_high),
        )
        rows = [(name, f"{share:.1%}", f"{low:.1%} – {high:.1%}") for name, share, low, high in shares]
        return draw_table(("kept by the limits", "share", f"{100 * LEVEL:g} % interval"), rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A measurement with its noisy numbers, cells by width.

    >>> from celosia.statistics import Bounding, Noise
    >>> rows = RowCount()
    >>> noise = Noise.laplace(1, rows.sensitivity(Bounding()), 1, 1, Bounding())
    >>> need = Need(measure=rows, columns=(), serves=(("n", "count"),))
    >>> Measured(need=need, measure=rows, noisy=np.array([[7]]), noise=noise).answer("count").value
    array([7])
    """

    need: Need
    measure: Measure
    noisy: "NDArray[np.int64]"
    noise: "Noise"

    def answer(self, quantity: str) -> Estimate:
        """Return what the noisy numbers say of a quantity."""
        return self.measure.answer(quantity, self.noisy, self.noise)


def cut_off_needs(most: int) -> tuple[Need, ...]:
    """Return the measurements of what the limits cut off, a fifth of the cost, if nobody has more than ``most`` rows.

    >>> [str(need.part) for need in cut_off_needs(638)]
    ['3/20', '1/20']
    """
    return (
        Need(measure=CutRows(most), columns=(), serves=(), part=_ROWS_PART),
        Need(measure=CutPersons(), columns=(), serves=(), part=_PERSONS_PART),
    )


def cut_off_notes(question: "Question") -> "Iterator[str]":
    """Yield what is known before about what the limits cut off.

    >>> import celosia as cl, pyarrow as pa
    >>> visits = cl.table(
    ...     pa.table({"who": [1, 1, 2], "cost": [5, 7, 9]}), schema=cl.Schema(cost=cl.Integer(0, 9)), name="visits",
    ...     person="who", max_groups_per_person=1, max_rows_per_group=1, max_rows_per_person=100,
    ... )
    >>> session = cl.Session(visits, budget=cl.PureDP(epsilon=1))
    >>> session.query().count().preview(epsilon=1).notes[1][:62]
    'A fifth of the cost measures what the limits cut off. That and'
    """
    if not question.may_cut:
        return
    rows = [need.measure.most for need in question.cut_off if isinstance(need.measure, CutRows)]
    if rows:
        yield (
            "A fifth of the cost measures what the limits cut off. That and the intervals for true values hold if no "
            f"person has more than {rows[0]:,} rows in the table, as its owner declares."
        )
        without = [name for need in question.needs if not _is_bounded(need) for name, _ in need.serves]
        if without:
            yield f"There is no interval for the true value of {', '.join(without)}: the limits may cut off more."
    else:
        yield "The limits may cut off more: the true number can lie outside the noise interval."


def _is_bounded(need: Need) -> bool:
    return isinstance(need.measure, _LINEAR)


def estimate_cut_off(measured: "Sequence[Measured]") -> CutOff | None:
    """Return which shares the limits keep, from the measurements of what they cut off; None where there are none.

    >>> estimate_cut_off([]) is None
    True
    """
    found: dict[str, float] = {}
    most = 0
    for one in measured:
        name = "rows" if isinstance(one.measure, CutRows) else "persons"
        most = one.measure.most if isinstance(one.measure, CutRows) else most
        estimate = one.answer("kept")
        low, high = estimate.ends(LEVEL)
        found |= {name: float(estimate.value[0]), f"{name}_low": float(low[0]), f"{name}_high": float(high[0])}
    return CutOff(**found, max_rows_per_person=most) if found else None


def bound_true_values(plan: "Plan", measured: "Sequence[Measured]", cut: Measured) -> "dict[str, Interval]":
    """Return the intervals for true values of all aggregates that have one, by name.

    There are some for counts, sums, means, variances and standard deviations.

    >>> import celosia as cl, pyarrow as pa
    >>> visits = cl.table(
    ...     pa.table({"who": [1] * 90 + [2] * 10, "cost": [5] * 100}), schema=cl.Schema(cost=cl.Integer(0, 9)),
    ...     name="visits", person="who", max_groups_per_person=1, max_rows_per_group=20, max_rows_per_person=100,
    ... )
    >>> release = cl.Session(visits, budget=cl.PureDP(epsilon=5000)).query().count().release(epsilon=5000)
    >>> release.item(), [end["count"][0].as_py() for end in release.true_interval()]
    (30, [100.0, 100.0])
    """
    all_rows = {one.name for one in plan.aggregates if one.kind == "count" and not one.columns}
    return {
        name: _Bounds(one=one, quantity=quantity, cut=cut, all_rows=name in all_rows).interval
        for one in measured
        if _is_bounded(one.need)
        for name, quantity in one.need.serves
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bounds:
    """The interval for the true value of one aggregate: its noise interval, and what the rows cut off can add."""

    one: Measured
    quantity: str
    cut: Measured
    all_rows: bool

    @property
    def _alone(self) -> tuple[str, Measure]:
        """The quantity and measure of the column alone, where several share a measurement."""
        return self.one.measure.of(self.quantity)

    def interval(self, level: float) -> "Ends":
        name = self._alone[0]
        ratio = name in ("mean", "variance", "std")
        sure = 1 - (1 - level) / (3 if ratio else 2)  # the failures of all parts add up to that of the whole
        noisy, reach = self.cut.noisy[:, 1].astype(np.float64), self.cut.noise.margin(sure)
        least, most = np.maximum(noisy - reach, 0.0), np.maximum(noisy + reach, 0.0)
        counted = self._ends(self.quantity.replace(name, "count"), sure)[0] if ratio else np.ones(1)
        ends = self._draw_out(self._ends(self.quantity, sure), most / np.maximum(counted, 1.0))
        if ratio:
            return self._bound_ratio(ends, most, counted)
        if name == "sum":
            return self._bound_sum(ends, most)
        # Of all rows exactly those are missing that were cut off; of persons or values it may be fewer.
        return ends[0] + (least if self.all_rows else 0.0), ends[1] + most * (1 + self._rounding)

    def _ends(self, quantity: str, level: float) -> "Ends":
        between = self.one.answer(quantity).interval
        assert between is not None  # noqa: S101 - for the type checker: numbers with noise have intervals
        low, high = between(level)
        return np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)

    def _draw_out(self, ends: "Ends", cut: "NDArray[np.float64]") -> "Ends":
        """Add what rounding can do to numbers that share a measurement: to either side, two steps of each."""
        name, measure = self._alone
        if not isinstance(self.one.measure, SharedMoments) or name == "rows":
            return ends
        axis = measure.axes[0]
        size = 1.0 if name == "count" else 2 * max(abs(float(axis.low)), abs(float(axis.high)))
        slack = 4 * size / self.one.measure.row * cut
        return ends[0] - slack, ends[1] + slack

    @property
    def _rounding(self) -> float:
        """What is lost of a row, at most, where the average of a person is rounded down: a part of each feature."""
        measure = self._alone[1]
        return measure.width / measure.footprint.l1 if measure.axes else 0.0

    def _bound_sum(self, ends: "Ends", cut: "NDArray[np.float64]") -> "Ends":
        """Each row that was cut off lies between the bounds of the column."""
        axis = self._alone[1].axes[0]
        low, high = min(0.0, float(axis.low)), max(0.0, float(axis.high))
        if isinstance(self.one.measure, Total):  # rounded towards 0, by less than a step
            rounding = cut * float(axis.grid)
            return ends[0] + cut * low - rounding, ends[1] + cut * high + rounding
        rows = cut * (1 + self._rounding)
        return ends[0] + rows * low, ends[1] + rows * high

    def _bound_ratio(self, ends: "Ends", cut: "NDArray[np.float64]", counted: "NDArray[np.float64]") -> "Ends":
        """A mean or variance of the rows that count, and of others whose weight is as large as can be."""
        low, high = ends
        rows, counted = cut * (1 + self._rounding), np.maximum(counted, 0.0)
        weight = np.where(rows > 0, rows / np.maximum(counted + rows, 1e-300), np.where(counted > 0, 0.0, 1.0))
        axis = self._alone[1].axes[0]
        if self._alone[0] == "mean":
            return low - weight * (low - float(axis.low)), high + weight * (float(axis.high) - high)
        size = float(axis.high) - float(axis.low)
        if self.quantity == "std":
            low, high = low**2, high**2
        least = np.maximum((1 - weight) * low - weight * self._rounding * _LARGEST_VARIANCE * size**2, 0.0)
        most = np.minimum((1 - weight) * high + weight * size**2, _LARGEST_VARIANCE * size**2)
        most = np.maximum(most, high)
        return (np.sqrt(least), np.sqrt(most)) if self.quantity == "std" else (least, most)
