"""What Laplace and Gaussian share: types in and out, targets, records, error bars, and silent low-order bits."""

import copy
import dataclasses
import math
import pickle
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import celosia
from celosia.audit import low_order_bits
from celosia.core import Event, InputError, Mechanism, ParameterError, ReplaceOne, Tabulated
from celosia.core.adjacency import AddRemove
from celosia.mechanisms import Gaussian, Laplace
from celosia.mechanisms.added import AddedNoise, one_of
from celosia.noise import Seeded, System

MOST = 2**62 - 1
INTEGER_TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def laplace(**parameters: Any) -> Laplace:
    defaults: dict[str, Any] = {"epsilon": 1, "sensitivity": 1}
    return Laplace(**defaults | parameters)


def gaussian(**parameters: Any) -> Gaussian:
    defaults: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "sensitivity": 1}
    return Gaussian(**defaults | parameters)


BOTH: list[Callable[..., Any]] = [laplace, gaussian]


# --------------------------------------------------------------------------------------------------------- in and out


def test_an_integer_comes_out_as_an_int() -> None:
    value_cases: list[Any] = [108, True, 10**60, -(10**60), np.int8(5), np.uint64(2**64 - 1), np.True_, 2**63]
    for make, value in product(BOTH, value_cases):
        released = make().release(value, source=Seeded(1)).value
        assert type(released) is int
        assert abs(released - int(value)) < 200


def test_a_real_number_comes_out_as_a_float_on_the_grid() -> None:
    value_cases: list[Any] = [0.5, np.float16(0.5), np.float32(0.5), Fraction(1, 3), Decimal("0.1"), np.longdouble(2)]
    for make, value in product(BOTH, value_cases):
        release = make().release(value, source=Seeded(1))
        assert type(release.value) is float
        assert (Fraction(release.value) / release.event.grid).denominator == 1
        assert abs(release.value - float(value)) < 200


def test_integer_arrays_come_out_as_integers_of_the_same_shape() -> None:
    dtype_cases: list[str] = [*INTEGER_TYPES, "bool", ">u8", ">i4"]
    shape_cases: list[tuple[int, ...]] = [(), (3,), (2, 3), (1, 2, 2)]
    for make, dtype, shape in product(BOTH, dtype_cases, shape_cases):
        value = np.ones(shape, dtype=dtype)
        released = make().release(value, source=Seeded(1)).value
        assert np.shape(released) == shape
        assert np.asarray(released).dtype == np.int64
        assert np.abs(np.asarray(released)).max() < 200
        assert (value == 1).all()  # what came in is left alone


def test_real_arrays_come_out_as_doubles_of_the_same_shape() -> None:
    shape_cases: list[tuple[int, ...]] = [(), (3,), (2, 3)]
    for make, dtype, shape in product(BOTH, ("float16", "float32", "float64", "longdouble", ">f8"), shape_cases):
        value = np.full(shape, 0.5, dtype=dtype)
        release = make().release(value, source=Seeded(1))
        assert np.shape(release.value) == shape
        assert np.asarray(release.value).dtype == np.float64
        steps = np.asarray(release.value) / float(release.event.grid)
        assert (steps == np.rint(steps)).all()
        assert (value == 0.5).all()


def test_lists_of_integers_are_arrays_of_integers() -> None:
    value_cases: list[Any] = [[1, 2, 3], (4, 5), [[1, 2], [3, 4]], range(4), [True, False], [np.int8(1), 2]]
    for make, value in product(BOTH, value_cases):
        released = make().release(value).value
        assert released.shape == np.shape(value)
        assert released.dtype == np.int64


def test_a_fractional_sensitivity_makes_reals_of_integers() -> None:
    for make in BOTH:
        assert type(make(sensitivity="0.5").release(108).value) is float
        assert make(sensitivity="0.5").release([1, 2]).value.dtype == np.float64
        assert make(sensitivity=2).release([1, 2]).value.dtype == np.int64


def test_boundary_values_saturate_and_never_wrap() -> None:
    dtype_cases: list[str] = [*INTEGER_TYPES, ">u8"]
    for make, dtype in product(BOTH, dtype_cases):
        limits = [int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)]
        released = make().release(np.array(limits * 500, dtype=dtype), source=Seeded(3)).value
        assert np.abs(released).max() <= MOST
        for place, limit in enumerate(limits):
            true = max(-MOST, min(MOST, limit))
            assert all(abs(int(answer) - true) < 20_000 for answer in released[place::2])
        if limits[1] > MOST:  # half of the noise would have gone beyond
            assert 100 < (released[1::2] == MOST).sum() < 400


def test_large_reals_saturate_and_stay_finite() -> None:
    for make in BOTH:
        huge = sys.float_info.max
        for value in (huge, -huge, Fraction(10**400), Decimal("-1e400"), 10**400):
            released = make(sensitivity="0.5").release(value).value
            assert math.isfinite(released)
            assert (released > 0) == (value > 0)
        released = make(sensitivity="0.5").release(np.array([huge, -huge])).value
        grid = float(make(sensitivity="0.5").release(np.zeros(2)).event.grid)
        assert np.abs(released).tolist() == pytest.approx([2.0**62 * grid] * 2, rel=1e-9)


def test_what_is_no_number_is_refused() -> None:
    value_cases: list[Any] = [
        None,
        "108",
        b"108",
        math.nan,
        math.inf,
        Decimal("nan"),
        Decimal("sNaN"),
        1j,
        Decimal,
        [],
        [1, None],
        [[1], [1, 2]],
    ]
    for make, value in product(BOTH, value_cases):
        with pytest.raises(InputError) as caught:
            make().release(value)
        assert "108" not in str(caught.value)


def test_what_cannot_be_a_source_is_refused() -> None:
    for make in BOTH:
        for source in (7, "os", np.random.default_rng(0), object()):
            with pytest.raises(ParameterError, match="source"):
                make().release(1, source=source)


# ---------------------------------------------------------------------------------------------------------- parameters


def test_parameters_without_a_meaning_are_refused() -> None:
    value_cases: list[Any] = [math.nan, math.inf, -math.inf, 0, -1, 5e-324, 1e308, "1e-400", "x", True, None, 1j, []]
    for make, name, value in product(BOTH, ("epsilon", "sensitivity"), value_cases):
        with pytest.raises(ParameterError):
            make(**{name: value})


def test_a_dimension_is_a_whole_number() -> None:
    value_cases: list[Any] = [0, -1, 1.5, "2", True, math.nan]
    for make, value in product(BOTH, value_cases):
        with pytest.raises(ParameterError, match="dimension"):
            make(dimension=value)


def test_scope_is_checked() -> None:
    for make in BOTH:
        for wrong in ({"adjacency": "neighbour"}, {"unit": ""}, {"unit": 3}, {"grid": 3}):
            with pytest.raises(ParameterError):
                make(**wrong)
        mechanism = make(adjacency=ReplaceOne, unit="person")
        assert (mechanism.guarantee.adjacency, mechanism.guarantee.unit) == (ReplaceOne, "person")
        assert (mechanism.event.adjacency, mechanism.event.unit) == (ReplaceOne, "person")
        assert make().guarantee.adjacency is AddRemove


def test_exactly_one_target() -> None:
    one_of(a=1, b=None)
    for wrong in ({"a": None, "b": None}, {"a": 1, "b": 2}, {"a": 0, "b": 0}):
        with pytest.raises(ParameterError, match="exactly one of a and b"):
            one_of(**wrong)


MECHANISMS: list[Any] = [
    Laplace(epsilon=1, sensitivity=1),
    Laplace(epsilon="0.1", sensitivity="1/3", grid="1/4096", dimension=3, adjacency=ReplaceOne, unit="person"),
    Laplace(scale=7, sensitivity=2),
    Gaussian(epsilon=1, delta="1e-6", sensitivity=1),
    Gaussian(rho="0.1", sensitivity_squared=2, dimension=5),
    Gaussian(sigma=3, sensitivity="0.5", grid=0.25),
    Gaussian(epsilon="0.5", delta="1e-5", sensitivity=1, calibration="classical", unit="household"),
]


def test_a_mechanism_is_a_frozen_value() -> None:
    for mechanism in MECHANISMS:
        assert isinstance(mechanism, AddedNoise)
        assert isinstance(mechanism, Mechanism)
        assert isinstance(mechanism, Tabulated)
        names = {"Laplace": Laplace, "Gaussian": Gaussian, "ReplaceOne": ReplaceOne}
        again = eval(repr(mechanism), names)  # a mechanism's repr is the call that makes it
        assert again == mechanism
        assert hash(again) == hash(mechanism)
        assert repr(again) == repr(mechanism)
        assert again.event == mechanism.event
        assert again.guarantee == mechanism.guarantee
        with pytest.raises(dataclasses.FrozenInstanceError):
            again.unit = "other"
        with pytest.raises((AttributeError, TypeError)):
            again.true_value = 108
        others = [other for other in MECHANISMS if other is not mechanism]
        assert mechanism not in others


def test_a_copy_works_like_the_original() -> None:
    for mechanism in MECHANISMS:
        value = np.zeros(mechanism.dimension or 2)
        answer = mechanism.release(value, source=Seeded(5)).value
        for other in (copy.copy(mechanism), copy.deepcopy(mechanism), pickle.loads(pickle.dumps(mechanism))):
            assert other == mechanism
            assert other.guarantee == mechanism.guarantee
            assert (other.release(value, source=Seeded(5)).value == answer).all()


def test_the_event_says_what_was_run_and_survives_json() -> None:
    for mechanism in MECHANISMS:
        release = mechanism.release(np.zeros(mechanism.dimension or 1, dtype=np.int64))
        assert release.event == mechanism.event
        assert release.guarantee == mechanism.guarantee
        assert Event.from_json(release.event.to_json()) == release.event
        real = mechanism.release(np.zeros(mechanism.dimension or 4)).event
        assert Event.from_json(real.to_json()) == real
        assert real.dimension == (mechanism.dimension or 4)


def test_the_guarantee_does_not_depend_on_the_shape() -> None:
    for make in BOTH:
        mechanism = make()
        values = [1, 0.5, [1, 2], [0.5] * 100, np.zeros((3, 4)), np.zeros(5, dtype=np.int8), Fraction(1, 3)]
        releases = [mechanism.release(value) for value in values]
        assert {release.guarantee for release in releases} == {mechanism.guarantee}
        assert len({release.event for release in releases}) > 3  # but what was run does


def test_a_declared_dimension_is_held() -> None:
    for make in BOTH:
        mechanism = make(dimension=3)
        assert mechanism.event.dimension == 3
        mechanism.release([1, 2, 3])
        mechanism.release(np.zeros((3, 1)))
        for value in (1, 0.5, [1, 2], np.zeros((3, 3))):
            with pytest.raises(InputError, match="dimension=3"):
                mechanism.release(value)


@pytest.mark.parametrize("make", BOTH)
def test_ever_new_sizes_do_not_pile_up(make: Any) -> None:
    mechanism = make()
    for size in range(1, 200):
        mechanism.release(np.zeros(size, dtype=np.int8))
    assert len(mechanism._plans) <= 100
    assert mechanism.release([1, 2]).guarantee == mechanism.guarantee


# ------------------------------------------------------------------------------------------------------------- seeding


def test_a_seeded_release_repeats_and_says_so() -> None:
    for make in BOTH:
        mechanism = make()
        first, second = (mechanism.release(108, source=Seeded(7)) for _ in range(2))
        assert first == second
        assert first.seeded is True
        arrays = [mechanism.release(np.zeros(1000), source=Seeded(7)).value for _ in range(2)]
        assert (arrays[0] == arrays[1]).all()
        assert (arrays[0] != mechanism.release(np.zeros(1000), source=Seeded(8)).value).any()


def test_the_default_source_is_not_seeded() -> None:
    for make in BOTH:
        mechanism = make()
        assert mechanism.release(108).seeded is False
        assert mechanism.release(108, source=System()).seeded is False
        draws = {mechanism.release(0.0).value for _ in range(50)}
        assert len(draws) > 40


# Frozen: a change here is a change of every published, seeded experiment.
GOLDEN: list[tuple[Any, Any, Any]] = [
    (Laplace(epsilon=1, sensitivity=1), 108, 112),
    (Laplace(epsilon=1, sensitivity=1), 0.25, 5.0927734375),
    (Laplace(epsilon=1, sensitivity=1), [0, 1, 2, 3], [4, 4, 2, 5]),
    (Laplace(epsilon="0.1", sensitivity="0.3"), 108, 121.663818359375),
    (
        Laplace(epsilon="0.1", sensitivity="0.3"),
        [0.0, 0.125, 0.25, 0.375],
        [13.72845458984375, 10.90728759765625, -1.39691162109375, 5.98797607421875],
    ),
    (Gaussian(epsilon=1, delta="1e-6", sensitivity=1), 108, 118),
    (Gaussian(epsilon=1, delta="1e-6", sensitivity=1), 0.25, 11.6552734375),
    (Gaussian(epsilon=1, delta="1e-6", sensitivity=1), [0, 1, 2, 3], [10, 10, 0, 9]),
    (Gaussian(rho="0.02", sensitivity_squared=3), 108, 129),
    (Gaussian(rho="0.02", sensitivity_squared=3), [0, 1, 2, 3], [21, 19, -3, 15]),
]


def test_seed_seven_gives_these_answers_everywhere() -> None:
    for mechanism, value, expected in GOLDEN:
        released = mechanism.release(value, source=Seeded(7)).value
        assert (released.tolist() if isinstance(released, np.ndarray) else released) == expected


# --------------------------------------------------------------------------------------------------------- error bars


def test_a_level_is_between_zero_and_one() -> None:
    level_cases: list[float] = [0, 1, -0.5, 1.5, math.nan]
    for make, level in product(BOTH, level_cases):
        mechanism = make()
        with pytest.raises(ParameterError, match="level"):
            mechanism.error(level)
        with pytest.raises(ParameterError, match="level"):
            mechanism.release(1).confidence_interval(level)


def test_the_interval_is_the_value_and_the_margin() -> None:
    value_cases: list[Any] = [0, 108, 0.3, Fraction(1, 7), [5, 6], [0.1, 0.2]]
    for make, value in product(BOTH, value_cases):
        release = make().release(value, source=Seeded(2))
        low, high = release.confidence_interval(0.9)
        assert np.all(low < release.value)
        assert np.all(np.asarray(high) - release.value == np.asarray(release.value) - low)
        if type(value) is int:
            assert type(low) is type(high) is int
            assert high - release.value == make().error(0.9)


def test_the_interval_of_a_real_number_includes_its_rounding() -> None:
    for make, offset in product(BOTH, (-0.499, -0.25, 0.25, 0.499)):
        # The noise decides, up to and including its margin; the value lies anywhere within half a step of the grid.
        mechanism = make(grid=1, sensitivity="0.9")
        plan = mechanism._plan(integral=False, size=1)
        steps = plan.sampler.margin(0.9)
        for noise in (-steps, steps):
            released = celosia.Release(
                value=float(noise), event=plan.event, guarantee=mechanism.guarantee, margin=plan.margin
            )
            low, high = released.confidence_interval(0.9)
            assert low <= offset <= high
        released = celosia.Release(
            value=float(steps + 1), event=plan.event, guarantee=mechanism.guarantee, margin=plan.margin
        )
        assert released.confidence_interval(0.9)[0] > offset


# --------------------------------------------------------------------------------------------------------------- tables


def test_the_table_holds_all_the_probability() -> None:
    value_cases: list[Any] = [0, -7, 10**30, 0.3, Fraction(1, 3), 1e10]
    for make, value in product(BOTH, value_cases):
        mechanism = make()
        outputs = mechanism.outputs(value)
        assert np.exp(mechanism.log_masses(value, outputs)).sum() == pytest.approx(1, abs=1e-12)
        assert mechanism.release(value, source=Seeded(1)).value in outputs


def test_between_the_steps_there_is_no_probability() -> None:
    for make in BOTH:
        mechanism = make()
        grid = float(mechanism.release(0.5).event.grid)
        masses = mechanism.log_masses(0.5, [0.5, 0.5 + grid / 2, 0.5 + grid, 0.5 + grid / 1024])
        assert np.isfinite(masses[[0, 2]]).all()
        assert np.isneginf(masses[[1, 3]]).all()


def test_there_is_no_table_where_it_would_not_fit() -> None:
    for make in BOTH:
        assert make().outputs([1, 2]) is None
        assert make().outputs(1e300) is None  # doubles there are farther apart than steps
        assert Laplace(scale=10**9, sensitivity=1).outputs(1) is None
        assert Gaussian(sigma=10**9, sensitivity=1).outputs(1) is None
        with pytest.raises(InputError, match="one number"):
            make().log_masses([1, 2], [1])


# ------------------------------------------------------------------------------------------------ the low-order attack


@pytest.mark.parametrize(
    "mechanism",
    [Laplace(epsilon=1, sensitivity=1), Gaussian(epsilon=1, delta="1e-6", sensitivity=1)],
    ids=["laplace", "gaussian"],
)
def test_low_order_bits_tell_nothing(mechanism: Any, *, thorough: bool) -> None:
    """Mironov 2012: "|out| < 1/4 and not a multiple of 2^-53" is certain evidence against textbook Laplace."""
    source = Seeded(11)
    count = 30_000 if thorough else 8_000
    sides = [np.array([mechanism.release(value, source=source).value for _ in range(count)]) for value in (0.0, 1.0)]
    grid = float(mechanism.release(0.0).event.grid)
    for side in sides:
        assert (side / grid == np.rint(side / grid)).all()
        assert not ((np.abs(side) < 0.25) & (side * 2.0**53 != np.rint(side * 2.0**53))).any()
    # And an attacker who searches: on one half, tested on the other.
    draws = iter(sides)
    found = low_order_bits(lambda _value, _count, _source: next(draws), 0.0, 1.0, samples=count, delta=0.0)
    assert found.epsilon <= 1


def test_the_low_order_attack_works_on_the_textbooks_sampler() -> None:
    rng = np.random.default_rng(5)
    uniform = rng.random(100_000) - 0.5
    noise = -np.sign(uniform) * np.log1p(-2 * np.abs(uniform))
    event = [(np.abs(side) < 0.25) & (side * 2.0**53 != np.rint(side * 2.0**53)) for side in (noise, 1 + noise)]
    assert event[0].sum() > 100
    assert event[1].sum() == 0


def test_what_is_told_beforehand_for_a_like_value_is_what_comes() -> None:
    cases: list[tuple[Laplace | Gaussian, Any]] = [
        (Laplace(epsilon=8, sensitivity=1), 0.0),
        (Laplace(epsilon=8, sensitivity=1), np.zeros(5)),
        (Gaussian(epsilon=8, delta="1e-3", sensitivity=1), 0.0),
        (Gaussian(epsilon=1, delta="1e-6", sensitivity=1), np.zeros((2, 3), dtype=np.int8)),
    ]
    for mechanism, like in cases:
        release = mechanism.release(like)
        assert mechanism.event_for(like) == release.event
        low, high = release.confidence_interval(0.9)
        assert np.max(high - low) / 2 == pytest.approx(mechanism.error(0.9, like=like))
        assert mechanism.error(0.9, like=like) >= mechanism.error(0.9)
