"""Contribution bounds and sensitivities: integers, the right factor for each adjacency, nonsense refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import AddRemove, ParameterError, ReplaceOne
from celosia.statistics.base.noise import ContributionBounds, RowSensitivity, Sensitivity

COUNT = RowSensitivity(l1=1, l2_squared=1, replace_l1=1, replace_l2_squared=1)
RANGE = RowSensitivity(l1=120, l2_squared=14400, replace_l1=240, replace_l2_squared=28800)


def test_one_row_in_one_cell_by_default() -> None:
    bounding = ContributionBounds()
    assert (bounding.groups, bounding.rows, bounding.cells) == (1, 1, 1)
    assert (bounding.adjacency, bounding.unit) == (AddRemove, "row")
    assert COUNT.sensitivity(bounding) == Sensitivity(l1=1, l2_squared=1)


@pytest.mark.parametrize(
    ("bounding", "l1", "l2_squared"),
    [  # the formulas of the query plan: counts L0 Linf and sqrt(L0) Linf, replaced 2 and sqrt 2 times as much
        (ContributionBounds(groups=4, rows=3, cells=9), 12, 4 * 9),
        (ContributionBounds(groups=4, rows=3, cells=9, adjacency=ReplaceOne), 24, 2 * 4 * 9),
        (ContributionBounds(rows=3, adjacency=ReplaceOne), 3, 9),  # nowhere else to go
    ],
)
def test_counts(bounding: ContributionBounds, l1: int, l2_squared: int) -> None:
    assert COUNT.sensitivity(bounding) == Sensitivity(l1=l1, l2_squared=l2_squared)


def test_a_replaced_row_crosses_the_footprint() -> None:
    assert RANGE.sensitivity(ContributionBounds(adjacency=ReplaceOne)) == Sensitivity(l1=240, l2_squared=28800)
    assert RANGE.sensitivity(ContributionBounds()) == Sensitivity(l1=120, l2_squared=14400)


@given(st.integers(1, 50), st.integers(1, 50), st.integers(0, 50), st.sampled_from([AddRemove, ReplaceOne]))
def test_sensitivities_grow_with_the_bounds(groups: int, rows: int, more: int, adjacency: Any) -> None:
    cells = groups + more + 1
    small = RANGE.sensitivity(ContributionBounds(groups=groups, rows=rows, cells=cells, adjacency=adjacency))
    large = RANGE.sensitivity(
        ContributionBounds(groups=groups + 1, rows=rows + 1, cells=cells + 1, adjacency=adjacency)
    )
    assert small.l1 < large.l1
    assert small.l2_squared < large.l2_squared
    assert small.l2_squared <= small.l1**2  # the Euclidean norm is never the larger one


def test_bounds_are_whole_numbers() -> None:
    name_cases: list[str] = ["groups", "rows", "cells"]
    value_cases: list[Any] = [0, -1, 1.0, True, None, "1", float("nan")]
    for name in name_cases:
        for value in value_cases:
            with pytest.raises(ParameterError, match=f"^{name} must be "):
                ContributionBounds(**{name: value})


def test_there_are_no_more_groups_than_cells() -> None:
    with pytest.raises(ParameterError, match=r"^groups must be at most the number of cells, 2"):
        ContributionBounds(groups=3, cells=2)


def test_a_unit_has_a_name() -> None:
    cases: list[Any] = ["", 1, None]
    for unit in cases:
        with pytest.raises(ParameterError, match=r"^unit must be "):
            ContributionBounds(unit=unit)


def test_an_adjacency_is_one_of_two() -> None:
    assert ContributionBounds(adjacency="replace-one").adjacency is ReplaceOne  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"^adjacency must be "):
        ContributionBounds(adjacency="bounded")  # type: ignore[arg-type]


def test_more_rows_than_doubles_can_average_are_refused() -> None:
    largest = RowSensitivity(l1=2**40, l2_squared=2**80, replace_l1=2**41, replace_l2_squared=2**81)
    assert largest.sensitivity(ContributionBounds(rows=2**11)).l1 == 2**51
    with pytest.raises(ParameterError, match=r"^rows must be smaller than 2049"):
        largest.sensitivity(ContributionBounds(rows=2**11 + 1))
