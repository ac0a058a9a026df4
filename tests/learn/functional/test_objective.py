from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from celosia.core import ParameterError
from celosia.learn.functional.control_points import extent_of
from celosia.learn.functional.objective import Objective, linear_objective, logistic_objective, objective_of

if TYPE_CHECKING:
    from collections.abc import Sequence

TENTHS = st.integers(0, 10).map(lambda value: Fraction(value, 10))


def noised(objective: Objective, record: Sequence[Fraction]) -> list[Fraction]:
    """What is noised of one record, features and then the target, in fractions."""
    return [
        sum((number * math.prod(record[place] for place in places) for places, number in found), Fraction(0)) / unit
        for (_, found), unit in zip(objective.terms, objective.units, strict=True)
    ]


OBJECTIVES = [
    linear_objective(2),
    linear_objective(2, fit_intercept=True),
    logistic_objective(2),
    logistic_objective(2, fit_intercept=True),
    logistic_objective(2, degree=1),
    logistic_objective(2, degree=4),
    objective_of(lambda w, x, y: (y - w[0] * x[0] * x[1]) ** 2 * (1 - x[1]) + w[1] ** 3 * x[0] / 3, features=2),
]


@pytest.mark.parametrize("objective", OBJECTIVES, ids=range(len(OBJECTIVES)))
@given(st.tuples(TENTHS, TENTHS, TENTHS), st.tuples(TENTHS, TENTHS, TENTHS))
@settings(max_examples=60, deadline=None)
def test_two_records_are_never_further_apart_than_is_said(
    objective: Objective, one: tuple[Fraction, ...], other: tuple[Fraction, ...]
) -> None:
    extent = objective.extent
    first, second = noised(objective, one), noised(objective, other)
    apart = [a - b for a, b in zip(first, second, strict=True)]
    assert sum(map(abs, first)) <= extent.l1
    assert sum(a * a for a in first) <= extent.l2_squared
    assert sum(map(abs, apart)) <= extent.replace_l1
    assert sum(a * a for a in apart) <= extent.replace_l2_squared


def test_formulas_are_reached_at_corners_and_never_above_control_points() -> None:
    for objective in OBJECTIVES[:4]:
        corners = [noised(objective, corner) for corner in itertools.product([Fraction(0), Fraction(1)], repeat=3)]
        assert objective.extent.l1 == max(sum(map(abs, corner)) for corner in corners)
        furthest = max(sum(abs(a - b) for a, b in zip(one, other, strict=True)) for one in corners for other in corners)
        assert objective.extent.replace_l1 == furthest
        general = extent_of(
            [
                {places: number / unit for places, number in found}
                for (_, found), unit in zip(objective.terms, objective.units, strict=True)
            ]
        )
        assert general.l1 >= objective.extent.l1
        assert general.replace_l1 >= objective.extent.replace_l1


def test_a_formula_below_the_truth_would_be_caught() -> None:
    objective, one = logistic_objective(2), Fraction(1)
    both = zip(noised(objective, (one, one, one)), noised(objective, (one, one, Fraction(0))), strict=True)
    furthest = sum((abs(a - b) for a, b in both), Fraction(0))
    assert furthest == objective.extent.replace_l1 == 2
    assert furthest > Fraction(9, 10) * objective.extent.replace_l1


def test_least_squares_is_least_squares() -> None:
    for ones in (False, True):
        rng = np.random.default_rng(1)
        x, y, w = rng.uniform(size=(30, 3)), rng.uniform(size=30), rng.normal(size=3 + ones)
        objective = linear_objective(3, fit_intercept=ones)
        z = np.column_stack([np.ones(30), x]) if ones else x
        total = objective.value(objective.coefficients(x, y).sum(axis=0), w)
        assert total + (y**2).sum() == pytest.approx(((y - z @ w) ** 2).sum())


def test_the_taylor_polynomial_is_near_the_logistic_loss() -> None:
    for degree, error in ((1, 0.2), (2, 0.006), (4, 0.0003), (6, 0.00002)):
        rng = np.random.default_rng(1)
        x, y = rng.uniform(size=(200, 2)), rng.integers(0, 2, size=200).astype(np.float64)
        w = np.array([0.7, -0.4])
        z = x @ w
        exact = (-np.log(expit(-z)) - y * z - np.log(2)).sum()
        objective = logistic_objective(2, degree=degree)
        assert abs(objective.value(objective.coefficients(x, y).sum(axis=0), w) - exact) / 200 < error


def test_each_monomial_is_there_once() -> None:
    objective = linear_objective(4)
    assert len(set(objective.monomials)) == len(objective.monomials) == 4 + 4 * 5 // 2
    assert all(tuple(sorted(monomial)) == monomial for monomial in objective.monomials)


def test_a_function_is_read_as_it_is_written() -> None:
    def loss(w: Any, x: Any, y: Any) -> Any:
        return (y - w[0] - w[1] * x[1]) ** 2

    objective = objective_of(loss, features=1, fit_intercept=True)
    assert objective.public == (False, False, True, False, False)
    assert objective.terms == linear_objective(1, fit_intercept=True).terms


def test_what_is_no_objective_is_refused() -> None:
    cases: list[tuple[Any, str]] = [
        (lambda *_: 3, "must return a polynomial"),
        (lambda _, x, y: y * x[0], "depend on the weights"),
        (lambda w, x, _: w[0] * x[0] ** 9, "products of 8"),
    ]
    for loss, said in cases:
        with pytest.raises(ParameterError, match=said):
            objective_of(loss, features=1)


def test_wrong_parameters() -> None:
    with pytest.raises(ParameterError, match="degree"):
        logistic_objective(2, degree=3)
    with pytest.raises(ParameterError, match="features"):
        linear_objective(0)


def test_nobody_can_say_that_a_record_moves_less_than_it_does() -> None:
    known = linear_objective(2)
    with pytest.raises(TypeError):
        Objective(2, 2, known.terms, known.units, known.extent)  # type: ignore[call-arg] # that is the point
    tenth = replace(known, units=tuple(unit / 10 for unit in known.units))
    assert tenth.extent.replace_l1 >= 10 * known.extent.replace_l1


ONE, HUGE = Fraction(1), Fraction(2) ** 501
X0: Any = (((0,), ONE),)


def test_terms_that_make_no_sense_are_refused() -> None:
    cases: list[tuple[Any, Any, str]] = [
        ((((0,), (((0,), ONE), ((0,), ONE))),), (ONE,), "each product once"),  # 2 x0, which would count once
        ((((0,), X0), ((0,), X0)), (ONE, ONE), "each product once"),
        ((((0,), (((2,), ONE),)),), (ONE,), "below 2"),
        ((((0,), (((-1,), ONE),)),), (ONE,), "below 2"),
        ((((1,), X0),), (ONE,), "below 1"),
        ((((0, 0), (((1, 0), ONE),)),), (ONE,), "in order"),
        ((((), X0),), (ONE,), "each product"),
        ((((0,), ()),), (ONE,), "each product"),
        ((), (), "each product"),
        ((((0,), (((0,), 1.5),)),), (ONE,), "fractions"),
        ((((0,), (((0,), Fraction(0)),)),), (ONE,), "fractions"),
        ((((0,), (((0,), HUGE),)),), (ONE,), "2.500"),
        ((((0,), X0),), (Fraction(0),), "units"),
        ((((0,), X0),), (-ONE,), "units"),
        ((((0,), X0),), (1 / HUGE,), "units"),
        ((((0,), X0),), (ONE, ONE), "units"),
    ]
    for terms, units, said in cases:
        with pytest.raises(ParameterError, match=said):
            Objective(1, 1, terms, units)


def test_functions_that_are_no_polynomials_say_so() -> None:
    cases: list[tuple[Any, str]] = [
        (lambda w, x, _: np.exp(w[0] * x[0]), "raised TypeError"),
        (lambda w, x, y: max(0, 1 - y * w[0] * x[0]), "raised TypeError"),
        (lambda w, x, y: w[0] ** 2 if y == 1 else w[0] * x[0], "cannot be compared with 1"),
        (lambda w, x, y: w[0] ** 2 if y else w[0] * x[0], "neither true nor false"),
        (lambda w, x, _: w[7] * x[0], "raised IndexError"),
        (lambda w, x: w[0] * x[0], "raised TypeError"),
        (lambda w, x, _: w[0] ** 2 / x[0], "divisor"),
        (lambda w, x, _: 1e200 * (1e200 * w[0] * x[0]), "2.500"),
    ]
    for loss, said in cases:
        with pytest.raises(ParameterError, match=said):
            objective_of(loss, features=1)
