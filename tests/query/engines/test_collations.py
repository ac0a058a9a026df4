"""Texts are compared byte by byte, whatever the collation of a column; where that cannot be had, tables are refused."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import ibis
import pyarrow as pa
import pytest

import celosia as cl
from celosia.core.errors import EngineError, QueryError, SchemaError
from celosia.query.engines import collations
from celosia.query.engines.duckdb import open_relation
from tests.query.engines.test_postgres import NUMBERS, executed

if TYPE_CHECKING:
    from collections.abc import Iterator

KEYS = ["".join(letters) for letters in itertools.product(*zip("abcdef", "ABCDEF", strict=True))]
BOOK = pa.table({"k": KEYS})
PERSON: dict[str, Any] = {"person": "who", "max_groups_per_person": 1, "max_rows_per_group": 1}

# The type of the extension of this name, as its own script makes it, for servers that do not have it.
CITEXT = """
CREATE TYPE citext;
CREATE FUNCTION citextin(cstring) RETURNS citext AS 'textin' LANGUAGE internal IMMUTABLE STRICT;
CREATE FUNCTION citextout(citext) RETURNS cstring AS 'textout' LANGUAGE internal IMMUTABLE STRICT;
CREATE TYPE citext (INPUT = citextin, OUTPUT = citextout, STORAGE = extended, CATEGORY = 'S', COLLATABLE = true);
CREATE CAST (citext AS text) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (citext AS varchar) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION citext_cmp(citext, citext) RETURNS int LANGUAGE sql IMMUTABLE AS
    $$ SELECT bttextcmp(lower($1::text), lower($2::text)) $$;
"""
OPERATORS = {"<": "<", "<=": "<=", "=": "=", ">=": ">=", ">": ">"}


@pytest.fixture(scope="module")
def citext(postgres: str) -> str:
    """The address of a server with a type that does not tell capitals."""
    statements = [CITEXT]
    for place, sign in enumerate(OPERATORS):
        statements.append(
            f"CREATE FUNCTION citext_{place}(citext, citext) RETURNS boolean LANGUAGE sql IMMUTABLE AS "
            f"$$ SELECT citext_cmp($1, $2) {sign} 0 $$; CREATE OPERATOR {sign} "
            f"(LEFTARG = citext, RIGHTARG = citext, FUNCTION = citext_{place});"
        )
    listed = ", ".join(f"OPERATOR {place + 1} {sign}" for place, sign in enumerate(OPERATORS))
    statements.append(
        f"CREATE OPERATOR CLASS citext_ops DEFAULT FOR TYPE citext USING btree AS {listed}, "
        "FUNCTION 1 citext_cmp(citext, citext);"
    )
    if not executed(postgres, "SELECT 1 FROM pg_type WHERE typname = 'citext'"):
        executed(postgres, "".join(statements))
    return postgres


@pytest.fixture
def backend() -> Iterator[Any]:
    opened = ibis.duckdb.connect()
    yield opened
    opened.disconnect()


def stored(backend: Any, column: str) -> Any:
    """One row with a value of 1,000, and three small ones of other cases."""
    backend.raw_sql(f"CREATE TABLE t (c {column}, who {column}, v INTEGER)")
    backend.raw_sql("INSERT INTO t VALUES ('abcdef', 'a', 1000), ('F', 'b', 1), ('f', 'c', 1), ('F', 'd', 1)")
    return open_relation(backend, "t")


def answers(source: object, *, name: str = "t") -> dict[str, Any]:
    """Return the answers with negligible noise."""
    schema = cl.Schema(c=cl.Category("abcdef", "F", "f"), v=cl.Integer(0, 1000))
    private = cl.table(source, schema=schema, name=name)
    book = cl.table(BOOK, schema=cl.Schema(k=cl.Text()), name="book", public=True, key="k")
    with cl.Session([private, book], budget=cl.PureDP(epsilon=60_000)) as session:

        def ask(sql: str) -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = session.sql(sql, epsilon=9_000).to_arrow().to_pylist()
            return found

        return {
            "joined": round(ask(f"SELECT SUM(v) AS s FROM {name} JOIN book ON c = k")[0]["s"], -2),
            "equal": ask(f"SELECT COUNT(*) AS n FROM {name} WHERE c = 'F'")[0]["n"],
            "listed": ask(f"SELECT COUNT(*) AS n FROM {name} WHERE c IN ('f', 'abcdef')")[0]["n"],
            "distinct": ask(f"SELECT COUNT(DISTINCT c) AS n FROM {name}")[0]["n"],
            "groups": {row["c"]: row["n"] for row in ask(f"SELECT c, COUNT(*) AS n FROM {name} GROUP BY c")},
        }


BINARY = {"joined": 1000, "equal": 2, "listed": 2, "distinct": 3, "groups": {"abcdef": 1, "F": 2, "f": 1}}


@pytest.mark.parametrize("column", ["VARCHAR", "VARCHAR COLLATE NOCASE", "VARCHAR COLLATE NOCASE.NOACCENT"])
def test_duckdb_compares_bytes(backend: Any, column: str) -> None:
    assert answers(stored(backend, column)) == BINARY


def test_without_it_a_join_multiplies_a_row(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "celosia.query.engines.duckdb.DuckDBStored.remove_collation", lambda _, text: text.cast("string")
    )
    assert answers(stored(backend, "VARCHAR COLLATE NOCASE"))["joined"] == 1000 * len(KEYS)


def test_a_default_collation_of_duckdb_is_refused(backend: Any) -> None:
    source = stored(backend, "VARCHAR")
    backend.raw_sql("SET default_collation = 'nocase'")
    with pytest.raises((SchemaError, QueryError), match="default collation"):
        answers(source)
    backend.raw_sql("SET default_collation = ''")
    table = cl.table(source, schema=cl.Schema(v=cl.Integer(0, 1000)), name="t")
    with cl.Session(table, budget=cl.PureDP(epsilon=10)) as session:
        session.sql("SELECT COUNT(*) FROM t", epsilon=1)
        backend.raw_sql("SET default_collation = 'nocase'")  # between two questions
        with pytest.raises(QueryError, match="default collation 'nocase'"):
            session.sql("SELECT SUM(v) FROM t", epsilon=1)


@pytest.mark.parametrize("column", ["VARCHAR COLLATE NOCASE", "VARCHAR COLLATE NOACCENT"])
def test_persons_under_a_collation_are_refused(backend: Any, column: str) -> None:
    source = stored(backend, column)
    table = cl.table(source, schema=cl.Schema(v=cl.Integer(0, 1000)), name="t", **PERSON)
    with (
        cl.Session(table, budget=cl.PureDP(epsilon=1)) as session,
        pytest.raises(SchemaError, match="person column 'who' of 't' has a collation"),
    ):
        session.sql("SELECT COUNT(*) FROM t", epsilon=1)
    assert session.spent == cl.PureDP(epsilon=0, unit="person")


def test_persons_are_distinguished_by_bytes(backend: Any) -> None:
    table = cl.table(stored(backend, "VARCHAR"), schema=cl.Schema(v=cl.Integer(0, 1000)), name="t", **PERSON)
    with cl.Session(table, budget=cl.PureDP(epsilon=60_000)) as session:
        assert session.sql("SELECT COUNT(*) AS n FROM t", epsilon=9_000).to_arrow().to_pylist() == [{"n": 4}]


# ------------------------------------------------------------------------------------------------------- PostgreSQL


def in_postgres(url: str, column: str) -> str:
    name = f"t{next(NUMBERS)}"
    executed(url, f"CREATE TABLE {name} (c {column}, who {column}, v integer)")
    executed(url, f"INSERT INTO {name} VALUES ('abcdef', 'a', 1000), ('F', 'b', 1), ('f', 'c', 1), ('F', 'd', 1)")
    return name


def check_postgres(url: str, column: str) -> None:
    name = in_postgres(url, column)
    assert answers(url, name=name) == BINARY
    table = cl.table(url, schema=cl.Schema(v=cl.Integer(0, 1000)), name=name, **PERSON)
    with (
        cl.Session(table, budget=cl.PureDP(epsilon=1)) as session,
        pytest.raises(SchemaError, match="has a collation or a type under which"),
    ):
        session.sql(f"SELECT COUNT(*) FROM {name}", epsilon=1)


def test_citext_is_compared_by_bytes(citext: str) -> None:
    check_postgres(citext, "citext")


def test_a_nondeterministic_collation_is_compared_by_bytes(postgres: str) -> None:
    import psycopg

    try:
        executed(
            postgres,
            "CREATE COLLATION IF NOT EXISTS folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        )
    except psycopg.Error:
        pytest.skip("the server was built without ICU")
    check_postgres(postgres, "text COLLATE folded")


def test_padded_persons_are_persons(postgres: str) -> None:
    name = in_postgres(postgres, "char(8)")
    table = cl.table(postgres, schema=cl.Schema(v=cl.Integer(0, 1000)), name=name, **PERSON)
    with cl.Session(table, budget=cl.PureDP(epsilon=60_000)) as session:
        found = session.sql(f"SELECT COUNT(*) AS n FROM {name}", epsilon=9_000).to_arrow().to_pylist()
    assert found == [{"n": 4}]


def test_what_an_engine_says_is_kept_back(backend: Any) -> None:
    def failing(_: object) -> list[pa.RecordBatch]:
        message = "Eulalia"
        raise RuntimeError(message)

    table = cl.table(stored(backend, "VARCHAR"), schema=cl.Schema(v=cl.Integer(0, 1000)), name="t")
    with pytest.raises(RuntimeError):
        collations.check_collations(table, open_relation(backend, "t"), failing)
    from celosia.query.engines.ibis import hide_driver_errors

    with pytest.raises(EngineError):
        hide_driver_errors(collations.check_collations)(table, open_relation(backend, "t"), failing)
