"""Rank swapping within a window: margins, distances, the distribution of pairs, and what it does not protect."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from celosia.anonymity.masking import RankSwap
from celosia.anonymity.microdata import Microdata, Roles, read_microdata
from celosia.core.errors import CelosiaError
from celosia.noise import Seeded


def read(columns: dict[str, Any], stratum: str | None = None) -> Microdata:
    return read_microdata(pa.table(columns), roles=Roles(quasi_identifiers=list(columns), stratum=stratum))


def list_pairings(count: int, window: int) -> dict[tuple[int, ...], Fraction]:
    """Every outcome of the method with its exact probability, in plain Python."""

    def extend(partners: dict[int, int], chance: Fraction) -> list[tuple[tuple[int, ...], Fraction]]:
        rank = next((rank for rank in range(count) if rank not in partners), None)
        if rank is None:
            return [(tuple(partners[rank] for rank in range(count)), chance)]
        free = [other for other in range(rank + 1, min(count, rank + window + 1)) if other not in partners]
        if not free:
            return extend({**partners, rank: rank}, chance)
        grown = (extend({**partners, rank: other, other: rank}, chance / len(free)) for other in free)
        return list(itertools.chain.from_iterable(grown))

    outcomes: Counter[tuple[int, ...]] = Counter()
    for outcome, chance in extend({}, Fraction(1)):
        outcomes[outcome] += chance  # type: ignore[assignment]
    return dict(outcomes)  # type: ignore[arg-type]


def draw_pairings(count: int, share: float, times: int) -> Counter[tuple[int, ...]]:
    """Outcomes of the step: each stratum is a file of its own."""
    data = read({"s": np.repeat(np.arange(times), count), "x": np.tile(np.arange(count), times)}, stratum="s")
    swapped = RankSwap(columns=["x"], share=share).apply(data, source=Seeded(3)).get_column("x").to_numpy()
    return Counter(map(tuple, swapped.reshape(times, count).tolist()))


def test_pairs_have_the_distribution_of_the_method() -> None:
    expected = list_pairings(6, 3)
    seen = draw_pairings(6, 0.5, 6000)
    assert set(seen) <= set(expected)
    chances = [float(expected[outcome]) * 6000 for outcome in expected]
    assert stats.chisquare([seen[outcome] for outcome in expected], chances).pvalue > 1e-6
    # Able to fail: other pairs are noticed.
    wrong = [1 / len(expected) * 6000] * len(expected)
    assert stats.chisquare([seen[outcome] for outcome in expected], wrong).pvalue < 1e-6


def test_a_window_does_not_limit_an_attacker_to_one_in_k() -> None:
    """With three places to go to, an attacker who knows the method is right more often than one time in three."""
    outcomes = list_pairings(7, 3)
    best = max(
        sum(chance for outcome, chance in outcomes.items() if outcome[released] == true)
        for released in range(7)
        for true in range(7)
    )
    assert best > Fraction(1, 3)


@given(st.lists(st.one_of(st.none(), st.integers(0, 9)), min_size=1, max_size=40), st.floats(0.05, 0.9))
def test_margins_nulls_and_windows_are_kept(values: list[int | None], share: float) -> None:
    data = read({"x": pa.array(values, pa.int64()), "id": list(range(len(values)))})
    swapped = RankSwap(columns=["x"], share=share).apply(data, source=Seeded(1)).get_column("x").to_pylist()
    assert Counter(swapped) == Counter(values)
    assert [value is None for value in swapped] == [value is None for value in values]
    known = sorted(value for value in values if value is not None)
    window = max(1, int(len(known) * share))
    for before, after in zip(values, swapped, strict=True):
        if before is not None:
            low, high = sorted((before, after))
            assert known.index(high) - (len(known) - 1 - known[::-1].index(low)) <= window


def test_nearly_all_values_move() -> None:
    data = read({"x": np.random.default_rng(2).random(5000)})
    swapped = RankSwap(columns=["x"], share=0.05).apply(data, source=Seeded(2)).get_numbers("x")
    assert (swapped == data.get_numbers("x")).sum() < 50
    assert stats.spearmanr(swapped, data.get_numbers("x")).statistic > 0.98


def test_figures_2_12_and_2_13() -> None:
    data = read({"age": [65, 55, 72, 82, 61, 89], "temperature": [36.9, 37.9, 38.8, 39.2, 38.2, 37.2]})
    distance = 0.2 * (39.2 - 36.5)  # of the values that the column may take
    swapped = RankSwap(columns=["temperature"], distance=distance).apply(data)  # whatever is drawn
    assert swapped.get_numbers("temperature").tolist() == [37.2, 38.2, 39.2, 38.8, 37.9, 36.9]
    assert swapped.get_numbers("age").tolist() == [65, 55, 72, 82, 61, 89]


def test_strata_and_texts_and_the_order_of_rows() -> None:
    frame = pa.table({"region": list("NSNSNSNS"), "grade": list("abcdbcda"), "name": list("stuvwxyz")})
    roles = Roles(quasi_identifiers=["region", "grade"], sensitive=["name"], stratum="region")
    step, order = RankSwap(columns=["grade"], share=0.5), [5, 2, 7, 0, 3, 6, 1, 4]
    once = step.apply(read_microdata(frame, roles=roles), source=Seeded(4)).table
    twice = step.apply(read_microdata(frame.take(order), roles=roles), source=Seeded(4)).table
    assert once.take(order).equals(twice)
    for region in "NS":
        rows = [row for row in range(8) if frame.column("region")[row].as_py() == region]
        assert Counter(once.column("grade").take(rows).to_pylist()) == Counter(
            frame.column("grade").take(rows).to_pylist()
        )


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"columns": ["x"]}, "anonymity_masking.share_or_distance"),
        ({"columns": ["x"], "share": 0.1, "distance": 1}, "anonymity_masking.share_or_distance"),
        ({"columns": ["x"], "share": 1.5}, "core.not_between_zero_and_one"),
        ({"columns": ["x"], "distance": 0}, "core.not_positive"),
        ({"columns": ["t"], "distance": 1}, "anonymity.column_not_numeric"),
        ({"columns": ["y"], "share": 0.1}, "anonymity.unknown_column"),
    ],
)
def test_bad_input_is_refused(fields: dict[str, Any], code: str) -> None:
    with pytest.raises(CelosiaError) as caught:
        RankSwap(**fields).apply(read({"x": [1, 2], "t": ["a", "b"]}))
    assert caught.value.code == code
