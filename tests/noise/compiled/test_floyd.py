"""Floyd's loop: every script of digits gives the subset that the algorithm says, and all subsets are equally likely."""

from __future__ import annotations

import itertools
from collections import Counter
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from celosia.noise.compiled.floyd import fill


def reference(size: int, chosen: int, digits: list[int]) -> list[list[int]]:
    """Floyd's algorithm in Python, row after row, until the digits end."""
    rows: list[list[int]] = []
    left = iter(digits)
    while True:
        taken: list[int] = []
        for last in range(size - chosen, size):
            while True:
                digit = next(left, None)
                if digit is None:
                    return rows
                if digit * (last + 1) % 2**32 >= 2**32 % (last + 1):
                    break
            number = digit * (last + 1) >> 32
            taken.append(last if number in taken else number)
        rows.append(sorted(taken))


@given(st.integers(1, 60), st.data())
def test_rows_are_those_of_the_algorithm(size: int, data: st.DataObject) -> None:
    chosen = data.draw(st.integers(1, size))
    digits = data.draw(st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 3), max_size=80))
    wanted = reference(size, chosen, digits)
    for marks in (np.zeros(0, dtype=np.bool_), np.zeros(size, dtype=np.bool_)):
        out = np.full((len(wanted) + 1, chosen), -1, dtype=np.int64)
        assert fill(out, 0, size, np.array(digits, dtype=np.uint32), marks) == len(wanted)
        assert out[: len(wanted)].tolist() == wanted
        assert not marks.any()


def test_every_subset_comes_from_equally_many_scripts() -> None:
    """One digit for each outcome of each draw, in all combinations: each of the subsets as often as any other."""
    for (size, chosen), marked in product(((4, 2), (4, 4), (8, 3), (5, 1)), (False, True)):
        bounds = range(size - chosen + 1, size + 1)
        scripts = itertools.product(*[[(number << 32) // bound + 9 for number in range(bound)] for bound in bounds])
        counts: Counter[tuple[int, ...]] = Counter()
        for script in scripts:
            out = np.zeros((1, chosen), dtype=np.int64)
            assert fill(out, 0, size, np.array(script, dtype=np.uint32), np.zeros(size * marked, dtype=np.bool_)) == 1
            counts[tuple(out[0].tolist())] += 1
        assert set(counts) == set(itertools.combinations(range(size), chosen))
        assert len(set(counts.values())) == 1


def test_a_row_is_begun_again_where_digits_end() -> None:
    out = np.zeros((2, 2), dtype=np.int64)
    digits = np.array([2**31, 2**31, 5], dtype=np.uint32)
    marks = np.zeros(4, dtype=np.bool_)
    assert fill(out, 0, 4, digits, marks) == 1
    assert not marks.any()
    assert fill(out, 1, 4, np.array([2**31, 2**31 + 1], dtype=np.uint32), marks) == 2
    assert out.tolist() == [[1, 2], [1, 2]]
