"""Summaries of rows: the integer columns that requests need of each row, and their sums in one pass.

A request is *summed* (features of a row are added up), *counted* (rows are counted by value or bin) or *distinct*. A
row without a value in a request's columns has nulls there, and adds nothing.

The features of a measure are written once, with ``+``, ``-`` and ``*``. Evaluated on polynomials instead of numbers
they show which sums are needed: the sum of ``R - k`` over n rows is ``R n`` minus the sum of ``k``. So a count, a sum
and a mean cost an engine one sum and one count, as they do without privacy.

``RowLevel`` serves tables in which every row is its own unit. Rows are grouped by the raw key columns, and results are
looked up here. That is faster than filtering by known keys in the engine, and memory stays flat, because unknown keys
are dropped batch by batch. Sums arrive as decimals of 38 digits and are read as two 64-bit words.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import QueryError
from celosia.data.schema.columns import Boolean, Category, Date, Kind, Real, Text, Timestamp
from celosia.query.execution.clean import encode_value
from celosia.query.execution.dialect import Dialect, floor_divide, integer_literal, null_literal, parenthesize
from celosia.query.plan.expressions import kind_of
from celosia.statistics import Bins, Choice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from ibis.expr import types as ir
    from numpy.typing import NDArray

    from celosia.query.engines.base import Request
    from celosia.query.execution.rows import Rows
    from celosia.query.plan.nodes import Key
    from celosia.query.planning.cells import Cells

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
    import ibis

    found = []
    for place, request in enumerate(requests):
        axes, steps = request.measure.axes, []
        if axes:
            steps = [rows.step(column, axis) for column, axis in zip(request.columns, axes, strict=True)]
            steps = steps if getattr(request.measure, "counts_missing", False) else _null_together(steps)
        elif request.columns:
            present = [parenthesize(rows.value(column)).notnull() for column in request.columns]
            steps = [ibis.cases((ibis.and_(*present), integer_literal(1)), else_=null_literal("int64"))]
        found.append(SumInput(request=request, columns={f"x{place}_{j}": step for j, step in enumerate(steps)}))
    return found


def _null_together(steps: "list[ir.Value]") -> "list[ir.Value]":
    """Return columns that are null where one of them is."""
    import ibis

    if len(steps) == 1:
        return steps
    all_there = ibis.and_(*(step.notnull() for step in steps))
    return [ibis.cases((all_there, step), else_=null_literal("int64")) for step in steps]


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
        raise QueryError("query.counted_values_not_public", wanted=measure.width)
    return CountInput(request=request, value=rows.label(column), known=[encode_value(value, kind) for value in values])


@dataclass(frozen=True, slots=True)
class Summary:
    """A query in the engine, and how its results add up to arrays.

    ``most_rows`` is the largest number of results, None if it depends on the data.
    """

    query: "ir.Table"
    add_up: "Callable[[Iterable[pa.RecordBatch]], list[NDArray[Any]]]"
    most_rows: int | None = None


class RowLevel:
    """Queries over rows, grouped by keys."""

    def __init__(self, rows: "Rows", keys: "Sequence[Key]", cells: "Cells") -> None:
        self._rows, self._cells = rows, cells
        self._keys = {f"k{place}": rows.label(key.expression) for place, key in enumerate(keys)}
        self._known = [
            encode_labels(values, kind_of(key.expression, rows.kinds))
            for key, values in zip(keys, cells.values, strict=True)
        ]

    def sums(self, requests: Sequence[SumInput]) -> Summary:
        """Return the query of the sums of all requests."""
        inputs = {name: value for request in requests for name, value in request.columns.items()}
        table = self._table(inputs)
        made = [request.sums(table, self._rows.dialect) for request in requests]
        flat = {f"s{place}": value for place, value in enumerate(value for values in made for value in values)}
        return self._summarize(table, flat, list(map(len, made)))

    def counts(self, counted: CountInput) -> Summary:
        """Return the query of the number of rows by value."""
        import pyarrow as pa

        table = self._table({"value": counted.value})
        table = table.filter(table.value.notnull())
        width = counted.request.measure.width
        known = None if counted.known is None else pa.array(counted.known)

        def add_up(batches: "Iterable[pa.RecordBatch]") -> "list[NDArray[Any]]":
            sums = Sums(len(self._cells), width)
            for places, (values, numbers) in self._locate(batches):
                codes = to_integers(values) if known is None else find_codes(values, known)
                sums.add(places, codes, to_integers(numbers))
            return [sums.array]

        return Summary(self._aggregate(table, [*self._keys, "value"], {"rows": table.count()}), add_up)

    def distinct(self, value: "ir.Value") -> Summary:
        """Return the query of the number of distinct values."""
        table = self._table({"value": value})
        table = table.filter(table.value.notnull()).distinct()
        return self._summarize(table, {"rows": table.count()}, [1])

    def _summarize(self, table: "ir.Table", made: "dict[str, ir.Value]", widths: list[int]) -> Summary:
        """Return the query of aggregates by key, which fill arrays of these widths one after the other."""

        def add_up(batches: "Iterable[pa.RecordBatch]") -> "list[NDArray[Any]]":
            found = [Sums(len(self._cells), width) for width in widths]
            where = [(sums, column) for sums, width in zip(found, widths, strict=True) for column in range(width)]
            for places, columns in self._locate(batches):
                for (sums, place), column in zip(where, columns, strict=True):
                    sums.add(places, place, to_integers(column))
            return [sums.array for sums in found]

        return Summary(self._aggregate(table, list(self._keys), made), add_up, None if self._keys else 1)

    def _table(self, inputs: "dict[str, ir.Value]") -> "ir.Table":
        columns = self._keys | inputs
        return self._rows.table.select(**columns) if columns else self._rows.table

    @staticmethod
    def _aggregate(table: "ir.Table", keys: list[str], made: "dict[str, ir.Value]") -> "ir.Table":
        return table.group_by(keys).aggregate(**made) if keys else table.aggregate(**made)

    def _locate(self, batches: "Iterable[pa.RecordBatch]") -> "Iterator[tuple[NDArray[np.int64], list[pa.Array]]]":
        """Yield the cell of each result, and the columns after its keys."""
        keys = len(self._keys)
        for batch in batches:
            codes = [find_codes(c, known) for c, known in zip(batch.columns[:keys], self._known, strict=True)]
            places = self._cells.places(*codes) if codes else np.zeros(batch.num_rows, dtype=np.int64)
            yield places, batch.columns[keys:]


# ------------------------------------------------------------------------------------------ results of the engine


def encode_labels(values: "Iterable[Any]", kind: Kind) -> "pa.Array":
    """Return public values as their codes in an engine: texts, or 64-bit integers."""
    import pyarrow as pa

    texts = isinstance(kind, Text) or (isinstance(kind, Category) and isinstance(kind.values[0], str))
    return pa.array([encode_value(value, kind) for value in values], type=pa.string() if texts else pa.int64())


def find_codes(column: "pa.Array", known: "pa.Array") -> "NDArray[np.int64]":
    """Return the position of each label in a list; -1 if it is absent."""
    import pyarrow.compute as pc

    places = pc.index_in(column.cast(known.type), value_set=known, skip_nulls=True)
    codes: NDArray[np.int64] = places.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def to_integers(column: "pa.Array") -> "NDArray[Any]":
    """Return integers or whole decimals as int64, or as Python integers if one is larger; null is 0."""
    import pyarrow as pa

    if not pa.types.is_decimal(column.type):
        numbers: NDArray[np.int64] = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        return numbers
    filled = column.cast(pa.decimal128(38, 0)).fill_null(0)
    words = np.frombuffer(filled.buffers()[1], dtype=np.int64)[2 * filled.offset : 2 * (filled.offset + len(filled))]
    low, high = words[0::2], words[1::2]
    if np.array_equal(low >> 63, high):
        return low.copy()
    return np.array([(int(h) << 64) + (int(w) & (2**64 - 1)) for w, h in zip(low, high, strict=True)], dtype=object)


class Sums:
    """Dense array, cells by width, that accumulates results."""

    def __init__(self, cells: int, width: int) -> None:
        self.array: NDArray[Any] = np.zeros((cells, width), dtype=np.int64)

    def add(self, places: "NDArray[np.int64]", columns: "int | NDArray[np.int64]", values: "NDArray[Any]") -> None:
        """Add values at these cells and columns; -1 is no cell or no column."""
        inside = (places >= 0) & (np.asarray(columns) >= 0)
        if values.dtype == object and self.array.dtype != object:
            self.array = self.array.astype(object)
        where = np.broadcast_to(columns, places.shape)[inside]
        np.add.at(self.array, (places[inside], where), values[inside])


def decode_labels(column: "pa.Array", kind: Kind) -> "pa.Array":
    """Return labels as values of their kind: dates, times and booleans in Arrow's own types."""
    import pyarrow as pa
    import pyarrow.compute as pc

    match kind:
        case Boolean():
            return column.cast(pa.bool_())
        case Date():
            return column.cast(pa.int32()).cast(pa.date32())
        case Timestamp():
            return column.cast(pa.timestamp("s", tz="UTC"))
        case Real():
            return pc.multiply(column.cast(pa.float64()), float(kind.axis.grid))
        case _:
            return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
