"""How far several polynomials of one record can move together, over the whole box of records: never less than it is.

On a box, a polynomial is a convex combination of its *control points*, its coefficients in Bernstein's basis. So is a
vector of polynomials, with the same weights in every coordinate; and norms are convex. No record is further from 0 than
the furthest control point, no two records further apart than the two furthest. Where every variable occurs at most
once in a product, the control points are the values at the corners, and the bounds are exact. Cargo and Shisha 1966.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Places: TypeAlias = tuple[int, ...]
"""The columns of a record that are multiplied, in order; a square names its column twice."""

RecordPolynomial: TypeAlias = Mapping[Places, Fraction]
"""A polynomial of the columns of one record, each between 0 and 1."""

_MAX_POINTS = 1024  # control points of all coordinates together: a million pairs, in an instant
_MAX_NUMBERS = 2**22  # control points times products: beyond, every coordinate is bounded alone
_MAX_PAIRS = 2**30  # of control points, times coordinates: beyond, two are as far apart as both are from 0; a few
_MAX_BIG_INTEGER_PAIRS = 2**26  # seconds, of numbers beyond 64 bits too
_SAFE = 2**61


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How far a vector of polynomials can be from 0, and how far apart for two records.

    L1 norms and squared L2 norms.
    """

    l1: Fraction
    l2_squared: Fraction
    replace_l1: Fraction
    replace_l2_squared: Fraction

    def within(self, other: "Extent") -> "Extent":
        """Return the smaller of two bounds, coordinate by coordinate."""
        return Extent(
            l1=min(self.l1, other.l1),
            l2_squared=min(self.l2_squared, other.l2_squared),
            replace_l1=min(self.replace_l1, other.replace_l1),
            replace_l2_squared=min(self.replace_l2_squared, other.replace_l2_squared),
        )


def extent_of(polynomials: Sequence[RecordPolynomial]) -> Extent:
    """Return an upper bound of how far the values of polynomials reach, together, for records in [0, 1] everywhere."""
    separate = _separate(polynomials)
    points = _points(polynomials)
    bound = separate if points is None else separate.within(_joint(*points))
    doubled = Extent(  # two records are never further apart than both from 0
        l1=bound.l1,
        l2_squared=bound.l2_squared,
        replace_l1=2 * bound.l1,
        replace_l2_squared=4 * bound.l2_squared,
    )
    return bound.within(doubled)


def range_of(polynomial: RecordPolynomial) -> tuple[Fraction, Fraction]:
    """Return bounds of a polynomial's values on [0, 1] everywhere: exact where no column is squared."""
    low = sum((min(number, Fraction(0)) for places, number in polynomial.items() if places), Fraction(0))
    high = sum((max(number, Fraction(0)) for places, number in polynomial.items() if places), Fraction(0))
    constant = polynomial.get((), Fraction(0))
    points = _points([polynomial])
    if points is None:
        return low + constant, high + constant
    values, unit = points
    return (
        max(low + constant, Fraction(int(values.min()), unit)),
        min(high + constant, Fraction(int(values.max()), unit)),
    )


def _separate(polynomials: Sequence[RecordPolynomial]) -> Extent:
    """Bound every coordinate alone and add up, where there are too many control points."""
    ranges = [range_of(polynomial) for polynomial in polynomials]
    far = [max(-low, high, Fraction(0)) for low, high in ranges]
    wide = [high - low for low, high in ranges]
    return Extent(
        l1=sum(far, Fraction(0)),
        l2_squared=sum((size * size for size in far), Fraction(0)),
        replace_l1=sum(wide, Fraction(0)),
        replace_l2_squared=sum((size * size for size in wide), Fraction(0)),
    )


def _joint(points: NDArray[Any], unit: int) -> Extent:
    """The furthest control point, and the two furthest apart."""
    l1, l2 = int(np.abs(points).sum(axis=1).max()), int((points * points).sum(axis=1).max())
    replace_l1, replace_l2 = 2 * l1, 4 * l2
    if points.size * len(points) <= (_MAX_PAIRS if points.dtype == np.int64 else _MAX_BIG_INTEGER_PAIRS):
        replace_l1 = replace_l2 = 0
        for place, point in enumerate(points):
            apart = np.abs(points[place:] - point)
            replace_l1 = max(replace_l1, int(apart.sum(axis=1).max()))
            replace_l2 = max(replace_l2, int((apart * apart).sum(axis=1).max()))
    return Extent(
        l1=Fraction(l1, unit),
        l2_squared=Fraction(l2, unit**2),
        replace_l1=Fraction(replace_l1, unit),
        replace_l2_squared=Fraction(replace_l2, unit**2),
    )


def _points(polynomials: Sequence[RecordPolynomial]) -> tuple[NDArray[Any], int] | None:
    """Return control points, points by polynomials, as integers of a common unit; None if they are too many."""
    degrees = _degrees(polynomials)
    count, products = math.prod(degree + 1 for degree in degrees.values()), sum(map(len, polynomials))
    if count > _MAX_POINTS or count * products > _MAX_NUMBERS:
        return None
    unit = math.lcm(*(number.denominator for polynomial in polynomials for number in polynomial.values()))
    along = {places: _bernstein(places, degrees) for places in {(), *itertools.chain.from_iterable(polynomials)}}
    found = [
        sum((along[places] * int(number * unit) for places, number in polynomial.items()), start=along[()] * 0)
        for polynomial in polynomials
    ]
    points = np.stack(found, axis=-1)
    # Integers of any size, unless squares of differences certainly fit into 64 bits.
    if 4 * int(np.abs(points).max()) ** 2 * len(polynomials) < _SAFE:
        points = points.astype(np.int64)
    return np.unique(points, axis=0) if points.dtype == np.int64 else points, unit * _stretch(degrees)


def _degrees(polynomials: Sequence[RecordPolynomial]) -> dict[int, int]:
    """Return the highest power of every column that occurs."""
    degrees: dict[int, int] = {}
    for places in itertools.chain.from_iterable(polynomials):
        for column in places:
            degrees[column] = max(degrees.get(column, 0), places.count(column))
    return dict(sorted(degrees.items()))


def _bernstein(places: Places, degrees: Mapping[int, int]) -> NDArray[Any]:
    """Return the control points of a product of columns, times the stretch that makes them whole.

    The power e of a column whose degree is n has the control points C(i, e) / C(n, e), i from 0 to n.
    """
    found: NDArray[Any] = np.ones(1, dtype=object)
    for column, degree in degrees.items():
        power = places.count(column)
        whole = _binomials(degree) // math.comb(degree, power)
        along = np.array([math.comb(i, power) * whole for i in range(degree + 1)], dtype=object)
        found = np.multiply.outer(found, along).ravel()
    return found


def _binomials(degree: int) -> int:
    return math.lcm(*(math.comb(degree, power) for power in range(degree + 1)))


def _stretch(degrees: Mapping[int, int]) -> int:
    return math.prod(_binomials(degree) for degree in degrees.values())
