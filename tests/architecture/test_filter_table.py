"""The filter of Whitehouse and others admits nothing that the combined one refuses, as the page of accounting says."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from celosia.accounting.accountants import combined

# Not part of a source distribution.
accounting = pytest.importorskip("benchmarks.tables.accounting")


def room_beside_whitehouse(epsilon: float, delta: float, part: float = 1.0) -> float:
    """Return the rho of our best order, divided by the one that the filter of Whitehouse and others admits."""
    budget = Fraction(epsilon), Fraction(delta)
    limits = combined._limits(*budget, combined._best_order(*budget))
    theirs: float = accounting.largest_square_sum(epsilon, part * delta) / 2
    return float((limits / combined._ORDERS).max()) / theirs


def test_the_filter_of_whitehouse_and_others_admits_nothing_more() -> None:
    deltas = np.geomspace(1e-10, 1e-4, 13).tolist()
    for delta in deltas:
        # A larger rho admits more of any events without delta, or with one within its part: proofs/combined-filter.md.
        assert min(room_beside_whitehouse(epsilon, delta) for epsilon in np.geomspace(0.05, 80, 60).tolist()) >= 1
        assert min(room_beside_whitehouse(epsilon, delta) for epsilon in np.geomspace(0.1, 20, 40).tolist()) > 1.04
    assert room_beside_whitehouse(1, 1e-6, 0.8) > room_beside_whitehouse(1, 1e-6)
    # The comparison can fail: where the page says it does, and for limits from a tenth of what pays for the conversion.
    assert room_beside_whitehouse(0.01, 1e-10) < 1 < room_beside_whitehouse(0.05, 1e-10)
    assert room_beside_whitehouse(500, 1e-6) < 1
    assert room_beside_whitehouse(20, 1e-5, 10.0) < 1


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-10), (3.0, 1e-6), (20.0, 1e-4)])
def test_the_filter_of_whitehouse_and_others_is_one_order_with_the_plain_conversion(
    epsilon: float, delta: float
) -> None:
    orders = 1 + np.geomspace(1e-2, 1e4, 200_001)
    by_orders = ((epsilon - math.log(1 / delta) / (orders - 1)) / orders).max()
    square = accounting.largest_square_sum(epsilon, delta)
    assert by_orders == pytest.approx(square / 2, rel=1e-6)
    assert math.sqrt(2 * math.log(1 / delta) * square) + square / 2 == pytest.approx(epsilon, rel=1e-9)


def test_the_page_holds_the_table_of_filters() -> None:
    page = accounting.PAGE.read_text(encoding="utf-8")
    shown = page.partition(accounting.BEGIN)[2].partition(accounting.END)[0].strip()
    assert shown == accounting.table(), "python -m benchmarks.tables.accounting"
    cells = [cell.split(" / ") for row in shown.splitlines()[2:] for cell in row.strip("| ").split(" | ")[1:]]
    counts = [[int(number.replace(",", "")) for number in numbers] for numbers in cells]
    assert len(counts) == 30
    assert all(ours >= max(summed, theirs) for summed, theirs, ours in counts)
    assert any(theirs > summed for summed, theirs, _ in counts)
