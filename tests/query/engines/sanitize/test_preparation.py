"""What depends on a row happens when tables are opened: no question checks, copies or fails because of one."""

from __future__ import annotations

import datetime as dt
import gc
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import celosia as cl
from celosia.core.errors import EngineError, InputError, SchemaError
from celosia.data.sources.strings import UNREADABLE
from celosia.query.engines.registry import open_engine
from celosia.query.engines.sanitize import preparation
from celosia.query.engines.sanitize.preparation import CheckedFiles, CheckedFrame, PreparedTables, remove_folder
from celosia.query.execution.rows import rows_of
from celosia.query.plan.expressions import Column
from celosia.query.plan.nodes import Base

SCHEMA = cl.Schema(age=cl.Integer(0, 200), sex=cl.Category("F", "M"))
LIMITS: dict[str, Any] = {"person": "who", "max_groups_per_person": 1, "max_rows_per_group": 1}


def file_of(folder: Path, last: bytes) -> Path:
    sex = pa.array([b"F"] * 9 + [last]).view(pa.string())
    pq.write_table(pa.table({"age": [100] * 10, "sex": sex}), folder / "t.parquet")
    return folder / "t.parquet"


def counted(session: cl.Session, what: str = "sex") -> int:
    (found,) = session.sql(f"SELECT COUNT({what}) AS n FROM t", epsilon=100).to_arrow().to_pylist()
    return int(found["n"])


def test_no_question_looks_for_rows_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for last, expected in ((b"F", 10), (b"\xff", 9)):
        with monkeypatch.context() as patched:
            table = cl.table(file_of(tmp_path, last), schema=SCHEMA, name="t")
            session = cl.Session(table, budget=cl.PureDP(epsilon=1000))
            for name in ("has_readable_rows", "write_sanitized_copy", "to_arrow", "sanitize"):
                patched.setattr(preparation, name, None)
            assert counted(session) == expected
            session.close()
            assert counted(session) == expected  # also when the engine is opened again
            session.close()


def test_no_question_looks_for_the_longest_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "t.csv"
    file.write_text("age,sex\n" + "100,F\n" * 10)
    with cl.Session(cl.table(file, schema=SCHEMA, name="t"), budget=cl.PureDP(epsilon=1000)) as session:
        monkeypatch.setattr(preparation, "measure_longest_record", None)
        assert counted(session) == 10


def test_a_copy_lasts_as_long_as_the_session(tmp_path: Path) -> None:
    prepared = PreparedTables({"t": cl.table(file_of(tmp_path, b"\xff"), schema=SCHEMA, name="t")})
    source = prepared.tables["t"].source
    assert isinstance(source, CheckedFiles)
    assert pq.read_table(source.paths[0]).column("sex").to_pylist()[-1] == UNREADABLE
    assert PreparedTables(prepared.tables).tables == prepared.tables  # once is enough
    del prepared
    gc.collect()
    assert not Path(source.paths[0]).exists()
    assert (tmp_path / "t.parquet").exists()


def test_files_in_order_are_read_where_they_are(tmp_path: Path) -> None:
    path = file_of(tmp_path, b"M")
    source = PreparedTables({"t": cl.table(path, schema=SCHEMA, name="t")}).tables["t"].source
    assert isinstance(source, CheckedFiles)
    assert source.paths == (str(path),)


def test_files_that_change_are_opened_anew_by_their_owner(tmp_path: Path) -> None:
    table = cl.table(file_of(tmp_path, b"F"), schema=SCHEMA, name="t")
    with cl.Session(table, budget=cl.PureDP(epsilon=1000)) as session:
        assert counted(session) == 10
        file_of(tmp_path, b"\xff")
        assert not session.is_current()
        with pytest.raises(EngineError, match="have changed since the session was opened"):
            counted(session)
        assert session.spent == cl.PureDP(epsilon=100)
    with cl.Session(table, budget=cl.PureDP(epsilon=1000)) as session:
        assert session.is_current()
        assert counted(session) == 9


def test_tables_that_cannot_be_opened_leave_no_budget_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        message = "Eulalia"
        raise OSError(message)

    monkeypatch.setattr(preparation, "write_sanitized_copy", full)
    table = cl.table(file_of(tmp_path, b"\xff"), schema=SCHEMA, name="t")
    with cl.open_ledger("memory://") as ledger:
        with pytest.raises(EngineError, match="could not open the tables") as caught:
            cl.Session(table, budget=cl.PureDP(epsilon=1), ledger=ledger)
        assert not ledger.budgets
    assert "Eulalia" not in str(caught.value)


def test_a_fork_of_the_process_removes_nothing(tmp_path: Path) -> None:
    (tmp_path / "aside").mkdir()
    remove_folder(str(tmp_path / "aside"), os.getpid() + 1)
    assert (tmp_path / "aside").exists()
    remove_folder(str(tmp_path / "aside"), os.getpid())
    assert not (tmp_path / "aside").exists()


# ----------------------------------------------------------------------------------------------- columns of objects


@pytest.mark.parametrize("gap", [True, None])
def test_booleans_and_dates_of_objects_are_read_with_and_without_gaps(gap: object) -> None:
    day = dt.date(2021, 1, 2)
    frame = pd.DataFrame({"b": [True, False, gap], "d": [day, day, day if gap else None]})
    schema = cl.Schema(b=cl.Boolean(), d=cl.Date("2021-01-01", "2021-12-31"))
    with cl.Session(cl.table(frame, schema=schema, name="t"), budget=cl.PureDP(epsilon=1000)) as session:
        assert counted(session, "b") == counted(session, "d") == (3 if gap else 2)


def test_ids_of_several_types_are_refused_before_anything_is_read() -> None:
    cases: list[object] = [1.0, True, Decimal(1), "1", b"1"]
    for extra in cases:
        frame = pd.DataFrame({"who": pd.Series([1, extra], dtype=object), "age": [30, 40]})
        table = cl.table(frame, schema=cl.Schema(age=cl.Integer(0, 120)), name="t", **LIMITS)
        with pytest.raises(InputError, match="The person column 'who' is of Python objects"):
            cl.Session(table, budget=cl.PureDP(epsilon=1))


def test_person_ids_with_lone_surrogates_become_null() -> None:
    who = pd.Series(["\ud800", "\ud801", "?", "ana"], dtype=object)
    frame = pd.DataFrame({"who": who, "age": [30] * 4})
    table = cl.table(frame, schema=cl.Schema(age=cl.Integer(0, 120)), name="t", **LIMITS)
    with cl.Session(table, budget=cl.PureDP(epsilon=1000)) as session:
        assert counted(session, "*") == 2


def test_objects_of_polars_are_no_ids() -> None:
    frame = pl.DataFrame({"who": pl.Series([1, True, "a"], dtype=pl.Object), "age": [1, 2, 3]})
    table = cl.table(frame, schema=cl.Schema(age=cl.Integer(0, 120)), name="t", **LIMITS)
    with (
        cl.Session(table, budget=cl.PureDP(epsilon=1)) as session,
        pytest.raises(SchemaError, match="person column 'who' is of the type"),
    ):
        counted(session, "*")
    assert session.spent == cl.PureDP(epsilon=0, unit="person")


# ------------------------------------------------------------------------------------------------ layouts of strings


@pytest.mark.parametrize("layout", ["string_view", "large_string", "dictionary"])
@pytest.mark.parametrize("last", [b"M", b"\xff"])
@pytest.mark.parametrize("where", ["frame", "file"])
def test_strings_of_any_layout_are_read(layout: str, last: bytes, where: str, tmp_path: Path) -> None:
    raw = pa.array([b"F", b"M", None, last])
    match layout:
        case "string_view":
            sex = raw.cast(pa.binary_view()).view(pa.string_view())
        case "large_string":
            sex = raw.cast(pa.large_binary()).view(pa.large_string())
        case _:
            values = raw.cast(pa.binary_view()).view(pa.string_view())
            sex = values if where == "file" else pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3]), values)
    source: Any = pa.table({"age": [1, 2, 3, 4], "sex": sex})
    if where == "file":
        pq.write_table(source, tmp_path / "t.parquet")
        source = tmp_path / "t.parquet"
    prepared = PreparedTables({"t": cl.table(source, schema=SCHEMA, name="t")})
    assert isinstance(prepared.tables["t"].source, CheckedFiles | CheckedFrame)
    with cl.Session(prepared.tables["t"], budget=cl.PureDP(epsilon=1000)) as session:
        assert counted(session) == (3 if last == b"M" else 2)


# ------------------------------------------------------------------------------------------- one file in every format

SPANISH = cl.Schema(
    edad=cl.Integer(0, 120),
    peso=cl.Real(0, 300, grid="0.5"),
    alta=cl.Date("2021-01-01", "2021-12-31"),
    visto=cl.Timestamp("2021-01-01", "2022-01-01"),
    ciudad=cl.Category("Málaga", "León"),
    fuma=cl.Boolean(),
)
DECLARED: dict[str, Any] = {
    "decimal": ",",
    "date_format": ["%d/%m/%Y", "%d/%m/%Y %H:%M"],
    "null_values": ["NA"],
}
CELLS = {
    "edad": ["34", "71", "NA", "x"],
    "peso": ["60,5", "71", "1.000", "80,25"],
    "alta": ["31/12/2021", "1/2/2021", "30/02/2021", "2021-12-31"],
    "visto": ["31/12/2021 10:30", "1/2/2021", "NA", "31/12/21"],
    "ciudad": ["Málaga", "León", "NA", "leon"],
    "fuma": ["yes", "No", "NA", "sometimes"],
}


def written(form: str, folder: Path) -> Any:
    """The same cells, as text, in another format."""
    table = pa.table(CELLS)
    if form == "parquet":
        pq.write_table(table, folder / "a.parquet")
        return str(folder / "a.parquet")
    if form in ("latin-1", "utf-16"):
        lines = [";".join(CELLS), *(";".join(row) for row in zip(*CELLS.values(), strict=True))]
        (folder / "a.csv").write_bytes("\n".join(lines).encode(form))
        return str(folder / "a.csv")
    if form == "arrow":
        return table
    if form == "polars":
        return pl.DataFrame(CELLS)
    return pd.DataFrame(CELLS).astype(object if form == "objects" else "string")


@pytest.mark.parametrize("form", ["latin-1", "utf-16", "parquet", "arrow", "pandas", "objects", "polars"])
def test_the_same_cells_are_read_alike_in_every_format(form: str, tmp_path: Path) -> None:
    files: dict[str, Any] = {"encoding": form, "delimiter": ";"} if form in ("latin-1", "utf-16") else {}
    table = cl.table(written(form, tmp_path), schema=SPANISH, name="t", **DECLARED, **files)
    with open_engine({"t": table}) as engine:
        rows = rows_of(Base("t"), engine)  # type: ignore[arg-type] # an engine of Ibis
        found = rows.table.select(**{name: rows.value(Column(name)) for name in SPANISH})
        clean = pa.Table.from_batches(engine.run(found)).to_pydict()  # type: ignore[attr-defined] # as above
    assert clean == {
        "edad": [34, 71, None, None],
        "peso": [60.5, 71.0, None, 80.5],
        "alta": [18_992, 18_659, None, None],
        "visto": [1_640_946_600, 1_612_137_600, None, None],
        "ciudad": ["Málaga", "León", None, None],
        "fuma": [True, False, None, None],
    }


def test_declared_nulls_are_no_person(tmp_path: Path) -> None:
    """Rows without a person are left out, whatever the file writes in the place of one."""
    (tmp_path / "a.csv").write_text("who,age\n1,34\nNA,71\nNA,20\n,50\n")
    limits: dict[str, Any] = {"person": "who", "max_groups_per_person": 1, "max_rows_per_group": 5}
    ages = cl.Schema(age=cl.Integer(0, 120))
    table = cl.table(str(tmp_path / "a.csv"), schema=ages, name="t", null_values="NA", **limits)
    with open_engine({"t": table}) as engine:
        rows = rows_of(Base("t"), engine)  # type: ignore[arg-type] # an engine of Ibis
        assert pa.Table.from_batches(engine.run(rows.table)).num_rows == 1  # type: ignore[attr-defined] # as above


def test_a_public_csv_file_is_read_as_declared(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("código;factor;desde\nA;1,5;31/12/2021\nB;NA;1/2/2021\n".encode("latin-1"))
    book = cl.table(
        str(tmp_path / "a.csv"), name="b", public=True, key="código", encoding="latin-1", decimal=",",
        date_format="%d/%m/%Y", null_values="NA",
    )  # fmt: skip
    assert isinstance(book.schema["factor"], cl.Real)
    assert isinstance(book.schema["desde"], cl.Timestamp)
