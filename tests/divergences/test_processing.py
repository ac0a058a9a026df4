"""The search finds what breaks post-processing and leaves the true divergences alone."""

import functools
import math
from collections.abc import Callable

import numpy as np
import pytest

from celosia.core import ParameterError
from celosia.divergences import (
    entropy,
    hellinger,
    hockey_stick,
    kl,
    max_divergence,
    obeys_post_processing,
    renyi,
    total_variation,
)
from celosia.noise import Seeded

Divergence = Callable[[np.ndarray, np.ndarray], float]


@pytest.mark.parametrize(
    "divergence",
    [
        kl,
        functools.partial(renyi, order=0.5),
        functools.partial(renyi, order=2),
        functools.partial(renyi, order=30),
        functools.partial(hockey_stick, epsilon=0.5),
        max_divergence,
        total_variation,
        hellinger,
    ],
)
@pytest.mark.sampled(3)
def test_divergences_obey(divergence: Divergence) -> None:
    assert obeys_post_processing(divergence, size=3, trials=200) is None


def euclidean(p: np.ndarray, q: np.ndarray) -> float:
    return float(((p - q) ** 2).sum())


def kl_times_entropy(p: np.ndarray, q: np.ndarray) -> float:
    value = kl(p, q)
    return value if value == math.inf else value * (2 - entropy(p))


def mean_loss(p: np.ndarray, q: np.ndarray) -> float:
    """The unweighted mean of the absolute log ratios: no expectation under either side."""
    kept = (p > 0) & (q > 0)
    return float(np.abs(np.log(p[kept] / q[kept])).mean()) if kept.any() else math.inf


@pytest.mark.parametrize("divergence", [euclidean, kl_times_entropy, mean_loss, lambda p, q: -kl(p, q)])
def test_what_does_not_obey_is_caught(divergence: Divergence) -> None:
    found = obeys_post_processing(divergence)
    assert found is not None
    assert np.allclose(found.kernel.sum(axis=1), 1)
    assert found.before == divergence(found.p, found.q)
    assert found.after == divergence(found.p @ found.kernel, found.q @ found.kernel)
    assert found.after > found.before


def test_the_default_size_is_enough_for_the_largest_difference() -> None:
    """Of three outcomes two that are merged make up for the third, and nothing grows; of four something does."""

    def largest(p: np.ndarray, q: np.ndarray) -> float:
        return float(np.abs(p - q).max())

    assert obeys_post_processing(largest, size=3) is None
    found = obeys_post_processing(largest)
    assert found is not None
    assert found.after > found.before
    assert obeys_post_processing(lambda p, q: float(np.abs(p - q).sum()), trials=50) is None


def test_only_random_kernels_catch_some() -> None:
    # Total variation squared is fine under every merging of a grid in quarters; a jump off the grid is not.
    def off_grid(p: np.ndarray, q: np.ndarray) -> float:
        on_grid = np.allclose(4 * p, np.rint(4 * p)) and np.allclose(4 * q, np.rint(4 * q))
        return total_variation(p, q) if on_grid else 1 - total_variation(p, q)

    assert obeys_post_processing(off_grid, size=3, trials=0) is None
    found = obeys_post_processing(off_grid, size=3, source=Seeded(5))
    again = obeys_post_processing(off_grid, size=3, source=Seeded(5))
    assert found is not None
    assert again is not None
    assert found.kernel.tolist() == again.kernel.tolist()


def test_bad_input() -> None:
    for size in (1, 6, 2.5):
        with pytest.raises(ParameterError, match="size"):
            obeys_post_processing(kl, size=size)  # type: ignore[arg-type]  # that is the point
    with pytest.raises(ParameterError, match="trials"):
        obeys_post_processing(kl, trials=-1)
    with pytest.raises(ParameterError, match=r"^divergence of .* must be a number, not nan"):
        obeys_post_processing(lambda _p, _q: math.nan)
    with pytest.raises(ParameterError, match=r"^divergence of .* must be a number, not None"):
        obeys_post_processing(lambda _p, _q: None)  # type: ignore[arg-type,return-value]  # that is the point
    with pytest.raises(ParameterError, match=r"^divergence must be a function"):
        obeys_post_processing(5)  # type: ignore[arg-type]  # that is the point
