"""What one record adds to the sums of clustering: integers that never exceed the stated sensitivity."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from celosia.core import AddRemove, ReplaceOne
from celosia.core.adjacency import Adjacency
from celosia.learn.cluster.kernels import Frame, Totals, add_fuzzy, add_nearest
from celosia.learn.cluster.passes import BIN, COUNT, EDGES, REACH, VOTE, Add, sensitivity_of
from celosia.learn.cluster.start import PATTERNS, build_patterns

WHOLE = 2**17


def sums(
    rows: NDArray[np.float64],
    centres: NDArray[np.float64],
    *,
    m: float | None,
    euclidean: bool,
    slope: float = REACH / 1.5,
    reach: int = REACH,
    whole: int = WHOLE,
) -> list[int]:
    """The exact sums over rows in the unit box, as a pass makes them, in Python's integers."""
    clusters, features = centres.shape
    frame = Frame(
        box=np.array([np.zeros(features), np.ones(features)]),
        centres=np.ascontiguousarray(centres.T),
        slopes=np.full(features, slope),
        reach=reach,
        euclidean=euclidean,
        edges=EDGES * slope * features,
        patterns=build_patterns(np.full(features, 0.5)),
        vote=VOTE,
    )
    totals = Totals(
        counts=np.zeros(clusters, np.int64),
        sums=np.zeros((clusters, features), np.int64),
        bins=np.zeros(len(EDGES) + 1, np.int64),
        votes=np.zeros((clusters, PATTERNS + features), np.int64),
    )
    kernel: Add = add_nearest if m is None else add_fuzzy
    values = np.ascontiguousarray(rows, dtype=np.float64).reshape(-1, features)
    kernel(values, frame, totals, *([] if m is None else [m, whole]))
    counts, moved, bins, votes = totals
    return [*(COUNT * counts).tolist(), *moved.ravel().tolist(), *(BIN * bins).tolist(), *votes.ravel().tolist()]


def apart(one: list[int], other: list[int]) -> tuple[int, int]:
    differences = [a - b for a, b in zip(one, other, strict=True)]
    return sum(map(abs, differences)), sum(number**2 for number in differences)


def within(one: list[int], other: list[int], centres: NDArray[np.float64], adjacency: Adjacency, **kind: Any) -> bool:
    claimed = sensitivity_of(
        features=centres.shape[1],
        clusters=centres.shape[0],
        whole=1 if kind["m"] is None else WHOLE,
        euclidean=kind["euclidean"],
        votes=True,
        adjacency=adjacency,
    )
    l1, l2_squared = apart(one, other)
    return l1 <= claimed.l1 and l2_squared <= claimed.l2_squared


# Values on a coarse lattice, so that ties and rows on centres are common, and some far outside the box.
VALUES = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0, 1), st.sampled_from([-1e300, 1e300, -3.5, 7.0]))
INSIDE = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0, 1))


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    features, clusters = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    rows = draw(st.lists(st.lists(VALUES, min_size=features, max_size=features), min_size=1, max_size=5))
    other = draw(st.lists(VALUES, min_size=features, max_size=features))
    centres = draw(
        st.lists(st.lists(INSIDE, min_size=features, max_size=features), min_size=clusters, max_size=clusters)
    )
    return {
        "rows": np.array(rows),
        "other": np.array(other),
        "centres": np.array(centres),
        "m": draw(st.sampled_from([None, 2.0, 1.05, 1.5, 3.0, 40.0])),
        "euclidean": draw(st.booleans()),
        "slope": draw(st.sampled_from([REACH / 8, REACH / 1.5, REACH * 30.0])),
    }


@settings(max_examples=300)
@given(cases())
def test_neighbours_are_never_further_apart_than_claimed(case: dict[str, Any]) -> None:
    rows, other, centres = case.pop("rows"), case.pop("other"), case.pop("centres")
    here = sums(rows, centres, **case)
    removed = sums(rows[1:], centres, **case)
    replaced = sums(np.vstack([other, rows[1:]]), centres, **case)
    kind = {name: case[name] for name in ("m", "euclidean")}
    assert within(here, removed, centres, AddRemove, **kind)
    assert within(here, replaced, centres, ReplaceOne, **kind)


@pytest.mark.parametrize("euclidean", [False, True])
@pytest.mark.parametrize("m", [None, float(np.nextafter(1.0, 2)), 1 + 1e-9, 2.0, 17.0, 1000.0])
@pytest.mark.parametrize(("features", "clusters"), [(1, 1), (1, 30), (50, 1), (50, 30), (9, 2)])
@pytest.mark.sampled(4)
def test_many_features_and_clusters_and_any_fuzziness(
    features: int,
    clusters: int,
    m: float | None,
    euclidean: bool,  # noqa: FBT001
) -> None:
    random = np.random.default_rng(features + clusters)
    for slope in (REACH / features, REACH * 2.0, REACH * 100.0):
        centres = random.choice([0.0, 0.25, 0.5, 1.0], size=(clusters, features))
        axis = np.eye(features)[0] * REACH / slope  # as far as a displacement reaches, in L1 and in L2
        records = [*random.uniform(-0.5, 1.5, size=(4, features)), np.zeros(features), np.ones(features)]
        records += [np.full(features, 1e308), *centres[:2], *np.nextafter(centres[:2], 2)]
        records += [centres[0] + axis, centres[-1] - axis, (centres[0] + centres[-1]) / 2]
        kind: dict[str, Any] = {"m": m, "euclidean": euclidean}
        parts = [sums(record[None, :], centres, slope=slope, **kind) for record in records]
        together = sums(np.array(records), centres, slope=slope, **kind)
        assert together == [sum(numbers) for numbers in zip(*parts, strict=True)]
        for place, part in enumerate(parts):
            assert within(part, [0] * len(part), centres, AddRemove, **kind)
            assert all(within(part, other, centres, ReplaceOne, **kind) for other in parts[place + 1 :])


@settings(max_examples=100)
@given(cases(), st.randoms(use_true_random=False))
def test_a_record_adds_the_same_wherever_it_stands(case: dict[str, Any], random: Any) -> None:
    rows, centres = np.tile(case.pop("rows"), (7, 1)), case.pop("centres")
    case.pop("other")
    order = list(range(len(rows)))
    random.shuffle(order)
    alone = [sums(row[None, :], centres, **case) for row in rows]
    together = sums(rows[order], centres, **case)
    assert together == [sum(numbers) for numbers in zip(*alone, strict=True)]


def test_the_bound_is_reached() -> None:
    m_cases: list[float | None] = [None, 2.0]
    adjacency_cases: list[Adjacency] = [AddRemove, ReplaceOne]
    for m, euclidean, adjacency in product(m_cases, (False, True), adjacency_cases):
        # Two centres at opposite corners: a row at one of them, moved as far as it can be, and the same for the other.
        features = 4
        centres = np.array([np.full(features, 0.0), np.full(features, 1.0)])
        slope = REACH * 3.0
        one, other = np.full((1, features), 0.3), np.full((1, features), 0.75)
        if m is not None:  # a fuzzy row is shared out unless it is near a centre
            slope, one, other = REACH * 1e4, np.full((1, features), 1e-3), np.full((1, features), 1 - 1.2e-3)
        here = sums(one, centres, m=m, euclidean=euclidean, slope=slope)
        there = sums(other if adjacency is ReplaceOne else other[:0], centres, m=m, euclidean=euclidean, slope=slope)
        kind: dict[str, Any] = {"m": m, "euclidean": euclidean}
        assert within(here, there, centres, adjacency, **kind)
        claimed = sensitivity_of(
            features=features, clusters=2, whole=1 if m is None else WHOLE, euclidean=euclidean, votes=True,
            adjacency=adjacency,
        )  # fmt: skip
        l1, l2_squared = apart(here, there)
        # Both rows fall into the last bin here, so a replaced row does not change the histogram: that part is missing.
        same_bin = 0 if adjacency is AddRemove else 2 * BIN * (1 if m is None else WHOLE)
        assert l1 + same_bin >= 0.99 * claimed.l1
        if adjacency is AddRemove and euclidean:  # cut off in L1, it would lie on an axis
            assert l2_squared >= 0.99 * claimed.l2_squared


def test_the_longest_way_across_one_cluster_is_reached() -> None:
    centres = np.array([[0.5, 0.5]])
    for euclidean in (False, True):
        here, there = (
            sums(np.full((1, 2), x), centres, m=None, euclidean=euclidean, slope=9.0 * REACH) for x in (0, 1)
        )
        assert within(here, there, centres, ReplaceOne, m=None, euclidean=euclidean)
        moved = apart(here[1:3], there[1:3])[1 if euclidean else 0]
        assert moved >= 0.999 * (4 * REACH**2 if euclidean else 2 * REACH)


def test_mutants_are_caught() -> None:
    rows, none, centres = np.array([[0.0, 1.0]]), np.zeros((0, 2)), np.array([[0.5, 0.4]])
    for euclidean in (False, True):
        kind: dict[str, Any] = {"euclidean": euclidean, "slope": REACH * 4.0}
        empty = sums(none, centres, m=None, **kind)
        assert within(sums(rows, centres, m=None, **kind), empty, centres, AddRemove, m=None, euclidean=euclidean)
        unclipped = sums(rows, centres, m=None, reach=REACH * 11 // 10, **kind)
        assert not within(unclipped, empty, centres, AddRemove, m=None, euclidean=euclidean)
        heavier = sums(rows, centres, m=2.0, whole=WHOLE * 11 // 10, **kind)
        assert not within(heavier, empty, centres, AddRemove, m=2.0, euclidean=euclidean)


def test_nearest_agrees_with_numpy() -> None:
    random = np.random.default_rng(7)
    rows, centres = random.uniform(-0.2, 1.2, size=(500, 3)), random.uniform(size=(4, 3))
    found = np.array(sums(rows, centres, m=None, euclidean=True))
    inside = np.clip(rows, 0, 1)
    places = ((inside[:, None] - centres) ** 2).sum(axis=-1).argmin(axis=1)
    assert found[:4].tolist() == (COUNT * np.bincount(places, minlength=4)).tolist()
    steps = (inside - centres[places]) * REACH / 1.5
    length = np.linalg.norm(steps, axis=1, keepdims=True)
    steps *= np.minimum(1, REACH / length)
    for place in range(4):
        assert np.abs(found[4 + 3 * place : 7 + 3 * place] - steps[places == place].sum(axis=0)).max() <= 500
    histogram = np.bincount(np.searchsorted(EDGES * REACH / 1.5 * 3, length[:, 0]), minlength=len(EDGES) + 1)
    assert found[16 : 16 + len(EDGES) + 1].tolist() == (BIN * histogram).tolist()


def test_fuzzy_agrees_with_the_formula() -> None:
    for m in (1.2, 2.0, 2.5):
        random = np.random.default_rng(8)
        rows, centres = random.uniform(size=(200, 2)), random.uniform(size=(3, 2))
        found = np.array(sums(rows, centres, m=m, euclidean=True))
        distances = np.linalg.norm(rows[:, None] - centres, axis=-1)
        # The textbook's u: distances to the power 2/(m - 1).
        u = 1 / ((distances[:, :, None] / distances[:, None, :]) ** (2 / (m - 1))).sum(axis=2)
        assert np.abs(found[:3] / COUNT - (u**m).sum(axis=0) * WHOLE).max() <= 201
        steps = (rows[:, None] - centres) * REACH / 1.5
        expected = ((u**m)[:, :, None] * steps).sum(axis=0)
        assert np.abs(found[3:9].reshape(3, 2) / WHOLE - expected).max() <= 200 * 3


def test_memberships_where_a_row_lies_on_centres() -> None:
    centres = np.array([[0.5], [0.5], [0.0]])
    found = sums(np.array([[0.5]]), centres, m=2.0, euclidean=False)
    assert [number // COUNT for number in found[:3]] == [WHOLE // 4, WHOLE // 4, 0]
    assert found[3:6] == [0, 0, 0]


def test_slopes_that_overflow_do_no_harm() -> None:
    m_cases: list[float | None] = [None, 2.0]
    for m, euclidean in product(m_cases, (False, True)):
        centres, nothing = np.array([[0.0, 0.0], [1.0, 1.0]]), np.zeros((0, 2))
        kind: dict[str, Any] = {"m": m, "euclidean": euclidean}
        for row in ([[0.0, 0.4]], [[0.0, 0.0]]):
            here, there = (sums(np.array(rows), centres, slope=1e308 * 9, **kind) for rows in (row, nothing))
            assert within(here, there, centres, AddRemove, **kind)
