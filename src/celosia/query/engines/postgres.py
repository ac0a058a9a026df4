"""PostgreSQL where it is: transactions that only read, results through a cursor on the server, nothing left behind.

Public lists travel in the text of a query, as arrays, so that no temporary table is needed. Their numbers are written
with their 64-bit types: a bare 3 is a 32-bit integer to PostgreSQL, a bare 0.5 a decimal. Some arithmetic is an error
there that is none elsewhere: a quotient that is nearly zero, a decimal beyond the doubles, a difference of infinite
dates. Each is caught by a test that comes before it.
"""

import itertools
from typing import TYPE_CHECKING, Any

from celosia.core.errors import QueryError
from celosia.core.extras import require
from celosia.data.sources.classify import Database, Frame, IbisSource
from celosia.data.sources.frames import to_arrow
from celosia.query.engines.ibis import IbisEngine
from celosia.query.execution.dialect import Dialect, double, function, integer_literal, no
from celosia.query.plan.text_functions import CAPITALS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from ibis.expr import types as ir

    from celosia.data.table import Table

_BATCH = 50_000
_NEGLIGIBLE = 1e-200  # a grid is at most 1e30: so near to zero, a number is at step 0
_FAR = 10**40  # bounds are within 1e30
_PLACES = 60  # a grid is at least 1e-30

_INFINITE = 2**1024 - 2**970  # from here on a double is infinite
_LAST_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

_NUMBERS = itertools.count()  # for names that are used once


class PostgresDialect(Dialect):
    """How PostgreSQL counts and digests."""

    def days(self, date: "ir.Value") -> "ir.Value":
        """Return whole days since 1970; null for an infinite date."""
        import ibis

        finite, minus = function("isfinite", ("date",), "boolean"), function("date_mi", ("date", "date"), "int32")
        return ibis.cases((finite(date), minus(date, ibis.date("1970-01-01")).cast("int64")), else_=no("int64"))

    def seconds(self, moment: "ir.Value") -> "ir.Value":
        """Return whole seconds since 1970; null for an infinite time."""
        import ibis

        kind = "timestamp" if moment.type().timezone is None else "timestamp('UTC')"
        finite, part = function("isfinite", (kind,), "boolean"), function("date_part", ("string", kind), "float64")
        number = part("epoch", moment.truncate("s")).cast("int64")
        return ibis.cases((finite(moment), number), else_=no("int64"))

    def from_hexadecimal(self, digits: "ir.Value") -> "ir.Value":
        """Return the integer that eight hexadecimal digits write."""
        octets = function("decode", ("string", "string"), "binary")(digits, "hex")
        octet = function("get_byte", ("binary", "int32"), "int32")
        number = integer_literal(0)
        for place in range(4):
            number = number * integer_literal(256) + octet(octets, place).cast("int64")
        return number

    def binary(self, text: "ir.Value") -> "ir.Value":
        """Return a string under the collation "C"; neither citext nor a collation holds different ones equal."""
        from celosia.query.engines.postgres_compiler import BinaryString

        return BinaryString(text).to_expr()

    def numeric(self, number: "ir.Value") -> "ir.Value":
        """Return a decimal number, or null for NaN and infinities; NaN counts as largest."""
        import ibis

        infinity = ibis.literal("Infinity").cast("decimal")
        beyond = (number >= infinity) | (number <= ibis.literal("-Infinity").cast("decimal"))
        return ibis.cases((beyond, no("decimal")), else_=number)

    def from_decimal(self, number: "ir.Value") -> "ir.Value":
        """Return a decimal number as a double; what is too far away is clipped later, what is too near is zero."""
        import ibis

        far = ibis.literal(str(_FAR)).cast("decimal")
        round_ = function("round", ("decimal", "int32"), "decimal")
        clean = self.numeric(number)
        return ibis.cases(
            (clean > far, double(float(_FAR))),
            (clean < -far, double(-float(_FAR))),
            else_=round_(clean, _PLACES).cast("float64"),
        )

    def matches(self, text: "ir.Value", pattern: str) -> "ir.Value":
        """Return whether a text matches: the operator ~, of which every version has the function."""
        return function("textregexeq", ("string", "string"), "boolean")(text, pattern)

    def to_number(self, text: "ir.Value") -> "ir.Value":
        """Return a text as a double, by way of a decimal, which has room for every exponent of three digits."""
        import ibis

        number, end = text.cast("decimal"), ibis.literal(str(_INFINITE)).cast("decimal")
        return ibis.cases(((number >= end) | (number <= -end), no("float64")), else_=self.from_decimal(number))

    def to_date(self, iso: "ir.Value") -> "ir.Value":
        """Return a date, if its month has such a day."""
        import ibis

        make = function("make_date", ("int32", "int32", "int32"), "date")
        year, month, day = (_part(iso, place).cast("int32") for place in (1, 2, 3))
        return ibis.cases((_is_day(iso), make(year, month, day)), else_=no("date"))

    def to_timestamp(self, iso: "ir.Value") -> "ir.Value":
        """Return an instant to the second, if its month has such a day."""
        import ibis

        plain = iso.replace("T", " ").re_replace("[.][0-9]+", "")
        known = ibis.cases((_is_day(self.first_word(iso)), plain), else_=no("string"))
        return known.cast("timestamp('UTC')")

    def divisible(self, number: "ir.Value") -> "ir.Value":
        """Return zero for what is so near to it that a quotient could vanish."""
        import ibis

        near = (number < double(_NEGLIGIBLE)) & (number > double(-_NEGLIGIBLE))
        return ibis.cases((near, double(0.0)), else_=number)

    def date(self, days: "ir.Value") -> "ir.Value":
        """Return the date of a number of days."""
        import ibis

        return function("date_pli", ("date", "int32"), "date")(ibis.date(1970, 1, 1), days.cast("int32"))

    def truncated(self, days: "ir.Value", unit: str) -> "ir.Value":
        """Return the first day of a unit; what PostgreSQL truncates is a time, and a date again here."""
        return self.days(_as_date(self.date(days).truncate(unit[0].upper())))

    def months_later(self, days: "ir.Value", number: int) -> "ir.Value":
        """Return a day some months later; the sum is a time as well."""
        import ibis

        return self.days(_as_date(self.date(days) + ibis.interval(months=number)))

    def cased(self, text: "ir.Value", old: str, new: str) -> "ir.Value":
        """Return a text in the other case: an ASCII text by the collation "C", which is much faster."""
        import ibis

        octets, length = (function(name, ("string",), "int32") for name in ("octet_length", "length"))
        fast = function("upper" if new == CAPITALS else "lower", ("string",), "string")(self.binary(text))
        return ibis.cases((octets(text) == length(text), fast), else_=super().cased(text, old, new))

    def small_table(self, table: "pa.Table") -> "ir.Table":
        """Return a table as arrays in the query itself, unnested side by side."""
        import ibis

        one = ibis.literal(1).name("one").as_table()
        return one.select(**{name: _array(table.column(name)).unnest() for name in table.column_names})


class PostgresEngine(IbisEngine):
    """An engine over the tables of one PostgreSQL database."""

    _dialect = PostgresDialect()

    def dialect_of(self, name: str) -> Dialect:  # noqa: ARG002 - the same for all
        """Return how the tables are read."""
        return self._dialect

    def run(self, query: "ir.Table") -> "Iterator[pa.RecordBatch]":
        """Run a query in a transaction that can only read; results come through a cursor on the server."""
        import pyarrow as pa

        from celosia.query.engines.postgres_compiler import compile_query

        schema = query.schema().to_pyarrow()
        connection = self._backend.con
        with connection.transaction(), connection.cursor(name=f"celosia_{next(_NUMBERS)}") as cursor:
            connection.execute("SET TRANSACTION READ ONLY")
            cursor.execute(compile_query(query))
            while rows := cursor.fetchmany(_BATCH):
                columns = zip(*rows, strict=True)
                arrays = [pa.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)]
                yield pa.record_batch(arrays, schema=schema)

    def _connected(self) -> Any:
        require("psycopg", extra="postgres")
        import ibis

        sources = [table.source for table in self.tables.values() if not table.public]
        given = [source.expression.get_backend() for source in sources if isinstance(source, IbisSource)]
        urls = {source.url for source in sources if isinstance(source, Database)}
        if len(urls) + len({id(backend) for backend in given}) > 1:
            raise QueryError("The tables are in different databases: they must all be in one.")
        if given:
            return given[0]
        backend = ibis.connect(urls.pop())
        self._finally(backend.disconnect)
        return backend

    def _table(self, name: str, table: "Table") -> "ir.Table":  # noqa: ARG002 - it has another there
        match table.source:
            case IbisSource(expression=expression):
                return expression
            case Database(table=there, schema=schema):
                return self._backend.table(there, database=schema)
            case Frame(frame=frame):  # of a public table
                return self._dialect.small_table(to_arrow(frame, list(table.schema)))
            case _:
                raise QueryError("A table in a database can be joined with others there, and with public ones.")


def _part(iso: "ir.Value", place: int) -> "ir.Value":
    """Year, month or day of an ISO date, as digits."""
    return function("split_part", ("string", "string", "int64"), "string")(iso, "-", place)


def _is_day(iso: "ir.Value") -> "ir.Value":
    """Whether there is such a day: PostgreSQL raises an error on the 30th of February."""
    import ibis

    year, month, day = (_part(iso, place).cast("int64") for place in (1, 2, 3))
    last = ibis.cases(
        *((month == integer_literal(m), integer_literal(d)) for m, d in enumerate(_LAST_DAYS, 1)),
        else_=integer_literal(0),
    )
    leap = (year % integer_literal(4) == integer_literal(0)) & (
        (year % integer_literal(100) != integer_literal(0)) | (year % integer_literal(400) == integer_literal(0))
    )
    return (day <= last) & ((month != integer_literal(2)) | (day <= integer_literal(28)) | leap)


def _as_date(moment: "ir.Value") -> "ir.Value":
    """A cast that Ibis would leave out, because it takes the moment for a date already."""
    return function("date", ("date",), "date")(moment)


def _array(column: "pa.ChunkedArray") -> "ir.Value":
    """An array literal of its own type: Ibis writes numbers bare, and cannot write an array without items."""
    import ibis
    import pyarrow as pa
    from ibis.expr import datatypes

    if pa.types.is_integer(column.type):
        column = column.cast(pa.decimal128(20, 0) if column.type == pa.uint64() else pa.int64())
    elif pa.types.is_floating(column.type):
        column = column.cast(pa.float64())
    items, kind = column.to_pylist(), datatypes.Array(datatypes.DataType.from_pyarrow(column.type))
    if items and not pa.types.is_int64(column.type) and not pa.types.is_float64(column.type):
        return ibis.literal(items, type=kind)
    text = ",".join("NULL" if item is None else repr(item) for item in items)
    return ibis.literal(f"{{{text}}}").cast(kind)
