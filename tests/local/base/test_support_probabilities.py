"""Counts from supports: the algebra of pure protocols, against the binomials that it stands for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from celosia.local.base.support_probabilities import SupportProbabilities

probabilities = st.floats(0.01, 0.99)


@given(probabilities, probabilities, st.integers(0, 1000), st.integers(0, 1000))
def test_the_variance_is_that_of_two_binomials(p: float, q: float, others: int, count: int) -> None:
    gap = p - q
    if abs(gap) < 1e-3:
        return
    chances = SupportProbabilities(if_true=p, if_not=q, gap=gap)
    expected = (stats.binom(others, q).var() + stats.binom(count, p).var()) / gap**2
    assert chances.variance(others + count, count) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    mean = (stats.binom(others, q).mean() + stats.binom(count, p).mean() - (others + count) * q) / gap
    assert mean == pytest.approx(count, abs=1e-6)


def test_estimates_carry_both_errors() -> None:
    chances = SupportProbabilities(if_true=0.75, if_not=0.25, gap=0.5)
    estimate = chances.estimate(["a", "b"], np.array([70, 25]), reports=100, postprocess=None)
    assert estimate.raw.tolist() == [90, 0]
    assert estimate.standard_errors.tolist() == [chances.variance(100, 90) ** 0.5, chances.variance(100) ** 0.5]
    assert estimate.null_errors.tolist() == [chances.variance(100) ** 0.5] * 2


def test_a_further_variance_is_added() -> None:
    chances = SupportProbabilities(if_true=0.75, if_not=0.25, gap=0.5)
    plain = chances.estimate(["a"], np.array([70]), reports=100, postprocess=None)
    more = chances.estimate(["a"], np.array([70]), reports=100, postprocess=None, further=lambda counts: 10 + counts)
    assert more.standard_errors[0] ** 2 == pytest.approx(plain.standard_errors[0] ** 2 + 100)
    assert more.null_errors[0] ** 2 == pytest.approx(plain.null_errors[0] ** 2 + 10)


def test_rounding_leaves_no_negative_variance() -> None:
    chances = SupportProbabilities(if_true=1.0, if_not=1e-17, gap=1.0)
    estimate = chances.estimate(["a"], np.array([10**6]), reports=10**6, postprocess=None)
    assert estimate.standard_errors[0] >= 0


def test_chance_hits_are_as_skewed_as_the_supports() -> None:
    """The third moment of a Poisson law with h hits is 1/sqrt(h) of its spread; that of supports is known."""
    for reports, width in ((500, 100), (2000, 1000), (100, 4)):
        chances = SupportProbabilities(if_true=0.75, if_not=1 / width, gap=0.75 - 1 / width)
        hits = chances.hits(reports)
        skew = float(stats.binom(reports, 1 / width).stats(moments="s"))
        assert 1 / np.sqrt(hits) == pytest.approx(skew / (1 - 2 / width), rel=1e-9)  # a hit is never taken away
