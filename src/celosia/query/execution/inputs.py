"""Integer columns that the requests of a query need of each row, and their sums.

A request is *summed* (features of a row are added up), *counted* (rows are counted by value or bin) or *distinct*. A
row without a value in a request's columns has nulls there, and adds nothing.

The features of a measure are written once, with ``+``, ``-`` and ``*``. Evaluated on polynomials instead of numbers
they show which sums are needed: the sum of ``R - k`` over n rows is ``R n`` minus the sum of ``k``. So a count, a sum
and a mean cost an engine one sum and one count, as they do without privacy.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from celosia.core.errors import QueryError
from celosia.query.execution.clean import encode_value
from celosia.query.execution.dialect import Dialect, floor_divide, integer_literal, null_literal, parenthesize
from celosia.query.plan.expressions import kind_of
from celosia.statistics import Bins, Choice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ibis.expr import types as ir

    from celosia.query.engines.base import Request
    from celosia.query.execution.rows import Rows

Monomial = tuple[int, ...]
"""The exponent of each variable."""


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A polynomial with integer coefficients."""

    terms: Mapping[Monomial, int]

    @classmethod
    def variables(cls, count: int) -> "tuple[Polynomial, ...]":
        """Return this number of variables."""
        return tuple(cls({tuple(int(i == j) for j in range(count)): 1}) for i in range(count))

    @classmethod
    def of(cls, value: "Polynomial | int", count: int) -> "Polynomial":
        """Return a polynomial unchanged, and a number as a constant in ``count`` variables."""
        return value if isinstance(value, Polynomial) else cls({(0,) * count: int(value)})

    def _like(self, value: "Polynomial | int") -> "Polynomial":
        if isinstance(value, Polynomial):
            return value
        return Polynomial({(0,) * len(next(iter(self.terms))): int(value)})

    def __add__(self, other: "Polynomial | int") -> "Polynomial":
        terms = dict(self.terms)
        for monomial, factor in self._like(other).terms.items():
            terms[monomial] = terms.get(monomial, 0) + factor
        return Polynomial(dict(sorted(terms.items())))

    def __mul__(self, other: "Polynomial | int") -> "Polynomial":
        terms: dict[Monomial, int] = {}
        for a, first in self.terms.items():
            for b, second in self._like(other).terms.items():
                monomial = tuple(i + j for i, j in zip(a, b, strict=True))
                terms[monomial] = terms.get(monomial, 0) + first * second
        return Polynomial(dict(sorted(terms.items())))

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> "Polynomial":
        return Polynomial({monomial: -factor for monomial, factor in self.terms.items()})

    def __sub__(self, other: "Polynomial | int") -> "Polynomial":
        return self + -other

    def __rsub__(self, other: "Polynomial | int") -> "Polynomial":
        return -self + other


def is_counted(request: "Request") -> bool:
    """Return whether a request counts rows by value."""
    return isinstance(request.measure, Choice | Bins)


@dataclass(frozen=True, slots=True, kw_only=True)
class SumInput:
    """A summed request and its columns by name; all columns are null in a row that does not count."""

    request: "Request"
    columns: "dict[str, ir.Value]"

    @property
    def reach(self) -> tuple[tuple[int, int], ...]:
        """The least and the largest of each feature."""
        return self.request.measure.reach  # type: ignore[union-attr] # no choice

    def count(self, table: "ir.Table") -> "ir.Value":
        """Return the number of rows of the table that count."""
        if self._missing:
            return table.count()
        return table.count() if not self.columns else table[next(iter(self.columns))].count()

    def sums(self, table: "ir.Table", dialect: Dialect) -> "list[ir.Value]":
        """Return the sum of each feature over the rows of the table, from as few sums as possible."""
        measure = self.request.measure
        count = len(measure.axes) * (2 if self._missing else 1)
        features = measure.features(*Polynomial.variables(count))  # type: ignore[union-attr] # no choice
        polynomials = [Polynomial.of(feature, count) for feature in features]
        needed = sorted({monomial for polynomial in polynomials for monomial in polynomial.terms})
        found = {monomial: self._sum(monomial, table, dialect) for monomial in needed}
        return [_combine(polynomial, found) for polynomial in polynomials]

    @property
    def _missing(self) -> bool:
        return getattr(self.request.measure, "counts_missing", False)

    def _sum(self, monomial: Monomial, table: "ir.Table", dialect: Dialect) -> "ir.Value":
        """Return the sum of a product of steps; presence flags follow the steps if missing values count."""
        steps = [table[name] for name in self.columns]
        if self._missing and not any(monomial[: len(steps)]):
            there = [step for step, power in zip(steps, monomial[len(steps) :], strict=True) if power]
            return (there[0].count() if there else table.count()).cast("decimal(38, 0)")
        factors = [step for step, power in zip(steps, monomial, strict=False) for _ in range(power)]
        if not factors:
            return self.count(table).cast("decimal(38, 0)")
        return dialect.total(math.prod(factors[1:], start=factors[0])).fill_null(_decimal(0))


def _combine(polynomial: Polynomial, found: "Mapping[Monomial, ir.Value]") -> "ir.Value":
    parts = [
        found[monomial] if factor == 1 else found[monomial] * _decimal(factor, 20)
        for monomial, factor in polynomial.terms.items()
        if factor
    ]
    return sum(parts[1:], start=parts[0]) if parts else _decimal(0)


def _decimal(value: int, digits: int = 38) -> "ir.Value":
    import ibis

    return ibis.literal(Decimal(value), type=f"decimal({digits}, 0)")


@dataclass(frozen=True, slots=True, kw_only=True)
class CountInput:
    """A counted request: a label to look up in ``known``, or the bin itself if that is None."""

    request: "Request"
    value: "ir.Value"
    known: "Sequence[Any] | None"


def plan_sums(requests: "Sequence[Request]", rows: "Rows") -> list[SumInput]:
    """Return the inputs of summed requests, with distinct column names."""
    return [
        SumInput(request=request, columns=_name_columns(place, _steps(request, rows)))
        for place, request in enumerate(requests)
    ]


def _steps(request: "Request", rows: "Rows") -> "list[ir.Value]":
    import ibis

    axes = request.measure.axes
    if axes:
        steps = [rows.step(column, axis) for column, axis in zip(request.columns, axes, strict=True)]
        return steps if getattr(request.measure, "counts_missing", False) else _null_together(steps)
    present = [parenthesize(rows.value(column)).notnull() for column in request.columns]
    return [ibis.cases((ibis.and_(*present), integer_literal(1)), else_=null_literal("int64"))] if present else []


def _null_together(steps: "list[ir.Value]") -> "list[ir.Value]":
    """Return columns that are null where one of them is."""
    import ibis

    if len(steps) == 1:
        return steps
    all_there = ibis.and_(*(step.notnull() for step in steps))
    return [ibis.cases((all_there, step), else_=null_literal("int64")) for step in steps]


def _name_columns(place: int, steps: "list[ir.Value]") -> "dict[str, ir.Value]":
    return {f"x{place}_{number}": step for number, step in enumerate(steps)}


def plan_count(request: "Request", rows: "Rows") -> CountInput:
    """Return the input of a counted request: bins of an axis, or a column with a public list of values."""
    (column,), measure = request.columns, request.measure
    width = getattr(measure, "bin_width", 1)
    if measure.axes:
        step = rows.step(column, measure.axes[0])
        return CountInput(request=request, value=step if width == 1 else floor_divide(step, width), known=None)
    kind = kind_of(column, rows.kinds)
    values = kind.domain()
    if values is None or len(values) != measure.width:
        raise QueryError(f"Values can only be counted of a column with {measure.width} public values.")
    return CountInput(request=request, value=rows.label(column), known=[encode_value(value, kind) for value in values])
