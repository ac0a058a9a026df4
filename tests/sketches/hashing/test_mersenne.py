"""Arithmetic modulo 2^61 - 1 is that of Python's integers."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from celosia.sketches.hashing.mersenne import (
    evaluate,
    evaluate_four,
    evaluate_row,
    first_four,
    high_product,
    reduce61,
    sign_of,
    to_range,
)

P = 2**61 - 1
words = st.integers(0, 2**64 - 1)
residues = st.one_of(st.integers(0, P - 1), st.integers(0, 3), st.integers(P - 3, P - 1))


@given(words, words)
def test_the_upper_half_of_a_product(a: int, b: int) -> None:
    assert int(high_product(np.uint64(a), np.uint64(b))) == a * b >> 64


@given(words)
@example(P)
@example(2 * P)
@example(7 * P)
@example(8 * P + 7)
def test_a_word_is_reduced(word: int) -> None:
    assert int(reduce61(np.uint64(word))) == word % P


@given(st.lists(residues, min_size=1, max_size=8), residues)
def test_polynomials(coefficients: list[int], x: int) -> None:
    expected = sum(c * pow(x, i, P) for i, c in enumerate(coefficients)) % P
    row = np.array(coefficients, dtype=np.uint64)
    table = np.stack([np.zeros_like(row), row])
    assert int(evaluate(row, np.uint64(x))) == expected
    assert int(evaluate_row(table, 1, np.uint64(x))) == expected
    if len(coefficients) <= 4:
        assert int(evaluate_four(first_four(table, 1), len(coefficients), np.uint64(x))) == expected


@given(st.integers(0, P - 1), st.integers(1, 2**31))
@example(P - 1, 2**31)
def test_columns_and_signs(y: int, width: int) -> None:
    column = int(to_range(np.uint64(y), np.uint64(width)))
    assert column == (y >> 29) * width >> 32
    assert 0 <= column < width
    assert int(sign_of(np.uint64(y))) == (-1 if y >= 2**60 else 1)
