"""Expressions and values come back as they were, with their types; what is none is refused without harm."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import CelosiaError, FormatError, QueryError
from celosia.core.strict_json import DecimalText, read_json
from celosia.query.plan.expressions import Call, Column, Expression, Literal
from celosia.query.serial.expressions import (
    expression_from_json,
    expression_to_json,
    value_from_json,
    value_to_json,
)

REALS = st.floats(1e-100, 1e100) | st.floats(-1e100, -1e-100) | st.just(0.0)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
SCALARS: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-(2**62), 2**62)
    | REALS
    | TEXTS
    | st.dates()
    | st.datetimes(timezones=st.just(dt.UTC)).map(lambda moment: moment.replace(microsecond=0))
)
EXPRESSIONS: st.SearchStrategy[Expression] = st.recursive(
    SCALARS.map(Literal) | TEXTS.filter(lambda name: bool(name) and name.isprintable()).map(Column),
    lambda inner: (
        st.builds(Call, st.sampled_from(["+", "and", "or", "=", "in"]), st.tuples(inner, inner))
        | st.builds(Call, st.sampled_from(["not", "neg", "year"]), st.tuples(inner))
        | st.builds(Call, st.sampled_from(["coalesce", "case"]), st.tuples(inner, inner, inner))
    ),
    max_leaves=20,
)

WEST = dt.timezone(dt.timedelta(hours=-5))


def sent(value: object) -> Any:
    return read_json(json.dumps(value, allow_nan=False))


@given(expression=EXPRESSIONS)
def test_expressions_come_back_equal(expression: Expression) -> None:
    assert expression_from_json(sent(expression_to_json(expression))) == expression


@given(value=SCALARS | st.fractions())
def test_values_come_back_with_their_types(value: Any) -> None:
    again = value_from_json(sent(value_to_json(value)))
    assert again == value
    assert type(again) is type(value)


@given(one=SCALARS, two=SCALARS)
def test_different_literals_are_written_differently(one: Any, two: Any) -> None:
    assert (value_to_json(one) == value_to_json(two)) == (Literal(one) == Literal(two))


def test_listed_keys_of_other_libraries() -> None:
    cases: list[tuple[Any, Any]] = [
        (np.int64(3), 3),
        (np.float64(0.5), 0.5),
        (np.bool_(True), True),  # noqa: FBT003 - the value itself
        (np.str_("F"), "F"),
        (np.datetime64("2021-12-31"), dt.date(2021, 12, 31)),
        (pd.Timestamp("2021-12-31 10:00"), dt.datetime(2021, 12, 31, 10, tzinfo=dt.UTC)),
        (dt.datetime(2021, 12, 31, 10, 0, 0, 999), dt.datetime(2021, 12, 31, 10, tzinfo=dt.UTC)),  # noqa: DTZ001 - without
        (dt.datetime(2021, 12, 31, 2, tzinfo=WEST), dt.datetime(2021, 12, 31, 7, tzinfo=dt.UTC)),
        (Decimal("0.1"), Fraction(1, 10)),
        (-0.0, 0.0),
    ]
    for listed, meant in cases:
        again = value_from_json(sent(value_to_json(listed)))
        assert again == meant
        assert type(again) is type(meant)


def test_what_is_no_key_is_not_written() -> None:
    cases: list[object] = [
        math.nan,
        math.inf,
        Decimal("NaN"),
        Decimal("1e5000"),
        Fraction(10**400),
        b"F",
        [1],
        {},
        object(),
    ]
    for listed in cases:
        with pytest.raises(CelosiaError):
            value_to_json(listed)


HOSTILE: list[Any] = [
    None,
    7,
    "age",
    [],
    {},
    {"column": 7},
    {"column": ""},
    {"column": "x\n"},
    {"column": "x" * 501},
    {"column": "age", "literal": 3, "type": "integer"},
    {"column": "age", "table": "deaths"},
    {"literal": 3},
    {"literal": 3, "type": "integer", "more": 1},
    {"literal": 3, "type": "float"},
    {"literal": 3, "type": ["integer"]},
    {"literal": "3", "type": "integer"},
    {"literal": True, "type": "integer"},
    {"literal": 3.0, "type": "integer"},
    {"literal": 2**63, "type": "integer"},
    {"literal": 3, "type": "real"},
    {"literal": "nan", "type": "real"},
    {"literal": "1e999", "type": "real"},
    {"literal": "1_000", "type": "real"},
    {"literal": " 1", "type": "real"},
    {"literal": "0x10", "type": "real"},
    {"literal": "1e-300", "type": "real"},
    {"literal": "٣.٤", "type": "real"},
    {"literal": "1/3", "type": "ratio"},
    {"literal": "1/0", "type": "ratio"},
    {"literal": 0, "type": "boolean"},
    {"literal": "true", "type": "boolean"},
    {"literal": 5, "type": "text"},
    {"literal": "a\0b", "type": "text"},
    {"literal": "\ud800", "type": "text"},
    {"literal": "x" * 1_001, "type": "text"},
    {"literal": "2021-02-30", "type": "date"},
    {"literal": "20211231", "type": "date"},
    {"literal": "2021-W01-1", "type": "date"},
    {"literal": 20211231, "type": "date"},
    {"literal": "2021-12-31", "type": "timestamp"},
    {"literal": "2021-12-31T25:00:00Z", "type": "timestamp"},
    {"literal": "2021-12-31T23:00:00+01:00", "type": "timestamp"},
    {"literal": "2021-12-31T23:00:00.5Z", "type": "timestamp"},
    {"literal": "null", "type": "null"},
    {"call": "exec", "arguments": [{"column": "age"}]},
    {"call": "+", "arguments": [{"column": "age"}]},
    {"call": "+", "arguments": []},
    {"call": "and", "arguments": []},
    {"call": "+", "arguments": {"column": "age"}},
    {"call": ["+"], "arguments": [{"column": "age"}, {"column": "age"}]},
    {"call": "+"},
    {"call": "__class__", "arguments": [{"column": "age"}]},
    {"arguments": [{"column": "age"}]},
]


def test_what_is_no_expression_is_refused() -> None:
    for value in HOSTILE:
        with pytest.raises((FormatError, QueryError)):
            expression_from_json(value)


def test_a_ratio_is_a_key_and_no_literal() -> None:
    assert value_from_json({"literal": "1/3", "type": "ratio"}) == Fraction(1, 3)
    with pytest.raises(FormatError, match="no ratio"):
        expression_from_json({"literal": "1/3", "type": "ratio"})


def test_numbers_that_are_read_as_they_were_written() -> None:
    assert value_from_json({"literal": DecimalText("0.10"), "type": "real"}) == 0.1
    for word in ("text", "integer", "ratio", "boolean", "date"):
        with pytest.raises(FormatError):
            value_from_json({"literal": DecimalText("0.10"), "type": word})
    with pytest.raises(FormatError):
        expression_from_json({"column": DecimalText("0.10")})
