"""Convex sets in which weights are kept, and the nearest point of each: balls, boxes, simplices, or your own.

A Euclidean projection onto a convex set never moves two points apart, which is what amplification by iteration needs of
it. The diameter of the set bounds how far two runs can ever be from each other, and its reach (the longest vector in
it) how steep a squared loss can be; both are rounded up. A set never depends on the data.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.enclosure import root_at_least
from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import Exact, exact, exact_positive, safe_repr
from celosia.learn.optimize.descent import project_onto, writing

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_SAFE = 1 + 1e-9  # far above the rounding of a length
_PROBES = 32  # axes, and points beside them, on which a set of the caller's own is tried out


class ConvexSet(ABC):
    """What every set can tell, for weights of a number of coordinates, and its projection.

    >>> isinstance(Ball(1), ConvexSet)
    True
    """

    __slots__ = ()

    @abstractmethod
    def diameter(self, dimension: int) -> Fraction:
        """Return how far two points of the set are apart at the most, rounded up."""

    @abstractmethod
    def reach(self, dimension: int) -> Fraction:
        """Return how long a vector of the set is at the most, rounded up."""

    @abstractmethod
    def shape(self, dimension: int) -> "NDArray[np.float64]":
        """Return the set as numbers for the compiled projection; refuse a dimension that does not fit."""

    @property
    def compiled_projection(self) -> Any:
        """The caller's own projection, compiled; None for the sets of this module."""
        return None

    def project(self, vector: "ArrayLike") -> "NDArray[np.float64]":
        """Return the point of the set that is nearest to a vector.

        >>> Ball(1).project([3, 4]).round(6).tolist()
        [0.6, 0.8]
        """
        point = np.array(vector, dtype=np.float64)
        if point.ndim != 1 or not point.size or not np.isfinite(point).all():
            raise InputError("learn.projection_needs_one_vector")
        (self.compiled_projection or project_onto)(point, self.shape(point.size))
        return point


@dataclass(frozen=True, slots=True, init=False)
class Ball(ConvexSet):
    """All vectors no longer than ``radius``.

    >>> Ball(2).project([0.5, 0.5]).tolist(), Ball(2).diameter(5)
    ([0.5, 0.5], Fraction(4, 1))
    """

    radius: Fraction

    def __init__(self, radius: Exact) -> None:
        object.__setattr__(self, "radius", exact_positive(radius, name="radius"))

    def diameter(self, dimension: int) -> Fraction:  # noqa: ARG002 - the same in all dimensions
        """Return twice the radius."""
        return 2 * self.radius

    def reach(self, dimension: int) -> Fraction:  # noqa: ARG002 - the same in all dimensions
        """Return the radius."""
        return self.radius

    def shape(self, dimension: int) -> "NDArray[np.float64]":  # noqa: ARG002 - the same in all dimensions
        """Return the ball as numbers."""
        return np.array([0.0, float(self.radius)])


@dataclass(frozen=True, slots=True, init=False)
class Box(ConvexSet):
    """All vectors between ``low`` and ``high``: two numbers for all coordinates, or two lists.

    >>> Box(0, 1).project([-3, 0.5, 7]).tolist()
    [0.0, 0.5, 1.0]
    """

    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]

    def __init__(self, low: "Exact | ArrayLike", high: "Exact | ArrayLike") -> None:
        lows, highs = _numbers(low, "low"), _numbers(high, "high")
        count = max(len(lows), len(highs))
        lows, highs = (side * count if len(side) == 1 else side for side in (lows, highs))
        if len(lows) != len(highs):
            raise ParameterError("learn.box_sides_differ_in_length", lows=len(lows), highs=len(highs))
        wrong = [place for place in range(count) if not lows[place] < highs[place]]
        if wrong:
            place = wrong[0]
            raise ParameterError(
                "learn.low_not_below_high", low=safe_repr(float(lows[place])), high=safe_repr(float(highs[place]))
            )
        object.__setattr__(self, "low", lows)
        object.__setattr__(self, "high", highs)

    def diameter(self, dimension: int) -> Fraction:
        """Return the length of the diagonal."""
        low, high = self._sides(dimension)
        return root_at_least(sum(((b - a) ** 2 for a, b in zip(low, high, strict=True)), Fraction(0)))

    def reach(self, dimension: int) -> Fraction:
        """Return how far the farthest corner is from 0."""
        low, high = self._sides(dimension)
        return root_at_least(sum((max(a * a, b * b) for a, b in zip(low, high, strict=True)), Fraction(0)))

    def shape(self, dimension: int) -> "NDArray[np.float64]":
        """Return the box as numbers."""
        low, high = self._sides(dimension)
        return np.array([1.0, *map(float, low), *map(float, high)])

    def _sides(self, dimension: int) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        if len(self.low) == 1:
            return self.low * dimension, self.high * dimension
        if len(self.low) != dimension:
            raise ParameterError("learn.box_dimension_mismatch", sides=len(self.low), weights=dimension)
        return self.low, self.high


@dataclass(frozen=True, slots=True, init=False)
class Simplex(ConvexSet):
    """All vectors of numbers of 0 or more that sum to ``size``.

    >>> Simplex().project([0.8, 0.8]).round(6).tolist()
    [0.5, 0.5]
    """

    size: Fraction

    def __init__(self, size: Exact = 1) -> None:
        object.__setattr__(self, "size", exact_positive(size, name="size"))

    def diameter(self, dimension: int) -> Fraction:  # noqa: ARG002 - for one coordinate it is no more
        """Return how far two corners are apart."""
        return root_at_least(2 * self.size**2)

    def reach(self, dimension: int) -> Fraction:  # noqa: ARG002 - the same in all dimensions
        """Return the length of a corner."""
        return self.size

    def shape(self, dimension: int) -> "NDArray[np.float64]":  # noqa: ARG002 - the same in all dimensions
        """Return the simplex as numbers."""
        return np.array([2.0, float(self.size)])


@dataclass(frozen=True, slots=True, init=False)
class OwnSet(ConvexSet):
    """A set of your own: a function from a vector to the nearest point of a bounded convex set, and its diameter.

    The function is compiled with Numba. That it is a Euclidean projection onto a convex set is for you to know; a few
    points are tried, and what contradicts the claim is refused. It sees weights that must stay secret: it must only
    compute, and neither print nor keep anything.
    """

    function: Callable[..., Any]
    length: Fraction

    def __init__(self, function: Callable[..., Any], *, diameter: Exact) -> None:
        if not callable(function):
            raise ParameterError("learn.projection_not_callable", function=safe_repr(function))
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "length", exact_positive(diameter, name="diameter"))

    @property
    def compiled_projection(self) -> Any:
        """The function, compiled, writing into its argument."""
        return writing(self.function)

    def diameter(self, dimension: int) -> Fraction:  # noqa: ARG002 - as it was declared
        """Return the declared number."""
        return self.length

    def reach(self, dimension: int) -> Fraction:
        """Return the length of the point nearest to 0, and the diameter."""
        return Fraction(_tried_out(self, dimension) * _SAFE) + self.length

    def shape(self, dimension: int) -> "NDArray[np.float64]":
        """Return nothing, after the function was tried out on public points."""
        _tried_out(self, dimension)
        return np.zeros(1)


@lru_cache(maxsize=256)  # a search for the noise uses the same set repeatedly
def _tried_out(own: OwnSet, dimension: int) -> float:
    """Return the length of the point nearest to 0; refuse a function that is no projection onto such a set."""
    length = float(own.length) * _SAFE
    points = _probes(dimension, 2 * length, 4 * length + 4)
    found = _project(own, points)
    widest = max(float(np.linalg.norm(found - point, axis=1).max()) for point in found)
    if widest > length:
        raise ParameterError("learn.diameter_too_small", least=widest, value=float(own.length))
    # p is the nearest point to x if and only if x - p leans away from every other point of the set.
    leaning = (points - found) @ found.T
    leaning -= np.diag(leaning)[:, None].copy()
    if max(leaning.max() / (4 + 4 * length), np.abs(_project(own, found) - found).max()) > 1e-6 * (1 + length):
        raise ParameterError("learn.not_a_projection")
    return math.hypot(*found[0].tolist())


def _project(own: OwnSet, points: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Project points, without quoting errors of the caller's function."""
    found = points.copy()
    failed = False
    try:
        for point in found:
            own.compiled_projection(point, np.zeros(1))
    except Exception:  # noqa: BLE001 - whatever the caller's function raises, or Numba cannot compile
        failed = True
    if failed or not np.isfinite(found).all():
        raise ParameterError("learn.projection_not_compilable", length=points.shape[1])
    return found


def _probes(dimension: int, near: float, far: float) -> "NDArray[np.float64]":
    """Return 0, points far out on the axes, and points spread evenly over a cube around 0: always the same ones."""
    axes = np.eye(dimension)[:_PROBES] * far
    spread = np.outer(np.arange(1, _PROBES + 1), np.sqrt(np.arange(2, dimension + 2))) % 1.0 - 0.5
    return np.concatenate([np.zeros((1, dimension)), axes, -axes, spread * near])


def _numbers(side: "Exact | ArrayLike", name: str) -> tuple[Fraction, ...]:
    """Return the numbers of one side of a box, exactly."""
    items = [side] if isinstance(side, str) or np.ndim(side) == 0 else list(side)  # type: ignore[arg-type]
    if not items:
        raise ParameterError("learn.box_side_not_numbers", name=name, value=safe_repr(side))
    return tuple(exact(item, name=name) for item in items)  # type: ignore[arg-type]
