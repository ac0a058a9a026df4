"""Raw columns of every type and content are cleaned as by a reference in Python; nothing raises."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from celosia.core.errors import QueryError
from celosia.data.schema.axis import Axis
from celosia.data.schema.columns import Boolean, Category, Date, Integer, Kind, Real, Text, Timestamp
from celosia.query.engines.duckdb import DuckDBDialect
from celosia.query.execution.clean import (
    clean,
    clean_integer,
    clip_integer,
    coarsen_step,
    encode_value,
    impute,
    step_on_axis,
    step_to_double,
)
from celosia.query.execution.dialect import integer_literal
from tests.query.computed import all_computed, computed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ibis.expr import types as ir

MIDNIGHT = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
RNG = np.random.default_rng(108)

DOUBLES = [
    *(0.0, -0.0, 0.5, 1.0, 1.5, -1.5, 2.5, 0.05, 0.15, 0.1, 119.5, 120.0, 120.5, 299.95, 300.0, 1e-9, 1.5e-9),
    *(math.nan, math.inf, -math.inf, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, -1e300),
    *(
        2.0**52 + 0.5,
        2.0**53,
        2.0**62,
        2.0**63,
        -(2.0**63),
        1e30,
        -1e30,
        0.49999999999999994,
        -0.5,
        -0.49999999999999994,
    ),
    *RNG.normal(0, 100, 60).tolist(),
    *RNG.integers(0, 2**63, 60).view(np.float64).tolist(),
]
NUMBERS: dict[str, tuple[pa.DataType, Sequence[Any]]] = {
    "int8": (pa.int8(), [0, 1, -1, 7, 127, -128]),
    "int16": (pa.int16(), [0, 1, 121, -(2**15), 2**15 - 1]),
    "int32": (pa.int32(), [0, 1, 120, -(2**31), 2**31 - 1]),
    "int64": (pa.int64(), [0, 1, -1, 120, 121, 2**53 + 1, 2**62 + 1, -(2**62) - 1, -(2**63), 2**63 - 1]),
    "uint8": (pa.uint8(), [0, 1, 255]),
    "uint32": (pa.uint32(), [0, 1, 120, 2**32 - 1]),
    "uint64": (pa.uint64(), [0, 1, 120, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1]),
    "bool": (pa.bool_(), [True, False]),
    "float32": (pa.float32(), [x for x in DOUBLES if not math.isfinite(x) or abs(x) < 3e38]),
    "float64": (pa.float64(), DOUBLES),
    "decimal4_0": (pa.decimal128(4, 0), [Decimal(n) for n in (0, 1, -1, 9999, -9999)]),
    "decimal38_0": (pa.decimal128(38, 0), [Decimal(n) for n in (0, 1, 7, 2**63, -(2**63) - 1, 10**38 - 1, 1 - 10**38)]),
    "decimal9_2": (
        pa.decimal128(9, 2),
        [Decimal(text) for text in ("0", "0.05", "1", "-1.50", "120.50", "9999999.99")],
    ),
    "decimal18_4": (pa.decimal128(18, 4), [Decimal(text) for text in ("0.0001", "1", "0.15", "-99999999999999.9999")]),
    "decimal38_9": (pa.decimal128(38, 9), [Decimal(text) for text in ("0", "1", "0.000000001", "9" * 29, "-0.5")]),
}
KINDS: dict[str, Kind] = {
    "age": Integer(0, 120),
    "filled": Integer(-5, 5, null=3),
    "positive": Integer(1, 9),
    "share": Real(0, 1),
    "weight": Real(-1, 300, grid="0.1", null="7.25"),
    "coarse": Real(-10, 10, grid=3),
    "huge": Real("-1e30", "1e30"),
    "tiny": Real("1e-9", "2e-9"),
    "alive": Boolean(),
    "dead": Boolean(null=True),
    "grade": Category(1, 2, 120),
    "code": Category(0, 7, null=7),
}
WIDE: dict[str, Kind] = {"constant": Integer(7, 7), "wide": Integer(-(2**62), 2**62), "far": Integer(2**60, 2**60 + 9)}


# ------------------------------------------------------------------------------------------------------- reference


def held(step: int, axis: Axis) -> int:
    return max(axis.lowest, min(axis.highest, step))


def step_of(number: float, kind: Real) -> int:
    """The nearest multiple of the grid, in doubles, of a number that is finite, between the bounds."""
    inside = max(float(kind.low), min(float(kind.high), float(number)))
    return held(math.floor(inside / float(kind.axis.grid) + 0.5), kind.axis)


def whole_wanted(raw: Any, kind: Kind) -> int | None:
    """The clean value as an integer; None where there is none."""
    number = float(raw) if isinstance(raw, Decimal) and raw != raw.to_integral_value() else raw
    if raw is None or (isinstance(number, float) and not math.isfinite(number)):
        return None
    match kind:
        case Boolean():
            return int(number) if number in (0, 1) else None
        case Category():
            return int(number) if number in kind.values else None
        case Real():
            return step_of(float(number), kind)
        case Integer(low=low, high=high):
            near = math.floor(number + 0.5) if isinstance(number, float) else int(number)
            return max(low, min(high, near))
    raise AssertionError(kind)


def wanted(raw: Any, kind: Kind) -> Any:
    number = whole_wanted(raw, kind)
    if number is None and not kind.nullable:
        number = step_of(float(Fraction(kind.null)), kind) if isinstance(kind, Real) else int(kind.null)  # type: ignore[arg-type]  # a number
    if number is None:
        return None
    match kind:
        case Boolean():
            return bool(number)
        case Real():
            return number * float(kind.axis.grid)
        case _:
            return number


def cleaned(rows: pa.Table, kinds: dict[str, Kind], dialect: DuckDBDialect | None = None) -> dict[str, list[Any]]:
    found = all_computed(
        rows, lambda table: {name: clean(table.x, kind, dialect or DuckDBDialect()) for name, kind in kinds.items()}
    )
    columns: dict[str, list[Any]] = found.to_pydict()
    return columns


# --------------------------------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize("type_", NUMBERS)
def test_numbers_of_every_type(type_: str) -> None:
    arrow, values = NUMBERS[type_]
    rows = pa.table({"x": pa.array([*values, None], arrow)})
    raws = rows["x"].to_pylist()
    kinds = {name: kind for name, kind in KINDS.items() if arrow != pa.bool_() or not isinstance(kind, Category)}
    found = cleaned(rows, kinds)
    for name, kind in kinds.items():
        for raw, value in zip(raws, found[name], strict=True):
            expected = wanted(raw, kind)
            assert (value, type(value)) == (expected, type(expected)), (name, raw)


def test_bounds_of_whole_numbers_may_be_anything() -> None:
    for type_ in [name for name in NUMBERS if "int" in name or name.endswith(("_0", "bool"))]:
        arrow, values = NUMBERS[type_]
        rows = pa.table({"x": pa.array([*values, None], arrow)})
        for name, column in cleaned(rows, WIDE).items():
            assert column == [wanted(raw, WIDE[name]) for raw in rows["x"].to_pylist()], name


def test_wide_bounds_over_doubles() -> None:
    for name, kind in WIDE.items():
        rows = pa.table({"x": pa.array([*DOUBLES, None], pa.float64())})
        (found,) = cleaned(rows, {name: kind}).values()
        assert isinstance(kind, Integer)
        assert all(value is None or kind.low <= value <= kind.high for value in found)
        assert [value is None for value in found] == [
            raw is None or not math.isfinite(raw) for raw in rows["x"].to_pylist()
        ]


@pytest.mark.parametrize("type_", ["int64", "uint64", "float64", "float32", "decimal38_0", "decimal9_2"])
def test_steps_stay_on_the_axis(type_: str) -> None:
    """What a sum is made of lies between 0 and the number of steps, for whatever a row holds."""
    arrow, values = NUMBERS[type_]
    kinds = {name: kind for name, kind in KINDS.items() if kind.axis is not None}
    rows = pa.table({"x": pa.array([*values, None], arrow)})
    dialect = DuckDBDialect()
    found = all_computed(
        rows,
        lambda table: {name: step_on_axis(clean_integer(table.x, kind, dialect), kind) for name, kind in kinds.items()},
    )
    for name, kind in kinds.items():
        assert kind.axis is not None
        there = [step for step in found[name].to_pylist() if step is not None]
        assert all(0 <= step <= kind.axis.steps for step in there), name
        if not kind.nullable:
            assert len(there) == len(values) + 1


@pytest.mark.parametrize("type_", ["int64", "float64", "decimal9_2"])
def test_what_is_clean_stays_the_same(type_: str) -> None:
    """A clean value read as an integer again is the same one."""
    arrow, values = NUMBERS[type_]
    kinds = {name: kind for name, kind in KINDS.items() if kind.axis is not None}
    rows = pa.table({"x": pa.array([*values, None], arrow)})
    dialect = DuckDBDialect()

    def both(table: ir.Table) -> dict[str, ir.Value]:
        raw = {f"raw_{name}": clean_integer(table.x, kind, dialect) for name, kind in kinds.items()}
        again = {name: clip_integer(clean(table.x, kind, dialect), kind, dialect) for name, kind in kinds.items()}
        return raw | again

    found = all_computed(rows, both).to_pydict()
    for name in kinds:
        assert found[name] == found[f"raw_{name}"], name


def test_derived_values_outside_are_clipped_once_more() -> None:
    rows = pa.table({"x": [-1.0, 0.25, 2.0, math.nan, math.inf, None]})
    found = computed(rows, lambda table: clip_integer(table.x, Real(0, 1, grid="0.25"), DuckDBDialect()))
    assert found.to_pylist() == [0, 1, 4, None, None, None]


def test_rounding_half_to_even_would_be_noticed() -> None:
    rows = pa.table({"x": [0.5, 1.5, 2.5, -0.5, -1.5]})
    assert (
        cleaned(rows, {"x": Integer(-9, 9)})["x"] == [1, 2, 3, 0, -1] != [round(x) for x in (0.5, 1.5, 2.5, -0.5, -1.5)]
    )


# ----------------------------------------------------------------------------------------------------------- texts

NO_NUMBER = [
    "",
    " ",
    "abc",
    "1e",
    "--1",
    "nan",
    "NaN",
    "inf",
    "-Infinity",
    "1e999",
    "12abc",
    "\0",
    "☃",
    "0x",
    "'",
    "1 2",
]
NUMBER = {"0": 0, "1": 1, "-1": -1, "7": 7, "1.5": 1.5, "120.5": 120.5, "1e2": 100, " 7": 7, "7 ": 7, "-1e300": -1e300}


def test_texts_that_say_no_number_follow_the_null_rule() -> None:
    rows = pa.table({"x": [*NUMBER, *NO_NUMBER, None]})
    kinds = {name: kind for name, kind in KINDS.items() if not isinstance(kind, Boolean)}
    found = cleaned(rows, kinds)
    raws = [float(number) for number in NUMBER.values()] + [None] * (len(NO_NUMBER) + 1)
    for name, kind in kinds.items():
        assert found[name] == [wanted(raw, kind) for raw in raws], name


def test_texts_of_any_content_raise_no_error() -> None:
    letters = list("0123456789+-.eExX_ :/TZtrueFALSEnaifINF'\"\\%☃ñ")
    texts = ["".join(RNG.choice(letters, RNG.integers(0, 9))) for _ in range(2000)]
    kinds = {**KINDS, **MOMENTS, "sex": Category("F", "M"), "note": Text()}
    found = cleaned(pa.table({"x": texts}), kinds)
    for name, kind in kinds.items():
        assert kind.nullable or None not in found[name]


def test_truth_in_texts() -> None:
    texts = ["true", "false", "True", "FALSE", "1", "0", "", "maybe", "2", "nan", None]
    found = cleaned(pa.table({"x": texts}), {"p": Boolean(), "q": Boolean(null=False)})
    assert found["p"] == [True, False, True, False, True, False, None, None, None, None, None]
    assert found["q"] == [True, False, True, False, True, *[False] * 6]


def test_categories_of_texts_are_read_from_whole_numbers_as_from_a_csv_file() -> None:
    kinds: dict[str, Kind] = {"x": Category("1", "2"), "y": Category("1", "2", null="2")}
    found = cleaned(pa.table({"x": [1, 2, 3, None]}), kinds)
    assert found == {"x": ["1", "2", None, None], "y": ["1", "2", "2", "2"]}


def test_categories_and_texts() -> None:
    texts = ["F", "M", "X", "f", "F ", "", "it's", "\0", None]
    kinds: dict[str, Kind] = {
        "sex": Category("F", "M", "it's"),
        "filled": Category("F", "M", null="M"),
        "note": Text(),
        "remark": Text(null="none"),
    }
    found = cleaned(pa.table({"x": texts}), kinds)
    assert found["sex"] == ["F", "M", None, None, None, None, "it's", None, None]
    assert found["filled"] == ["F", *["M"] * 8]
    assert found["note"] == texts
    assert found["remark"] == [*texts[:-1], "none"]


def test_whole_numbers_as_texts() -> None:
    rows = pa.table({"x": pa.array([-(2**63), 7, 2**63 - 1, None], pa.int64())})
    assert cleaned(rows, {"x": Text()})["x"] == [str(-(2**63)), "7", str(2**63 - 1), None]


# --------------------------------------------------------------------------------------------------- dates and times

MOMENTS: dict[str, Kind] = {
    "day": Date("1960-01-01", "2021-12-31"),
    "known": Date("1960-01-01", "2021-12-31", null="2000-02-29"),
    "ever": Date(dt.date.min, dt.date.max),
    "time": Timestamp("1960-01-01", "2021-12-31 23:59:59"),
    "set": Timestamp("1960-01-01", "2021-12-31 23:59:59", null="1969-12-31 23:59:59"),
    "always": Timestamp("0001-01-01", "9999-12-31 23:59:59"),
}
DAYS = [dt.date.min, dt.date(1582, 10, 10), dt.date(1959, 12, 31), dt.date(1960, 1, 1), dt.date(1969, 12, 31),
        dt.date(1970, 1, 1), dt.date(2000, 2, 29), dt.date(2021, 12, 31), dt.date(2022, 1, 1), dt.date.max]  # fmt: skip
HOURS = [dt.time(), dt.time(12, 30, 1, 500_000), dt.time(23, 59, 59, 999_999)]
TIMES = [dt.datetime.combine(day, hour) for day in DAYS for hour in HOURS]


def moment_wanted(raw: dt.date | None, kind: Kind) -> int | None:
    assert isinstance(kind, Date | Timestamp)
    given = raw if raw is not None else None if isinstance(kind.null, str) else kind.null
    if given is None:
        return None
    moment = given if isinstance(given, dt.datetime) else dt.datetime.combine(given, dt.time())
    moment = moment.replace(tzinfo=dt.UTC, microsecond=0)
    if isinstance(kind, Date):
        return (max(kind.low, min(kind.high, moment.date())) - MIDNIGHT.date()).days
    return (max(kind.low, min(kind.high, moment)) - MIDNIGHT) // dt.timedelta(seconds=1)


def test_dates_and_times() -> None:
    cases: list[tuple[pa.DataType, Sequence[dt.date]]] = [
        (pa.date32(), DAYS),
        (pa.date64(), DAYS),
        (pa.timestamp("s"), [time.replace(microsecond=0) for time in TIMES]),
        (pa.timestamp("ms"), [time.replace(microsecond=time.microsecond // 1000 * 1000) for time in TIMES]),
        (pa.timestamp("us"), TIMES),
        (pa.timestamp("ns"), [time for time in TIMES if 1700 < time.year < 2200]),
        (pa.timestamp("us", tz="UTC"), [time.replace(tzinfo=dt.UTC) for time in TIMES]),
        (pa.timestamp("us", tz="Asia/Tokyo"), [time.replace(tzinfo=dt.UTC) for time in TIMES[3:-3]]),
    ]
    for arrow, values in cases:
        rows = pa.table({"x": pa.array([*values, None], arrow)})
        for name, column in cleaned(rows, MOMENTS).items():
            assert column == [moment_wanted(raw, MOMENTS[name]) for raw in [*values, None]], name


def test_dates_that_never_come_are_no_values() -> None:
    rows = pa.table({"x": ["infinity", "-infinity", "2021-01-01"]})
    for type_ in ("date", "timestamp", "timestamp('UTC')"):
        found = all_computed(
            rows,
            lambda table, type_=type_: {  # type: ignore[misc]
                name: clean(table.x.cast(type_), kind, DuckDBDialect()) for name, kind in MOMENTS.items()
            },
        ).to_pydict()
        for name, kind in MOMENTS.items():
            expected = [moment_wanted(raw, kind) for raw in (None, None, dt.date(2021, 1, 1))]
            assert found[name] == expected, (type_, name)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_at_the_ends_of_64_bits_raise_no_error(unit: str) -> None:
    raw = pa.array([2**63 - 1, -(2**63) + 1, 2**62, -(2**62), 10**17, -(10**17), 0, None], pa.int64())
    rows = pa.table({"x": raw.cast(pa.timestamp(unit))})
    for name, column in cleaned(rows, MOMENTS).items():
        kind = MOMENTS[name]
        assert isinstance(kind, Date | Timestamp)
        low, high = int(encode_value(kind.low, kind)), int(encode_value(kind.high, kind))
        assert all(value is None or low <= value <= high for value in column), name
        assert kind.nullable or None not in column
    far = pa.table({"x": pa.array([2**31 - 1, -(2**31) + 2, 5_000_000, 0], pa.int32()).cast(pa.date32())})
    for name, column in cleaned(far, MOMENTS).items():
        assert MOMENTS[name].nullable or None not in column


def test_dates_in_texts() -> None:
    texts = ["2021-03-31", "2021-03-31 12:30:00", "2021-02-30", "31/03/2021", "", "abc", "2021", "9999999-01-01", None]
    found = cleaned(pa.table({"x": texts}), MOMENTS)
    for name in ("day", "known", "ever"):
        kind = MOMENTS[name]
        assert found[name][0] == moment_wanted(dt.date(2021, 3, 31), kind)
        assert found[name][2:7] == [moment_wanted(None, kind)] * 5
        assert found[name][8] == moment_wanted(None, kind)
    for name in ("time", "set", "always"):
        kind = MOMENTS[name]
        assert found[name][:2] == [
            moment_wanted(dt.datetime(2021, 3, 31, hour, minute), kind)  # noqa: DTZ001 - taken as UTC
            for hour, minute in ((0, 0), (12, 30))
        ]
        assert found[name][2:6] == [moment_wanted(None, kind)] * 4


# ---------------------------------------------------------------------------------------------------- smaller pieces


def test_null_rules() -> None:
    cases: list[tuple[Kind, object]] = [
        (Integer(-5, 5, null=3), 3),
        (Boolean(null=True), True),
        (Category("F", "M", null="F"), "F"),
        (Category(1, 2, null=2), 2),
        (Text(null="it's"), "it's"),
        (Real(0, 1, grid="0.25", null="0.5"), 0.5),
        (Date("1970-01-01", "1970-12-31", null="1970-02-01"), 31),
        (Timestamp("1970-01-01", "1970-12-31", null="1970-01-01 00:01:00"), 60),
        (Text(), None),
        (Integer(0, 9), None),
    ]
    for kind, value in cases:
        texts = isinstance(kind, Text) or (isinstance(kind, Category) and isinstance(kind.values[0], str))
        type_ = pa.bool_() if isinstance(kind, Boolean) else pa.string() if texts else pa.int64()
        arrow = pa.float64() if isinstance(kind, Real) else type_
        rows = pa.table({"x": pa.nulls(1, arrow)})
        assert computed(rows, lambda table: impute(table.x, kind)).to_pylist() == [value]  # noqa: B023 - called at once


def check_coarser_axes_take_the_nearest_step(fine: Axis, most: int) -> None:
    axis = fine.coarsen(most)
    factor = axis.grid / fine.grid
    rows = pa.table({"x": pa.array([None, *range(fine.steps + 1)], pa.int64())})
    found = computed(rows, lambda table: coarsen_step(table.x, fine, axis)).to_pylist()
    assert found[1:] == [
        math.floor((step + fine.lowest) / factor + Fraction(1, 2)) - axis.lowest for step in range(fine.steps + 1)
    ]
    assert found[0] is None
    assert min(found[1:]) >= 0
    assert max(found[1:]) <= axis.steps


def test_coarser_axes_take_the_nearest_step() -> None:
    cases: list[tuple[Axis, int]] = [
        (Axis(0, 1000, Fraction(1)), 256),
        (Axis(-700, 300, Fraction(1, 4)), 16),
        (Axis(-5, 5, Fraction(3)), 2),
    ]
    for fine, most in cases:
        check_coarser_axes_take_the_nearest_step(fine, most)


def test_wide_whole_numbers_have_coarse_steps() -> None:
    kind = Integer(-(2**40), 2**40)
    values = [-(2**40), -1, 0, 1023, 1024, 2**40]
    grid = int(kind.axis.grid)
    found = computed(
        pa.table({"x": pa.array(values, pa.int64())}), lambda table: step_on_axis(table.x, kind)
    ).to_pylist()
    assert found == [math.floor(Fraction(value, grid) + Fraction(1, 2)) - kind.axis.lowest for value in values]


def test_axes_that_do_not_match_are_refused() -> None:
    fine = Axis(0, 9, Fraction(1))
    for grid in (Fraction(3), Fraction(1, 2)):
        with pytest.raises(QueryError, match="power of two"):
            coarsen_step(integer_literal(1), fine, Axis(0, 9, grid))
    with pytest.raises(QueryError, match="Text is not a number"):
        step_on_axis(integer_literal(1), Text())


def test_settled_steps_are_multiples_of_the_grid() -> None:
    kind = Real(0, 300, grid="0.1")
    rows = pa.table({"x": pa.array(range(3001), pa.int64())})
    assert computed(rows, lambda table: step_to_double(table.x, kind)).to_pylist() == [
        step * 0.1 for step in range(3001)
    ]


def test_a_value_beyond_its_bounds_is_the_step_at_the_bound() -> None:
    kind = Real(0, 1, grid="0.25")
    assert [encode_value(value, kind) for value in (-3, 0, 0.6, 1, 7)] == [0, 0, 2, 4, 4]
