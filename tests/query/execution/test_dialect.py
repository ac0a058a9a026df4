"""What all engines share, run on DuckDB: literals, quotients, conditions as operands, digests, wide sums."""

from __future__ import annotations

import datetime as dt
import hashlib
import math
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from celosia.data.sources.text_format import TextFormat
from celosia.query.engines.duckdb import DuckDBDialect
from celosia.query.execution.dialect import (
    PRIME,
    Dialect,
    double_literal,
    engine_function,
    floor_divide,
    integer_literal,
    null_literal,
    parenthesize,
)
from tests.query.computed import all_computed, computed

if TYPE_CHECKING:
    from ibis.expr import types as ir

ONE = pa.table({"x": pa.array([1], pa.int64())})
DOUBLES = [0.1, 1 / 3, -0.0, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 2.0**53, -1e100, 1e22, 0.5]


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


def one(make: Any) -> Any:
    (found,) = computed(ONE, make).to_pylist()
    return found


# -------------------------------------------------------------------------------------------------------- literals


def check_doubles_are_the_very_same(value: float) -> None:
    assert bits(one(lambda _: double_literal(value))) == bits(value)


def test_doubles_are_the_very_same() -> None:
    cases: list[float] = [*DOUBLES, math.inf, -math.inf]
    for value in cases:
        check_doubles_are_the_very_same(value)


def test_random_doubles_are_the_very_same() -> None:
    words = np.random.default_rng(5).integers(0, 2**63, 300).view(np.float64)
    values = [float(value) for value in words if math.isfinite(value)]
    found = all_computed(ONE, lambda _: {f"d{place}": double_literal(value) for place, value in enumerate(values)})
    assert [bits(column[0].as_py()) for column in found.columns] == [bits(value) for value in values]


def check_whole_numbers_are_64_bits(value: int) -> None:
    assert one(lambda _: integer_literal(value)) == value
    assert str(integer_literal(value).type()) == "int64"


def test_whole_numbers_are_64_bits() -> None:
    cases: list[int] = [0, -1, 2**31, 2**62, 2**63 - 1, -(2**63) + 1]
    for value in cases:
        check_whole_numbers_are_64_bits(value)


def check_nulls_have_a_type(kind: str) -> None:
    found = computed(ONE, lambda _: null_literal(kind))
    assert found.to_pylist() == [None]
    assert str(null_literal(kind).type()) == kind


def test_nulls_have_a_type() -> None:
    for kind in ("int64", "float64", "boolean", "string"):
        check_nulls_have_a_type(kind)


# ------------------------------------------------------------------------------------------------------- quotients


def test_quotients_are_rounded_down() -> None:
    """Around every multiple of the divisor, and up to 2^53, where doubles end."""
    cases: list[int] = [1, 2, 3, 7, 153, 1461, 3600, 86_400, 146_097, 2**30, 2**40 + 1]
    for divisor in cases:
        rng = np.random.default_rng(divisor)
        most = (2**53 - 2) // divisor
        multiples = [*range(-20, 21), most, -most, *rng.integers(-most, most + 1, 300).tolist()]
        numbers = [multiple * divisor + shift for multiple in multiples for shift in (-1, 0, 1)]
        rows = pa.table({"n": pa.array([None, *numbers], pa.int64())})
        found = computed(rows, lambda table: floor_divide(table.n, divisor)).to_pylist()  # noqa: B023 - called at once
        assert found == [None, *(number // divisor for number in numbers)]


def test_quotients_towards_zero_would_be_noticed() -> None:
    rows = pa.table({"n": pa.array([-7, 7], pa.int64())})
    assert computed(rows, lambda table: floor_divide(table.n, 2)).to_pylist() == [-4, 3] != [int(-7 / 2), 3]


# ------------------------------------------------------------------------------------------------------ conditions

TRUTHS = [True, False, None]
PAIRS = pa.table({"p": [p for p in TRUTHS for _ in TRUTHS], "q": TRUTHS * 3})


def test_closed_conditions_can_be_compared() -> None:
    """Ibis writes ``NOT p = q`` for ``(NOT p) = q``, and engines read ``NOT (p = q)``."""
    found = all_computed(
        PAIRS,
        lambda table: {
            "negated": parenthesize(~table.p) == parenthesize(table.q),
            "listed": parenthesize(table.p.isin([True])) == parenthesize(table.q),
            "null": parenthesize(~table.p).isnull(),
        },
    )
    for row, got in zip(PAIRS.to_pylist(), found.to_pylist(), strict=True):
        p, q = row["p"], row["q"]
        known = p is not None and q is not None
        assert got == {
            "negated": ((not p) == q) if known else None,
            "listed": (p == q) if known else None,
            "null": p is None,
        }


def test_what_is_no_condition_stays_as_it_is() -> None:
    number = integer_literal(7)
    assert parenthesize(number) is number


# --------------------------------------------------------------------------------------------------------- dialect


def test_a_dialect_says_all_that_differs() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Dialect()  # type: ignore[abstract]


class Plain(DuckDBDialect):
    """Dialect with the defaults only."""

    finite_decimal, from_decimal = Dialect.finite_decimal, Dialect.from_decimal
    total, flush_tiny, digest = Dialect.total, Dialect.flush_tiny, Dialect.digest


def test_without_more_nothing_is_changed() -> None:
    number = double_literal(0.5)
    dialect = Plain()
    assert dialect.finite_decimal(number) is number
    assert dialect.flush_tiny(number) is number


def test_a_dialect_reads_texts_as_they_are_declared() -> None:
    dialect = DuckDBDialect()
    assert dialect.with_format(TextFormat()) is dialect
    spanish = dialect.with_format(TextFormat(decimal=","))
    assert (spanish.text.decimal, dialect.text.decimal) == (",", ".")
    rows = pa.table({"t": ["1,5", "1.5"]})
    assert computed(rows, lambda table: spanish.from_text(table.t, "float64")).to_pylist() == [1.5, None]
    assert computed(rows, lambda table: dialect.from_text(table.t, "float64")).to_pylist() == [None, 1.5]


def check_digests_are_the_first_32_bits_of_md5(dialect: Dialect) -> None:
    texts = ["", "a", "it's", "ñ", "\N{SNOWMAN}", "x" * 5000, "1", "01", " 1", None]
    rows = pa.table({"t": pa.array(texts, pa.string())})
    found = computed(rows, lambda table: dialect.digest(table.t, "secret|")).to_pylist()
    wanted = [None if text is None else hashlib.md5(f"secret|{text}".encode()).hexdigest()[:8] for text in texts]
    assert found == [None if digits is None else int(digits, 16) for digits in wanted]
    other = computed(rows, lambda table: dialect.digest(table.t, "another|")).to_pylist()
    assert all(one != two for one, two in zip(found[:-1], other, strict=False)), "keyed"
    assert all(0 <= number < 2**32 for number in found[:-1])


def test_digests_are_the_first_32_bits_of_md5() -> None:
    cases: list[Dialect] = [Plain(), DuckDBDialect()]
    for dialect in cases:
        check_digests_are_the_first_32_bits_of_md5(dialect)


def check_sums_are_wider_than_64_bits(dialect: Dialect) -> None:
    numbers = [2**63 - 1] * 1000 + [None]
    rows = pa.table({"n": pa.array(numbers, pa.int64())})
    found = computed(rows, lambda table: dialect.total(table.n)).to_pylist()
    assert {int(value) for value in found} == {1000 * (2**63 - 1)}
    some = computed(rows, lambda table: dialect.total(table.n, where=table.n.isnull())).to_pylist()
    assert set(some) == {None}


def test_sums_are_wider_than_64_bits() -> None:
    cases: list[Dialect] = [Plain(), DuckDBDialect()]
    for dialect in cases:
        check_sums_are_wider_than_64_bits(dialect)


DAYS = [dt.date(1, 1, 1), dt.date(1582, 10, 4), dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(9999, 12, 31), None]


def test_days_and_seconds_are_counted_from_1970() -> None:
    moments = [
        None if day is None else dt.datetime.combine(day, dt.time(23, 59, 59, fraction))
        for day in DAYS
        for fraction in (0, 1, 999_999)
    ]
    rows = pa.table({"at": pa.array(moments, pa.timestamp("us"))})
    days = computed(pa.table({"day": pa.array(DAYS, pa.date32())}), lambda table: DuckDBDialect().days(table.day))
    assert days.to_pylist() == [None if day is None else (day - dt.date(1970, 1, 1)).days for day in DAYS]
    wanted = [
        None if at is None else (at - dt.datetime(1970, 1, 1)) // dt.timedelta(seconds=1)  # noqa: DTZ001 - without a zone
        for at in moments
    ]
    assert computed(rows, lambda table: DuckDBDialect().seconds(table["at"])).to_pylist() == wanted
    zoned = pa.table({"at": rows["at"].cast(pa.timestamp("us", tz="America/Bogota"))})
    assert computed(zoned, lambda table: DuckDBDialect().seconds(table["at"])).to_pylist() == wanted


def test_seconds_of_any_unit_are_rounded_down() -> None:
    for unit in ("s", "ms", "us", "ns"):
        per = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
        raw = [0, 1, -1, per, -per, per - 1, -per - 1, 10**9 * per]
        rows = pa.table({"at": pa.array(raw, pa.timestamp(unit))})
        found = computed(rows, lambda table: DuckDBDialect().seconds(table["at"])).to_pylist()
        assert found == [number // per for number in raw]


# -------------------------------------------------------------------------------------------------------- functions


def test_functions_of_the_engine_are_called_by_name() -> None:
    def reversed_text(table: ir.Table) -> ir.Value:
        return engine_function("reverse", ("string",), "string")(table.x.cast("string") + "2")

    assert one(reversed_text) == "21"
    assert engine_function("reverse", ("string",), "string") is engine_function("reverse", ("string",), "string")


def test_hashes_are_remainders_by_a_prime() -> None:
    assert all(PRIME % divisor for divisor in range(2, math.isqrt(PRIME) + 1))
    assert (PRIME - 1) ** 2 < 2**63
