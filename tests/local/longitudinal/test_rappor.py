"""RAPPOR: its law, responses that stay, what a life costs, and what the paper says of it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celosia.core import InputError, ParameterError
from celosia.local.base.protocol import Protocol
from celosia.local.longitudinal.rappor import Rappor
from celosia.noise import Seeded
from celosia.sketches.hashing.digest import digest
from celosia.sketches.hashing.family import HashFamily
from tests.local import laws

PROBABILITIES = st.sampled_from([Fraction(i, 20) for i in range(1, 20)])
SMALL = Rappor(bits=5, hashes=2, cohorts=2, f="0.3", p="0.2", q="0.9", seed=1)


def filter_bits(protocol: Rappor, value: Any, cohort: int) -> set[int]:
    """The bits that a value sets, by their definition."""
    family = HashFamily(protocol.cohorts * protocol.hashes, protocol.bits, seed=protocol.seed)
    columns = family.table(digest([value], seed=protocol.seed))[:, 0]
    return set(columns[cohort * protocol.hashes : (cohort + 1) * protocol.hashes].tolist())


def shown(f: Fraction, p: Fraction, q: Fraction, bit: int) -> Fraction:
    """The probability of a 1, over the permanent response and the instantaneous one."""
    permanent = {1: bit * (1 - f) + f / 2}
    return permanent[1] * q + (1 - permanent[1]) * p


def histories(f: Fraction, p: Fraction, q: Fraction, times: int) -> tuple[list[Fraction], list[Fraction]]:
    """For a filter's 1 and 0: the probabilities of all sequences that its reports can show."""
    laws_: list[list[Fraction]] = [[], []]
    for bit, law in zip((1, 0), laws_, strict=True):
        one = bit * (1 - f) + f / 2
        for seen in itertools.product((0, 1), repeat=times):
            given_one = math.prod(q if said else 1 - q for said in seen)
            given_zero = math.prod(p if said else 1 - p for said in seen)
            law.append(one * given_one + (1 - one) * given_zero)
    return laws_[0], laws_[1]


def loss(f: Fraction, p: Fraction, q: Fraction, times: int, hashes: int) -> float:
    """The largest log ratio between filters that differ in ``hashes`` ones and as many zeros."""
    one, zero = histories(f, p, q, times)
    ratios = [a / b for a, b in zip(one, zero, strict=True) if b]
    return hashes * (math.log(max(ratios)) - math.log(min(ratios)))


def test_the_law_is_that_of_two_responses() -> None:
    outputs = SMALL.outputs()
    assert outputs is not None
    for value in ("sun", "rain", "snow"):
        masses = np.exp(SMALL.log_masses(value, outputs))
        assert masses.sum() == pytest.approx(1, abs=1e-12)
        for number, mass in zip(laws.numbers(outputs).tolist(), masses.tolist(), strict=True):
            bits, cohort = number & 31, number >> 5 & 1
            expected = Fraction(1, 4)
            for i in range(5):
                chance = shown(SMALL.f, SMALL.p, SMALL.q, int(i in filter_bits(SMALL, value, cohort)))
                expected *= chance if bits >> i & 1 else 1 - chance
            # Exactly the stated coins: a flip that is 2 % off would show in the third digit.
            assert mass == pytest.approx(float(expected), rel=1e-12)


def test_no_two_values_differ_by_more_than_epsilon() -> None:
    cases: list[tuple[Any, Any, Any]] = [
        ("0.5", "0.5", "0.75"),
        (0, "0.5", "0.75"),
        ("0.25", "0.95", "0.05"),
        ("0.5", 0, 1),
        ("0.1", 0, "0.5"),
    ]
    for f, p, q in cases:
        protocol = Rappor(bits=8, hashes=2, cohorts=2, f=f, p=p, q=q, seed=3)
        logs = laws.table(protocol, list(range(40)))
        widest = (logs.max(axis=0) - logs.min(axis=0)).max()
        assert widest <= float(protocol.epsilon) + 1e-9
        assert widest == pytest.approx(float(protocol.epsilon))  # two of the values share no bit


@settings(deadline=None)
@given(PROBABILITIES, PROBABILITIES, PROBABILITIES, st.integers(1, 8))
def test_epsilon_is_the_papers(f: Fraction, p: Fraction, q: Fraction, hashes: int) -> None:
    if p == q:
        return
    protocol = Rappor(hashes=hashes, f=f, p=p, q=q)
    one, zero = shown(f, p, q, 1), shown(f, p, q, 0)
    assert protocol.report_probabilities == (one, zero)
    expected = hashes * abs(math.log(one * (1 - zero) / (zero * (1 - one))))
    assert float(protocol.epsilon) == pytest.approx(expected, rel=1e-9)
    assert float(protocol.epsilon_infinity or 0) == pytest.approx(2 * hashes * math.log((1 - f / 2) / (f / 2)))
    assert protocol.epsilon <= (protocol.epsilon_infinity or 0) + Fraction(1, 2**60)


def test_published_values() -> None:
    # Erlingsson, Pihur and Korolova 2014: p = 0.5, q = 0.75 and no permanent response is ln 3 for one hash, and
    # h = 2, f = 1/2 is 4 ln 3 for ever.
    assert float(Rappor(hashes=1, f=0, p=0.5, q=0.75).epsilon) == pytest.approx(math.log(3))
    assert float(Rappor(hashes=2, f=0.5).epsilon_infinity or 0) == pytest.approx(4 * math.log(3))
    assert float(Rappor(hashes=2, f=0.5, p=0.5, q=0.75).epsilon) == pytest.approx(2 * math.log(11 * 7 / (9 * 5)))


def test_filters_smaller_than_their_hashes_differ_in_their_bits_only() -> None:
    wide, narrow = (Rappor(bits=bits, hashes=32, f=0.5) for bits in (64, 16))
    assert narrow.epsilon < wide.epsilon
    one, zero = (float(chance) for chance in narrow.report_probabilities)
    most = 16 * max(abs(math.log(one / zero)), abs(math.log((1 - one) / (1 - zero))))
    assert float(narrow.epsilon) == pytest.approx(most)


@settings(deadline=None, max_examples=40)
@given(PROBABILITIES, PROBABILITIES, PROBABILITIES, st.integers(1, 6))
def test_a_value_that_stays_costs_what_its_likeliest_reports_tell(
    f: Fraction, p: Fraction, q: Fraction, times: int
) -> None:
    if p == q:
        return
    protocol = Rappor(hashes=2, f=f, p=p, q=q)
    spent = float(protocol.lifetime_epsilon(times, 1))
    assert spent == pytest.approx(loss(f, p, q, times, 2), rel=1e-9)
    assert spent <= times * float(protocol.epsilon) * (1 + 1e-12)
    assert spent <= float(protocol.epsilon_infinity or 0) * (1 + 1e-12)
    for values in (2, 3):
        spreads = [one for one in itertools.product(range(times + 1), repeat=values) if sum(one) == times]
        worst = max(sum(loss(f, p, q, each, 2) for each in spread if each) for spread in spreads)
        assert float(protocol.lifetime_epsilon(times, min(values, times))) >= worst * (1 - 1e-9)


def test_the_variance_has_the_draw_of_cohorts() -> None:
    # Over hash functions: what people with other values, all different, add to one count, without coins to speak of.
    bits, hashes, cohorts = 12, 2, 3
    protocol = Rappor(bits=bits, hashes=hashes, cohorts=cohorts, f=0, p="1/1000000", q="999999/1000000")
    density = 1 - (1 - 1 / bits) ** hashes
    rng = np.random.default_rng(1)
    filters = np.zeros((2, 100_000, bits))
    for side, _ in itertools.product(range(2), range(hashes)):
        filters[side, np.arange(100_000), rng.integers(0, bits, 100_000)] = 1
    overlaps = ((filters[0] - density) * (filters[1] - density)).sum(axis=1) / (bits * density * (1 - density))
    # A person is in one of three cohorts; had everybody been in all of them, least squares would take the overlap off.
    assert protocol.variance(1) == pytest.approx(overlaps.var() * 2 / 3, rel=0.03)


def test_lifetimes() -> None:
    protocol = Rappor(hashes=2, f=0.5, p=0.5, q=0.75)
    assert protocol.lifetime_epsilon(10**6, 3) == 3 * (protocol.epsilon_infinity or 0)
    assert protocol.lifetime_epsilon(5, 5) == 5 * protocol.epsilon
    forgetful = Rappor(hashes=2, f=0, p=0.5, q=0.75)
    assert forgetful.epsilon_infinity is None
    assert forgetful.lifetime_epsilon(1000, 1) == 1000 * forgetful.epsilon


def test_a_change_is_not_hidden_by_noise_that_stays() -> None:
    # Twice the same value, or two values: every bit that they share tells, by the tie between its two reports. This is
    # why a lifetime is stated for histories that change at the same times.
    f, p, q = Fraction(1, 2), Fraction(1, 2), Fraction(3, 4)
    zero = shown(f, p, q, 0)
    tie = histories(f, p, q, 2)[1][3] / zero**2  # both reports show 1
    assert 126 * math.log(tie) > 2 * float(Rappor(bits=128, hashes=2, f=f, p=p, q=q).epsilon)


@pytest.mark.parametrize(("f", "p", "q"), [("0.5", "0.5", "0.75"), (0, "0.25", "0.9"), ("0.1", 0, "0.5")])
def test_draws_follow_the_law(f: Any, p: Any, q: Any) -> None:
    protocol = Rappor(bits=4, hashes=2, cohorts=2, f=f, p=p, q=q, seed=1)
    masses = np.exp(protocol.log_masses("sun", protocol.outputs()))  # type: ignore[arg-type] # listed
    assert laws.fit(protocol, protocol.privatize(["sun"] * 100_000, source=Seeded(1)).payload, masses) > 1e-5
    assert laws.fit(protocol, laws.one_by_one(protocol, "sun", 500, 2), masses) > 1e-5
    rows = np.random.default_rng(1).integers(0, 256, (40_000, 32), dtype=np.uint8)
    payload = protocol.privatize(["sun"] * 40_000, secrets=rows, source=Seeded(3)).payload
    assert laws.fit(protocol, payload, masses) > 1e-5


def test_a_coin_that_is_two_percent_off_is_seen_in_three_million_bits() -> None:
    protocol, rows = Rappor(bits=128, hashes=2, cohorts=1, seed=1), 24_000
    ones = protocol.aggregate().absorb(protocol.privatize(["sun"] * rows, source=Seeded(3))).state["ones"]
    outside = [i for i in range(128) if i not in filter_bits(protocol, "sun", 0)]
    n, chance = rows * len(outside), 9 / 16
    deviation = math.sqrt(n * chance * (1 - chance))
    seen = int(ones.sum(axis=(0, 1))[outside].sum())
    assert abs(seen - n * chance) < 5 * deviation
    assert abs(seen - n * chance * 1.02) > 10 * deviation


def test_what_stays() -> None:
    # With p = 0 and q = 1 a report is the permanent response itself.
    protocol = Rappor(bits=100, hashes=3, cohorts=7, f=0.5, p=0, q=1, seed=2)
    rows = np.random.default_rng(1).integers(0, 256, (300, 32), dtype=np.uint8)
    words = [f"word {i % 9}" for i in range(300)]
    reports = protocol.privatize(words, secrets=rows, source=Seeded(1))
    assert reports.records() == [
        protocol.report(word, secret=bytes(row)) for word, row in zip(words, rows, strict=True)
    ]
    shown_, cohort, half = protocol._unpack(reports.payload)
    turned = shown_ ^ protocol._filters(protocol.encode(words), cohort)
    share = np.bitwise_count(turned).sum() / (300 * 100)
    assert share == pytest.approx(0.25, abs=0.0125)  # five standard deviations
    assert set(cohort.tolist()) == set(range(7))
    assert 0.35 < half.mean() < 0.65
    # Another value of the same client has a response of its own, in the same cohort and half.
    other = protocol._unpack(protocol.privatize(["sun"] * 300, secrets=rows).payload)
    assert (other[1] == cohort).all()
    assert (other[2] == half).all()
    fresh = other[0] ^ protocol._filters(protocol.encode(["sun"] * 300), cohort)
    differing = np.bitwise_count(fresh ^ turned).sum() / (300 * 100)
    assert differing == pytest.approx(2 * 0.25 * 0.75, abs=0.0145)


def test_reports_change_around_what_stays() -> None:
    protocol = Rappor(bits=100, hashes=3, cohorts=7, f=0.5, p=0.5, q=0.75, seed=2)
    truth = Rappor(bits=100, hashes=3, cohorts=7, f=0.5, p=0.5, q=0.75, seed=2)
    rows = np.repeat(np.random.default_rng(1).integers(0, 256, (1, 32), dtype=np.uint8), 20_000, axis=0)
    reports = protocol.privatize(["sun"] * 20_000, secrets=rows, source=Seeded(1))
    words, cohort, _ = protocol._unpack(reports.payload)
    assert len(set(cohort.tolist())) == 1
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :100].mean(axis=0)
    kept = int.from_bytes(protocol._filters(protocol.encode(["sun"]), cohort[:1]).tobytes(), "little")
    kept ^= truth._draw_flips(int(protocol.encode(["sun"])[0]), truth.open_memo(bytes(rows[0])))
    expected = np.array([0.75 if kept >> i & 1 else 0.5 for i in range(100)])
    assert np.abs(bits - expected).max() < 5 * 0.5 / math.sqrt(20_000)


def test_what_is_counted() -> None:
    protocol = Rappor(bits=70, hashes=3, cohorts=3, f=0.25, seed=2)
    reports = protocol.privatize([f"word {i % 9}" for i in range(2000)], source=Seeded(1))
    aggregate = protocol.aggregate().absorb(reports)
    bits = np.unpackbits(reports.payload, axis=1, bitorder="little")
    cohort, half = bits[:, 70] + 2 * bits[:, 71], bits[:, 72]
    for h, c in itertools.product(range(2), range(3)):
        mine = (half == h) & (cohort == c)
        assert aggregate.state["sizes"][h, c] == mine.sum()
        assert (aggregate.state["ones"][h, c] == bits[mine, :70].sum(axis=0)).all()


def test_what_is_promised() -> None:
    protocol = Rappor(bits=128, hashes=2, cohorts=32, f=0.5, p=0.5, q=0.75, seed=7)
    assert Protocol.from_json(protocol.to_json()) == protocol
    assert repr(protocol) == "Rappor(seed=7)"
    assert protocol.guarantee.epsilon == protocol.epsilon
    assert protocol.bytes_per_report == 17
    assert len(protocol.report("sun")) == 21
    with pytest.raises(ParameterError, match="follows from"):
        Rappor(epsilon=1)
    assert Rappor(epsilon=Rappor().epsilon) == Rappor()
    assert Rappor().outputs() is None


def test_reports_that_no_client_makes_are_dropped() -> None:
    protocol = Rappor(bits=10, cohorts=3)
    good = protocol.report("sun")
    outside, padded = (protocol.header + number.to_bytes(2, "little") for number in (3 << 10, 1 << 13))
    aggregate = protocol.aggregate().absorb([good, outside, padded, good[:-1], Rappor().report("sun"), b"nonsense"])
    assert (aggregate.reports, aggregate.rejected) == (1, 5)


def test_parameters_that_make_no_sense_are_refused() -> None:
    cases: list[dict[str, Any]] = [
        {"bits": 1},
        {"bits": 2**17},
        {"bits": 8.0},
        {"hashes": 0},
        {"cohorts": 0},
        {"cohorts": 2**15},
        {"f": 1},
        {"bits": 2, "hashes": 60},
        {"f": -1},
        {"p": 0.75},
        {"q": 2},
        {"q": "nan"},
        {"f": 0, "p": 0},
        {"f": 0, "q": 1},
        {"seed": -1},
        {"seed": 2**64},
        {"hashes": True},
    ]
    for arguments in cases:
        with pytest.raises(ParameterError):
            Rappor(**arguments)


def test_values_that_cannot_be_read_are_refused() -> None:
    for values in ([0.5], [None], ["sun", 3], "sun", [True, 2]):
        with pytest.raises(InputError):
            Rappor().privatize(values)
