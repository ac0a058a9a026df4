"""What is remembered is what was worked out last, and never more than allowed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core.errors import ParameterError
from celosia.core.recent import Recent


@given(st.lists(st.integers(0, 9)), st.integers(1, 5))
def test_only_what_was_not_needed_lately_is_worked_out_again(keys: list[int], most: int) -> None:
    recent = Recent[int](most)
    worked: list[int] = []
    order: list[int] = []  # the model: the latest last
    for key in keys:
        known = key in order[-most:]
        before = len(worked)
        assert recent.find(key, lambda key=key: worked.append(key) or -key) == -key  # type: ignore[misc,func-returns-value]
        assert (len(worked) == before) is known
        order = [*(one for one in order if one != key), key]
        assert len(recent) == min(most, len(order))


def test_what_raises_is_not_remembered() -> None:
    recent = Recent[int](3)

    def fails() -> int:
        raise LookupError

    with pytest.raises(LookupError):
        recent.find("x", fails)
    assert recent.find("x", lambda: 7) == 7


def test_threads_share_it() -> None:
    recent = Recent[int](5)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: recent.find(n % 9, lambda: (n % 9) ** 2), range(2000)))
    assert found == [(n % 9) ** 2 for n in range(2000)]
    assert len(recent) == 5


def test_a_memory_of_nothing_is_refused() -> None:
    cases: list[object] = [0, -1, 1.5, "many", None]
    for most in cases:
        with pytest.raises(ParameterError):
            Recent[int](most)  # type: ignore[arg-type]
