"""DuckDB gives the integers of the reference from files and frames of any kind, and reads nothing else."""

from __future__ import annotations

import datetime as dt
import gc
import gzip
import math
import warnings
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import celosia as cl
from celosia.core.errors import EngineError, QueryError, SchemaError
from celosia.noise import Seeded
from celosia.query.engines.duckdb import DuckDBEngine
from celosia.query.engines.registry import open_engine
from celosia.query.execution.row_level import to_integers
from celosia.query.execution.rows import rows_of
from celosia.query.plan.expressions import Column
from celosia.query.plan.nodes import Aggregate, Base, Key, Plan
from celosia.query.planning.cells import Cells
from celosia.query.planning.measurements import Measurement
from celosia.statistics import ContributionBounds, Distinct, FirstMoments, Mode, Quantiles, RowCount, Total
from celosia.testing.engines.reference_engine import ReferenceEngine
from celosia.testing.engines.tables import SCHEMA, nasty_rows
from tests.query import face

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from celosia.data.schema.axis import Axis
    from celosia.data.schema.columns import Kind
    from celosia.data.table import Table
    from celosia.query.engines.base import Engine

SECRET = (1, 2, 3, 4)
SEX = Key(name="sex", expression=Column("sex"))
COUNT = (Aggregate(kind="count", name="count"),)
ONE = Plan(relation=Base("t"), aggregates=COUNT)
AGE = cl.Integer(0, 120)
ROWS = pa.table(
    {
        "age": [34, 71, None, 500, -3],
        "sex": ["F", "M", "F", None, "X"],
        "weight": [60.5, math.nan, 70.04, 71.06, math.inf],
        "born": [dt.date(1990, 1, 2), None, dt.date(2020, 2, 29), dt.date(1800, 1, 1), dt.date(1999, 12, 31)],
    }
)
PEOPLE = cl.Schema(
    age=AGE, sex=cl.Category("F", "M"), weight=cl.Real(0, 300, grid="0.1"), born=cl.Date("1900-01-01", "2021-12-31")
)


def need(measure: Any, *columns: str, distinct: str | None = None) -> Measurement:
    return Measurement(measure=measure, columns=tuple(map(Column, columns)), answers=(), distinct=distinct)


def axis(kind: Kind) -> Axis:
    assert kind.axis is not None
    return kind.axis


def of_persons(source: object, schema: cl.Schema, person: str, *, groups: int = 1, rows: int = 1) -> Table:
    limits: dict[str, Any] = {"max_groups_per_person": groups, "max_rows_per_group": rows}
    return cl.table(source, schema=schema, name="t", person=person, **limits)


NUMBERS = [need(RowCount()), *(need(FirstMoments(axis(PEOPLE[name])), name) for name in ("age", "weight", "born"))]


def asked(engine: Engine, *needs: Measurement) -> list[list[list[int]]]:
    plan = Plan(relation=Base("t"), keys=(SEX,), aggregates=COUNT)
    found = engine.summaries(plan, needs, ContributionBounds(cells=2), SECRET, Cells.product([("F", "M")]))
    return [array.tolist() for array in found]


def of_people(source: object) -> list[list[list[int]]]:
    with open_engine({"t": cl.table(source, schema=PEOPLE, name="t")}) as engine:
        return asked(engine, *NUMBERS)


def expected() -> list[list[list[int]]]:
    return asked(ReferenceEngine({"t": cl.table(ROWS, schema=PEOPLE, name="t")}), *NUMBERS)


# ------------------------------------------------------------------------------------------------------------ sources


@pytest.mark.parametrize(
    "frame",
    [
        ROWS,
        ROWS.to_pandas().astype({"born": "datetime64[s]"}),
        ROWS.to_pandas(types_mapper=pd.ArrowDtype),
        pl.from_arrow(ROWS),
        pl.from_arrow(ROWS).lazy(),  # type: ignore[union-attr] # a frame
        ROWS.set_column(1, "sex", ROWS.column("sex").dictionary_encode()),
        ROWS.to_batches()[0],
    ],
    ids=["arrow", "pandas", "pandas on arrow", "polars", "polars, lazy", "dictionaries", "batch"],
)
def test_frames_of_any_library_are_read(frame: object) -> None:
    assert of_people(frame) == expected()


def written_parquet(folder: Path) -> str:
    pq.write_table(ROWS.slice(0, 2), folder / "a.parquet")
    pq.write_table(ROWS.slice(2), folder / "b.parquet")
    return str(folder / "*.parquet")


def written_csv(folder: Path) -> str:
    pa.csv.write_csv(ROWS, folder / "t.csv")
    return str(folder / "t.csv")


def written_tsv(folder: Path) -> Path:
    text = ROWS.to_pandas().to_csv(None, sep="\t", index=False, na_rep="")
    (folder / "t.tsv").write_text(text.replace("\n", "\r\n"))
    return folder / "t.tsv"


def written_gz(folder: Path) -> Path:
    (folder / "t.csv.gz").write_bytes(gzip.compress(Path(written_csv(folder)).read_bytes()))
    return folder / "t.csv.gz"


@pytest.mark.parametrize("write", [written_parquet, written_csv, written_tsv, written_gz])
def test_files_are_read(tmp_path: Path, write: Callable[[Path], object]) -> None:
    assert of_people(write(tmp_path)) == expected()


def test_malformed_lines_raise_nothing(tmp_path: Path) -> None:
    good = "34,F,60.5,1990-01-02\n"
    bad = [
        b"7\n",
        b"8,M,z,extra,more\n",
        b"abc,F,nonsense,2021-02-30\n",
        b",,,\n",
        b"\xff\xfe,\x00,M,\n",
        b'"\n',
        b"1_0,M,1e999,x\n",
        b"9,F," + b"x" * 3_000_000 + b",2020-01-01\n",
        b'"12","M","1,5",""\r\n',
        b"\r5,M,1,2020-01-01\r",
        b'"open,F,1,2020-01-01\n',
    ]
    file = tmp_path / "t.csv"
    for part in bad:
        file.write_bytes(b"age,sex,weight,born\n" + good.encode() * 3 + part + good.encode())
        counts, *_ = of_people(file)
        assert 3 <= counts[0][0] <= 5
        assert counts[1][0] <= 1


def test_texts_are_read_as_their_kinds(tmp_path: Path) -> None:
    texts = ["12", " 7 ", "1e2", "-5", "nan", "inf", "", "x", "99999999999999999999", "2.5"]
    file = tmp_path / "t.csv"
    file.write_text("x,flag,at\n" + "\n".join(f'"{text}",TRUE,2020-01-01T00:00:0{i}Z' for i, text in enumerate(texts)))
    schema = cl.Schema(x=AGE, flag=cl.Boolean(), at=cl.Timestamp("2020-01-01", "2020-01-02"))
    needs = [need(FirstMoments(axis(kind)), name) for name, kind in schema.items()]
    with open_engine({"t": cl.table(file, schema=schema, name="t")}) as engine:
        x, flag, at = (
            array.tolist() for array in engine.summaries(ONE, needs, ContributionBounds(), SECRET, Cells.product([]))
        )
    numbers = [12, 7, 100, 0, 120, 3]
    assert x == [[sum(numbers), 120 * len(numbers) - sum(numbers)]]
    assert flag == [[len(texts), 0]]
    assert at[0][0] == sum(range(len(texts)))


def test_a_text_is_matched_once_however_often_its_value_is_used(tmp_path: Path) -> None:
    """DuckDB computes what CASE repeats each time: patterns are in a view, and a question uses what it has read."""
    (tmp_path / "a.csv").write_text("age,born\n34,2021-12-31\n")
    days = cl.Date("1900-01-01", "2021-12-31")
    table = cl.table(str(tmp_path / "a.csv"), schema=cl.Schema(age=cl.Real(0, 120), born=days), name="t")
    with DuckDBEngine({"t": table}) as engine:
        rows = rows_of(Base("t"), engine)
        asked = rows.table.select(**{name: rows.number(Column(name)) for name in ("age", "born")})
        assert "REGEXP" not in engine.backend.compile(asked)
        assert [str(kind) for kind in engine.read("t").schema().types] == ["float64", "date"]
        assert [str(kind) for kind in engine.raw("t").schema().types] == ["string", "string"]


def test_numbers_in_texts_do_not_depend_on_the_other_rows(tmp_path: Path) -> None:
    """A reader that infers types would take the first column for numbers, until a later row."""
    schema = cl.Schema(x=cl.Category("007", "7"))
    needs = [need(Mode(candidates=2), "x")]
    counts = []
    for more in ("", "abc\n"):
        file = tmp_path / "t.csv"
        file.write_text("x\n007\n7\n007\n" + more)
        with open_engine({"t": cl.table(file, schema=schema, name="t")}) as engine:
            counts.append(engine.summaries(ONE, needs, ContributionBounds(), SECRET, Cells.product([]))[0].tolist())
    assert counts == [[[2, 1]], [[2, 1]]]


# ------------------------------------------------------------------------------------------------------------- types


@pytest.mark.parametrize(
    ("array", "kind", "total"),
    [
        (pa.array([2**64 - 1, 0, 7], pa.uint64()), AGE, 127),
        (pa.array([2**64 - 1, 0, 7], pa.uint64()), cl.Integer(-5, 120), 127),
        (pa.array([Decimal(10**37), Decimal(-(10**37)), Decimal(7)], pa.decimal128(38, 0)), AGE, 127),
        (pa.array([Decimal("7.4999"), Decimal("7.5")], pa.decimal128(38, 30)), AGE, 15),
        (pa.array([0.1, 3e38, -3e38], pa.float32()), cl.Real(0, 1, grid="0.1"), 11),
        (pa.array([True, False, None]), AGE, 1),
        (pa.array([-128, 127], pa.int8()), AGE, 120),
        (pa.array([-1500, 2**62, None], pa.timestamp("ms")), cl.Timestamp("1969-12-31", "1970-01-02"), -2),
        (pa.array([-1, 2**40], pa.timestamp("s")), cl.Timestamp("1969-12-31", "1970-01-02"), 86_399),
        (
            pa.array([-1, 10**9, 2**63 - 1, 2 - 2**63], pa.timestamp("ns")),
            cl.Timestamp("1969-12-31", "1970-01-02"),
            -86_400,
        ),
        (pa.array([-1], pa.timestamp("us", tz="Asia/Kathmandu")), cl.Timestamp("1969-12-31", "1970-01-02"), -1),
        (pa.array([2**31 - 1, -(2**31) + 1, 3], pa.date32()), cl.Date("1970-01-01", "1970-01-09"), 3),
        (pa.array([-1], pa.timestamp("us")), cl.Date("1969-12-01", "1970-01-09"), -1),
    ],
    ids=str,
)
def test_every_type_of_number(array: pa.Array, kind: Kind, total: int) -> None:
    table = cl.table(pa.table({"x": array}), schema=cl.Schema(x=kind), name="t")
    with open_engine({"t": table}) as engine:
        (found,) = engine.summaries(
            ONE, [need(Total(axis(kind)), "x")], ContributionBounds(), SECRET, Cells.product([])
        )
    assert found.tolist() == [[total]]


def test_types_that_cannot_serve_are_refused() -> None:
    cases: list[tuple[pa.Array, Kind]] = [
        (pa.array([1.5]), cl.Category("F", "M")),
        (pa.array([1]), cl.Date("2020-01-01", "2020-02-01")),
        (pa.array([dt.date(2020, 1, 1)]), cl.Real(0, 1)),
        (pa.array([1.5]), cl.Text()),
        (pa.array([[1]]), AGE),
        (pa.array([b"x"]), cl.Text()),
    ]
    for array, kind in cases:
        plan = Plan(relation=Base("t"), aggregates=(Aggregate(kind="count", name="n", columns=(Column("x"),)),))
        with (
            pytest.raises(SchemaError, match="'x'"),
            open_engine({"t": cl.table(pa.table({"x": array}), schema=cl.Schema(x=kind), name="t")}) as engine,
        ):
            engine.check(plan)


def test_files_of_different_types_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": ["1"]}), tmp_path / "b.parquet")
    with pytest.raises(SchemaError, match="same types"):
        open_engine({"t": cl.table(str(tmp_path / "*.parquet"), schema=cl.Schema(x=AGE), name="t")})


@pytest.mark.parametrize(
    "persons",
    [
        pa.array([1, 1, 2, None, 2]),
        pa.array(["a", "a", "b", None, "b"]),
        pa.array([1.0, 1.0, 2.0, math.nan, 2.0]),
        pa.array([2**63, 2**63, 1, None, 1], pa.uint64()),
        pa.array([Decimal(5), Decimal(5), Decimal(6), None, Decimal(6)], pa.decimal128(30, 0)),
    ],
    ids=lambda array: str(array.type),
)
def test_persons_of_any_type_are_distinguished(persons: pa.Array) -> None:
    table = of_persons(pa.table({"who": persons, "age": [1, 2, 3, 4, 5]}), cl.Schema(age=AGE), "who")
    with open_engine({"t": table}) as engine:
        needs = [need(RowCount()), need(Distinct(), distinct="persons")]
        found = engine.summaries(ONE, needs, ContributionBounds(unit="person"), SECRET, Cells.product([]))
    assert [array.tolist() for array in found] == [[[2]], [[2]]]


# ------------------------------------------------------------------------------------- agreement with the reference


COLUMNS = {name: nasty_rows().column(name).unique().to_pylist() for name in nasty_rows().column_names}
KEYS = [[], ["sex"], ["level", "code"], ["flag", "alive"], ["age"]]
NEEDS = [
    need(RowCount()),
    need(RowCount(), "sex"),
    need(FirstMoments(axis(SCHEMA["age"])), "age"),
    need(Total(axis(SCHEMA["dose"])), "dose"),
    need(FirstMoments(axis(SCHEMA["weight"])), "weight"),
    need(Mode(candidates=len(SCHEMA["sex"].domain() or ())), "sex"),
    need(Quantiles(axis=AGE.axis, quantiles=("1/2",), bins=9), "age"),
    need(Distinct(), "city", distinct="values"),
    need(Distinct(), "fine", distinct="values"),
]


@settings(max_examples=25)
@given(
    rows=st.lists(
        st.fixed_dictionaries({name: st.sampled_from(values) for name, values in COLUMNS.items()}), max_size=12
    ),
    keys=st.sampled_from(KEYS),
    chosen=st.lists(st.sampled_from(NEEDS), min_size=1, max_size=3),
    person=st.sampled_from([None, "person", "pid"]),
    groups=st.integers(1, 4),
    most=st.integers(1, 3),
)
def test_it_agrees_with_the_reference(
    rows: list[dict[str, Any]], keys: list[str], chosen: list[Measurement], person: str | None, groups: int, most: int
) -> None:
    source = pa.Table.from_pylist(rows, schema=nasty_rows().schema)
    rowwise = cl.table(source, schema=SCHEMA, name="t")
    tables = {"t": rowwise if person is None else of_persons(source, SCHEMA, person, groups=groups, rows=most)}
    cells = Cells.product([SCHEMA[key].domain() or () for key in keys])
    plan = Plan(relation=Base("t"), keys=tuple(Key(name=key, expression=Column(key)) for key in keys), aggregates=COUNT)
    bounding = ContributionBounds(groups=min(groups, len(cells)), rows=most, cells=len(cells), unit="person")
    with DuckDBEngine(tables) as engine:
        found = engine.summaries(plan, chosen, bounding, SECRET, cells)
    right = ReferenceEngine(tables).summaries(plan, chosen, bounding, SECRET, cells)
    for mine, theirs in zip(found, right, strict=True):
        assert mine.dtype.kind in "iO"
        assert mine.tolist() == theirs.tolist()


def test_sums_beyond_64_bits_are_exact() -> None:
    table = cl.table(pa.table({"x": pa.array(np.full(1000, 2**62))}), schema=cl.Schema(x=AGE), name="t")
    with DuckDBEngine({"t": table}) as engine:
        raw = engine.raw("t")
        (batch,) = engine.run(raw.aggregate(total=engine.dialect_of("t").total(raw.x)))
    assert to_integers(batch.column(0)).tolist() == [1000 * 2**62]


# ------------------------------------------------------------------------------------------------------------ conduct


def test_the_engine_reads_its_files_and_no_other(tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": [1]}), tmp_path / "mine.parquet")
    pq.write_table(pa.table({"age": [2]}), tmp_path / "other.parquet")
    table = cl.table(tmp_path / "mine.parquet", schema=cl.Schema(age=AGE), name="t")
    with DuckDBEngine({"t": table}) as engine:
        assert engine.backend.con.execute("SELECT age FROM celosia_t").fetchall() == [(1,)]
        for statement in (
            f"SELECT * FROM '{tmp_path}/other.parquet'",
            f"COPY celosia_t TO '{tmp_path}/copy.parquet'",
            "SET enable_external_access = true",
            "INSTALL httpfs",
        ):
            with pytest.raises(Exception, match=r"(?i)permission|locked|disabled|cannot"):
                engine.backend.con.execute(statement)
    assert not (tmp_path / "copy.parquet").exists()


def test_what_is_written_aside_goes_away() -> None:
    table = cl.table(pa.table({"age": [1]}), schema=cl.Schema(age=AGE), name="t")
    engine = DuckDBEngine({"t": table})
    folder = Path(engine._folder or "")
    assert folder.is_dir()
    assert folder.stat().st_mode & 0o077 == 0
    engine.close()
    assert not folder.exists()
    forgotten = DuckDBEngine({"t": table})
    folder = Path(forgotten._folder or "")
    del forgotten
    gc.collect()
    assert not folder.exists()


def test_what_does_not_fit_is_written_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DuckDBEngine, "_lock_down", lambda _: None)
    rows = 1_500_000
    pq.write_table(pa.table({"who": np.arange(rows), "age": np.arange(rows) % 100}), tmp_path / "t.parquet")
    plan = Plan(relation=Base("t"), keys=(Key(name="age", expression=Column("age")),), aggregates=COUNT)
    cells = Cells.product([AGE.domain() or ()])
    with DuckDBEngine({"t": of_persons(tmp_path / "t.parquet", cl.Schema(age=AGE), "who")}) as engine:
        engine.backend.con.execute("SET memory_limit = '64MB'; SET threads = 1")
        bounding = ContributionBounds(cells=len(cells), unit="person")
        (found,) = engine.summaries(plan, [need(RowCount())], bounding, SECRET, cells)
        assert list(Path(engine._folder or "").iterdir())
    assert found[:100].tolist() == [[rows // 100]] * 100


def test_progress_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("celosia.query.engines.duckdb._POLL_SECONDS", 0.001)
    seen: list[float] = []
    rng = np.random.default_rng(1)
    source = pa.table({"who": rng.integers(0, 10**6, 500_000), "age": rng.integers(0, 100, 500_000)})
    pq.write_table(source, tmp_path / "t.parquet", row_group_size=20_000)
    table = of_persons(tmp_path / "t.parquet", cl.Schema(age=AGE), "who")
    with open_engine({"t": table}, progress=seen.append) as engine:
        for _ in range(5):
            engine.summaries(ONE, [need(RowCount())], ContributionBounds(unit="person"), SECRET, Cells.product([]))
    assert seen[-1] == 1.0
    assert all(0 <= part <= 1 for part in seen)
    assert any(0 < part < 1 for part in seen)


def test_errors_do_not_repeat_messages_of_duckdb(tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": [1]}), tmp_path / "t.parquet")
    table = cl.table(tmp_path / "t.parquet", schema=cl.Schema(age=AGE), name="t")
    with open_engine({"t": table}) as engine:
        (tmp_path / "t.parquet").write_bytes(b"secret" * 100)
        with pytest.raises(EngineError, match="could not run") as caught:
            engine.summaries(ONE, [need(RowCount(), "age")], ContributionBounds(), SECRET, Cells.product([]))
    assert "secret" not in str(caught.value)
    assert str(tmp_path) not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_file_that_is_gone_is_an_error_of_ours(tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": [1]}), tmp_path / "t.parquet")
    table = cl.table(tmp_path / "t.parquet", schema=cl.Schema(age=AGE), name="t")
    (tmp_path / "t.parquet").unlink()
    with pytest.raises(EngineError, match="could not open"):
        open_engine({"t": table})


def test_deprecated_calls_of_duckdb_are_not_made(tmp_path: Path) -> None:
    rows = pa.table({"age": [34, 71, 12], "sex": ["F", "M", "F"]})
    pa.csv.write_csv(rows, tmp_path / "t.csv")
    pq.write_table(rows, tmp_path / "t.parquet")
    schema = cl.Schema(age=AGE, sex=cl.Category("F", "M"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for source in (rows, tmp_path / "t.csv", tmp_path / "t.parquet"):
            with cl.Session(cl.table(source, schema=schema, name="t"), budget=cl.PureDP(epsilon=10_000)) as session:
                by_age = session.query().group_by("age", keys=[12, 34]).count()  # keys are a small table
                assert by_age.release(epsilon=5_000).value["count"].to_pylist() == [1, 1]
                by_sex = session.sql("SELECT sex, SUM(age) FROM t GROUP BY sex")
                assert by_sex.release(epsilon=5_000).value.num_rows == 2


# Ibis reads the columns of a table by a deprecated call, here on the caller's own connection.
calls_ibis = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")


def backend_with(rows: Sequence[int]) -> Any:
    import ibis

    backend = ibis.duckdb.connect()
    backend.con.execute("CREATE TABLE ages AS SELECT unnest($1) AS age", [list(rows)])
    return backend


@calls_ibis
def test_an_ibis_table_is_queried_on_its_own_connection() -> None:
    backend = backend_with([1, 500])
    book = cl.table(
        pa.table({"age": [1], "w": [7]}),
        schema=cl.Schema(age=AGE, w=cl.Integer(0, 9)),
        public=True,
        key="age",
        name="book",
    )
    table: Table = cl.table(backend.table("ages"), schema=cl.Schema(age=AGE), name="t")
    before = backend.con.execute("SHOW ALL TABLES").fetchall()
    with open_engine({"t": table, "book": book}) as engine:
        (found,) = engine.summaries(
            ONE, [need(Total(AGE.axis), "age")], ContributionBounds(), SECRET, Cells.product([])
        )
    assert found.tolist() == [[121]]
    assert backend.con.execute("SHOW ALL TABLES").fetchall() == before
    other = cl.table(backend_with([1]).table("ages"), schema=cl.Schema(age=AGE), name="o")
    frame = cl.table(pa.table({"age": [1]}), schema=cl.Schema(age=AGE), name="f")
    for more in (other, frame):
        with pytest.raises(QueryError, match="several DuckDB connections"):
            open_engine({"t": table, more.name: more})


def test_a_session_asks_a_file(tmp_path: Path) -> None:
    pq.write_table(face.people(), tmp_path / "face.parquet")
    face.ask_everything(cl.table(tmp_path / "face.parquet", schema=face.SCHEMA, person="person_id", **face.LIMITS))


@calls_ibis
def test_types_that_only_duckdb_has() -> None:
    backend = backend_with([])
    backend.con.execute("CREATE TYPE sexes AS ENUM ('F', 'M', 'D')")
    backend.con.execute(
        "CREATE TABLE people AS SELECT unnest([2::HUGEINT ** 126, -(2::HUGEINT ** 126), 7, NULL])::HUGEINT AS x, "
        "unnest(['F', 'D', 'F', NULL])::sexes AS sex, "
        "unnest([gen_random_uuid(), gen_random_uuid(), NULL, gen_random_uuid()]) AS who"
    )
    schema = cl.Schema(x=AGE, sex=cl.Category("F", "M", "Q"))
    table = of_persons(backend.table("people"), schema, "who")
    keys = (Key(name="sex", expression=Column("sex")),)
    plan = Plan(relation=Base("t"), keys=keys, aggregates=COUNT)
    needs = [need(Total(AGE.axis), "x"), need(Distinct(), distinct="persons")]
    cells = Cells.product([("F", "M", "Q")])
    with open_engine({"t": table}) as engine:
        found = engine.summaries(plan, needs, ContributionBounds(cells=3, unit="person"), SECRET, cells)
        keys_found = list(engine.key_counts(plan, ContributionBounds(cells=3, unit="person"), SECRET))
    assert [array[:, 0].tolist() for array in found] == [[120, 0, 0], [1, 0, 0]]
    assert [batch.to_pydict() for batch in keys_found] == [{"k0": ["F"], "units": [1]}]
    rowwise = cl.table(backend.table("people"), schema=schema, name="t")
    with open_engine({"t": rowwise}) as engine:
        (total,) = engine.summaries(plan, needs[:1], ContributionBounds(cells=3), SECRET, cells)
    assert total[:, 0].tolist() == [127, 0, 0]
    backend.disconnect()


# ---- NaN and what files say about themselves


CONDITIONS = ("", "WHERE r <= 1", "WHERE r > 2", "WHERE n = 1", "WHERE b", "WHERE NOT r > 2")


def _answers(source: object, conditions: Sequence[str] = CONDITIONS) -> list[list[int]]:
    """The numbers of rows and of values, for each condition."""
    schema = cl.Schema(r=cl.Real(-3, 3, grid="0.25"), n=cl.Category(1, 2), b=cl.Boolean())
    table = cl.table(source, schema=schema, name="x")
    with cl.Session(table, budget=cl.PureDP(epsilon=10**6), source=Seeded(7)) as session:
        what = "COUNT(*) AS rows, COUNT(r) AS r, COUNT(n) AS n, COUNT(b) AS b"
        return [
            list(session.sql(f"SELECT {what} FROM x {where}", epsilon=4000).to_arrow().to_pylist()[0].values())
            for where in conditions
        ]


@pytest.mark.parametrize(
    "others",
    [
        [0.5, math.inf],
        [],
        *(pytest.param(one, marks=pytest.mark.thorough) for one in ([0.5], [1.0], [1.0, 1.0], [0.5, 9.0], [-9.0, 2.0])),
    ],
)
def test_what_becomes_of_nan_depends_on_no_other_row(others: list[float], tmp_path: Path) -> None:
    # The statistics of a Parquet file leave NaN out, and DuckDB folds conditions by them.
    values = [*others, math.nan, math.nan]
    frame = pa.table({name: pa.array(values, pa.float64()) for name in "rnb"})
    pq.write_table(frame, tmp_path / "x.parquet", row_group_size=2)
    rid = pa.table({name: pa.array(others, pa.float64()) for name in "rnb"})
    counted = _answers(frame)
    assert _answers(tmp_path / "x.parquet") == counted
    assert [values for _, *values in counted] == [values for _, *values in _answers(rid)]  # NaN is no value


@calls_ibis
def test_doubles_of_views_are_refused_and_those_of_tables_are_not(tmp_path: Path) -> None:
    import ibis

    frame = pa.table({name: [0.5, math.nan] for name in "rnb"})
    pq.write_table(frame, tmp_path / "x.parquet")
    backend = ibis.duckdb.connect()
    view = backend.read_parquet(tmp_path / "x.parquet")
    for source in (view, view.mutate(r=view.r + 1)):
        with pytest.raises(SchemaError, match=r"pass the path of the file .*or store the rows"):
            _answers(source)
    backend.raw_sql(f"CREATE TABLE stored AS FROM '{tmp_path / 'x.parquet'}'")
    stored = backend.table("stored")
    some = CONDITIONS[::2]
    assert _answers(stored, some) == _answers(frame, some) == _answers(stored.mutate(z=stored.r), some)
