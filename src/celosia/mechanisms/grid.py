"""Values on a grid: what is really released are whole numbers of steps.

Integers with an integer sensitivity stay on the grid of whole numbers. A real number is rounded to the nearest multiple
of a power of two; dividing a double by that is exact, so rounding is the only thing that happens, and neighbours move
apart by at most one step a coordinate: d steps in L1, sqrt(d) in L2. The step is chosen so that this is below 0.1 % of
the sensitivity, and the event pays for it. Arrays hold at most 2^62 - 1 steps: values are clipped there, which moves no
two of them apart, and the noisy sum is saturated, never the noise.
"""

import math
import sys
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import Exact, exact_positive

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "FINENESS",
    "add_steps",
    "add_to_array",
    "as_number_or_array",
    "fine_step",
    "from_steps",
    "grid_step",
    "is_integral",
    "size_of",
    "to_steps",
]

Value: TypeAlias = "int | float | Fraction | NDArray[Any]"

FINENESS = 2**10
"""Steps per sensitivity and coordinate: rounding costs less than 0.1 %."""

_MOST = 2**62 - 1
_NORMAL = 1000  # powers of two that stay normal doubles, and whose products with steps do
_INTEGER_KINDS, _REAL_KINDS = "biu", "f"


def as_number_or_array(value: object) -> Value:
    """Return a Python number or a NumPy array of numbers; refuse what cannot be released.

    >>> as_number_or_array(np.int8(3)), as_number_or_array([1, 2]).tolist()
    (3, [1, 2])
    >>> as_number_or_array(float("nan"))
    Traceback (most recent call last):
    ...
    celosia.core.errors.InputError: A value to release must be finite: impute or drop NaN and infinity before.
    """
    if isinstance(value, int):  # bool too: a count of one
        return int(value)
    if isinstance(value, Fraction):
        return value
    if isinstance(value, Decimal | float | np.floating):
        if not math.isfinite(value):
            raise InputError(_NOT_FINITE)
        return Fraction(value) if isinstance(value, Decimal) else float(value)
    if isinstance(value, np.integer | np.bool_):
        return int(value)
    return _as_array(value)


_NOT_FINITE = "A value to release must be finite: impute or drop NaN and infinity before."


def _as_array(value: object) -> "NDArray[Any]":
    if isinstance(value, str | bytes | dict | set) or np.ma.isMaskedArray(value):
        message = f"A value to release must be a number or an array of numbers, not {type(value).__name__}."
        raise InputError(message)
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError) as error:
        message = f"A {type(value).__name__} could not be read as an array of numbers of one shape."
        raise InputError(message) from error
    if array.dtype.kind not in _INTEGER_KINDS + _REAL_KINDS:
        message = f"A value to release must hold integers or floats, not {array.dtype}: convert it before."
        raise InputError(message)
    if array.size == 0:
        message = "An empty array holds nothing to release."
        raise InputError(message)
    if array.dtype.kind in _REAL_KINDS and not np.isfinite(array).all():
        raise InputError(_NOT_FINITE)
    return array


def is_integral(value: Value) -> bool:
    """Return whether a value is a whole number or an array of an integer type.

    >>> is_integral(3), is_integral(3.0), is_integral(np.zeros(2, dtype=np.uint8))
    (True, False, True)
    """
    if isinstance(value, np.ndarray):
        return value.dtype.kind in _INTEGER_KINDS
    return isinstance(value, int)


def size_of(value: Value) -> int:
    """Return the number of coordinates.

    >>> size_of(3), size_of(np.zeros((2, 3)))
    (1, 6)
    """
    return value.size if isinstance(value, np.ndarray) else 1


def grid_step(grid: Exact | None) -> Fraction | None:
    """Return a grid given by the caller, which must be a power of two.

    >>> grid_step("1/8"), grid_step(None)
    (Fraction(1, 8), None)
    """
    if grid is None:
        return None
    step = exact_positive(grid, name="grid")
    if step.numerator & (step.numerator - 1) or step.denominator & (step.denominator - 1):
        message = f"grid must be a power of two such as 1, 0.5 or 2**-10, not {grid!r}: only then is rounding exact."
        raise ParameterError(message)
    return step


def fine_step(sensitivity: Fraction) -> Fraction:
    """Return the largest power of two that is at most ``sensitivity``.

    >>> fine_step(Fraction(5)), fine_step(Fraction(1, 3))
    (Fraction(4, 1), Fraction(1, 4))
    """
    exponent = sensitivity.numerator.bit_length() - sensitivity.denominator.bit_length()
    step = Fraction(2) ** exponent
    return step if step <= sensitivity else step / 2


def to_steps(value: Value, step: Fraction) -> "int | NDArray[np.int64]":
    """Round a value to the grid and return it in steps; a number has any size, an array is clipped at 2^62 - 1.

    >>> to_steps(0.3, Fraction(1, 4)), to_steps(np.array([0.3, 1e30]), Fraction(1, 4)).tolist()
    (1, [1, 4611686018427387903])
    """
    exponent = _exponent(step)
    if isinstance(value, np.ndarray):
        return _integers_to_steps(value, exponent) if is_integral(value) else _reals_to_steps(value, exponent)
    if isinstance(value, int) and exponent == 0:
        return value
    return round(Fraction(value) / step)


def _exponent(step: Fraction) -> int:
    return step.numerator.bit_length() - step.denominator.bit_length()


def _integers_to_steps(value: "NDArray[Any]", exponent: int) -> "NDArray[np.int64]":
    most = np.uint64(_MOST)
    unsigned = value.dtype == np.uint64
    numbers: NDArray[np.int64] = np.minimum(value, most).astype(np.int64) if unsigned else value.astype(np.int64)
    if exponent > 0:  # halves round up; adding first cannot overflow a clipped number
        numbers = np.clip(numbers, -_MOST, _MOST)
        return (numbers + (np.int64(1) << np.int64(min(exponent, 62) - 1))) >> np.int64(min(exponent, 62))
    fitting = _MOST >> min(-exponent, 62)
    shifted: NDArray[np.int64] = np.clip(numbers, -fitting, fitting) << np.int64(min(-exponent, 62))
    return shifted


def _reals_to_steps(value: "NDArray[Any]", exponent: int) -> "NDArray[np.int64]":
    wide = value if value.dtype.itemsize >= 8 else value.astype(np.float64)
    with np.errstate(over="ignore"):  # beyond the largest double is beyond the clip
        scaled = np.rint(np.ldexp(wide, -exponent))
    steps: NDArray[np.int64] = np.clip(scaled, -(2.0**62), 2.0**62).astype(np.int64)
    return np.clip(steps, -_MOST, _MOST)


def add_steps(steps: "NDArray[np.int64]", noise: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """Add noise and saturate the sum at 2^62 - 1 steps, without overflow on the way.

    >>> add_steps(np.array([1, 2**62 - 1]), np.array([1, 2**62])).tolist()
    [2, 4611686018427387903]
    """
    return np.clip(noise, -_MOST - steps, _MOST - steps) + steps


def from_steps(steps: "int | NDArray[np.int64]", step: Fraction) -> Any:  # noqa: ANN401 - number or array
    """Return steps as real numbers.

    >>> from_steps(3, Fraction(1, 4)), from_steps(np.array([3]), Fraction(1, 4)).tolist()
    (0.75, [0.75])
    """
    exponent = _exponent(step)
    if isinstance(steps, np.ndarray):
        return np.ldexp(steps.astype(np.float64), exponent)
    try:
        return math.ldexp(steps, exponent)
    except OverflowError:  # noise is unbounded, doubles are not: saturate the sum
        return math.copysign(sys.float_info.max, steps)


def add_to_array(value: "NDArray[Any]", noise: "NDArray[np.int64]", step: Fraction | None) -> "NDArray[Any]":
    """Return an array with flat noise of whole steps: integers if ``step`` is None, else reals on that grid.

    >>> add_to_array(np.array([[1, 2]]), np.array([1, -1]), None).tolist()
    [[2, 1]]
    >>> add_to_array(np.array([0.3]), np.array([1]), Fraction(1, 4)).tolist()
    [0.5]
    """
    from celosia.mechanisms import kernels  # Numba loads only when arrays are released

    if step is None:
        if value.dtype == np.uint64:
            value = np.minimum(value, np.uint64(_MOST))
        kernels.add_to_integers(np.ascontiguousarray(value, dtype=np.int64).reshape(-1), noise)
        return noise.reshape(value.shape)
    exponent = _exponent(step)
    if is_integral(value) or value.dtype.itemsize > 8 or abs(exponent) > _NORMAL:
        # Not exact as a product of doubles: the longer way through whole arrays.
        return np.asarray(from_steps(add_steps(np.asarray(to_steps(value, step)), noise.reshape(value.shape)), step))
    out = np.empty(value.size)
    flat = np.ascontiguousarray(value, dtype=np.float64).reshape(-1)
    kernels.add_to_reals(flat, noise, math.ldexp(1.0, exponent), math.ldexp(1.0, -exponent), out)
    return out.reshape(value.shape)
