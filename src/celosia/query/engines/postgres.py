"""PostgreSQL: read-only transactions, results through a server-side cursor, no temporary objects.

Public lists are arrays in the text of a query, so no temporary table is needed. Their numbers have explicit 64-bit
types: a bare 3 is a 32-bit integer in PostgreSQL, a bare 0.5 a decimal. Some arithmetic raises an error only there: a
quotient that is nearly zero, a decimal beyond the doubles, a difference of infinite dates. A test precedes each of
them.
"""

import itertools
from typing import TYPE_CHECKING, Any

from celosia.core.errors import QueryError
from celosia.core.extras import require
from celosia.data.sources.classify import Database, Frame, IbisSource
from celosia.data.sources.frames import to_arrow
from celosia.query.engines.ibis import IbisEngine, to_batch
from celosia.query.execution.dialect import Dialect, double_literal, engine_function, integer_literal, null_literal
from celosia.query.plan.text_functions import CAPITALS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from ibis.expr import types as ir

    from celosia.data.table import Table

_BATCH_ROWS = 50_000
_CANCEL_SECONDS = 5.0
_NEGLIGIBLE = 1e-200  # a grid is at most 1e30: so near to zero, a number is at step 0
_CLIP_MAGNITUDE = 10**40  # bounds are within 1e30
_DECIMAL_PLACES = 60  # a grid is at least 1e-30

_FIRST_INFINITE = 2**1024 - 2**970  # from here on a double is infinite
_LAST_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

_UNIQUE_NUMBERS = itertools.count()  # for unique names


class PostgresDialect(Dialect):
    """How PostgreSQL counts and digests."""

    def days(self, date: "ir.Value") -> "ir.Value":
        """Return days since 1970; null for an infinite date."""
        import ibis

        finite, minus = (
            engine_function("isfinite", ("date",), "boolean"),
            engine_function("date_mi", ("date", "date"), "int32"),
        )
        return ibis.cases(
            (finite(date), minus(date, ibis.date("1970-01-01")).cast("int64")), else_=null_literal("int64")
        )

    def seconds(self, moment: "ir.Value") -> "ir.Value":
        """Return seconds since 1970; null for an infinite time."""
        import ibis

        kind = "timestamp" if moment.type().timezone is None else "timestamp('UTC')"
        finite, part = (
            engine_function("isfinite", (kind,), "boolean"),
            engine_function("date_part", ("string", kind), "float64"),
        )
        number = part("epoch", moment.truncate("s")).cast("int64")
        return ibis.cases((finite(moment), number), else_=null_literal("int64"))

    def from_hexadecimal(self, digits: "ir.Value") -> "ir.Value":
        """Return the integer of eight hexadecimal digits."""
        octets = engine_function("decode", ("string", "string"), "binary")(digits, "hex")
        octet = engine_function("get_byte", ("binary", "int32"), "int32")
        number = integer_literal(0)
        for place in range(4):
            number = number * integer_literal(256) + octet(octets, place).cast("int64")
        return number

    def remove_collation(self, text: "ir.Value") -> "ir.Value":
        """Return a string under the collation "C", which keeps different strings of any type or collation distinct."""
        from celosia.query.engines.postgres_compiler import BinaryString

        return BinaryString(text).to_expr()

    def finite_decimal(self, number: "ir.Value") -> "ir.Value":
        """Return a decimal number, or null for NaN and infinities; NaN is the largest number."""
        import ibis

        infinity = ibis.literal("Infinity").cast("decimal")
        beyond = (number >= infinity) | (number <= ibis.literal("-Infinity").cast("decimal"))
        return ibis.cases((beyond, null_literal("decimal")), else_=number)

    def from_decimal(self, number: "ir.Value") -> "ir.Value":
        """Return a decimal number as a double; numbers too large are clipped later, numbers too small become zero."""
        import ibis

        far = ibis.literal(str(_CLIP_MAGNITUDE)).cast("decimal")
        round_ = engine_function("round", ("decimal", "int32"), "decimal")
        clean = self.finite_decimal(number)
        return ibis.cases(
            (clean > far, double_literal(float(_CLIP_MAGNITUDE))),
            (clean < -far, double_literal(-float(_CLIP_MAGNITUDE))),
            else_=round_(clean, _DECIMAL_PLACES).cast("float64"),
        )

    def matches(self, text: "ir.Value", pattern: str) -> "ir.Value":
        """Return whether a text matches: the function of the operator ~, which every version has."""
        return engine_function("textregexeq", ("string", "string"), "boolean")(text, pattern)

    def to_number(self, text: "ir.Value") -> "ir.Value":
        """Return a text as a double, by way of a decimal, which holds every exponent of three digits."""
        import ibis

        number, end = text.cast("decimal"), ibis.literal(str(_FIRST_INFINITE)).cast("decimal")
        return ibis.cases(
            ((number >= end) | (number <= -end), null_literal("float64")), else_=self.from_decimal(number)
        )

    def to_date(self, iso: "ir.Value") -> "ir.Value":
        """Return a date; null if its month has no such day."""
        import ibis

        make = engine_function("make_date", ("int32", "int32", "int32"), "date")
        year, month, day = (_date_part(iso, place).cast("int32") for place in (1, 2, 3))
        return ibis.cases((_is_day(iso), make(year, month, day)), else_=null_literal("date"))

    def to_timestamp(self, iso: "ir.Value") -> "ir.Value":
        """Return an instant to the second; null if its month has no such day."""
        import ibis

        plain = iso.replace("T", " ").re_replace("[.][0-9]+", "")
        known = ibis.cases((_is_day(self.first_word(iso)), plain), else_=null_literal("string"))
        return known.cast("timestamp('UTC')")

    def flush_tiny(self, number: "ir.Value") -> "ir.Value":
        """Return zero for numbers so small that a quotient could underflow."""
        import ibis

        near = (number < double_literal(_NEGLIGIBLE)) & (number > double_literal(-_NEGLIGIBLE))
        return ibis.cases((near, double_literal(0.0)), else_=number)

    def date(self, days: "ir.Value") -> "ir.Value":
        """Return the date of a number of days."""
        import ibis

        return engine_function("date_pli", ("date", "int32"), "date")(ibis.date(1970, 1, 1), days.cast("int32"))

    def truncate_days(self, days: "ir.Value", unit: str) -> "ir.Value":
        """Return the first day of a unit; PostgreSQL truncates to a time, which is cast back to a date."""
        return self.days(_cast_to_date(self.date(days).truncate(unit[0].upper())))

    def add_months(self, days: "ir.Value", number: int) -> "ir.Value":
        """Return a day some months later; the sum is a time, which is cast back to a date."""
        import ibis

        return self.days(_cast_to_date(self.date(days) + ibis.interval(months=number)))

    def change_case(self, text: "ir.Value", old: str, new: str) -> "ir.Value":
        """Return a text in the other case: an ASCII text by the collation "C", which is much faster."""
        import ibis

        octets, length = (engine_function(name, ("string",), "int32") for name in ("octet_length", "length"))
        fast = engine_function("upper" if new == CAPITALS else "lower", ("string",), "string")(
            self.remove_collation(text)
        )
        return ibis.cases((octets(text) == length(text), fast), else_=super().change_case(text, old, new))

    def small_table(self, table: "pa.Table") -> "ir.Table":
        """Return a table as arrays in the query, unnested side by side."""
        import ibis

        one = ibis.literal(1).name("one").as_table()
        return one.select(**{name: _array_literal(table.column(name)).unnest() for name in table.column_names})


class PostgresEngine(IbisEngine):
    """Engine for the tables of one PostgreSQL database."""

    _dialect = PostgresDialect()

    def dialect_of(self, name: str) -> Dialect:  # noqa: ARG002 - the same for all
        """Return the dialect, which is the same for all tables."""
        return self._dialect

    def run(self, query: "ir.Table") -> "Iterator[pa.RecordBatch]":
        """Run a query in a read-only transaction and yield its results from a server-side cursor."""
        from celosia.query.engines.postgres_compiler import compile_query

        schema = query.schema().to_pyarrow()
        connection = self.backend.con
        with connection.transaction(), connection.cursor(name=f"celosia_{next(_UNIQUE_NUMBERS)}") as cursor:
            connection.execute("SET TRANSACTION READ ONLY")
            if self.time_limit is not None:  # ends the query even if this process is gone
                connection.execute(f"SET LOCAL statement_timeout = {round(self.time_limit * 1_000)}")
            cursor.execute(compile_query(query))
            while rows := cursor.fetchmany(_BATCH_ROWS):
                yield to_batch(rows, schema)

    def interrupt(self) -> None:
        """Make the running query raise."""
        self.backend.con.cancel_safe(timeout=_CANCEL_SECONDS)

    def connect(self) -> Any:
        """Return the owner's connection, or a new one to the address of the tables."""
        require("psycopg", extra="postgres")
        import ibis

        sources = [table.source for table in self.tables.values() if not table.public]
        given = [source.expression.get_backend() for source in sources if isinstance(source, IbisSource)]
        urls = {source.url for source in sources if isinstance(source, Database)}
        if len(urls) + len({id(backend) for backend in given}) > 1:
            raise QueryError("query.several_databases")
        if given:
            return given[0]
        backend = ibis.connect(urls.pop())
        self.call_on_close(backend.disconnect)
        return backend

    def open_table(self, name: str, table: "Table") -> "ir.Table":  # noqa: ARG002 - the source has its name there
        """Return a table of the database, or a public table as arrays."""
        match table.source:
            case IbisSource(expression=expression):
                return expression
            case Database(table=there, schema=schema):
                return self.backend.table(there, database=schema)
            case Frame(frame=frame):  # of a public table
                return self._dialect.small_table(to_arrow(frame, list(table.schema)))
            case _:
                raise QueryError("query.join_leaves_database")


def _date_part(iso: "ir.Value", place: int) -> "ir.Value":
    """Return the digits of the year, month or day of an ISO date."""
    return engine_function("split_part", ("string", "string", "int64"), "string")(iso, "-", place)


def _is_day(iso: "ir.Value") -> "ir.Value":
    """Return whether a day exists: PostgreSQL raises an error on the 30th of February."""
    import ibis

    year, month, day = (_date_part(iso, place).cast("int64") for place in (1, 2, 3))
    last = ibis.cases(
        *((month == integer_literal(m), integer_literal(d)) for m, d in enumerate(_LAST_DAYS, 1)),
        else_=integer_literal(0),
    )
    leap = (year % integer_literal(4) == integer_literal(0)) & (
        (year % integer_literal(100) != integer_literal(0)) | (year % integer_literal(400) == integer_literal(0))
    )
    return (day <= last) & ((month != integer_literal(2)) | (day <= integer_literal(28)) | leap)


def _cast_to_date(moment: "ir.Value") -> "ir.Value":
    """Return a cast that Ibis would leave out, because it takes the time for a date already."""
    return engine_function("date", ("date",), "date")(moment)


def _array_literal(column: "pa.ChunkedArray") -> "ir.Value":
    """Return an array literal with an explicit type: Ibis writes bare numbers, and no empty arrays."""
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
