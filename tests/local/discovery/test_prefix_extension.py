"""Prefix extension: what a report gives away, which values are found, and how far off their counts are."""

from __future__ import annotations

import itertools
import math
import string
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from celosia.core import InputError, ParameterError, PureDP, ReplaceOne
from celosia.local.base.aggregate import Aggregate
from celosia.local.base.protocol import Protocol
from celosia.local.discovery.prefix_extension import PrefixExtension
from celosia.noise import Seeded
from celosia.sketches.hashing.digest import digest

if TYPE_CHECKING:
    from numpy.typing import NDArray

TINY = PrefixExtension(epsilon=1, domain=50, step=2, hashes=4, seed=1)
NUMBERS = PrefixExtension(epsilon=3, domain=2**24, hashes=512, seed=5)


def frequencies(protocol: PrefixExtension, payload: NDArray[np.uint8]) -> NDArray[np.int64]:
    outputs = protocol.outputs()
    assert outputs is not None
    weights = 256 ** np.arange(payload.shape[1])
    keys = outputs.astype(np.int64) @ weights
    order = np.argsort(keys)
    return np.bincount(
        order[np.searchsorted(keys, payload.astype(np.int64) @ weights, sorter=order)], minlength=keys.size
    )


def masses(protocol: PrefixExtension, value: object) -> NDArray[np.float64]:
    outputs = protocol.outputs()
    assert outputs is not None
    return np.exp(protocol.log_masses(value, outputs))


# ---------------------------------------------------------------- guarantee


def test_the_exact_law_is_private_and_no_better() -> None:
    epsilon_cases: list[str | int] = ["1/2", 1, 2, 4]
    given_cases: list[tuple[dict[str, Any], list[Any]]] = [
        ({"domain": 50}, [0, 7, 13, 49]),
        ({"alphabet": "abc", "length": 3}, ["", "a", "ab", "cba"]),
    ]
    for epsilon in epsilon_cases:
        for given, values in given_cases:
            protocol = PrefixExtension(epsilon=epsilon, step=2, hashes=4, seed=1, **given)
            outputs = protocol.outputs()
            assert outputs is not None
            assert len(np.unique(outputs, axis=0)) == len(outputs) == 3 * 4 * protocol.width
            assert protocol.is_valid(outputs).all()
            logs = np.array([protocol.log_masses(value, outputs) for value in values])
            assert np.exp(logs).sum(axis=1) == pytest.approx(1, abs=1e-12)
            worst = max(float(np.abs(one - two).max()) for one, two in itertools.combinations(logs, 2))
            assert worst == pytest.approx(float(protocol.epsilon), abs=1e-12)
            assert protocol.guarantee == PureDP(epsilon=epsilon, adjacency=ReplaceOne, unit="person")


def test_what_is_drawn_has_the_exact_law() -> None:
    for value in (13, 49):
        law = masses(TINY, value)
        drawn = frequencies(TINY, TINY.privatize(np.full(100_000, value), source=Seeded(5)).payload)
        assert stats.chisquare(drawn, law * drawn.sum()).pvalue > 1e-7
        source = Seeded(6)
        one_by_one = b"".join(TINY.report(value, source=source)[4:] for _ in range(1_500))
        told = frequencies(TINY, np.frombuffer(one_by_one, dtype=np.uint8).reshape(1_500, -1))
        assert stats.chisquare(told, law * told.sum()).pvalue > 1e-7


def test_a_client_that_is_off_is_seen() -> None:
    wrong = [
        (PrefixExtension(epsilon="1.03", domain=50, step=2, hashes=4, seed=1), 13),  # two percent of the coins
        (TINY, 12),  # another value
        (PrefixExtension(epsilon=1, domain=50, step=2, hashes=4, seed=2), 13),  # other functions
    ]
    for protocol, value in wrong:
        drawn = frequencies(TINY, protocol.privatize(np.full(1_000_000, value), source=Seeded(5)).payload)
        assert stats.chisquare(drawn, masses(TINY, 13) * drawn.sum()).pvalue < 1e-7


def test_a_report_is_about_the_beginning_that_its_group_has() -> None:
    value = 0b110101 % 50
    items = TINY.encode([value] * 12)
    group, row = np.repeat(np.arange(3), 4), np.tile(np.arange(4), 3)
    marked = [(1 << length) | value >> (6 - length) for length in np.repeat(TINY.prefixes, 4).tolist()]
    expected = TINY.hash_family.columns(digest(marked), row)
    assert TINY._hash(items, group, row).tolist() == expected.tolist()


# ---------------------------------------------------------------- counts


def test_one_group_has_the_variance_of_local_hashing() -> None:
    """Wang, Blocki, Li and Jha 2017: 4 e^epsilon / (e^epsilon - 1)^2 for each person."""
    for epsilon in (0.5, 1, 2, 4):
        protocol = PrefixExtension(epsilon=epsilon, domain=256)
        best = 4 * math.exp(epsilon) / math.expm1(epsilon) ** 2
        assert best <= protocol.variance(1) * (1 + 1e-12) <= 1.02 * best


def test_counts_are_right_on_average_and_as_far_off_as_stated() -> None:
    counts = np.array([3_000, 1_000, 0])
    values = np.repeat([77, 1_000, 123_456, 99], [3_000, 1_000, 2_000, 500])
    errors, told, nulls = [], [], []
    for seed in range(400):
        protocol = PrefixExtension(epsilon=2, domain=2**17, hashes=64, seed=seed)
        estimate = protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(seed))).estimate([77, 1_000, 5])
        errors.append(estimate.raw - counts)
        told.append(estimate.standard_errors)
        nulls.append(estimate.null_errors[2])
    off = np.array(errors) / np.array(told)
    assert np.abs(off.mean(axis=0)).max() < 5 / 20
    # A standard deviation of 400 is known to 3.5 %; the stated one must be no smaller, and not much larger.
    assert (off.std(axis=0) > 0.82).all()
    assert (off.std(axis=0) < 1.18).all()
    assert np.std(np.array(errors)[:, 2]) == pytest.approx(np.mean(nulls), rel=0.15)
    without = math.sqrt(protocol.variance(values.size))
    assert np.std(np.array(errors)[:, 2]) > 1.3 * without  # with so few functions collisions weigh: the check sees them


def test_stated_variances_have_all_their_parts() -> None:
    groups = len(NUMBERS.prefixes)
    assert groups == 3
    alone = PrefixExtension(epsilon=3, domain=2, hashes=512)
    assert NUMBERS.variance(3_000) == pytest.approx(groups**2 * alone.variance(1_000))
    more = NUMBERS.variance(3_000, 300) - NUMBERS.variance(3_000)
    assert more == pytest.approx(groups**2 * (alone.variance(1_000, 100) - alone.variance(1_000)) + 300 * (groups - 1))


# ---------------------------------------------------------------- what is found


@pytest.mark.parametrize("seed", range(5))
def test_frequent_numbers_are_found_and_no_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frequent = rng.choice(2**24, 4, replace=False)
    values = np.concatenate([np.repeat(frequent, [6_000, 5_000, 4_500, 4_000]), rng.integers(0, 2**24, 20_000)])
    protocol = PrefixExtension(epsilon=3, domain=2**24, hashes=512, seed=seed)
    found = protocol.discover(protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(seed))))
    assert found.surfaces < 4_000
    assert set(found.candidates) == set(frequent.tolist())
    true = [int((values == value).sum()) for value in found.candidates]
    assert np.abs((found.raw - true) / found.standard_errors).max() < 4.5


def test_frequent_texts_are_found_and_cut() -> None:
    protocol = PrefixExtension(epsilon=3, alphabet=string.ascii_lowercase + "ñ", length=8, hashes=512)
    words = ["sunshine"] * 3_000 + ["mañana"] * 3_000 + ["thunderstorm"] * 3_000 + [""] * 3_000 + ["fog"] * 10
    found = protocol.aggregate().absorb(protocol.privatize(words, source=Seeded(1))).estimate()
    assert sorted(found.candidates) == ["", "mañana", "sunshine", "thunders"]


def test_bytes_are_found_alike() -> None:
    protocol = PrefixExtension(epsilon=3, alphabet=bytes(range(1, 256)), length=4, hashes=512)
    values = [b"\xff\x01\x80"] * 3_000 + [b"\x07" * 4] * 3_000
    found = protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(1))).estimate()
    assert sorted(found.candidates) == sorted(set(values))


def test_people_who_all_differ_give_nothing() -> None:
    values = np.random.default_rng(3).integers(0, 2**24, 30_000)
    aggregate = NUMBERS.aggregate().absorb(NUMBERS.privatize(values, source=Seeded(3)))
    found = NUMBERS.discover(aggregate)
    assert found.candidates == []
    assert found.tested == 64 * 256
    assert len(NUMBERS.discover(aggregate, failure=0.999999).candidates) < 10


def test_values_that_collide_with_what_many_hold_are_not_found() -> None:
    """Few functions, so that a value that nobody holds may share two or three of them with a very frequent one."""
    frequent = [77_777] * 1500 + [5_000_000] * 750 + [9_999_999] * 750
    for seed in range(12):
        protocol = PrefixExtension(epsilon=6, domain=2**24, hashes=16, seed=seed)
        aggregate = protocol.aggregate().absorb(protocol.privatize(frequent, source=Seeded(seed)))
        assert set(protocol.discover(aggregate, failure=0.01).candidates) <= set(frequent)


def test_without_reports_there_is_nothing() -> None:
    found = NUMBERS.discover(NUMBERS.aggregate())
    assert (found.candidates, found.statement) == ([], "There are no reports yet.")
    assert NUMBERS.aggregate().estimate([5]).counts.tolist() == [0.0]


def test_where_nobody_is_in_the_last_group_anything_is_possible() -> None:
    protocol = PrefixExtension(epsilon=4, domain=2**20)
    reports = protocol.privatize([5] * 30, source=Seeded(3))
    group = protocol._fields(reports.payload)[0]
    early = replace(reports, payload=reports.payload[group < len(protocol.prefixes) - 1])
    estimate = protocol.aggregate().absorb(early).estimate([5, 6])
    low, high = estimate.interval(0.95)
    assert (low.tolist(), high.tolist()) == ([0.0, 0.0], [len(early)] * 2)
    found = protocol.discover(protocol.aggregate().absorb(early))
    assert found.candidates == []
    assert "nan" not in found.statement


# ---------------------------------------------------------------- conduct


def test_aggregates_merge_travel_and_reject() -> None:
    reports = NUMBERS.privatize(np.arange(2_000), source=Seeded(2))
    whole = NUMBERS.aggregate().absorb(reports)
    records = reports.records()
    halves = [NUMBERS.aggregate().absorb(part) for part in (records[:700], records[700:])]
    assert halves[1].merge(halves[0]) == whole
    assert Aggregate.from_arrow(whole.to_arrow()) == whole
    for protocol in (NUMBERS, PrefixExtension(epsilon=3, alphabet=b"ab", length=4)):
        assert Protocol.from_json(protocol.to_json()) == protocol
    good = NUMBERS.report(5, source=Seeded(1))
    number = int.from_bytes(good[4:], "little")
    bad = [
        good[:4] + (number | 3).to_bytes(NUMBERS.bytes_per_report, "little"),  # no such group
        good[:4] + (number | 31 << 11).to_bytes(NUMBERS.bytes_per_report, "little"),  # no such hash
        good[:4] + (number | 1 << 16).to_bytes(NUMBERS.bytes_per_report + 1, "little")[: NUMBERS.bytes_per_report + 1],
        good[:-1],
        b"\0" + good[1:],
    ]
    aggregate = NUMBERS.aggregate().absorb([*bad, good])
    assert (aggregate.reports, aggregate.rejected) == (1, len(bad))


def test_values_that_are_not_of_the_domain_are_refused() -> None:
    cases: list[object] = [[-1], [2**24], ["5"], [5.0], [None], 5]
    for values in cases:
        with pytest.raises(InputError):
            NUMBERS.privatize(values)
        with pytest.raises(InputError):
            NUMBERS.aggregate().estimate(values)


def test_parameters_without_meaning_are_refused() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"epsilon": 0, "domain": 4}, "epsilon"),
        ({"epsilon": 1}, "Give either a domain, or an alphabet"),
        ({"epsilon": 1, "domain": 2**63}, "domain must be at most 2.62"),
        ({"epsilon": 1, "alphabet": "ab", "length": 40}, "length must be at most 31"),
        ({"epsilon": 1, "domain": 4, "step": 0}, "step"),
        ({"epsilon": 1, "domain": 4, "step": 17}, "step must be at most 16"),
        ({"epsilon": 1, "domain": 4, "hashes": 0}, "hashes"),
        ({"epsilon": 1, "domain": 4, "hashes": 2**21}, "hashes must be at most"),
        ({"epsilon": 1, "domain": 4, "seed": -1}, "seed"),
        ({"epsilon": 1, "domain": 4, "seed": 2**64}, "seed"),
    ]
    for given, message in cases:
        with pytest.raises(ParameterError, match=message):
            PrefixExtension(**given)


def test_only_aggregates_of_the_same_protocol_are_looked_through() -> None:
    with pytest.raises(ParameterError, match="another protocol"):
        NUMBERS.discover(TINY.aggregate())
    with pytest.raises(ParameterError, match="top"):
        NUMBERS.discover(NUMBERS.aggregate(), top=0)


def test_a_tiny_epsilon_tells_nothing_and_says_so() -> None:
    protocol = PrefixExtension(epsilon="1e-300", domain=1000, hashes=8)
    estimate = protocol.aggregate().absorb(protocol.privatize([5] * 50, source=Seeded(1))).estimate([5])
    assert np.concatenate(estimate.interval()).tolist() == [0, 50]


def test_a_huge_epsilon_is_drawn_and_counted_too() -> None:
    protocol = PrefixExtension(epsilon=60, domain=1000, hashes=8)
    estimate = protocol.aggregate().absorb(protocol.privatize([5] * 50 + [7] * 50)).estimate([5])
    assert abs(estimate.raw[0] - 50) < 40
