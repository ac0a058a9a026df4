"""Local hashing, with hashes of one's own and with public ones: law, draws, hashes, estimates, bad input."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from celosia.core import InputError, ParameterError
from celosia.local import Protocol
from celosia.local.base.packing import unpack
from celosia.local.frequency.local_hashing import LocalHashing, row_coefficients
from celosia.noise import Seeded
from celosia.sketches.hashing.digest import digest
from celosia.sketches.hashing.family import HashFamily
from tests.local import laws

EPSILONS: list[int | str] = ["0.5", 1, 2, 4]


def test_the_law_uses_epsilon_and_no_more() -> None:
    for epsilon, hashes in product(EPSILONS, (1, 3, 8, 64)):
        laws.check_law(LocalHashing(domain=30, epsilon=epsilon, hashes=hashes), list(range(30)))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.sampled(2)
def test_draws_follow_the_law(epsilon: Any) -> None:
    protocol = LocalHashing(domain=30, epsilon=epsilon, hashes=3, seed=5)
    for value in (0, 17):
        laws.check_draws(protocol, value)


@pytest.mark.sampled(3)  # two of four, which differ in both
@pytest.mark.parametrize("hashes", [None, 16])
@pytest.mark.parametrize("domain", [50, ["sun", "rain", "snow"]])
def test_reports_are_randomized_response_over_the_hash(hashes: int | None, domain: Any) -> None:
    protocol = LocalHashing(domain=domain, epsilon=1, hashes=hashes, seed=2**64 - 1)
    value = 7 if domain == 50 else "snow"
    for payload in (
        protocol.privatize([value] * 30_000, source=Seeded(1)).payload,
        laws.one_by_one(protocol, value, 2_000, 2),
    ):
        index, said = unpack(payload, protocol._widths)
        width = 32 if hashes is None else 4
        assert np.bincount(index.astype(np.int64) >> (width - 4), minlength=16).min() > len(payload) / 16 * 0.75
        # The number of a hash function is a row of the family, however many rows that has.
        (word,) = digest([value], seed=protocol.seed)
        rows = row_coefficients(index.astype(np.int64), protocol.seed)
        own = [int(_polynomial(row.tolist(), int(word), protocol.buckets)) for row in rows[:2000]]
        hit = (said[:2000] == own).mean()
        told = math.e / (math.e + protocol.buckets - 1)
        assert abs(hit - told) < 5 * math.sqrt(told * (1 - told) / 2000)
        masses = np.exp(protocol.log_masses(value, payload[:2000]))
        functions = hashes or 2**32
        expected = np.where(said[:2000] == own, told, (1 - told) / (protocol.buckets - 1)) / functions
        assert masses == pytest.approx(expected, rel=1e-9)


def _polynomial(coefficients: list[int], word: int, width: int) -> int:
    """The published definition, in Python's integers."""
    p = 2**61 - 1
    x = word % p
    y = sum(int(c) * x**i for i, c in enumerate(coefficients)) % p
    column: int = (y >> 29) * width >> 32
    return column


def test_coefficients_are_those_of_the_family() -> None:
    family = HashFamily(1000, 4, seed=9)
    rows = np.array([0, 999, 5, 5])
    assert (row_coefficients(rows, 9) == family.coefficients[rows]).all()
    assert row_coefficients(np.array([2**32 - 1]), 9).max() < 2**61 - 1


def test_the_servers_count_is_that_of_the_definition() -> None:
    protocol = LocalHashing(domain=40, epsilon=1, seed=3)
    reports = protocol.privatize(np.arange(40), source=Seeded(4))
    index, said = unpack(reports.payload, protocol._widths)
    words = digest(np.arange(40), seed=3).tolist()
    rows = row_coefficients(index.astype(np.int64), 3).tolist()
    expected = [
        sum(_polynomial(row, word, protocol.buckets) == bucket for row, bucket in zip(rows, said.tolist(), strict=True))
        for word in words
    ]
    assert protocol.aggregate().absorb(reports).state["supports"].tolist() == expected


def test_estimates_are_right_on_average() -> None:
    values = np.repeat(np.arange(12), [1500, 750, 150, *[0] * 9])
    laws.check_moments(LocalHashing(domain=12, epsilon=1), values, 12)


def test_public_hashes_add_the_variance_of_collisions(*, thorough: bool) -> None:
    """Over seeds, with people who do not spread: squares of counts matter. A missing factor g - 1 would be seen."""
    values = np.repeat(np.arange(4), [1500, 300, 200, 0])
    truth = np.bincount(values, minlength=4).astype(np.float64)
    times = 1500 if thorough else 600
    source, raw, told = Seeded(5), [], []
    for seed in range(times):
        protocol = LocalHashing(domain=4, epsilon=2, hashes=20, seed=seed)
        estimate = protocol.aggregate().absorb(protocol.privatize(values, source=source)).estimate()
        raw.append(estimate.raw)
        told.append(estimate.standard_errors**2)
    squares = (truth**2).sum() - truth**2
    theory = np.array([protocol.variance(2000, c, squares=s) for c, s in zip(truth, squares, strict=True)])
    coins = np.array([protocol.variance(2000, c) for c in truth])
    assert theory[3] > 9 * coins[3]
    deviations = (np.array(raw) - truth) ** 2 / theory
    assert np.abs((np.mean(raw, axis=0) - truth) / np.sqrt(theory / times)).max() < 5
    assert np.abs((deviations.mean(axis=0) - 1) / (deviations.std(axis=0) / math.sqrt(times))).max() < 5
    assert np.abs(np.mean(told, axis=0) / theory - 1).max() < 0.1


def test_the_variance_is_that_of_the_table() -> None:
    for size in (100, 1000, 65536):
        # The table has g = e^epsilon + 1; an integer number of buckets costs a third of a percent at most.
        for epsilon, variance in ((1, 3.68), (2, 0.724), (4, 0.0760)):
            protocol = LocalHashing(domain=size, epsilon=epsilon)
            assert variance * 0.999 < protocol.variance(1) < variance * 1.0035
            e, g = math.exp(epsilon), protocol.buckets
            p = e / (e + g - 1)  # Wang, Blocki, Li and Jha 2017
            assert protocol.variance(1) == pytest.approx((1 / g) * (1 - 1 / g) / (p - 1 / g) ** 2)
            assert protocol.bits == 32 + (g - 1).bit_length()


def test_the_number_of_buckets_is_the_best() -> None:
    for epsilon in (0.1, 0.5, 1, 1.5, 2, 3, 4, 7):
        best = LocalHashing(domain=9, epsilon=epsilon)
        every = [LocalHashing(domain=9, epsilon=epsilon, buckets=g).variance(1) for g in range(2, 1300)]
        assert best.variance(1) == pytest.approx(min(every), rel=1e-12)
        assert abs(best.buckets - math.exp(epsilon) - 1) <= 1


def test_a_large_epsilon_tells_the_truth() -> None:
    cases: list[int | None] = [None, 32]
    for hashes in cases:
        protocol = LocalHashing(domain=9, epsilon=60_000, hashes=hashes, buckets=2**12)
        estimate = protocol.aggregate().absorb(protocol.privatize([3] * 100, source=Seeded(1))).estimate()
        assert estimate.counts == pytest.approx(np.eye(9)[3] * 100, abs=1)
        assert LocalHashing(domain=9, epsilon=60_000).buckets <= 2**31
        assert LocalHashing(domain=9, epsilon=60_000).bits <= 64
        assert LocalHashing(domain=9, epsilon=60_000, hashes=1 << 24).buckets == 16


def test_texts_and_the_wire() -> None:
    cases: list[int | None] = [None, 128]
    for hashes in cases:
        protocol = LocalHashing(domain=["sun", "rain", "snow"], epsilon=3, hashes=hashes, seed=2**64 - 1)
        assert Protocol.from_json(protocol.to_json()) == protocol
        batch = protocol.privatize(["sun"] * 900, source=Seeded(2)).to_arrow()
        estimate = protocol.aggregate().absorb(batch).estimate(["sun", "snow"])
        assert np.abs((estimate.raw - [900, 0]) / estimate.standard_errors).max() < 5
        assert estimate.candidates == ["sun", "snow"]


def test_a_domain_too_large_to_list_is_asked_about_with_public_hashes() -> None:
    protocol = LocalHashing(domain=2**31, epsilon=3, hashes=256)
    reports = protocol.privatize([2**31 - 1] * 5000, source=Seeded(1))
    estimate = protocol.aggregate().absorb(reports).estimate([0, 2**31 - 1])
    assert np.abs((estimate.raw - [0, 5000]) / estimate.standard_errors).max() < 5


def test_an_empty_aggregate_estimates() -> None:
    for hashes in (None, 7):
        estimate = LocalHashing(domain=4, epsilon=1, hashes=hashes).aggregate().estimate()
        assert estimate.counts.tolist() == [0] * 4
        assert estimate.standard_errors.tolist() == [0] * 4


def test_impossible_reports_are_dropped() -> None:
    protocol = LocalHashing(domain=9, epsilon=1, hashes=5, buckets=3)
    assert protocol.bits == 5
    aggregate = protocol.aggregate().absorb([protocol.header + bytes([number]) for number in range(256)])
    assert (aggregate.reports, aggregate.rejected) == (15, 241)
    assert aggregate.state["said"].tolist() == [[1] * 3] * 5


def test_too_many_outputs_are_not_listed() -> None:
    assert LocalHashing(domain=9, epsilon=1).outputs() is None


def test_bad_parameters_are_refused() -> None:
    cases: list[tuple[str, Any]] = [
        *[("hashes", bad) for bad in (0, -1, 1.5, True, "8", 2**24 + 1)],
        *[("buckets", bad) for bad in (1, 0, 2.0, True, 2**31 + 1)],
        *[("seed", bad) for bad in (-1, 2**64, 0.5, True, None)],
    ]
    for name, bad in cases:
        with pytest.raises(ParameterError, match=name):
            LocalHashing(domain=5, epsilon=1, **{name: bad})


def test_values_outside_the_domain_are_refused() -> None:
    cases: list[Any] = [[5], [-1], ["a"], [1.0], [None], 1]
    for values in cases:
        with pytest.raises(InputError, match="values"):
            LocalHashing(domain=5, epsilon=1).privatize(values)


def test_the_smallest_epsilon_is_counted_too() -> None:
    cases: list[str | int] = ["1e-9", "1e-160", 8]
    for epsilon in cases:
        protocol = LocalHashing(domain=8, epsilon=epsilon, hashes=4)
        low, high = protocol.aggregate().absorb(protocol.privatize([5] * 50, source=Seeded(1))).estimate([5]).interval()
        assert low[0] <= 50 <= high[0]
