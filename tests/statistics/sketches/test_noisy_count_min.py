"""A noisy count-min sketch: neighbours are as far apart as is paid for, and intervals hold."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from celosia.core import InputError, ParameterError, PureDP, ReplaceOne
from celosia.noise import Seeded
from celosia.sketches.frequency.count_min import CountMin
from celosia.statistics.sketches.noisy_count_min import NoisyCountMin
from celosia.testing import check_mechanism


def table(values: list[int], rows: int, width: int, seed: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    sketch = CountMin(rows, width, seed=seed)
    sketch.update(values)
    return sketch.counters.copy()


@pytest.mark.parametrize("contributions", [1, 2])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_neighbours_are_as_far_apart_as_is_paid_for(contributions: int, adjacency: str) -> None:
    replaced = adjacency == "replace-one"
    terms = {"adjacency": ReplaceOne} if replaced else {}
    mechanism = NoisyCountMin(epsilon=1, rows=3, width=4, seed=1, contributions=contributions, **terms)  # type: ignore[arg-type]
    units = list(itertools.combinations_with_replacement(range(7), contributions))
    others = units if replaced else [()]
    l1 = l2 = 0
    for before, after in itertools.product(units, others):
        change = table([1, 2, *before], 3, 4, 1) - table([1, 2, *after], 3, 4, 1)
        l1, l2 = max(l1, int(np.abs(change).sum())), max(l2, int((change**2).sum()))
    # Exactly: neither less than what happens, nor more than what can.
    assert (l1, l2) == (mechanism.sensitivity.l1, mechanism.sensitivity.l2_squared)


@pytest.mark.parametrize("contributions", [1, 3])
def test_the_probabilities_of_neighbours_are_within_epsilon(contributions: int) -> None:
    mechanism = NoisyCountMin(epsilon="0.5", rows=2, width=3, seed=1, contributions=contributions)
    law = stats.dlaplace(1 / float(mechanism.event.scale))  # type: ignore[attr-defined]
    outputs = np.arange(-40, 41)
    worst = 0.0
    for value in range(9):
        here, there = table([5, 6], 2, 3, 1), table([5, 6] + [value] * contributions, 2, 3, 1)
        # Counters are independent, so that the largest ratio of tables is the product of theirs.
        losses = [
            np.abs(law.logpmf(outputs - a) - law.logpmf(outputs - b)).max()
            for a, b in zip(here.ravel().tolist(), there.ravel().tolist(), strict=True)
        ]
        worst = max(worst, float(sum(losses)))
    assert worst == pytest.approx(0.5, rel=1e-9)
    # Able to fail: noise that pays for one row of the sketch, and not for two.
    careless = NoisyCountMin(epsilon="0.5", rows=1, width=3, contributions=contributions).event
    assert float(mechanism.event.scale) == 2 * float(careless.scale)  # type: ignore[attr-defined]


def test_the_conformance_kit_finds_nothing() -> None:
    mechanism = NoisyCountMin(epsilon=1, rows=2, width=3, seed=1)
    report = check_mechanism(mechanism, [([5, 6, 7], [5, 6])], samples=2_000, processes=2)
    assert report.lower_bound <= 1


def test_what_surrounds_the_table() -> None:
    mechanism = NoisyCountMin(epsilon=1, rows=40, width=100, seed=3, unit="person", delta="1e-6", contributions=4)
    release = mechanism.release(["sun"] * 9, source=Seeded(7))
    assert release.seeded
    assert release.event == mechanism.event
    assert release.guarantee == mechanism.guarantee
    assert release.guarantee.unit == "person"
    assert mechanism.noise.kind == "Gaussian"
    low, high = release.confidence_interval(0.95)
    assert (low < high).all()
    assert NoisyCountMin(epsilon=1, rows=2, width=100, delta="1e-6").noise.kind == "Laplace"
    assert NoisyCountMin(epsilon=1, rows=2, width=100).guarantee == PureDP(epsilon=1)
    assert repr(NoisyCountMin(epsilon="0.1", rows=2, width=9)) == "NoisyCountMin(epsilon='0.1', rows=2, width=9)"


def test_a_sketch_is_taken_as_it_is() -> None:
    sketch = CountMin(3, 50, seed=2)
    sketch.update(range(200))
    mechanism = NoisyCountMin(epsilon=1, rows=3, width=50, seed=2)
    there, here = mechanism.release(sketch, source=Seeded(7)), mechanism.release(range(200), source=Seeded(7))
    assert np.array_equal(there.value, here.value)
    with pytest.raises(InputError, match="width=50"):
        mechanism.release(CountMin(3, 51, seed=2))


def test_cells_are_those_of_the_sketch() -> None:
    sketch = CountMin(4, 64, seed=9)
    sketch.update(range(500))
    read = NoisyCountMin(epsilon=1, rows=4, width=64, seed=9).estimate(sketch.counters, range(30))
    assert np.array_equal(read.cells, sketch.cells(range(30)))
    assert read.total == 500


@pytest.mark.parametrize(("epsilon", "delta"), [("1", None), ("0.2", "1e-6")])
def test_estimates_are_right_and_intervals_hold(epsilon: str, delta: str | None) -> None:
    rng = np.random.default_rng(5)
    values = np.minimum(rng.zipf(1.3, 20_000), 5_000)
    asked = np.array([1, 2, 3, 10, 100, 4_999, 6_001, 6_002])
    truth = np.array([np.count_nonzero(values == value) for value in asked])
    trials, outside, errors = 150, np.zeros(asked.size), np.empty((150, asked.size))
    for seed in range(trials):
        mechanism = NoisyCountMin(epsilon=epsilon, rows=5, width=500, seed=seed, delta=delta)
        answer = mechanism.estimate(mechanism.release(values, source=Seeded(seed)).value, asked)
        low, high = answer.confidence_interval(0.9)
        outside += (truth < low) | (truth > high)
        errors[seed] = answer.counts - truth
        assert (low >= 0).all()
    assert (outside <= 0.1 * trials).all()
    # As often too high as too low, within what so many trials can tell.
    high = (errors > 0).mean(axis=0)
    assert (np.abs(high - 0.5) < 4 * math.sqrt(0.25 / trials)).all()
    # Able to fail: an estimate that forgets the other values in a counter.
    crowded = np.median(answer.cells, axis=0) - truth
    assert epsilon != "1" or np.mean(crowded) > 10


@pytest.mark.parametrize("rows", [1, 2])
def test_intervals_hold_where_every_counter_is_crowded(rows: int) -> None:
    asked = np.array([7, 10**6, 10**6 + 1])
    truth, outside = np.array([200, 0, 0]), np.zeros(3)
    for seed in range(100):
        mechanism = NoisyCountMin(epsilon=1, rows=rows, width=30, seed=seed)
        values = np.concatenate([np.arange(3_000), np.full(199, 7)])
        answer = mechanism.estimate(mechanism.release(values, source=Seeded(seed)).value, asked)
        low, high = answer.confidence_interval(0.9)
        outside += (truth < low) | (truth > high)
        assert (high >= 0).all()
    assert (outside <= 10).all()


def test_intervals_notice_the_noise() -> None:
    # The mutant whose interval speaks of collisions only.
    outside = 0
    for seed in range(100):
        mechanism = NoisyCountMin(epsilon="0.1", rows=4, width=300, seed=seed)
        answer = mechanism.estimate(mechanism.release([1] * 50, source=Seeded(seed)).value, [1])
        least = answer.cells.min(axis=0)
        outside += not float(least[0]) - 50 <= 50 <= float(least[0])
    assert outside > 30


def test_bad_parameters() -> None:
    cases: list[dict[str, object]] = [
        {"epsilon": 0},
        {"epsilon": 1, "rows": 0},
        {"epsilon": 1, "width": 1},
        {"epsilon": 1, "contributions": 0},
        {"epsilon": 1, "delta": 0},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "adjacency": "sideways"},
        {"epsilon": 1, "unit": ""},
        {"epsilon": math.nan},
    ]
    for terms in cases:
        with pytest.raises(ParameterError):
            NoisyCountMin(**{"rows": 3, "width": 10, **terms})  # type: ignore[arg-type]


def test_bad_tables() -> None:
    mechanism = NoisyCountMin(epsilon=1, rows=3, width=10)
    for table_ in (np.zeros((3, 9), dtype=np.int64), np.zeros((3, 10)), np.zeros(30, dtype=np.int64)):
        with pytest.raises(InputError, match="3 by 10"):
            mechanism.estimate(table_, [1])  # type: ignore[arg-type]
    with pytest.raises(InputError):
        mechanism.release([1.5])
