"""The floating-point attack succeeds on the textbook's samplers and finds nothing on a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from celosia.audit import low_order_bits
from celosia.mechanisms import Exponential, Gaussian, Laplace
from celosia.noise import DiscreteLaplace

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from celosia.core import Mechanism, Source


def uniform(count: int, source: Source) -> NDArray[np.float64]:
    return (source.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def textbook_laplace(value: float, count: int, source: Source) -> NDArray[np.float64]:
    centred = uniform(count, source) - 0.5
    return np.asarray(value - np.sign(centred) * np.log1p(-2 * np.abs(centred)))


def box_muller(value: float, count: int, source: Source) -> NDArray[np.float64]:
    radius = np.sqrt(-2 * np.log1p(-uniform(count, source)))
    return np.asarray(value + radius * np.cos(2 * np.pi * uniform(count, source)))


@pytest.mark.parametrize("sampler", [textbook_laplace, box_muller])
@pytest.mark.parametrize(("a", "b"), [(0.0, 1.0), (0.1, 0.7), (0.0, 2.0**-3)])
def test_textbook_samplers_are_broken(sampler: Callable[..., NDArray[np.float64]], a: float, b: float) -> None:
    assert low_order_bits(sampler, a, b, samples=4_000).epsilon > 2
    assert low_order_bits(sampler, a, b, samples=2_000).epsilon > 1  # as few as a quick run draws of ours


@pytest.mark.parametrize(
    "mechanism",
    [Laplace(epsilon=1, sensitivity=1.0), Gaussian(epsilon=1, delta="1e-6", sensitivity=1.0)],
    ids=lambda mechanism: type(mechanism).__name__,
)
@pytest.mark.parametrize(("a", "b"), [(0.0, 1.0), (0.1, 1.1)])
def test_mechanisms_on_a_grid_show_nothing(mechanism: Mechanism, a: float, b: float, *, thorough: bool) -> None:
    # 1e5 a side, as the reliability page asks; the bits may say what the guarantee allows and no more.
    assert low_order_bits(mechanism, a, b, samples=100_000 if thorough else 10_000).epsilon <= 1


@pytest.mark.parametrize(
    "mechanism",
    [Laplace(epsilon=1, sensitivity=1), Gaussian(epsilon=1, delta="1e-6", sensitivity=1)],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_arrays_of_reals_show_nothing(mechanism: Mechanism, *, thorough: bool) -> None:
    # A release of n equal numbers holds n independent outputs: one call draws all the samples.
    def run(value: float, count: int, source: Source) -> NDArray[np.float64]:
        return np.asarray(mechanism.release(np.full(count, value), source=source).value)

    for a, b in [(0.0, 1.0), (0.1, 1.1), (1 / 3, 4 / 3)]:
        assert low_order_bits(run, a, b, samples=100_000 if thorough else 20_000).epsilon <= 1


def test_points_of_a_line_show_nothing(*, thorough: bool) -> None:
    mechanism = Exponential(epsilon=1, sensitivity=1)

    def run(edge: float, count: int, source: Source) -> NDArray[np.float64]:
        edges, utilities = [0.0, edge, 1.0], [0, 1]
        return np.array([mechanism.release_on_line(edges, utilities, source=source).value for _ in range(count)])

    assert low_order_bits(run, 0.3, 0.3000001, samples=100_000 if thorough else 1_000).epsilon <= 1


def test_whole_numbers_have_nothing_to_show() -> None:
    def run(value: int, count: int, source: Source) -> NDArray[np.int64]:
        return value + DiscreteLaplace(1).sample(count, source)

    assert low_order_bits(run, 0, 1, samples=2_000).epsilon == 0
