"""DuckDB computes expressions as the oracle does, which shares no code."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from celosia.core.errors import QueryError
from celosia.data.schema.columns import Boolean, Category, Date, Integer, Kind, Real, Text, Timestamp
from celosia.query.engines.duckdb import DuckDBDialect
from celosia.query.execution import compile as compiling
from celosia.query.execution.calendar import PARTS
from celosia.query.execution.clean import encode_value
from celosia.query.execution.compile import compile_expression
from celosia.query.plan.calendar_rules import CALENDAR, UNITS
from celosia.query.plan.comparison import bucket_labels
from celosia.query.plan.expressions import Call, Column, Expression, Literal, kind_of
from celosia.query.plan.operations import OPERATIONS
from celosia.query.plan.text_functions import CAPITALS, SMALL, TEXT_FUNCTIONS
from celosia.query.plan.to_sql import render
from celosia.query.postprocessing.evaluate import evaluate
from celosia.query.sql.expressions import parse_expression
from tests.query.computed import all_computed

if TYPE_CHECKING:
    from collections.abc import Sequence

KINDS: dict[str, Kind] = {
    "i": Integer(-9, 9),
    "j": Integer(-(2**40), 2**40),
    "x": Real(-4, 4, grid="0.25"),
    "y": Real(-1, 300, grid="0.1"),
    "p": Boolean(),
    "q": Boolean(),
    "s": Category("F", "M", "it's"),
    "c": Category(1, 2, 3),
    "t": Text(),
    "d": Date("1582-01-01", "2400-12-31"),
    "e": Date("1960-01-01", "1980-12-31"),
    "m": Timestamp("1900-01-01", "2100-12-31 23:59:59"),
    "n": Timestamp("1969-12-31", "1970-01-02"),
}
ROWS = 61
TEXTS = [
    "",
    "F",
    "a",
    "ñ",
    "it's",
    "%",
    " a ",
    "  M\u00a0",
    "\tb\n",
    "Straße",
    "İIıi",
    "a_b%c\\",
    "ΣΑΣς",
    "é",
    "e\u0301",
]
TEXTS += ["🤦🏼x", "ABCabc" * 50, "fﬁ", "Ǆǅǆ", "ÑANDÚ ñandú", SMALL, CAPITALS, "µÿŸŉ", "x\u2028y"]
MIDNIGHT = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def values_of(kind: Kind, rng: np.random.Generator) -> list[Any]:
    """Clean values, the ends of the kind among them, and two nulls."""
    axis, domain = kind.axis, kind.domain()
    if isinstance(kind, Text):
        found = [TEXTS[place % len(TEXTS)] for place in rng.permutation(ROWS - 2)]
    elif axis is None or isinstance(kind, Boolean):
        assert domain is not None
        found = [domain[place] for place in rng.integers(0, len(domain), ROWS - 2)]
    else:
        steps = [axis.lowest, axis.highest, *rng.integers(axis.lowest, axis.highest + 1, ROWS - 4).tolist()]
        found = [_value(step, kind) for step in steps]
    return [found[place] if place < len(found) else None for place in rng.permutation(ROWS)]


def _value(step: int, kind: Kind) -> Any:
    assert kind.axis is not None
    match kind:
        case Real():
            return step * float(kind.axis.grid)
        case Date():
            return dt.date(1970, 1, 1) + dt.timedelta(days=step)
        case Timestamp():
            return min(max(MIDNIGHT + dt.timedelta(seconds=int(step * kind.axis.grid)), kind.low), kind.high)
        case _:
            return int(min(max(step * kind.axis.grid, kind.low), kind.high))  # type: ignore[attr-defined]  # Integer


def made_columns() -> dict[str, list[Any]]:
    rng = np.random.default_rng(108)
    columns = {name: values_of(kind, rng) for name, kind in KINDS.items()}
    zero = [place for place, value in enumerate(columns["i"]) if value is not None][:5]
    for name in ("i", "x"):
        columns[name] = [0 if place in zero else value for place, value in enumerate(columns[name])]
    columns["x"] = [None if value is None else float(value) for value in columns["x"]]
    return columns


COLUMNS = made_columns()


def in_engine(value: Any) -> Any:
    """What stands for a value in an engine: days for a date, seconds for a time."""
    if isinstance(value, dt.datetime):
        return (value - MIDNIGHT) // dt.timedelta(seconds=1)
    return (value - dt.date(1970, 1, 1)).days if isinstance(value, dt.date) else value


CLEAN = pa.table({name: pa.array([in_engine(value) for value in column]) for name, column in COLUMNS.items()})


def in_duckdb(expressions: Sequence[Expression]) -> list[list[Any]]:
    found = all_computed(
        CLEAN,
        lambda table: {
            f"e{place}": compile_expression(expression, lambda name: table[name], KINDS, DuckDBDialect())
            for place, expression in enumerate(expressions)
        },
    )
    return [column.to_pylist() for column in found.columns]


def check(*expressions: Expression) -> None:
    """Raise AssertionError if DuckDB and the oracle differ in one row, or in the type of a value."""
    for expression, found in zip(expressions, in_duckdb(expressions), strict=True):
        wanted = [in_engine(value) for value in evaluate(expression, COLUMNS, ROWS)]
        assert found == wanted, render(expression)
        assert {type(value) for value in found} == {type(value) for value in wanted}, render(expression)


# ------------------------------------------------------------------------------------------------- every operation

PATTERNS = [
    "'%'",
    "''",
    "'_'",
    "'__'",
    "'%a%'",
    "'a_b%'",
    "'%\\'",
    "'a!_b!%%' ESCAPE '!'",
    "'%!%%' ESCAPE '!'",
    "'%\u00a0'",
]
PATTERNS += ["'_%b%_'", "'%''%'", "'%b\\\\_%' ESCAPE '\\'", "'s%'", "'%ñ_n%'"]
EXAMPLES: dict[str, list[str]] = {
    "+": ["i + j", "i + x", "x + y", "x + 1", "d + i", "2 + d", "d + 1000"],
    "-": ["i - j", "i - x", "y - x", "d - e", "d - i", "e - DATE '1970-01-01'"],
    "*": ["i * j", "i * x", "x * y", "i * i * i", "x * -1"],
    "/": ["i / 2", "CLIP(i / i, -5, 5)", "CLIP(x / i, -50, 50)", "CLIP(1 / x, -9, 9)", "y / 3.0", "7 / 2"],
    "%": ["i % 2", "j % 7", "i % 100", "(i * -1) % 4"],
    "neg": ["-i", "-x", "-j", "-(-y)"],
    "abs": ["ABS(i)", "ABS(x)", "ABS(i - j)"],
    "floor": ["FLOOR(x)", "FLOOR(i)", "FLOOR(y * 10)", "FLOOR(-x)", "FLOOR(i / 2)"],
    "ceil": ["CEIL(x)", "CEIL(i)", "CEIL(y)", "CEIL(-y)"],
    "least": ["LEAST(i, j)", "LEAST(i, x, 1)", "LEAST(d, e)", "LEAST(m, n)", "LEAST(x, 0)"],
    "greatest": ["GREATEST(i, j, 0)", "GREATEST(i, x)", "GREATEST(d, DATE '1970-01-01')", "GREATEST(m, n)"],
    "clip": ["CLIP(i, -1, 3)", "CLIP(x, -1, 1)", "CLIP(x, -1, i + 10)", "CLIP(i, 0.5, 2.5)", "CLIP(d, e, e + 8000)"],
    "integer": ["CAST(p AS INTEGER)", "CAST(i AS INTEGER)", "CAST(x < i AS INTEGER) + 1", "CAST(NOT p AS INTEGER)"],
    "real": ["CAST(i AS DOUBLE)", "CAST(x AS DOUBLE)", "CAST(j AS DOUBLE) / 3"],
    "=": ["i = 0", "i = x", "s = 'F'", "c = 2", "t = s", "p = q", "d = e", "(i < 0) = p", "NOT p = q", "m = n"],
    "<>": ["i <> 0", "s <> 'it''s'", "t <> ''", "p <> (NOT q)", "d <> e", "c <> 1", "(i IN (1, 2)) <> (x IN (0.5))"],
    "<": ["i < j", "i < x", "d < DATE '2000-02-29'", "m < TIMESTAMP '1970-01-01 12:00:00'", "x < 0.1"],
    "<=": ["i <= x", "y <= 0.1 * i", "e <= d"],
    ">": ["i > x", "d > e", "n > m"],
    ">=": ["x >= 0", "i >= j", "m >= n"],
    "between": [
        "i BETWEEN -2 AND x",
        "d BETWEEN e AND DATE '2000-01-01'",
        "x NOT BETWEEN 0 AND 1",
        "i BETWEEN 3 AND 1",
    ],
    "in": [
        "i IN (0, 1, 2)",
        "i IN (0.5, 1)",
        "x IN (0, 1)",
        "s IN ('F', 'M')",
        "c NOT IN (1)",
        "t IN ('', '%')",
        "p IN (TRUE)",
    ],
    "and": ["p AND q", "p AND i < 0 AND x > 0", "p AND (q OR NOT p)"],
    "or": ["p OR q", "p OR i < 0 OR x > 0", "p OR NOT q AND p"],
    "not": ["NOT p", "NOT (p AND q)", "NOT i < x", "NOT s IN ('F')", "NOT (NOT p)"],
    "is_null": [
        "i IS NULL",
        "CLIP(1 / i, 0, 1) IS NULL",
        "(p AND q) IS NULL",
        "s IS NOT NULL",
        "(NOT p) IS NULL",
        "NULL IS NULL",
    ],
    "coalesce": [
        "COALESCE(i, 0)",
        "COALESCE(i, x)",
        "COALESCE(s, 'none')",
        "COALESCE(NULL, i)",
        "COALESCE(p, q, FALSE)",
        "COALESCE(d, e)",
    ],
    "case": [
        "CASE WHEN p THEN i ELSE x END",
        "CASE WHEN p THEN i WHEN q THEN j END",
        "CASE WHEN p THEN NULL ELSE s END",
        "CASE WHEN i < 0 THEN 'low' WHEN i > 0 THEN 'high' ELSE t END",
        "CASE WHEN p THEN d ELSE e END",
        "CASE WHEN p THEN c ELSE 7 END",
        "CASE WHEN p THEN q ELSE NOT q END",
    ],
    "bucket": [
        "BUCKET(i, -9, 0, 9)",
        "BUCKET(x, -1, 0.5, 2)",
        "BUCKET(y, 0, 1, 10, 100)",
        "BUCKET(j, 0, 1)",
        "BUCKET(d, DATE '1582-01-01', DATE '1970-01-01', DATE '2000-01-01')",
        "BUCKET(m, TIMESTAMP '1900-01-01 00:00:00', TIMESTAMP '1970-01-01 00:00:00')",
    ],
    "date": ["DATE(m)", "DATE(n)", "DATE(d)", "DATE(m) - d"],
    "hour": ["HOUR(m)", "HOUR(n)"],
    "date_trunc": [f"DATE_TRUNC('{unit}', {name})" for unit in UNITS[:-1] for name in "demn"]
    + ["DATE_TRUNC('hour', m)"],
    "add_months": [
        f"{name} {way} MONTH" for name in "demn" for way in ("+ INTERVAL 1", "- INTERVAL 1", "+ INTERVAL 25")
    ],
    "add_seconds": ["m + INTERVAL 1 SECOND", "n - INTERVAL '3' HOUR"],
    "upper": ["UPPER(t)", "UPPER(s) = 'IT''S'", "UPPER(COALESCE(t, 'ß'))"],
    "lower": ["LOWER(t)", "LOWER(s)", "LOWER(UPPER(t))"],
    "length": ["CLIP(LENGTH(t), 0, 999)", "LENGTH(s)", "LENGTH(TRIM(t)) > 1"],
    "trim": ["TRIM(t)", "TRIM(t, 'abñ ')", "TRIM(s)"],
    "ltrim": ["LTRIM(t)", "LTRIM(t, 'F🤦')"],
    "rtrim": ["RTRIM(t)", "RTRIM(t, '%c\\')"],
    "substring": ["SUBSTRING(t, 2)", "SUBSTR(t, 1, 3)", "LEFT(t, 2)", "SUBSTRING(s, 9, 9)", "LEFT(t, 0)"],
    "right": ["RIGHT(t, 2)", "RIGHT(s, 9)", "RIGHT(t, 0)"],
    "replace": ["REPLACE(t, 'a', '')", "REPLACE(t, 'ñ', 'nn')", "REPLACE(s, 't', 'x')", "REPLACE(t, 'aa', 'a')"],
    "like": [f"t LIKE {pattern}" for pattern in PATTERNS]
    + ["NOT s LIKE '%t%'", "t ILIKE '%ÑAN_%'", "(t LIKE '_') IS NULL"],
    **{part: [f"{part.upper()}({name})" for name in "demn"] for part in PARTS},
}


def test_every_operation_is_compiled() -> None:
    """What can be typed, what can be written, and what an engine computes are one list."""
    elsewhere = {*CALENDAR, *TEXT_FUNCTIONS, "bucket", "+", "-"}
    assert {*compiling._OPERATIONS, *elsewhere, "round"} == set(OPERATIONS)  # answers are rounded, not rows
    assert {*EXAMPLES, "round"} == set(OPERATIONS)


def test_operations_mean_what_they_mean() -> None:
    for name, texts in EXAMPLES.items():
        expressions = [parse_expression(text) for text in texts]
        for expression in expressions:
            assert name in _names(expression)
            kind_of(expression, KINDS)
        check(*expressions)


def _names(expression: Expression) -> set[str]:
    if not isinstance(expression, Call):
        return set()
    return {expression.name}.union(*map(_names, expression.arguments))


def test_three_truth_values() -> None:
    truths = [parse_expression(text) for text in ("TRUE", "FALSE", "CASE WHEN FALSE THEN TRUE END")]
    for name in ("and", "or"):
        check(*(Call(name, pair) for pair in itertools.product(truths, repeat=2)))
    check(*(Call("not", (truth,)) for truth in truths), *(Call("is_null", (truth,)) for truth in truths))


def test_literals_alone_are_wide_enough() -> None:
    """Engines may take small literals for 32 bits, and decimals for something else than doubles."""
    large = Literal(2**31 - 1)
    check(
        Call("*", (large, large)),
        Call("+", (large, Literal(1))),
        Call("/", (Literal(1), Literal(3))),
        Call("*", (Literal(0.1), Literal(3))),
        Literal(2**62),
        Literal(1e100),
        Literal(1e-100),
        Literal(0.1),
        Literal("it's"),
        Literal(True),  # noqa: FBT003 - a literal
        Literal(dt.date.max),
        Literal(dt.datetime(1, 1, 1, tzinfo=dt.UTC)),
    )


def test_a_quotient_by_zero_is_null() -> None:
    (found,) = in_duckdb([parse_expression("CLIP(x / i, -50, 50)")])
    wanted = [value is None for value in found]
    assert wanted == [i is None or i == 0 or x is None for i, x in zip(COLUMNS["i"], COLUMNS["x"], strict=True)]


def test_edges_of_buckets_belong_to_the_right() -> None:
    edges = [0.0, 0.5, 2.0]
    bucket = Call("bucket", (Column("x"), *map(Literal, edges)))
    first, last = bucket_labels(edges)
    for x, label in zip(COLUMNS["x"], *in_duckdb([bucket]), strict=True):
        outside = x is None or not 0 <= x <= 2
        assert label == (None if outside else first if x < 0.5 else last)


# ---------------------------------------------------------------------------------------------- random expressions

NAMES = {"whole": "ij", "real": "xy", "truth": "pq", "text": "st", "date": "de", "time": "mn"}
LITERALS: dict[str, st.SearchStrategy[Any]] = {
    "whole": st.integers(-9, 9),
    "real": st.integers(-16, 16).map(lambda number: number / 4),
    "truth": st.booleans(),
    "text": st.sampled_from(["F", "M", "it's"]),
    "date": st.dates(dt.date(1900, 1, 1), dt.date(2100, 12, 31)),
    "time": st.integers(-(10**9), 10**9).map(lambda seconds: MIDNIGHT + dt.timedelta(seconds=seconds)),
}
SHAPES: dict[str, list[tuple[str, ...]]] = {
    "whole": [
        *((name, "whole", "whole") for name in "+-*"),
        ("neg", "whole"),
        ("abs", "whole"),
        ("floor", "real"),
        ("ceil", "real"),
        ("integer", "truth"),
        ("least", "whole", "whole"),
        ("greatest", "whole", "whole"),
        ("clip", "whole", "=whole", "=whole"),
        ("-", "date", "date"),
        *((part, "date") for part in PARTS),
        *((part, "time") for part in PARTS),
        ("hour", "time"),
        ("%", "whole", "=whole"),
        ("length", "text"),
    ],
    "real": [
        *((name, "real", "whole") for name in "+-*/"),
        *((name, "whole", "real") for name in "+-*/"),
        ("/", "whole", "whole"),
        ("neg", "real"),
        ("abs", "real"),
        ("real", "whole"),
        ("real", "real"),
        ("least", "real", "whole"),
        ("greatest", "whole", "real"),
        ("clip", "real", "=real", "=whole"),
        ("clip", "real", "=whole", "=real"),
    ],
    "truth": [
        *(
            (name, one, two)
            for name in ("=", "<>", "<", "<=", ">", ">=")
            for one, two in (
                ("whole", "real"),
                ("real", "real"),
                ("whole", "whole"),
                ("date", "date"),
                ("time", "time"),
            )
        ),
        ("=", "text", "text"),
        ("<>", "text", "=text"),
        ("=", "truth", "truth"),
        ("<>", "truth", "truth"),
        ("between", "whole", "real", "whole"),
        ("between", "date", "date", "date"),
        ("between", "real", "real", "whole"),
        ("in", "whole", "=whole", "=real"),
        ("in", "text", "=text"),
        *(("like", "text", f"='{pattern}") for pattern in ("%a%", "_", "%M", "it%_")),
        ("in", "real", "=real", "=whole"),
        ("in", "date", "=date"),
        ("and", "truth", "truth"),
        ("or", "truth", "truth"),
        ("and", "truth", "truth", "truth"),
        ("not", "truth"),
        ("not", "truth"),
        *(("is_null", family) for family in NAMES),
    ],
    "text": [
        ("bucket", "whole", "=0", "=1", "=2"),
        ("bucket", "real", "=0", "=1"),
        *((name, "text") for name in ("upper", "lower", "trim", "ltrim", "rtrim")),
        ("trim", "text", "='aM "),
        ("substring", "text", "=2"),
        ("substring", "text", "=1", "=2"),
        ("right", "text", "=3"),
        ("replace", "text", "='ñ", "='a"),
        ("replace", "text", "='t", "='F"),
    ],
    "date": [
        ("+", "date", "whole"),
        ("-", "date", "whole"),
        ("date", "time"),
        *(("date_trunc", "date", f"='{unit}") for unit in UNITS[:-1]),
        *(("add_months", "date", number) for number in ("=1", "=11", "=-13")),
        ("least", "date", "date"),
        ("greatest", "date", "date"),
    ],
    "time": [
        ("least", "time", "time"),
        ("greatest", "time", "time"),
        ("+", "time", "whole"),
        ("-", "time", "whole"),
        ("add_seconds", "time", "=-3601"),
        ("add_months", "time", "=25"),
        *(("date_trunc", "time", f"='{unit}") for unit in UNITS),
    ],
}


@st.composite
def expressions(draw: st.DrawFn, family: str, depth: int) -> Expression:
    if family.startswith("="):
        word = family[1:]
        if word.startswith("'"):
            return Literal(word[1:])
        return Literal(int(word) if word.lstrip("-").isdigit() else draw(LITERALS[word]))
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return draw(st.one_of(st.sampled_from(NAMES[family]).map(Column), LITERALS[family].map(Literal)))
    shapes = [
        *SHAPES[family],
        ("case", "truth", family, family),
        ("case", "truth", family, "truth", family, "null"),
        ("coalesce", family, family),
    ]
    name, *parts = draw(st.sampled_from(shapes))
    return Call(name, tuple(Literal(None) if part == "null" else draw(expressions(part, depth - 1)) for part in parts))


@st.composite
def typed(draw: st.DrawFn, depth: int = 4) -> Expression:
    """An expression that a query may use: its bounds follow from the schema."""
    family = draw(st.sampled_from(sorted(NAMES)))
    made = draw(st.lists(expressions(family, depth), min_size=4, max_size=4))
    usable = [expression for expression in made if _usable(expression)]
    return usable[0] if usable else Column(NAMES[family][0])


def _usable(expression: Expression) -> bool:
    try:
        kind_of(expression, KINDS)
    except QueryError:
        return False
    return True


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(several=st.lists(typed(), min_size=1, max_size=6))
def test_random_expressions_are_what_the_oracle_says(several: list[Expression]) -> None:
    check(*several)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(several=st.lists(typed(depth=3), min_size=1, max_size=6))
def test_values_lie_inside_the_bounds_of_their_kind(several: list[Expression]) -> None:
    for expression, found in zip(several, in_duckdb(several), strict=True):
        kind = kind_of(expression, KINDS)
        there = [value for value in found if value is not None]
        assert kind.nullable or len(there) == ROWS
        if isinstance(kind, Category):
            assert set(there) <= set(kind.values)
        if isinstance(kind, Integer | Date | Timestamp):
            low, high = (encode_value(end, kind) for end in (kind.low, kind.high))
            assert all(low <= value <= high for value in there)
        if isinstance(kind, Real):
            assert all(math.isfinite(value) and kind.low <= value <= kind.high for value in there)


# ---------------------------------------------------------------------------------------------------------- mutants


def test_a_wrong_operation_is_noticed() -> None:
    cases: list[tuple[str, str, str]] = [
        ("least", "LEAST(i, j)", "GREATEST(i, j)"),
        ("is_null", "(p AND q) IS NULL", "(p OR q) IS NULL"),
        ("<", "i < x", "i <= x"),
        ("%", "i % 2", "ABS(i) % 2"),
        ("floor", "FLOOR(x)", "CEIL(x)"),
        ("bucket", "BUCKET(x, -1, 0, 1)", "CASE WHEN x < 0 THEN '[-1, 0)' ELSE '[0, 1]' END"),
        ("coalesce", "COALESCE(i, 0)", "COALESCE(i, 1)"),
        ("trim", "TRIM(t)", "TRIM(t, ' \u00a0')"),
        ("upper", "UPPER(t)", "UPPER(REPLACE(t, 'ß', 'ss'))"),
        ("like", "t LIKE '%!%%' ESCAPE '!'", "t LIKE '%'"),
    ]
    for name, text, other in cases:
        assert name in _names(parse_expression(text))
        assert in_duckdb([parse_expression(text)]) != in_duckdb([parse_expression(other)])


# -------------------------------------------------------------------------------------------------------- bad input


def test_what_is_no_expression_is_refused() -> None:
    with pytest.raises(QueryError, match="is a column, a literal or an operation"):
        compile_expression("age", lambda name: name, KINDS, DuckDBDialect())  # type: ignore[arg-type]


def test_edges_that_are_not_written_are_refused() -> None:
    bucket = Call("bucket", (Column("i"), Column("j"), Literal(1)))
    with pytest.raises(QueryError, match="must be literals"):
        in_duckdb([bucket])
