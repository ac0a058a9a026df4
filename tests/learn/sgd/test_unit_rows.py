"""Rows on the unit scale: never longer than 1 without a norm of the caller's, and weights scaled back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import ParameterError
from celosia.data.schema.columns import Boolean, Category, Integer, Real
from celosia.learn.sgd.unit_rows import UnitRows, interval_of

KINDS = [Real(0, 10), Real(-1, 1), Real(5, 6)]


@given(st.lists(st.tuples(*[st.floats(-1e6, 1e6)] * 3), min_size=1, max_size=5), st.booleans())
def test_rows_are_no_longer_than_one(values: list[tuple[float, ...]], intercept: bool) -> None:  # noqa: FBT001 - a case
    rows = UnitRows.of(KINDS, intercept=intercept).rows(np.array(values))
    assert np.linalg.norm(rows, axis=1).max() <= 1 + 1e-12


def test_predictions_are_the_same_on_both_scales() -> None:
    for intercept in (False, True):
        rng = np.random.default_rng(1)
        values = np.column_stack([rng.uniform(0, 10, 9), rng.uniform(-1, 1, 9), rng.uniform(5, 6, 9)])
        unit = UnitRows.of(KINDS, intercept=intercept, norm=1.7)
        weights = rng.normal(size=unit.dimension)
        coefficients, constant = unit.coefficients(weights)
        assert values @ coefficients + constant == pytest.approx(unit.rows(values) @ weights)


def test_large_numbers_do_not_overflow() -> None:
    """A warning would tell that somebody has one: here it would be an error."""
    for far in (1e300, 1.7e308):
        rows = UnitRows.of([Real(0, 1e-12), Real(-1e30, 1e30)], intercept=False).rows(
            np.array([[far, -far], [-far, far]])
        )
        assert rows.max() == -rows.min() == pytest.approx(np.sqrt(0.5))


def test_kinds_have_ends() -> None:
    assert interval_of(Integer(3, 9)) == (3, 9)
    assert interval_of(Boolean()) == (0, 1)
    with pytest.raises(ParameterError, match="no number"):
        interval_of(Category(["a", "b"]))
