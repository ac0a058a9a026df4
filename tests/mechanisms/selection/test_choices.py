"""Choices in every row of a table: exactly the laws of the single choices, whatever the path that decides."""

import itertools
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray

from celosia.core import ParameterError, Source
from celosia.mechanisms.selection import choices
from celosia.mechanisms.selection.choices import choose_each, choose_in_segments, flip_each
from celosia.mechanisms.selection.permute_and_flip import flip_log_masses
from celosia.noise import Seeded
from celosia.noise.decide import Enclosure, below
from celosia.testing.distributions import chi_square

if TYPE_CHECKING:
    from collections.abc import Callable

DRAWS = 40_000

Integers = NDArray[np.int64]


def softmax(gaps: Integers, rate: float) -> NDArray[np.float64]:
    weights = np.exp(-rate * (gaps - gaps.min()))
    return np.asarray(weights / weights.sum())


def table(gaps: list[int], rows: int = DRAWS) -> Integers:
    return np.repeat(np.array([gaps], dtype=np.int64), rows, axis=0)


GAPS = [[0, 4], [3, 1, 4, 1, 5, 9, 2, 6], [7, 7, 7], [0, 0, 10**9, 2**62]]


def test_columns_have_exponential_weights() -> None:
    for gaps in GAPS:
        drawn = np.bincount(choose_each("1/2", table(gaps), source=Seeded(1)), minlength=len(gaps))
        assert chi_square(drawn, softmax(np.array(gaps), 0.5)) > 1e-6


def test_a_rate_that_is_ten_per_cent_off_would_show() -> None:
    cases: list[float] = [1.1, 1 / 1.1, 2]
    for factor in cases:
        drawn = np.bincount(choose_each("1/2", table([0, 4]), source=Seeded(1)), minlength=2)
        assert chi_square(drawn, softmax(np.array([0, 4]), 0.5 * factor)) < 1e-6
        flipped = np.bincount(flip_each("1/2", table([0, 2]), source=Seeded(1)), minlength=2)
        assert chi_square(flipped, np.exp(flip_log_masses(Fraction(factor / 2), np.array([0, 2])))) < 1e-6


def test_flipped_columns_have_the_law_of_permute_and_flip() -> None:
    for gaps in GAPS:
        drawn = np.bincount(flip_each("1/2", table(gaps), source=Seeded(2)), minlength=len(gaps))
        least = np.array(gaps) - min(gaps)
        assert chi_square(drawn, np.exp(flip_log_masses(Fraction(1, 2), least))) > 1e-6


SEGMENTS = np.array([[0, 1, 2, 3], [5, 4, -1, -1], [9, -1, -1, -1], [-1, 2, 2, 7]], dtype=np.int64)


def segments(loose: float, rows: int = DRAWS) -> tuple[Integers, NDArray[np.float64]]:
    """The least gaps, and covers that are so much too large."""
    present = SEGMENTS >= 0
    least = np.where(present, SEGMENTS, 2**40).min(axis=1)
    crowds = (np.where(present, np.exp(-(SEGMENTS - least[:, None]) / 2.0), 0)).sum(axis=1) * loose
    return np.repeat(least[None], rows, axis=0), np.repeat(crowds[None], rows, axis=0)


def test_points_of_segments_have_exponential_weights_however_loose_the_covers() -> None:
    for loose in (1.0, 1.7, 8.0):
        least, crowds = segments(loose)

        def inside(_rows: Integers, chosen: Integers) -> Integers:
            return np.asarray(SEGMENTS[chosen])

        chosen, points = choose_in_segments("1/2", least, crowds, inside, points=4, source=Seeded(3))
        drawn = np.bincount(4 * chosen + points, minlength=16)
        flat = SEGMENTS.ravel()
        masses = np.zeros(16)
        masses[flat >= 0] = softmax(flat[flat >= 0], 0.5)
        assert chi_square(drawn, masses) > 1e-6
        masses[flat >= 0] = softmax(flat[flat >= 0], 0.55)
        assert chi_square(drawn, masses) < 1e-6


def test_covers_that_are_too_tight_would_show() -> None:
    least, crowds = segments(0.5)
    chosen, points = choose_in_segments(
        "1/2", least, crowds, lambda _, chosen: np.asarray(SEGMENTS[chosen]), points=4, source=Seeded(3)
    )
    flat = SEGMENTS.ravel()
    masses = np.zeros(16)
    masses[flat >= 0] = softmax(flat[flat >= 0], 0.5)
    assert chi_square(np.bincount(4 * chosen + points, minlength=16), masses) < 1e-6


def test_the_exact_last_step_keeps_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        choices, "_SLACK", 0.25
    )  # floating point is hardly trusted: integers decide a third of the coins
    decided = []

    def counted(prefix: int, bits: int, probability: Enclosure, source: Source) -> bool:
        decided.append(True)
        return below(prefix, bits, probability, source)

    monkeypatch.setattr(choices, "below", counted)
    gaps = [3, 1, 4, 1, 5]
    drawn = np.bincount(choose_each("1/2", table(gaps, 4000), source=Seeded(4)), minlength=5)
    assert chi_square(drawn, softmax(np.array(gaps), 0.5)) > 1e-6
    assert len(decided) > 1000


def test_rows_are_independent_of_each_other() -> None:
    gaps = np.array(list(itertools.product([0, 2], repeat=2)) * 10_000, dtype=np.int64)
    drawn = choose_each(1, gaps, source=Seeded(5)).reshape(-1, 4)
    for row, law in enumerate([0.5, 1 - 1 / (1 + np.exp(2.0)), 1 / (1 + np.exp(2.0)), 0.5]):
        zero = int((drawn[:, row] == 0).sum())
        assert chi_square([zero, 10_000 - zero], [law, 1 - law]) > 1e-6
    pairs = np.bincount(drawn[:, 0] * 2 + drawn[:, 3], minlength=4)
    assert chi_square(pairs, [0.25] * 4) > 1e-6


def test_only_what_is_allowed_is_chosen() -> None:
    cases: list[Callable[..., Integers]] = [choose_each, flip_each]
    for choose in cases:
        gaps = table([0, 1, 5, 6], 2000)
        allowed = np.zeros(gaps.shape, dtype=np.bool_)
        allowed[:, 2:] = True
        drawn = choose("1/2", gaps, allowed=allowed, source=Seeded(6))
        assert set(drawn.tolist()) == {2, 3}
        odds = np.exp(flip_log_masses(Fraction(1, 2), np.array([0, 1])))
        law = odds if choose is flip_each else softmax(np.array([0, 1]), 0.5)
        assert chi_square(np.bincount(drawn - 2, minlength=2), law) > 1e-6


def test_any_rate_is_drawn() -> None:
    choose_cases: list[Callable[..., Integers]] = [choose_each, flip_each]
    rate_cases: list[int | Fraction] = [2**1000, Fraction(1, 2**1000)]
    for choose, rate in product(choose_cases, rate_cases):
        drawn = choose(rate, table([0, 1, 2**62], 300), source=Seeded(7))
        assert set(drawn.tolist()) == ({0} if rate > 1 else {0, 1, 2})


def test_no_rows_are_no_choices() -> None:
    cases: list[Callable[..., Integers]] = [choose_each, flip_each]
    for choose in cases:
        assert choose(1, np.empty((0, 3), dtype=np.int64)).tolist() == []


def test_numbers_below_a_bound_are_uniform() -> None:
    cases: list[int] = [1, 2, 3, 5, 2**40 + 1, 2**53 + 1, 2**60, 2**60 + 1, 2**61 - 1]
    for size in cases:
        drawn = choices._below_each(np.full(8_000, size, dtype=np.int64), Seeded(8))
        assert int(drawn.min()) >= 0
        assert int(drawn.max()) < size
        cells = min(size, 8)
        edges = [-(-size * i // cells) for i in range(cells + 1)]
        counts = [int(((drawn >= low) & (drawn < high)).sum()) for low, high in itertools.pairwise(edges)]
        assert chi_square(counts, [(high - low) / size for low, high in itertools.pairwise(edges)]) > 1e-6


def test_what_is_no_table_of_gaps_is_refused() -> None:
    cases: list[Integers] = [
        np.array([0, 1]),
        np.array([[0.0, 1.0]]),
        np.array([[0, -1]]),
        np.empty((2, 0), dtype=np.int64),
    ]
    for gaps in cases:
        with pytest.raises(ParameterError, match="gaps must be"):
            choose_each(1, gaps)
        with pytest.raises(ParameterError, match="gaps must be"):
            flip_each(1, gaps)


def test_a_row_without_anything_to_choose_is_refused() -> None:
    with pytest.raises(ParameterError, match="an allowed column"):
        choose_each(1, np.array([[0, 1]]), allowed=np.array([[False, False]]))
    with pytest.raises(ParameterError, match="rate must be greater than 0"):
        choose_each(0, np.array([[0, 1]]))
