"""Sums of products: integers, within their reach, and never further apart than the row sensitivity says."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import ParameterError
from celosia.data.schema.axis import Axis, axis_between
from celosia.statistics import Products, moments_up_to
from celosia.statistics.base.products import REACH

axes = st.lists(
    st.builds(
        lambda low, steps, power: Axis(low, low + steps, Fraction(2) ** power),
        st.integers(-(2**20), 2**20),
        st.integers(1, 2**24),
        st.integers(-10, 10),
    ),
    min_size=1,
    max_size=3,
)


@given(axes, st.data())
def test_features_are_whole_and_within_their_reach(columns: list[Axis], data: st.DataObject) -> None:
    products = Products(tuple(columns), moments_up_to(2, len(columns)))
    steps = [data.draw(st.integers(0, axis.steps)) for axis in products.axes]
    features = products.features(*steps)
    assert all(isinstance(feature, int) for feature in features)
    assert all(low <= feature <= high for feature, (low, high) in zip(features, products.reach, strict=True))
    assert all(REACH // 2 <= reach <= REACH for reach in products.reaches)


@given(axes, st.data())
def test_no_two_rows_are_further_apart_than_the_footprint(columns: list[Axis], data: st.DataObject) -> None:
    products = Products(tuple(columns), moments_up_to(2, len(columns)))
    rows = [[data.draw(st.sampled_from([0, axis.steps // 2, axis.steps])) for axis in products.axes] for _ in range(2)]
    first, second = (products.features(*row) for row in rows)
    apart = [abs(a - b) for a, b in zip(first, second, strict=True)]
    row_sensitivity = products.row_sensitivity
    assert sum(map(abs, first)) <= row_sensitivity.l1
    assert sum(f * f for f in first) <= row_sensitivity.l2_squared
    assert sum(apart) <= row_sensitivity.replace_l1
    assert sum(a * a for a in apart) <= row_sensitivity.replace_l2_squared


def test_a_corner_is_as_far_from_none_as_the_row_sensitivity_says() -> None:
    products = Products((axis_between(0, 1), axis_between(-3, 5)), moments_up_to(2, 2), (5, 1, 1, 1, 1, 1))
    corner = products.features(*(axis.steps for axis in products.axes))
    assert sum(corner) == products.row_sensitivity.l1
    assert sum(f * f for f in corner) == products.row_sensitivity.l2_squared


def test_what_a_step_stands_for() -> None:
    products = Products((axis_between(-3, 5),), ((0,),))
    (reach,), (middle,), (half,) = products.reaches, products.middles, products.halves
    (top,) = products.features(products.axes[0].steps)
    assert middle + top * half / reach == 5.0


def test_nonsense_is_refused() -> None:
    cases: list[Any] = [
        (((1,),), None),
        (((0, 0, 0),), None),
        (((0,),), (1, 2)),
        (((0,),), (0,)),
        (((0,),), (1.5,)),
    ]
    for monomials, weights in cases:
        with pytest.raises(ParameterError):
            Products((axis_between(0, 1),), monomials, weights)


def test_it_answers_nothing_by_itself() -> None:
    with pytest.raises(ParameterError, match="an estimator solves"):
        Products((axis_between(0, 1),), ((0,),)).spread("mean", None, rows=None)  # type: ignore[arg-type]
