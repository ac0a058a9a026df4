"""Ends of intervals for quantiles: their exact law, its privacy, and that they hold the truth as often as they say.

Laws are worked out from their definition (``recursion``): what a neighbour changes and how often an end is on the wrong
side are computed, not sampled.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from celosia.core import AddRemove, Adjacency, ExponentialEvent, RepeatedEvent, ReplaceOne
from celosia.data.schema.axis import Axis
from celosia.noise import Seeded
from celosia.statistics import ContributionBounds, Quantiles
from celosia.statistics.selection.quantile_ends import LEVEL, _error, choose_ends, rows_beyond
from celosia.statistics.selection.splitting import Line, Problem, problems
from celosia.testing.distributions import chi_square
from tests.statistics.recursion import Extremes, LowEnds

Table = NDArray[np.int64]
DECILES = tuple(Fraction(i, 10) for i in range(1, 10))


def asked(*shares: str, bins: int) -> Quantiles:
    return Quantiles(axis=Axis(0, bins - 1, Fraction(1)), quantiles=shares, interval=True)


def table(rows: dict[int, int], bins: int) -> Table:
    counts = np.zeros(bins, dtype=np.int64)
    counts[list(rows)] = list(rows.values())
    return counts


def low_law(choice: Quantiles, each: Fraction, *, part: float = 1, slack: int = 1, points: int = 64) -> LowEnds:
    """The law of lower ends with the shift that is stated, or a part of it."""
    bounding = ContributionBounds()
    levels = len(problems(choice._inner, down=True))

    def shift(problem: Problem) -> int:
        own = _error(problem, lambda one: choice._rate(one, each, bounding), choice.width, levels)
        return math.ceil(part * (math.ceil(own) + slack))

    return LowEnds(choice, each, bounding, points=points, shift=shift)


# ---------------------------------------------------------------------------------------------------------- the law


@pytest.mark.parametrize(
    ("shares", "counts", "epsilon"),
    [
        (("1/2",), [30, 0, 50, 10], 1),
        (("1/3", "2/3"), [20, 0, 25], 6),
        (("1/4", "1/2", "3/4"), [26, 9, 0], 24),
        (("1/2",), [0, 0, 0], 2),
        (("1/10", "9/10"), [3, 1, 1], 2),
    ],
)
def test_ends_have_exactly_the_law_of_the_definition(shares: tuple[str, ...], counts: list[int], epsilon: int) -> None:
    choice, each = asked(*shares, bins=len(counts)), Fraction(epsilon)
    runs = np.repeat(np.array([counts]), 20_000, axis=0)
    low, high = choose_ends(
        runs, choice._inner, lambda p: choice._rate(p, each, ContributionBounds()), source=Seeded(1)
    )
    mirrored = asked(*(str(1 - Fraction(share)) for share in shares), bins=len(counts))
    for drawn, law in (
        (low, low_law(choice, each).answers(np.array(counts))),
        (len(counts) - 1 - high[:, ::-1], low_law(mirrored, each, slack=2).answers(np.array(counts[::-1]))),
    ):
        shape = (len(counts),) * len(shares)
        masses = np.zeros(len(counts) ** len(shares))
        for bins, mass in law.items():
            masses[np.ravel_multi_index(bins, shape)] = mass
        found = np.bincount(np.ravel_multi_index(tuple(drawn.T), shape), minlength=masses.size)
        assert chi_square(found, masses) > 1e-6


@pytest.mark.parametrize(("counts", "points"), [([0, 12, 3, 0], 64), ([1, 40, 0, 30], 64), ([0, 0, 0], 64)])
@pytest.mark.parametrize("whole_bins", [True, False])
@pytest.mark.parametrize("share", [Fraction(0), Fraction(1)])
def test_an_extreme_has_exactly_the_law_of_the_definition(
    counts: list[int], points: int, *, whole_bins: bool, share: Fraction
) -> None:
    (problem,) = problems((share,))[0]
    line = Line(np.repeat(np.array([counts]), 20_000, axis=0), points=points)
    ends = np.zeros(20_000, dtype=np.int64), np.full(20_000, line.length)
    rate = Fraction(1, 2)
    places, enough = line.choose_extreme(problem, *ends, rate, rank=9, whole_bins=whole_bins, source=Seeded(2))
    choice = asked(str(share), bins=len(counts))
    if not whole_bins:
        choice = Quantiles(axis=Axis(0, 2 * len(counts) - 1, Fraction(1)), quantiles=(share,), bins=len(counts))
    law = Extremes(choice, Fraction(1), ContributionBounds(), points=points)
    law.rows_from_end = lambda problem: 9  # type: ignore[method-assign] # noqa: ARG005 - the same target for both
    logs, at = law.log_law(np.array(counts), problem, 0, law.end)
    half = len(at) // 2
    masses = np.zeros(2 * len(counts))
    np.add.at(masses, at // law.half + len(counts) * (np.arange(2 * half) >= half), np.exp(logs))
    drawn = np.bincount(places // line._half + len(counts) * enough, minlength=2 * len(counts))
    assert chi_square(drawn, masses) > 1e-6


# ---------------------------------------------------------------------------------------------------------- privacy

BINS = 24
ADD, ONE, MANY = (
    ContributionBounds(),
    ContributionBounds(adjacency=ReplaceOne),
    ContributionBounds(adjacency=ReplaceOne, cells=5),
)


def worst_of_ends(
    shares: tuple[str, ...], bounding: ContributionBounds, before: Table, after: Table, *, times: int = 1
) -> tuple[float, int]:
    """The loss of the lower ends alone at selections of 3, and how many of these are paid for them."""
    choice = asked(*shares, bins=len(before))
    law = LowEnds(
        choice,
        Fraction(3),
        bounding,
        points=2,
        shift=lambda _: 4,
        sensitivity=lambda problem: choice.sensitivity(problem, bounding) / times,
    )
    return law.worst(before, after), len(problems(choice._inner))


@pytest.mark.parametrize(
    ("shares", "bounding", "rows", "leaves", "enters", "least"),
    [
        (("1/2",), ADD, {3: 12, 19: 19}, None, 19, 0.93),
        (("1/2",), ONE, {0: 20, 2: 7, 9: 22}, 9, 0, 0.74),
        (("1/2",), MANY, {2: 32, 12: 9, 22: 34}, 2, 22, 0.75),
        (("1/3",), ADD, {3: 1, 12: 16}, None, 3, 0.89),
        (("1/3",), ONE, {5: 8, 17: 28, 21: 2}, 5, 21, 0.92),
        (("1/4", "1/2", "3/4"), ADD, {4: 19, 23: 28}, None, 4, 0.95),
        (("1/4", "1/2", "3/4"), MANY, {18: 7, 20: 4}, 18, 20, 0.6),
    ],
)
def test_neighbours_are_as_near_as_claimed_and_hardly_nearer(
    shares: tuple[str, ...],
    bounding: ContributionBounds,
    rows: dict[int, int],
    leaves: int | None,
    enters: int,
    least: float,
) -> None:
    before, after = table(rows, BINS), table(rows, BINS) + table({enters: 1}, BINS)
    if leaves is not None:
        before = before + table({leaves: 1}, BINS)
    loss, levels = worst_of_ends(shares, bounding, before, after)
    assert least * 3 * levels <= loss <= 3 * levels * (1 + 1e-9)


few = st.lists(st.integers(0, 5), max_size=2)


@settings(max_examples=40)
@given(
    rows=st.lists(st.integers(0, 9), min_size=6, max_size=6),
    leaves=few,
    enters=few,
    shares=st.sets(st.sampled_from(["0", "1/10", "1/3", "1/2", "9/10", "1"]), min_size=1, max_size=3),
    each=st.sampled_from([1, 4]),
    cells=st.sampled_from([1, 3]),
    shift=st.integers(0, 12),
)
def test_no_table_is_found_that_breaks_the_claim(
    *, rows: list[int], leaves: list[int], enters: list[int], shares: set[str], each: int, cells: int, shift: int
) -> None:
    choice, base = asked(*shares, bins=6), np.array(rows)
    before, after = (base + np.bincount(np.array(more, dtype=np.int64), minlength=6) for more in (leaves, enters))
    pairs: list[tuple[Adjacency, Table]] = [(AddRemove, base), (ReplaceOne, before)]
    for adjacency, one in pairs:
        bounding = ContributionBounds(rows=2, adjacency=adjacency, cells=cells)
        ends = LowEnds(choice, Fraction(each), bounding, points=2, shift=lambda _: shift)
        values = Extremes(choice, Fraction(each), bounding, points=2)
        assert ends.worst(one, after) <= each * len(choice._inner).bit_length() * (1 + 1e-9)
        assert values.worst(one, after) <= each * len(choice._sorted_quantiles).bit_length() * (1 + 1e-9)


def test_half_of_the_sensitivity_would_be_too_little() -> None:
    before = table({3: 12, 19: 19}, BINS)
    assert worst_of_ends(("1/2",), ADD, before, before + table({19: 1}, BINS), times=2)[0] > 3
    choice = asked("1", bins=BINS)
    hasty = Extremes(
        choice, Fraction(3), ADD, points=2, sensitivity=lambda problem: choice.sensitivity(problem, ADD) / 2
    )
    one, other = table({0: 39, 22: 5}, BINS), table({0: 39, 22: 6}, BINS)
    assert hasty.worst(one, other) > 3
    stated = Extremes(choice, Fraction(3), ADD, points=2)
    assert 0.95 * 3 < stated.worst(one, other) <= 3 * (1 + 1e-9)


def test_the_event_pays_for_the_ends() -> None:
    deciles = Quantiles(axis=Axis(0, 120, Fraction(1)), quantiles=DECILES, interval=True)
    assert deciles.event(1, ContributionBounds()) == RepeatedEvent(event=ExponentialEvent(epsilon="1/12"), times=12)
    ends = asked("0", "1/2", "1", bins=9)
    assert ends.parts(ContributionBounds()) == 2 + 2
    assert asked("0", "1", bins=9).parts(ContributionBounds()) == 2
    assert asked("1", bins=9).event(1, ContributionBounds()) == ExponentialEvent(epsilon=1)


# --------------------------------------------------------------------------------------------------------- coverage


def missed(choice: Quantiles, counts: Table, each: Fraction, *, part: float = 1) -> list[float]:
    """The exact probability that the lower end of each quantile has more rows below it than it may."""
    edges, rows = np.concatenate([[0], np.cumsum(counts)]), int(counts.sum())
    chances = [0.0] * len(choice._inner)
    for bins, mass in low_law(choice, each, part=part, points=2).answers(counts).items():
        for i, share in enumerate(choice._inner):
            # Bin 0 is the bound itself; any other end has at most q * n - 1 rows below it.
            chances[i] += mass * (bins[i] > 0 and edges[bins[i]] > share * rows - 1)
    return chances


@settings(max_examples=100)
@given(
    rows=st.lists(st.integers(0, 60), min_size=7, max_size=7),
    shares=st.sets(st.sampled_from(["1/100", "1/3", "1/2", "9/10"]), min_size=1, max_size=3),
    each=st.sampled_from([Fraction(1, 2), Fraction(2), Fraction(8)]),
)
def test_an_end_fails_no_more_often_than_stated(rows: list[int], shares: set[str], each: Fraction) -> None:
    assert max(missed(asked(*shares, bins=7), np.array(rows), each)) <= (1 - LEVEL) / 2


def test_a_smaller_shift_would_fail_more_often() -> None:
    empty_middle = table({0: 100, 199: 100}, 200)
    choice, each = asked("1/2", bins=200), Fraction(1)
    assert max(missed(choice, empty_middle, each)) <= (1 - LEVEL) / 2
    assert max(missed(choice, empty_middle, each, part=0.8)) > (1 - LEVEL) / 2


SKEWED = {0: 50, 1: 25, 2: 12, 3: 6, 9: 3, 40: 1}


@pytest.mark.parametrize("epsilon", ["0.2", 2, 10])
@pytest.mark.parametrize("times", [0, 1, 10, 1000])
def test_intervals_hold_the_sample_quantile_by_every_definition(epsilon: str | int, times: int) -> None:
    counts = table({place: times * rows for place, rows in SKEWED.items()}, 60)
    values = np.repeat(np.arange(60), counts)
    for shares in (("0",), ("1",), ("1/2",), ("0", "1/20", "1/2", "9/10", "1")):
        choice, runs = asked(*shares, bins=60), np.repeat(counts[None], 500, axis=0)
        found = choice.release(runs, epsilon, ContributionBounds(), source=Seeded(5))
        assert found.interval is not None
        low, high = found.interval(0.95)
        assert (low <= found.value).all()
        assert (found.value <= high).all()
        for method in ("inverted_cdf", "linear", "weibull") if times else ():
            truth = np.quantile(values, [float(Fraction(share)) for share in shares], method=method)
            assert ((low <= truth) & (truth <= high)).mean(axis=0).min() >= 0.985


def test_ends_close_in_on_the_truth_and_stay_bounds_where_there_are_few_rows() -> None:
    choice = asked("1/2", "1", bins=100)
    many, none = np.full((50, 100), 10_000), np.zeros((50, 100), dtype=np.int64)
    low, high = choice.release(many, 1, ContributionBounds(), source=Seeded(6)).interval(0.95)  # type: ignore[misc] # there is one
    assert low.min(axis=0).tolist() == [49, 99]
    assert high.max(axis=0).tolist() == [50, 99]
    low, high = choice.release(none, 1, ContributionBounds(), source=Seeded(6)).interval(0.95)  # type: ignore[misc] # there is one
    assert (low == 0).mean() > 0.9
    assert (high == 99).mean() > 0.9
    low, high = choice.release(many, 1, ContributionBounds(), source=Seeded(6)).interval(0.995)  # type: ignore[misc] # there is one
    assert (low == 0).all()
    assert (high == 99).all()


def test_a_nearly_empty_budget_leaves_the_bounds() -> None:
    choice, tiny = asked("0", "1/2", bins=9), Fraction(1, 2**200)
    estimate = choice.release(np.full((40, 9), 1000), tiny, ContributionBounds(), source=Seeded(7))
    assert estimate.interval is not None
    low, high = estimate.interval(0.95)
    assert (low == 0).all()
    assert (high == 8).all()
    assert "at most" in " ".join(choice.explain(tiny, ContributionBounds()))


@given(st.integers(2, 5000), st.fractions(min_value="1/100", max_value=5))
def test_more_rate_leaves_fewer_rows_beyond(bins: int, rate: Fraction) -> None:
    some, more = (rows_beyond((Fraction(1, 2),), lambda _, r=r: r, bins=bins) for r in (rate, 2 * rate))  # type: ignore[misc] # a default that holds the rate
    assert more <= some


@given(st.sets(st.fractions(min_value=0, max_value=1, max_denominator=10**9), max_size=9))
def test_shares_of_lower_ends_are_never_rounded_up(shares: set[Fraction]) -> None:
    ordered = tuple(sorted(share for share in {*shares, Fraction(1, 3)} if 0 < share < 1))
    for problem in (problem for level in problems(ordered, down=True) for problem in level):
        low = Fraction(0) if problem.left is None else ordered[problem.left]
        high = Fraction(1) if problem.right is None else ordered[problem.right]
        exact = (ordered[problem.number] - low) / (high - low)
        assert exact - Fraction(1, 2**16) < problem.share <= exact
        assert problem.share.denominator <= 2**16
