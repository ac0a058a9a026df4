"""Hash functions are the documented polynomials, and as independent as they say."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from celosia.core import InputError, ParameterError
from celosia.sketches.hashing.digest import digest, digest_bytes
from celosia.sketches.hashing.family import HashFamily, collision_chance, width_for

P = 2**61 - 1
SURE = 1e-9  # a true hypothesis is rejected that seldom


def reference(family: HashFamily, word: int, row: int) -> int:
    """The polynomial as the documentation says it, from the seed on."""
    x = word % P
    y = 0
    for i in reversed(range(family.independence)):
        y = (y * x + digest_bytes(row.to_bytes(8, "little") + i.to_bytes(8, "little"), seed=family.seed) % P) % P
    return y


@given(
    st.integers(1, 4),
    st.integers(1, 2**31),
    st.integers(1, 6),
    st.integers(0, 2**64 - 1),
    st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=5),
)
def test_columns_and_signs_are_as_documented(
    rows: int, width: int, independence: int, seed: int, words: list[int]
) -> None:
    family = HashFamily(rows, width, independence=independence, seed=seed)
    digests = np.array(words, dtype=np.uint64)
    hashes = [[reference(family, word, row) for word in words] for row in range(rows)]
    columns = [[(y >> 29) * width >> 32 for y in row] for row in hashes]
    signs = [[1 - 2 * (y >> 60) for y in row] for row in hashes]
    assert family.table(digests).tolist() == columns
    assert family.sign_table(digests).tolist() == signs
    for row in range(rows):
        assert family.columns(digests, row).tolist() == columns[row]
        assert family.signs(digests, [row] * len(words)).tolist() == signs[row]


def test_values_that_other_clients_must_find() -> None:
    family = HashFamily(2, 1000, independence=3, seed=7)
    assert family.table(digest(["", "a", "año"])).tolist() == [[458, 363, 273], [534, 691, 865]]
    assert [hex(number) for number in family.coefficients[0].tolist()] == [
        "0x1077552adedc0483",
        "0x9ec82c3740154f1",
        "0x11c888e4b7449fda",
    ]


def joint(family: HashFamily, points: list[int], width: int) -> list[int]:
    """How often each combination of columns comes, over all rows."""
    table = family.table(np.array(points, dtype=np.uint64))
    combined = np.zeros(family.rows, dtype=np.int64)
    for column in table.T:
        combined = combined * width + column
    counts: list[int] = np.bincount(combined, minlength=width ** len(points)).tolist()
    return counts


def test_k_values_have_independent_columns() -> None:
    """Rows are draws of the coefficients: the columns of k values are uniform on all combinations."""
    for independence, width in ((2, 8), (3, 4), (4, 4)):
        points = list(range(5, 5 + independence))
        family = HashFamily(40_000, width, independence=independence, seed=11)
        assert chisquare(joint(family, points, width)).pvalue > SURE


def test_one_independence_less_would_be_seen() -> None:
    for independence, width in ((2, 8), (3, 4), (4, 4)):
        points = list(range(5, 5 + independence))
        family = HashFamily(40_000, width, independence=independence - 1, seed=11)
        assert chisquare(joint(family, points, width)).pvalue < SURE


def test_signs_of_four_values_are_independent() -> None:
    digests = np.arange(5, 9, dtype=np.uint64)

    def combinations(independence: int) -> list[int]:
        signs = HashFamily(40_000, 2, independence=independence, seed=3).sign_table(digests)
        found = Counter(map(tuple, (signs > 0).tolist()))
        return [found[pattern] for pattern in itertools.product([False, True], repeat=4)]

    assert chisquare(combinations(4)).pvalue > SURE
    assert chisquare(combinations(2)).pvalue < SURE


def test_polynomials_over_a_small_field_are_k_wise_independent() -> None:
    """All polynomials over the integers modulo 7, at any k points: every combination of values comes once."""
    for independence in (1, 2, 3):
        prime = 7
        polynomials = list(itertools.product(range(prime), repeat=independence))
        for points in itertools.combinations(range(prime), independence):
            values = {tuple(sum(c * x**i for i, c in enumerate(p)) % prime for x in points) for p in polynomials}
            assert len(values) == len(polynomials)


def test_columns_are_even() -> None:
    for width in (2, 10, 1000):
        family = HashFamily(1, width, independence=2, seed=5)
        counts = np.bincount(family.table(digest(range(200_000)))[0], minlength=width)
        assert counts.size == width
        # A line spreads numbers too evenly at times, never much too unevenly.
        assert chisquare(counts).pvalue > SURE


def test_another_seed_is_another_family() -> None:
    digests = digest(range(1000))
    one, two = (HashFamily(1, 1000, seed=seed).table(digests)[0] for seed in (1, 2))
    assert (one == two).mean() < 0.02
    assert HashFamily(1, 1000, seed=1) == HashFamily(1, 1000, seed=1)
    assert HashFamily(1, 1000, seed=1) != HashFamily(1, 1000, seed=2)
    assert hash(HashFamily(1, 1000)) == hash(HashFamily(1, 1000))


@given(st.floats(2.0**-30, 0.999))
def test_a_width_for_a_chance(chance: float) -> None:
    width = width_for(chance, name="error", given=chance)
    assert collision_chance(width) <= chance or width == 2
    assert width <= 3 or collision_chance(width - 2) > chance


def test_no_column_is_likelier_than_the_bound_says() -> None:
    """Of the 2^32 numbers that are mapped to 3 columns, none gets more than a third and one."""
    for width in (3, 1000, 2**31 - 1):
        most = -(-(2**32) // width)
        assert most / 2**32 <= collision_chance(width)


def test_parameters_out_of_range() -> None:
    cases: list[Any] = [
        (0, 1, 2),
        (1, 0, 2),
        (1, 1, 0),
        (1, 2**31 + 1, 2),
        (2**24 + 1, 1, 2),
        (1, 1, 17),
        (1.0, 1, 2),
        (True, 1, 2),
    ]
    for rows, width, independence in cases:
        with pytest.raises(ParameterError, match=r"rows|width|independence"):
            HashFamily(rows, width, independence=independence)


def test_rows_that_are_none() -> None:
    cases: list[Any] = [[0], [0, 2], [-1, 0], [0.0, 1.0], "ab", [[0, 1]]]
    for rows in cases:
        family = HashFamily(2, 10)
        with pytest.raises(InputError, match="rows"):
            family.columns(np.arange(2, dtype=np.uint64), rows)


def test_digests_that_are_none() -> None:
    cases: list[Any] = [[1, 2], np.arange(2), np.zeros((2, 2), dtype=np.uint64), np.array([0.5])]
    for digests in cases:
        with pytest.raises(InputError, match="digests"):
            HashFamily(2, 10).table(digests)


def test_a_chance_too_small_for_any_width() -> None:
    with pytest.raises(ParameterError, match="error is too small"):
        width_for(2.0**-32, name="error", given="1e-9")
