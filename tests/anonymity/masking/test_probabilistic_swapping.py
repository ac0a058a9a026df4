"""Probabilistic k-anonymity: an attacker who tries everything is right with probability 1/k at most."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from celosia.anonymity.coding import encode
from celosia.anonymity.masking import ProbabilisticSwap
from celosia.anonymity.microdata import Microdata, Roles, read_microdata
from celosia.core.errors import CelosiaError
from celosia.noise import Seeded

Table = tuple[tuple[int, ...], ...]


def read(columns: dict[str, Any], stratum: str | None = None) -> Microdata:
    return read_microdata(pa.table(columns), roles=Roles(quasi_identifiers=list(columns), stratum=stratum))


def list_releases(table: Table, groups: list[list[list[int]]]) -> dict[Table, Fraction]:
    """Every released table with its probability, for the groups of each column."""
    releases: dict[Table, Fraction] = defaultdict(Fraction)

    def permute(column: int) -> list[dict[int, int]]:
        choices = (itertools.permutations(group) for group in groups[column])
        flat = [row for group in groups[column] for row in group]
        return [
            dict(zip(flat, itertools.chain.from_iterable(choice), strict=True))
            for choice in itertools.product(*choices)
        ]

    moves = [permute(column) for column in range(len(table[0]))]
    share = Fraction(1)
    for each in moves:
        share /= len(each)
    for chosen in itertools.product(*moves):
        released = tuple(
            tuple(table[move[row]][column] for column, move in enumerate(chosen)) for row in range(len(table))
        )
        releases[released] += share
    return releases


def attack(table: Table, groups: list[list[list[int]]]) -> Fraction:
    """The best posterior of an attacker who knows all values and groups, and seeks the record of a person.

    People are in records in an order that the attacker does not know: each is as likely as others.
    """
    worst = Fraction(0)
    people = list(itertools.permutations(range(len(table))))  # people[record] is the person of a record
    likelihoods: list[dict[Table, Fraction]] = []
    for order in people:
        place = {person: record for record, person in enumerate(order)}
        moved = tuple(table[person] for person in order)
        regrouped = [[[place[person] for person in group] for group in column] for column in groups]
        likelihoods.append(list_releases(moved, regrouped))
    for released in likelihoods[0]:
        chances = [found.get(released, Fraction(0)) for found in likelihoods]
        for person, record in itertools.product(range(len(table)), repeat=2):
            hits = sum(chance for order, chance in zip(people, chances, strict=True) if order[record] == person)
            worst = max(worst, Fraction(hits) / sum(chances))
    return worst


def find_groups(table: Table, k: int) -> list[list[list[int]]]:
    """The groups of the step: the same for all columns."""
    codes = np.column_stack([encode(pa.array(column), name="c").codes for column in zip(*table, strict=True)])
    ids = ProbabilisticSwap(columns=[str(place) for place in range(codes.shape[1])], k=k).group(codes)
    return [[np.flatnonzero(ids == each).tolist() for each in range(ids.max() + 1)]] * codes.shape[1]


@pytest.mark.parametrize(
    ("table", "k"),
    [
        (((1,), (2,), (3,), (4,), (5,)), 2),
        (((1,), (1,), (3,), (9,)), 2),
        (((1,), (2,), (3,), (4,), (7,)), 3),
        (((1, 1), (2, 2), (8, 1), (9, 2)), 2),
        (((1, 5), (2, 1), (8, 2), (9, 9)), 2),
    ],
)
def test_an_exhaustive_attacker_succeeds_one_time_in_k_at_most(table: Table, k: int) -> None:
    assert attack(table, find_groups(table, k)) <= Fraction(1, k)


def test_groups_of_each_column_alone_would_not_do() -> None:
    """Everybody is in a pair of each column, and yet the two pairs tell the person."""
    table = ((1, 1), (2, 8), (8, 2), (9, 9))
    alone = [[[0, 1], [2, 3]], [[0, 2], [1, 3]]]
    assert attack(table, alone) == 1
    assert attack(table, find_groups(table, 2)) <= Fraction(1, 2)


@given(st.lists(st.integers(0, 20), min_size=3, max_size=40), st.integers(2, 5))
def test_groups_have_k_to_2k_less_1_neighbouring_ranks(values: list[int], k: int) -> None:
    if len(values) < k:
        return
    codes = np.sort(np.array(values))[:, None]
    groups = ProbabilisticSwap(columns=["x"], k=k).group(codes)
    assert k <= np.bincount(groups).min() <= np.bincount(groups).max() < 2 * k
    assert (np.diff(groups) >= 0).all()


def test_all_orders_in_a_group_are_equally_likely() -> None:
    times = 6000
    data = read({"s": np.repeat(np.arange(times), 4), "x": np.tile(np.arange(4), times)}, stratum="s")
    swapped = ProbabilisticSwap(columns=["x"], k=4).apply(data, source=Seeded(6)).get_column("x").to_numpy()
    seen = Counter(map(tuple, swapped.reshape(times, 4).tolist()))
    assert len(seen) == 24
    assert stats.chisquare(list(seen.values())).pvalue > 1e-6


def test_margins_stay_and_the_order_of_rows_does_not_matter() -> None:
    lot = np.random.default_rng(1)
    frame = pa.table({"age": lot.integers(18, 90, 60), "pay": lot.integers(1, 5, 60), "id": np.arange(60)})
    roles, order = Roles(quasi_identifiers=["age", "pay"], sensitive=["id"]), lot.permutation(60)
    step = ProbabilisticSwap(columns=["age", "pay"], k=5)
    once = step.apply(read_microdata(frame, roles=roles), source=Seeded(2)).table
    twice = step.apply(read_microdata(frame.take(order), roles=roles), source=Seeded(2)).table
    assert once.take(order).equals(twice)
    for name in ("age", "pay"):
        assert Counter(once.column(name).to_pylist()) == Counter(frame.column(name).to_pylist())


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"columns": ["x"], "k": 1}, "core.below_minimum"),
        ({"columns": ["x"], "k": 4}, "anonymity_masking.too_few_records"),
        ({"columns": ["y"], "k": 2}, "anonymity_masking.null_in_column"),
    ],
)
def test_bad_input_is_refused(fields: dict[str, Any], code: str) -> None:
    with pytest.raises(CelosiaError) as caught:
        ProbabilisticSwap(**fields).apply(read({"x": [1, 2, 3], "y": [1, 2, None]}))
    assert caught.value.code == code
