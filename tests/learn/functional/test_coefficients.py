from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.core import AddRemove, LaplaceEvent, ParameterError, ReplaceOne
from celosia.learn.functional.coefficients import Coefficients
from celosia.learn.functional.objective import Objective, linear_objective, logistic_objective, objective_of
from celosia.statistics.base.target import Target

if TYPE_CHECKING:
    from celosia.core.adjacency import Adjacency

OBJECTIVES = [
    linear_objective(2, fit_intercept=True),
    logistic_objective(2),
    logistic_objective(2, degree=4),
    objective_of(lambda w, x, y: 1e9 * (y - w[0] * x[0] * x[1]) ** 2 + 0.1 * w[1] * x[0], features=2),
    objective_of(lambda w, x, y: (y - w[0] * x[0] * x[1]) ** 2 / 10**9, features=2),
]
values = st.one_of(st.floats(0, 1), st.floats(-1e300, 1e300))
record = st.tuples(values, values, values)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=range(len(OBJECTIVES)))
@pytest.mark.parametrize("adjacency", [AddRemove, ReplaceOne])
@given(st.lists(record, max_size=4), record, record)
@settings(max_examples=40, deadline=None)
def test_neighbours_are_no_further_apart_than_the_footprint(
    objective: Objective,
    adjacency: Adjacency,
    others: list[tuple[float, ...]],
    one: tuple[float, ...],
    other: tuple[float, ...],
) -> None:
    coefficients = Coefficients.of(objective, adjacency)
    row_sensitivity = coefficients.row_sensitivity

    def sums(rows: list[tuple[float, ...]]) -> list[int]:
        table = np.array(rows, dtype=np.float64).reshape(-1, 3)
        return [int(number) for number in coefficients.sums(table[:, :2], table[:, 2])]

    here = sums([*others, one])
    there = sums([*others, other] if adjacency is ReplaceOne else others)
    apart = [a - b for a, b in zip(here, there, strict=True)]
    l1, l2_squared = (
        (row_sensitivity.l1, row_sensitivity.l2_squared)
        if adjacency is AddRemove
        else (row_sensitivity.replace_l1, row_sensitivity.replace_l2_squared)
    )
    assert sum(map(abs, apart)) <= l1
    assert sum(number * number for number in apart) <= l2_squared


def test_rounding_is_less_than_a_step_of_the_exact_polynomial() -> None:
    for objective in OBJECTIVES:
        coefficients = Coefficients.of(objective, AddRemove)
        table = np.random.default_rng(4).uniform(size=(50, 3))
        steps = coefficients.steps(table[:, :2], table[:, 2])
        for row, found in zip(table, steps, strict=True):
            exact = [Fraction(value) for value in row]
            for (_, terms), unit, number in zip(objective.terms, objective.units, found, strict=True):
                value = Fraction(0)
                for places, factor in terms:
                    product = factor
                    for place in places:
                        product *= exact[place]
                    value += product
                assert abs(value / unit / coefficients.step - int(number)) < 1


def test_what_is_the_same_for_all_is_noised_only_where_their_number_is_private() -> None:
    objective = linear_objective(1, fit_intercept=True)
    assert len(Coefficients.of(objective, AddRemove).noised) == 5
    private = Coefficients.of(objective, ReplaceOne)
    assert len(private.noised) == 4
    assert private.polynomial(np.zeros(4), rows=17).tolist() == [0, 0, 17, 0, 0]


def test_the_noise_is_that_of_the_formula() -> None:
    cases: list[tuple[Adjacency, float]] = [(AddRemove, 1.5), (ReplaceOne, 2.0)]
    for adjacency, tight in cases:
        coefficients = Coefficients.of(logistic_objective(2), adjacency)
        event = coefficients.noise(Target.of(epsilon=1, adjacency=adjacency)).event
        assert isinstance(event, LaplaceEvent)
        assert tight < event.scale * coefficients.step < tight + 1e-6


def test_a_sum_of_more_than_62_bits_stays_exact() -> None:
    coefficients = Coefficients.of(linear_objective(1), AddRemove)
    total = coefficients.sums(np.ones((70_000, 1)), np.ones(70_000))
    assert [int(number) * coefficients.step for number in total] == [-70_000, 70_000]


def test_where_nothing_depends_on_the_records_there_is_nothing_to_learn() -> None:
    constant = objective_of(lambda w, _x, _y: w[0] ** 2, features=1)
    assert len(Coefficients.of(constant, AddRemove).noised) == 1  # the number of records
    with pytest.raises(ParameterError, match="nothing to learn"):
        Coefficients.of(constant, ReplaceOne)


def test_the_largest_numbers_that_are_taken_are_summed_without_overflow() -> None:
    large = 2.0**499
    objective = objective_of(lambda w, x, _: large * w[0] * (x[0] + x[1]) - large * w[1] * x[0], features=2)
    coefficients = Coefficients.of(objective, AddRemove)
    steps = coefficients.steps(np.ones((1, 2)), np.ones(1))[0]
    assert [int(number) * coefficients.step / Fraction(large) for number in steps] == [2, -1]
