"""DuckDB inside the process, for files that may exceed memory, and frames of any library.

Files are streamed; data that exceed memory spill to a folder of this engine alone, which is removed with it. The engine
may read the files of its tables and nothing else. CSV files are read as texts, and each text is parsed as the schema
declares: nothing is inferred from the rows. Rows that DuckDB cannot read are found and copied when the tables are
opened (``sanitize.preparation``), so no query fails or slows down because of one. Every query reads all rows: blocks
are not skipped by their statistics, or the time of a query would show whether one row lies outside the others' range.
"""

import contextlib
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from celosia.core.errors import QueryError
from celosia.core.exact import safe_repr
from celosia.data.sources.classify import Frame, IbisSource
from celosia.data.sources.files import Files
from celosia.data.sources.text_values import MAX_NUMBER_LENGTH
from celosia.query.engines.duckdb_views import check_parquet, check_stored, reader_sql
from celosia.query.engines.ibis import IbisEngine, keep, to_batch
from celosia.query.engines.sanitize.preparation import CheckedFiles, columns_to_read, remove_folder
from celosia.query.execution.clean import read_column
from celosia.query.execution.compile import PARAMETER
from celosia.query.execution.dialect import Dialect, double_literal, engine_function, integer_literal
from celosia.query.execution.rows import compare_by_bytes
from celosia.query.plan.text_functions import CAPITALS, SMALL, write_pattern
from celosia.query.plan.to_sql import quote_name, quote_text

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.expr import types as ir

    from celosia.data.table import Table

_BATCH_ROWS = 100_000
_FEW_ROWS = 1_000  # results that are read one by one
_POLL_SECONDS = 0.1
# Optimizers that skip blocks of rows. Without filter_pushdown, DuckDB 2.0.0 answers ROW_NUMBER() - 1 < n wrongly.
_SKIPPING = ("join_filter_pushdown", "row_group_pruner", "statistics_propagation")
_NANOSECONDS = 9
_BINARY = ("", "binary", "c", "posix")  # collations that compare bytes
_SAME_CASES = f"[\\x00-\\x7F{SMALL}{CAPITALS}]*"  # texts for which DuckDB's upper and lower agree with ours


class DuckDBDialect(Dialect):
    """How DuckDB counts and digests."""

    def __init__(self, backend: Any = None) -> None:
        self.backend = backend
        self.small: list[str] = []

    def days(self, date: "ir.Value") -> "ir.Value":
        """Return days since 1970; DuckDB returns null for an infinite date."""
        import ibis

        return date.delta(ibis.date(1970, 1, 1), unit="day")

    def seconds(self, moment: "ir.Value") -> "ir.Value":
        """Return seconds since 1970; null for an infinite time, or one out of range."""
        import ibis

        if moment.type().timezone is not None:  # a difference would use a calendar, which has a first year
            return _whole_seconds(engine_function("epoch_us", ("timestamp('UTC')",), "int64")(moment), 10**6)
        if moment.type().scale == _NANOSECONDS:  # DuckDB would round them to microseconds first
            return _whole_seconds(engine_function("epoch_ns", ("timestamp(9)",), "int64")(moment), 10**9)
        return moment.try_cast("timestamp(6)").delta(ibis.timestamp("1970-01-01 00:00:00"), unit="second")

    def from_hexadecimal(self, digits: "ir.Value") -> "ir.Value":
        """Return the integer of hexadecimal digits."""
        import ibis

        return (ibis.literal("0x") + digits).cast("int64")

    def first_word(self, text: "ir.Value") -> "ir.Value":
        """Return the text itself: DuckDB ignores the time when it reads a date."""
        return text

    def prefer_cast(self, text: "ir.Value", number: "ir.Value") -> "ir.Value":
        """Return the number of most texts by a cast alone, which takes half the time of a pattern.

        The cast accepts more than numbers: blanks of other kinds, underscores, infinities, two signs. It accepts none
        of them if a text begins with a digit, a point or a minus, has no underscore, and can be given an exponent of 0.
        """
        import ibis

        plain = text.between("-", ":") & ~text.contains("_") & (text.length() <= MAX_NUMBER_LENGTH)
        scaled = ibis.cases((plain, text + "e0"), else_=ibis.literal(None, type="string"))
        return ibis.coalesce(scaled.try_cast("float64"), number)

    def date(self, days: "ir.Value") -> "ir.Value":
        """Return the date of a number of days."""
        return engine_function("make_date", ("int32",), "date")(days.cast("int32"))

    def change_case(self, text: "ir.Value", old: str, new: str) -> "ir.Value":
        """Return a text in the other case: by DuckDB's own, much faster function where it is equal."""
        import ibis

        known = engine_function("regexp_full_match", ("string", "string"), "boolean")(text, _SAME_CASES)
        fast = engine_function("upper" if new == CAPITALS else "lower", ("string",), "string")(text)
        return ibis.cases((known, fast), else_=super().change_case(text, old, new))

    def is_like(self, text: "ir.Value", parts: Sequence[str | int]) -> "ir.Value":
        """Return whether a text matches a pattern; DuckDB's LIKE has no default escape."""
        if not {"%", "_"} & set(parts):
            return text.like(write_pattern(parts, ""))
        like = engine_function("like_escape", ("string", "string", "string"), "boolean")
        return like(text, write_pattern(parts, "%_\\"), "\\")

    def hide_condition(self, condition: "ir.Value") -> "ir.Value":
        """Return an equal condition that DuckDB does not push into the scan of a file."""
        return (condition.cast("int64") & integer_literal(1)) == integer_literal(1)

    def hide_number(self, number: "ir.Value") -> "ir.Value":
        """Return an equal number of whose comparisons DuckDB does not use the statistics of a file."""
        return number ^ integer_literal(0) if number.type().is_integer() else number + double_literal(0.0)

    def small_table(self, table: "pa.Table") -> "ir.Table":
        """Return an Arrow table under a temporary name; DuckDB reads it in place."""
        name = f"celosia_small_{id(self)}_{len(self.small)}"
        self.backend.con.register(name, table)
        self.small.append(name)
        return open_relation(self.backend, name)

    def drop_small_tables(self) -> None:
        """Unregister the small tables."""
        while self.small:
            with contextlib.suppress(Exception):  # of a connection that is lost
                self.backend.con.unregister(self.small.pop())


class DuckDBStored(DuckDBDialect):
    """How DuckDB reads the columns of a stored table, which may have collations."""

    def remove_collation(self, text: "ir.Value") -> "ir.Value":
        """Return a string by way of its bytes: a cast would keep the collation."""
        octets = engine_function("encode", ("string",), "binary")(text)
        return engine_function("decode", ("binary",), "string")(octets)


class DuckDBEngine(IbisEngine):
    """Engine for files, frames, and tables of a DuckDB connection.

    Parameters
    ----------
    tables
        The tables by name; all of them files or frames, or all in one connection.
    progress
        Called repeatedly while a query runs, with the share that is done, from 0 to 1.
    """

    has_parameters = True

    def __init__(self, tables: "Mapping[str, Table]", *, progress: Callable[[float], None] | None = None) -> None:
        self.progress = progress
        self._folder: str | None = None
        self._read: dict[str, ir.Table] = {}
        self._statements: dict[Any, Any] = {}
        super().__init__(tables)
        self._lock_down()

    def dialect_of(self, name: str) -> Dialect:
        """Return the dialect of a table: one of the owner's may have collations."""
        return self._dialects[isinstance(self.tables[name].source, IbisSource)]

    def read(self, name: str) -> "ir.Table":
        """Return a view in which texts are parsed: DuckDB would match a text again for each use of its value."""
        return self._read.get(name, self._raw[name])

    def run(self, query: "ir.Table") -> "Iterator[pa.RecordBatch]":
        """Run a query without parameters."""
        return self.execute(query)

    def execute(
        self, query: "ir.Table", values: Sequence[str] = (), *, most_rows: int | None = None
    ) -> "Iterator[pa.RecordBatch]":
        """Run a query and yield its results in batches."""
        self._check_default_collation()
        statement, connection = self._prepare(query), self.backend.con
        with self._report_progress():
            if most_rows is None or most_rows > _FEW_ROWS:
                yield from connection.sql(statement, params=list(values)).to_arrow_reader(_BATCH_ROWS)
            elif rows := connection.execute(statement, list(values)).fetchall():  # sql() would plan the query twice
                yield to_batch(rows, query.schema().to_pyarrow())

    def _prepare(self, query: "ir.Table") -> Any:
        """Return a query as a statement of DuckDB, which is kept."""
        found = self._statements.get(query.op())
        if found is None:
            (found,) = self.backend.con.extract_statements(write_sql(query, self.backend))
            keep(self._statements, query.op(), found)
        return found

    def interrupt(self) -> None:
        """Make the running query raise."""
        self.backend.con.interrupt()

    def _check_default_collation(self) -> None:
        """Raise if the default collation of the owner's connection was changed: literals have no other."""
        if self._folder is not None:
            return
        found = self.backend.con.execute("SELECT current_setting('default_collation')").fetchall()[0][0]
        if found.lower() not in _BINARY:
            raise QueryError("query.duckdb_default_collation", found=safe_repr(found))

    def drop_small_tables(self) -> None:
        """Drop the small tables of the last query."""
        for dialect in self._dialects:
            dialect.drop_small_tables()

    def has_small_tables(self) -> bool:
        """Return whether there are small tables of the last query."""
        return any(dialect.small for dialect in self._dialects)

    def connect(self) -> Any:
        """Return the owner's connection, or a new one inside the process."""
        backend = self._open_backend()
        self._dialects = DuckDBDialect(backend), DuckDBStored(backend)
        return backend

    def _open_backend(self) -> Any:
        import ibis

        sources = [table.source for table in self.tables.values() if not table.public]
        given = [source.expression.get_backend() for source in sources if isinstance(source, IbisSource)]
        if len({id(backend) for backend in given}) > 1 or 0 < len(given) < len(sources):
            raise QueryError("query.several_duckdb_connections")
        if given:
            return given[0]
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="celosia-")
            self.call_on_close(remove_folder, self._folder, os.getpid())
        backend = ibis.duckdb.connect(temp_directory=self._folder)
        self.call_on_close(backend.disconnect)
        backend.con.execute(f"SET disabled_optimizers = {quote_text(','.join(_SKIPPING))}")
        self.compares_raw = True
        if self.progress is not None:  # DuckDB measures progress only if its bar is enabled; printing is not needed
            backend.con.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
        return backend

    def open_table(self, name: str, table: "Table") -> "ir.Table":
        """Return the Ibis table, or a view over the files or the frame."""
        view, backend = f"celosia_{name}", self._dialects[0].backend
        match table.source:
            case IbisSource(expression=expression):
                check_stored(expression, columns_to_read(table), backend.con)
                return expression
            case Frame(frame=frame):
                backend.con.register(view, frame)
                self.call_on_close(backend.con.unregister, view)
            case CheckedFiles() as files:
                query = f"CREATE VIEW {quote_name(view)} AS SELECT * FROM {reader_sql(files)}"  # noqa: S608 - quoted
                backend.con.execute(query)
            case _:
                raise QueryError("query.duckdb_source_not_supported")
        raw = open_relation(backend, view)
        if isinstance(table.source, CheckedFiles) and table.source.format == "parquet":
            check_parquet(table.source.paths, columns_to_read(table), raw.columns)
        self._read_texts(name, table, raw)
        return raw

    def _read_texts(self, name: str, table: "Table", raw: "ir.Table") -> None:
        """Create the view with parsed texts, unless there are none, or the connection is the owner's."""
        dialect, columns = self._dialects[0].with_format(table.text), raw.schema()
        kinds = {column: kind for column, kind in table.schema.items() if column in columns}
        found = {
            column: read_column(compare_by_bytes(raw[column], dialect), kind, dialect) for column, kind in kinds.items()
        }
        found = {column: value for column, value in found.items() if value.type() != columns[column]}
        if self._folder is None or not found:
            return
        backend, view = self._dialects[0].backend, f"read_{name}"
        query = f"CREATE TEMP VIEW {quote_name(view)} AS {backend.compile(raw.mutate(**found))}"
        backend.con.execute(query)
        self._read[name] = open_relation(backend, view)

    def _lock_down(self) -> None:
        """Restrict file access to the tables' files and the own folder, and lock the configuration."""
        if self._folder is None:
            return
        sources = [table.source for table in self.tables.values()]
        paths = [path for source in sources if isinstance(source, Files) for path in source.paths]
        for statement in (
            f"SET allowed_paths = [{', '.join(map(quote_text, paths))}]",
            f"SET allowed_directories = [{quote_text(self._folder)}]",
            "SET enable_external_access = false",
            "SET lock_configuration = true",
        ):
            with contextlib.suppress(Exception):  # an older DuckDB does not have all of them
                self.backend.con.execute(statement)

    @contextlib.contextmanager
    def _report_progress(self) -> Iterator[None]:
        """Report progress from a separate thread while a query runs."""
        if self.progress is None:
            yield
            return
        done, report = threading.Event(), self.progress

        def watch() -> None:
            while not done.wait(_POLL_SECONDS):
                part = self.backend.con.query_progress()
                report(min(max(part / 100, 0.0), 1.0))

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            report(1.0)


def open_relation(backend: Any, name: str) -> "ir.Table":
    """Return a table or view of a connection; ``backend.table`` would read its columns by a deprecated call."""
    import ibis
    from ibis.expr import operations as ops

    rows = backend.con.execute(f"DESCRIBE {quote_name(name)}").fetchall()
    read = backend.compiler.type_mapper.from_string
    columns = ibis.schema({column: read(kind, nullable=null == "YES") for column, kind, null, *_ in rows})
    relation: ir.Table = ops.DatabaseTable(name, schema=columns, source=backend).to_expr()
    return relation


def write_sql(query: "ir.Table", backend: Any) -> str:
    """Return the SQL of a query, with parameters as ``$1``, ``$2`` and so on."""
    from sqlglot import ErrorLevel
    from sqlglot import expressions as sge

    tree = backend.compiler.to_sqlglot(query)
    for call in list(tree.find_all(sge.Anonymous)):
        if call.name.startswith(PARAMETER):
            call.replace(sge.Parameter(this=sge.Literal.number(call.name.removeprefix(PARAMETER))))
    text: str = tree.sql(backend.dialect, copy=False, unsupported_level=ErrorLevel.RAISE)
    return text


def _whole_seconds(count: "ir.Value", a_second: int) -> "ir.Value":
    """Return whole seconds, rounded down; the remainder has the sign of the number, so nothing overflows."""
    import ibis

    rest = count % integer_literal(a_second)
    towards_zero = (
        ((count - rest).cast("float64") / double_literal(float(a_second)) + double_literal(0.5)).floor().cast("int64")
    )
    return towards_zero - ibis.cases((rest < integer_literal(0), integer_literal(1)), else_=integer_literal(0))
