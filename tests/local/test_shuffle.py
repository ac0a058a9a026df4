"""What shuffled reports promise: through accounting, for the people whose reports were really mixed."""

from __future__ import annotations

from itertools import combinations_with_replacement, permutations
from typing import Any

import numpy as np
import pytest
from scipy import special

from celosia.accounting import best, dominating, shuffled_closed_form, shuffled_epsilon
from celosia.core import ApproxDP, ParameterError, ReplaceOne
from celosia.local import DirectEncoding
from celosia.local.frequency.hadamard_count_mean_sketch import HadamardCountMeanSketch
from celosia.local.frequency.hadamard_response import HadamardResponse
from celosia.local.frequency.local_hashing import LocalHashing
from celosia.local.frequency.optimized_unary import OptimizedUnary
from celosia.local.frequency.subset_selection import SubsetSelection
from celosia.local.longitudinal.loloha import LOLOHA
from celosia.local.shuffle import shuffle

PROTOCOLS = [
    DirectEncoding(domain=4, epsilon=1),
    OptimizedUnary(domain=4, epsilon=1),
    OptimizedUnary(domain=4, epsilon=1, symmetric=True),
    HadamardCountMeanSketch(epsilon=1, hashes=4, width=8),
    LOLOHA(domain=4, epsilon=1, epsilon_infinity=2),
    LocalHashing(domain=4, epsilon=1),
    HadamardResponse(domain=4, epsilon=1),
]


def test_the_promise_is_that_of_accounting() -> None:
    count_cases: list[int] = [1, 100, 1_000]
    for protocol in PROTOCOLS:
        for count in count_cases:
            promise = shuffle(protocol, count, "1e-6")
            assert isinstance(promise, ApproxDP)
            assert (promise.adjacency, promise.unit, float(promise.delta)) == (ReplaceOne, "person", 1e-6)
            assert promise.epsilon <= 1
            priced = best(protocol.shuffled_event(count), "1e-6").epsilon
            assert float(promise.epsilon) <= priced * (1 + 1e-9) + 1e-9
            if count == 1_000:
                assert float(promise.epsilon) <= shuffled_closed_form(1, count, "1e-6")


def test_many_answers_have_the_count_of_any_randomizer() -> None:
    many = DirectEncoding(domain=1000, epsilon=1)
    generic = shuffled_epsilon(1, 10_000, "1e-6")
    assert generic == pytest.approx(0.053, abs=1e-3)
    assert float(shuffle(many, 10_000, "1e-6").epsilon) <= generic
    assert best(many.shuffled_event(10_000), "1e-6").epsilon <= generic * 1.001
    for local in ("1/4", 1, 3):
        generic = shuffled_epsilon(local, 1_000, "1e-6")
        for size in (2, 3, 5, 30, 1000):
            assert shuffled_epsilon(local, 1_000, "1e-6", categories=size) <= generic


def test_what_randomizes_an_answer_has_the_sharper_count() -> None:
    generic = shuffled_epsilon(1, 10_000, "1e-6")
    for protocol, categories in ((PROTOCOLS[0], 4), (PROTOCOLS[3], 2), (PROTOCOLS[5], 4), (PROTOCOLS[6], 4)):
        sharp = shuffled_epsilon(1, 10_000, "1e-6", categories=categories)
        assert sharp < generic
        assert float(shuffle(protocol, 10_000, "1e-6").epsilon) == pytest.approx(sharp)
    for protocol in PROTOCOLS[1:3]:
        assert float(shuffle(protocol, 10_000, "1e-6").epsilon) == pytest.approx(generic)


def test_no_crowd_hides_less_than_is_told() -> None:
    """The exact divergence of all collections of so many reports, for all pairs of values and crowds that agree."""
    protocol_cases: list[Any] = [
        DirectEncoding(domain=3, epsilon=2),
        OptimizedUnary(domain=3, epsilon=2),
        OptimizedUnary(domain=3, epsilon=2, symmetric=True),
        SubsetSelection(domain=4, epsilon=2, chosen=2),
        HadamardResponse(domain=3, epsilon=2, blocks=1),
        HadamardResponse(domain=3, epsilon=2, blocks=2),
        LocalHashing(domain=4, epsilon=2, hashes=2, buckets=2),
        LocalHashing(domain=4, epsilon=2, hashes=3, buckets=3),
    ]
    count_cases: list[int] = [2, 4]
    for protocol in protocol_cases:
        for count in count_cases:
            epsilons = np.linspace(0, 2, 9)
            told = dominating(protocol.shuffled_event(count)).profile(epsilons)
            masses = np.unique(
                np.exp([protocol.log_masses(value, protocol.outputs()) for value in range(protocol.size)]), axis=0
            )
            worst = np.zeros(9)
            for first, second in permutations(range(len(masses)), 2):
                for crowd in masses:
                    one, two = (_collections(masses[own], crowd, count) for own in (first, second))
                    worst = np.maximum(worst, np.maximum(one - np.exp(epsilons)[:, None] * two, 0).sum(axis=1))
            assert (worst <= told + 1e-12).all()
            assert worst.max() > 0.05


def _collections(own: Any, crowd: Any, count: int) -> Any:
    """The probabilities of all multisets of reports: one of ``own``, the others of ``crowd``."""
    rows = np.array(list(combinations_with_replacement(range(own.size), count)))
    counts = (rows[:, :, None] == np.arange(own.size)).sum(axis=1)
    total = np.zeros(len(rows))
    for answer in range(own.size):
        rest = counts.copy()
        rest[:, answer] -= 1
        held = rest[:, answer] >= 0
        logs = special.gammaln(count) + (rest * np.log(crowd) - special.gammaln(np.maximum(rest, 0) + 1)).sum(axis=1)
        total += np.where(held, own[answer] * np.exp(logs), 0.0)
    return total


def test_reports_are_counted() -> None:
    protocol = PROTOCOLS[0]
    assert shuffle(protocol, protocol.privatize([0] * 500), "1e-6") == shuffle(protocol, 500, "1e-6")
    with pytest.raises(ParameterError, match="reports must be of the protocol"):
        shuffle(protocol, DirectEncoding(domain=5, epsilon=1).privatize([0] * 500), "1e-6")


def test_a_bad_number_is_refused() -> None:
    cases: list[Any] = [0, -1, 1.5, True, None, "10"]
    for reports in cases:
        with pytest.raises(ParameterError, match="reports"):
            shuffle(PROTOCOLS[0], reports, "1e-6")


def test_a_bad_delta_is_refused() -> None:
    cases: list[Any] = [0, 1, -1, float("nan"), True]
    for delta in cases:
        with pytest.raises(ParameterError, match="delta"):
            shuffle(PROTOCOLS[0], 10, delta)


def test_what_is_no_protocol_is_refused() -> None:
    with pytest.raises(ParameterError, match="protocol must be"):
        shuffle("DirectEncoding", 10, "1e-6")  # type: ignore[arg-type]
