"""The compiled pass must do what the plain functions of the grid do, bit by bit."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from celosia.mechanisms import grid
from celosia.mechanisms.grid import add_steps, add_to_array, from_steps, to_steps
from celosia.mechanisms.kernels import add_to_integers, add_to_reals

MOST = 2**62 - 1
EXTREME = [0, 1, -1, 2**62 - 2, 2**62 - 1, 2**62, 2**63 - 2, -(2**62), -(2**63) + 2]
words = st.one_of(st.integers(-(2**63), 2**63 - 1), st.sampled_from([*EXTREME, 2**63 - 1, -(2**63)]))
noises = st.one_of(st.integers(-(2**63) + 2, 2**63 - 2), st.sampled_from(EXTREME))
reals = st.floats(allow_nan=False, allow_infinity=False)


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave every array to the compiled pass, however small it is."""
    monkeypatch.setattr(grid, "_NUMBA_THRESHOLD", 0)


def clipped(number: int) -> int:
    return max(-MOST, min(MOST, number))


@given(hnp.arrays(np.int64, 5, elements=words), hnp.arrays(np.int64, 5, elements=noises))
def test_integers_as_in_exact_arithmetic(values: NDArray[Any], noise: NDArray[Any]) -> None:
    expected = [clipped(clipped(value) + added) for value, added in zip(values.tolist(), noise.tolist(), strict=True)]
    assert add_steps(np.asarray(to_steps(values, Fraction(1))), noise).tolist() == expected
    add_to_integers(values, noise)
    assert noise.tolist() == expected


@given(hnp.arrays(np.float64, 5, elements=reals), hnp.arrays(np.int64, 5, elements=noises), st.integers(-1000, 960))
def test_reals_as_in_exact_arithmetic(values: NDArray[Any], noise: NDArray[Any], exponent: int) -> None:
    step = Fraction(2) ** exponent
    exact = [
        clipped(clipped(round(Fraction(value) / step)) + added)
        for value, added in zip(values.tolist(), noise.tolist(), strict=True)
    ]
    expected = [math.ldexp(float(steps), exponent) for steps in exact]
    assert from_steps(add_steps(np.asarray(to_steps(values, step)), noise), step).tolist() == expected
    out = np.empty(5)
    add_to_reals(values, noise, math.ldexp(1.0, exponent), math.ldexp(1.0, -exponent), out)
    assert out.tolist() == expected
    assert add_to_array(values, noise, step).tolist() == expected


@given(hnp.arrays(np.float64, 3, elements=reals))
def test_reals_on_a_grid_below_normal_doubles(values: NDArray[Any]) -> None:
    step = Fraction(2) ** -1040
    noise = np.array([1, 0, -1])
    exact = [
        clipped(clipped(round(Fraction(value) / step)) + added)
        for value, added in zip(values.tolist(), noise.tolist(), strict=True)
    ]
    assert add_to_array(values, noise, step).tolist() == [math.ldexp(float(steps), -1040) for steps in exact]


def test_every_integer_type_keeps_its_values() -> None:
    for dtype in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"):
        limits = [0, 1] if dtype == "bool" else [int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)]
        values = np.array([limits, limits], dtype=dtype)
        released = add_to_array(values, np.array([1, -1, 1, -1]), None)
        expected = [clipped(limits[0]) + 1, clipped(limits[1]) - 1]
        assert released.tolist() == [expected, expected]
        assert released.dtype == np.int64


def test_views_and_layouts_are_read_in_order() -> None:
    values = np.asfortranarray(np.arange(6.0).reshape(2, 3))[:, ::-1]
    assert add_to_array(values, np.zeros(6, dtype=np.int64), Fraction(1, 4)).tolist() == values.tolist()


def test_few_numbers_are_added_alike_by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = np.array([*EXTREME])
    whole = np.array([*EXTREME])[::-1]
    real = np.array([0.3, -0.5, 1e300, -1e300, 2.0**70, 1e-300, 0.0, 7.5, -2.5])
    given = [(whole, None), (real, Fraction(1, 4)), (real, Fraction(2)), (whole.reshape(3, 3), None)]
    compiled = [add_to_array(value, noise.copy(), step) for value, step in given]
    monkeypatch.setattr(grid, "_NUMBA_THRESHOLD", 256)
    for (value, step), expected in zip(given, compiled, strict=True):
        found = add_to_array(value, noise.copy(), step)
        assert found.dtype == expected.dtype
        assert np.array_equal(found, expected)
