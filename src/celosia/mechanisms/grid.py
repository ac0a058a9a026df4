"""Values on a grid: all releases are integer numbers of steps.

Integers with an integer sensitivity stay on the grid of integers. A real number is rounded to the nearest multiple
of a power of two; dividing a double by that is exact, so rounding is the only thing that happens, and neighbours move
apart by at most one step a coordinate: d steps in L1, sqrt(d) in L2. The step is chosen so that this is below 0.1 % of
the sensitivity, and the event pays for it. Arrays hold at most 2^62 - 1 steps: values are clipped there, which moves no
two of them apart, and the noisy sum is saturated, never the noise.
"""

import math
import sys
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import Exact, exact_positive

if TYPE_CHECKING:
    from numpy.typing import NDArray

Value: TypeAlias = "int | float | Fraction | NDArray[Any]"

FINENESS = 2**10
"""Steps per sensitivity and coordinate: rounding costs less than 0.1 %."""

_MAX_STEPS = 2**62 - 1
_MAX_NOISE_WIDTH = 2**500  # steps of noise: a sampler cannot draw from more
_MAX_NORMAL_EXPONENT = 960  # powers of two that stay normal doubles, and whose products with steps do
_MAX_EXACT = 2**53  # integers up to here are doubles
_MAX_DECIMAL_DIGITS = 2000  # digits of a decimal: far beyond the doubles, and any grid
_NUMBA_THRESHOLD = 256  # numbers that NumPy adds in a few microseconds: Numba takes half a second to import
_INTEGER_KINDS, _REAL_KINDS = "biu", "f"


def check_width(scale: Fraction) -> None:
    """Refuse noise that is wider than a sampler can draw."""
    if scale > _MAX_NOISE_WIDTH:
        raise ParameterError("mechanisms.noise_too_wide")


def as_number_or_array(value: object) -> Value:
    """Return a Python number or a NumPy array of numbers; raise ``InputError`` for anything else."""
    if isinstance(value, int):  # bool too: a count of one
        return int(value)
    if isinstance(value, Fraction):
        return value
    if isinstance(value, Decimal | float | np.floating):
        return _as_real(value)
    if isinstance(value, np.integer | np.bool_):
        return int(value)
    return _as_array(value)


_NOT_FINITE = "mechanisms.value_not_finite"


def _as_real(value: "Decimal | float | np.floating[Any]") -> float | Fraction:
    """Return a real number exactly: as a fraction where a double would round it."""
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if not (value.is_finite() if isinstance(value, Decimal) else np.isfinite(value)):
        raise InputError(_NOT_FINITE)
    if isinstance(value, Decimal):
        return _as_fraction(value)
    return Fraction(*value.as_integer_ratio())


def _as_fraction(value: Decimal) -> Fraction:
    if value == 0 or abs(value.adjusted()) <= _MAX_DECIMAL_DIGITS:
        return Fraction(value)
    # Its digits could fill the memory, so it is clipped or becomes 0, which is equal on every grid.
    return Fraction(0) if value.adjusted() < 0 else Fraction(math.copysign(1, value)) * 10 ** (_MAX_DECIMAL_DIGITS + 1)


def _as_array(value: object) -> "NDArray[Any]":
    plain = type(value) is np.ndarray  # then numpy.ma need not be imported
    if isinstance(value, str | bytes | dict | set | frozenset) or (not plain and np.ma.isMaskedArray(value)):
        raise InputError("mechanisms.value_not_numeric", type=type(value).__name__)
    try:
        array = np.asarray(value)
        if isinstance(value, list | tuple) and array.dtype.kind in "Of" and array.size:
            array = _with_wide_integers(value, array)
    except (ValueError, TypeError, OverflowError):
        raise InputError(
            "mechanisms.unreadable_value", type=type(value).__name__
        ) from None  # NumPy's message shows the shape
    if array.dtype.kind not in _INTEGER_KINDS + _REAL_KINDS:
        kind = array.dtype.type.__name__.removesuffix("_")  # without the length of a text
        raise InputError("mechanisms.unsupported_value_kind", type=type(value).__name__, kind=kind)
    if array.size == 0:
        raise InputError("mechanisms.empty_array")
    if array.dtype.kind in _REAL_KINDS and not np.isfinite(array).all():
        raise InputError(_NOT_FINITE)
    return array


def _with_wide_integers(value: Sequence[object], array: "NDArray[Any]") -> "NDArray[Any]":
    """Read again a list in which NumPy found floats or objects: perhaps only because some integers are beyond 64 bits.

    The result must depend on the types of the items, never on their size: integers alone stay integers; among floats
    they are clipped where a double would round them.
    """
    items = np.asarray(value, dtype=object)
    if all(isinstance(item, int | np.integer | np.bool_) for item in items.flat):
        clipped = [max(-_MAX_STEPS, min(_MAX_STEPS, int(item))) for item in items.flat]
        return np.array(clipped, dtype=np.int64).reshape(items.shape)
    if array.dtype.kind == "f" and not (np.abs(array) >= _MAX_EXACT).any():
        return array
    if not all(isinstance(item, int | float | np.integer | np.floating | np.bool_) for item in items.flat):
        return array
    narrow = [max(-_MAX_EXACT, min(_MAX_EXACT, int(i))) if isinstance(i, int | np.integer) else i for i in items.flat]
    return np.array(narrow).reshape(items.shape)


def is_integral(value: Value) -> bool:
    """Return whether a value is an integer or an array of an integer type."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in _INTEGER_KINDS
    return isinstance(value, int)


def size_of(value: Value) -> int:
    """Return the number of coordinates."""
    return value.size if isinstance(value, np.ndarray) else 1


def grid_step(grid: Exact | None) -> Fraction | None:
    """Return a grid given by the caller, which must be a power of two."""
    if grid is None:
        return None
    step = exact_positive(grid, name="grid")
    if step.numerator & (step.numerator - 1) or step.denominator & (step.denominator - 1):
        raise ParameterError("mechanisms.grid_not_a_power", grid=repr(grid))
    return step


def fine_step(sensitivity: Fraction) -> Fraction:
    """Return the largest power of two that is at most ``sensitivity``."""
    exponent = sensitivity.numerator.bit_length() - sensitivity.denominator.bit_length()
    step = Fraction(2) ** exponent
    return step if step <= sensitivity else step / 2


def to_steps(value: Value, step: Fraction) -> "int | NDArray[np.int64]":
    """Round a value to the grid and return it in steps; a number has any size, an array is clipped at 2^62 - 1."""
    exponent = _exponent(step)
    if isinstance(value, np.ndarray):
        return _integers_to_steps(value, exponent) if is_integral(value) else _reals_to_steps(value, exponent)
    if isinstance(value, int) and exponent == 0:
        return value
    if isinstance(value, float):
        try:
            return round(math.ldexp(value, -exponent))  # exact, as for arrays
        except OverflowError:  # a number has any size
            pass
    return round(Fraction(value) / step)


def _exponent(step: Fraction) -> int:
    return step.numerator.bit_length() - step.denominator.bit_length()


def _integers_to_steps(value: "NDArray[Any]", exponent: int) -> "NDArray[np.int64]":
    numbers = _clipped(value)
    if exponent > 0:  # halves round up; adding first cannot overflow a clipped number
        half = np.int64(1) << np.int64(min(exponent, 62) - 1)
        return (numbers + half) >> np.int64(exponent) if exponent <= 62 else np.zeros_like(numbers)
    fitting = _MAX_STEPS >> min(-exponent, 62)
    shifted: NDArray[np.int64] = np.clip(numbers, -fitting, fitting) << np.int64(min(-exponent, 62))
    return np.where(np.abs(numbers) <= fitting, shifted, np.sign(numbers) * _MAX_STEPS)


def _clipped(value: "NDArray[Any]") -> "NDArray[np.int64]":
    """Return integers of any type, clipped at 2^62 - 1; an unsigned word must not become a negative number."""
    if value.dtype.kind == "u" and value.dtype.itemsize == 8:  # in any byte order
        value = np.minimum(value, np.uint64(_MAX_STEPS))
    numbers: NDArray[np.int64] = value.astype(np.int64)
    return np.clip(numbers, -_MAX_STEPS, _MAX_STEPS)


def _reals_to_steps(value: "NDArray[Any]", exponent: int) -> "NDArray[np.int64]":
    wide = value if value.dtype.itemsize >= 8 else value.astype(np.float64)
    with np.errstate(over="ignore", under="ignore"):  # beyond the doubles is beyond the clip, or nothing
        scaled = np.rint(np.ldexp(wide, -exponent))
    steps: NDArray[np.int64] = np.clip(scaled, -(2.0**62), 2.0**62).astype(np.int64)
    return np.clip(steps, -_MAX_STEPS, _MAX_STEPS)


def add_steps(steps: "NDArray[np.int64]", noise: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """Add noise and saturate the sum at 2^62 - 1 steps, without overflow on the way."""
    return np.clip(noise, -_MAX_STEPS - steps, _MAX_STEPS - steps) + steps


def from_steps(steps: "int | NDArray[np.int64]", step: Fraction) -> Any:
    """Return steps as real numbers."""
    exponent = _exponent(step)
    largest = sys.float_info.max
    if isinstance(steps, np.ndarray):
        with np.errstate(over="ignore", under="ignore"):
            return np.clip(np.ldexp(steps.astype(np.float64), exponent), -largest, largest)
    try:
        return math.ldexp(steps, exponent)
    except OverflowError:  # noise is unbounded, doubles are not: saturate the sum, if it is not only the steps
        size = abs(steps) * step
        return (float(size) if size <= Fraction(largest) else largest) * (1 if steps > 0 else -1)


def add_to_array(value: "NDArray[Any]", noise: "NDArray[np.int64]", step: Fraction | None) -> "NDArray[Any]":
    """Return an array with flat noise of whole steps: integers if ``step`` is None, else reals on that grid."""
    few = value.size <= _NUMBA_THRESHOLD
    if step is None and few:
        return add_steps(_clipped(value), noise.reshape(value.shape))
    if step is None:
        from celosia.mechanisms import kernels

        kernels.add_to_integers(np.ascontiguousarray(_clipped(value)).reshape(-1), noise)
        return noise.reshape(value.shape)
    exponent = _exponent(step)
    if few or is_integral(value) or value.dtype.itemsize > 8 or abs(exponent) > _MAX_NORMAL_EXPONENT:
        # Not exact as a product of doubles, or not worth Numba's import: the longer way through whole arrays.
        return np.asarray(from_steps(add_steps(np.asarray(to_steps(value, step)), noise.reshape(value.shape)), step))
    from celosia.mechanisms import kernels

    out = np.empty(value.size)
    flat = np.ascontiguousarray(value, dtype=np.float64).reshape(-1)
    kernels.add_to_reals(flat, noise, math.ldexp(1.0, exponent), math.ldexp(1.0, -exponent), out)
    return out.reshape(value.shape)
