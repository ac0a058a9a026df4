"""DuckDB inside the process: files that may be larger than memory, and frames of any library.

Files are read as they stream by; what does not fit in memory is written to a folder of this engine alone, which goes
away with it. The engine may read the files of its tables and nothing else. CSV files are read as texts, whatever is in
them, and each text as what the schema says: nothing is guessed from the rows.
"""

import contextlib
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from celosia.core.errors import QueryError, SchemaError
from celosia.core.exact import quote
from celosia.data.files import Files, csv_header
from celosia.data.frames import to_arrow
from celosia.data.sources import Frame, IbisSource
from celosia.query.dialect import Dialect, double, function, whole
from celosia.query.ibis_engine import IbisEngine

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.expr import types as ir

    from celosia.data.table import Table

__all__ = ["DuckDBDialect", "DuckDBEngine", "DuckDBTexts"]

_BATCH = 100_000
_POLL_SECONDS = 0.1
_NANOSECONDS, _A_SECOND = 9, 10**9


class DuckDBDialect(Dialect):
    """How DuckDB counts and digests.

    >>> import ibis
    >>> str(DuckDBDialect().seconds(ibis.table({"at": "timestamp"}, name="visits").at).type())
    'int64'
    """

    def __init__(self, backend: Any = None) -> None:  # noqa: ANN401 - of Ibis
        self.backend = backend
        self._small: list[str] = []

    def days(self, date: "ir.Value") -> "ir.Value":
        """Return whole days since 1970; DuckDB gives null for an infinite date."""
        import ibis

        return date.delta(ibis.date(1970, 1, 1), unit="day")

    def seconds(self, moment: "ir.Value") -> "ir.Value":
        """Return whole seconds since 1970; null for an infinite time, or one too far away to be converted."""
        import ibis

        if moment.type().timezone is not None:
            first = ibis.literal("1970-01-01 00:00:00+00").cast("timestamp('UTC')")
            return moment.delta(first, unit="second")
        if moment.type().scale == _NANOSECONDS:  # DuckDB would round them to microseconds first
            return _seconds_of(function("epoch_ns", ("timestamp(9)",), "int64")(moment))
        return moment.try_cast("timestamp(6)").delta(ibis.timestamp("1970-01-01 00:00:00"), unit="second")

    def from_hexadecimal(self, digits: "ir.Value") -> "ir.Value":
        """Return the integer that hexadecimal digits write."""
        import ibis

        return (ibis.literal("0x") + digits).cast("int64")

    def small_table(self, table: "pa.Table") -> "ir.Table":
        """Return an Arrow table under a name, until it is forgotten: DuckDB reads it in place."""
        name = f"celosia_small_{id(self)}_{len(self._small)}"
        self.backend.con.register(name, table)
        self._small.append(name)
        return self.backend.table(name)

    def forget(self) -> None:
        """Let go of the small tables."""
        while self._small:
            self.backend.con.unregister(self._small.pop())


class DuckDBTexts(DuckDBDialect):
    """How DuckDB reads columns of texts, as CSV files have them.

    >>> import ibis
    >>> str(DuckDBTexts().from_text(ibis.table({"age": "string"}, name="deaths").age, "float64").type())
    'float64'
    """

    def from_text(self, text: "ir.Value", kind: str) -> "ir.Value":
        """Return what a text says, or null."""
        return text.try_cast("timestamp('UTC')" if kind == "timestamp" else kind)


class DuckDBEngine(IbisEngine):
    """An engine over files and frames.

    Parameters
    ----------
    tables
        The tables by name; all of them files or frames.
    progress
        Called now and then with the part of a query that is done, from 0 to 1, while it runs.

    Examples
    --------
    >>> import celosia as cl, pyarrow as pa
    >>> deaths = cl.table(pa.table({"age": [34, 71]}), schema=cl.Schema(age=cl.Integer(0, 120)), name="deaths")
    >>> with DuckDBEngine({"deaths": deaths}) as engine:
    ...     engine.raw("deaths").columns
    ('age',)
    """

    def __init__(self, tables: "Mapping[str, Table]", *, progress: Callable[[float], None] | None = None) -> None:
        self.progress = progress
        self._folder: str | None = None
        super().__init__(tables)
        self._lock_down()

    def dialect_of(self, name: str) -> Dialect:
        """Return how a table is read: a CSV file holds texts."""
        source = self.tables[name].source
        return self._dialects[isinstance(source, Files) and source.format == "csv"]

    def run(self, query: "ir.Table") -> "Iterator[pa.RecordBatch]":
        """Run a query; results come in batches."""
        with self._watched():
            relation = self._backend.con.sql(self._backend.compile(query))
            reader = relation.to_arrow_reader if hasattr(relation, "to_arrow_reader") else relation.fetch_arrow_reader
            yield from reader(_BATCH)

    def forget(self) -> None:
        """Let go of small tables."""
        for dialect in self._dialects:
            dialect.forget()

    def _connected(self) -> Any:  # noqa: ANN401 - a backend of Ibis
        backend = self._opened()
        self._dialects = DuckDBDialect(backend), DuckDBTexts(backend)
        return backend

    def _opened(self) -> Any:  # noqa: ANN401 - a backend of Ibis
        import ibis

        sources = [table.source for table in self.tables.values() if not table.public]
        given = [source.expression.get_backend() for source in sources if isinstance(source, IbisSource)]
        if len({id(backend) for backend in given}) > 1 or 0 < len(given) < len(sources):
            message = "The tables are in several DuckDB connections, or some of them in files: they must all be in one."
            raise QueryError(message)
        if given:
            return given[0]
        self._folder = tempfile.mkdtemp(prefix="celosia-")
        self._finally(shutil.rmtree, self._folder)
        backend = ibis.duckdb.connect(temp_directory=self._folder)
        self._finally(backend.disconnect)
        if self.progress is not None:  # DuckDB only counts what it would show, but need not show it
            backend.con.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
        return backend

    def _table(self, name: str, table: "Table") -> "ir.Table":
        view, backend = f"celosia_{name}", self._dialects[0].backend
        match table.source:
            case IbisSource(expression=expression):
                self._check_nan(expression, [*table.schema, *(() if table.person is None else (table.person,))])
                return expression
            case Frame(frame=frame):
                wanted = [*table.schema, *(() if table.person is None else (table.person,))]
                backend.con.register(view, to_arrow(frame, wanted))
                self._finally(backend.con.unregister, view)
            case Files() as files:
                query = f"CREATE VIEW {_name(view)} AS SELECT * FROM {_reader(files)}"  # noqa: S608 - quoted
                backend.con.execute(query)
            case _:
                message = "DuckDB reads files and frames."
                raise QueryError(message)
        return backend.table(view)

    def _check_nan(self, expression: Any, wanted: "Sequence[str]") -> None:  # noqa: ANN401 - a table of Ibis
        """Refuse doubles that may come from a Parquet file by another way than ours: see ``_reader``."""
        from ibis.expr import operations as ops

        types = expression.schema()
        doubles = [name for name in wanted if name in types and types[name].is_floating()]
        leaves = expression.op().find(ops.PhysicalTable)
        if doubles and not all(isinstance(leaf, ops.InMemoryTable) or self._is_stored(leaf) for leaf in leaves):
            message = (
                f"The column {quote(doubles[0])} has doubles, and the Ibis table is a view or a query whose rows may "
                "be in a Parquet file, about whose NaN DuckDB is mistaken: pass the path of the file to celosia.table, "
                "or store the rows in a table of the database."
            )
            raise SchemaError(message)

    def _is_stored(self, leaf: Any) -> bool:  # noqa: ANN401 - of Ibis
        """Whether a table is one of DuckDB's own, whose statistics count NaN as the largest number."""
        from ibis.expr import operations as ops

        if not isinstance(leaf, ops.DatabaseTable):
            return False
        found = self._dialects[0].backend.con.execute(
            "SELECT count(*) FROM duckdb_tables() WHERE table_name = ? AND schema_name = coalesce(?, schema_name) AND "
            "database_name = coalesce(?, database_name) AND NOT EXISTS (FROM duckdb_views() WHERE view_name = ?)",
            [leaf.name, leaf.namespace.database, leaf.namespace.catalog, leaf.name],
        )
        return bool(found.fetchall()[0][0])

    def _lock_down(self) -> None:
        """Allow the files of the tables and the folder aside, and no other; and let nothing change that."""
        if self._folder is None:
            return
        sources = [table.source for table in self.tables.values()]
        paths = [path for source in sources if isinstance(source, Files) for path in source.paths]
        for statement in (
            f"SET allowed_paths = [{', '.join(map(_text, paths))}]",
            f"SET allowed_directories = [{_text(self._folder)}]",
            "SET enable_external_access = false",
            "SET lock_configuration = true",
        ):
            with contextlib.suppress(Exception):  # an older DuckDB does not have all of them
                self._backend.con.execute(statement)

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        """Report progress from a thread of its own while a query runs."""
        if self.progress is None:
            yield
            return
        done, report = threading.Event(), self.progress

        def watch() -> None:
            while not done.wait(_POLL_SECONDS):
                part = self._backend.con.query_progress()
                report(min(max(part / 100, 0.0), 1.0))

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            report(1.0)


def _seconds_of(nanoseconds: "ir.Value") -> "ir.Value":
    """Whole seconds, rounded down; the remainder has the sign of the number, so nothing can overflow."""
    import ibis

    rest = nanoseconds % whole(_A_SECOND)
    towards_zero = ((nanoseconds - rest).cast("float64") / double(float(_A_SECOND)) + double(0.5)).floor().cast("int64")
    return towards_zero - ibis.cases((rest < whole(0), whole(1)), else_=whole(0))


def _reader(source: Files) -> str:
    paths = f"[{', '.join(map(_text, source.paths))}]"
    if source.format == "parquet":
        _check_types(source.paths)
        # The statistics of Parquet leave NaN out. DuckDB would believe them, and then what becomes of a NaN, an error
        # even, would depend on the smallest and the largest of the other rows.
        return f"read_parquet({paths}, union_by_name = true, can_have_nan = true)"
    _, header = csv_header(source.paths[0])
    columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in header)
    return (
        f"read_csv({paths}, columns = {{{columns}}}, delim = {_text(source.delimiter)}, header = true, "
        "auto_detect = false, quote = '\"', escape = '\"', strict_mode = false, ignore_errors = true)"
    )


def _check_types(paths: tuple[str, ...]) -> None:
    """Refuse files in which a column has different types: a cast could fail on what a row holds."""
    import pyarrow.parquet as pq

    first, *others = (pq.read_schema(path) for path in paths)
    types = dict(zip(first.names, first.types, strict=True))
    if any(types != dict(zip(other.names, other.types, strict=True)) for other in others):
        message = "The Parquet files must all have the same columns with the same types."
        raise SchemaError(message)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _name(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'
