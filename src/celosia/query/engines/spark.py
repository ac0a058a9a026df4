"""Spark: each query is one Spark job, and only its few results are fetched.

Sums are of decimals, which do not overflow. Times are counted as instants, so the time zone of the Spark session, which
is left unchanged, does not matter.
"""

import contextlib
import itertools
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from celosia.core.errors import QueryError, SchemaError
from celosia.core.exact import safe_repr
from celosia.core.extras import require
from celosia.data.sources.classify import Frame, IbisSource, SparkSource
from celosia.data.sources.frames import to_arrow
from celosia.query.engines.ibis import IbisEngine, hide_driver_errors
from celosia.query.engines.sanitize.preparation import columns_to_read
from celosia.query.execution.dialect import Dialect, engine_function

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.expr import types as ir

    from celosia.data.table import Table

_JOB_GROUP = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")  # of a thread
_SETTINGS = ("spark.sql.session.timeZone", "spark.sql.mapKeyDedupPolicy")  # what Ibis sets when it connects

_BINARY = "UTF8_BINARY"  # the collation that compares bytes
_ISO_OF_SPARK = (
    ("[.][0-9]+", ""),
    ("([ T][0-9]{1,2}:[0-9]{2})([-Z+])", "{1}:00{2}"),
    ("([-+][0-9]{2})$", "{1}:00"),
)  # without fractions, and with seconds and the minutes of an offset
_UNIQUE_NUMBERS = itertools.count()  # for unique names
_CONNECTING = threading.Lock()


class SparkDialect(Dialect):
    """How Spark counts and digests."""

    def __init__(self, backend: Any = None) -> None:
        self.backend = backend
        self._small: list[str] = []

    def days(self, date: "ir.Value") -> "ir.Value":
        """Return days since 1970."""
        return engine_function("unix_date", ("date",), "int32")(date).cast("int64")

    def seconds(self, moment: "ir.Value") -> "ir.Value":
        """Return seconds since 1970."""
        return engine_function("unix_seconds", ("timestamp",), "int64")(moment)

    def from_hexadecimal(self, digits: "ir.Value") -> "ir.Value":
        """Return the integer of hexadecimal digits."""
        return engine_function("conv", ("string", "int32", "int32"), "string")(digits, 16, 10).cast("int64")

    def total(self, number: "ir.Value", where: "ir.Value | None" = None) -> "ir.Value":
        """Return a sum of decimals: sums of integers overflow."""
        return number.cast("decimal(20, 0)").sum(where=where).cast("decimal(38, 0)")

    def matches(self, text: "ir.Value", pattern: str) -> "ir.Value":
        """Return whether a text matches; a mark is appended, because Java lets a line break pass before $."""
        return (text + "#").re_search(pattern.replace("$", "#$"))

    def rewrite(self, text: "ir.Value", pattern: str, template: str) -> "ir.Value":
        """Return a template with groups, which Java writes as $1."""
        replace = engine_function("regexp_replace", ("string", "string", "string"), "string")
        return replace(text, pattern, template.replace("{", "$").replace("}", ""))

    def to_timestamp(self, iso: "ir.Value") -> "ir.Value":
        """Return an instant to the second; Spark requires seconds, and the minutes of an offset."""
        for pattern, template in _ISO_OF_SPARK:
            iso = self.rewrite(iso, pattern, template)
        return iso.try_cast("timestamp('UTC')")

    def date(self, days: "ir.Value") -> "ir.Value":
        """Return the date of a number of days."""
        return engine_function("date_from_unix_date", ("int32",), "date")(days.cast("int32"))

    def truncate_days(self, days: "ir.Value", unit: str) -> "ir.Value":
        """Return the first day of a unit; Spark cannot truncate a date to a day."""
        if unit == "day":
            return days
        return self.days(engine_function("trunc", ("date", "string"), "date")(self.date(days), unit))

    def add_months(self, days: "ir.Value", number: int) -> "ir.Value":
        """Return a day some months later; the sum with an interval would be a time."""
        return self.days(engine_function("add_months", ("date", "int32"), "date")(self.date(days), number))

    def trim_letters(self, text: "ir.Value", letters: str, name: str) -> "ir.Value":
        """Return a text without letters at its ends; Spark takes the letters first for one end only."""
        if name == "trim":
            return super().trim_letters(text, letters, name)
        return engine_function(name, ("string", "string"), "string")(letters, text)

    def small_table(self, table: "pa.Table") -> "ir.Table":
        """Return a table as a temporary view of the session."""
        name = f"celosia_{next(_UNIQUE_NUMBERS)}"
        session = self.backend._session  # noqa: SLF001 - Ibis has no public access to it
        session.createDataFrame(_cast_to_utc(table)).createOrReplaceTempView(name)
        self._small.append(name)
        return self.backend.table(name)

    def drop_small_tables(self) -> None:
        """Drop the temporary views."""
        while self._small:
            self.backend._session.catalog.dropTempView(self._small.pop())  # noqa: SLF001 - as above


class SparkEngine(IbisEngine):
    """Engine for the DataFrames of one Spark session."""

    def dialect_of(self, name: str) -> Dialect:  # noqa: ARG002 - the same for all
        """Return the dialect, which is the same for all tables."""
        return self._dialect

    def run(self, query: "ir.Table") -> "Iterator[pa.RecordBatch]":
        """Run a query as a Spark job, of a job group of its own."""
        yield from hide_driver_errors(self._collect, "query.spark_failed")(query)

    def _collect(self, query: "ir.Table") -> "list[pa.RecordBatch]":
        with self._group_jobs():
            return self._session.sql(self.backend.compile(query)).toArrow().to_batches()  # type: ignore[no-any-return]

    @contextlib.contextmanager
    def _group_jobs(self) -> Iterator[None]:
        """Give the jobs of this thread a group that can be cancelled; then the thread's own group again."""
        if _is_remote(self._session):
            yield
            return
        jobs = self._session.sparkContext
        before = {name: jobs.getLocalProperty(name) for name in _JOB_GROUP}
        # Tags of the session do not reach the thread of the JVM that makes Arrow batches.
        jobs.setJobGroup(self._group, "celosia", interruptOnCancel=True)
        try:
            yield
        finally:
            for name, value in before.items():
                jobs.setLocalProperty(name, value)

    def interrupt(self) -> None:
        """Make the running query raise; a server of Spark Connect is waited for."""
        if not _is_remote(self._session):
            self._session.sparkContext.cancelJobGroup(self._group)

    def drop_small_tables(self) -> None:
        """Drop the small tables of the last query."""
        self._dialect.drop_small_tables()

    @property
    def _session(self) -> Any:
        return self.backend._session  # noqa: SLF001 - Ibis has no public access to it

    def connect(self) -> Any:
        """Return the Ibis backend of the Spark session."""
        backend = self._open_backend()
        self._group = f"celosia_{next(_UNIQUE_NUMBERS)}"
        self._dialect, self._public_dialect = SparkDialect(backend), SparkDialect(backend)
        self.call_on_close(self._public_dialect.drop_small_tables)
        return backend

    def _open_backend(self) -> Any:
        require("pyspark", extra="spark")
        import ibis

        sources = [table.source for table in self.tables.values() if not table.public]
        given = [source.expression.get_backend() for source in sources if isinstance(source, IbisSource)]
        sessions = [source.frame.sparkSession for source in sources if isinstance(source, SparkSource)]
        if len({id(one) for one in (*given, *sessions)}) > 1:
            raise QueryError("query.several_spark_sessions")
        if given:
            return given[0]
        with _CONNECTING, _keep_settings(sessions[0]):
            return ibis.pyspark.connect(sessions[0])

    def check_collations(self, table: "Table", raw: "ir.Table") -> None:
        """Raise if the person column has a collation in Spark's schema, or an Ibis table has any."""
        source = table.source
        frame = source.frame if isinstance(source, SparkSource) else self._session.sql(self.backend.compile(raw))
        under = set(_collated_columns(frame)).intersection(columns_to_read(table))
        if table.person in under:
            raise SchemaError(
                "query.person_with_collation", column=safe_repr(table.person), table=safe_repr(table.name)
            )
        if under and not isinstance(source, SparkSource):
            raise SchemaError(
                "query.spark_column_has_collation", column=safe_repr(min(under)), table=safe_repr(table.name)
            )

    def open_table(self, name: str, table: "Table") -> "ir.Table":
        """Return a DataFrame as a temporary view without collations."""
        match table.source:
            case IbisSource(expression=expression):
                return expression
            case SparkSource(frame=frame):
                view = f"celosia_{name}_{next(_UNIQUE_NUMBERS)}"
                _remove_collations(_cast_to_instants(frame)).createOrReplaceTempView(view)
                self.call_on_close(self._session.catalog.dropTempView, view)
                return self.backend.table(view)
            case Frame(frame=frame):  # of a public table
                return self._public_dialect.small_table(to_arrow(frame, list(table.schema)))
            case _:
                raise QueryError("query.join_leaves_spark_session")


def _cast_to_utc(table: "pa.Table") -> "pa.Table":
    """Return a table whose times without a zone are in UTC; Spark would read them in the session's zone."""
    import pyarrow as pa

    fields = [
        pa.field(field.name, pa.timestamp("us", tz="UTC"))
        if pa.types.is_timestamp(field.type) and field.type.tz is None
        else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def _cast_to_instants(frame: Any) -> Any:
    """Return the same of a DataFrame."""
    for field in frame.schema.fields:
        if field.dataType.typeName() == "timestamp_ntz":
            name = "`" + field.name.replace("`", "``") + "`"
            text = f"try_cast(concat(cast({name} AS STRING), 'Z') AS TIMESTAMP)"
            frame = frame.withColumn(field.name, _expression(text))
    return frame


def _remove_collations(frame: Any) -> Any:
    """Return a DataFrame whose texts are compared byte by byte."""
    for column in _collated_columns(frame):
        name = "`" + column.replace("`", "``") + "`"
        frame = frame.withColumn(column, _expression(f"collate({name}, '{_BINARY}')"))
    return frame


def _collated_columns(frame: Any) -> list[str]:
    """Return the names of the columns that have a collation."""
    fields = frame.schema.fields
    return [str(field.name) for field in fields if getattr(field.dataType, "collation", _BINARY) != _BINARY]


def _is_remote(session: Any) -> bool:
    """Return whether a session is one of Spark Connect, which has no context here."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def _expression(text: str) -> Any:
    from pyspark.sql.functions import expr

    return expr(text)


@contextlib.contextmanager
def _keep_settings(session: Any) -> Iterator[None]:
    before = {name: session.conf.get(name, None) for name in _SETTINGS}
    try:
        yield
    finally:
        for name, value in before.items():
            session.conf.unset(name) if value is None else session.conf.set(name, value)
