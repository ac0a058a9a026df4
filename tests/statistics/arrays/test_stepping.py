"""Steps and exact sums: the schema's rules, row by row, and sums that no size of array makes wrong."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from celosia.core import AddRemove, ParameterError, ReplaceOne
from celosia.data.schema.axis import Axis
from celosia.data.schema.columns import Category, Integer, Real
from celosia.statistics.arrays.reading import read_column, read_numbers
from celosia.statistics.arrays.stepping import indices, kind_for, pair, steps_on, summary_of
from celosia.statistics.base.measure import Measure
from celosia.statistics.base.noise import ContributionBounds
from celosia.statistics.moments.bernstein import FirstMoments, SecondMoments
from celosia.statistics.moments.cross_moments import CrossMoments
from celosia.statistics.moments.half_half import HalfHalfMean
from celosia.statistics.moments.measures import RowCount, Total

NUMBERS = st.one_of(st.floats(), st.integers(-(2**70), 2**70), st.none(), st.sampled_from(["7", "x", math.inf, -0.0]))
BOUNDS = st.sampled_from([(0, 120), (-3, 5), ("0.5", "7.25"), (100, 101), (-1e6, -5.5), (0, 1e-9)])


def test_whole_numbers_keep_steps_of_one() -> None:
    whole, real = read_numbers(np.array([1, 2])), read_numbers(np.array([1.0, 2.0]))
    assert kind_for(whole, (0, 10), grid=None, null="drop") == Integer(0, 10)
    numpys: Any = (np.int64(0), np.int8(10))
    assert kind_for(whole, numpys, grid=None, null=3) == Integer(0, 10, null=3)
    assert kind_for(whole, (0, 10.5), grid=None, null="drop") == Real(0, 10.5)
    assert kind_for(whole, (0, 10), grid="0.5", null="drop") == Real(0, 10, grid="0.5")
    assert kind_for(real, (0, 10), grid=None, null="drop") == Real(0, 10)


def test_bounds_are_two_numbers_in_order() -> None:
    cases: list[Any] = [None, 5, "05", (0,), (0, 1, 2), {0, 1}, (5, 0), ("a", 1), (0, math.nan), (False, 1)]
    for bounds in cases:
        with pytest.raises(ParameterError):
            kind_for(read_numbers(np.array([1])), bounds, grid=None, null="drop")


@pytest.mark.parametrize("null", [None, 200, math.nan, "ignore", True])
def test_a_null_rule_is_drop_or_a_value_within_the_bounds(null: Any) -> None:
    for array in (np.array([1]), np.array([1.0])):
        with pytest.raises(ParameterError, match="null"):
            kind_for(read_numbers(array), (0, 120), grid=None, null=null)


def test_a_pair_says_what_it_wants() -> None:
    assert pair([1, 2], "statistics.bounds_not_a_pair") == (1, 2)
    with pytest.raises(ParameterError, match=r"^bounds must be \(low, high\), known without .*, not 7\.$"):
        pair(7, "statistics.bounds_not_a_pair")


@given(st.lists(NUMBERS), BOUNDS, st.sampled_from(["drop", "low"]))
@example([0.1, 0.2, 0.3, 0.7, 1.1, 119.9, 500.0, -3.0], (0, 120), "drop")
@example([-2.9, 0.7, 4.9, math.nan], (-3, 5), "low")
def test_steps_are_the_formula_row_by_row(items: list[Any], bounds: Any, rule: str) -> None:
    low, high = (float(Fraction(bound)) for bound in bounds)
    kind = Real(*bounds, null="drop" if rule == "drop" else bounds[0])
    column = read_numbers(items)
    k, present = steps_on(kind.axis, column, kind)
    grid = float(kind.axis.grid)
    for index, item in enumerate(items):
        try:
            value = float(item)
        except OverflowError:
            value = math.copysign(1e308, item)
        except (TypeError, ValueError):
            value = math.nan
        if not math.isfinite(value):
            assert bool(present[index]) is (rule != "drop")
            value = low
        if present[index]:
            expected = math.floor(max(low, min(high, value)) / grid + 0.5) - kind.axis.lowest
            assert k[index] == max(0, min(kind.axis.steps, expected))


@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.sampled_from([(0, 120), (-7, -3), (2**40, 2**40 + 5)]))
def test_whole_steps_are_exact(items: list[int], bounds: tuple[int, int]) -> None:
    kind = Integer(*bounds)
    k, present = steps_on(kind.axis, read_numbers(np.array(items, dtype=np.int64)), kind)
    assert present.all()
    assert k.tolist() == [max(bounds[0], min(bounds[1], item)) - bounds[0] for item in items]


def test_missing_whole_numbers_follow_the_rule() -> None:
    column = read_numbers(np.ma.array([1, 2, 3], mask=[False, True, False]))
    k, present = steps_on(Axis(0, 10, Fraction(1)), column, Integer(0, 10))
    assert k[present].tolist() == [1, 3]
    k, present = steps_on(Axis(0, 10, Fraction(1)), column, Integer(0, 10, null=9))
    assert present.all()
    assert k.tolist() == [1, 9, 3]


def sums(measure: Measure, kinds: list[Real], items: list[tuple[Any, ...]]) -> list[int]:
    found = [
        steps_on(axis, read_numbers([row[i] for row in items]), kind)
        for i, (axis, kind) in enumerate(zip(measure.axes, kinds, strict=True))
    ]
    there = np.logical_and.reduce([present for _, present in found]) if found else np.ones(len(items), dtype=bool)
    kept = [k[there] for k, _ in found]
    result: list[int] = summary_of(measure, kept, int(there.sum()))[0].tolist()
    return result


@settings(max_examples=150)
@given(st.data())
def test_arrays_of_neighbours_have_sums_within_the_sensitivity(data: st.DataObject) -> None:
    bounds: list[Any] = [data.draw(BOUNDS), data.draw(BOUNDS)]
    kinds = [Real(*pair_, null=data.draw(st.sampled_from(["drop", pair_[0]]))) for pair_ in bounds]
    x, y = (kind.axis for kind in kinds)
    measure = data.draw(
        st.sampled_from(
            [RowCount(), Total(x), FirstMoments(x), SecondMoments(x), HalfHalfMean(x), CrossMoments(x, y),
             CrossMoments(x, y, degree=1)]
        )
    )  # fmt: skip
    used = kinds[: len(measure.axes)]
    row = st.tuples(*(NUMBERS for _ in used))
    others, one, two = data.draw(st.lists(row, max_size=4)), data.draw(row), data.draw(row)
    base, with_one, with_two = (sums(measure, used, rows) for rows in (others, [*others, one], [*others, two]))
    for adjacency, a, b in ((AddRemove, with_one, base), (ReplaceOne, with_one, with_two)):
        claimed = measure.sensitivity(ContributionBounds(adjacency=adjacency))
        gaps = [p - q for p, q in zip(a, b, strict=True)]
        assert sum(map(abs, gaps)) <= claimed.l1
        assert sum(gap * gap for gap in gaps) <= claimed.l2_squared


def test_sums_beyond_64_bits_are_exact() -> None:
    class Large(Total):
        @property
        def reach(self) -> tuple[tuple[int, int], ...]:
            return ((-(2**61), 2**61),)

        def features(self, *k: Any) -> tuple[Any, ...]:
            return (k[0],)

    values = np.array([2**61, 2**61 - 1, -5, 2**61] * 3)
    assert summary_of(Large(Axis(0, 1, Fraction(1))), [values], 12).tolist() == [[3 * (3 * 2**61 - 6)]]
    assert summary_of(Large(Axis(0, 1, Fraction(1))), [-values], 12).tolist() == [[-3 * (3 * 2**61 - 6)]]


def test_constant_features_are_counted_by_rows() -> None:
    measure = HalfHalfMean(Axis(0, 10, Fraction(1)))
    assert summary_of(measure, [np.array([1, 2, 3])], 3).tolist() == [[6, 30]]
    assert summary_of(RowCount(), [], 7).tolist() == [[7]]


@pytest.mark.parametrize(
    ("array", "values", "expected"),
    [
        (["b", "a", None, "z", "b"], ("a", "b"), [1, 0, 1]),
        (np.array([3, 1, 7]), (3, 1, 2), [0, 1]),
        (np.array([3.0, 1.5, np.nan, 2]), (3, 1, 2), [0, 2]),
        ([3, "3", 2], (3, 1, 2), [0, 2]),
        (np.array([3, 1]), ("3", "1"), []),
        ([], ("a",), []),
    ],
)
def test_categories_by_their_place(array: Any, values: Any, expected: list[int]) -> None:
    assert indices(read_column(array), Category(values)).tolist() == expected


def test_unknown_categories_follow_the_rule() -> None:
    assert indices(read_column(["b", None, "z"]), Category("a", "b", null="a")).tolist() == [1, 0, 0]
    assert indices(read_column(np.array([1, 9])), Category(1, 2, null=2)).tolist() == [0, 1]
