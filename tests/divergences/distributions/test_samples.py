"""Samples: their readings, and that nothing of them is shown."""

import math

import numpy as np
import pytest

from celosia.core import ParameterError
from celosia.divergences import Samples
from celosia.divergences.distributions.samples import neighbour_renyi

RANDOM = np.random.default_rng(11)


def test_values_are_not_shown() -> None:
    assert "12345" not in repr(Samples([12345.0, 6.0]))


def test_bins_share_the_pooled_sample_evenly() -> None:
    x, y = RANDOM.normal(size=1000), RANDOM.normal(0.5, size=3000)
    p, q = Samples(x, bins=8).bin_with(Samples(y, bins=8))
    assert p.sum() == pytest.approx(1)
    assert np.allclose((1000 * p + 3000 * q) / 4000, 1 / 8, atol=1e-3)


def test_neighbours_estimate_in_the_plane() -> None:
    for order in (0.5, 1.0, 2.0):
        x, y = RANDOM.normal(size=(5000, 2)), RANDOM.normal(size=(5000, 2)) + np.array([0.5, 0])
        value = neighbour_renyi(Samples(x, neighbours=20), Samples(y, neighbours=20), order)
        assert value == pytest.approx(order * 0.25 / 2, abs=0.08)


def test_bad_parameters() -> None:
    with pytest.raises(ParameterError, match="exclude"):
        Samples([1.0], bins=2, neighbours=2)
    with pytest.raises(ParameterError, match="bins"):
        Samples([1.0], bins=0)
    with pytest.raises(ParameterError, match="line"):
        Samples([[1.0, 2.0]], bins=2)
    with pytest.raises(ParameterError, match="neighbours"):
        Samples([1.0], neighbours=1.5)  # type: ignore[arg-type]  # that is the point
    with pytest.raises(ParameterError, match="values"):
        Samples([math.nan])
    with pytest.raises(ParameterError, match="same bins"):
        Samples([1.0], bins=2).bin_with(Samples([1.0], bins=3))


def test_neighbours_need_enough_continuous_samples() -> None:
    few = Samples([1.0, 2.0], neighbours=3)
    with pytest.raises(ParameterError, match="more than 3"):
        neighbour_renyi(few, few, 1)
    same = Samples([1.0] * 9, neighbours=3)
    with pytest.raises(ParameterError, match="Equal samples"):
        neighbour_renyi(same, same, 1)
    with pytest.raises(ParameterError, match="same neighbours"):
        neighbour_renyi(same, Samples([1.0] * 9, neighbours=2), 1)
