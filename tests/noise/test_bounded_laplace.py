"""Laplace noise on an interval: its table, its draws, and that a place near an end takes no more of them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from celosia.core import ParameterError
from celosia.noise import BoundedDiscreteLaplace, Seeded

if TYPE_CHECKING:
    from numpy.typing import NDArray

CASES = [("0.3", 4), ("1", 1), ("3", 12), ("7/3", 30), ("1000", 9)]


def law(scale: str, reach: int, place: int) -> NDArray[np.float64]:
    """The probabilities by definition: weights of all values, divided by their sum."""
    weights = np.exp(-np.abs(np.arange(reach + 1) - place) / float(Fraction(scale)))
    return np.asarray(weights / weights.sum())


def test_the_table_is_that_of_the_definition() -> None:
    for scale, reach in CASES:
        noise = BoundedDiscreteLaplace(scale, reach)
        for place in range(reach + 1):
            assert np.exp(noise.log_mass(place, np.arange(reach + 1))) == pytest.approx(
                law(scale, reach, place), rel=1e-9
            )
            assert np.isneginf(noise.log_mass(place, [-1, reach + 1])).all()


@pytest.mark.parametrize(("scale", "reach"), CASES)
def test_draws_follow_the_table(scale: str, reach: int, *, thorough: bool) -> None:
    noise, values = BoundedDiscreteLaplace(scale, reach), np.arange(reach + 1)
    many, few = (60_000, 4_000) if thorough else (20_000, 1_000)
    for place in {0, 1, reach // 2, reach}:
        expected = law(scale, reach, place)
        for drawn in (
            noise.sample(np.full(many, place), Seeded(place)),
            np.array([noise.draw(place, source) for source in [Seeded(place + 9)] for _ in range(few)]),
        ):
            likely = expected * drawn.size > 2
            assert drawn.min() >= 0
            assert drawn.max() <= reach
            counts = (drawn[:, None] == values).sum(axis=0)
            seen = [*counts[likely], counts[~likely].sum()] if not likely.all() else counts
            wanted = [*expected[likely], expected[~likely].sum()] if not likely.all() else expected
            assert stats.chisquare(seen, np.array(wanted) * drawn.size).pvalue > 1e-8


def test_draws_of_a_neighbour_would_be_found_out() -> None:
    counts = np.bincount(BoundedDiscreteLaplace(3, 12).sample(np.full(60_000, 5), Seeded(3)), minlength=13)
    assert stats.chisquare(counts, law("3", 12, 6) * 60_000).pvalue < 1e-30
    assert stats.chisquare(counts, law("3.3", 12, 5) * 60_000).pvalue < 1e-8


class Counted:
    """A source that counts its words."""

    seeded = True

    def __init__(self) -> None:
        self.source, self.count = Seeded(4), 0

    def word(self) -> int:
        self.count += 1
        return int(self.source.word())

    def words(self, count: int) -> Any:
        self.count += count
        return self.source.words(count)


def test_an_end_takes_as_many_words_as_the_middle() -> None:
    noise, counts = BoundedDiscreteLaplace(50, 100), []
    for place in (0, 50, 100):
        source = Counted()
        noise.sample(np.full(20_000, place), source)
        counts.append(source.count)
    assert max(counts) < 1.01 * min(counts)  # rejection would take 1.5 times as many at an end


def test_coins_that_doubles_cannot_decide_are_decided_exactly() -> None:
    for place in (0, 1, 7, 29, 30):
        noise = BoundedDiscreteLaplace("7/3", 30)
        exact = law("7/3", 30, place)[place:].sum()
        low, high = noise._upwards(place)(200)
        assert 0 <= high - low <= 2**8
        assert low / 2**200 <= exact * (1 + 1e-12)
        assert high / 2**200 >= exact * (1 - 1e-12)
        far = BoundedDiscreteLaplace(10**30, 30)._upwards(place)(100)  # hardly any decay: all places weigh alike
        assert far[0] / 2**100 == pytest.approx((31 - place) / 31, rel=1e-9)


def test_the_margin_is_the_smallest_for_all_places() -> None:
    for scale, reach in CASES:
        noise = BoundedDiscreteLaplace(scale, reach)
        laws = [law(scale, reach, place) for place in range(reach + 1)]
        for level in (0.1, 0.5, 0.9, 0.99):
            held = [min(p[max(0, x - k) : x + k + 1].sum() for x, p in enumerate(laws)) for k in range(reach + 1)]
            assert noise.margin(level) == next(k for k, share in enumerate(held) if share >= level)


def test_wide_intervals_and_large_scales() -> None:
    wide = BoundedDiscreteLaplace(2**40, 2**62 - 1)
    assert 0 <= wide.draw(2**62 - 1, Seeded(1)) <= 2**62 - 1
    assert wide.sample([0, 2**61, 2**62 - 1], Seeded(1)).min() >= 0
    assert 0 <= BoundedDiscreteLaplace(2**400, 3).draw(2, Seeded(1)) <= 3
    assert BoundedDiscreteLaplace(3, 12).sample(np.zeros((2, 0), dtype=np.int64)).shape == (2, 0)


def test_what_has_no_meaning_is_refused() -> None:
    cases: list[tuple[Any, str]] = [
        (lambda: BoundedDiscreteLaplace(0, 5), "scale must be"),
        (lambda: BoundedDiscreteLaplace(1, 0), "reach must be"),
        (lambda: BoundedDiscreteLaplace(1, 2**62), "reach must be below 2"),
        (lambda: BoundedDiscreteLaplace(1, 5).draw(6), "places must be"),
        (lambda: BoundedDiscreteLaplace(1, 5).draw(-1), "places must be"),
        (lambda: BoundedDiscreteLaplace(1, 5).sample([0, 6]), "places must be"),
    ]
    for make, words in cases:
        with pytest.raises(ParameterError, match=words):
            make()
