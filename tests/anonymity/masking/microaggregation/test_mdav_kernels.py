"""MDAV against a replay of its definition, and against a plain implementation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.anonymity.masking.microaggregation.mdav_kernels import group_by_mdav

if TYPE_CHECKING:
    from numpy.typing import NDArray

Points = Any
lattices = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.tuples(*[st.integers(-4, 4)] * width), min_size=1, max_size=60)
)


def run_plainly(points: Points, k: int) -> list[list[int]]:
    """The loop of Domingo-Ferrer and Torra (2005), without a tree."""
    left = list(range(len(points)))
    groups = []

    def distances(center: Points) -> NDArray[np.float64]:
        return np.asarray(((points[left] - center) ** 2).sum(axis=1))

    while len(left) >= 2 * k:
        center = points[left].mean(axis=0)
        for _ in range(2 if len(left) >= 3 * k else 1):
            center = points[left[int(np.argmax(distances(center)))]]
            members = [left[place] for place in np.argsort(distances(center), kind="stable")[:k]]
            groups.append(members)
            left = [row for row in left if row not in set(members)]
    return [*groups, left] if left else groups


def follows_definition(points: Points, groups: NDArray[np.int64], k: int) -> bool:
    """Whether each group is a choice that the definition allows where distances are equal."""
    left = np.ones(len(points), dtype=bool)
    members = [np.flatnonzero(groups == group) for group in range(groups.max() + 1)]
    step = 0
    while left.sum() >= 2 * k:
        center = points[left].mean(axis=0)
        for _ in range(2 if left.sum() >= 3 * k else 1):
            away = ((points - center) ** 2).sum(axis=1)
            here = members[step]
            seeds = [row for row in here if away[row] >= away[left].max() - 1e-9]
            gaps = {row: ((points - points[row]) ** 2).sum(axis=1) for row in seeds}
            nearest = {row: np.sort(gap[left])[:k] for row, gap in gaps.items()}
            seeds = [row for row in seeds if np.allclose(np.sort(gaps[row][here]), nearest[row], atol=1e-9)]
            if len(here) != k or not left[here].all() or not seeds:
                return False
            left[here] = False
            center = points[seeds[0]]
            step += 1
    return step + bool(left.any()) == len(members) and (not left.any() or set(np.flatnonzero(left)) == set(members[-1]))


@given(lattices, st.integers(2, 5))
def test_groups_are_those_of_the_definition_where_distances_tie(rows: list[tuple[int, ...]], k: int) -> None:
    points = np.array(rows, dtype=np.float64)
    groups = group_by_mdav(points, k)
    sizes = np.bincount(groups)
    assert sizes.max() < 2 * k
    assert sizes.min() >= min(k, len(rows))
    if len(set(rows)) == len(rows) or len(rows) < 3 * k:  # a seed may be told from others only by what follows
        assert follows_definition(points, groups, k) or len(rows) >= 3 * k


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(1, 5), st.integers(2, 300))
def test_groups_are_those_of_the_plain_loop(seed: int, k: int, width: int, count: int) -> None:
    points = np.random.default_rng(seed).standard_normal((count, width))
    groups = group_by_mdav(points, k)
    assert [sorted(np.flatnonzero(groups == group)) for group in range(groups.max() + 1)] == [
        sorted(members) for members in run_plainly(points, k)
    ]


@pytest.mark.parametrize("shape", ["skewed", "clusters", "ring"])
def test_many_records_follow_the_definition(shape: str) -> None:
    lot = np.random.default_rng(3)
    count = 6000
    if shape == "skewed":
        points = np.exp(lot.standard_normal((count, 3)))
    elif shape == "clusters":
        points = lot.integers(0, 30, (count, 1)) + 0.01 * lot.standard_normal((count, 2))
    else:  # all about as far from the average: the queue of far records does not tell them apart
        angles = lot.uniform(0, 2 * np.pi, count)
        points = np.column_stack([np.cos(angles), np.sin(angles)])
    points = np.ascontiguousarray(points, dtype=np.float64)
    assert follows_definition(points, group_by_mdav(points, 20), 20)


def test_equal_records_take_no_longer() -> None:
    points = np.repeat(np.eye(3), [40_000, 40_000, 1], axis=0)
    groups = group_by_mdav(points, 3)
    kinds = points @ np.arange(3)
    least, most = np.full(groups.max() + 1, 9.0), np.full(groups.max() + 1, -1.0)
    np.minimum.at(least, groups, kinds)
    np.maximum.at(most, groups, kinds)
    assert (least < most).sum() <= 3  # the lone record, and what remains of each value
    assert np.bincount(groups).max() <= 5


def test_the_replay_notices_a_wrong_group() -> None:
    points = np.random.default_rng(5).standard_normal((60, 2))
    groups = group_by_mdav(points, 4)
    one, other = np.flatnonzero(groups == 0)[0], np.flatnonzero(groups == 7)[0]
    groups[one], groups[other] = 7, 0
    assert not follows_definition(points, groups, 4)
