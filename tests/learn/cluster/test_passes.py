"""Passes of clustering: what they spend, what their sums are sensitive to, and that they find clusters."""

import itertools
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray

from celosia.accounting import PureAccountant, ZCDPAccountant
from celosia.audit import distinguish
from celosia.core import AddRemove, InputError, ParameterError, PureDP, ReplaceOne, Source
from celosia.core.adjacency import Adjacency
from celosia.core.events import GaussianEvent, LaplaceEvent
from celosia.learn.cluster.kernels import add_fuzzy, add_nearest
from celosia.learn.cluster.passes import BIN, COUNT, REACH, VOTE, Add, Extent, Passes, check_rows, sensitivity_of
from celosia.noise import Seeded
from celosia.statistics.base.noise import Noise, Sensitivity
from celosia.statistics.base.target import Target


def unit_box(features: int, *, euclidean: bool = False) -> Extent:
    return Extent(np.zeros(features), np.ones(features), euclidean=euclidean)


def two_blobs(rows: int = 400) -> NDArray[np.float64]:
    random = np.random.default_rng(7)
    centres = np.repeat([[0.2, 0.7], [0.7, 0.3]], rows // 2, axis=0)
    return np.asarray(centres + random.normal(scale=0.04, size=centres.shape))


def test_a_plan_spends_what_was_asked_for() -> None:
    cases: list[Adjacency] = [AddRemove, ReplaceOne]
    for adjacency in cases:
        pure = Passes.plan(Target.of(epsilon="0.7", adjacency=adjacency), unit_box(3), clusters=5, whole=1, refining=3)
        assert pure.sizes == (1, 2, 4, 5, 5, 5)
        assert PureAccountant().spend(pure.event).guarantee() == PureDP(epsilon="0.7", adjacency=adjacency)
        box = unit_box(3, euclidean=True)
        gaussian = Passes.plan(Target.of(rho="0.3", adjacency=adjacency), box, clusters=5, whole=2**17, refining=3)
        assert ZCDPAccountant().spend(gaussian.event).guarantee().rho <= Fraction(3, 10)  # type: ignore[attr-defined]


@pytest.mark.parametrize("features", [1, 2, 3, 4, 5])
def test_the_textbook_bounds_are_those_of_fuzzy_weights(features: int) -> None:
    # Sums of u^m (x - 1/2) and of u^m on the unit cube: L2 sqrt(1 + d/4), and sqrt(max(d, 2 + d/2)) if replaced; in L1
    # 1 + d/2 and 2 + d. Corners and all shares of quarters, in exact numbers: never above, and reached.
    d = Fraction(features)
    corners = [np.array(signs) / 2 for signs in itertools.product((-1, 1), repeat=features)]
    corners = [corners[0], corners[-1], corners[len(corners) // 2]]
    shares = [(a, b, c) for a, b, c in itertools.product(range(5), repeat=3) if a + b + c <= 4]
    parts = [
        np.concatenate([np.array(share) / 4, *[w / 4 * corner for w in share]])
        for share in shares
        for corner in corners
    ]
    norms = max(float((part**2).sum()) for part in parts), max(float(np.abs(part).sum()) for part in parts)
    assert norms == (float(1 + d / 4), float(1 + d / 2))
    across = [one - other for one in parts for other in parts]
    assert max(float((part**2).sum()) for part in across) == float(max(d, 2 + d / 2))
    assert max(float(np.abs(part).sum()) for part in across) == float(2 + d)


def test_sensitivity_is_that_of_shares_brute_force() -> None:
    for euclidean, clusters in product((False, True), (1, 3)):
        # Displacements along one axis and back, and spread evenly; two bins; two directions; all shares of thirds.
        features, whole = 4, 3
        even = REACH // 2 if euclidean else REACH // 4
        ways = [np.eye(features, dtype=object)[0] * REACH, np.eye(features, dtype=object)[0] * -REACH]
        ways += [np.full(features, even, dtype=object), np.full(features, -even, dtype=object)]
        shares = [w for w in itertools.product(range(whole + 1), repeat=clusters) if sum(w) <= whole]
        if clusters == 1:
            shares = [(whole,)]
        parts = []
        for share, way, side in itertools.product(shares, ways, (0, 1)):
            counts = np.array(share, dtype=object) * COUNT
            sums = np.concatenate([w * way for w in share])
            beside = np.zeros(2 + 2 * clusters, dtype=object)
            beside[side] = sum(share) * BIN
            beside[2 + side :: 2] = np.array(share, dtype=object) * VOTE
            parts.append(np.concatenate([counts, sums, beside]))
        for adjacency, found in (
            (AddRemove, parts),
            (ReplaceOne, [one - other for one, other in itertools.combinations(parts, 2)]),
        ):
            claimed = sensitivity_of(
                features=features, clusters=clusters, whole=whole, euclidean=euclidean, votes=True, adjacency=adjacency
            )
            l1, l2_squared = max(sum(map(abs, part)) for part in found), max((part**2).sum() for part in found)
            assert l1 <= claimed.l1 <= 1.001 * l1
            assert l2_squared <= claimed.l2_squared <= 1.001 * l2_squared


def test_weights_are_the_best_for_the_noise() -> None:
    random = np.random.default_rng(7)
    low, high = np.zeros(5), random.uniform(0.1, 100, size=5)
    for euclidean in (False, True):
        box = Extent(low, high, euclidean=euclidean)
        best = box.spread * box.radius
        for _ in range(200):
            other = box.weights * random.uniform(0.5, 2, size=5)
            noise = np.sqrt(((box.half / other) ** 2).sum()) * box.length(other)
            assert noise >= best * (1 - 1e-9)


def test_two_clusters_are_found() -> None:
    for euclidean, order in product((False, True), ("C", "F")):
        privacy = Target.of(rho=1) if euclidean else Target.of(epsilon=2)
        passes = Passes.plan(privacy, unit_box(2, euclidean=euclidean), clusters=2, whole=1, refining=3)
        rows = np.asarray(two_blobs(), order=order)  # type: ignore[call-overload]
        found = passes.run(rows, add_nearest, Seeded(7))
        np.testing.assert_allclose(found[np.argsort(found[:, 0])], [[0.2, 0.7], [0.7, 0.3]], atol=0.03)


def check_every_number_of_a_pass_gets_noise_of_its_own_once(privacy: Target) -> None:
    box = unit_box(2, euclidean=privacy.kind != "pure")
    passes = Passes.plan(privacy, box, clusters=5, whole=1, refining=2)
    drawn: list[tuple[Noise, int]] = []
    release = Noise.release

    def counted(noise: Noise, summary: NDArray[Any], source: Source | None = None) -> NDArray[np.int64]:
        noisy = release(noise, summary, source)
        changed = int(np.count_nonzero(noisy - summary))
        assert changed == summary.size  # a draw of 0 has a chance of one in a hundred thousand
        drawn.append((noise, changed))
        return noisy

    with mock.patch.object(Noise, "release", counted):
        passes.run(two_blobs(), add_nearest, Seeded(7))
    events = passes.event.events  # type: ignore[attr-defined]
    assert [noise.event for noise, _ in drawn] == list(events)
    assert [count for _, count in drawn] == [event.dimension for event in events]


def test_every_number_of_a_pass_gets_noise_of_its_own_once() -> None:
    cases: list[Target] = [Target.of(epsilon=1), Target.of(rho=1)]
    for privacy in cases:
        check_every_number_of_a_pass_gets_noise_of_its_own_once(privacy)


def check_in_every_pass_of_a_fit_neighbours_are_as_near_as_its_noise_supposes(
    adjacency: Adjacency, given: dict[str, Any], features: int, *, fuzzy: bool
) -> None:
    # The very sums that are released, at the centres and the radius that the fit has come to.
    privacy, whole = Target.of(adjacency=adjacency, **given), 2**17 if fuzzy else 1
    box = unit_box(features, euclidean=privacy.kind != "pure")
    passes = Passes.plan(privacy, box, clusters=4, whole=whole, refining=2)
    random = np.random.default_rng(7)
    rows = np.vstack([random.uniform(size=(12, features)), np.zeros((1, features)), np.ones((2, features))])
    others = rows[-8:] if adjacency is ReplaceOne else [None]
    summed = Passes._sum_records
    seen: list[float] = []
    kernel: Add = add_fuzzy if fuzzy else add_nearest

    def add(*arrays: Any) -> None:
        kernel(*arrays, *([2.0, whole] if fuzzy else []))

    def near(passes: Passes, values: NDArray[np.float64], *state: Any, **more: Any) -> NDArray[np.int64]:
        here, event = summed(passes, values, *state, **more), passes.noises[len(seen)].event
        largest = Fraction(0)
        for record, other in itertools.product(range(len(values)), others):
            there = np.delete(values, record, axis=0)
            there = there if other is None else np.vstack([there, other])
            apart = [abs(int(step)) for step in here - summed(passes, there, *state, **more)]
            size = Fraction(sum(apart)) if privacy.kind == "pure" else Fraction(sum(step**2 for step in apart))
            largest = max(largest, size)
        assert isinstance(event, LaplaceEvent | GaussianEvent)
        claimed = event.sensitivity if isinstance(event, LaplaceEvent) else event.sensitivity_squared
        assert largest <= claimed
        seen.append(float(largest / claimed))
        return here

    with mock.patch.object(Passes, "_sum_records", near):
        passes.run(rows, add, Seeded(7))
    assert len(seen) == len(passes.noises)
    assert max(seen) > 0.9  # so that little more would be too much


def test_in_every_pass_of_a_fit_neighbours_are_as_near_as_its_noise_supposes() -> None:
    adjacency_cases: list[Adjacency] = [AddRemove, ReplaceOne]
    given_cases: list[dict[str, Any]] = [{"epsilon": 1}, {"rho": 1}]
    for adjacency, given, fuzzy, features in product(adjacency_cases, given_cases, (False, True), (1, 3)):
        check_in_every_pass_of_a_fit_neighbours_are_as_near_as_its_noise_supposes(
            adjacency, given, features, fuzzy=fuzzy
        )


def test_noise_that_cannot_be_drawn_is_refused() -> None:
    Passes.plan(Target.of(epsilon="1e-6"), unit_box(2), clusters=2, whole=1, refining=1).check()
    with pytest.raises(ParameterError, match="64-bit"):
        Passes.plan(Target.of(epsilon="1e-14"), unit_box(2), clusters=2, whole=1, refining=1).check()


def test_the_forecast_is_that_of_the_last_noise() -> None:
    passes = Passes.plan(Target.of(epsilon=1), unit_box(1), clusters=1, whole=1, refining=1)
    # Laplace noise of the whole sensitivity, on displacements up to a quarter of half the box.
    assert passes.push == pytest.approx(2**0.5 * (COUNT + REACH + BIN) / REACH / 8, rel=1e-6)
    assert passes.error(100) == pytest.approx(passes.push / 100)
    assert passes.error(0.1) == pytest.approx(passes.push)
    assert Passes.plan(Target.of(epsilon="0.01"), passes.box, clusters=1, whole=1, refining=1).error(1) == 0.5


def test_centres_stay_in_the_box_whatever_the_noise() -> None:
    passes = Passes.plan(Target.of(epsilon="1e-6"), unit_box(3), clusters=7, whole=1, refining=3)
    for seed in range(10):
        found = passes.run(np.full((7, 3), 0.5), add_nearest, Seeded(seed))
        assert found.shape == (7, 3)
        assert ((found >= 0) & (found <= 1)).all()


def test_extreme_bounds_give_finite_centres() -> None:
    low, high = np.array([-1e30, 0.0]), np.array([1e30, 1e-25])
    for euclidean in (False, True):
        privacy = Target.of(rho=1) if euclidean else Target.of(epsilon=1)
        passes = Passes.plan(privacy, Extent(low, high, euclidean=euclidean), clusters=3, whole=1, refining=2)
        assert np.isfinite(passes.run(np.ones((9, 2)) * [3e29, 4e-26], add_nearest, Seeded(7))).all()


def test_too_many_rows_are_refused() -> None:
    with pytest.raises(InputError, match="2\\^28"):
        check_rows(2**28 + 1)


def test_the_whole_fit_keeps_its_promise_on_tiny_data_and_a_mutant_does_not() -> None:
    rows = np.zeros((3, 1))
    changed = np.vstack([rows[1:], [[1.0]]])

    def seen(epsilon: float) -> float:
        privacy = Target.of(epsilon=epsilon, adjacency=ReplaceOne)
        passes = Passes.plan(privacy, unit_box(1), clusters=1, whole=1, refining=1)

        def run(records: Any, count: int, source: Source) -> NDArray[np.float64]:
            return np.array([passes.run(records, add_nearest, source).ravel() for _ in range(count)])

        return distinguish(run, rows, changed, samples=400).epsilon

    assert seen(1.0) <= 1.0
    assert seen(16.0) > 1.0  # with a sixteenth of the noise


def test_the_noisy_sums_of_a_pass_use_up_their_promise_and_no_more() -> None:
    passes = Passes.plan(Target.of(epsilon=2), unit_box(1), clusters=2, whole=1, refining=1)
    record, nothing = (
        passes._sum_records(rows, add_nearest, np.array([[0.5]]), 0.2, voting=True)
        for rows in (np.ones((1, 1)), np.ones((0, 1)))
    )

    def seen(noise: Noise) -> float:
        def run(summed: Any, count: int, source: Source) -> NDArray[np.float64]:
            cells = replace(noise, cells=count)
            return cells.release(np.repeat(summed[None, :], count, axis=0), source).astype(np.float64)

        return distinguish(run, record, nothing, samples=20_000).epsilon

    promise = float(passes.noises[0].guarantee.epsilon)  # type: ignore[attr-defined]
    assert 0.4 * promise < seen(passes.noises[0]) <= promise
    # A mutant that forgot the displacement itself: noise for the size, the histogram and the vote alone.
    forgotten = Sensitivity(l1=COUNT + BIN + VOTE, l2_squared=1)
    assert seen(Target.of(epsilon=2).noise(forgotten, len(record), Fraction(1, 3))) > promise
