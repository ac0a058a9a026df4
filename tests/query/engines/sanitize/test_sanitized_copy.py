"""No content of a row makes a question fail or changes how other rows are read: nasty rows beside ordinary ones.

Each nasty row has a twin that any engine can read. What DuckDB finds with the row must be what the reference finds with
its twin, to the last bit: then the row does what one row may do, and no more.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import celosia as cl
from celosia.core.errors import EngineError
from celosia.data.sources.files import Files
from celosia.data.sources.strings import UNREADABLE
from celosia.noise import Seeded
from celosia.query.engines.duckdb import DuckDBEngine
from celosia.query.engines.sanitize import preparation
from celosia.query.engines.sanitize.sanitized_copy import (
    find_fragile_columns,
    has_readable_rows,
    sanitize,
    write_sanitized_copy,
)
from celosia.query.plan.expressions import Call, Column, Literal
from celosia.query.plan.nodes import Aggregate, Base, Key, Plan
from celosia.query.planning.cells import Cells
from celosia.query.planning.measurements import Measurement
from celosia.statistics import ContributionBounds, Distinct, FirstMoments, Mode, RowCount
from celosia.testing.engines.reference_engine import ReferenceEngine

if TYPE_CHECKING:
    from collections.abc import Callable

    from celosia.data.table import Table

SECRET = (1, 2, 3, 4)
FIRST, LAST = -86_400, 86_400
SCHEMA = cl.Schema(
    n=cl.Integer(0, 9),
    s=cl.Category("F", "M"),
    u=cl.Text(),
    t=cl.Timestamp("1969-12-31", "1970-01-02"),
    x=cl.Real(0, 10, grid="0.5"),
)
ORDINARY = 40
LEAST = -(2**63)
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def texts(values: list[bytes | None]) -> pa.Array:
    """Strings of any bytes, as careless writers leave them."""
    raw = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(raw), raw.buffers(), raw.null_count)


def times(values: list[int], unit: str, zone: str | None) -> pa.Array:
    return pa.array(values, pa.int64()).view(pa.timestamp(unit, zone))


def decimals(values: list[int]) -> pa.Array:
    data = b"".join(value.to_bytes(16, "little", signed=True) for value in values)
    return pa.Array.from_buffers(pa.decimal128(38, 10), len(values), [None, pa.py_buffer(data)])


def rows(unit: str = "us", zone: str | None = None, **last: Any) -> pa.Table:
    """Ordinary rows, and a last one of which some columns are given."""
    rng = np.random.default_rng(5)
    number, second = rng.integers(-3, 12, ORDINARY).tolist(), rng.integers(-99_999, 99_999, ORDINARY).tolist()
    end: dict[str, Any] = {"who": b"p1", "n": 5, "s": b"F", "u": b"a", "t": 7 * UNITS[unit], "x": 2 * 10**10} | last
    more = [end] if last else []
    return pa.table(
        {
            "who": texts([f"p{i % 9}".encode() for i in range(ORDINARY)] + [row["who"] for row in more]),
            "n": pa.array(number + [row["n"] for row in more], pa.int16()),
            "s": texts([[b"F", b"M", b"X", None][i % 4] for i in range(ORDINARY)] + [row["s"] for row in more]),
            "u": texts(
                [[b"a", "é".encode(), b"", b"z\0"][i % 4] for i in range(ORDINARY)] + [row["u"] for row in more]
            ),
            "t": times([value * UNITS[unit] for value in second] + [row["t"] for row in more], unit, zone),
            "x": decimals([i * 10**9 for i in range(ORDINARY)] + [row["x"] for row in more]),
        }
    )


def twin(**last: Any) -> pa.Table:
    """The same with a last row that is what the nasty one must be read as."""
    clean = rows("us", None, **({"n": 5} | {name: value for name, value in last.items() if value is not None}))
    for name in (name for name, value in last.items() if value is None):
        place, whole = clean.column_names.index(name), clean.column(name)
        ends = pa.chunked_array([*whole.slice(0, ORDINARY).chunks, pa.nulls(1, whole.type)])
        clean = clean.set_column(place, name, ends)
    return clean


# ---------------------------------------------------------------------------------------------------------- questions


def need(measure: Any, *columns: str, distinct: str | None = None) -> Measurement:
    return Measurement(measure=measure, columns=tuple(map(Column, columns)), answers=(), distinct=distinct)


def moments(name: str) -> Measurement:
    axis = SCHEMA[name].axis
    assert axis is not None
    return need(FirstMoments(axis), name)


NEEDS = [
    *(need(RowCount(), name) for name in SCHEMA),
    *(moments(name) for name in ("n", "t", "x")),
    need(Mode(candidates=2), "s"),
    need(Distinct(), "u", distinct="values"),
]
COUNT = (Aggregate(kind="count", name="count"),)
SEX, NAME = (Key(name=name, expression=Column(name)) for name in "su")
FILTERS = [
    None,
    Call("<", (Column("t"), Literal(SCHEMA["t"].high))),  # type: ignore[attr-defined] # a time
    Call("=", (Column("s"), Literal("F"))),
    Call("<>", (Column("u"), Literal("a"))),
    Call(">", (Column("x"), Literal(1))),
]


def table_of(source: object, person: str | None = None) -> Table:
    limits: dict[str, Any] = {"max_groups_per_person": 2, "max_rows_per_group": 3, "person": person} if person else {}
    return cl.table(source, schema=SCHEMA, name="t", **limits)


def found(engine: Any, person: str | None = None, filters: list[Any] = FILTERS) -> list[Any]:
    """The exact answers to all questions."""
    unit: dict[str, Any] = {"unit": "person", "groups": 2, "rows": 3} if person else {}
    answers: list[Any] = []
    for condition in filters:
        plan = Plan(relation=Base("t"), keys=(SEX,), aggregates=COUNT, filter=condition)
        summaries = engine.summaries(
            plan, NEEDS, ContributionBounds(cells=2, **unit), SECRET, Cells.product([("F", "M")])
        )
        answers += [array.tolist() for array in summaries]
    plan = Plan(relation=Base("t"), keys=(NAME,), aggregates=COUNT)
    keys: dict[Any, int] = {}
    for batch in engine.key_counts(plan, ContributionBounds(cells=2, **unit), SECRET):
        keys |= dict(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    return [*answers, keys]


def of_duckdb(source: object, person: str | None = None, filters: list[Any] = FILTERS) -> list[Any]:
    with DuckDBEngine({"t": table_of(source, person)}) as engine:
        return found(engine, person, filters)


def of_reference(frame: pa.Table, person: str | None = None, filters: list[Any] = FILTERS) -> list[Any]:
    return found(ReferenceEngine({"t": table_of(frame, person)}), person, filters)


def in_files(table: pa.Table, folder: Path, **options: Any) -> str:
    """Two files of several row groups each."""
    pq.write_table(table.slice(0, 11), folder / "a.parquet", row_group_size=4, **options)
    pq.write_table(table.slice(11), folder / "b.parquet", row_group_size=7, **options)
    return str(folder / "*.parquet")


# -------------------------------------------------------------------------------------------------------------- times


def reads_as(value: int, unit: str) -> int | None:
    """The bounds are at a day before and after 1970, so all that is representable is clipped; in microseconds."""
    if abs(value) == 2**63 - 1 or (unit in ("s", "ms") and abs(value) * (10**6 // UNITS[unit]) >= 2**63):
        return None
    return (LAST if value > 0 else FIRST) * 10**6


FAR = [2**63 - 1, 2**62, LEAST + 1, LEAST, (2**63 - 1) // 1000, 2**63 - 2, LEAST + 2, -((2**63 - 1) // 1000) - 1]


def by_time(value: int) -> list[Any]:
    """All values are read, and one of each kind (the largest, the least, one in range) is compared as well."""
    return BY_TIME if value in (FAR[0], FAR[3], FAR[4]) else FILTERS[:1]


@pytest.fixture(scope="module")
def expected() -> Callable[..., list[Any]]:
    known: dict[str, list[Any]] = {}

    def compute(person: str | None = None, filters: list[Any] = FILTERS, **last: Any) -> list[Any]:
        mark = repr((person, filters, last))
        if mark not in known:
            known[mark] = of_reference(twin(**last), person, filters)
        return known[mark]

    return compute


BY_TIME, BY_TEXT, BY_NUMBER = FILTERS[:2], FILTERS[2:4], [FILTERS[0], FILTERS[4]]


@pytest.mark.parametrize(("unit", "zone"), [("ms", None), ("ms", "UTC"), ("us", None), ("us", "UTC"), ("ns", None)])
@pytest.mark.sampled(3)
def test_times_far_away_in_parquet(
    unit: str, zone: str | None, tmp_path: Path, expected: Any, *, thorough: bool
) -> None:
    for value in FAR[: None if thorough else 5] if (unit, zone) == ("ms", None) else FAR[::3]:
        source, filters = in_files(rows(unit, zone, t=value), tmp_path), by_time(value)
        assert of_duckdb(source, None, filters) == expected(None, filters, t=reads_as(value, unit)), value


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("zone", [None, "Asia/Kathmandu"])
@pytest.mark.sampled(4)
def test_times_far_away_in_frames(unit: str, zone: str | None, expected: Any, *, thorough: bool) -> None:
    for value in FAR[: None if thorough else 5] if unit in ("s", "ms") and zone else FAR[::3]:
        filters = by_time(value)
        right = expected(None, filters, t=reads_as(value, unit))
        assert of_duckdb(rows(unit, zone, t=value), None, filters) == right, value


def test_times_far_away_in_frames_of_other_libraries(expected: Any) -> None:
    value, filters = 2**62, FILTERS[:1]
    for unit in ("ms", "us"):
        frame = rows(unit, "UTC", t=value)
        right = expected(None, filters, t=reads_as(value, unit))
        assert of_duckdb(frame.to_pandas(types_mapper=pd.ArrowDtype), None, filters) == right
        assert of_duckdb(pl.from_arrow(frame), None, filters) == right
    encoded = rows("s", "UTC", t=value)
    column = encoded.column("t").dictionary_encode()
    assert of_duckdb(encoded.set_column(4, "t", column), None, filters) == expected(None, filters, t=None)


# -------------------------------------------------------------------------------------------------------------- texts


BROKEN = [b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b"F\xe9", b"\xf4\x90\x80\x80", b"x" * 1000 + b"\xe2\x82"]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda text: text[-4:].hex())
@pytest.mark.sampled(3)
def test_texts_that_are_not_utf_8(broken: bytes, tmp_path: Path, expected: Any) -> None:
    table, right = rows(s=broken, u=broken), expected(None, BY_TEXT, s=None, u=UNREADABLE.encode())
    assert of_duckdb(table, None, BY_TEXT) == right
    assert of_duckdb(in_files(table, tmp_path), None, BY_TEXT) == right


def test_texts_in_pages_of_other_kinds(tmp_path: Path, expected: Any) -> None:
    source = in_files(rows(s=b"\xff", u=b"\xff"), tmp_path, use_dictionary=False, write_statistics=False)
    assert of_duckdb(source, None, BY_TEXT) == expected(None, BY_TEXT, s=None, u=UNREADABLE.encode())


def test_texts_in_dictionaries(tmp_path: Path, expected: Any) -> None:
    table = rows(s=b"\xff", u=b"\xff\xfe")
    for place, name in ((2, "s"), (3, "u")):
        table = table.set_column(place, name, table.column(name).cast(pa.binary()).dictionary_encode())
    texts_again = [table.column(name).combine_chunks() for name in "su"]
    for place, column in zip((2, 3), texts_again, strict=True):
        values = texts(column.dictionary.to_pylist())
        table = table.set_column(place, "su"[place - 2], pa.DictionaryArray.from_arrays(column.indices, values))
    right = expected(None, BY_TEXT, s=None, u=UNREADABLE.encode())
    assert of_duckdb(table, None, BY_TEXT) == right
    assert of_duckdb(in_files(table, tmp_path), None, BY_TEXT) == right


def test_a_person_id_that_is_not_utf_8_becomes_null(tmp_path: Path, expected: Any) -> None:
    right = expected("who", FILTERS[:1], who=None)
    for source in (in_files(rows(who=b"\xff"), tmp_path), rows(who=b"p1\xe9")):
        assert of_duckdb(source, "who", FILTERS[:1]) == right


@pytest.mark.parametrize("number", [-(2**127), 1 - 2**127, 10**38])
@pytest.mark.sampled(2)
def test_decimals_beyond_their_precision(number: int, tmp_path: Path, expected: Any) -> None:
    table, right = rows(x=number), expected(None, BY_NUMBER, x=10**11 if number > 0 else 0)
    assert of_duckdb(table, None, BY_NUMBER) == right
    assert of_duckdb(in_files(table, tmp_path), None, BY_NUMBER) == right


def test_all_at_once(tmp_path: Path, expected: Any) -> None:
    everything = rows("ms", "UTC", x=-(2**127), s=b"\xff", u=b"\xff", t=LEAST)
    last: dict[str, Any] = {"x": 0, "s": None, "u": UNREADABLE.encode(), "t": None}
    assert of_duckdb(in_files(everything, tmp_path)) == expected(**last)
    assert of_duckdb(everything, None, FILTERS[:1]) == expected(None, FILTERS[:1], **last)


def test_a_person_id_that_cannot_be_written_becomes_null(tmp_path: Path) -> None:
    ends = b"".join(number.to_bytes(16, "little", signed=True) for number in (7, -(2**127), 1 - 2**127))
    who = pa.Array.from_buffers(pa.decimal128(38, 0), 3, [None, pa.py_buffer(ends)])
    table = pa.table({"who": who, "n": [1, 2, 3]})
    pq.write_table(table, tmp_path / "t.parquet")
    for source in (table, tmp_path / "t.parquet"):
        limits: dict[str, Any] = {"person": "who", "max_groups_per_person": 1, "max_rows_per_group": 1}
        given = cl.table(source, schema=cl.Schema(n=cl.Integer(0, 9)), name="t", **limits)
        with DuckDBEngine({"t": given}) as engine:
            plan, bounding = Plan(relation=Base("t"), aggregates=COUNT), ContributionBounds(unit="person")
            (count,) = engine.summaries(plan, [need(RowCount())], bounding, SECRET, Cells.product([]))
        assert count.tolist() == [[2]]


def test_what_was_in_order_is_the_same_in_the_copy(tmp_path: Path) -> None:
    """Types of all kinds, with all that DuckDB reads without an error: beside a broken text nothing else changes."""
    import duckdb

    rng = np.random.default_rng(3)
    raw = {
        "i8": pa.int8(),
        "u64": pa.uint64(),
        "i64": pa.int64(),
        "f64": pa.float64(),
        "day": pa.date32(),
        "us": pa.timestamp("us"),
        "usz": pa.timestamp("us", "UTC"),
        "ns": pa.timestamp("ns"),
        "dec": pa.decimal128(38, 7),
    }
    columns = {}
    for name, type_ in raw.items():
        width = type_.bit_width // 8
        data = rng.bytes(100 * width) + b"\x00" * width + b"\xff" * width + b"\x00" * (width - 1) + b"\x80"
        columns[name] = pa.Array.from_buffers(type_, 103, [None, pa.py_buffer(data)])
    columns["ms"] = times(rng.integers(-(10**14), 10**14, 103).tolist(), "ms", None)
    columns["s"] = texts([b"a"] * 103)
    columns["uuid"] = pa.array([rng.bytes(16) for _ in range(103)], pa.uuid())
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=30)
    copy = write_sanitized_copy(Files((str(tmp_path / "t.parquet"),), "parquet"), list(columns), None, str(tmp_path))
    exact = {"us": "epoch_us(us)", "usz": "epoch_us(usz)", "ms": "epoch_us(ms)", "ns": "epoch_ns(ns)"}
    exact |= {"uuid": "uuid::VARCHAR", "dec": "dec % 1", "f64": "isnan(f64), CASE WHEN NOT isnan(f64) THEN f64 END"}
    for name in columns:
        query = f"SELECT {exact.get(name, name)} FROM read_parquet($1, can_have_nan = true)"
        old, new = (duckdb.execute(query, [str(path)]).fetchall() for path in (tmp_path / "t.parquet", copy.paths[0]))
        assert old[:-1] == new[:-1], name
        assert (old[-1] == new[-1]) is (name != "dec")  # the least of 128 bits


# -------------------------------------------------------------------------------------------------------- the copy


def broken_file(folder: Path) -> Path:
    pq.write_table(rows(s=b"\xff"), folder / "t.parquet", row_group_size=9)
    return folder / "t.parquet"


def test_a_copy_gives_the_same_answers(tmp_path: Path) -> None:
    answers = []
    for source in (broken_file(tmp_path), twin(s=None)):
        with cl.Session(table_of(source), budget=cl.PureDP(epsilon=10), source=Seeded(7)) as session:
            release = session.sql("SELECT s, COUNT(*) AS n FROM t WHERE s <> 'M' GROUP BY s", epsilon=1)
            answers.append((release.to_arrow().to_pydict(), release.event, session.spent, len(session.history)))
    assert answers[0] == answers[1]


def test_private_keys_are_counted_in_the_copy(tmp_path: Path) -> None:
    answers = []
    for source in (broken_file(tmp_path), twin(s=None)):
        with cl.Session(table_of(source), budget=cl.ApproxDP(epsilon=99, delta=0.1), source=Seeded(7)) as session:
            release = session.sql("SELECT u, COUNT(s) AS n FROM t GROUP BY u", epsilon=50, delta=0.01)
            answers.append((sorted(release.to_arrow().to_pydict()["u"]), session.spent))
    assert answers[0] == answers[1]


def test_a_copy_is_made_once_and_goes_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def counted(*args: Any) -> Files:
        calls.append(args[-1])
        return write_sanitized_copy(*args)

    monkeypatch.setattr(preparation, "write_sanitized_copy", counted)
    with DuckDBEngine({"t": table_of(broken_file(tmp_path))}) as engine:
        threads = [threading.Thread(target=found, args=(engine, None, FILTERS[:1])) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found(engine, None, BY_TEXT) == of_reference(twin(s=None), None, BY_TEXT)
        assert len(calls) == 1
        assert list(Path(calls[0]).glob("sanitized-*/*.parquet"))
        with pytest.raises(Exception, match=r"(?i)permission|disabled"):  # as locked as before
            engine.backend.con.execute(f"SELECT * FROM '{tmp_path}/other.parquet'")
    assert not Path(calls[0]).exists()


def test_ordinary_files_are_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "write_sanitized_copy", None)
    source = in_files(rows("ms", "UTC"), tmp_path)
    assert of_duckdb(source, None, FILTERS[:1]) == of_reference(rows(), None, FILTERS[:1])


def test_without_the_check_one_row_decides_whether_there_is_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparation, "has_readable_rows", lambda *_: True)
    with pytest.raises(EngineError):
        of_duckdb(broken_file(tmp_path))
    (tmp_path / "far").mkdir()
    with pytest.raises(EngineError):
        of_duckdb(in_files(rows("ms", t=LEAST), tmp_path / "far"))


def test_a_copy_that_cannot_be_made_is_an_error_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        message = "secret"
        raise OSError(message)

    monkeypatch.setattr(preparation, "write_sanitized_copy", full)
    with pytest.raises(EngineError, match="could not open the tables") as caught:
        DuckDBEngine({"t": table_of(broken_file(tmp_path))})
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_rows_that_duckdb_cannot_read_are_found(tmp_path: Path) -> None:
    cases: list[tuple[pa.Array, bool]] = [
        (texts([b"F", None]), True),
        (texts([b"F", b"\xff"]), False),
        (texts([b"F", b"\xff"]).dictionary_encode(), False),
        (times([0, 2**62], "ms", None), False),
        (times([0, -(2**62)], "ms", "UTC"), False),
        (times([0, 2**50], "ms", None), True),
        (times([0, 2**62], "us", None), True),
        (pa.array([0, None], pa.decimal128(38, 2)), True),
    ]
    for column, sound in cases:
        pq.write_table(pa.table({"n": [1, 2], "x": column}), tmp_path / "t.parquet")
        files = Files((str(tmp_path / "t.parquet"),), "parquet")
        assert has_readable_rows(files, ["n", "x"]) is sound
        assert has_readable_rows(files, ["n"])


# -------------------------------------------------------------------------------------------------------------- parts


def test_what_is_in_order_is_not_copied() -> None:
    table = pa.table({"s": ["a", "é", None], "t": pa.array([1, 2, None], pa.timestamp("ms"))})
    assert sanitize(table) is table


def test_zones_are_left_out_and_instants_kept() -> None:
    at = pa.chunked_array([pa.array([0, None, -1], pa.timestamp("ns", "Asia/Kathmandu"))] * 2).slice(1)
    found_at = sanitize(pa.table({"at": at})).column("at")
    assert found_at.type == pa.timestamp("ns")
    assert found_at.cast(pa.int64()).to_pylist() == [None, -1, 0, None, -1]


def test_an_empty_file_is_copied(tmp_path: Path) -> None:
    pq.write_table(rows().slice(0, 0), tmp_path / "t.parquet")
    files = Files((str(tmp_path / "t.parquet"),), "parquet")
    assert find_fragile_columns(files.paths[0], ["n", "s", "t"]) == ["s"]
    copy = write_sanitized_copy(files, ["n", "s"], None, str(tmp_path))
    assert pq.read_table(copy.paths[0]).num_rows == 0
    only = write_sanitized_copy(files, ["s"], None, str(tmp_path))
    assert pq.read_schema(only.paths[0]).names == ["s"]


def test_valid_texts_are_what_python_decodes() -> None:
    rng = np.random.default_rng(11)
    letters = np.array([0x61, 0x80, 0x9F, 0xA0, 0xBF, 0xC2, 0xE0, 0xED, 0xF0, 0xF4, 0x8F, 0x90, 0], dtype=np.uint8)
    raw = [rng.choice(letters, rng.integers(0, 6)).tobytes() for _ in range(5_000)]
    kept = sanitize(pa.table({"s": texts(list(raw))})).column("s").to_pylist()
    assert sum(text != UNREADABLE for text in kept) > 250
    for given, text in zip(raw, kept, strict=True):
        assert text == (given.decode() if given.decode("utf-8", "ignore").encode() == given else UNREADABLE)


def test_what_a_folder_is_called_is_no_column_of_a_copy(tmp_path: Path) -> None:
    file = tmp_path / "age=5" / "t.parquet"
    file.parent.mkdir()
    broken = pa.array([b"F"] * 9 + [bytes([255])]).view(pa.string())
    pq.write_table(pa.table({"age": [100] * 10, "sex": broken}), file)
    schema = cl.Schema(age=cl.Integer(0, 200), sex=cl.Category("F", "M"))
    with cl.Session(cl.table(file, schema=schema, name="t"), budget=cl.PureDP(epsilon=10_000)) as session:
        asked = "SELECT COUNT(sex) AS n, SUM(age) AS s FROM t"
        (found,) = session.sql(asked, epsilon=2000).to_arrow().to_pylist()
    assert found["n"] == 9
    assert abs(found["s"] - 1000) < 50
