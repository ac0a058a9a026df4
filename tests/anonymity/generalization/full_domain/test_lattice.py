"""The losses of levels rise along the lattice, from 0 to 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from celosia.anonymity.coding import encode
from celosia.anonymity.generalization.full_domain.lattice import build_ladder
from celosia.anonymity.hierarchies import Categories, Intervals
from tests.anonymity.generalization.full_domain.enumeration import Lines, hierarchies


@given(hierarchies())
def test_losses_rise_from_0_to_1(lines: Lines) -> None:
    ladder = build_ladder("c", encode(pa.array([*"abcd", None]), name="c"), Categories(lines), None)
    assert (ladder.losses[0] == 0).all()
    assert (ladder.losses[-1] == 1).all()
    assert (np.diff(ladder.losses, axis=0) >= 0).all()
    assert ladder.losses[:-1, ladder.null].tolist() == [0.0] * (len(ladder.sizes) - 1)
    assert [len(set(row)) for row in ladder.codes.tolist()] == list(ladder.sizes)


@pytest.mark.parametrize(("low", "width", "loss"), [(0, 10, 9 / 99), (0, 50, 49 / 99)])
def test_intervals_of_whole_numbers_lose_what_they_cover(low: int, width: int, loss: float) -> None:
    column: Any = pa.array([low, low + 1])
    hierarchy = Intervals([*range(0, 99, width), 99] if width < 50 else [0, 50, 99])
    ladder = build_ladder("age", encode(column, name="age"), hierarchy, None)
    assert ladder.losses[1].tolist()[:2] == pytest.approx([loss, loss])
