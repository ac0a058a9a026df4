"""Noise from cubes has exactly the stated law; what cannot be drawn is refused."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from celosia.core import ParameterError
from celosia.noise import DiscreteMaxNorm, Geometric, Seeded
from celosia.noise.max_norm import MOST_COORDINATES, eulerian


def surprise(draws: "np.ndarray[tuple[int, int], np.dtype[np.int64]]", scale: float) -> float:
    """The p-value of points near 0, and all others together, under the stated law."""
    reach, width = 60 * int(scale), draws.shape[1]
    largest = np.arange(reach + 1.0)
    shell = (2 * largest + 1) ** width - np.where(largest > 0, (2 * largest - 1) ** width, 0)
    total = float((shell * np.exp(-largest / scale)).sum())
    near = np.array(np.meshgrid(*[[-1, 0, 1, 2]] * width)).reshape(width, -1).T
    expected = np.exp(-np.abs(near).max(axis=1) / scale) / total
    counts = Counter(map(tuple, draws[np.abs(draws).max(axis=1) <= 2].tolist()))
    seen = np.array([counts[tuple(point)] for point in near.tolist()])
    seen, expected = np.append(seen, len(draws) - seen.sum()), np.append(expected, 1 - expected.sum())
    return float(stats.chisquare(seen, expected * len(draws)).pvalue)


def test_draws_have_the_stated_law_and_a_wrong_half_width_is_noticed() -> None:
    for width, scale in ((1, 2), (2, 2), (3, 1)):
        assert surprise(DiscreteMaxNorm(scale, width).sample(100_000, Seeded(7)), scale) > 1e-6
    source = Seeded(7)
    sizes = Geometric(2).sample(3 * 100_000, source).reshape(-1, 3).sum(axis=1)  # without the small number j
    wrong = np.floor(np.random.default_rng(1).random((100_000, 2)) * (2 * sizes + 1)[:, None]).astype(int)
    assert surprise(wrong - sizes[:, None], 2) < 1e-9


def test_the_numbers_of_type_b_generate_the_volumes_of_cubes() -> None:
    for width in range(1, MOST_COORDINATES + 1):
        numbers = eulerian(width)
        assert min(numbers) >= 1
        assert sum(numbers) == 2**width * math.factorial(width) < 2**63
        for half in range(6):  # the series of the polynomial over (1 - x)^(d + 1)
            parts = [number * math.comb(half - j + width, width) for j, number in enumerate(numbers) if j <= half]
            assert sum(parts) == (2 * half + 1) ** width


def test_wide_noise_has_the_stated_variance_and_shape() -> None:
    drawn = DiscreteMaxNorm(1000, 5).sample(40_000, Seeded(3))
    assert drawn.shape == (40_000, 5)
    assert np.allclose(drawn.var(axis=0) / 1000**2, 6 * 7 / 3, rtol=0.05)
    assert DiscreteMaxNorm(10, 2).sample(0).shape == (0, 2)


def test_what_cannot_be_drawn_is_refused() -> None:
    for scale, width, words in (
        (0, 2, "scale must be greater"), ("1/2", 2, "at least 1"), (2**60, 2, "does not fit"), (10, 17, "at most 16"),
        (10, 0, "dimension must be"),
    ):  # fmt: skip
        with pytest.raises(ParameterError, match=words):
            DiscreteMaxNorm(scale, width)
