"""Two columns: intervals of covariances and correlations cover what they say, and with many rows little more."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from celosia.data.schema.axis import Axis
from celosia.statistics.moments.cross_moments import CrossMoments
from celosia.statistics.moments.two_columns import TwoColumns
from tests.statistics.coverage import believable, covered_exactly, drawn, gaussian, holds, laplace, summary

LEVELS = (0.5, 0.95)
BIT = Axis(0, 1, Fraction(1))
X, Y = Axis(0, 50, Fraction(1)), Axis(0, 40, Fraction(1))


@pytest.mark.parametrize(
    "rows", [[(0, 0)], [(0, 0), (1, 1)], [(0, 1), (1, 0), (1, 1)], [(0, 0)] * 9 + [(1, 1)] * 9, [(1, 0)] * 30], ids=len
)
def test_intervals_of_covariances_cover_exactly(rows: list[tuple[int, int]]) -> None:
    measure = CrossMoments(BIT, BIT, degree=1)
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    truth = float(np.cov(np.array(columns), ddof=0)[0, 1]) if len(rows) > 1 else 0.0
    exact = summary(measure, columns)
    for noise, reach in ((laplace(measure, 1.5), 5), (gaussian(measure, 0.5), 4)):
        found = covered_exactly(measure, "covariance", exact, truth, noise, reach, LEVELS)
        for level, (held, missing) in zip(LEVELS, found, strict=True):
            assert held + missing >= level - 1e-9
            assert missing < 1e-2


def columns_of(rows: int, shape: str) -> list[NDArray[np.int64]]:
    rng = np.random.default_rng(4)
    x = rng.integers(0, 51, rows)
    y = {
        "none": rng.integers(0, 41, rows),
        "some": np.clip(40 - x // 2 - rng.integers(0, 16, rows), 0, 40),
        "all": x * 40 // 50,
        "narrow": 20 + rng.integers(0, 5, rows) + (x > 25),
    }[shape]
    return [x, y]


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("shape", ["none", "some", "all", "narrow"])
@pytest.mark.parametrize("rows", [40, 30_000])
def test_intervals_cover_and_with_many_rows_are_not_needlessly_wide(rows: int, shape: str, kind: str) -> None:
    draws, level = 1_500, 0.9
    columns = columns_of(rows, shape)
    covariances = np.cov(np.array(columns), ddof=0)
    correlation = covariances[0, 1] / np.sqrt(covariances[0, 0] * covariances[1, 1])
    truths = {"covariance": covariances[0, 1], "correlation": correlation}
    measure = CrossMoments(X, Y)
    noise = laplace(measure, 1) if kind == "laplace" else gaussian(measure, 0.5)
    for quantity, truth in truths.items():
        values, low, high = drawn(measure, quantity, summary(measure, columns), noise, draws, level)
        assert believable(int(holds(low, float(truth), high).sum()), draws, level)
        if rows > 1000 and shape in ("none", "some"):
            assert np.mean(high - low) / 2 <= 1.2 * np.quantile(np.abs(values - truth), level)


def test_means_and_variances_of_exact_sums() -> None:
    x, y = columns_of(500, "some")
    measure = CrossMoments(X, Y)
    both = TwoColumns(
        shares=summary(measure, [x, y])[None, :] / measure.total, total=measure.total, noise=laplace(measure, 1)
    )
    assert both.rows == pytest.approx(500)
    assert [float(mean[0]) for mean in both.means] == pytest.approx([x.mean() / 50, y.mean() / 40])
    assert [float(v[0]) for v in both.variances] == pytest.approx([x.var() / 2500, y.var() / 1600])
    c, d = both.means_between(0.05)
    assert c[0] < x.mean() / 50 < c[1]
    assert d[0] < y.mean() / 40 < d[1]
    for first, between, truth in ((True, c, x.var() / 2500), (False, d, y.var() / 1600)):
        low, high = both.variance_between(between, 0.05, first=first)
        assert low[0] < truth < high[0]


def test_a_column_that_hardly_varies_tells_nothing() -> None:
    measure = CrossMoments(X, Y)
    x = np.arange(2_000) % 51
    flat = np.full(2_000, 7)
    values, low, high = drawn(measure, "correlation", summary(measure, [x, flat]), laplace(measure, 1), 500, 0.9)
    assert np.isfinite(values).all()
    assert np.mean((low == -1) & (high == 1)) > 0.85
