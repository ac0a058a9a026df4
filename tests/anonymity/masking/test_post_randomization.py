"""PRAM: exact probabilities, frequencies kept in expectation, strata, nulls."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from celosia.anonymity.masking import Pram
from celosia.anonymity.microdata import Microdata, Roles, read_microdata
from celosia.core.errors import CelosiaError
from celosia.noise import Seeded


def read(columns: dict[str, Any], stratum: str | None = None) -> Microdata:
    return read_microdata(pa.table(columns), roles=Roles(quasi_identifiers=list(columns), stratum=stratum))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.sampled_from([0.0, 0.25, 0.8, 0.999, 1.0]))
def test_invariant_matrices_keep_frequencies_exactly(values: list[int], keep: float) -> None:
    data = read({"x": values})
    counts = [count for _, count in sorted(Counter(values).items())]
    for invariant in (False, True):
        matrix = Pram(columns=["x"], keep=keep, invariant=invariant).compute_matrix(data, "x")
        assert all(sum(row) == 1 and min(row) >= 0 for row in matrix)
        if invariant:
            size = len(counts)
            assert [sum(counts[i] * matrix[i][j] for i in range(size)) for j in range(size)] == counts


@pytest.mark.parametrize("invariant", [False, True])
def test_draws_follow_the_matrix(*, invariant: bool) -> None:
    values = np.repeat(["a", "b", "c"], [20_000, 6000, 1500])
    data = read({"x": values})
    pram = Pram(columns=["x"], keep=0.7, invariant=invariant)
    drawn = np.array(pram.apply(data, source=Seeded(3)).get_column("x").to_pylist())
    matrix = pram.compute_matrix(data, "x")
    for place, value in enumerate("abc"):
        seen = [int((drawn[values == value] == found).sum()) for found in "abc"]
        expected = [float(chance) * sum(seen) for chance in matrix[place]]
        assert stats.chisquare(seen, expected).pvalue > 1e-6
        # Able to fail: the probabilities of another category are noticed.
        other = [float(chance) * sum(seen) for chance in matrix[place - 1]]
        assert stats.chisquare(seen, other).pvalue < 1e-6


def test_invariant_draws_keep_frequencies_within_chance() -> None:
    values = np.repeat(["a", "b"], [19_000, 1000])
    data = read({"x": values})
    for invariant, kept in ((True, True), (False, False)):
        drawn = Pram(columns=["x"], keep=0.8, invariant=invariant).apply(data, source=Seeded(4)).get_column("x")
        rare = drawn.to_pylist().count("b")
        assert bool(abs(rare - 1000) < 6 * np.sqrt(2 * 1000)) is kept


def test_a_matrix_may_be_given() -> None:
    data = read({"x": ["a", "b", "c", None] * 500})
    given_matrix = {"a": {"a": 1.0}, "b": {"a": 0.3, "b": 0.7}, "c": {"b": 0.1, "c": 0.9}}
    pram = Pram(columns=["x"], matrices={"x": given_matrix})
    assert pram.compute_matrix(data, "x")[1] == (Fraction(3, 10), Fraction(7, 10), Fraction(0))
    drawn = pram.apply(data, source=Seeded(5)).get_column("x").to_pylist()
    assert {(a, b) for a, b in zip("abc" * 500, [v for v in drawn if v], strict=True)} == {
        ("a", "a"), ("b", "a"), ("b", "b"), ("c", "b"), ("c", "c"),
    }  # fmt: skip
    assert [value is None for value in drawn] == [False, False, False, True] * 500


def test_strata_have_matrices_of_their_own() -> None:
    data = read({"region": ["N"] * 8 + ["S"] * 8, "x": list("aaaabbbb") + list("aaaaaaab")}, stratum="region")
    pram = Pram(columns=["x"], keep=0.5, invariant=True)
    north, south = (pram.compute_matrix(data, "x", stratum=place) for place in (0, 1))
    assert north != south
    assert 7 * south[0][0] + south[1][0] == 7
    alone = read({"region": ["N"] * 4 + ["S"] * 4, "x": list("aaaabbbb")}, stratum="region")
    drawn = pram.apply(alone, source=Seeded(6)).get_column("x").to_pylist()
    assert drawn == list("aaaabbbb")  # in each stratum there is one category to come from


def test_the_order_of_rows_does_not_matter() -> None:
    frame = pa.table({"x": list("abcabcaab"), "id": list(range(9))})
    roles, order = Roles(quasi_identifiers=["x"], sensitive=["id"]), [8, 3, 1, 0, 5, 2, 7, 6, 4]
    step = Pram(columns=["x"], keep=0.4)
    once = step.apply(read_microdata(frame, roles=roles), source=Seeded(2)).table.take(order)
    assert once.equals(step.apply(read_microdata(frame.take(order), roles=roles), source=Seeded(2)).table)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"keep": 1.2}, "core.outside_unit_interval"),
        ({"keep": 0.12345678912}, "anonymity_masking.probability_too_fine"),
        ({"matrices": {"y": {}}}, "anonymity_masking.matrix_of_other_column"),
        ({"matrices": {"x": {"a": {"a": 0.5}}}}, "anonymity_masking.matrix_not_stochastic"),
        ({"matrices": {"x": {"a": {"b": 1.0}}}}, "anonymity_masking.matrix_not_stochastic"),
        ({"matrices": {"x": {"a": {"a": 1.0}}}}, "anonymity_masking.matrix_of_other_categories"),
    ],
)
def test_bad_input_is_refused(fields: dict[str, Any], code: str) -> None:
    with pytest.raises(CelosiaError) as caught:
        Pram(columns=["x"], **fields).apply(read({"x": ["a", "b"]}))
    assert caught.value.code == code


def test_too_many_categories_are_refused() -> None:
    with pytest.raises(CelosiaError, match="'x' has more than 1000"):
        Pram(columns=["x"]).apply(read({"x": list(range(1001))}))
