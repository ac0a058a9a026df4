"""A key of a public table is there once as the engine sees it: cleaned, and compared as joins compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import celosia as cl
from celosia.core.errors import SchemaError
from celosia.query.engines.registry import open_engine
from tests.query.engines.test_postgres import NUMBERS, executed

if TYPE_CHECKING:
    from celosia.data.schema.columns import Kind
    from celosia.data.table import Table

TWICE: list[tuple[pa.Array, Kind]] = [
    (pa.array([0.0, -0.0]), cl.Boolean()),
    (pa.array([1.0, 0.0, -0.0]), cl.Category(0, 1)),
    (pa.array([-0.0, 0.0], pa.float32()), cl.Category(0, 7)),
]
ONCE: list[tuple[pa.Array, Kind]] = [
    (pa.array([0.0, 1.0, None, None, 2.0, 3.0]), cl.Boolean()),
    (pa.array([0.0, 1.0, 5.0, 6.0]), cl.Category(0, 1)),
    (pa.array(["a", "A", "á"]), cl.Text()),
    (pa.array(["x", "y", "z"]), cl.Category("x", "X")),
    (pa.array([0, 86_400_000], pa.date64()), cl.Date("1970-01-01", "1970-12-31")),
]


def book(keys: pa.Array, kind: Kind) -> Table:
    rows = pa.table({"k": keys, "n": pa.array(range(len(keys)))})
    return cl.table(rows, schema=cl.Schema(k=kind, n=cl.Integer(0, 9)), name="book", public=True, key="k")


def private(url: str | None) -> Table:
    schema = cl.Schema(v=cl.Integer(0, 1000))
    if url is None:
        return cl.table(pa.table({"v": [1000]}), schema=schema, name="t")
    name = f"t{next(NUMBERS)}"
    executed(url, f"CREATE TABLE {name} AS SELECT 1000 AS v")
    return cl.table(url, schema=schema, name=name)


@pytest.fixture(params=["duckdb", "postgres"])
def table(request: Any) -> Table:
    return private(None if request.param == "duckdb" else request.getfixturevalue("postgres"))


def test_keys_that_are_equal_once_they_are_clean_are_refused(table: Table) -> None:
    for keys, kind in TWICE:
        with pytest.raises(SchemaError, match="'book' has a key twice in 'k' once its values are cleaned"):
            open_engine({table.name: table, "book": book(keys, kind)})


@pytest.mark.parametrize(("keys", "kind"), ONCE, ids=str)
def test_keys_that_differ_are_not(table: Table, keys: pa.Array, kind: Kind) -> None:
    open_engine({table.name: table, "book": book(keys, kind)}).close()


def test_keys_of_several_columns() -> None:
    rows = pa.table({"a": [0.0, -0.0, 0.0], "b": ["x", "y", "y"]})
    schema = cl.Schema(a=cl.Category(0, 1), b=cl.Text())
    pairs = cl.table(rows, schema=schema, name="pairs", public=True, key=["a", "b"])
    with pytest.raises(SchemaError, match="key twice in 'a, b'"):
        open_engine({"t": private(None), "pairs": pairs})
    apart = cl.table(rows.slice(0, 2), schema=schema, name="pairs", public=True, key=["a", "b"])
    open_engine({"t": private(None), "pairs": apart}).close()


def test_a_session_says_so_and_nothing_is_paid() -> None:
    lookup = book(pa.array([0.0, -0.0]), cl.Boolean())
    rows = cl.table(
        pa.table({"v": [1000], "f": [False]}), schema=cl.Schema(v=cl.Integer(0, 1000), f=cl.Boolean()), name="t"
    )
    with (
        cl.Session([rows, lookup], budget=cl.PureDP(epsilon=1)) as session,
        pytest.raises(SchemaError, match="key twice"),
    ):
        session.sql("SELECT SUM(v) FROM t JOIN book ON f = k", epsilon=1)
    assert session.spent == cl.PureDP(epsilon=0)


def test_without_the_check_a_join_multiplies_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("celosia.query.engines.ibis.check_public_key", lambda *_: None)
    rows = cl.table(
        pa.table({"v": [1000], "f": [False]}), schema=cl.Schema(v=cl.Integer(0, 1000), f=cl.Boolean()), name="t"
    )
    lookup = book(pa.array([0.0, -0.0]), cl.Boolean())
    with cl.Session([rows, lookup], budget=cl.PureDP(epsilon=60_000)) as session:
        (found,) = session.sql("SELECT SUM(v) AS s FROM t JOIN book ON f = k", epsilon=9_000).to_arrow().to_pylist()
    assert round(found["s"], -2) == 2000
