"""Intervals for true values: noise intervals, and what the rows that limits cut off can add.

The number of rows cut off is one unknown for all aggregates of a cell. A computed column, such as a share, is enclosed
for small stretches of that number, one after the other: where many rows are missing, numerator and denominator miss
them together. Statement and proof are in ``proofs/cut-off.md``.
"""

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from celosia.query.plan.expressions import Column, Expression, columns_in
from celosia.query.planning.cut_off import Measured, is_bounded
from celosia.query.postprocessing.output_intervals import can_enclose, enclose
from celosia.statistics import Measure, SharedMoments, Total

if TYPE_CHECKING:
    from celosia.query.plan.nodes import Plan

Ends: TypeAlias = tuple[NDArray[Any], NDArray[Any]]
Interval: TypeAlias = Callable[[float], Ends]

_MAX_VARIANCE: Final = 0.25  # of values between 0 and 1
_STRETCHES: Final = np.linspace(0.0, 1.0, 33) ** 2  # finer where little was cut off: there quotients change most


class TrueValues:
    """Intervals for the true values of an answer, from its measurements and that of what the limits cut off.

    There are some for counts, sums, means, variances and standard deviations, and for expressions over them.
    """

    def __init__(self, plan: "Plan", measured: Sequence[Measured], cut: Measured) -> None:
        all_rows = {one.name for one in plan.aggregates if one.kind == "count" and not one.columns}
        self._cut = cut
        self._bounds: Mapping[str, _Bounds] = {
            name: _Bounds(one=one, quantity=quantity, all_rows=name in all_rows)
            for one in measured
            if is_bounded(one.measurement)
            for name, quantity in one.measurement.answers
        }

    def interval(self, expression: Expression) -> Interval | None:
        """Return the interval for the true value of a column of an answer, or None where there is none."""
        names = columns_in(expression)
        if not names or not set(names) <= self._bounds.keys() or not can_enclose(expression):
            return None
        return functools.partial(self._ends, expression)

    def _ends(self, expression: Expression, level: float) -> Ends:
        bounds = {name: self._bounds[name] for name in columns_in(expression)}
        # The failures of all parts add up.
        sure = 1 - (1 - level) / (1 + sum(one.parts for one in bounds.values()))
        noisy, reach = self._cut.noisy[:, 1].astype(np.float64), self._cut.noise.margin(sure)
        least, most = np.maximum(noisy - reach, 0.0), np.maximum(noisy + reach, 0.0)
        known = {name: one.noise_ends(sure) for name, one in bounds.items()}
        edges = [least + share * (most - least) for share in _STRETCHES[:-1]]
        edges = [least, most] if isinstance(expression, Column) else [*edges, most]
        found = [
            enclose(expression, {name: one.enclose(known[name], low, high) for name, one in bounds.items()})
            for low, high in itertools.pairwise(edges)
        ]
        return np.min([low for low, _ in found], axis=0), np.max([high for _, high in found], axis=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bounds:
    """The interval for the true value of one aggregate: its noise interval, and what the rows cut off can add."""

    one: Measured
    quantity: str
    all_rows: bool

    @property
    def _alone(self) -> tuple[str, Measure]:
        """The quantity and measure of the column alone, where several share a measurement."""
        return self.one.measure.of(self.quantity)

    @property
    def parts(self) -> int:
        """How many intervals of noise it needs."""
        return 2 if self._is_ratio else 1

    def noise_ends(self, level: float) -> tuple[Ends, NDArray[np.float64]]:
        """Return the noise interval and, for a ratio, the least number of rows that it is taken of."""
        counted = self._ends(self.quantity.replace(self._alone[0], "count"), level)[0] if self._is_ratio else np.ones(1)
        return self._ends(self.quantity, level), counted

    def enclose(
        self, known: tuple[Ends, NDArray[np.float64]], least: NDArray[np.float64], most: NDArray[np.float64]
    ) -> Ends:
        """Return an interval of the true value if the noise intervals hold, for this number of rows cut off."""
        ends, counted = known
        ends = self._draw_out(ends, most / np.maximum(counted, 1.0))
        if self._is_ratio:
            return self._bound_ratio(ends, most, counted)
        if self._alone[0] == "sum":
            return self._bound_sum(ends, most)
        # Of all rows exactly those are missing that were cut off; of persons or values it may be fewer.
        return ends[0] + (least if self.all_rows else 0.0), ends[1] + most * (1 + self._rounding)

    @property
    def _is_ratio(self) -> bool:
        return self._alone[0] in ("mean", "variance", "std")

    def _ends(self, quantity: str, level: float) -> Ends:
        between = self.one.answer(quantity).interval
        assert between is not None  # noqa: S101 - for the type checker: numbers with noise have intervals
        low, high = between(level)
        return np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)

    def _draw_out(self, ends: Ends, cut: NDArray[np.float64]) -> Ends:
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
        """Return the largest loss of a row by rounding the average of a person down: a part of each feature."""
        measure = self._alone[1]
        return measure.width / measure.row_sensitivity.l1 if measure.axes else 0.0

    def _bound_sum(self, ends: Ends, cut: NDArray[np.float64]) -> Ends:
        """Each row that was cut off lies between the bounds of the column."""
        axis = self._alone[1].axes[0]
        low, high = min(0.0, float(axis.low)), max(0.0, float(axis.high))
        if isinstance(self.one.measure, Total):  # rounded towards 0, by less than a step
            rounding = cut * float(axis.grid)
            return ends[0] + cut * low - rounding, ends[1] + cut * high + rounding
        rows = cut * (1 + self._rounding)
        return ends[0] + rows * low, ends[1] + rows * high

    def _bound_ratio(self, ends: Ends, cut: NDArray[np.float64], counted: NDArray[np.float64]) -> Ends:
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
        least = np.maximum((1 - weight) * low - weight * self._rounding * _MAX_VARIANCE * size**2, 0.0)
        most = np.minimum((1 - weight) * high + weight * size**2, _MAX_VARIANCE * size**2)
        most = np.maximum(most, high)
        return (np.sqrt(least), np.sqrt(most)) if self.quantity == "std" else (least, most)
