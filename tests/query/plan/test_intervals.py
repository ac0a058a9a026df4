"""Interval arithmetic is sound for what IEEE doubles and 64-bit integers give, and as tight as it can be."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from celosia.core.errors import QueryError
from celosia.data.schema.axis import axis_between
from celosia.query.plan import intervals
from celosia.query.plan.intervals import Interval, constant, integers_between

if TYPE_CHECKING:
    from collections.abc import Callable

Sample = tuple[Interval, "list[int | float]"]
"""An interval, and some values that lie in it."""

WHOLE = st.integers(-(2**31), 2**31)


@st.composite
def whole_samples(draw: st.DrawFn) -> Sample:
    low, high = sorted(draw(st.tuples(WHOLE, WHOLE)))
    values = draw(st.lists(st.integers(low, high), min_size=1, max_size=4))
    return integers_between(low, high), [low, high, *values]


@st.composite
def real_samples(draw: st.DrawFn) -> Sample:
    low, high = sorted(draw(st.tuples(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6))))
    assume(high - low >= 7)
    grid = draw(st.sampled_from([None, "0.1", "1/3", "0.25", "7"]))
    axis = axis_between(low, high, grid)
    steps = [axis.lowest, axis.highest, *draw(st.lists(st.integers(axis.lowest, axis.highest), max_size=4))]
    # An engine may round the grid first and then the product, or divide once.
    once = [step * axis.grid.numerator / axis.grid.denominator for step in steps]
    return intervals.of_axis(axis), [*once, *(step * float(axis.grid) for step in steps)]


@st.composite
def constants(draw: st.DrawFn) -> Sample:
    value = draw(st.one_of(WHOLE, st.floats(-1e9, 1e9).filter(lambda x: x == 0 or abs(x) > 1e-9)))
    return constant(value), [value]


LEAVES = st.one_of(whole_samples(), real_samples(), constants())


def paired(a: Sample, b: Sample, operation: Callable[..., float]) -> list[int | float]:
    return [operation(x, y) for x in a[1] for y in b[1]][:40]


def mixed(x: float, y: float, operation: Callable[..., float]) -> float:
    """As engines compute: integers stay integers, and become doubles beside a double."""
    if isinstance(x, int) and isinstance(y, int):
        return operation(x, y)
    return operation(float(x), float(y))


@st.composite
def added(draw: st.DrawFn, inner: st.SearchStrategy[Sample]) -> Sample:
    a, b = draw(inner), draw(inner)
    return intervals.add(a[0], b[0]), paired(a, b, lambda x, y: mixed(x, y, lambda p, q: p + q))


@st.composite
def multiplied(draw: st.DrawFn, inner: st.SearchStrategy[Sample]) -> Sample:
    a, b = draw(inner), draw(inner)
    return intervals.multiply(a[0], b[0]), paired(a, b, lambda x, y: mixed(x, y, lambda p, q: p * q))


@st.composite
def divided(draw: st.DrawFn, inner: st.SearchStrategy[Sample]) -> Sample:
    a, b = draw(inner), draw(inner)
    divisors = [y for y in b[1] if y != 0]
    assume(divisors)
    return intervals.divide(a[0], b[0]), paired(a, (b[0], divisors), lambda x, y: float(x) / float(y))


@st.composite
def transformed(draw: st.DrawFn, inner: st.SearchStrategy[Sample]) -> Sample:
    interval, values = draw(inner)
    which = draw(st.integers(0, 4))
    if which == 0:
        return intervals.negate(interval), [-x for x in values]
    if which == 1:
        return intervals.magnitude(interval), [abs(x) for x in values]
    if which == 2:
        return intervals.round_ends(interval, math.floor), [math.floor(x) for x in values]
    if which == 3:
        return intervals.round_ends(interval, math.ceil), [math.ceil(x) for x in values]
    return intervals.to_real(interval), [float(x) for x in values]


@st.composite
def chosen(draw: st.DrawFn, inner: st.SearchStrategy[Sample]) -> Sample:
    a, b = draw(inner), draw(inner)
    which = draw(st.integers(0, 2))
    if which == 2:
        values = [*a[1], *b[1]]
        interval = intervals.hull([a[0], b[0]])
    else:
        values = paired(a, b, min if which else max)
        interval = (intervals.least if which else intervals.greatest)([a[0], b[0]])
    return interval, values if interval.is_integer else [float(x) for x in values]


def bigger(inner: st.SearchStrategy[Sample]) -> st.SearchStrategy[Sample]:
    return st.one_of(added(inner), multiplied(inner), divided(inner), transformed(inner), chosen(inner))


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    try:
        return draw(st.recursive(LEAVES, bigger, max_leaves=6))
    except QueryError:  # too large or too small, and refused: that is the other test
        assume(False)  # noqa: FBT003
        raise


def check(interval: Interval, value: float) -> None:
    assert interval.low <= value <= interval.high
    assert isinstance(value, int) == interval.is_integer
    if interval.is_integer:
        assert abs(value) <= 2**62
        return
    assert math.isfinite(value)
    assert value == 0 or abs(value) >= 2.0**interval.tiny >= sys.float_info.min * 2**200
    assert (Fraction(value) / Fraction(2) ** interval.quantum).denominator == 1
    assert value == 0 or abs(value) >= interval.smallest


@given(samples())
def test_what_doubles_give_lies_in_the_interval(sample: Sample) -> None:
    interval, values = sample
    assert interval.low <= interval.high
    for value in values:
        check(interval, value)


@given(samples())
def test_bounds_of_reals_are_doubles(sample: Sample) -> None:
    interval, _ = sample
    for end in (interval.low, interval.high):
        assert end.denominator == 1 if interval.is_integer else Fraction(float(end)) == end


@given(whole_samples(), whole_samples())
def test_bounds_are_attained(a: Sample, b: Sample) -> None:
    (x, xs), (y, ys) = a, b
    total = intervals.add(x, y)
    assert [total.low, total.high] == [min(xs) + min(ys), max(xs) + max(ys)]
    try:
        product = intervals.multiply(x, y)
    except QueryError:
        assert max(abs(p * q) for p in xs for q in ys) > 2**62
    else:
        corners = [p * q for p in (min(xs), max(xs)) for q in (min(ys), max(ys))]
        assert [product.low, product.high] == [min(corners), max(corners)]


def test_a_product_of_two_corners_only_would_be_caught() -> None:
    # A planted mistake: low times low and high times high. The check above must not pass it.
    a, b = integers_between(-3, 2), integers_between(-5, 4)
    wrong = Interval(low=a.low * b.low, high=a.high * b.high, is_integer=True)
    with pytest.raises(AssertionError):
        check(wrong, -3 * 4)
    check(intervals.multiply(a, b), -3 * 4)


def test_rounding_towards_zero_would_be_caught() -> None:
    third = intervals.divide(constant(1.0), constant(3))
    value = 1.0 / 3
    check(third, value)
    wrong = Interval(low=third.low, high=Fraction(math.nextafter(value, 0)), is_integer=False, tiny=-2, quantum=-60)
    with pytest.raises(AssertionError):
        check(wrong, value)


def test_a_whole_divisor_bounds_its_quotient() -> None:
    cases: list[tuple[tuple[int, int], tuple[int, int]]] = [
        ((0, 10), (-100, 50)),
        ((-4, 0), (-50, 100)),
        ((-4, 10), (-100, 100)),
    ]
    for b, expected in cases:
        quotient = intervals.divide(integers_between(-100, 50), integers_between(*b))
        assert quotient.is_bounded
        assert [quotient.low, quotient.high] == list(expected)


def test_a_real_divisor_near_zero_leaves_the_quotient_open() -> None:
    share = intervals.of_axis(axis_between(0, 1))
    quotient = intervals.divide(integers_between(0, 10), share)
    assert (quotient.open_low, quotient.open_high) == (False, True)
    assert quotient.low == 0
    assert repr(quotient) == "Interval(0.0 to ?)"
    assert intervals.least([quotient, constant(10)]).is_bounded
    assert not intervals.greatest([quotient, constant(10)]).is_bounded
    both = intervals.divide(integers_between(-1, 10), share)
    assert (both.open_low, both.open_high) == (True, True)
    clipped = intervals.least([intervals.greatest([both, constant(0)]), constant(10)])
    assert [clipped.low, clipped.high] == [0, 10]
    assert clipped.is_bounded
    assert intervals.magnitude(both).open_high
    assert intervals.negate(quotient).open_low
    assert intervals.add(quotient, constant(1)).open_high
    assert intervals.multiply(quotient, constant(-1)).open_low
    assert intervals.multiply(quotient, constant(0)).is_bounded


def test_an_interval_away_from_zero_divides_tightly() -> None:
    quotient = intervals.divide(integers_between(1, 2), intervals.of_axis(axis_between(2, 4)))
    assert [quotient.low, quotient.high] == [Fraction(1, 4), 1]
    assert quotient.is_bounded


def test_dividing_by_nothing_but_zero_is_refused() -> None:
    cases: list[Interval] = [constant(0), constant(0.0)]
    for divisor in cases:
        with pytest.raises(QueryError, match="division by zero"):
            intervals.divide(constant(1), divisor)


def test_integers_that_could_pass_64_bits_are_refused() -> None:
    cases: list[Callable[[], Interval]] = [
        lambda: intervals.multiply(integers_between(0, 2**40), integers_between(0, 2**40)),
        lambda: intervals.add(integers_between(0, 2**62), constant(1)),
        lambda: intervals.round_ends(constant(1e30), math.floor),
        lambda: integers_between(0, 2**62 + 1),
    ]
    for operation in cases:
        with pytest.raises(QueryError, match=r"2\^62"):
            operation()


def test_reals_that_could_overflow_are_refused() -> None:
    with pytest.raises(QueryError, match="1e100"):
        intervals.multiply(constant(1e60), constant(1e60))


def test_reals_that_could_underflow_are_refused() -> None:
    small = constant(1e-60)
    with pytest.raises(QueryError, match="nearer to zero"):
        intervals.multiply(small, small)
    with pytest.raises(QueryError, match="nearer to zero"):
        intervals.divide(small, constant(1e60))
    # A difference of two numbers near one is a multiple of their last digits.
    near = intervals.add(constant(1.1), constant(-1.0))
    assert near.smallest <= 1.1 - 1.0


@given(st.integers(-(2**40), 2**40), st.integers(-(2**40), 2**40), st.integers(1, 2**40))
def test_remainders_have_the_sign_of_the_dividend(a: int, b: int, divisor: int) -> None:
    low, high = sorted((a, b))
    interval = intervals.remainder(integers_between(low, high), divisor)
    for value in (low, high, (low + high) // 2):
        check(interval, int(math.fmod(value, divisor)))


def test_sums_of_many_reals_stay_allowed() -> None:
    # The quantum does not shrink with every addition, or a sum of ten columns would be refused.
    weight = intervals.of_axis(axis_between(0, 300, "0.1"))
    total = weight
    for _ in range(50):
        total = intervals.add(total, weight)
    assert total.quantum == weight.quantum
