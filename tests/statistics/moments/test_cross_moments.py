"""Covariance and correlation: the answers of the exact sums are NumPy's, axes are coarse enough, intervals cover."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from celosia.core import ParameterError
from celosia.data.schema.axis import Axis
from celosia.statistics.base.noise import ContributionBounds, Noise
from celosia.statistics.moments.cross_moments import CrossMoments
from tests.statistics.coverage import laplace, summary

X, Y = Axis(-3, 5, Fraction(1, 2)), Axis(10, 17, Fraction(1))
ROWS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 7)), min_size=2, max_size=30)


@given(ROWS, st.integers(1, 2), st.sampled_from([1, 3]))
def test_exact_sums_give_the_answers_of_numpy_and_scipy(rows: list[tuple[int, int]], degree: int, parts: int) -> None:
    measure = CrossMoments(X, Y, degree, parts)
    k, l = (np.array(column) for column in zip(*rows, strict=True))  # noqa: E741 - steps of x and of y
    sums, noise = summary(measure, [k, l])[None, :], laplace(measure, 1)
    x, y = (k - 3) / 2, l + 10.0
    assert measure.answer("count", sums, noise).value.tolist() == [len(rows)]
    covariance = measure.answer("covariance", sums, noise).value[0]
    assert covariance == pytest.approx(np.cov(x, y, ddof=0)[0, 1], abs=1e-9)
    if degree == 2 and np.var(x) > 0 and np.var(y) > 0:
        correlation = measure.answer("correlation", sums, noise).value[0]
        assert correlation == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-6)


def test_features_are_products() -> None:
    assert CrossMoments(X, Y, degree=1).features(2, 3) == (6 * 4, 6 * 3, 2 * 4, 2 * 3)
    assert sum(CrossMoments(X, Y).features(2, 3)) == CrossMoments(X, Y).total == (8 * 7) ** 2
    assert len(CrossMoments(X, Y).features(2, 3)) == CrossMoments(X, Y).width == 9


def test_quantities_follow_the_degree() -> None:
    assert CrossMoments(X, Y, degree=1).quantities == ("count", "covariance")
    assert CrossMoments(X, Y).quantities == ("count", "covariance", "correlation")
    with pytest.raises(ParameterError, match="not 'correlation'"):
        CrossMoments(X, Y, degree=1).answer(
            "correlation", np.zeros((1, 4), dtype=np.int64), laplace(CrossMoments(X, Y, 1), 1)
        )


def test_the_degree_is_one_or_two() -> None:
    cases: list[Any] = [0, 3, None, "2"]
    for degree in cases:
        with pytest.raises(ParameterError, match=r"^degree must be "):
            CrossMoments(X, Y, degree=degree)


def test_without_rows_nothing_is_known() -> None:
    measure = CrossMoments(X, Y)
    noise = Noise.laplace(1, measure.sensitivity(ContributionBounds()), 2, 9, ContributionBounds(cells=2))
    noisy = np.array([[0] * 9, [-4] * 9])
    for quantity, most in (("covariance", 4 * 7 / 4), ("correlation", 1)):
        estimate = measure.answer(quantity, noisy, noise)
        assert estimate.value.tolist() == [0, 0]
        assert estimate.interval is not None
        assert [end.tolist() for end in estimate.interval(0.9)] == [[-most] * 2, [most] * 2]


@pytest.mark.parametrize("degree", [1, 2])
def test_previews_need_a_guess_of_the_rows(degree: int) -> None:
    measure = CrossMoments(X, Y, degree)
    noise = laplace(measure, 1)
    count = measure.spread("count", noise, rows=None)
    assert count is not None
    assert 3 < count < 15
    for quantity in measure.quantities[1:]:
        assert measure.spread(quantity, noise, rows=None) is None
        few, many = (measure.spread(quantity, noise, rows=rows) for rows in (1_000, 100_000))
        assert few is not None
        assert many is not None
        assert few == pytest.approx(100 * many)
        assert measure.spread(quantity, noise, rows=1e-9) == (1 if quantity == "correlation" else 4 * 7 / 4)


def test_the_covariance_alone_is_cheaper() -> None:
    one, two = (CrossMoments(X, Y, degree) for degree in (1, 2))
    spreads = [measure.spread("covariance", laplace(measure, 1), rows=1000) for measure in (one, two)]
    assert spreads[0] is not None
    assert spreads[1] is not None
    assert spreads[0] < spreads[1]
