"""Sums of moments: what one record moves, what noise leaves to be read, and public guesses where there is nothing."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.core import ParameterError
from celosia.federated.contributions import RoundSum
from celosia.federated.updates.moments.sums import MomentSums, guess_moments

VALUES = [-2.0, -1.0, -0.75, -0.5, -1e-9, 0.0, 0.3, 0.5**0.5, 1.0 - 2.0**-53, 1.0, 1e300, float("nan")]


def add(sums: MomentSums, rows: Any, targets: Any, bounds: Any = None, norm: float = 1.0) -> Any:
    """Return the sums of one party, or of those between bounds."""
    rows = np.asarray(rows, dtype=np.float64).reshape(-1, sums.columns - 1)
    found = sums.add(rows, np.asarray(targets, dtype=np.float64), np.array(bounds or [[0, len(rows)]]), norm)
    return found if bounds else found[0].astype(object)


@pytest.mark.parametrize(("counts", "grid"), [(True, 4), (False, 4), (True, 20), (True, 2**24)])
def test_no_record_moves_the_sums_further_than_is_paid_for(*, counts: bool, grid: int) -> None:
    """All pairs of extreme records: one that is added, and one in another's place, which is one removed and added."""
    sums = MomentSums(columns=3, counts=counts, grid=grid)
    paid, longest = sums.sensitivity_squared, 0
    assert paid == sums.length_squared * grid**2
    moved = [add(sums, record[:2], record[2:]) for record in itertools.product(VALUES, repeat=3)]
    for one in moved:
        longest = max(longest, sum(int(number) ** 2 for number in one))
    assert longest == paid  # at a corner, exactly
    for one, other in itertools.product(moved[::7], moved):
        assert sum(int(number) ** 2 for number in one - other) <= 4 * paid


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 6), st.integers(1, 2**18), st.booleans())
def test_a_neighbour_differs_by_what_its_record_moves(
    seed: int,
    columns: int,
    quarter: int,
    counts: bool,  # noqa: FBT001 - drawn
) -> None:
    sums, rng = MomentSums(columns=columns, counts=counts, grid=4 * quarter), np.random.default_rng(seed)
    rows, targets = rng.uniform(-1.2, 1.2, (8, columns - 1)), rng.uniform(-1, 1, 8)
    whole = add(sums, rows, targets)
    for place in range(8):
        moved = whole - add(sums, np.delete(rows, place, 0), np.delete(targets, place))
        assert sum(int(number) ** 2 for number in moved) <= sums.sensitivity_squared
        assert np.array_equal(moved, add(sums, rows[place], targets[[place]]))


def test_sums_are_those_of_columns_and_squares() -> None:
    rng = np.random.default_rng(1)
    rows, targets = rng.uniform(-1, 1, (50, 2)), rng.uniform(-1, 1, 50)
    sums, columns = MomentSums(columns=3, counts=True, grid=2**20), np.column_stack([rows, targets])
    first, none, rest = add(sums, rows / 3, targets, [[0, 30], [30, 30], [30, 50]], norm=3.0)
    assert not none.any()
    assert np.array_equal(first + rest, add(sums, rows / 3, targets, norm=3.0).astype(np.int64))
    assert first[0] == 30 * sums.weight * sums.grid
    assert first[1:4] / sums.grid == pytest.approx(columns[:30].sum(axis=0), abs=1e-4)
    assert first[4:] / sums.grid == pytest.approx((columns[:30] ** 2 - 0.5).sum(axis=0) / 2, abs=1e-4)


@given(st.integers(1, 200), st.booleans(), st.fractions(min_value=Fraction(10**4), max_value=Fraction(10**30)))
def test_the_grid_is_the_finest_that_is_paid_for(columns: int, counts: bool, longest: Fraction) -> None:  # noqa: FBT001
    sums = MomentSums.fit(columns=columns, counts=counts, longest=longest)
    assert sums.grid % 4 == 0
    assert sums.sensitivity_squared <= longest
    finer = MomentSums(columns=columns, counts=counts, grid=sums.grid + 4)
    assert finer.sensitivity_squared > longest or sums.grid == 2**24


def test_a_budget_for_no_grid_is_refused() -> None:
    with pytest.raises(ParameterError, match="target"):
        MomentSums.fit(columns=3, counts=True, longest=Fraction(10))


# ----------------------------------------------------------------------------------------------- what is read from them


def make_round(sums: MomentSums, parties: list[Any], *, seen: bool = True, **given_: Any) -> RoundSum:
    found = {str(place): add(sums, *party) for place, party in enumerate(parties)}
    parts = {name: one.astype(np.int64) for name, one in found.items()} if seen else {}
    return RoundSum(total=sum(found.values()), accepted=tuple(found), rejected={}, parts=parts, **given_)


def make_parties(*sizes: int) -> list[Any]:
    rng = np.random.default_rng(2)
    rows = [rng.normal([0.5, -0.2], [0.1, 0.3], (size, 2)).clip(-1, 1) for size in sizes]
    return [(one, one @ [0.5, 0.5]) for one in rows]


def test_without_noise_moments_are_those_of_the_records() -> None:
    sums, parties = MomentSums(columns=3, counts=True, grid=2**20), make_parties(400, 100, 1000)
    moments = sums.read(make_round(sums, parties), None, [0, 1, 3], 4, 1.0)
    columns = np.column_stack([np.concatenate([rows for rows, _ in parties]), np.concatenate([y for _, y in parties])])
    assert moments.centres == pytest.approx(columns.mean(axis=0), abs=1e-3)
    assert moments.spreads == pytest.approx(columns.std(axis=0), abs=1e-3)
    assert moments.sizes == pytest.approx([400, 100, 500, 1000], rel=1e-3)  # who was not asked is as large as the mean
    assert moments.loudness == pytest.approx(3 / 1500**2)


def test_public_sizes_and_hidden_parts_are_used_as_they_are() -> None:
    counted, plain = MomentSums(columns=3, counts=True, grid=2**20), MomentSums(columns=3, counts=False, grid=2**20)
    parties = make_parties(400, 100)
    hidden = counted.read(make_round(counted, parties, seen=False), None, [0, 1], 2, 1.0)
    assert hidden.sizes == pytest.approx([250, 250], rel=1e-6)
    told = plain.read(make_round(plain, parties, spread=Fraction(7)), np.array([400.0, 100.0]), [0, 1], 2, 1.0)
    assert told.sizes.tolist() == [400, 100]
    assert told.loudness == 7 / 500**2
    assert told.centres == pytest.approx(hidden.centres, abs=1e-6)


def test_what_noise_hides_is_guessed() -> None:
    sums = MomentSums(columns=3, counts=True, grid=2**10)
    found = make_round(sums, make_parties(50, 60))
    moments = sums.read(found, None, [0, 1], 2, 1e9)
    guessed = guess_moments(None, 2, 3)
    assert moments.centres == pytest.approx(guessed.centres, abs=1e-2)
    assert moments.spreads == pytest.approx(guessed.spreads, rel=0.3)
    assert np.ptp(moments.sizes) == 0  # how they differ is hidden


@given(st.lists(st.integers(-(2**62), 2**62), min_size=7, max_size=7), st.floats(0, 1e12), st.booleans())
def test_whatever_is_sent_moments_are_usable(numbers: list[int], noise: float, seen: bool) -> None:  # noqa: FBT001
    sums = MomentSums(columns=3, counts=True, grid=2**10)
    parts = {"a": np.array(numbers), "b": np.array(numbers[::-1])} if seen else {}
    total = np.array(numbers, dtype=object) + np.array(numbers[::-1], dtype=object)
    found = RoundSum(total=total, accepted=("a", "b"), rejected={}, parts=parts)
    moments = sums.read(found, None, [0, 1], 3, noise)
    assert np.isfinite(moments.sizes).all()
    assert (moments.sizes > 0).all()
    assert moments.loudness > 0
    assert np.abs(moments.centres).max() <= 1
    assert (moments.spreads > 0.01).all()
    assert (moments.spreads <= 1).all()
