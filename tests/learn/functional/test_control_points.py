from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.learn.functional import control_points
from celosia.learn.functional.control_points import Extent, extent_of, range_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

    from celosia.learn.functional.control_points import RecordPolynomial

numbers = st.fractions(min_value=-3, max_value=3, max_denominator=6)
GRID = [Fraction(i, 4) for i in range(5)]


def polynomials(*, squares: bool, columns: int = 2) -> st.SearchStrategy[list[RecordPolynomial]]:
    places = [
        tuple(sorted(found))
        for size in range(4)
        for found in itertools.combinations_with_replacement(range(columns), size)
        if squares or len(set(found)) == size
    ]
    return st.lists(st.dictionaries(st.sampled_from(places), numbers, min_size=1, max_size=4), min_size=1, max_size=3)


def at(polynomial: RecordPolynomial, record: Sequence[Fraction]) -> Fraction:
    return sum(
        (number * math.prod(record[place] for place in places) for places, number in polynomial.items()), Fraction(0)
    )


def reached(found: Sequence[RecordPolynomial], records: Sequence[Sequence[Fraction]]) -> Extent:
    vectors = [[at(polynomial, record) for polynomial in found] for record in records]
    apart = [[a - b for a, b in zip(u, v, strict=True)] for u in vectors for v in vectors]
    return Extent(
        l1=max(sum(map(abs, v), Fraction(0)) for v in vectors),
        l2_squared=max(sum((a * a for a in v), Fraction(0)) for v in vectors),
        replace_l1=max(sum(map(abs, v), Fraction(0)) for v in apart),
        replace_l2_squared=max(sum((a * a for a in v), Fraction(0)) for v in apart),
    )


def not_below(bound: Extent, truth: Extent) -> bool:
    return (
        bound.l1 >= truth.l1
        and bound.l2_squared >= truth.l2_squared
        and bound.replace_l1 >= truth.replace_l1
        and bound.replace_l2_squared >= truth.replace_l2_squared
    )


@given(polynomials(squares=True))
@settings(max_examples=60)
def test_no_record_is_beyond_the_bound(found: list[RecordPolynomial]) -> None:
    records = list(itertools.product(GRID, repeat=2))
    assert not_below(extent_of(found), reached(found, records))
    for polynomial in found:
        low, high = range_of(polynomial)
        values = [at(polynomial, record) for record in records]
        assert low <= min(values)
        assert max(values) <= high


@given(polynomials(squares=False))
@settings(max_examples=60)
def test_without_squares_the_corners_are_the_bound_itself(found: list[RecordPolynomial]) -> None:
    corners = list(itertools.product([Fraction(0), Fraction(1)], repeat=2))
    assert extent_of(found) == reached(found, corners)


@given(polynomials(squares=True, columns=3), st.sampled_from([0, 1, 8]))
@settings(max_examples=40)
def test_the_bound_holds_with_too_many_control_points_too(found: list[RecordPolynomial], most: int) -> None:
    records = list(itertools.product([Fraction(0), Fraction(1, 2), Fraction(1)], repeat=3))
    before = control_points._MAX_POINTS  # so that a small case takes the other way
    control_points._MAX_POINTS = most
    try:
        assert not_below(extent_of(found), reached(found, records))
    finally:
        control_points._MAX_POINTS = before


def test_numbers_that_do_not_fit_into_64_bits_are_exact() -> None:
    huge = Fraction(10**30, 3)
    assert extent_of([{(0,): huge, (0, 1): -2 * huge}]).replace_l1 == 2 * huge


def test_a_constant_moves_nothing() -> None:
    extent = extent_of([{(): Fraction(7, 2)}])
    assert extent.l1 == Fraction(7, 2)
    assert extent.replace_l1 == extent.replace_l2_squared == 0


def test_a_bound_that_looked_at_corners_alone_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    parabola: list[RecordPolynomial] = [{(0,): Fraction(1), (0, 0): Fraction(-1)}]  # 0 at both corners, 1/4 between
    records = [(x,) for x in GRID]
    assert not_below(extent_of(parabola), reached(parabola, records))
    corners = reached(parabola, [(Fraction(0),), (Fraction(1),)])
    monkeypatch.setattr(control_points, "_joint", lambda *_: corners)
    assert not not_below(extent_of(parabola), reached(parabola, records))


@given(
    polynomials(squares=True), st.sampled_from(["_MAX_NUMBERS", "_MAX_PAIRS", "_MAX_BIG_INTEGER_PAIRS"]), st.booleans()
)
@settings(max_examples=40)
def test_the_bound_holds_where_the_rest_would_take_too_long(
    found: list[RecordPolynomial],
    limit: str,
    huge: bool,  # noqa: FBT001 - drawn
) -> None:
    records = list(itertools.product([Fraction(0), Fraction(1, 2), Fraction(1)], repeat=2))
    times = 10**30 if huge else 1
    scaled: list[RecordPolynomial] = [
        {places: times * number for places, number in polynomial.items()} for polynomial in found
    ]
    with mock.patch.object(control_points, limit, 0):
        assert not_below(extent_of(scaled), reached(scaled, records))
