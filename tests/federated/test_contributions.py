"""What a server can see of a contribution: its type, its shape and its size; the sum is exact."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from celosia.federated.contributions import add_contributions

MOST = 2**62 // 3
NUMBERS = st.lists(st.integers(-MOST, MOST), min_size=2, max_size=2)


@given(st.lists(NUMBERS, min_size=1, max_size=3))
def test_sums_are_exact_and_fit(rows: list[list[int]]) -> None:
    contributions = {str(number): np.array(row) for number, row in enumerate(rows)}
    found = add_contributions(contributions, width=2, parties=3)
    assert found.total.tolist() == [sum(row[0] for row in rows), sum(row[1] for row in rows)]
    assert found.accepted == tuple(contributions)
    assert max(map(abs, found.total.tolist())) <= 2**62


def test_what_cannot_be_used_is_named() -> None:
    most = np.iinfo(np.int64)
    reasons: dict[str, list[object]] = {
        "silent": [None],
        "not integers": [np.array([1.0, 2.0]), np.array([True, False]), [1, 2], "12", np.array([1, 2], dtype=object)],
        "wrong shape": [np.array([1]), np.array([1, 2, 3]), np.array([[1, 2]]), np.array(1)],
        "too large": [np.array([1, MOST + 1]), np.array([-MOST - 1, 1]), np.array([most.min, most.max])],
    }
    for reason, contributions in reasons.items():
        for contribution in contributions:
            found = add_contributions({"one": contribution, "other": np.array([3, 4])}, width=2, parties=3)
            assert (found.rejected, found.accepted, found.total.tolist()) == ({"one": reason}, ("other",), [3, 4])
    wide = np.array([2**64 - 1, 1], dtype=np.uint64)
    assert add_contributions({"one": wide}, width=2, parties=3).rejected == {"one": "too large"}
