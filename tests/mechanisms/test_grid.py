"""The grid: neighbours stay as near as the event says, whatever the floats; no value's size changes its type."""

import math
import sys
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.core import CelosiaError, InputError, ParameterError
from celosia.core.enclosure import root_at_least
from celosia.mechanisms import Gaussian, Laplace
from celosia.mechanisms.grid import (
    FINENESS,
    add_steps,
    add_to_array,
    as_number_or_array,
    check_width,
    fine_step,
    from_steps,
    grid_step,
    is_integral,
    size_of,
    to_steps,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST = 2**62 - 1
SENSITIVITIES = [
    Fraction(1),
    Fraction(1, 3),
    Fraction("0.1"),
    Fraction(1000003, 7),
    Fraction(2) ** -300,
    Fraction(10) ** 40,
]
INTEGER_TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def clip(number: int) -> int:
    return max(-MOST, min(MOST, number))


# ------------------------------------------------------------------------------- sensitivity, against exact arithmetic


def neighbour(a: float, gap: Fraction) -> float:
    """The double nearest to ``a + gap`` that is no farther from ``a`` than that."""
    try:
        b = float(Fraction(a) + gap)
    except OverflowError:
        b = math.copysign(sys.float_info.max, gap)
    return b if abs(Fraction(b) - Fraction(a)) <= abs(gap) else math.nextafter(b, a)


@st.composite
def adversarial(draw: st.DrawFn, step: Fraction) -> float:
    """A double: any, subnormal, huge, or on (or next to) a half step, where rounding turns."""
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return draw(st.floats(allow_nan=False, allow_infinity=False))
    if kind == 1:
        return draw(st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, 1.7e308, -1.7e308, 2.0**53 + 2, 2.0**62]))
    half = float((draw(st.integers(-(2**20), 2**20)) + Fraction(1, 2)) * step)
    return half if kind == 2 else math.nextafter(half, draw(st.sampled_from([-math.inf, math.inf])))


@st.composite
def neighbours(draw: st.DrawFn, sensitivity: Fraction, step: Fraction, norm: int, size: int) -> tuple[Any, Any]:
    """Two vectors of doubles whose exact L1 or L2 distance is at most ``sensitivity``, and mostly just that."""
    a = [draw(adversarial(step)) for _ in range(size)]
    shares = draw(st.lists(st.integers(-5, 5), min_size=size, max_size=size).filter(any))
    length = Fraction(sum(map(abs, shares))) if norm == 1 else root_at_least(Fraction(sum(s * s for s in shares)))
    b = [neighbour(x, sensitivity * share / length) for x, share in zip(a, shares, strict=True)]
    return a, b


def distance(a: list[float], b: list[float], norm: int) -> Fraction:
    """L1, or the square of L2."""
    return sum((abs(Fraction(x) - Fraction(y)) ** norm for x, y in zip(a, b, strict=True)), Fraction(0))


def event_of(sensitivity: Fraction, norm: int, size: int) -> Any:
    target: Any = {"epsilon": 1} if norm == 1 else {"rho": 1}
    mechanism = (Laplace if norm == 1 else Gaussian)(**target, sensitivity=sensitivity)
    return mechanism.release(np.zeros(size) if size > 1 else 0.0).event


def check(event: Any, a: list[float], b: list[float], norm: int) -> None:
    """Hold rounded neighbours against the event, as an array and (one coordinate) as a number."""
    allowed = event.sensitivity if norm == 1 else event.sensitivity_squared
    x, y = (np.asarray(to_steps(np.array(side), event.grid)).tolist() for side in (a, b))
    assert sum(abs(i - j) ** norm for i, j in zip(x, y, strict=True)) <= allowed
    if len(a) == 1:  # a number alone is not clipped
        assert abs(int(to_steps(a[0], event.grid)) - int(to_steps(b[0], event.grid))) ** norm <= allowed


CASES = [(sensitivity, norm, size) for sensitivity in SENSITIVITIES for norm in (1, 2) for size in (1, 2, 7)]


@pytest.mark.parametrize(("sensitivity", "norm", "size"), CASES)
@settings(max_examples=25)
@given(data=st.data())
@pytest.mark.sampled(4)
def test_rounded_neighbours_are_within_the_events_sensitivity(
    sensitivity: Fraction, norm: int, size: int, data: st.DataObject
) -> None:
    event = event_of(sensitivity, norm, size)
    a, b = data.draw(neighbours(sensitivity, event.grid, norm, size))
    assert distance(a, b, norm) <= sensitivity**norm
    check(event, a, b, norm)


@pytest.mark.parametrize(("sensitivity", "norm", "size"), CASES)
@pytest.mark.sampled(4)
def test_ten_thousand_neighbours_are_within_the_events_sensitivity(sensitivity: Fraction, norm: int, size: int) -> None:
    event = event_of(sensitivity, norm, size)
    rng = np.random.default_rng([norm, size, sensitivity.numerator % 1000])
    grid = float(event.grid)
    largest = Fraction(0)
    for _ in range(280):  # times 36 cases
        # Halves of steps, next to halves, near the clip, of any magnitude, subnormal.
        half = (rng.integers(-(2**12), 2**12, size) + 0.5) * grid
        next_to_half = np.nextafter(half, rng.choice([-np.inf, np.inf], size))
        any_size = np.ldexp(rng.uniform(-1, 1, size), rng.integers(-1074, 1023, size))
        near_clip = min(grid * 2.0**62, 1e300) * rng.uniform(1 - 1e-9, 1 + 1e-9, size) * rng.choice([-1, 1], size)
        a = np.choose(rng.integers(0, 5, size), [half, half, next_to_half, any_size, near_clip]).tolist()
        shares = [int(share) for share in rng.integers(-5, 6, size)]
        shares[0] = shares[0] or 1
        length = Fraction(sum(map(abs, shares))) if norm == 1 else root_at_least(Fraction(sum(i * i for i in shares)))
        b = [neighbour(x, sensitivity * share / length) for x, share in zip(a, shares, strict=True)]
        largest = max(largest, distance(a, b, norm))
        check(event, a, b, norm)
    assert Fraction(99, 100) * sensitivity**norm <= largest <= sensitivity**norm


def test_without_the_extra_steps_neighbours_would_be_too_far_apart() -> None:
    for size in (1, 4):
        # Every coordinate from just below a half to just above the next one: each moves one step further than it is.
        sensitivity = Fraction(1)
        event: Any = Laplace(epsilon=1, sensitivity=sensitivity, dimension=size).release(np.zeros(size)).event
        grid = float(event.grid)
        wide = round(sensitivity / size / event.grid) - 1
        a = np.full(size, math.nextafter(grid / 2, 0))
        b = np.full(size, math.nextafter(grid / 2 + wide * grid, math.inf))
        apart = int(np.abs(np.asarray(to_steps(b, event.grid)) - np.asarray(to_steps(a, event.grid))).sum())
        assert distance(a.tolist(), b.tolist(), 1) <= sensitivity
        true_steps = math.floor(distance(a.tolist(), b.tolist(), 1) / event.grid)
        assert apart == size * (wide + 1) > true_steps  # paying nothing would be a lie …
        assert apart <= event.sensitivity == sensitivity / event.grid + size  # … and what is paid is enough


def test_rounding_costs_less_than_a_thousandth() -> None:
    sensitivity_cases: list[Fraction] = [*SENSITIVITIES, Fraction(2047), Fraction(2048)]
    for sensitivity, size in product(sensitivity_cases, (1, 2, 1000)):
        event: Any = Laplace(epsilon=1, sensitivity=sensitivity).release(np.zeros(size)).event
        assert size * event.grid <= sensitivity / FINENESS < sensitivity / 1000
        assert event.sensitivity * event.grid <= sensitivity * Fraction(1001, 1000)
        squared: Any = Gaussian(rho=1, sensitivity=sensitivity).release(np.zeros(size)).event
        assert squared.sensitivity_squared * squared.grid**2 <= (sensitivity * Fraction(1001, 1000)) ** 2
        assert size * squared.grid**2 <= (sensitivity / FINENESS) ** 2
        # Not finer than needed either: twice the step would already cost too much.
        assert 4 * size * event.grid > sensitivity / FINENESS


def test_integers_of_every_type_are_rounded_as_in_exact_arithmetic() -> None:
    exponent_cases: list[int] = [-70, -63, -62, -61, -40, -1, 0, 1, 5, 61, 62, 63, 64, 70]
    dtype_cases: list[str] = [*INTEGER_TYPES, ">u8", ">i8", "bool"]
    for exponent in exponent_cases:
        for dtype in dtype_cases:
            limits = [0, 1] if dtype == "bool" else [int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)]
            numbers = [
                limits[0],
                limits[1],
                limits[1] // 2,
                limits[1] // 2 + 1,
                1,
                *range(0 if limits[0] == 0 else -9, 9),
            ]
            values = np.array([number for number in numbers if limits[0] <= number <= limits[1]], dtype=dtype)
            step = Fraction(2) ** exponent
            # Clipped before and after: both move no two numbers apart.
            expected = [clip(math.floor(clip(number) / step + Fraction(1, 2))) for number in values.tolist()]
            if exponent <= 0:
                expected = [clip(int(number / step)) for number in values.tolist()]
            assert np.asarray(to_steps(values, step)).tolist() == expected


def test_a_grid_wider_than_a_word_keeps_integer_neighbours_together() -> None:
    for exponent in (61, 62, 63, 70):
        sensitivity = Fraction(2) ** (exponent - 1)
        event: Any = Laplace(epsilon=1, sensitivity=sensitivity, grid=Fraction(2) ** exponent).event
        far = int(sensitivity) // 2
        a, b = (np.array([max(-(2**63), min(2**63 - 1, number))]) for number in (-far, far))
        apart = np.asarray(to_steps(b, event.grid)) - np.asarray(to_steps(a, event.grid))
        assert int(apart[0]) <= event.sensitivity == 1


# ---------------------------------------------------------------------------------------------------- what is accepted


def test_a_number_is_taken_exactly() -> None:
    cases: list[tuple[Any, Any]] = [
        (3, 3),
        (True, 1),
        (np.True_, 1),
        (10**400, 10**400),
        (np.int8(-3), -3),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (0.1, 0.1),
        (-0.0, 0.0),
        (np.float16(0.5), 0.5),
        (np.float32(0.1), float(np.float32(0.1))),
        (Fraction(1, 3), Fraction(1, 3)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Decimal("1e400"), Fraction(10**400)),
        (Decimal("-1e-400"), Fraction(-1, 10**400)),
        (np.longdouble(2) ** 60 + np.longdouble(1) / 2, Fraction(2**61 + 1, 2)),
    ]
    for value, expected in cases:
        if isinstance(value, np.longdouble) and np.finfo(np.longdouble).nmant < 63:
            continue  # this machine's long double is a double
        number = as_number_or_array(value)
        assert number == expected
        assert type(number) in (int, float, Fraction)
        assert size_of(number) == 1


def test_a_decimal_is_never_written_out_at_any_length() -> None:
    for text in ("1e999999999", "-1e999999999", "1e-999999999", "1e2001", "9e2000", "1e2002"):
        number = as_number_or_array(Decimal(text))
        assert isinstance(number, Fraction)
        assert abs(number) <= 10**2001
        # Clipping keeps the order, and moves no two apart.
        assert (number > 0) == (text[0] != "-" and "e-" not in text)
        near = as_number_or_array(Decimal("9e2000"))
        assert isinstance(near, Fraction)
        assert as_number_or_array(Decimal("1e2001")) >= near


WRONG: list[Any] = [
    None,
    "987654321",
    b"987654321",
    "x",
    object(),
    1j,
    np.complex128(1j),
    {"987654321": 1},
    {987654321},
    frozenset({987654321}),
    float("nan"),
    float("inf"),
    -float("inf"),
    np.float32("nan"),
    np.longdouble("inf"),
    Decimal("nan"),
    Decimal("sNaN"),
    Decimal("-Infinity"),
    [],
    np.zeros((0, 3)),
    [987654321, None],
    [987654321, "987654321"],
    ["987654321"],
    [987654321, float("nan")],
    [[987654321], [1, 2]],
    [Fraction(987654321, 2)],
    [1j],
    np.array([987654321, np.inf]),
    np.array(["987654321"]),
    np.array([object()]),
    np.array([987654321 + 1j]),
    np.array(["2021-01-01"], dtype="datetime64[D]"),
    np.ma.masked_array([987654321, 2], mask=[False, True]),
    (number for number in [987654321]),
    [2**70, "987654321"],
    [2**70, float("inf")],
]


def test_what_cannot_be_released_is_refused_without_being_quoted() -> None:
    for value in WRONG:
        with pytest.raises(InputError) as caught:
            as_number_or_array(value)
        assert isinstance(caught.value, CelosiaError)
        assert isinstance(caught.value, ValueError)
        assert "98765" not in str(caught.value)
        assert caught.value.__cause__ is None


def test_an_error_does_not_tell_how_long_a_text_was() -> None:
    messages = set()
    for text in ("a", "a" * 50):
        with pytest.raises(InputError) as caught:
            as_number_or_array([text])
        messages.add(str(caught.value))
    assert len(messages) == 1


def test_a_list_of_integers_stays_one_whatever_their_size() -> None:
    cases: list[tuple[Any, Any]] = [
        ([2**63, -1], [MOST, -1]),
        ([2**64, 1], [MOST, 1]),
        ([-(10**400), 5], [-MOST, 5]),
        ([[2**63, -1], [7, True]], [[MOST, -1], [7, 1]]),
        ((np.uint64(2**63), -1), [MOST, -1]),
        ([np.uint64(5), np.int64(-1)], [5, -1]),
    ]
    for value, expected in cases:
        # NumPy makes floats of [2**63, -1] and objects of [2**64]: the type of the answer would tell the data.
        array = as_number_or_array(value)
        assert isinstance(array, np.ndarray)
        assert is_integral(array)
        assert np.asarray(to_steps(array, Fraction(1))).tolist() == expected


@given(st.integers(-(2**80), 2**80), st.integers(-3, 3))
def test_integers_among_reals_do_not_move_apart(number: int, gap: int) -> None:
    event: Any = Laplace(epsilon=1, sensitivity=3, dimension=2).release([0.0, 0.5]).event
    sides = [as_number_or_array([number + move, 0.5]) for move in (0, gap)]
    assert all(isinstance(side, np.ndarray) and side.dtype == np.float64 for side in sides)
    x, y = (np.asarray(to_steps(side, event.grid)) for side in sides)
    assert int(np.abs(x - y).sum()) <= event.sensitivity


def test_whole_and_real_values_are_told_apart_by_type() -> None:
    assert is_integral(3)
    assert is_integral(np.zeros(2, dtype=np.uint8))
    assert is_integral(np.zeros(2, dtype=np.bool_))
    assert not is_integral(3.0)
    assert not is_integral(Fraction(3))
    assert not is_integral(np.zeros(2, dtype=np.float16))
    assert size_of(np.zeros((2, 3))) == 6


# ------------------------------------------------------------------------------------------------------- there and back


@given(st.fractions(min_value="1e-300", max_value="1e300"))
def test_the_fine_step_is_the_largest_power_of_two_below(number: Fraction) -> None:
    step = fine_step(number)
    assert step <= number < 2 * step
    assert step.numerator & (step.numerator - 1) == 0
    assert step.denominator & (step.denominator - 1) == 0


def test_a_grid_is_a_power_of_two() -> None:
    cases: list[Any] = [1, 0.5, "1/8", Fraction(4), 2**62, "0.25"]
    for grid in cases:
        step = grid_step(grid)
        assert step is not None
        assert Fraction(grid) == step


def test_another_grid_is_refused() -> None:
    cases: list[Any] = [3, "0.1", 0.3, 0, -1, math.nan, math.inf, "x", True, 5e-324, 1e308, "1e-400"]
    for grid in cases:
        with pytest.raises(ParameterError, match="grid"):
            grid_step(grid)


def test_no_grid_is_no_grid() -> None:
    assert grid_step(None) is None


@given(st.fractions(), st.integers(-80, 80))
def test_a_number_is_rounded_to_the_nearest_step(number: Fraction, exponent: int) -> None:
    step = Fraction(2) ** exponent
    steps = to_steps(number, step)
    assert isinstance(steps, int)
    assert abs(steps * step - number) <= step / 2


def test_reals_of_every_width_round_alike() -> None:
    for dtype in ("float16", "float32", "float64", "longdouble"):
        values = np.array([0.25, -0.75, 1.5, 0.1, 1000.0, -0.0], dtype=dtype)
        expected = [round(Fraction(*value.as_integer_ratio()) * 4) for value in values]
        assert np.asarray(to_steps(values, Fraction(1, 4))).tolist() == expected


def test_beyond_the_doubles_and_below_them_nothing_warns() -> None:
    values = np.array([1.7e308, -1.7e308, 5e-324])
    with np.errstate(all="raise"):
        assert np.asarray(to_steps(values, Fraction(2) ** -1000)).tolist() == [MOST, -MOST, 0]
        assert np.asarray(to_steps(values, Fraction(2) ** 900)).tolist()[2] == 0


def test_a_sum_beyond_the_doubles_is_saturated() -> None:
    for sign in (1, -1):
        largest = sign * sys.float_info.max
        assert from_steps(sign * 10**400, Fraction(1)) == largest
        assert from_steps(sign * 2**40, Fraction(2) ** 1000) == largest
        assert from_steps(np.array([sign * 2**40]), Fraction(2) ** 1000).tolist() == [largest]
        released = add_to_array(np.array([sign * 1.7e308]), np.array([sign * 2**50]), Fraction(2) ** 980)
        assert released.tolist() == [largest]
        # Many steps are not yet a large number.
        assert from_steps(sign * 2**1040, Fraction(2) ** -1000) == sign * 2.0**40


@given(st.integers(-(2**53), 2**53), st.integers(-900, 900))
def test_steps_come_back_as_the_same_number(steps: int, exponent: int) -> None:
    step = Fraction(2) ** exponent
    assert Fraction(from_steps(steps, step)) == steps * step
    assert from_steps(np.array([steps]), step).tolist() == [from_steps(steps, step)]


@given(st.integers(-MOST, MOST), st.integers(-(2**63) + 2, 2**63 - 2))
def test_sums_are_saturated_without_wrapping(steps: int, noise: int) -> None:
    assert add_steps(np.array([steps]), np.array([noise])).tolist() == [clip(steps + noise)]


def test_no_integer_type_wraps_when_noise_is_added() -> None:
    cases: list[str] = [*INTEGER_TYPES, ">u8", ">i8"]
    for dtype in cases:
        limits = [int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)]
        values: NDArray[Any] = np.array(limits * 2, dtype=dtype)
        for noise in (-(2**63) + 2, -1, 0, 1, 2**63 - 2):
            released = add_to_array(values, np.full(4, noise), None)
            assert released.tolist() == [clip(clip(limit) + noise) for limit in limits * 2]


def test_noise_that_is_too_wide_is_told_of_epsilon_and_rho_and_not_of_a_scale() -> None:
    check_width(Fraction(2**500))
    with pytest.raises(ParameterError, match="larger epsilon or rho"):
        check_width(Fraction(2**500 + 1))
    for sensitivity in (1, 2**62):
        for epsilon in (1e-300, "1e-307"):
            with pytest.raises(ParameterError, match="use a larger epsilon"):
                Laplace(epsilon=epsilon, sensitivity=sensitivity)
        with pytest.raises(ParameterError, match="use a larger epsilon or rho"):
            Gaussian(rho="1e-307", sensitivity=sensitivity)
