"""The law of a value that nobody holds, against draws from the cells of each row."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

from celosia.local.base.null_law import MAX_OWN_LAWS, NullLaw, TableLaws
from celosia.sketches.hashing.family import HashFamily

if TYPE_CHECKING:
    from numpy.typing import NDArray

DRAWN = 100_000


def table_of(rows: int, width: int, chance: float, together: float, seed: int = 1) -> NDArray[np.int64]:
    """Chance hits everywhere, and one cell of each row with many more."""
    rng = np.random.default_rng(seed)
    table = rng.poisson(chance, (rows, width)).astype(np.int64)
    table[np.arange(rows), rng.integers(0, width, rows)] += rng.poisson(together, rows)
    return table


def draw_sums(table: NDArray[np.int64], seed: int = 2) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    sums = np.full(DRAWN, -float(table.mean(axis=1).sum()))
    for row in table:
        sums += row[rng.integers(0, row.size, DRAWN)]
    return sums


@pytest.mark.parametrize(
    ("rows", "width", "chance", "together"),
    [(64, 1024, 3.0, 0.0), (64, 1024, 0.3, 30.0), (64, 256, 0.003, 30.0), (128, 16, 0.1, 0.0), (3, 8, 2.0, 9.0)],
)
def test_quantiles_are_passed_as_rarely_as_is_said(rows: int, width: int, chance: float, together: float) -> None:
    table = table_of(rows, width, chance, together)
    law, sums = NullLaw.of(table, scale=1.0), draw_sums(table)
    assert math.sqrt(law.variance) == pytest.approx(float(sums.std()), rel=0.02)
    for rare in (0.025, 1e-3):
        above = int((sums > law.quantile(rare)).sum())
        below = int((sums < law.quantile(rare, lower=True)).sum())
        allowed = rare if rows > 3 else 1.2 * rare  # rows that differ, and few of them: pooling is no bound
        for passed in (above, below):
            assert stats.binomtest(passed, DRAWN, allowed, alternative="greater").pvalue > 1e-7


def test_quantiles_are_not_far_from_the_largest_that_hold() -> None:
    for together in (0.0, 30.0):
        table = table_of(64, 1024, 3.0, together)
        law, sums = NullLaw.of(table, scale=1.0), draw_sums(table)
        for rare in (0.025, 1e-3):
            exact = float(np.quantile(sums, 1 - rare))
            assert law.quantile(rare) - exact < 0.1 * float(sums.std()) + 1.0


def test_far_tails_are_those_of_a_binomial() -> None:
    """One hit in each row of so many cells: the sum is binomial, its tail known to any depth."""
    table = np.zeros((50, 20), dtype=np.int64)
    table[:, 0] = 1
    law = NullLaw.of(table, scale=1.0)
    for rare in (1e-3, 1e-9, 1e-15, 1e-30):
        known = int(np.flatnonzero(stats.binom(50, 0.05).sf(np.arange(51)) <= rare)[0]) - 2.5
        assert known <= law.quantile(rare) <= known + 0.7
    assert law.quantile(1e-70) == pytest.approx(47.5, abs=0.6)  # all rows: less is possible, more is not


def test_counts_are_scaled_and_moved() -> None:
    table = table_of(8, 16, 1.0, 5.0)
    law = NullLaw.of(table, scale=1.0)
    other = NullLaw.of(table, scale=3.0, offset=7.0)
    assert other.quantile(0.01) == pytest.approx(7 + 3 * law.quantile(0.01))
    assert other.variance == pytest.approx(9 * law.variance)


def test_a_law_of_nothing_is_a_point() -> None:
    law = NullLaw.of(np.full((3, 5), 4), scale=2.0, offset=1.0)
    assert (law.quantile(0.01), law.quantile(0.01, lower=True), law.variance) == (1.0, 1.0, 0.0)


def test_what_own_holders_add_is_left_out() -> None:
    rng = np.random.default_rng(3)
    others = rng.poisson(1.0, (64, 128)).astype(np.int64)
    family, digests = HashFamily(64, 128, seed=5), np.arange(40, dtype=np.uint64)
    table, rows = others.copy(), np.arange(64)
    table[rows, family.table(digests[:1])[:, 0]] += 100
    laws = TableLaws.of(table, family, digests, np.arange(40.0)[::-1], scale=1.0)
    assert laws is not None
    assert list(laws.others) == [0]  # all others have too little of their own
    assert laws.others[0].variance == pytest.approx(NullLaw.of(others, scale=1.0).variance, rel=0.05)
    assert laws.null.variance > 50 * laws.others[0].variance
    assert list(laws.take(np.array([7, 0])).others) == [1]
    errors = np.full(40, math.sqrt(laws.others[0].variance))
    reach = laws.reach(errors, 0.025, 1.96, lower=False)
    assert reach[0] == pytest.approx(1.96 * errors[0], rel=0.15)
    assert reach[1] > 5 * reach[0]
    assert MAX_OWN_LAWS < 40


def test_own_coins_are_added() -> None:
    law = NullLaw.of(table_of(16, 64, 4.0, 0.0), scale=1.0)
    laws = TableLaws(null=law)
    errors = np.sqrt(np.array([law.variance, 9 * law.variance]))
    plain, wide = laws.reach(errors, 1e-3, 3.09, lower=False)
    assert wide == pytest.approx(math.sqrt(plain**2 + 8 * 3.09**2 * law.variance))


def test_beyond_all_measure_there_is_no_law() -> None:
    family = HashFamily(2, 4, seed=7)
    found = TableLaws.of(np.ones((2, 4), dtype=np.int64), family, np.zeros(1, np.uint64), np.zeros(1), scale=2.0**101)
    assert found is None


def test_a_law_without_jumps_would_be_seen() -> None:
    """The mutant: large cells cut off, as a law with the same hits but independent ones would have it."""
    table = table_of(64, 1024, 0.3, 30.0)
    law, sums = NullLaw.of(table, scale=1.0), draw_sums(table)
    cut = NullLaw.of(np.minimum(table, 3), scale=1.0)
    stretched = replace(cut, scale=math.sqrt(law.variance / cut.variance))  # the same variance
    passed = int((sums > stretched.quantile(1e-3)).sum())
    assert stats.binomtest(passed, DRAWN, 1e-3, alternative="greater").pvalue < 1e-9
