"""Polynomials agree with the features they were made from, and ask an engine for as few sums as there are."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from celosia.data.schema.axis import Axis
from celosia.query.execution.row_level import Polynomial
from celosia.statistics import CrossMoments, FirstMoments, HalfHalfMean, Measure, MomentsOfAll, SecondMoments, Total

AXIS = Axis(-3, 7, Fraction(1, 2))
MEASURES: list[tuple[Measure, int]] = [
    (Total(AXIS), 1),
    (FirstMoments(AXIS), 1),
    (SecondMoments(AXIS).refine_for_averages(), 1),
    (CrossMoments(AXIS, AXIS), 2),
    (CrossMoments(AXIS, AXIS, degree=1), 2),
    (HalfHalfMean(AXIS), 1),
    (MomentsOfAll(FirstMoments(AXIS)), 2),
]


def value_at(polynomial: Polynomial, point: tuple[int, ...]) -> int:
    total = 0
    for monomial, factor in polynomial.terms.items():
        product = factor
        for x, power in zip(point, monomial, strict=True):
            product *= x**power
        total += product
    return total


@given(st.sampled_from(MEASURES), st.integers(0, 10), st.integers(0, 10))
def test_they_are_the_features(case: tuple[Measure, int], x: int, y: int) -> None:
    measure, count = case
    point = (x, y)[:count]
    polynomials = [Polynomial.of(f, count) for f in measure.features(*Polynomial.variables(count))]
    assert [value_at(polynomial, point) for polynomial in polynomials] == list(measure.features(*point))


@given(st.integers(-9, 9), st.integers(-9, 9), st.integers(-9, 9), st.integers(-9, 9))
def test_arithmetic_is_that_of_numbers(a: int, b: int, x: int, y: int) -> None:
    u, v = Polynomial.variables(2)
    made = (a - u) * (v + b) - v * u * a + (-v) + b * u - 3
    assert value_at(made, (x, y)) == (a - x) * (y + b) - y * x * a - y + b * x - 3


def test_count_sum_and_mean_take_one_sum_and_one_count() -> None:
    (k,) = Polynomial.variables(1)
    needed = {monomial for feature in FirstMoments(AXIS).features(k) for monomial in feature.terms}
    assert needed == {(0,), (1,)}
