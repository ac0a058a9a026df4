"""A loss as data: a polynomial in the weights whose coefficients are polynomials of one record.

Records have features and a target between 0 and 1. Of a sum of such losses only the coefficients depend on the records,
one for each distinct product of weights; they are what the functional mechanism noises (Zhang, Zhang, Xiao, Yang and
Winslett 2012). How far one record moves them is bounded over the whole box of possible records, never over those that
are there: by formula for the two losses of this module, by control points for any other. ``proofs/functional.md``.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import CelosiaError, ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.learn.functional.control_points import Extent, Places, RecordPolynomial, extent_of
from celosia.learn.functional.polynomial import Polynomial, Powers, variables
from celosia.learn.functional.row_sensitivities import linear_row_sensitivity, logistic_row_sensitivity
from celosia.statistics.base.noise import RowSensitivity

Loss: TypeAlias = Callable[..., Any]
"""A function of the weights ``w``, the features ``x`` and the target ``y``: what one record adds to the objective."""

_HIGHEST_RECORD = 8  # factors of one product, and
_MAX_TERMS = 4096  # products of one coefficient: so few that doubles compute it without an error to speak of
_MAX_COEFFICIENT = Fraction(2) ** 500  # a coefficient, and the inverse of a unit: far from where doubles end
_TAYLOR = {1: Fraction(1, 2), 2: Fraction(1, 8), 4: Fraction(-1, 192), 6: Fraction(1, 2880)}
"""The Taylor coefficients of log(1 + exp(z)) at 0, but the first, which does not move the minimum."""


@dataclass(frozen=True, slots=True)
class Objective:
    """A polynomial of ``weights`` weights; ``terms`` holds, for each product of them, its coefficient for one record.

    A product of weights is the tuple of their places, so that ``(0, 1)`` is w0 w1; a product of a record's columns
    likewise, the target's place being the number of ``features``. What is noised is a coefficient divided by its
    ``unit``, its part of the noise. ``known`` is how far a record moves that, for the losses of
    this module; of any other objective it is computed, so it is never below the truth.

    >>> objective_of(lambda w, x, y: (y - w[0] * x[0]) ** 2, features=1).monomials
    ((0,), (0, 0))
    """

    features: int
    weights: int
    terms: tuple[tuple[Places, tuple[tuple[Places, Fraction], ...]], ...]
    units: tuple[Fraction, ...]
    known: Extent | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        _check_terms(self)

    @property
    def monomials(self) -> tuple[Places, ...]:
        """The distinct products of weights, each noised once; 1 is not one of them, for it moves no minimum.

        >>> linear_objective(2).monomials
        ((0,), (1,), (0, 0), (0, 1), (1, 1))
        """
        return tuple(monomial for monomial, _ in self.terms)

    @property
    def names(self) -> tuple[str, ...]:
        """The products of weights, as text.

        >>> linear_objective(1).names
        ('w0', 'w0 w0')
        """
        return tuple(" ".join(f"w{place}" for place in monomial) for monomial in self.monomials)

    @property
    def degree(self) -> int:
        """The largest number of weights that are multiplied.

        >>> logistic_objective(3, degree=4).degree
        4
        """
        return max((len(monomial) for monomial in self.monomials), default=0)

    @property
    def record_degree(self) -> int:
        """The largest number of a record's columns that are multiplied.

        >>> linear_objective(3).record_degree
        2
        """
        return max((len(places) for _, found in self.terms for places, _ in found), default=0)

    @property
    def public(self) -> tuple[bool, ...]:
        """Which coefficients are the same for every record: known once the number of records is.

        >>> linear_objective(1, fit_intercept=True).public
        (False, False, True, False, False)
        """
        return tuple(not any(places for places, _ in found) for _, found in self.terms)

    @property
    def extent(self) -> Extent:
        """Bounds on how far one record moves the noised numbers, and how far two records lie apart.

        >>> linear_objective(2).extent.replace_l1, logistic_objective(2).extent.replace_l1
        (Fraction(5, 1), Fraction(2, 1))
        """
        scaled: list[RecordPolynomial] = [
            {places: number / unit for places, number in found}
            for (_, found), unit in zip(self.terms, self.units, strict=True)
        ]
        return extent_of(scaled) if self.known is None else self.known

    def coefficients(self, X: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's
        """Return the coefficients of every record, records by monomials, for columns between 0 and 1.

        >>> linear_objective(1).coefficients(np.array([[0.5]]), np.array([1.0])).tolist()
        [[-1.0, 0.25]]
        """
        columns = [*np.asarray(X, dtype=np.float64).T, np.asarray(y, dtype=np.float64)]
        found = np.zeros((len(columns[-1]), len(self.terms)))
        for place, (_, terms) in enumerate(self.terms):
            for places, number in terms:
                found[:, place] += float(number) * math.prod((columns[column] for column in places), start=1.0)
        return found

    def value(self, coefficients: NDArray[Any], w: NDArray[Any]) -> float:
        """Return the polynomial with these coefficients at the weights ``w``.

        >>> linear_objective(1).value(np.array([-1.0, 0.25]), np.array([2.0]))
        -1.0
        """
        products = [math.prod(float(w[place]) for place in monomial) for monomial in self.monomials]
        return float(np.dot(coefficients, products))


def objective_of(
    loss: Loss, features: int, *, fit_intercept: bool = False, units: Sequence[Fraction] | None = None
) -> Objective:
    """Return a Python function of ``w``, ``x`` and ``y``, made of ``+ - * **`` and numbers, as an objective.

    With ``fit_intercept``, ``x[0]`` is 1 and ``w[0]`` its weight.
    """
    count = exact_integer(features, name="features")
    ones = (Polynomial.of({(): Fraction(1)}),) if fit_intercept else ()
    weights = variables("w", count + len(ones))
    written = _evaluate(loss, weights, (*ones, *variables("x", count)), variables("y", 1)[0])
    if not isinstance(written, Polynomial):
        raise ParameterError("learn.objective_not_a_polynomial", value=safe_repr(written))
    grouped: dict[Places, dict[Places, Fraction]] = {}
    for powers, number in written.terms:
        monomial, record = _split(powers, count)
        if monomial:  # what has no weight in it moves no minimum
            grouped.setdefault(monomial, {})[record] = number
    if not grouped:
        raise ParameterError("learn.objective_without_weights")
    terms = tuple(
        (monomial, tuple(grouped[monomial].items())) for monomial in sorted(grouped, key=lambda m: (len(m), m))
    )
    chosen = (Fraction(1),) * len(terms) if units is None else tuple(units)
    return Objective(features=count, weights=len(weights), terms=terms, units=chosen)


def _evaluate(loss: Loss, *arguments: object) -> object:
    """Return the value of a function of variables; it sees no records, so its errors may be shown."""
    try:
        return loss(*arguments)
    except CelosiaError:
        raise
    except Exception as error:
        raise ParameterError("learn.objective_function_failed", error_type=type(error).__name__, error=error) from error


def _check_terms(objective: Objective) -> None:
    """Raise unless this is a polynomial without duplicates whose sums fit doubles."""
    weights, columns = (
        exact_integer(objective.weights, name="weights"),
        exact_integer(objective.features, name="features") + 1,
    )
    _check_products([monomial for monomial, _ in objective.terms], weights, least=1)
    for _, found in objective.terms:
        _check_products([places for places, _ in found], columns, least=0)
        if len(found) > _MAX_TERMS or max(len(places) for places, _ in found) > _HIGHEST_RECORD:
            raise ParameterError("learn.coefficient_too_long", most=_MAX_TERMS, factors=_HIGHEST_RECORD)
    if not all(_is_between(number, Fraction(0)) for _, found in objective.terms for _, number in found):
        raise ParameterError("learn.coefficient_out_of_range")
    units = objective.units
    if len(units) != len(objective.terms) or not all(
        _is_between(unit, 1 / _MAX_COEFFICIENT) and unit > 0 for unit in units
    ):
        raise ParameterError("learn.units_out_of_range")


def _is_between(number: object, least: Fraction) -> bool:
    return isinstance(number, Fraction) and number != 0 and least <= abs(number) <= _MAX_COEFFICIENT


def _check_products(products: Sequence[Places], count: int, least: int) -> None:
    """Raise for duplicate products, or places of variables out of order."""
    inside = all(
        len(places) >= least and list(places) == sorted(places) and all(place in range(count) for place in places)
        for places in products
    )
    if not products or not inside or len(set(products)) < len(products):
        raise ParameterError("learn.malformed_terms", count=count)


def _split(powers: Powers, features: int) -> tuple[Places, Places]:
    """Return the weights and the columns of a product."""
    monomial = tuple(place for letter, place in powers if letter == "w")
    record = tuple(features if letter == "y" else place for letter, place in powers if letter != "w")
    return monomial, record


def linear_objective(features: int, *, fit_intercept: bool = False) -> Objective:
    """Return least squares, (y - w x)^2; the entries of X'X and X'y are noised, each once."""
    terms = objective_of(_squares, features, fit_intercept=fit_intercept)
    units = tuple(Fraction(1 if len(set(m)) < len(m) else 2) for m in terms.monomials)
    known = _extent(linear_row_sensitivity([1] * features, 1, 1 if fit_intercept else None), 1)
    return _with_known(Objective(terms.features, terms.weights, terms.terms, units), known)


def logistic_objective(features: int, *, degree: int = 2, fit_intercept: bool = False) -> Objective:
    """Return the logistic loss log(1 + exp(w x)) - y w x, by its Taylor polynomial at 0."""
    if degree not in _TAYLOR:
        raise ParameterError(
            "learn.unknown_logistic_degree", known=", ".join(map(str, _TAYLOR)), value=safe_repr(degree)
        )

    def taylor(w: Sequence[Polynomial], x: Sequence[Polynomial], y: Polynomial) -> Polynomial:
        z = _dot(w, x)
        found = -1 * y * z
        for power, number in _TAYLOR.items():
            if power <= degree:
                found = found + number * z**power
        return found

    found = objective_of(taylor, features, fit_intercept=fit_intercept)
    if degree != 2:
        return found
    known = _extent(logistic_row_sensitivity([1] * found.weights, 1), 8)
    return _with_known(found, known)


def _with_known(objective: Objective, extent: Extent) -> Objective:
    object.__setattr__(objective, "known", extent)  # of this very objective: a changed copy has none
    return objective


def _extent(row_sensitivity: RowSensitivity, unit: int) -> Extent:
    """Return a row sensitivity in units, as fractions."""
    return Extent(
        l1=Fraction(row_sensitivity.l1, unit),
        l2_squared=Fraction(row_sensitivity.l2_squared, unit**2),
        replace_l1=Fraction(row_sensitivity.replace_l1, unit),
        replace_l2_squared=Fraction(row_sensitivity.replace_l2_squared, unit**2),
    )


def _dot(w: Sequence[Polynomial], x: Sequence[Polynomial]) -> Polynomial:
    return sum((a * b for a, b in zip(w, x, strict=True)), start=Polynomial(()))


def _squares(w: Sequence[Polynomial], x: Sequence[Polynomial], y: Polynomial) -> Polynomial:
    return (y - _dot(w, x)) ** 2
