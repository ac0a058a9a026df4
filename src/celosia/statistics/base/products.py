"""Sums of products of columns, for least squares, principal components and normal classes.

A column's step ``k`` of ``R`` is centred, ``2k - R``, and stretched by an integer, so that every column reaches about
as far from 0, whatever its grid: then one noise fits all. Products of at most two columns are integers, and so are
their sums, in memory and in a database alike. The sensitivity of a set of sums depends on the set, so its user states
the row sensitivity; the one here holds for any set.
"""

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final

from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.data.schema.axis import Axis
from celosia.statistics.base.measure import Measure
from celosia.statistics.base.noise import RowSensitivity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from celosia.statistics.base.measure import Estimate
    from celosia.statistics.base.noise import Noise

REACH: Final = 2**16
"""About how far every centred column reaches from 0."""

Monomial = tuple[int, ...]
"""The places of the columns that are multiplied: none (a count), one or two."""


class SolvedSums(Measure):
    """Base of the sums that an estimator solves: they answer no quantity by themselves."""

    __slots__ = ()

    quantities: ClassVar[tuple[str, ...]] = ()
    """None: an estimator solves for its own parameters."""

    def answer(self, quantity: str, noisy: "NDArray[np.int64]", noise: "Noise") -> "Estimate":  # noqa: ARG002 - refuses
        """Refuse: there is no quantity to answer."""
        self._check(quantity)
        raise AssertionError  # _check has refused every quantity

    def spread(self, quantity: str, noise: "Noise", *, rows: float | None, level: float = 0.95) -> float | None:  # noqa: ARG002 - refuses
        """Refuse: there is no quantity to answer."""
        self._check(quantity)
        return None

    def _check(self, quantity: str) -> None:
        raise ParameterError("statistics.no_quantity_to_answer", type=type(self).__name__, quantity=safe_repr(quantity))


@dataclass(frozen=True, slots=True)
class Products(SolvedSums):
    """Sums of products of centred columns, one for every monomial: ``()`` counts, ``(0,)`` is a column, ``(0, 1)`` two.

    ``weights``, if given, multiply them: integers that share out the precision of the noise.

    >>> from fractions import Fraction
    >>> products = Products((Axis(0, 10, Fraction(1)),), ((), (0,), (0, 0)))
    >>> products.reaches, products.features(10)
    ((65530,), (1, 65530, 4294180900))
    >>> Products((Axis(0, 2**20, Fraction(1)),), ((0,),)).axes
    (Axis(0, 65536, 16),)
    """

    columns: tuple[Axis, ...]
    monomials: tuple[Monomial, ...]
    weights: tuple[int, ...] | None = None
    axes: tuple[Axis, ...] = field(init=False, compare=False, repr=False)
    """The axes of the columns, of at most 2^16 steps each."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "axes", tuple(axis.coarsen(REACH) for axis in self.columns))
        for monomial in self.monomials:
            if len(monomial) > 2 or not all(0 <= place < len(self.columns) for place in monomial):
                raise ParameterError(
                    "statistics.invalid_monomial", columns=len(self.columns), monomial=safe_repr(monomial)
                )
        if self.weights is not None:
            if len(self.weights) != len(self.monomials):
                raise ParameterError(
                    "statistics.wrong_number_of_weights", wanted=len(self.monomials), found=len(self.weights)
                )
            object.__setattr__(self, "weights", tuple(exact_integer(weight, name="weights") for weight in self.weights))

    @property
    def multipliers(self) -> tuple[int, ...]:
        """The factor that stretches each centred column.

        >>> from fractions import Fraction
        >>> Products((Axis(0, 10, Fraction(1)),), ((0,),)).multipliers
        (6553,)
        """
        return tuple(max(1, REACH // axis.steps) for axis in self.axes)

    @property
    def reaches(self) -> tuple[int, ...]:
        """The largest magnitude of each centred and stretched column."""
        return tuple(factor * axis.steps for factor, axis in zip(self.multipliers, self.axes, strict=True))

    @property
    def middles(self) -> tuple[float, ...]:
        """The value of 0 of each centred column, in the caller's units."""
        return tuple(float((axis.low + axis.high) / 2) for axis in self.axes)

    @property
    def halves(self) -> tuple[float, ...]:
        """Half the range of each column, in the caller's units."""
        return tuple(float((axis.high - axis.low) / 2) for axis in self.axes)

    @property
    def width(self) -> int:
        """One sum for every monomial."""
        return len(self.monomials)

    @property
    def largest(self) -> tuple[int, ...]:
        """The largest absolute value of each feature, weights included.

        >>> from fractions import Fraction
        >>> Products((Axis(0, 2**16, Fraction(1)),), ((), (0,), (0, 0)), (4, 1, 1)).largest
        (4, 65536, 4294967296)
        """
        reaches = self.reaches
        sizes = [math.prod(reaches[place] for place in monomial) for monomial in self.monomials]
        return tuple(size * weight for size, weight in zip(sizes, self._weights, strict=True))

    @property
    def reach(self) -> tuple[tuple[int, int], ...]:
        """The least and the largest of each feature."""
        return tuple(
            (0 if not monomial or _is_square(monomial) else -far, far)
            for monomial, far in zip(self.monomials, self.largest, strict=True)
        )

    @property
    def row_sensitivity(self) -> RowSensitivity:
        """The distances of a row from 0 and from another, for any set of monomials, so not always tight."""
        far = self.largest
        across = [0 if not m else (high - low) for m, (low, high) in zip(self.monomials, self.reach, strict=True)]
        # A row may also be left out by the schema (a null that is dropped), so a replaced one can come or go.
        wide = [max(a, b) for a, b in zip(across, far, strict=True)]
        return RowSensitivity(
            l1=sum(far),
            l2_squared=sum(f * f for f in far),
            replace_l1=sum(wide),
            replace_l2_squared=sum(w * w for w in wide),
        )

    def features(self, *k: Any) -> tuple[Any, ...]:
        """Return the products for a row at these steps.

        >>> from fractions import Fraction
        >>> Products((Axis(0, 2, Fraction(1)), Axis(0, 4, Fraction(1))), ((0, 1),)).features(2, 4)
        (4294967296,)
        """
        centred = [
            (step + step - axis.steps) * factor
            for step, axis, factor in zip(k, self.axes, self.multipliers, strict=True)
        ]
        return tuple(
            math.prod((centred[place] for place in monomial), start=weight)
            for monomial, weight in zip(self.monomials, self._weights, strict=True)
        )

    @property
    def _weights(self) -> tuple[int, ...]:
        return (1,) * len(self.monomials) if self.weights is None else self.weights


def _is_square(monomial: Monomial) -> bool:
    return len(monomial) == 2 and monomial[0] == monomial[1]


def moments_up_to(degree: int, columns: int) -> tuple[Monomial, ...]:
    """Return all monomials of at most this degree, by degree: the count, the columns, their products once each.

    >>> moments_up_to(2, 2)
    ((), (0,), (1,), (0, 0), (0, 1), (1, 1))
    """
    return tuple(
        monomial
        for power in range(degree + 1)
        for monomial in itertools.combinations_with_replacement(range(columns), power)
    )
