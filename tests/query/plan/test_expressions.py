"""Expressions are values, bounded in size; their kinds hold for every row that the schema allows."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from celosia.core.errors import CelosiaError, QueryError
from celosia.data.schema.columns import Boolean, Category, Date, Integer, Kind, Real, Text, Timestamp
from celosia.query.plan.comparison import bucket_labels
from celosia.query.plan.expressions import (
    MAX_DEPTH,
    MAX_NODES,
    Call,
    Column,
    Expression,
    Literal,
    columns_in,
    conjunction,
    is_condition,
    kind_of,
    substitute,
)
from celosia.query.plan.operations import OPERATIONS
from celosia.query.plan.text_functions import TEXT_FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

Row = dict[str, Any]

KINDS: dict[str, Kind] = {
    "age": Integer(0, 120),
    "visits": Integer(-2, 5, null=0),
    "weight": Real(0, 300, grid="0.1"),
    "share": Real(-1, 1, null=0),
    "alive": Boolean(),
    "sex": Category("F", "M"),
    "grade": Category(1, 2, 3, null=1),
    "note": Text(),
    "day": Date("2020-02-01", "2021-03-15"),
    "seen": Timestamp("2021-01-01", "2021-01-03 12:00:00"),
}
MIDNIGHT = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

# ------------------------------------------------------------------------------------------ random rows, expressions


def cells(name: str) -> st.SearchStrategy[Any]:
    kind = KINDS[name]
    values: st.SearchStrategy[Any]
    match kind:
        case Integer(low=low, high=high):
            values = st.integers(low, high)
        case Real():
            axis = kind.axis
            values = st.integers(axis.lowest, axis.highest).map(
                lambda step: step * axis.grid.numerator / axis.grid.denominator
            )
        case Boolean():
            values = st.booleans()
        case Category(values=names):
            values = st.sampled_from(names)
        case Date(low=first, high=last):
            values = st.dates(first, last)
        case Timestamp(low=start, high=end):
            seconds = int((end - start).total_seconds())
            values = st.integers(0, seconds).map(lambda s: start + dt.timedelta(seconds=s))
        case _:
            values = st.text(max_size=3)
    return st.one_of(st.none(), values) if kind.nullable else values


ROWS = st.fixed_dictionaries({name: cells(name) for name in KINDS})

NUMBERS = st.one_of(
    st.sampled_from([Column("age"), Column("visits"), Column("weight"), Column("share")]),
    st.integers(-50, 50).map(Literal),
    st.floats(-50, 50).filter(lambda x: x == 0 or abs(x) > 1e-3).map(Literal),
)
DAYS = st.one_of(st.just(Column("day")), st.dates(dt.date(2020, 1, 1), dt.date(2022, 1, 1)).map(Literal))
TEXTS = st.one_of(st.just(Column("sex")), st.sampled_from(["F", "x", ""]).map(Literal))


def call(name: str, *parts: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.tuples(*parts).map(lambda arguments: (name, arguments)).flatmap(_made)


def _made(given_: tuple[str, tuple[Expression, ...]]) -> st.SearchStrategy[Expression]:
    try:
        return st.just(Call(*given_))
    except QueryError:
        return st.nothing()


def conditions(numbers: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    compared = st.sampled_from(["=", "<>", "<", "<=", ">", ">="]).flatmap(lambda name: call(name, numbers, numbers))
    simple = st.one_of(
        compared,
        st.just(Column("alive")),
        call("between", numbers, numbers, numbers),
        call("in", numbers, st.integers(0, 9).map(Literal), st.just(Literal(0.5))),
        call("in", st.just(Column("sex")), st.sampled_from(["F", "M"]).map(Literal)),
        call("=", st.just(Column("grade")), st.sampled_from([1, 2]).map(Literal)),
        call("<", DAYS, DAYS),
        call("is_null", numbers),
    )
    return st.one_of(
        simple,
        call("not", simple),
        call("and", simple, simple),
        call("or", simple, simple),
        call("case", *[simple] * 3),
    )


def numbers(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.one_of(
        st.sampled_from(["+", "-", "*", "/"]).flatmap(lambda name: call(name, inner, inner)),
        st.sampled_from(["neg", "abs", "floor", "ceil", "real"]).flatmap(lambda name: call(name, inner)),
        st.sampled_from(["least", "greatest", "coalesce"]).flatmap(lambda name: call(name, inner, inner)),
        call("clip", inner, st.integers(-9, 0).map(Literal), st.integers(1, 9).map(Literal)),
        call("%", call("floor", inner), st.integers(1, 9).map(Literal)),
        call("case", conditions(inner), inner, st.one_of(inner, st.just(Literal(None)))),
        call("integer", conditions(inner)),
        st.sampled_from(["year", "quarter", "month", "day", "isodow"]).flatmap(lambda name: call(name, DAYS)),
        st.sampled_from(["hour", "day"]).flatmap(lambda name: call(name, st.just(Column("seen")))),
        call("-", DAYS, DAYS),
    )


DEEP = st.recursive(NUMBERS, numbers, max_leaves=8)
ANY = st.one_of(
    DEEP,
    conditions(DEEP),
    call("case", conditions(NUMBERS), TEXTS, TEXTS),
    call("coalesce", TEXTS, TEXTS),
    call("bucket", DEEP, st.integers(-9, 0).map(Literal), st.integers(1, 9).map(Literal), st.just(Literal(40.5))),
    call("+", DAYS, st.integers(-400, 400).map(Literal)),
    call("least", DAYS, DAYS),
    call("date", st.just(Column("seen"))),
)

# ------------------------------------------------------------------------------------------------- what a row gives


def strict(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: None if any(value is None for value in values) else function(*alike(values))


def alike(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if any(type(value) is float for value in values):
        return tuple(float(value) if type(value) is int else value for value in values)
    return values


def plus(a: Any, b: Any, sign: int = 1) -> Any:
    if isinstance(a, dt.date) and isinstance(b, dt.date):
        return (a - b).days
    if isinstance(a, dt.date):
        return a + dt.timedelta(days=sign * b)
    if isinstance(b, dt.date):
        return b + dt.timedelta(days=a)
    return a + sign * b


def bucket(x: Any, *edges: Any) -> str | None:
    if not edges[0] <= x <= edges[-1]:
        return None
    inner = sum(bool(edge <= x) for edge in edges[1:-1])
    return bucket_labels(edges)[inner]


EVALUATED: dict[str, Callable[..., Any]] = {
    "+": strict(plus),
    "-": strict(lambda a, b: plus(a, b, -1)),
    "*": strict(lambda a, b: a * b),
    "/": strict(lambda a, b: None if b == 0 else float(a) / float(b)),
    "%": strict(lambda a, b: int(math.fmod(a, b)) if abs(a) < 2**52 else (abs(a) % b) * (1 if a > 0 else -1)),
    "neg": strict(lambda a: -a),
    "abs": strict(abs),
    "floor": strict(math.floor),
    "ceil": strict(math.ceil),
    "real": strict(float),
    "integer": strict(int),
    "least": strict(min),
    "greatest": strict(max),
    "clip": strict(lambda x, low, high: min(max(x, low), high)),
    "=": strict(lambda a, b: a == b),
    "<>": strict(lambda a, b: a != b),
    "<": strict(lambda a, b: a < b),
    "<=": strict(lambda a, b: a <= b),
    ">": strict(lambda a, b: a > b),
    ">=": strict(lambda a, b: a >= b),
    "between": strict(lambda x, low, high: low <= x <= high),
    "in": strict(lambda x, *choices: x in choices),
    "not": strict(lambda a: not a),
    "bucket": lambda x, *edges: None if x is None else bucket(x, *edges),
    "date": strict(lambda a: a.date()),
    "year": strict(lambda a: a.year),
    "quarter": strict(lambda a: (a.month + 2) // 3),
    "month": strict(lambda a: a.month),
    "day": strict(lambda a: a.day),
    "isodow": strict(lambda a: a.isoweekday()),
    "hour": strict(lambda a: a.hour),
    "is_null": lambda a: a is None,
    "coalesce": lambda *values: next((value for value in values if value is not None), None),
    "and": lambda *values: False if False in values else (None if None in values else True),
    "or": lambda *values: True if True in values else (None if None in values else False),
}


def value_of(expression: Expression, row: Row) -> Any:
    if isinstance(expression, Column):
        return row[expression.name]
    if isinstance(expression, Literal):
        return expression.value
    given_ = [value_of(argument, row) for argument in expression.arguments]
    if expression.name == "case":
        *pairs, other = given_
        return next((pairs[i + 1] for i in range(0, len(pairs), 2) if pairs[i] is True), other)
    return EVALUATED[expression.name](*given_)


def check(kind: Kind, value: Any) -> None:
    """Fail unless a column of that kind can have the value."""
    if value is None:
        assert kind.nullable
        return
    match kind:
        case Integer(low=low, high=high):
            assert isinstance(value, int)
            assert low <= value <= high
        case Real():
            assert kind.low <= Fraction(value) <= kind.high
        case Boolean():
            assert isinstance(value, bool)
        case Category(values=values):
            assert value in values
        case Date(low=first, high=last):
            assert first <= value <= last
        case Timestamp(low=start, high=end):
            assert start <= value <= end
        case _:
            assert isinstance(value, str)


def test_the_oracle_knows_every_operation() -> None:
    elsewhere = {
        *TEXT_FUNCTIONS,
        "date_trunc",
        "add_months",
        "add_seconds",
        "round",
        "case",
    }  # in ``tests.query.oracle``
    assert set(EVALUATED) | elsewhere == set(OPERATIONS)


@settings(max_examples=400)
@given(ANY, st.lists(ROWS, min_size=1, max_size=5))
def test_values_lie_in_the_kind_that_was_derived(expression: Expression, rows: list[Row]) -> None:
    try:
        kind = kind_of(expression, KINDS)
    except QueryError:
        assume(False)  # noqa: FBT003
        raise
    for row in rows:
        check(kind, value_of(expression, row))


def test_the_check_would_notice_a_kind_that_is_too_narrow() -> None:
    doubled, row = Call("*", (Column("visits"), Literal(2))), {"visits": 5}
    check(kind_of(doubled, KINDS), value_of(doubled, row))
    with pytest.raises(AssertionError):
        check(Integer(-2, 9, null=0), value_of(doubled, row))
    with pytest.raises(AssertionError):
        check(kind_of(doubled, KINDS), None)


# --------------------------------------------------------------------------------------------------------- the values


def test_literals_are_equal_by_type_and_value() -> None:
    assert Literal(1) != Literal(1.0)
    assert Literal(1) != Literal(True)  # noqa: FBT003
    assert len({Literal(1), Literal(1.0), Literal(True), Literal(1)}) == 3  # noqa: FBT003
    assert Literal(-0.0) == Literal(0.0)
    assert math.copysign(1, Literal(-0.0).value) == 1  # type: ignore[arg-type]
    assert Literal(1) != 1


def test_literals_take_what_numbers_come_as() -> None:
    assert Literal(np.int32(7)) == Literal(7)  # type: ignore[arg-type]
    assert Literal(np.float32(0.5)) == Literal(0.5)  # type: ignore[arg-type]
    assert Literal(Fraction(1, 2)) == Literal(0.5)  # type: ignore[arg-type]
    assert Literal(Fraction(4, 2)) == Literal(2)  # type: ignore[arg-type]
    assert Literal(Decimal("0.1")) == Literal(0.1)  # type: ignore[arg-type]
    noon = dt.datetime(2021, 1, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    assert Literal(noon).value == dt.datetime(2021, 1, 1, 10, tzinfo=dt.UTC)
    assert Literal(dt.datetime(2021, 1, 1)).value == dt.datetime(2021, 1, 1, tzinfo=dt.UTC)  # noqa: DTZ001


def test_literals_that_no_engine_could_hold_are_refused() -> None:
    cases: list[Any] = [
        float("nan"),
        float("inf"),
        1e101,
        1e-101,
        2**62 + 1,
        -(2**70),
        "a\0b",
        "\ud800",
        "x" * 1001,
        dt.datetime(2021, 1, 1, microsecond=1, tzinfo=dt.UTC),
        b"x",
        [1],
        object(),
        Decimal("NaN"),
        1j,
    ]
    for value in cases:
        with pytest.raises(QueryError, match=r"literal|text of the query"):
            Literal(value)


def test_names_that_are_none_are_refused() -> None:
    cases: list[Any] = ["", "a\nb", "x" * 501, 7, None]
    for name in cases:
        with pytest.raises(QueryError, match="name of a column"):
            Column(name)


def test_calls_that_are_none_are_refused() -> None:
    cases: list[tuple[Any, tuple[Expression, ...]]] = [
        ("median", (Column("a"),)),
        ("<", (Column("a"),)),
        ("case", (Column("a"), Column("b"))),
        ("abs", ()),
        (None, ()),
    ]
    for name, arguments in cases:
        with pytest.raises(QueryError):
            Call(name, arguments)


def test_arguments_must_be_expressions() -> None:
    with pytest.raises(QueryError, match="must be expressions"):
        Call("abs", ("age",))  # type: ignore[arg-type]


def test_conjunctions_are_flat() -> None:
    a, b, c = Column("a"), Column("b"), Column("c")
    flat = Call("and", (a, b, c))
    assert Call("and", (Call("and", (a, b)), c)) == flat == Call("and", (a, Call("and", (b, c))))
    assert Call("or", (Call("and", (a, b)), c)).arguments == (Call("and", (a, b)), c)
    assert conjunction(conjunction(a, b), None, c) == flat
    assert conjunction() is None


def test_equal_expressions_have_equal_hashes() -> None:
    assert len({Call("abs", (Column("a"),)), Call("abs", (Column("a"),)), Call("abs", (Column("b"),))}) == 2


def test_depth_and_size_are_bounded() -> None:
    deep: Expression = Column("a")
    for _ in range(MAX_DEPTH):
        deep = Call("neg", (deep,))
    with pytest.raises(QueryError, match="too long"):
        Call("neg", (deep,))
    doubled: Expression = Column("a")
    while doubled.size < MAX_NODES // 2:
        doubled = Call("+", (doubled, doubled))
    with pytest.raises(QueryError, match="too long"):
        Call("+", (doubled, doubled))
    kind_of(deep, {"a": Integer(0, 1)})


def test_columns_are_found_and_replaced() -> None:
    both = Call("+", (Column("a"), Call("abs", (Column("b"),))))
    assert columns_in(both) == {"a", "b"}
    assert columns_in(Literal(1)) == frozenset()
    assert substitute(both, {"a": Literal(1)}) == Call("+", (Literal(1), Call("abs", (Column("b"),))))


# ---------------------------------------------------------------------------------------------------------- the kinds


def test_a_column_keeps_the_kind_it_was_declared_with() -> None:
    for name, kind in KINDS.items():
        assert kind_of(Column(name), KINDS) is kind


def test_an_unknown_column_is_named_with_the_nearest() -> None:
    with pytest.raises(QueryError, match=r"no column 'agee'. Did you mean age\?"):
        kind_of(Column("agee"), KINDS)
    with pytest.raises(QueryError, match="no column 'zzz'"):
        is_condition(Column("zzz"), KINDS)


def test_conditions_are_distinguished_from_values() -> None:
    assert is_condition(Column("alive"), KINDS)
    assert not is_condition(Column("age"), KINDS)
    assert not is_condition(Literal(None), KINDS)
    # An open quotient may be compared, though it cannot be summed.
    open_quotient = Call("/", (Column("age"), Column("share")))
    assert is_condition(Call(">", (open_quotient, Literal(2))), KINDS)
    with pytest.raises(QueryError, match="CLIP"):
        kind_of(open_quotient, KINDS)
    assert kind_of(Call("clip", (open_quotient, Literal(0), Literal(10))), KINDS) == Real(0, 10)


@given(ANY)
def test_what_is_refused_is_refused_in_our_words(expression: Expression) -> None:
    try:
        kind_of(expression, {name: Text() for name in KINDS})
    except CelosiaError as error:
        assert str(error).endswith((".", "?"))  # noqa: PT017
