from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import ParameterError
from celosia.data.schema.columns import Boolean, Integer, Real, Text
from celosia.learn.functional.stretched import Stretched, times
from celosia.statistics.base.products import Products


@given(st.integers(-50, 50), st.integers(1, 200), st.data())
def test_columns_count_from_their_lower_bound(low: int, width: int, data: st.DataObject) -> None:
    kind = Integer(low, low + width)
    columns = Stretched.of([kind], fit_intercept=False)
    step = data.draw(st.integers(0, width))
    (centred,) = Products((kind.axis,), ((0,),)).features(step)
    ((places, factor), (_, constant)) = columns.affine[-1].items()
    assert places == (0,)
    assert (factor * centred + constant) * width == columns.reaches[0] * step
    assert 0.66 * columns.unit < columns.reaches[0] <= columns.unit


@given(st.integers(-(10**6), 10**6), st.floats(1e-3, 1e6))
def test_all_columns_reach_nearly_as_far(low: int, width: float) -> None:
    columns = Stretched.of([Real(low, low + width), Boolean()], fit_intercept=True)
    assert all(0.66 * columns.unit < reach <= columns.unit for reach in columns.reaches)
    assert columns.sizes.tolist() == [columns.unit, *columns.reaches]


def test_a_one_is_summed_where_the_origin_is_not_a_corner() -> None:
    assert not Stretched.of([Real(0, 3), Boolean()], fit_intercept=False).ones
    assert Stretched.of([Real(0, 3), Real(1, 2)], fit_intercept=False).ones
    assert Stretched.of([Real(0, 3)], fit_intercept=True).ones


def test_moving_to_the_callers_origin() -> None:
    rng = np.random.default_rng(2)
    x = rng.uniform([2.0, -1.0], [5.0, 3.0], size=(40, 2))
    columns = Stretched.of([Real(2, 5), Real(-1, 3)], fit_intercept=False)
    scaled = np.column_stack([np.ones(40), (x - columns.lows) / columns.widths])
    matrix, vector = columns.through_origin(scaled.T @ scaled, scaled.T @ np.ones(40))
    raw = x / columns.widths
    np.testing.assert_allclose(matrix, raw.T @ raw)
    np.testing.assert_allclose(vector, raw.sum(axis=0))
    assert columns.swollen(1.0, fit_intercept=False) > 1
    assert columns.swollen(1.0, fit_intercept=True) == 1


def test_products() -> None:
    assert times({(1,): 2, (): 3}, {(0,): 5, (): 7}) == {(0, 1): 10, (1,): 14, (0,): 15, (): 21}


def test_too_many_columns_and_texts_are_refused() -> None:
    with pytest.raises(ParameterError, match="350 columns"):
        Stretched.of([Boolean()] * 351, fit_intercept=True)
    with pytest.raises(ParameterError, match="no number"):
        Stretched.of([Text()], fit_intercept=True)
