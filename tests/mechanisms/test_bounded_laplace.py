"""Bounded Laplace: all neighbours are within epsilon and use it; the naive scale and clipped noise are found out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import celosia as cl
from celosia.core import ConformanceError, InputError, ParameterError, PureDP
from celosia.mechanisms import BoundedLaplace, Laplace
from celosia.noise import Seeded
from celosia.testing import check_mechanism

if TYPE_CHECKING:
    from fractions import Fraction


class Naive(BoundedLaplace):
    """Takes the scale of Laplace noise without bounds."""

    __slots__ = ()

    def _smallest_scale(self, moved: int, reach: int) -> Fraction:  # noqa: ARG002 - that is its mistake
        return moved / self.epsilon


def test_it_keeps_its_guarantee_and_the_naive_scale_does_not() -> None:
    cases: list[tuple[dict[str, Any], list[Any]]] = [
        ({"epsilon": 1, "sensitivity": 1, "low": 0, "high": 10}, [(0, 1), (10, 9), (5, 6)]),
        ({"epsilon": "0.5", "sensitivity": 4, "low": -8, "high": 12}, [(-8, -4), (12, 8), (0, 4)]),
        ({"epsilon": 2, "sensitivity": "0.25", "low": 0, "high": 1, "grid": "1/16"}, [(0.0, 0.25), (0.28, 0.03)]),
    ]
    for given, pairs in cases:
        mechanism = BoundedLaplace(**given)
        report = check_mechanism(mechanism, pairs, samples=100, processes=2)
        assert report.lower_bound <= mechanism.epsilon
        with pytest.raises(ConformanceError, match=r"epsilon|table"):
            check_mechanism(Naive(**given), pairs, samples=100, processes=2)


def test_all_neighbours_are_within_epsilon_and_some_use_it() -> None:
    high_cases: list[int] = [1, 2, 9, 40]
    epsilon_cases: list[str] = ["0.1", "1", "4"]
    for high in high_cases:
        for epsilon in epsilon_cases:
            for sensitivity in {1, 2, high}:
                for kind, kept in ((BoundedLaplace, True), (Naive, sensitivity >= high)):
                    mechanism = kind(epsilon=epsilon, sensitivity=sensitivity, low=0, high=high)
                    outputs = range(high + 1)
                    tables = [mechanism.log_masses(value, outputs) for value in outputs]
                    worst = max(
                        float(np.abs(tables[a] - tables[b]).max())
                        for a in outputs
                        for b in range(a, min(a + sensitivity, high) + 1)
                    )
                    assert (worst <= float(epsilon) * (1 + 1e-9)) is kept
                    assert (
                        worst > float(epsilon) * (1 - 1e-9) or sensitivity > high
                    )  # which the naive scale does not see


def test_truncated_noise_would_tell_all() -> None:
    # Laplace noise of scale 1 that is cut at 1000 has a probability of 10^-435 to differ from noise that is not. Still,
    # one value can give an answer that its neighbour never gives; a bounded answer has no such output.
    cut = 1000
    assert cut + 1 not in range(-cut, cut + 1)
    assert cut + 1 in range(1 - cut, 1 + cut + 1)
    mechanism = BoundedLaplace(epsilon=1, sensitivity=1, low=-cut, high=cut)
    assert np.isfinite(mechanism.log_masses(cut, mechanism.outputs(cut) or ())).all()


def moments(values: np.ndarray[Any, Any], masses: np.ndarray[Any, Any], true: int) -> tuple[float, float]:
    """Bias and root mean square error."""
    return float((values * masses).sum() - true), float(np.sqrt(((values - true) ** 2 * masses).sum()))


def test_the_errors_of_both_are_those_of_the_page() -> None:
    cases: list[tuple[str, int, int, tuple[float, float], tuple[float, float]]] = [
        ("1", 1, 0, (0.85, 1.51), (0.43, 0.96)),
        ("1", 1, 50, (0.0, 1.77), (0.0, 1.36)),
        ("0.1", 1, 0, (18.02, 25.21), (4.99, 9.99)),
        ("0.1", 1, 50, (0.0, 19.63), (0.0, 13.85)),
        ("0.01", 1, 0, (45.71, 54.12), (31.61, 51.40)),
        ("0.01", 1, 50, (0.0, 28.22), (0.0, 42.47)),
        ("1", 100, 0, (41.64, 50.42), (31.61, 51.40)),
        ("1", 100, 50, (0.0, 27.29), (0.0, 42.47)),
    ]
    for epsilon, sensitivity, true, bounded, clamped in cases:
        given: dict[str, Any] = {"epsilon": epsilon, "sensitivity": sensitivity}
        answers = np.arange(101)
        masses = np.exp(BoundedLaplace(low=0, high=100, **given).log_masses(true, answers.tolist()))
        assert moments(answers, masses, true) == pytest.approx(bounded, abs=0.006)
        noise = np.arange(-6_000, 6_001)
        drawn = np.exp(Laplace(**given).log_masses(0, noise.tolist()))
        assert moments(np.clip(true + noise, 0, 100), drawn, true) == pytest.approx(clamped, abs=0.006)


def test_numbers_arrays_and_reals_stay_within_the_bounds() -> None:
    one = BoundedLaplace(epsilon="0.1", sensitivity=1, low=-5, high=5)
    assert {type(one.release(value, source=Seeded(3)).value) for value in (0, np.int8(3), 10**40, -(10**40))} == {int}
    assert all(-5 <= one.release(value).value <= 5 for value in (10**40, -(10**40)) for _ in range(20))
    many = BoundedLaplace(epsilon=1, sensitivity=3, low=0, high=9, dimension=2_000)
    drawn = many.release(np.full((20, 100), 9), source=Seeded(5))
    assert drawn.value.shape == (20, 100)
    assert drawn.value.dtype == np.int64
    assert 0 <= drawn.value.min() < drawn.value.max() == 9
    real = BoundedLaplace(epsilon=1, sensitivity="0.1", low=-1, high=1, grid="1/256", dimension=3)
    found = real.release([0.123, 7.0, -0.5], source=Seeded(5)).value
    assert np.array_equal(found * 256, np.rint(found * 256))
    assert np.abs(found).max() <= 1
    assert real.event.sensitivity == 25 + 3  # each coordinate that is rounded can move one step further
    assert many.scale > BoundedLaplace(epsilon=1, sensitivity=3, low=0, high=9).scale  # three coordinates move by one
    assert real.outputs([0, 0, 0]) is None
    assert BoundedLaplace(epsilon=1, sensitivity=1, low=0, high=2**40).outputs(0) is None


def test_it_is_described_paid_for_and_has_an_error() -> None:
    mechanism = BoundedLaplace(epsilon="0.5", sensitivity=1, low=0, high=100, adjacency=cl.ReplaceOne, unit="person")
    assert repr(mechanism) == (
        "BoundedLaplace(epsilon=0.5, sensitivity=1, low=0, high=100, adjacency=ReplaceOne, unit='person')"
    )
    assert mechanism.guarantee == PureDP(epsilon="0.5", adjacency=cl.ReplaceOne, unit="person")
    account = cl.open_ledger("memory://")
    account.set_budget(cl.PureDP(epsilon=1, adjacency=cl.ReplaceOne, unit="person"), dataset="deaths")
    assert account.account("deaths").cost(mechanism.event) == mechanism.guarantee
    release = mechanism.release(0, source=Seeded(7))
    low, high = release.confidence_interval(0.95)
    assert high - release.value == release.value - low == mechanism.error(0.95)
    drawn = BoundedLaplace(epsilon="0.5", sensitivity=1, low=0, high=100, dimension=20_000).release(
        np.zeros(20_000, dtype=np.int64), source=Seeded(7)
    )
    assert (drawn.value <= drawn.confidence_interval(0.95)[1] - drawn.value).mean() > 0.94


GOOD: dict[str, Any] = {"epsilon": 1, "sensitivity": 1, "low": 0, "high": 10}


def test_what_has_no_meaning_is_refused() -> None:
    for change, words in (
        ({"epsilon": 0}, "epsilon must be"),
        ({"epsilon": float("nan")}, "epsilon must be"),
        ({"sensitivity": -1}, "sensitivity must be"),
        ({"sensitivity": "0.5"}, "sensitivity must be whole, not 1/2: give grid="),
        ({"low": 10}, "high must be above low"),
        ({"low": 11}, "high must be above low"),
        ({"low": "0.5"}, "low must be a multiple of the grid"),
        ({"high": float("inf")}, "high must be"),
        ({"high": 2**62}, "high must be within 2.62 steps"),
        ({"high": "1/3", "grid": "1/4"}, "high must be a multiple of the grid, 1/4"),
        ({"grid": "1/3"}, "grid must be a power of two"),
        ({"dimension": 0}, "dimension must be"),
        ({"epsilon": "1e-200"}, "wider than 2"),
    ):
        with pytest.raises(ParameterError, match=words):
            BoundedLaplace(**(GOOD | change))
    mechanism = BoundedLaplace(**GOOD)
    for value, words in (
        (0.5, "needs a grid"),
        ([1, 2], "declared with dimension=1"),
        (float("nan"), "finite"),
        ("three", "number"),
    ):
        with pytest.raises(InputError, match=words):
            mechanism.release(value)
    with pytest.raises(InputError, match="one number only"):
        BoundedLaplace(**(GOOD | {"dimension": 2})).log_masses([1, 2], [1])
