"""Measure how much contribution limits cut off, for intervals of true values.

A noise interval covers the number after the limits. The cut can be bounded if the owner declares the largest number of
rows of a person. Then a fixed part of the cost of every query measures, with noise, the rows kept and cut off in each
cell, and the persons with some rows cut off. It is read together with the answer, so that the same groups of a person
count. Statement and assumptions are in
``proofs/cut-off.md``.
"""

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from celosia.core.errors import ParameterError
from celosia.core.html_table import draw_table
from celosia.core.messages.message import Message
from celosia.query.planning.measurements import Measurement
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

    import numpy as np
    from numpy.typing import NDArray

    from celosia.query.planning.analysis import AnalyzedPlan
    from celosia.statistics import Noise

    Ends = tuple[NDArray[Any], NDArray[Any]]
    Interval = Callable[[float], Ends]

LEVEL: Final = 0.95
"""The level of the intervals of a ``CutOff``."""

_ROWS_PART: Final = Fraction(3, 20)
_PERSONS_PART: Final = Fraction(1, 20)
_MOMENTS: Final = (FirstMoments, SecondMoments, MomentsOfAll)
_LINEAR: Final = (RowCount, Distinct, Total, SharedMoments, *_MOMENTS)


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
                raise ParameterError("query.share_out_of_range", name=field.name)

    def describe(self) -> Message:
        """Return one sentence for a reader, its numbers rounded outwards."""
        low, persons_low = (math.floor(1000 * share) / 10 for share in (self.rows_low, self.persons_low))
        high, persons_high = (math.ceil(1000 * share) / 10 for share in (self.rows_high, self.persons_high))
        numbers = {"low": low, "high": high, "persons_low": persons_low, "persons_high": persons_high}
        return Message("query.kept_by_limits", level=float(LEVEL), **numbers)

    def _repr_html_(self) -> str:
        shares = (
            ("rows", self.rows, self.rows_low, self.rows_high),
            ("persons with all their rows", self.persons, self.persons_low, self.persons_high),
        )
        rows = [(name, f"{share:.1%}", f"{low:.1%} – {high:.1%}") for name, share, low, high in shares]
        return draw_table(("kept by the limits", "share", f"{100 * LEVEL:g} % interval"), rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A measurement with its noisy numbers, cells by width."""

    measurement: Measurement
    measure: Measure
    noisy: "NDArray[np.int64]"
    noise: "Noise"

    def answer(self, quantity: str) -> Estimate:
        """Estimate a quantity from the noisy numbers."""
        return self.measure.answer(quantity, self.noisy, self.noise)


def cut_off_measurements(most: int) -> tuple[Measurement, ...]:
    """Return the measurements of the cut if no person has more than ``most`` rows; they take a fifth of the cost."""
    return (
        Measurement(measure=CutRows(most), columns=(), answers=(), part=_ROWS_PART),
        Measurement(measure=CutPersons(), columns=(), answers=(), part=_PERSONS_PART),
    )


def cut_off_notes(analyzed: "AnalyzedPlan") -> "Iterator[Message]":
    """Yield the notes about the cut that are known before anything is read."""
    if not analyzed.may_cut:
        return
    rows = [measurement.measure.most for measurement in analyzed.cut_off if isinstance(measurement.measure, CutRows)]
    if rows:
        yield Message("query.cut_off_measured", rows=rows[0])
        without = [
            name
            for measurement in analyzed.aggregate_measurements
            if not is_bounded(measurement)
            for name, _ in measurement.answers
        ]
        if without:
            yield Message("query.no_interval_for_true_value", names=tuple(without))
    else:
        yield Message("query.cut_off_unknown")


def is_bounded(measurement: Measurement) -> bool:
    """Return whether the answers of a measurement have intervals for the true value."""
    return isinstance(measurement.measure, _LINEAR)


def estimate_cut_off(measured: "Sequence[Measured]") -> CutOff | None:
    """Estimate the shares that the limits keep; None without measurements of the cut."""
    found: dict[str, float] = {}
    most = 0
    for one in measured:
        name = "rows" if isinstance(one.measure, CutRows) else "persons"
        most = one.measure.most if isinstance(one.measure, CutRows) else most
        estimate = one.answer("kept")
        low, high = estimate.ends(LEVEL)
        found |= {name: float(estimate.value[0]), f"{name}_low": float(low[0]), f"{name}_high": float(high[0])}
    return CutOff(**found, max_rows_per_person=most) if found else None
