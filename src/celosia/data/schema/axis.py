"""The integer axis on which a numeric column is summed: steps of a grid between two public ends.

A value is an integer number of steps, ``value = step * grid``. Values are clipped to the bounds and rounded to the
nearest step *before* anything is summed, so sums are exact integers in any order, and what one row changes is known in
steps (Mironov 2012 and Casacuberta et al. 2022 show what sums of floats give away). ``k = step - lowest`` counts from
the lower end and is what every summary is made of. No axis has more than 2^30 steps: that bounds every sum.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from celosia.core.errors import ParameterError
from celosia.core.exact import Exact, exact, exact_integer, exact_positive, format_exact, safe_repr

MAX_STEPS: Final = 2**30
"""The number of steps of the finest axis: sums of four thousand million rows stay below 2^62."""

_MAX_STEP = 2**52  # steps beyond would not be exact doubles, nor half a step more
_MAX_BOUND = Fraction(
    1e30
)  # the double; bounds beyond, or grids below its inverse, leave no room for products in doubles
_MAX_GRID_TERM = 2**200  # of a grid's numerator and denominator: engines multiply by one and divide by the other


@dataclass(frozen=True, slots=True)
class Axis:
    """Whole steps from ``lowest`` to ``highest``, both included, each worth ``grid``.

    >>> age = Axis(0, 120, Fraction(1))
    >>> age.steps, age.low, age.high
    (120, Fraction(0, 1), Fraction(120, 1))
    """

    lowest: int
    highest: int
    grid: Fraction
    steps: int = field(init=False, compare=False)
    """Number of steps between the ends: ``k`` runs from 0 to this."""
    low: Fraction = field(init=False, compare=False)
    """Value of the lowest step."""
    high: Fraction = field(init=False, compare=False)
    """Value of the highest step."""

    def __post_init__(self) -> None:
        lowest = int(exact_integer(self.lowest, name="lowest", least=-_MAX_STEP))
        highest = int(exact_integer(self.highest, name="highest", least=-_MAX_STEP))
        if not 0 < highest - lowest <= MAX_STEPS or highest > _MAX_STEP:
            raise ParameterError("data.axis_out_of_range", lowest=lowest, highest=safe_repr(highest))
        grid = exact_positive(self.grid, name="grid")
        values = {"lowest": lowest, "highest": highest, "grid": grid, "steps": highest - lowest}
        for name, value in (values | {"low": lowest * grid, "high": highest * grid}).items():
            object.__setattr__(self, name, value)

    @property
    def is_integer(self) -> bool:
        """Whether every step is an integer.

        >>> Axis(0, 30, Fraction(4)).is_integer, Axis(0, 30, Fraction(1, 4)).is_integer
        (True, False)
        """
        return self.grid.denominator == 1

    def coarsen(self, most: int) -> "Axis":
        """Return the finest axis of at most ``most`` steps that covers this one; the grids differ by a power of two.

        ``most`` is at least 2: the coarsest axis around zero has two steps.

        >>> Axis(0, 1000, Fraction(1)).coarsen(256)
        Axis(0, 250, 4)
        """
        return _cover(self.lowest, self.highest, self.grid, exact_integer(most, name="most", least=2))

    def __repr__(self) -> str:
        return f"Axis({self.lowest}, {self.highest}, {format_exact(self.grid)})"


def integer_axis(low: int, high: int) -> Axis:
    """Return the axis of the integers between two, both included, in steps of one.

    If that would be more than 2^30 steps, or some beyond 2^52, a step is a power of two. One number alone still gets a
    step, so that something can be divided by the length.
    """
    return _cover(low, max(high, low + 1), Fraction(1), MAX_STEPS)


def axis_between(low: Exact, high: Exact, grid: Exact | None = None) -> Axis:
    """Return the axis between two bounds; by default ``grid`` is a power of two that gives at most 2^30 steps.

    Bounds that are not multiples of the grid are moved outwards to the next one.

    >>> axis_between(0, 300, "0.1")
    Axis(0, 3000, '0.1')
    >>> axis_between(0, 1).steps == 2**30
    True
    """
    first, last = exact(low, name="low"), exact(high, name="high")
    if not first < last:
        raise ParameterError("core.low_not_below_high", low=safe_repr(low), high=safe_repr(high))
    if max(abs(first), abs(last)) > _MAX_BOUND:
        raise ParameterError("data.bounds_too_large", low=safe_repr(low), high=safe_repr(high))
    step = _default_grid(first, last) if grid is None else exact_positive(grid, name="grid")
    if grid is not None:
        _check_grid(grid, step, first, last)
    elif step < 1 / _MAX_BOUND:
        raise ParameterError("data.bounds_too_close", low=safe_repr(low), high=safe_repr(high))
    return Axis(math.floor(first / step), math.ceil(last / step), step)


def _check_grid(given: Exact, step: Fraction, low: Fraction, high: Fraction) -> None:
    if step > high - low:
        raise ParameterError("data.grid_wider_than_bounds", value=safe_repr(given))
    if step < 1 / _MAX_BOUND or not _is_within_limits(low, high, step):
        raise ParameterError("data.grid_too_fine", value=safe_repr(given))
    if max(step.numerator, step.denominator) > _MAX_GRID_TERM:
        raise ParameterError("data.grid_has_many_digits", value=safe_repr(given))


def _default_grid(low: Fraction, high: Fraction) -> Fraction:
    """Return the finest power of two within the limits."""
    least = max((high - low) / MAX_STEPS, max(abs(low), abs(high)) / _MAX_STEP)
    step = Fraction(2) ** (least.numerator.bit_length() - least.denominator.bit_length() - 1)
    while not _is_within_limits(low, high, step):  # at most four times: this starts at least/4 or above
        step *= 2
    return step


def _is_within_limits(low: Fraction, high: Fraction, step: Fraction) -> bool:
    first, last = low / step, high / step
    return math.ceil(last) - math.floor(first) <= MAX_STEPS and max(abs(first), abs(last)) <= _MAX_STEP


def _cover(lowest: int, highest: int, grid: Fraction, most: int) -> Axis:
    first, last, factor = lowest, highest, 1
    while last - first > most or max(-first, last) > _MAX_STEP:
        factor *= 2
        first, last = lowest // factor, -(-highest // factor)
    return Axis(first, last, grid * factor)
