"""Moments from a law agree with simulation and theory, and with what others computed."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from celosia.core import ConformanceError
from celosia.local import CountMeanSketch, DirectEncoding, DistinctCount, Duchi, LocalLaplace, PrefixExtension
from celosia.noise import Seeded
from celosia.testing.protocols.estimates import (
    Moments,
    check_bias,
    check_variance,
    exact_moments,
    simulated_moments,
)
from celosia.testing.protocols.law import read_law


def moments(protocol: Any, values: list[Any], samples: int = 20_000) -> Moments:
    law = read_law(protocol, values)
    assert law is not None
    found = exact_moments(protocol, law, samples)
    assert found is not None
    return found


def test_direct_encoding_has_the_published_variance() -> None:
    k, e = 5, math.exp(2)
    found = moments(DirectEncoding(domain=k, epsilon=2), list(range(k)))
    off = ~np.eye(k, dtype=bool)
    # Wang, Blocki, Li and Jha 2017: (k - 2 + e^epsilon) / (e^epsilon - 1)^2 for a value that nobody has.
    assert found.variance[off] == pytest.approx((k - 2 + e) / (e - 1) ** 2)
    assert found.mean == pytest.approx(np.eye(k))
    assert max(found.mean_error.max(), found.variance_error.max()) < 1e-12


def test_duchi_has_the_published_variance() -> None:
    found = moments(Duchi(low=-1, high=1, epsilon=1), [-1.0, 0.0, 1.0])
    assert found.variance.item() == pytest.approx(((math.e + 1) / (math.e - 1)) ** 2)
    assert found.mean[:, 0] == pytest.approx([-1, 0, 1])


def test_hashes_are_drawn_anew() -> None:
    found = moments(CountMeanSketch(epsilon=1, hashes=1, width=4), [0, 1, 2])
    assert found.mean[0, 0] == pytest.approx(1)
    assert 0 < found.mean_error[0, 1] < 0.2
    assert "choices of hash functions" in found.how


def test_simulation_agrees_with_the_law() -> None:
    protocol = DirectEncoding(domain=3, epsilon=1)
    found = simulated_moments(protocol, [0, 1, 2], 100_000, Seeded(5))
    assert found is not None
    assert found.truth.tolist() == [[20, 20, 20]]
    assert np.abs(found.mean - 20).max() < 5 * found.mean_error.max()
    assert found.variance / found.stated == pytest.approx(np.ones((1, 3)), abs=0.3)
    assert "800 simulated aggregates" in found.how


def test_what_does_not_add_up_is_simulated() -> None:
    protocol = PrefixExtension(domain=16, epsilon=1, step=2, hashes=2)
    law = read_law(protocol, [0, 1])
    assert law is not None
    assert exact_moments(protocol, law, 1_000) is None
    assert simulated_moments(protocol, [0, 1], 1_000, Seeded(1)) is not None


def test_what_is_no_count_is_left_alone() -> None:
    protocol = DistinctCount(epsilon=1, buckets=4, hashes=2)
    law = read_law(protocol, [0, 1])
    assert law is not None
    assert exact_moments(protocol, law, 1_000) is None
    assert simulated_moments(protocol, [0, 1], 1_000, Seeded(1)) is None


def test_long_lists_are_simulated() -> None:
    protocol = LocalLaplace(low=0, high=1, epsilon="0.5", grid=64)
    law = read_law(protocol, [0.0, 1.0])
    assert law is not None
    assert len(law.outputs) > 1_536
    assert exact_moments(protocol, law, 1_000) is None


def made(**changes: Any) -> Moments:
    one = np.ones((1, 1))
    given = {
        "mean": one,
        "mean_error": 0 * one,
        "truth": one,
        "variance": one,
        "variance_error": 0 * one,
        "stated": one,
    }
    return Moments(**{**given, **{name: value * one for name, value in changes.items()}}, draws=1_000, how="made up")


@pytest.mark.parametrize(("mean", "error", "passes"), [(1.1, 0.0, False), (1.1, 0.1, True), (1.1, 0.001, False)])
def test_bias_is_measured_in_standard_errors(mean: float, error: float, *, passes: bool) -> None:
    found = made(mean=mean, mean_error=error)
    if passes:
        assert check_bias(found, 1e-6) == "off by 0.1 at most; made up"
    else:
        with pytest.raises(ConformanceError, match=r"an estimate is 1\.1 on average and should be 1"):
            check_bias(found, 1e-6)


@pytest.mark.parametrize(
    ("stated", "words"), [(1.0, None), (1.2, None), (0.9, "vary 1.111 times"), (2.0, "vary only 0.5 times")]
)
def test_a_stated_variance_is_neither_too_small_nor_loose(stated: float, words: str | None) -> None:
    if words is None:
        assert check_variance(made(stated=stated), 1e-6).startswith("true over stated")
    else:
        with pytest.raises(ConformanceError, match=words):
            check_variance(made(stated=stated), 1e-6)


def test_no_stated_variance_is_said_to_be_none() -> None:
    assert check_variance(made(stated=math.nan), 1e-6) == "not checked: none is stated"


def test_few_draws_convict_nobody_who_is_a_little_off() -> None:
    few = dataclasses.replace(made(mean=1.1, mean_error=0.01), draws=4)
    assert check_bias(few, 1e-6).startswith("off by 0.1")


def test_power_is_stated() -> None:
    assert "seen to ±" in check_variance(made(variance_error=0.01), 1e-6)
