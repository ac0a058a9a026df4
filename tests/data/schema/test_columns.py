from __future__ import annotations

import copy
import datetime as dt
import pickle
from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import ParameterError
from celosia.data.schema.axis import MAX_STEPS, Axis
from celosia.data.schema.columns import (
    DROP,
    MAX_KEYS,
    Boolean,
    Category,
    Date,
    Integer,
    Kind,
    Real,
    Text,
    Timestamp,
)

if TYPE_CHECKING:
    from collections.abc import Callable

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
numbers = st.one_of(
    st.fractions(-1000, 1000, max_denominator=10**6),
    st.integers(-(10**29), 10**29).map(Fraction),
    st.floats(-(2.0**20), 2.0**20, width=32).map(Fraction),
)
moments = st.datetimes(timezones=st.just(dt.UTC)).map(lambda moment: moment.replace(microsecond=0))
T = TypeVar("T", int, Fraction, dt.date, dt.datetime)


def three(values: st.SearchStrategy[T]) -> st.SearchStrategy[list[T]]:
    """A lower bound, what stands for null, and an upper bound."""
    return st.lists(values, min_size=3, max_size=3).map(sorted)


def rule(null: Any, *, drops: bool) -> Any:
    return DROP if drops else null


def real(ends: list[Fraction], steps: int | None, *, drops: bool) -> Real:
    low, null, high = ends
    return Real(low, high, grid=None if steps is None else (high - low) / steps, null=rule(null, drops=drops))


def category(values: list[str] | list[int], *, ordered: bool, drops: bool) -> Category:
    return Category(values, ordered=ordered, null=rule(values[-1], drops=drops))


either = st.booleans()
kinds: st.SearchStrategy[Kind] = st.one_of(
    st.builds(
        lambda ends, drops: Integer(ends[0], ends[2], null=rule(ends[1], drops=drops)),
        three(st.integers(-(2**62), 2**62)),
        either,
    ),
    st.builds(
        real,
        three(numbers).filter(lambda ends: ends[2] - ends[0] > Fraction(1, 10**9)),
        st.one_of(st.none(), st.integers(1, 10_000)),
        drops=either,
    ),
    st.builds(Boolean, null=st.sampled_from([DROP, True, False])),
    st.builds(
        category,
        st.one_of(
            st.lists(texts.filter(lambda text: text != DROP), min_size=1, max_size=6, unique=True),
            st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=6, unique=True),
        ),
        ordered=either,
        drops=either,
    ),
    st.builds(Text, null=texts),
    st.builds(Text),
    st.builds(lambda ends, drops: Date(ends[0], ends[2], null=rule(ends[1], drops=drops)), three(st.dates()), either),
    st.builds(lambda ends, drops: Timestamp(ends[0], ends[2], null=rule(ends[1], drops=drops)), three(moments), either),
)


# ----------------------------------------------------------------------------------------------------- all the kinds


@given(kinds)
def test_a_kind_is_a_value(kind: Kind) -> None:
    again = eval(repr(kind))
    assert again == kind
    assert hash(again) == hash(kind)
    assert type(again) is type(kind)
    assert repr(again) == repr(kind)
    assert pickle.loads(pickle.dumps(kind)) == copy.copy(kind) == copy.deepcopy(kind) == kind


@given(kinds)
def test_an_axis_is_short_and_holds_the_bounds(kind: Kind) -> None:
    axis = kind.axis
    if axis is None:
        assert isinstance(kind, Category | Text)
        return
    assert 1 <= axis.steps <= MAX_STEPS
    assert max(-axis.lowest, axis.highest) <= 2**52
    if isinstance(kind, Integer | Real):
        assert axis.low <= kind.low <= kind.high <= axis.high
    if isinstance(kind, Date):
        assert axis.grid == 1
        assert dt.date(1970, 1, 1) + dt.timedelta(days=axis.lowest) == kind.low
    if isinstance(kind, Timestamp):
        assert axis.low <= (kind.low - EPOCH).total_seconds()
        assert axis.high >= (kind.high - EPOCH).total_seconds()


@given(kinds)
def test_the_domain_is_what_the_column_can_have_in_order(kind: Kind) -> None:
    values = kind.domain()
    if values is None:
        assert not isinstance(kind, Category | Boolean)
        return
    assert len(set(values)) == len(values) <= max(MAX_KEYS, 6)
    assert kind.null == DROP or kind.null in values
    if isinstance(kind, Integer | Date):
        assert list(values) == sorted(values)
        assert (values[0], values[-1]) == (kind.low, kind.high)


@given(kinds)
def test_only_dropping_makes_the_number_of_rows_private(kind: Kind) -> None:
    assert kind.nullable == (kind.null == DROP)


def test_a_kind_cannot_be_changed() -> None:
    cases: list[Kind] = [Integer(0, 1), Real(0, 1), Boolean(), Category("F"), Text(), Date("2021-01-01", "2021-01-02")]
    for kind in cases:
        with pytest.raises(FrozenInstanceError):
            kind.null = "x"  # type: ignore[misc] # the point of the test
        with pytest.raises((AttributeError, TypeError)):
            kind.other = 1  # type: ignore[attr-defined] # the point of the test


def test_kinds_that_look_alike_are_different() -> None:
    alike: list[Kind] = [
        Integer(0, 1),
        Real(0, 1),
        Boolean(),
        Category("0", "1"),
        Category(0, 1),
        Category(1, 0),
        Category(0, 1, ordered=True),
        Category(0, 1, null=0),
        Text(),
        Text(null=""),
        Date("2021-01-01", "2021-01-02"),
        Timestamp("2021-01-01", "2021-01-02"),
    ]
    assert len(set(alike)) == len(alike)


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (lambda null: Integer(0, 9, null=null), [10, -1, 5.0, "5", "dorp", "DROP", None, True, float("nan"), [5]]),
        (lambda null: Real(0, 9, null=null), [10, -1, "dorp", None, True, float("nan"), float("inf"), [5], b"5"]),
        (lambda null: Boolean(null=null), [0, 1, "true", None, float("nan")]),
        (lambda null: Category("F", "M", null=null), ["X", 0, None, True, float("nan"), ["F"], "FM"]),
        (lambda null: Category(0, 1, null=null), ["0", False, True, np.True_, 0.0, 1.0, 2, None]),
        (lambda null: Text(null=null), [0, None, True, float("nan"), b"x", "\ud800"]),
        (
            lambda null: Date("2021-01-01", "2021-12-31", null=null),
            ["2020-12-31", "2022-01-01", "x", None, 0, dt.datetime(2021, 2, 1, tzinfo=dt.UTC), pd.NaT],
        ),
        (
            lambda null: Timestamp("2021-01-01", "2021-12-31", null=null),
            ["2020-12-31 23:59:59", "2021-12-31 00:00:01", "x", None, 0, pd.NaT],
        ),
    ],
)
def test_a_null_rule_is_to_drop_or_a_value_of_the_column(make: Callable[[object], Kind], wrong: list[object]) -> None:
    assert make(DROP).null == make(np.str_(DROP)).null == DROP
    assert type(make(np.str_(DROP)).null) is str
    for null in wrong:
        with pytest.raises(ParameterError, match=r'^null must be "drop" or '):
            make(null)


# ------------------------------------------------------------------------------------------------------------ numbers


def test_integers_need_whole_bounds_in_order() -> None:
    cases: list[tuple[object, object]] = [
        (1, 0),
        (0, 2**62 + 1),
        (-(2**63), 0),
        (0.0, 1),
        (0, 1.5),
        ("0", 1),
        (False, True),
        (None, 1),
        (0, float("inf")),
        (Decimal(0), 1),
        (Fraction(0), 1),
        (np.float64(0), 1),
        (np.False_, 1),
    ]
    for low, high in cases:
        with pytest.raises(ParameterError, match=r"low|high"):
            Integer(low, high)  # type: ignore[arg-type] # wrong on purpose


def test_integers() -> None:
    assert Integer(np.int16(-5), np.uint8(5)) == Integer(-5, 5)  # type: ignore[arg-type] # what callers pass
    assert repr(Integer(np.int16(0), 5, null=np.int8(1))) == "Integer(0, 5, null=1)"  # type: ignore[arg-type]
    assert Integer(7, 7).axis == Axis(7, 8, Fraction(1))
    assert Integer(7, 7).domain() == (7,)
    assert Integer(-(2**62), 2**62).axis.steps == MAX_STEPS
    assert Integer(2**61, 2**61 + 10).axis.high >= 2**61 + 10
    assert len(Integer(1, MAX_KEYS).domain() or ()) == MAX_KEYS
    assert Integer(0, MAX_KEYS).domain() is None


def test_reals_keep_their_bounds_exactly() -> None:
    tenths = Real("0.1", "0.3", grid="0.1")
    assert (tenths.low, tenths.high, tenths.grid) == (Fraction(1, 10), Fraction(3, 10), Fraction(1, 10))
    assert tenths.axis == Axis(1, 3, Fraction(1, 10))
    assert Real(0.1, 0.3, grid=0.1) != tenths
    assert repr(tenths) == "Real('0.1', '0.3', grid='0.1')"
    assert Real(Decimal("0.1"), Fraction(3, 10), grid="1/10") == tenths
    assert Real(np.float64(0), np.float64(1), null=np.float64(0.5)) == Real(0, 1, null="0.5")
    assert Real(0, 1).domain() is None


def test_what_the_grid_moves_outwards_is_the_axis_and_not_the_bounds() -> None:
    kind = Real("0.05", "0.25", grid="0.1")
    assert (kind.low, kind.high) == (Fraction(1, 20), Fraction(1, 4))
    assert kind.axis == Axis(0, 3, Fraction(1, 10))


def test_truth_values_are_zero_and_one() -> None:
    assert Boolean(null=np.True_) == Boolean(null=True)  # type: ignore[arg-type] # what callers pass
    assert Boolean().axis == Axis(0, 1, Fraction(1))
    assert Boolean().domain() == (False, True)


# --------------------------------------------------------------------------------------------------------- categories


def test_categories() -> None:
    assert Category("FM").domain() == ("FM",)
    assert Category("F", "M") == Category(["F", "M"]) == Category(np.array(["F", "M"])) == Category(iter("FM"))
    assert Category(np.array([1, 2]), null=np.int64(2)) == Category(1, 2, null=2)  # type: ignore[arg-type]
    assert repr(Category(np.array([1, 2]), null=np.int64(2))) == "Category(1, 2, null=2)"  # type: ignore[arg-type]
    assert (
        repr(Category(np.array(["a'b"]), ordered=True, null="a'b")) == """Category("a'b", ordered=True, null="a'b")"""
    )
    assert Category(map(str, range(150_000))).domain() == tuple(map(str, range(150_000)))


def test_a_category_cannot_be_called_drop() -> None:
    with pytest.raises(ParameterError, match='the value "drop"'):
        Category("drop", "keep")
    assert Category("Drop").domain() == ("Drop",)


def test_categories_are_ordered_or_not() -> None:
    cases: list[object] = [1, 0, "yes", None]
    for ordered in cases:
        with pytest.raises(ParameterError, match="ordered must be True or False"):
            Category("F", "M", ordered=ordered)  # type: ignore[arg-type] # wrong on purpose


def test_texts_have_no_public_values() -> None:
    assert Text().domain() is None
    assert Text(null=np.str_("?")) == Text(null="?")
    assert repr(Text(null=np.str_("?"))) == "Text(null='?')"


# ---------------------------------------------------------------------------------------------------- dates and times


def test_dates() -> None:
    assert Date(dt.date(2021, 1, 1), "2021-12-31").axis.steps == 364
    assert Date("0001-01-01", "9999-12-31").axis.steps == 3_652_058
    assert Date("0001-01-01", "9999-12-31").domain() is None
    assert Date("2021-02-28", "2021-03-01").domain() == (dt.date(2021, 2, 28), dt.date(2021, 3, 1))
    assert Date("1969-12-31", "1969-12-31").axis == Axis(-1, 0, Fraction(1))
    assert Date("9999-12-31", "9999-12-31").domain() == (dt.date.max,)
    assert (
        repr(Date("2021-01-01", "2021-12-31", null="2021-06-01"))
        == "Date('2021-01-01', '2021-12-31', null='2021-06-01')"
    )


def test_dates_need_dates_in_order() -> None:
    cases: list[tuple[object, object]] = [
        ("2021-12-31", "2021-01-01"),
        (dt.datetime(2021, 1, 1, tzinfo=dt.UTC), "2021-12-31"),
        ("2021-01-01", pd.Timestamp("2021-12-31")),
        (None, "2021-12-31"),
        (0, 1),
        ("2021-01-01", "2021-12-32"),
    ]
    for low, high in cases:
        with pytest.raises(ParameterError, match=r"low|high"):
            Date(low, high)  # type: ignore[arg-type] # wrong on purpose


def test_times_are_in_utc_to_the_second() -> None:
    mexico = ZoneInfo("America/Mexico_City")
    zoned = Timestamp(dt.datetime(2021, 1, 1, tzinfo=mexico), dt.datetime(2021, 1, 2, tzinfo=mexico))
    assert zoned == Timestamp("2021-01-01 06:00", "2021-01-02T06:00:00.999Z")
    assert zoned.axis == Axis(1609480800, 1609567200, Fraction(1))
    assert repr(zoned) == "Timestamp('2021-01-01 06:00:00', '2021-01-02 06:00:00')"
    assert zoned.domain() is None
    assert Timestamp("0001-01-01", "9999-12-31 23:59:59").axis.steps <= MAX_STEPS
    assert Timestamp("1969-12-31 23:59:58", "1969-12-31 23:59:59").axis == Axis(-2, -1, Fraction(1))
    assert Timestamp("2021-01-01", "2021-01-01").axis.steps == 1


def test_times_need_times_in_order() -> None:
    cases: list[tuple[object, object]] = [
        ("2021-01-02", "2021-01-01"),
        (None, "2021-01-01"),
        (0, 1),
        ("x", "y"),
        ("2021-01-01", pd.NaT),
    ]
    for low, high in cases:
        with pytest.raises(ParameterError, match=r"low|high"):
            Timestamp(low, high)  # type: ignore[arg-type] # wrong on purpose
