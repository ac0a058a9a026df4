"""Drawing is the same for all distributions of cells: one number or many, from the stated source or the system's."""

from typing import Any

import numpy as np
import pytest

from celosia.core import ParameterError
from celosia.noise import DiscreteGaussian, DiscreteLaplace, Geometric, Seeded
from celosia.noise.cells import CellDistribution

NOISES: list[CellDistribution] = [DiscreteLaplace(10), DiscreteGaussian(100), Geometric(10)]


def test_a_source_repeats_and_the_system_does_not() -> None:
    for noise in NOISES:
        one, other = (noise.sample(100, Seeded(3)) for _ in range(2))
        assert (one == other).all()
        assert noise.draw(Seeded(3)) == noise.draw(Seeded(3))
        assert (noise.sample(100) != noise.sample(100)).any()
        assert len({noise.draw() for _ in range(200)}) > 5


def test_a_sample_is_an_array_of_64_bit_integers() -> None:
    for noise in NOISES:
        for count in (0, 1, 1000):
            sample = noise.sample(count)
            assert sample.shape == (count,)
            assert sample.dtype == np.int64
        assert type(noise.draw()) is int


def test_a_count_is_a_whole_number() -> None:
    cases: list[Any] = [-1, 2.0, None, "3", True]
    for count in cases:
        with pytest.raises(ParameterError, match="count"):
            DiscreteLaplace(1).sample(count)


def test_what_is_not_a_source_is_refused() -> None:
    broken: Any = np.random.default_rng(1)
    with pytest.raises(ParameterError, match="source must be"):
        DiscreteLaplace(1).draw(broken)
