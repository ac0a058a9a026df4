from __future__ import annotations

import copy
import math
import pickle
from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from celosia.core.errors import ParameterError
from celosia.data.schema.axis import MAX_STEPS, Axis, axis_between, integer_axis

if TYPE_CHECKING:
    from collections.abc import Callable

Number: TypeAlias = int | float | Fraction | Decimal

EXACT = 2**52

bounds: st.SearchStrategy[Number] = st.one_of(
    st.integers(-(10**30), 10**30),
    st.fractions(min_value=-(10**6), max_value=10**6),
    st.floats(-1e30, 1e30).filter(lambda x: x == 0 or abs(x) > 1e-300),
    st.decimals(-1000, 1000, places=6),
)
ends = st.integers(-EXACT, EXACT)
grids = st.one_of(st.integers(1, 10**9), st.fractions(min_value="1/1000000", max_value=1000))


@st.composite
def axes(draw: st.DrawFn) -> Axis:
    lowest = draw(st.one_of(st.integers(-200, 200), ends))
    highest = draw(st.integers(lowest + 1, lowest + draw(st.sampled_from([2, 100, MAX_STEPS]))))
    assume(highest <= EXACT)
    return Axis(lowest, highest, Fraction(draw(grids)))


def is_power_of_two(number: Fraction) -> bool:
    return number > 0 and all(part & (part - 1) == 0 for part in (number.numerator, number.denominator))


def fits(low: Fraction, high: Fraction, grid: Fraction) -> bool:
    first, last = math.floor(low / grid), math.ceil(high / grid)
    return last - first <= MAX_STEPS and max(-first, last) <= EXACT


# -------------------------------------------------------------------------------------------------- the default grid


@given(bounds, bounds)
@example(0, 1)
@example(-1, 1)
@example(10**15, 10**15 + 1)
@example(Fraction(1, 3), Fraction(2, 3))
def test_the_default_grid_is_the_finest_power_of_two_that_fits(low: Number, high: Number) -> None:
    first, last = Fraction(low), Fraction(high)
    assume(last - first > Fraction(1, 10**15))
    axis = axis_between(low, high)
    assert is_power_of_two(axis.grid)
    assert fits(first, last, axis.grid)
    assert not fits(first, last, axis.grid / 2)
    assert axis.low <= first < axis.low + axis.grid
    assert axis.high - axis.grid < last <= axis.high
    assert 1 <= axis.steps <= MAX_STEPS


def test_the_default_grid_is_at_least_the_range_in_2_to_the_30_steps() -> None:
    for low, high in ((0, 1), (0, 300), (-1, 1), (0, 2**30), ("0.1", "0.7")):
        axis = axis_between(low, high)
        assert axis.grid >= (Fraction(high) - Fraction(low)) / MAX_STEPS
        assert axis.steps > MAX_STEPS // 4


@given(bounds, bounds)
def test_the_ends_of_every_axis_are_exact_doubles_and_so_is_half_a_step_more(low: Number, high: Number) -> None:
    assume(Fraction(high) - Fraction(low) > Fraction(1, 10**15))
    axis = axis_between(low, high)
    for end in (axis.lowest, axis.highest):
        assert Fraction(float(end)) == end
        assert Fraction(end + 0.5) == end + Fraction(1, 2)


@pytest.mark.parametrize("make", [int, float, Fraction, Decimal, str, np.int64, np.float64, np.float32, np.uint8])
def test_every_way_to_write_a_number_gives_the_same_axis(make: Callable[[int], Number | str]) -> None:
    assert axis_between(make(0), make(200)) == axis_between(0, 200)
    assert axis_between(0, 200, make(2)) == Axis(0, 100, Fraction(2))


# ---------------------------------------------------------------------------------------------------- a declared grid


@given(bounds, st.fractions(min_value="1/1000", max_value=10**6), grids)
def test_a_declared_grid_is_kept_and_covers_the_bounds(low: Number, length: Fraction, grid: int | Fraction) -> None:
    first, last = Fraction(low), Fraction(low) + length
    assume(grid <= length)
    assume(fits(first, last, Fraction(grid)))
    axis = axis_between(first, last, grid)
    assert axis.grid == grid
    assert axis.low <= first < axis.low + axis.grid
    assert axis.high - axis.grid < last <= axis.high


@given(axes(), st.fractions(min_value=0, max_value=1))
def test_what_lies_between_the_bounds_is_rounded_to_a_step_of_the_axis(axis: Axis, share: Fraction) -> None:
    value = axis.low + share * (axis.high - axis.low)
    step = math.floor(value / axis.grid + Fraction(1, 2))
    assert axis.lowest <= step <= axis.highest
    assert abs(step * axis.grid - value) <= axis.grid / 2


def test_a_grid_that_does_not_fit_is_refused() -> None:
    cases: list[tuple[object, object, object, str]] = [
        (0, 1, "1e-10", "coarser"),  # more than 2^30 steps
        (10**16, 10**16 + 1000, 1, "coarser"),  # few steps, but beyond 2^52
        (0, Fraction(1, 10**28), "1e-31", "coarser"),
        (0, 1, 2, "at most the distance"),
        (0, 1, Fraction(2**200 + 1, 2**202), "60 digits"),
        (0, 1, 0, "greater than 0"),
        (0, 1, -1, "greater than 0"),
        (0, 1, float("nan"), "finite"),
        (0, 1, float("inf"), "finite"),
        (0, 1, True, "number"),
        (0, 1, "", "number"),
        (0, 1, [1], "list"),
    ]
    for low, high, grid, word in cases:
        with pytest.raises(ParameterError, match=word) as caught:
            axis_between(low, high, grid)  # type: ignore[arg-type] # wrong on purpose
        assert "grid" in str(caught.value)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1, 1),
        (2, 1),
        (float("nan"), 1),
        (0, float("nan")),
        (0, float("inf")),
        (float("-inf"), 0),
        (False, 1),
        (0, True),
        (0, 10**31),
        (-(10**31), 0),
        (0, 1e308),
        (0, "1e-25"),  # no axis could tell such numbers apart
        (0, 5e-324),
        (None, 1),
        (0, "many"),
        (np.nan, 1),
        (np.bool_(0), 1),
        pytest.param(0, 10**5000, id="very long"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(low: object, high: object) -> None:
    with pytest.raises(ParameterError):
        axis_between(low, high)  # type: ignore[arg-type] # wrong on purpose


# ----------------------------------------------------------------------------------------------------------- coarser


@given(axes(), st.one_of(st.integers(2, 300), st.integers(2, MAX_STEPS)))
@example(Axis(-1, 1, Fraction(1)), 2)
def test_a_coarser_axis_covers_the_axis_and_no_finer_one_would_do(axis: Axis, most: int) -> None:
    coarse = axis.coarsen(most)
    factor = coarse.grid / axis.grid
    assert factor.denominator == 1
    assert is_power_of_two(factor)
    assert 1 <= coarse.steps <= most
    assert coarse.low <= axis.low
    assert coarse.high >= axis.high
    assert coarse.low > axis.low - coarse.grid
    assert coarse.high < axis.high + coarse.grid
    if factor > 1:
        half = int(factor) // 2
        assert -(-axis.highest // half) - axis.lowest // half > most


@given(axes(), st.integers(2, 1000), st.integers(2, 1000))
def test_coarsening_twice_is_coarsening_once(axis: Axis, first: int, second: int) -> None:
    most = min(first, second)
    assert axis.coarsen(max(first, second)).coarsen(most).grid >= axis.coarsen(most).grid
    assert axis.coarsen(most).coarsen(most) == axis.coarsen(most)


def test_an_axis_that_is_coarse_enough_stays_as_it_is() -> None:
    axis = Axis(-7, 5, Fraction(1, 3))
    assert axis.coarsen(12) == axis
    assert axis.coarsen(11) == Axis(-4, 3, Fraction(2, 3))


def test_an_axis_around_zero_needs_two_steps() -> None:
    cases: list[object] = [1, 0, -1, 2.0, "2", True, None, float("nan")]
    for most in cases:
        with pytest.raises(ParameterError, match="most"):
            Axis(-1, 1, Fraction(1)).coarsen(most)  # type: ignore[arg-type] # wrong on purpose


# ----------------------------------------------------------------------------------------------------- integers


@given(st.integers(-(2**62), 2**62), st.integers(0, 2**63))
@example(2**62, 0)
@example(-(2**62), 2**63)
@example(2**52, 0)
@example(0, 2**30)
@example(0, 2**30 + 1)
def test_the_axis_of_whole_numbers_has_steps_of_one_wherever_they_fit(low: int, length: int) -> None:
    high = min(low + length, 2**62)
    axis = integer_axis(low, high)
    assert axis.low <= low <= high <= axis.high
    assert is_power_of_two(axis.grid)
    assert axis.is_integer
    last = max(high, low + 1)
    assert (axis.grid == 1) == (last - low <= MAX_STEPS and max(-low, last) <= EXACT)


@given(st.integers(-(2**62), 2**62), st.integers(0, 2**63), st.fractions(0, 1), st.integers(2, MAX_STEPS))
@example(2**53 + 1, 2, Fraction(0), 2)
@example(2**61 + 1, 10**6, Fraction(1), 2**16)
@example(-(2**62), 2**63, Fraction(1, 2), MAX_STEPS)
def test_steps_that_are_computed_in_doubles_never_leave_the_axis(
    low: int, length: int, share: Fraction, most: int
) -> None:
    """As engines do it, for integers of up to 62 bits of which doubles hold 53."""
    high = min(low + length, 2**62)
    value = low + math.floor(share * (high - low))
    for axis in (integer_axis(low, high), integer_axis(low, high).coarsen(most)):
        step = math.floor(float(value) / float(axis.grid) + 0.5) if axis.grid > 1 else value
        assert axis.lowest <= step <= axis.highest


def test_one_number_alone_still_has_a_step() -> None:
    assert integer_axis(7, 7) == Axis(7, 8, Fraction(1))
    assert integer_axis(2**62, 2**62).steps == 1


# --------------------------------------------------------------------------------------------------- an axis by itself


@pytest.mark.parametrize(
    ("lowest", "highest", "grid"),
    [
        (0, 0, 1),
        (1, 0, 1),
        (0, MAX_STEPS + 1, 1),
        (EXACT, EXACT + 1, 1),
        (-EXACT - 1, 0, 1),
        (0.0, 1, 1),
        (0, 1.0, 1),
        (False, 1, 1),
        ("0", 1, 1),
        (None, 1, 1),
        (0, 1, 0),
        (0, 1, -1),
        (0, 1, float("nan")),
        pytest.param(0, 10**5000, 1, id="very long"),
    ],
)
def test_an_axis_that_would_break_a_bound_cannot_be_made(lowest: object, highest: object, grid: object) -> None:
    with pytest.raises(ParameterError):
        Axis(lowest, highest, grid)  # type: ignore[arg-type] # wrong on purpose


@given(axes())
def test_an_axis_is_a_value(axis: Axis) -> None:
    assert eval(repr(axis)) == axis
    assert hash(eval(repr(axis))) == hash(axis)
    assert pickle.loads(pickle.dumps(axis)) == axis
    assert copy.deepcopy(axis) == copy.copy(axis) == axis
    assert isinstance(axis.grid, Fraction)
    assert axis.steps * axis.grid == axis.high - axis.low


def test_numbers_of_numpy_become_pythons_own() -> None:
    axis = Axis(np.int32(-1), np.uint8(5), np.float32(0.5))  # type: ignore[arg-type] # what callers pass
    assert repr(axis) == "Axis(-1, 5, 0.5)"
    assert type(axis.lowest) is type(axis.highest) is int


def test_an_axis_cannot_be_changed() -> None:
    axis = Axis(0, 1, Fraction(1))
    with pytest.raises(FrozenInstanceError):
        axis.highest = 2  # type: ignore[misc] # the point of the test
