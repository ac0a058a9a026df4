"""Rows that limits cut off, as a measure: what one person can change, and answers that are never negative."""

from __future__ import annotations

import numpy as np
import pytest

from celosia.core import AddRemove, ParameterError, ReplaceOne
from celosia.statistics import Bounding, CutRows, Noise


def test_one_person_changes_as_many_rows_as_stated() -> None:
    rows = CutRows(most=10)
    for adjacency, cells, expected in (
        (AddRemove, 5, (10, 100)),
        (ReplaceOne, 5, (20, 200)),
        (ReplaceOne, 1, (10, 100)),
    ):
        found = rows.sensitivity(Bounding(adjacency=adjacency, cells=cells, unit="person"))
        assert (found.l1, found.l2_squared) == expected


def test_answers_are_not_negative() -> None:
    rows, bounding = CutRows(most=10), Bounding(cells=2, unit="person")
    noise = Noise.laplace(1, rows.sensitivity(bounding), 2, 1, bounding)
    estimate = rows.answer("count", np.array([[-50], [40]]), noise)
    assert estimate.interval is not None
    low, high = estimate.interval(0.95)
    assert (estimate.value.tolist(), low.tolist(), high.tolist()) == ([0, 40], [0, 10], [0, 70])
    assert noise.margin(0.95) == 30
    with pytest.raises(ParameterError, match="answers count"):
        rows.answer("sum", np.array([[1]]), noise)


def test_it_needs_a_whole_number_of_rows() -> None:
    for wrong in (0, -1, 2.5, "many"):
        with pytest.raises(ParameterError, match="most"):
            CutRows(most=wrong)  # type: ignore[arg-type] # on purpose
