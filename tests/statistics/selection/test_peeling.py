"""Top-k: the law of choosing without returning, and the privacy of all k choices together, by enumeration."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from celosia.core import ParameterError, PermuteAndFlipEvent, RepeatedEvent, ReplaceOne
from celosia.noise import Seeded
from celosia.statistics import ContributionBounds, TopK
from celosia.statistics.base.choice import count_rate
from celosia.testing.distributions import chi_square
from tests.statistics.selection.test_most_common import ADDED, TABLES, Law, exponential, flipped, plus


def log_mass(law: Law, counts: tuple[int, ...], order: tuple[int, ...], rate: Fraction) -> float:
    """The probability of an ordered answer: each one chosen among those that are left."""
    left = list(range(len(counts)))
    total = 0.0
    for chosen in order:
        total += float(law(tuple(counts[i] for i in left), rate)[left.index(chosen)])
        left.remove(chosen)
    return total


@pytest.mark.parametrize(("law", "pure"), [(flipped, True), (exponential, False)])
def test_answers_have_the_law_of_choosing_without_returning(law: Law, *, pure: bool) -> None:
    counts = (5, 3, 6, 0)
    chosen = (
        TopK(candidates=4, k=2)
        .release(np.array([counts] * 40_000), 2, ContributionBounds(cells=40_000), pure=pure, source=Seeded(1))
        .value
    )
    orders = list(itertools.permutations(range(4), 2))
    drawn = [int(((chosen[:, 0] == a) & (chosen[:, 1] == b)).sum()) for a, b in orders]
    for factor, fits in ((Fraction(1), True), (Fraction(11, 10), False), (Fraction(1, 2), False)):
        masses = [math.exp(log_mass(law, counts, order, factor)) for order in orders]
        assert (chi_square(drawn, masses) > 1e-6) is fits


@pytest.mark.parametrize("law", [exponential, flipped])
def test_all_choices_together_are_as_private_as_claimed(law: Law) -> None:
    orders = list(itertools.permutations(range(3), 2))
    tables = TABLES[::2]

    def worst(pairs: set[tuple[tuple[int, ...], tuple[int, ...]]], rate: Fraction) -> float:
        return max(
            abs(log_mass(law, one, order, rate) - log_mass(law, other, order, rate))
            for one, other in pairs
            for order in orders
        )

    added = {(base, plus(base, rows)) for base in tables for rows in ADDED}
    rate = count_rate(Fraction(2), ContributionBounds(rows=2))
    assert 0.5 * 4 < worst(added, rate) <= 4 * (1 + 1e-9)
    assert worst(added, 2 * rate) > 4
    assert worst(added, rate) > 2  # one choice alone does not pay for both
    replaced = {(plus(base, rows), plus(base, others)) for base in tables for rows in ADDED for others in ADDED[::2]}
    rate = count_rate(Fraction(2), ContributionBounds(rows=2, adjacency=ReplaceOne))
    assert 0.5 * 4 < worst(replaced, rate) <= 4 * (1 + 1e-9)
    assert worst(replaced, 2 * rate) > 4


def test_nothing_is_chosen_twice_and_everything_can_be_asked_for() -> None:
    chosen = TopK(candidates=6, k=6).release(np.zeros((500, 6), dtype=np.int64), 1, ContributionBounds(cells=500)).value
    assert chosen.shape == (500, 6)
    assert (np.sort(chosen, axis=1) == np.arange(6)).all()


def test_the_order_is_that_of_the_counts_when_they_are_far_apart() -> None:
    counts = np.array([[100, 900, 500, 300, 700]] * 50)
    assert (TopK(candidates=5, k=3).release(counts, 1, ContributionBounds(cells=50)).value == [1, 4, 2]).all()


def test_counts_are_left_as_they_were() -> None:
    counts = np.array([[100, 900, 500]])
    TopK(candidates=3, k=2).release(counts, 1, ContributionBounds())
    assert counts.tolist() == [[100, 900, 500]]


def test_the_spread_is_kept_by_all_of_them() -> None:
    counts = np.array([[40, 38, 33, 20, *range(15)]] * 3000)
    choice = TopK(candidates=19, k=3)
    chosen = choice.release(counts, 1, ContributionBounds(), source=Seeded(3)).value
    kept = []
    for row in chosen.tolist():
        left = counts[0].tolist()
        off = []
        for place in row:
            off.append(max(left) - left[place])
            left[place] = -1
        kept.append(max(off) <= choice.spread(1, ContributionBounds()))
    assert np.mean(kept) >= 0.95
    assert choice.spread(1, ContributionBounds()) == pytest.approx(3 * math.log(19 * 3 / 0.05))


def test_it_says_what_it_runs() -> None:
    choice = TopK(candidates=49, k=3)
    assert choice.event(1, ContributionBounds()) == RepeatedEvent(event=PermuteAndFlipEvent(epsilon="1/3"), times=3)
    assert (choice.width, choice.quantities) == (49, ("top_k",))
    assert "one after another by the exponential mechanism" in choice.explain(1, ContributionBounds(), pure=False)[0]


def test_k_must_be_a_number_of_candidates() -> None:
    cases: list[Any] = [0, 6, 2.0, True]
    for k in cases:
        with pytest.raises(ParameterError, match="k must be"):
            TopK(candidates=5, k=k)
