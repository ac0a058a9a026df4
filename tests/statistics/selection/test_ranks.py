"""Quantiles: exactly the law of the recursion, near the truth on real ages, NumPy's answer when epsilon is large."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from celosia.core import (
    ExponentialEvent,
    InputError,
    ParameterError,
    RepeatedEvent,
    ReplaceOne,
)
from celosia.data import deaths
from celosia.data.schema.axis import Axis, axis_between
from celosia.noise import Seeded
from celosia.statistics import ContributionBounds, Quantiles, bins_for
from celosia.statistics.selection.splitting import problems
from celosia.testing.distributions import chi_square
from tests.statistics.recursion import Recursion

AGES = Axis(0, 120, Fraction(1))
DECILES = tuple(Fraction(i, 10) for i in range(1, 10))


def line(bins: int) -> Axis:
    return Axis(0, bins - 1, Fraction(1))


def cells(counts: list[int], number: int) -> NDArray[np.int64]:
    return np.repeat(np.array([counts], dtype=np.int64), number, axis=0)


@pytest.fixture(scope="module")
def ages() -> NDArray[np.int64]:
    """A hundred thousand ages at death."""
    column: NDArray[np.int64] = deaths()["age"].to_numpy().astype(np.int64)
    return np.random.default_rng(5).permutation(column)[:100_000]


# ------------------------------------------------------------------------------------------------------------ the law


@pytest.mark.parametrize(
    ("asked", "counts", "epsilon"),
    [
        (("1/2",), [3, 0, 5, 1], 1),
        (("1/3", "2/3"), [4, 0, 5], 3),
        (("1/4", "1/2", "3/4"), [6, 9, 0], 4),
        (("0", "1/2", "1"), [0, 12, 3], 6),
        (("0",), [0, 0, 2, 9], 2),
        (("9/10", "1/10"), [0, 0, 0], 2),
    ],
)
def test_answers_have_exactly_the_law_of_the_recursion(asked: tuple[str, ...], counts: list[int], epsilon: int) -> None:
    choice, bounding = Quantiles(axis=line(len(counts)), quantiles=asked), ContributionBounds(cells=40_000)
    chosen = choice.release(cells(counts, 40_000), epsilon, bounding, source=Seeded(1)).value
    chosen = np.sort(chosen, axis=1)
    drawn = np.ravel_multi_index(tuple(chosen.T), (len(counts),) * len(asked))

    def p_value(each: Fraction) -> float:
        law = Recursion(choice, each, bounding, points=64).answers(np.array(counts))
        masses = np.zeros(len(counts) ** len(asked))
        for bins, mass in law.items():
            masses[np.ravel_multi_index(bins, (len(counts),) * len(asked))] = mass
        return chi_square(np.bincount(drawn, minlength=masses.size), masses)

    each = choice.each(epsilon, bounding)
    assert p_value(each) > 1e-6
    if sum(counts):
        assert p_value(each * 2) < 1e-6  # the missing factor two


def test_a_rate_that_is_ten_per_cent_off_would_show() -> None:
    choice, bounding = Quantiles(axis=line(3), quantiles=("1/2",)), ContributionBounds(cells=100_000)
    chosen = choice.release(cells([4, 9, 2], 100_000), 1, bounding, source=Seeded(2)).value[:, 0]
    for factor, fits in ((1, True), (1.1, False), (1 / 1.1, False)):
        each = choice.each(1, bounding) * Fraction(factor)
        law = Recursion(choice, each, bounding, points=64).answers(np.array([4, 9, 2]))
        masses = [law[(place,)] for place in range(3)]
        assert (chi_square(np.bincount(chosen, minlength=3), masses) > 1e-6) is fits


def test_wide_bins_are_chosen_with_the_same_law_and_their_points_evenly_where_nothing_else_decides() -> None:
    choice, bounding = (
        Quantiles(axis=Axis(0, 191, Fraction(1)), quantiles=("1/2",), bins=3),
        ContributionBounds(cells=40_000),
    )
    assert (choice.bin_width, choice.width) == (64, 3)
    chosen = choice.release(cells([3, 0, 3], 40_000), 1, bounding, source=Seeded(3)).value[:, 0]
    law = Recursion(choice, choice.each(1, bounding), bounding, points=64).answers(np.array([3, 0, 3]))
    assert chi_square(np.bincount(chosen // 64, minlength=3), [law[(place,)] for place in range(3)]) > 1e-6
    middle = chosen[chosen // 64 == 1] - 64
    assert chi_square(np.bincount(middle, minlength=64), [1 / 64] * 64) > 1e-6


def test_every_cell_has_its_own_answer() -> None:
    counts = np.zeros((1000, 121), dtype=np.int64)
    truth = np.arange(1000) % 121
    counts[np.arange(1000), truth] = 1000
    chosen = (
        Quantiles(axis=AGES, quantiles=("1/4", "1/2", "3/4")).release(counts, 1, ContributionBounds(cells=1000)).value
    )
    assert (chosen == truth[:, None]).all()


def test_many_cells_go_through_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("celosia.statistics.base.choice._MAX_BATCH_COUNTS", 500)
    test_every_cell_has_its_own_answer()


def test_no_cells_have_no_answers() -> None:
    choice = Quantiles(axis=AGES, quantiles=DECILES)
    assert choice.release(np.empty((0, 121), dtype=np.int64), 1, ContributionBounds()).value.shape == (0, 9)


# --------------------------------------------------------------------------------------------------------- the truth


def test_all_deciles_of_a_hundred_thousand_ages_are_within_a_year(ages: NDArray[np.int64]) -> None:
    runs = cells(np.bincount(ages, minlength=121).tolist(), 400)
    chosen = Quantiles(axis=AGES, quantiles=DECILES).release(runs, 1, ContributionBounds(), source=Seeded(4)).value
    truth = np.quantile(ages, [float(q) for q in DECILES], method="inverted_cdf")
    assert (np.abs(chosen - truth).max(axis=1) <= 1).mean() >= 0.95


def test_real_numbers_are_found_finer_than_their_bins() -> None:
    values = np.random.default_rng(6).lognormal(3, 1, 100_000).clip(0, 300)
    axis = axis_between(0, 300)
    choice = Quantiles(axis=axis, quantiles=DECILES)
    steps = np.floor(values / float(axis.grid) + 0.5).astype(np.int64) - axis.lowest
    counts = np.bincount(steps // choice.bin_width, minlength=choice.width)[None]
    chosen = choice.release(counts, 1, ContributionBounds(), source=Seeded(5)).value[0]
    ranks = np.searchsorted(np.sort(values), chosen)
    assert np.abs(ranks - 10_000 * np.arange(1, 10)).max() < 100
    assert choice.bin_width * float(axis.grid) < 0.005


@settings(max_examples=60)
@given(
    rows=st.lists(st.integers(0, 40), min_size=1, max_size=300),
    q=st.fractions(min_value=0, max_value=1, max_denominator=50).filter(lambda q: 0 < q < 1),
)
def test_with_a_large_epsilon_it_is_numpys_quantile(rows: list[int], q: Fraction) -> None:
    counts = np.bincount(rows, minlength=41)[None]
    chosen = Quantiles(axis=line(41), quantiles=(q,)).release(counts, 2**16, ContributionBounds()).value[0, 0]
    ordered = np.sort(rows)
    least = ordered[math.ceil(q * len(rows)) - 1]
    most = ordered[math.floor(q * len(rows))] if (q * len(rows)).denominator == 1 else least
    assert least <= chosen <= most
    if math.ceil(q * len(rows)) == round(float(q) * len(rows) + 0.4999):  # where a double says the same
        assert least <= np.quantile(rows, float(q), method="inverted_cdf") <= most


@settings(max_examples=60)
@given(
    rows=st.lists(st.integers(0, 12), min_size=1, max_size=200),
    asked=st.lists(st.fractions(min_value=0, max_value=1, max_denominator=20), min_size=1, max_size=9),
    epsilon=st.sampled_from(["1e-3", 1, 2**16]),
    seed=st.integers(0, 2**32),
)
def test_answers_never_cross_and_come_in_the_order_of_the_question(
    rows: list[int], asked: list[Fraction], epsilon: int | str, seed: int
) -> None:
    counts = np.bincount(rows, minlength=13)[None]
    choice = Quantiles(axis=line(13), quantiles=tuple(asked))
    chosen = choice.release(counts, epsilon, ContributionBounds(), source=Seeded(seed)).value[0].tolist()
    assert all(0 <= value <= 12 for value in chosen)
    pairs = sorted(zip(asked, chosen, strict=True))
    assert [value for _, value in pairs] == sorted(chosen)
    assert len({value for q, value in pairs if q == pairs[0][0]}) == 1
    if epsilon == 2**16:  # near the truth, but for ties that are cut into 64 points on each level
        n, edges = len(rows), np.concatenate([[0], np.cumsum(counts[0])])
        slack = Fraction(int(counts.max()) * choice.parts(ContributionBounds()), 64)
        for q, value in zip(asked, chosen, strict=True):
            if 0 < q < 1:
                assert edges[value] - slack <= q * n <= edges[value + 1] + slack


def test_ties_are_cut_where_the_rows_say_so() -> None:
    values = np.repeat([0, 10, 20, 30, 40], [60_000, 10_000, 10_000, 10_000, 10_000])
    counts = np.bincount(values + 50, minlength=101)
    asked = tuple(Fraction(i, 20) for i in range(1, 20) if i % 2)  # none at a jump
    choice = Quantiles(axis=Axis(-50, 50, Fraction(1)), quantiles=asked)
    chosen = choice.release(cells(counts.tolist(), 50), 1, ContributionBounds(), source=Seeded(7)).value
    assert (chosen == np.quantile(values, [float(q) for q in asked], method="inverted_cdf")).all()


# ----------------------------------------------------------------------------------------------- minimum and maximum


@pytest.mark.parametrize(("q", "end"), [("0", 30), ("1", 90)])
def test_an_end_is_found_among_many_empty_values(q: str, end: int) -> None:
    axis = line(10_001)
    counts = np.zeros(10_001, dtype=np.int64)
    counts[30:91] = 50
    runs = cells(counts.tolist(), 300)
    chosen = Quantiles(axis=axis, quantiles=(q,)).release(runs, 1, ContributionBounds(), source=Seeded(8)).value[:, 0]
    assert (np.abs(chosen - end) <= 1).mean() >= 0.97


def test_an_end_that_is_a_heavy_tie_is_found() -> None:
    counts = [0] * 100 + [60_000] + [400] * 100
    for asked in (("0",), ("0", "1/2", "1")):
        chosen = Quantiles(axis=line(201), quantiles=asked).release(
            cells(counts, 300), 1, ContributionBounds(), source=Seeded(9)
        )
        assert (chosen.value[:, 0] == 100).mean() >= 0.97


def test_with_few_rows_an_end_is_looked_for_in_their_middle() -> None:
    counts = [0] * 50 + [4] + [0] * 50
    law = Recursion(Quantiles(axis=line(101), quantiles=("0",)), Fraction(2), ContributionBounds(), points=1).answers(
        np.array(counts)
    )
    assert max(law, key=lambda place: law[place]) == (50,)
    assert law[(0,)] == pytest.approx(law[(100,)])  # neither side is favoured


# ------------------------------------------------------------------------------------------------ price and previews


def test_the_event_is_one_selection_for_each_level_and_group() -> None:
    choice = Quantiles(axis=AGES, quantiles=DECILES)
    assert choice.parts(ContributionBounds()) == 4
    assert choice.event(1, ContributionBounds()) == RepeatedEvent(event=ExponentialEvent(epsilon="1/4"), times=4)
    people = ContributionBounds(groups=3, rows=2, cells=32, unit="person", adjacency=ReplaceOne)
    once = ExponentialEvent(epsilon="1/12", adjacency=ReplaceOne, unit="person")
    assert choice.event(1, people) == RepeatedEvent(event=once, times=12)
    assert choice.event(None, ContributionBounds(), rho="1/2") == RepeatedEvent(
        event=ExponentialEvent(epsilon=1), times=4
    )
    median = Quantiles(axis=AGES, quantiles=("1/2", "1/2"))
    assert median.event(1, ContributionBounds(), pure=True) == median.event(1, ContributionBounds(), pure=False)
    assert median.event(1, ContributionBounds()) == ExponentialEvent(epsilon=1)


@pytest.mark.parametrize(
    ("bounding", "alone", "among"),
    [
        (ContributionBounds(rows=3), 2, 2),
        (ContributionBounds(rows=3, cells=9), 2, 2),
        (ContributionBounds(rows=3, adjacency=ReplaceOne), 3, 4),
        (ContributionBounds(rows=3, adjacency=ReplaceOne, cells=9), 4, 4),
    ],
)
def test_sensitivities_are_those_of_the_proof(bounding: ContributionBounds, alone: int, among: int) -> None:
    third = Quantiles(axis=AGES, quantiles=("1/3",))
    assert third.sensitivity(problems(third.quantiles)[0][0], bounding) == alone
    sevenths = Quantiles(axis=AGES, quantiles=tuple(Fraction(i, 6) for i in range(1, 6)))
    problem = next(p for level in problems(sevenths.quantiles) for p in level if p.share == Fraction(2, 3))
    assert sevenths.sensitivity(problem, bounding) == among


@pytest.mark.parametrize("interval", [False, True])
def test_the_spread_is_kept_whatever_the_data(*, interval: bool) -> None:
    generator = np.random.default_rng(10)
    for asked in (("1/2",), DECILES, ("0", "1")):
        choice = Quantiles(axis=line(60), quantiles=asked, interval=interval)
        counts = generator.integers(0, 100, 60) * (generator.random(60) < 0.4)
        chosen = choice.release(cells(counts.tolist(), 400), "0.5", ContributionBounds(), source=Seeded(11)).value
        edges = np.concatenate([[0], np.cumsum(counts)])
        targets = np.array([float(q) for q in choice.quantiles]) * edges[-1]
        off = np.maximum(0, np.maximum(edges[chosen] - targets, targets - edges[chosen + 1])).max(axis=1)
        spread = choice.spread("0.5", ContributionBounds())
        assert (off <= spread).mean() >= 0.95
        assert choice.spread("0.5", ContributionBounds(), level=0.99) > spread
        assert choice.spread(1, ContributionBounds()) == pytest.approx(spread / 2, rel=0.02)
        assert choice.spread("0.5", ContributionBounds(), rows=3) == 3


def test_a_nearly_empty_budget_is_no_error() -> None:
    choice = Quantiles(axis=AGES, quantiles=("0", "1/2"))
    tiny = Fraction(1, 2**1000)
    assert math.isfinite(choice.spread(tiny, ContributionBounds()))
    assert choice.release(cells([5] * 121, 3), tiny, ContributionBounds(), source=Seeded(12)).value.shape == (3, 2)


def test_previews_say_how_and_why() -> None:
    weights = Quantiles(axis=axis_between(0, 300, "0.1"), quantiles=("0", "1/2", "1"), bins=1000)
    how, hopeless, ends, bins = weights.explain("0.5", ContributionBounds(groups=2, cells=4, unit="person"))
    assert how.startswith("3 quantiles are chosen by rank among 751 bins by the exponential mechanism in 2 rounds")
    assert "one person can move a median from 0 to 300" in hopeless
    assert "scale 1,200," in hopeless
    assert "looked for" in ends
    assert bins == "A bin is 0.4 wide; inside it rows are taken to be spread evenly."
    for q, name in (
        ("0", "The minimum is"),
        ("1/2", "The median is"),
        ("1", "The maximum is"),
        ("1/4", "The quantile"),
    ):
        assert Quantiles(axis=AGES, quantiles=(q,)).explain(1, ContributionBounds())[0].startswith(name)
    assert (
        "scale 120 / epsilon" in Quantiles(axis=AGES, quantiles=("1/2",)).explain(None, ContributionBounds(), rho=1)[1]
    )


# -------------------------------------------------------------------------------------------------------- parameters


def test_bins_are_values_as_long_as_there_is_room() -> None:
    assert bins_for(AGES) == 121
    assert bins_for(AGES, 10**6) == 4
    assert bins_for(axis_between(0, 1)) == 2**16
    assert bins_for(axis_between(0, 1), 100) == 2**22 // 100
    assert bins_for(Axis(0, 1, Fraction(1)), 10**9) == 2


@given(steps=st.integers(1, 5000), bins=st.integers(2, 300))
def test_bins_cover_the_axis(steps: int, bins: int) -> None:
    choice = Quantiles(axis=Axis(-7, steps - 7, Fraction(1)), quantiles=("1/2",), bins=bins)
    assert choice.width <= min(bins, steps + 1)
    assert (choice.width - 1) * choice.bin_width <= steps < choice.width * choice.bin_width
    assert choice.axes == (choice.axis,)
    counts = np.zeros((1, choice.width), dtype=np.int64)
    counts[0, -1] = 10_000
    top = choice.release(counts, 1, ContributionBounds(), source=Seeded(13)).value[0, 0]
    assert choice.axis.lowest + (choice.width - 1) * choice.bin_width <= top <= choice.axis.highest


def test_values_are_in_the_units_of_the_axis() -> None:
    counts = np.zeros((1, 4), dtype=np.int64)
    counts[0, 3] = 1000

    def only(axis: Axis) -> np.generic:
        value: np.generic = (
            Quantiles(axis=axis, quantiles=("1/2",)).release(counts, 1, ContributionBounds()).value[0, 0]
        )
        return value

    assert only(Axis(-3, 0, Fraction(1))) == 0
    assert only(Axis(0, 3, Fraction(1, 10))) == 0.3
    assert only(Axis(0, 3, Fraction(1024))) == 3072
    assert only(Axis(0, 3, Fraction(10**25))) == pytest.approx(3e25, rel=1e-15)
    assert only(Axis(0, 3, Fraction(1))).dtype == np.int64


def test_what_makes_no_sense_is_refused() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"quantiles": ()}, "quantiles must be 1 to 1000"),
        ({"quantiles": ("1/2",) * 1001}, "quantiles must be 1 to 1000"),
        ({"quantiles": (1.5,)}, "quantiles must be between 0 and 1"),
        ({"quantiles": (math.nan,)}, "quantiles must be a finite number"),
        ({"bins": 1}, "bins must be at least 2"),
        ({"bins": 2**22 + 1}, "bins must be at most"),
        ({"bins": 2.0}, "bins must be an integer"),
    ]
    for changes, message in cases:
        arguments: dict[str, Any] = {"axis": AGES, "quantiles": ("1/2",)} | changes
        with pytest.raises(ParameterError, match=message):
            Quantiles(**arguments)


def test_counts_must_be_a_table_of_whole_numbers() -> None:
    cases: list[Any] = [
        np.zeros((1, 120), dtype=np.int64),
        np.zeros(121, dtype=np.int64),
        np.zeros((1, 121)),
    ]
    for counts in cases:
        with pytest.raises(InputError, match="with 121 columns"):
            Quantiles(axis=AGES, quantiles=("1/2",)).release(counts, 1, ContributionBounds())
