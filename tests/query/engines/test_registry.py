"""Which engine is opened for which tables."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING

import ibis
import pyarrow as pa
import pytest

import celosia as cl
from celosia.core.errors import EngineError, ParameterError, QueryError
from celosia.query.engines.duckdb import DuckDBEngine
from celosia.query.engines.registry import ENTRY_POINTS, open_engine
from celosia.testing.engines.reference_engine import ReferenceEngine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from celosia.data.table import Table

SCHEMA = cl.Schema(age=cl.Integer(0, 120))
FRAME = cl.table(pa.table({"age": [34]}), schema=SCHEMA, name="t")


def test_frames_are_read_by_duckdb() -> None:
    with open_engine({"t": FRAME}) as engine:
        assert isinstance(engine, DuckDBEngine)
        assert list(engine.tables) == ["t"]


def test_there_must_be_tables() -> None:
    with pytest.raises(ParameterError, match="at least one table"):
        open_engine({})


def test_tables_must_be_in_one_place() -> None:
    database = cl.table("postgresql://127.0.0.1:1/none", name="d", schema=SCHEMA)
    with pytest.raises(QueryError, match="different places"):
        open_engine({"t": FRAME, "d": database})


def test_public_tables_may_be_anywhere() -> None:
    book = cl.table(pa.table({"age": [1]}), schema=SCHEMA, name="book", public=True, key="age")
    database = cl.table("postgresql://127.0.0.1:1/none", name="d", schema=SCHEMA)
    with pytest.raises(EngineError, match="could not open"):  # and not: in different places
        open_engine({"d": database, "book": book})


def test_backends_without_an_engine_are_named() -> None:
    table = cl.table(ibis.polars.connect({"ages": pa.table({"age": [34]})}).table("ages"), schema=SCHEMA, name="t")
    with pytest.raises(QueryError, match="no engine for polars"):
        open_engine({"t": table})


def of_elsewhere(tables: Mapping[str, Table]) -> ReferenceEngine | None:
    return ReferenceEngine(tables) if "mine" in tables else None


def test_plugin_engines_take_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    class Point(EntryPoint):
        def load(self) -> object:
            return of_elsewhere

    point = Point(name="mine", value="elsewhere:open", group=ENTRY_POINTS)
    monkeypatch.setattr("celosia.query.engines.registry.plugin_engines", lambda: [point])
    assert isinstance(open_engine({"mine": FRAME}), ReferenceEngine)
    with open_engine({"t": FRAME}) as engine:
        assert isinstance(engine, DuckDBEngine)
