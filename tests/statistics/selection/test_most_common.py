"""The mode: exactly the law of its mechanism, and exactly the privacy that is claimed, by enumeration."""

import itertools
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from celosia.core import AddRemove, Adjacency, ParameterError, ReplaceOne
from celosia.data import CAUSES, deaths
from celosia.mechanisms.selection.permute_and_flip import flip_log_masses
from celosia.noise import Seeded
from celosia.statistics import ContributionBounds, Mode
from celosia.statistics.base.choice import count_rate
from celosia.testing.distributions import chi_square

Law = Callable[[tuple[int, ...], Fraction], NDArray[np.float64]]


@lru_cache(maxsize=10_000)
def exponential(counts: tuple[int, ...], rate: Fraction) -> NDArray[np.float64]:
    weights = float(rate) * np.array(counts, dtype=np.float64)
    return np.asarray(weights - np.logaddexp.reduce(weights))


@lru_cache(maxsize=10_000)
def flipped(counts: tuple[int, ...], rate: Fraction) -> NDArray[np.float64]:
    return flip_log_masses(rate, max(counts) - np.array(counts))


@pytest.mark.parametrize(("law", "pure"), [(flipped, True), (exponential, False)])
@pytest.mark.parametrize("adjacency", [AddRemove, ReplaceOne])
def test_modes_have_the_law_of_their_mechanism(law: Law, *, pure: bool, adjacency: Adjacency) -> None:
    counts, bounding = (7, 4, 8, 0), ContributionBounds(rows=2, cells=40_000, groups=3, adjacency=adjacency)
    chosen = Mode(candidates=4).release(np.array([counts] * 40_000), 3, bounding, pure=pure, source=Seeded(1)).value
    rate = Fraction(1, 2) if adjacency is AddRemove else Fraction(1, 4)  # one for each group, two rows in it
    drawn = np.bincount(chosen, minlength=4)
    assert chi_square(drawn, np.exp(law(counts, rate))) > 1e-6
    for factor in (Fraction(11, 10), Fraction(10, 11), Fraction(2)):
        assert chi_square(drawn, np.exp(law(counts, rate * factor))) < 1e-6


TABLES = list(itertools.product([0, 3, 9], repeat=3))
ADDED = [rows for rows in itertools.product(range(3), repeat=3) if sum(rows) <= 2]


def plus(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip(one, other, strict=True))


def worst(law: Law, pairs: set[tuple[tuple[int, ...], tuple[int, ...]]], rate: Fraction) -> float:
    return max(float(np.abs(law(one, rate) - law(other, rate)).max()) for one, other in pairs)


@pytest.mark.parametrize("law", [exponential, flipped])
@pytest.mark.parametrize("epsilon", [1, 6])
def test_neighbours_are_as_near_as_claimed(law: Law, epsilon: int) -> None:
    added = {(base, plus(base, rows)) for base in TABLES for rows in ADDED}
    rate = count_rate(Fraction(epsilon), ContributionBounds(rows=2))
    assert 0.6 * epsilon < worst(law, added, rate) <= epsilon * (1 + 1e-9)
    assert worst(law, added, 2 * rate) > epsilon
    replaced = {(plus(base, rows), plus(base, others)) for base in TABLES for rows in ADDED for others in ADDED}
    rate = count_rate(Fraction(epsilon), ContributionBounds(rows=2, adjacency=ReplaceOne))
    assert 0.6 * epsilon < worst(law, replaced, rate) <= epsilon * (1 + 1e-9)
    assert worst(law, replaced, 2 * rate) > epsilon  # the rate of add-remove
    # A unit that leaves one cell for another moves both.
    assert 0.6 * epsilon < 2 * worst(law, added, rate) <= epsilon * (1 + 1e-9)


def test_the_spread_is_kept() -> None:
    counts = np.array([[40, 38, 33, 20, *range(15)]] * 4000)
    choice = Mode(candidates=19)
    for pure in (True, False):
        chosen = choice.release(counts, "0.5", ContributionBounds(), pure=pure, source=Seeded(2)).value
        off = 40 - counts[0][chosen]
        assert (off <= choice.spread("0.5", ContributionBounds(), pure=pure)).mean() >= 0.95
    assert choice.spread("0.5", ContributionBounds()) == pytest.approx(2 * math.log(19 / 0.05))
    assert choice.spread(None, ContributionBounds(), rho="1/8") == pytest.approx(math.log(19 / 0.05))


def test_the_commonest_cause_of_death_is_covid() -> None:
    names = list(CAUSES)
    codes = Counter(deaths()["cause"].to_pylist())
    counts = np.array([[codes[name] for name in names]])
    assert names[int(Mode(candidates=len(names)).release(counts, 1, ContributionBounds()).value[0])] == "U071"


def test_previews_name_the_mechanism() -> None:
    (pure,), (composed,) = (Mode(candidates=49).explain(1, ContributionBounds(), pure=pure) for pure in (True, False))
    assert "permute-and-flip" in pure
    assert "the exponential mechanism" in composed
    assert "the exponential mechanism" in Mode(candidates=49).explain(None, ContributionBounds(), rho=1)[0]


def test_it_says_what_it_is() -> None:
    choice = Mode(candidates=3)
    assert (choice.width, choice.axes, choice.bin_width, choice.quantities) == (3, (), 1, ("mode",))


def test_candidates_must_be_a_number_of_them() -> None:
    cases: list[Any] = [0, -1, 2.0, True]
    for wrong in cases:
        with pytest.raises(ParameterError, match="candidates must be"):
            Mode(candidates=wrong)
