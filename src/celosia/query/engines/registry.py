"""Selects the engine for the tables of a session.

DuckDB reads files and frames inside the process; databases and Spark compute where their rows are. Engines of other
packages, in the entry point group ``celosia.engines``, take precedence.
"""

from functools import cache
from importlib.metadata import EntryPoints, entry_points
from typing import TYPE_CHECKING

from celosia.core.errors import ParameterError, QueryError
from celosia.core.exact import safe_repr
from celosia.data.sources.classify import Database, Frame, IbisSource, SparkFiles, SparkPath, SparkSource, SparkTable
from celosia.data.sources.files import Files

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from celosia.data.table import Table
    from celosia.query.engines.base import Engine

ENTRY_POINTS = "celosia.engines"
"""The entry point group of engines: functions of the tables by name that return an engine, or None."""


def open_engine(tables: "Mapping[str, Table]", *, progress: "Callable[[float], None] | None" = None) -> "Engine":
    """Return an engine for the tables of a session; it reads their types and no row."""
    if not tables:
        raise ParameterError("query.engine_without_tables")
    for point in plugin_engines():
        engine: Engine | None = point.load()(tables)
        if engine is not None:
            return engine
    where = {_place(table) for table in tables.values() if not table.public} or {"duckdb"}
    if len(where) > 1:
        raise QueryError("query.tables_in_different_places", tables=safe_repr(", ".join(tables)))
    match where.pop():
        case "postgres":
            from celosia.query.engines.postgres import PostgresEngine

            return PostgresEngine(tables)
        case "pyspark":
            from celosia.query.engines.spark import SparkEngine

            return SparkEngine(tables)
        case "duckdb":
            from celosia.query.engines.duckdb import DuckDBEngine

            return DuckDBEngine(tables, progress=progress)
        case other:
            raise QueryError("query.no_engine_for_source", place=other)


@cache
def plugin_engines() -> EntryPoints:
    """Return the installed engines of other packages."""
    return entry_points(group=ENTRY_POINTS)


def _place(table: "Table") -> str:
    match table.source:
        case Database():
            return "postgres"
        case SparkSource() | SparkFiles() | SparkPath() | SparkTable():
            return "pyspark"
        case IbisSource(expression=expression):
            return str(expression.get_backend().name)
        case Files() | Frame():
            return "duckdb"
