"""The other ways to group: optimal in one column, mixed records, blocks, the first principal component."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.anonymity.coding import encode
from celosia.anonymity.masking.microaggregation.centers import average_groups, find_group_medians, find_group_modes
from celosia.anonymity.masking.microaggregation.features import Feature, Names, Numbers, Ordered
from celosia.anonymity.masking.microaggregation.grouping import (
    group_by_principal,
    group_in_blocks,
    group_univariate,
    make_mdav,
    make_points,
)


def measure_loss(points: Any, groups: Any) -> float:
    """The part of the squared deviations that is within groups."""
    inside = sum(((points[groups == group] - points[groups == group].mean(axis=0)) ** 2).sum() for group in set(groups))
    return float(inside / ((points - points.mean(axis=0)) ** 2).sum())


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=14), st.integers(2, 4))
def test_one_column_is_grouped_with_the_least_error(numbers: list[int], k: int) -> None:
    if len(numbers) < k:
        return
    values = sorted(numbers)

    @cache
    def least(start: int) -> float:  # over every cut into neighbours of k or more
        if start == len(values):
            return 0.0
        parts = (values[start:end] for end in range(start + k, len(values) + 1))
        return min(
            (sum((v - sum(part) / len(part)) ** 2 for v in part) + least(start + len(part)) for part in parts),
            default=float("inf"),
        )

    array = np.array(numbers, dtype=np.float64)
    groups = group_univariate(array, k)
    sizes = np.bincount(groups)
    assert k <= sizes.min() <= sizes.max() < 2 * k
    assert float(((array - average_groups(array, groups)) ** 2).sum()) == pytest.approx(least(0), abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=40))
def test_centers_are_means_medians_and_modes(pairs: list[tuple[int, int]]) -> None:
    groups, codes = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    for row, (group, _) in enumerate(pairs):
        members = sorted(code for other, code in pairs if other == group)
        assert average_groups(codes.astype(float), groups)[row] == pytest.approx(sum(members) / len(members))
        assert find_group_medians(codes, groups)[row] == members[(len(members) - 1) // 2]
        most = max(Counter(members).values())
        assert find_group_modes(codes, groups)[row] == min(c for c, n in Counter(members).items() if n == most)


def run_gower(records: list[tuple[float, int, str]], k: int) -> list[set[int]]:
    """MDAV with Gower's distance, in plain Python; ranges are 1 and 2."""
    left, groups = list(range(len(records))), []

    def distance(one: tuple[float, float, str], two: tuple[float, float, str]) -> float:
        return abs(one[0] - two[0]) + abs(one[1] - two[1]) / 2 + (one[2] != two[2])

    while len(left) >= 2 * k:
        here = [records[row] for row in left]
        ranks = sorted(record[1] for record in here)
        names = Counter(record[2] for record in here)
        center = (
            sum(record[0] for record in here) / len(here),
            ranks[(len(here) - 1) // 2],
            min(names, key=lambda name: (-names[name], name)),
        )
        for _ in range(2 if len(left) >= 3 * k else 1):
            seed = max(left, key=lambda row: distance(records[row], center))
            center = records[seed]
            near = sorted(left, key=lambda row: (row != seed, distance(records[row], center)))
            groups.append(set(near[:k]))
            left = [row for row in left if row not in groups[-1]]
    return [*groups, set(left)] if left else groups


def test_mixed_records_are_grouped_by_gower_distance() -> None:
    for seed in range(20):
        lot = np.random.default_rng(seed)
        values = np.r_[0.0, 1.0, lot.random(38)]
        ranks = np.r_[0, 2, lot.integers(0, 3, 38)]
        names = lot.choice(list("abc"), 40)
        features: list[Feature] = [
            Numbers(values),
            Ordered(encode(pa.array(ranks), name="r"), ranks.astype(np.int64)),
            Names(encode(pa.array(names.tolist()), name="n")),
        ]
        groups = make_mdav(features)(np.arange(40), 4)
        found = [set(np.flatnonzero(groups == group).tolist()) for group in range(groups.max() + 1)]
        records = list(zip(values.tolist(), ranks.tolist(), names.tolist(), strict=True))
        assert found == run_gower(records, 4), seed


def test_names_alone_are_grouped_by_equality() -> None:
    names = Names(encode(pa.array(list("aabbbaab") + [None] * 4), name="n"))
    groups = make_mdav([names])(np.arange(12), 4)
    assert [len({names.codes[row] for row in np.flatnonzero(groups == g)}) for g in range(3)] == [1, 1, 1]


def test_blocks_lose_little_and_principal_components_much() -> None:
    points = np.random.default_rng(2).standard_normal((6000, 4))
    features: list[Feature] = [Numbers(np.ascontiguousarray(column)) for column in points.T]
    mdav = make_mdav(features)
    standard = make_points(features)
    exact = mdav(np.arange(6000), 5)
    blocks = group_in_blocks(np.arange(6000), points=standard, block=1000, k=5, group=mdav)
    principal = group_by_principal(standard, 5)
    for groups in (exact, blocks, principal):
        assert 5 <= np.bincount(groups).min() <= np.bincount(groups).max() <= 9
    loss = measure_loss(standard, exact)
    assert loss < measure_loss(standard, blocks) < 1.15 * loss
    assert measure_loss(standard, principal) > 5 * loss
