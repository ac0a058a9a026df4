"""The loss of bounded Laplace noise is that of the worst neighbours, found by trying all of them."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from celosia.accounting import CombinedAccountant, PLDAccountant, PureAccountant, RenyiAccountant, basic, best
from celosia.accounting.prices.bounded_laplace import bounded_laplace_loss, smallest_bounded_scale
from celosia.core import BoundedLaplaceEvent, NotPricedError, PureDP


def losses(scale: float, reach: int) -> list[float]:
    """The largest loss of one coordinate that moves 0, 1, ... ``reach`` steps at most, over all places and outputs."""
    places = np.arange(reach + 1)
    logs = -np.abs(places[:, None] - places) / scale
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    apart = np.abs(places[:, None] - places)
    largest = np.abs(logs[:, None] - logs[None, :]).max(axis=2)
    return [float(largest[apart <= moved].max()) for moved in places]


def test_it_is_the_loss_of_the_worst_neighbours() -> None:
    reach_cases: list[int] = [1, 2, 3, 7, 24]
    scale_cases: list[str] = ["0.3", "1", "3", "20", "500"]
    for reach in reach_cases:
        for scale in scale_cases:
            by_distance = losses(float(Fraction(scale)), reach)
            for moved in range(1, reach + 3):
                loss = bounded_laplace_loss(Fraction(scale), moved, reach)
                assert by_distance[min(moved, reach)] <= loss * (1 + 1e-9)
                assert loss == pytest.approx(by_distance[min(moved, reach)], rel=1e-9)
            for dimension, moved in itertools.product((2, 3), (1, 2, 3, 5)):
                splits = (
                    [split for split in itertools.product(range(reach + 1), repeat=dimension) if sum(split) <= moved]
                    if reach < 8
                    else []
                )
                worst = max((sum(by_distance[part] for part in split) for split in splits), default=None)
                if worst is not None:
                    assert bounded_laplace_loss(Fraction(scale), moved, reach, dimension) == pytest.approx(
                        worst, rel=1e-9
                    )


def test_the_scale_is_enough_and_nearly_the_smallest() -> None:
    cases: list[tuple[str, int, int, int]] = [
        ("1", 1, 10, 1),
        ("0.1", 1, 100, 1),
        ("5", 3, 20, 2),
        ("1e-6", 1, 5, 1),
        ("1", 10, 10, 1),
        ("1", 1, 2**60, 9),
    ]
    for epsilon, moved, reach, dimension in cases:
        target = Fraction(epsilon)
        scale = smallest_bounded_scale(target, moved, reach, dimension)
        assert bounded_laplace_loss(scale, moved, reach, dimension) <= target
        assert bounded_laplace_loss(scale * Fraction(999_999, 10**6), moved, reach, dimension) > target
        assert moved / target <= scale <= 2 * moved / target
        event = BoundedLaplaceEvent(epsilon=epsilon, scale=scale, sensitivity=moved, reach=reach, dimension=dimension)
        assert PureAccountant().spend(event).guarantee() == PureDP(epsilon=epsilon)
        assert RenyiAccountant().spend(event, times=100).epsilon("1e-6") > 0
        assert best(event, "1e-6").epsilon <= float(target) * (1 + 1e-9)


def test_an_epsilon_that_the_scale_does_not_keep_is_refused() -> None:
    given: dict[str, Any] = {"sensitivity": 1, "reach": 100}
    for event in (
        BoundedLaplaceEvent(epsilon=1, scale=1, **given),  # the scale of noise without bounds
        BoundedLaplaceEvent(epsilon=1, scale=2, arithmetic="real", **given),
        BoundedLaplaceEvent(epsilon=1, scale="1e-300", **given),
        BoundedLaplaceEvent(epsilon=1, scale="1e-300", sensitivity=2**1000 + 1, reach=2**1000, dimension=2),
    ):
        with pytest.raises(NotPricedError, match="scale is not enough"):
            basic(event)
        for accountant in (PureAccountant(), CombinedAccountant(), RenyiAccountant(), PLDAccountant()):
            with pytest.raises(NotPricedError):
                accountant.spend(event)
    assert PureAccountant().spend(BoundedLaplaceEvent(epsilon=1, scale=100, sensitivity=100, reach=99)).events
