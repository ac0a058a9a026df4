"""What shuffled reports of local protocols cost, against their exact laws.

A report that carries an index (a hash function, a coordinate, a subset) hides only among reports on which the two
values differ at all. Where the client drew the index, nobody knows whether its report is one of those, and shuffling
helps as much as for plain answers; where a server assigned it, the server knows, and the same price is far too low.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import special, stats

from celosia import local
from celosia.accounting.prices.dominating import dominating
from celosia.core import GuaranteedEvent, PureDP, RandomizedResponseEvent, ReplaceOne, ShuffledEvent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

EPSILONS = np.linspace(0.0, 1.0, 21)
RAW = {
    epsilon: GuaranteedEvent(guarantee=PureDP(epsilon=epsilon, adjacency=ReplaceOne, unit="person"))
    for epsilon in (0.5, 1.0, 3.0)
}
ANSWERS = (
    local.DirectEncoding,
    local.Duchi,
    local.HadamardCountMeanSketch,
    local.HadamardResponse,
    local.OneBitMean,
)

SMALL: list[tuple[local.Protocol[Any], list[Any]]] = [
    (local.DirectEncoding(domain=3, epsilon=1), [0, 1, 2]),
    (local.CountMeanSketch(epsilon=1, hashes=1, width=3, seed=1), [0, 1, 2, 3]),
    (local.HadamardCountMeanSketch(epsilon=1, hashes=1, width=4, seed=3), list(range(8))),
    (local.OptimizedUnary(domain=3, epsilon=1), [0, 1, 2]),
    (local.HadamardResponse(domain=3, epsilon=1), [0, 1, 2]),
    (local.SubsetSelection(domain=4, epsilon=1), [0, 1, 2, 3]),
    (local.DBitFlip(buckets=3, d=3, epsilon=1, seed=1), [0, 1, 2]),
    (local.Duchi(low=0, high=1, epsilon=1), [0, 1]),
    (local.Piecewise(low=0, high=1, epsilon=1, grid=4), [0, 0.5, 1]),
]


def laws(protocol: local.Protocol[Any], values: list[Any]) -> Array:
    """Return the probabilities of all reports, one row for each value."""
    outputs = protocol.outputs()
    assert outputs is not None
    return np.array([np.exp(protocol.log_masses(value, outputs)) for value in values])


def shuffled(victim: Array, others: Array, counts: NDArray[np.int64]) -> Array:
    """Return the probability of each multiset of reports: one of the victim, the rest of people who are all alike."""
    reports = int(counts[0].sum())
    total = np.zeros(len(counts))
    for said in range(victim.size):
        rest = counts.copy()
        rest[:, said] -= 1
        possible = rest[:, said] >= 0
        rest = np.maximum(rest, 0)
        logs = math.lgamma(reports) - special.gammaln(rest + 1.0).sum(axis=1) + rest @ np.log(others)
        total += np.where(possible, victim[said] * np.exp(logs), 0.0)
    return total


def multisets(size: int, reports: int) -> NDArray[np.int64]:
    chosen = np.array(list(itertools.combinations_with_replacement(range(size), reports)))
    counts: NDArray[np.int64] = (chosen[:, :, None] == np.arange(size)).sum(axis=1)
    return counts


def hockey_stick(here: Array, there: Array) -> Array:
    gaps: Array = np.maximum(here - np.exp(EPSILONS)[:, None] * there, 0.0).sum(axis=1)
    return gaps


def test_no_multiset_of_reports_tells_more_than_is_priced() -> None:
    for protocol, values in SMALL:
        reports = 4
        table = laws(protocol, values)
        counts = multisets(table.shape[1], reports)
        bound = dominating(protocol.shuffled_event(reports)).profile(EPSILONS)
        for here, there, others in itertools.product(range(len(table)), repeat=3):
            one, other = (shuffled(table[value], table[others], counts) for value in (here, there))
            assert one.sum() == pytest.approx(1, abs=1e-9)
            assert (hockey_stick(one, other) <= bound + 1e-12).all()


def answers_of_many(size: int, reports: int, epsilon: float) -> Array:
    """Return the exact profile of shuffled randomized response, when all others give one of the two answers' values.

    What is seen is how often each of the two answers was given; the others' true value is the first (``crowd`` 0), or a
    third one (2). The other answers do not depend on who gave the report, but for their number.
    """
    total = math.exp(epsilon) + size - 1
    worst = np.zeros_like(EPSILONS)
    for crowd in (0, 2):
        chances = np.array([math.exp(epsilon) if answer == crowd else 1.0 for answer in (0, 1)]) / total
        chances = np.append(chances, 1 - chances.sum())
        first, second = np.meshgrid(np.arange(reports), np.arange(reports), indexing="ij")
        cells = stats.multinomial.pmf(
            np.stack([first, second, reports - 1 - first - second], axis=-1).reshape(-1, 3), reports - 1, chances
        ).reshape(reports, reports)
        here, there = np.zeros((2, reports + 1, reports + 1))
        for law, truth in ((here, 0), (there, 1)):
            said = [math.exp(epsilon) / total if answer == truth else 1 / total for answer in (0, 1)]
            law[1:, :-1] += said[0] * cells
            law[:-1, 1:] += said[1] * cells
            law[:-1, :-1] += (1 - sum(said)) * cells
        worst = np.maximum(worst, hockey_stick(here.reshape(-1), there.reshape(-1)))
    return worst


def test_many_answers_tell_no_more_than_the_smaller_bound(*, thorough: bool) -> None:
    size_cases: list[int] = [3, 10, 100, 1000] if thorough else [3, 100]
    reports_cases: list[int] = [3, 30, 100] if thorough else [3, 100]
    epsilon_cases: list[float] = [0.5, 1.0, 3.0]
    for size in size_cases:
        for reports in reports_cases:
            for epsilon in epsilon_cases:
                event = local.DirectEncoding(domain=size, epsilon=epsilon).shuffled_event(reports)
                exact = answers_of_many(size, reports, epsilon)
                told = dominating(event).profile(EPSILONS)
                assert exact[0] > 0
                assert (exact <= told + 1e-12).all()
                assert (
                    told <= dominating(ShuffledEvent(event=RAW[epsilon], reports=reports)).profile(EPSILONS) + 1e-3
                ).all()


def with_coordinates(reports: int, epsilon: float, *, assigned: bool) -> Array:
    """Return the profile of shuffled Hadamard count-mean reports, when two values differ in half of the coordinates.

    What is seen is how many reports are in those coordinates, and how many of them have the first value's sign. If the
    coordinates were assigned, it is also known whether the victim is there.
    """
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    crowds = stats.binom.pmf(np.arange(reports + 1), reports - 1, 0.5) / 2
    total = np.zeros_like(EPSILONS)
    for there in range(reports + 1):
        alone = crowds[there] * stats.binom.pmf(np.arange(there + 1), there, truth)
        one = other = np.zeros(there + 1)
        if there:
            others = crowds[there - 1] * stats.binom.pmf(np.arange(there), there - 1, truth)
            one, other = np.convolve(others, [1 - truth, truth]), np.convolve(others, [truth, 1 - truth])
        if assigned:
            total += hockey_stick(one, other) + hockey_stick(alone, alone)
        else:
            total += hockey_stick(one + alone, other + alone)
    return total


def test_an_index_that_the_client_drew_costs_nothing() -> None:
    reports_cases: list[int] = [3, 30, 300]
    epsilon_cases: list[int] = [1, 2, 4]
    for reports in reports_cases:
        for epsilon in epsilon_cases:
            protocol = local.HadamardCountMeanSketch(epsilon=epsilon, hashes=1024, width=1024)
            assert isinstance(protocol.shuffled_event(reports).event, RandomizedResponseEvent)
            exact = with_coordinates(reports, float(epsilon), assigned=False)
            assert (exact <= dominating(protocol.shuffled_event(reports)).profile(EPSILONS) + 1e-13).all()


def test_an_index_that_a_server_assigned_splits_the_crowd() -> None:
    exact = with_coordinates(300, 2.0, assigned=True)
    plain = ShuffledEvent(event=RandomizedResponseEvent(epsilon=2), reports=300)
    assert (exact > 10 * dominating(plain).profile(EPSILONS)).any()


def test_only_answers_of_randomized_response_say_that_they_are() -> None:
    for protocol, _ in SMALL:
        assert isinstance(protocol.event, RandomizedResponseEvent) == isinstance(protocol, ANSWERS)
        assert isinstance(protocol.shuffled_event(10).event, RandomizedResponseEvent) == isinstance(protocol, ANSWERS)
