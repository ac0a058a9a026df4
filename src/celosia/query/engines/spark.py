"""Spark where its data are: each query is one Spark job, and only its few results come here.

Sums are of decimals, which do not overflow. Times are counted as instants, so that the time zone of the Spark session,
which is left as it was, has no say in them.
"""

import contextlib
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from celosia.core.errors import QueryError, SchemaError
from celosia.core.exact import safe_repr
from celosia.core.extras import require
from celosia.data.sources.classify import Frame, IbisSource, SparkSource
from celosia.data.sources.frames import to_arrow
from celosia.query.engines.collations import describe_merging
from celosia.query.engines.ibis import IbisEngine
from celosia.query.engines.sanitize.preparation import columns_read
from celosia.query.execution.dialect import Dialect, function

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.expr import types as ir

    from celosia.data.table import Table

_SETTINGS = ("spark.sql.session.timeZone", "spark.sql.mapKeyDedupPolicy")  # what Ibis sets when it connects

_BINARY = "UTF8_BINARY"  # the collation that compares bytes
_ISO_OF_SPARK = (
    ("[.][0-9]+", ""),
    ("([ T][0-9]{1,2}:[0-9]{2})([-Z+])", "{1}:00{2}"),
    ("([-+][0-9]{2})$", "{1}:00"),
)  # without fractions, and with seconds and the minutes of an offset
_NUMBERS = itertools.count()  # for names that are used once


class SparkDialect(Dialect):
    """How Spark counts and digests."""

    def __init__(self, backend: Any = None) -> None:
        self._backend = backend
        self._small: list[str] = []

    def days(self, date: "ir.Value") -> "ir.Value":
        """Return whole days since 1970."""
        return function("unix_date", ("date",), "int32")(date).cast("int64")

    def seconds(self, moment: "ir.Value") -> "ir.Value":
        """Return whole seconds since 1970."""
        return function("unix_seconds", ("timestamp",), "int64")(moment)

    def from_hexadecimal(self, digits: "ir.Value") -> "ir.Value":
        """Return the integer that hexadecimal digits write."""
        return function("conv", ("string", "int32", "int32"), "string")(digits, 16, 10).cast("int64")

    def total(self, number: "ir.Value", where: "ir.Value | None" = None) -> "ir.Value":
        """Return a sum of decimals: those of integers overflow."""
        return number.cast("decimal(20, 0)").sum(where=where).cast("decimal(38, 0)")

    def matches(self, text: "ir.Value", pattern: str) -> "ir.Value":
        """Return whether a text matches; a mark at its end, because Java lets a last line break pass before $."""
        return (text + "#").re_search(pattern.replace("$", "#$"))

    def rewrite(self, text: "ir.Value", pattern: str, template: str) -> "ir.Value":
        """Return a template with groups, which Java writes as $1."""
        replace = function("regexp_replace", ("string", "string", "string"), "string")
        return replace(text, pattern, template.replace("{", "$").replace("}", ""))

    def to_timestamp(self, iso: "ir.Value") -> "ir.Value":
        """Return an instant to the second; Spark wants seconds, and minutes of an offset."""
        for pattern, template in _ISO_OF_SPARK:
            iso = self.rewrite(iso, pattern, template)
        return iso.try_cast("timestamp('UTC')")

    def date(self, days: "ir.Value") -> "ir.Value":
        """Return the date of a number of days."""
        return function("date_from_unix_date", ("int32",), "date")(days.cast("int32"))

    def truncated(self, days: "ir.Value", unit: str) -> "ir.Value":
        """Return the first day of a unit; Spark truncates a date to no day."""
        if unit == "day":
            return days
        return self.days(function("trunc", ("date", "string"), "date")(self.date(days), unit))

    def months_later(self, days: "ir.Value", number: int) -> "ir.Value":
        """Return a day some months later; the sum with an interval would be a time."""
        return self.days(function("add_months", ("date", "int32"), "date")(self.date(days), number))

    def trimmed(self, text: "ir.Value", letters: str, name: str) -> "ir.Value":
        """Return a text without letters at its ends; Spark takes them first where only one end is meant."""
        if name == "trim":
            return super().trimmed(text, letters, name)
        return function(name, ("string", "string"), "string")(letters, text)

    def small_table(self, table: "pa.Table") -> "ir.Table":
        """Return a table as a temporary view of the session, until it is forgotten."""
        name = f"celosia_{next(_NUMBERS)}"
        session = self._backend._session  # noqa: SLF001 - Ibis has no other way to it
        session.createDataFrame(_in_utc(table)).createOrReplaceTempView(name)
        self._small.append(name)
        return self._backend.table(name)

    def forget(self) -> None:
        """Let go of the small tables."""
        while self._small:
            self._backend._session.catalog.dropTempView(self._small.pop())  # noqa: SLF001 - as above


class SparkEngine(IbisEngine):
    """An engine over the DataFrames of one Spark session."""

    def dialect_of(self, name: str) -> Dialect:  # noqa: ARG002 - the same for all
        """Return how the tables are read."""
        return self._dialect

    def run(self, query: "ir.Table") -> "Iterator[pa.RecordBatch]":
        """Run a query as a Spark job."""
        yield from self._session.sql(self._backend.compile(query)).toArrow().to_batches()

    def forget(self) -> None:
        """Let go of small tables."""
        self._dialect.forget()

    @property
    def _session(self) -> Any:
        return self._backend._session  # noqa: SLF001 - Ibis has no other way to it

    def _connected(self) -> Any:
        backend = self._opened()
        self._dialect, self._kept = SparkDialect(backend), SparkDialect(backend)
        self._finally(self._kept.forget)
        return backend

    def _opened(self) -> Any:
        require("pyspark", extra="spark")
        import ibis

        sources = [table.source for table in self.tables.values() if not table.public]
        given = [source.expression.get_backend() for source in sources if isinstance(source, IbisSource)]
        sessions = [source.frame.sparkSession for source in sources if isinstance(source, SparkSource)]
        if len({id(one) for one in (*given, *sessions)}) > 1:
            raise QueryError("The tables are in different Spark sessions: they must all be in one.")
        if given:
            return given[0]
        with _settings_kept(sessions[0]):
            return ibis.pyspark.connect(sessions[0])

    def _check_collations(self, table: "Table", raw: "ir.Table") -> None:
        """Refuse persons under a collation, which Spark's own schema tells, and Ibis tables with any."""
        source = table.source
        frame = source.frame if isinstance(source, SparkSource) else self._session.sql(self._backend.compile(raw))
        under = set(_collated(frame)).intersection(columns_read(table))
        if table.person in under:
            raise SchemaError(describe_merging(table))
        if under and not isinstance(source, SparkSource):
            raise SchemaError(
                f"The column {safe_repr(min(under))} of {safe_repr(table.name)} has a collation: pass a Spark "
                "DataFrame, whose texts are compared byte by byte, or cast the column to STRING."
            )

    def _table(self, name: str, table: "Table") -> "ir.Table":
        match table.source:
            case IbisSource(expression=expression):
                return expression
            case SparkSource(frame=frame):
                view = f"celosia_{name}_{next(_NUMBERS)}"
                _as_bytes(_as_instants(frame)).createOrReplaceTempView(view)
                self._finally(self._session.catalog.dropTempView, view)
                return self._backend.table(view)
            case Frame(frame=frame):  # of a public table
                return self._kept.small_table(to_arrow(frame, list(table.schema)))
            case _:
                raise QueryError("A Spark DataFrame can be joined with others of its session, and with public tables.")


def _in_utc(table: "pa.Table") -> "pa.Table":
    """Times without a zone, as those of UTC; Spark would read them in the zone of its session."""
    import pyarrow as pa

    fields = [
        pa.field(field.name, pa.timestamp("us", tz="UTC"))
        if pa.types.is_timestamp(field.type) and field.type.tz is None
        else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def _as_instants(frame: Any) -> Any:
    """The same of a DataFrame."""
    for field in frame.schema.fields:
        if field.dataType.typeName() == "timestamp_ntz":
            name = "`" + field.name.replace("`", "``") + "`"
            text = f"try_cast(concat(cast({name} AS STRING), 'Z') AS TIMESTAMP)"
            frame = frame.withColumn(field.name, _expression(text))
    return frame


def _as_bytes(frame: Any) -> Any:
    """A DataFrame whose texts are compared byte by byte, whatever their collation."""
    for column in _collated(frame):
        name = "`" + column.replace("`", "``") + "`"
        frame = frame.withColumn(column, _expression(f"collate({name}, '{_BINARY}')"))
    return frame


def _collated(frame: Any) -> list[str]:
    """The names of the columns that have a collation."""
    fields = frame.schema.fields
    return [str(field.name) for field in fields if getattr(field.dataType, "collation", _BINARY) != _BINARY]


def _expression(text: str) -> Any:
    from pyspark.sql.functions import expr

    return expr(text)


@contextlib.contextmanager
def _settings_kept(session: Any) -> Iterator[None]:
    before = {name: session.conf.get(name, None) for name in _SETTINGS}
    try:
        yield
    finally:
        for name, value in before.items():
            session.conf.unset(name) if value is None else session.conf.set(name, value)
