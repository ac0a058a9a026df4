"""Decoding RAPPOR: words that are there are found, tests keep their level, published errors are met."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import InputError, ParameterError
from celosia.local import DirectEncoding
from celosia.local.longitudinal import rappor_decode as decoding
from celosia.local.longitudinal.rappor import Rappor
from celosia.local.longitudinal.rappor_decode import decode, estimate, holm
from celosia.local.longitudinal.rappor_equations import Equations, build_design, solve
from celosia.noise import Seeded

if TYPE_CHECKING:
    from celosia.local.base.aggregate import Aggregate


def collected(protocol: Rappor, values: Any, seed: int = 1) -> Aggregate[Any]:
    return protocol.aggregate().absorb(protocol.privatize(values, source=Seeded(seed)))


def test_values_that_are_no_candidates_are_taken_off() -> None:
    # Over hash functions; half of the people have values that nobody asks about.
    values, scores = np.concatenate([np.zeros(5000, dtype=np.int64), np.arange(5000) % 40 + 100]), []
    for seed in range(80):
        told = estimate(
            collected(Rappor(bits=64, hashes=2, cohorts=8, f="0.25", p="0.1", q="0.9", seed=seed), values), [0, 1, 2]
        )
        scores.append((told.raw - [5000, 0, 0]) / told.standard_errors)
    scores_ = np.array(scores)
    assert np.abs(scores_.mean(axis=0)).max() < 0.6
    assert 0.75 < scores_.std() < 1.25


@pytest.mark.parametrize(("bits", "hashes", "cohorts", "noise"), [(128, 1, 64, "0.001"), (64, 2, 8, "0.01")])
def test_values_that_are_no_candidates_raise_no_alarms(bits: int, hashes: int, cohorts: int, noise: str) -> None:
    # Hardly any coins: what is seen of candidates that nobody has is the bits that they share with a crowd of 40.
    values, candidates, alarms = np.arange(1000) % 40 + 100, np.arange(20), 0
    for seed in range(60):
        protocol = Rappor(bits=bits, hashes=hashes, cohorts=cohorts, f=noise, p=noise, q=1 - Fraction(noise), seed=seed)
        aggregate = collected(protocol, values, seed)
        alarms += bool(estimate(aggregate, candidates).significant().any())
        alarms += bool(decode(aggregate, candidates).significant().any())
    assert alarms <= 12  # of 120, 6 are allowed; without the crowd in the errors there would be 70 and more


def test_candidates_that_cannot_be_told_apart_are_asked_one_by_one() -> None:
    protocol = Rappor(bits=16, hashes=2, cohorts=2, f="0.25", p="0.1", q="0.9", seed=1)
    values = np.random.default_rng(1).integers(0, 4, 20_000)
    told = estimate(collected(protocol, values), np.arange(200))
    assert np.isfinite(told.raw).all()
    scores = (told.raw - np.bincount(values, minlength=200)) / told.standard_errors
    assert np.std(scores) < 1.6
    assert np.abs(scores).max() < 6
    found = decode(collected(protocol, values), np.arange(200))
    assert found.counts.sum() <= 20_000 * (1 + 1e-6)


def test_the_error_on_exponential_counters(*, thorough: bool) -> None:
    # 500,000 people, 128 bits, 8 hashes, one cohort: about 700, and 500 to 1,100 for one draw of the hash functions.
    # Fewer people show as well that decoding is better than the unbiased estimates, which are as far off as stated.
    people = 500_000 if thorough else 80_000
    rng, errors, unbiased = np.random.default_rng(1), [], []
    for seed in range(12):
        values = rng.exponential(2, people).astype(np.int64)
        truth = np.bincount(values)
        protocol = Rappor(bits=128, hashes=8, cohorts=1, f=0.5, p=0.5, q=0.75, seed=seed)
        aggregate = collected(protocol, values, seed)
        errors.append(math.sqrt(np.mean((decode(aggregate, np.arange(truth.size)).counts - truth) ** 2)))
        unbiased.append(math.sqrt(np.mean((estimate(aggregate, np.arange(truth.size)).counts - truth) ** 2)))
    if thorough:
        assert np.mean(errors) == pytest.approx(700, rel=0.15)
    assert np.mean(errors) < 0.85 * np.mean(unbiased)
    assert np.mean(unbiased) == pytest.approx(math.sqrt(protocol.variance(people)), rel=0.2)


def test_words_that_are_there_are_found_among_many_that_are_not() -> None:
    rng = np.random.default_rng(1)
    words = np.array([f"word {i}" for i in range(2000)])
    protocol = Rappor(seed=7)
    values = rng.choice(6, 60_000, p=[0.4, 0.2, 0.15, 0.1, 0.1, 0.05])
    aggregate = collected(protocol, words[values])
    found = decode(aggregate, words)
    assert 3 <= found.chosen.sum() < 200
    there = np.flatnonzero(found.significant(0.05))
    assert set(there.tolist()) <= set(range(6))
    error = math.sqrt(protocol.variance(60_000))
    truth = np.bincount(values, minlength=2000)
    assert found.significant()[truth > 8 * error].all()
    assert np.abs(found.counts - truth)[:6].max() < 5 * error
    table = found.to_arrow()
    assert table["count"].to_pylist() == sorted(found.counts, reverse=True)
    by_validation = decode(aggregate, words[:300], penalty="cv")
    assert by_validation.significant()[truth[:300] > 8 * error].all()
    assert decode(aggregate, words, penalty=50).chosen.sum() <= 1


def test_tests_on_the_other_half_keep_their_level_and_on_the_same_half_would_not() -> None:
    # Nobody has the candidates from 5 on: those that the Lasso chose must look like chance in the half that tests.
    rng, honest, careless = np.random.default_rng(1), [], []
    candidates = np.arange(400)
    for seed in range(30):
        protocol = Rappor(bits=64, hashes=2, cohorts=8, f="0.25", p="0.25", q="0.75", seed=seed)
        aggregate = collected(protocol, rng.integers(0, 5, 4000), seed)
        found = decode(aggregate, candidates, penalty="1.5")
        chosen = np.flatnonzero(found.chosen)
        honest.extend(found.p_values[chosen[chosen >= 5]].tolist())
        ones, sizes = aggregate.state["ones"], aggregate.state["sizes"]
        same = Equations.of(protocol, ones[0], sizes[0])
        part = build_design(protocol, protocol.encode(candidates[chosen]))
        shares, _, nulls = solve(protocol, same, part)
        careless.extend(decoding._upper_tail(shares, nulls, math.inf)[chosen >= 5].tolist())
        assert found.significant(0.05)[:5].all()
        assert found.significant(0.001).sum() == 5
    assert len(honest) > 300
    assert np.mean(np.array(honest) < 0.05) < 0.08
    assert np.mean(np.array(honest) < 0.5) == pytest.approx(0.5, abs=0.08)
    assert np.mean(np.array(careless) < 0.05) > 0.2


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holms_adjustment_is_by_its_definition(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    for level in (0.01, 0.05, 0.3):
        rejected = set()
        for rank, i in enumerate(order):
            if p_values[i] * (len(order) - rank) > level:
                break
            rejected.add(i)
        assert rejected == set(np.flatnonzero(adjusted <= level).tolist())


def test_nothing_is_found_in_nothing() -> None:
    protocol = Rappor()
    for candidates in (["sun"], [f"word {i}" for i in range(300)]):
        found = decode(protocol.aggregate(), candidates)
        assert (found.counts == 0).all()
        assert (found.p_values == 1).all()
        assert not found.significant().any()
        told = protocol.aggregate().estimate(candidates)
        assert (told.raw == 0).all()
    assert decode(protocol.aggregate(), []).candidates == []
    assert collected(protocol, ["sun"]).estimate([]).candidates == []
    assert decode(collected(protocol, ["sun"]), [], penalty=1).candidates == []
    one = collected(protocol, ["sun"])
    assert np.isfinite(decode(one, ["sun", "rain"]).counts).all()
    assert np.isfinite(decode(one, [f"word {i}" for i in range(300)]).counts).all()


def test_what_is_refused() -> None:
    aggregate = Rappor().aggregate()
    with pytest.raises(InputError, match="different"):
        decode(aggregate, ["sun", "sun"])
    for asked in (None, [0.5], ["sun", 1], "sun"):
        with pytest.raises(InputError):
            decode(aggregate, asked)
        with pytest.raises(InputError):
            aggregate.estimate(asked)
    with pytest.raises(ParameterError, match="Rappor"):
        decode(DirectEncoding(domain=3, epsilon=1).aggregate(), [1])
    full = collected(Rappor(), ["sun"] * 50)
    for penalty in ("none", -1, math.nan, True):
        with pytest.raises(ParameterError, match="penalty"):
            decode(full, ["sun", "rain"], penalty=penalty)
    with pytest.raises(ParameterError, match="postprocess"):
        full.estimate(["sun"], postprocess="round")
    for failure in (0, 1, "nan"):
        with pytest.raises(ParameterError):
            decode(full, ["sun"]).significant(failure)
