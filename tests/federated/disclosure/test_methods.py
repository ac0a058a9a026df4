"""Prices of what observers see: exact laws of sums of integers, the accountants' prices, and what is no bound."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import signal, stats

import celosia as cl
from celosia.accounting import GDPAccountant, best
from celosia.core import GaussianEvent, LaplaceEvent, ParameterError, RepeatedEvent, ReplaceOne
from celosia.federated import FreshNoise, GossipOnce, Graph, MaskedSums, Weights, gossip_exposures, make_graph

CREDITORS = make_graph("creditors")
DELTA = Fraction(1, 10**5)


def make_law(variance: float) -> Any:
    """The probabilities of discrete Gaussian noise on -120 to 120."""
    masses = np.exp(-(np.arange(-120, 121) ** 2) / (2 * variance))
    return masses / masses.sum()


def add_up(law: Any, parties: int) -> Any:
    total = law
    for _ in range(parties - 1):
        total = signal.convolve(total, law, method="direct")
    return total


def compute_delta(law: Any, shift: int, epsilon: float) -> float:
    """The exact delta of a law against itself moved by some steps, in the worse direction."""
    one, other = np.pad(law, (0, shift)), np.pad(law, (shift, 0))
    return max(float(np.maximum(p - math.exp(epsilon) * q, 0).sum()) for p, q in ((one, other), (other, one)))


@pytest.mark.parametrize("variance", [0.2, 0.5, 1, 2.25, 4, 25])
def test_masked_sums_are_priced_above_the_exact_law_of_the_sum(variance: float) -> None:
    for shift in (1, 3):
        masked = MaskedSums(event=GaussianEvent(variance=variance, sensitivity_squared=shift**2))
        alone = best(masked.event, DELTA).epsilon
        for parties in (1, 2, 3, 7):
            guarantee = masked.price(1 / parties, DELTA)
            law = add_up(make_law(variance), parties)
            assert compute_delta(law, shift, float(guarantee.epsilon)) <= DELTA * (1 + 1e-9)
            assert guarantee.epsilon <= alone
            if variance > 2:  # close to the truth where the noise is a few steps wide
                assert compute_delta(law, shift, float(guarantee.epsilon) * 0.98) > DELTA
                assert (
                    compute_delta(add_up(make_law(variance), parties), shift, float(guarantee.epsilon) * 1.02) < DELTA
                )


def test_a_price_for_the_noise_of_one_party_more_is_no_bound() -> None:
    masked = MaskedSums(event=GaussianEvent(variance=4, sensitivity_squared=1))
    too_low = masked.price(1 / 4, DELTA)
    assert compute_delta(add_up(make_law(4), 3), 1, float(too_low.epsilon)) > DELTA
    # Without the wave on the grid, narrow noise is sold too cheap.
    narrow = MaskedSums(event=GaussianEvent(variance="0.2", sensitivity_squared=1))
    law = add_up(make_law(0.2), 2)
    assert compute_delta(law, 1, float(narrow.price(1 / 2, DELTA).epsilon)) <= DELTA
    single = replace(narrow.event, variance=2 * narrow.event.variance)
    assert compute_delta(law, 1, float(best(single, DELTA).epsilon)) > 100 * DELTA


def test_components_of_the_creditors_graph() -> None:
    masked = MaskedSums(event=GaussianEvent(variance=9, sensitivity_squared=1))
    assert masked.list_outsiders() == ((),)
    assert (1 / masked.measure(CREDITORS, ())).tolist() == [7] * 7
    for observer in "123567":
        sizes = 1 / masked.measure(CREDITORS, observer)
        assert sorted(sizes[~np.isnan(sizes)].tolist()) == [6] * 6
    at_the_cut = dict(zip(CREDITORS.parties, (1 / masked.measure(CREDITORS, "4")).tolist(), strict=True))
    assert at_the_cut["5"] == 1
    assert [at_the_cut[name] for name in "12367"] == [5] * 5
    assert np.isnan(at_the_cut["4"])
    assert masked.price(1, DELTA) == best(masked.event, DELTA).guarantee  # alone behind the cut vertex: local


def test_gossip_with_real_noise_is_priced_by_the_projection() -> None:
    event = GaussianEvent(variance=4, sensitivity_squared=1, arithmetic="real", adjacency=ReplaceOne, unit="person")
    gossip = GossipOnce(event=event, steps=3)
    exposure = float(gossip.measure(CREDITORS, "5")[0])
    assert 0 < exposure < 1
    guarantee = gossip.price(exposure, DELTA)
    mu = (exposure / 4) ** 0.5
    continuous = stats.norm.cdf(mu / 2 - float(guarantee.epsilon) / mu) - math.exp(guarantee.epsilon) * stats.norm.cdf(
        -mu / 2 - float(guarantee.epsilon) / mu
    )
    assert continuous == pytest.approx(float(DELTA), rel=1e-6)
    assert continuous <= DELTA
    assert (guarantee.adjacency, guarantee.unit, guarantee.delta) == (ReplaceOne, "person", DELTA)
    assert gossip.price(1.0, DELTA).epsilon == pytest.approx(GDPAccountant().spend(event).epsilon(DELTA))


def test_on_a_grid_different_weights_take_sums_apart() -> None:
    # Behind w, v sees 3 a + 2 b. For continuous noise that shows 9/13 of a; integers show more, so the price is local.
    names = ["v", "w", "a", "b"]
    graph = Graph([("v", "w"), ("w", "a"), ("w", "b")], names)
    matrix = np.array([[9, 1, 0, 0], [1, 4, 3, 2], [0, 3, 7, 0], [0, 2, 0, 8]]) / 10
    weights = Weights(graph, matrix)
    exposure = gossip_exposures(weights, 2, "v")[2]
    assert exposure == pytest.approx(9 / 13)
    variance = 0.5
    law, wide = make_law(variance), np.zeros((2, 241 * 3))
    wide[0, ::3], wide[1, : 241 * 2 : 2] = law, law
    seen = signal.convolve(wide[0], wide[1])  # of 3 a + 2 b
    truth = float(np.abs(np.pad(seen, (0, 3)) - np.pad(seen, (3, 0))).sum() / 2)
    claimed = 2 * stats.norm.cdf((exposure / variance) ** 0.5 / 2) - 1
    assert truth > claimed + 0.05
    on_grid = GossipOnce(event=GaussianEvent(variance=variance, sensitivity_squared=1), steps=2, weights=weights)
    assert on_grid.measure(graph, "v")[1:].tolist() == [1, 1, 1]
    assert GossipOnce(event=on_grid.event, steps=1, weights=weights).measure(graph, "v")[1:].tolist() == [1, 0, 0]
    assert on_grid.price(1.0, DELTA) == best(on_grid.event, DELTA).guarantee


def test_training_with_fresh_noise_is_local_whatever_the_mechanism() -> None:
    for event in (GaussianEvent(variance=100, sensitivity_squared=1), LaplaceEvent(scale=10, sensitivity=1)):
        training = FreshNoise(event=event, rounds=8)
        assert training.measure(CREDITORS, ["1", "4"]).tolist()[1:3] == [1, 1]
        assert np.isnan(training.measure(CREDITORS, ["1", "4"])[[0, 3]]).all()
        assert training.price(1.0, DELTA) == best(RepeatedEvent(event=event, times=8), DELTA).guarantee
        assert training.list_outsiders() == ()


def test_rounds_of_masked_sums_add_up() -> None:
    event = GaussianEvent(variance=400, sensitivity_squared=4)
    priced = MaskedSums(event=event, rounds=9).price(1 / 4, DELTA)
    same = best(RepeatedEvent(event=GaussianEvent(variance=1600, sensitivity_squared=4), times=9), DELTA).epsilon
    assert float(priced.epsilon) == pytest.approx(same, rel=1e-9)
    assert priced.epsilon >= same


def test_what_is_no_method_is_refused() -> None:
    event = GaussianEvent(variance=1, sensitivity_squared=1)
    bad: list[tuple[Any, dict[str, Any], str]] = [
        (GossipOnce, {"event": cl.ZCDP(rho=1), "steps": 3}, "GaussianEvent"),
        (GossipOnce, {"event": LaplaceEvent(scale=1, sensitivity=1), "steps": 3}, "GaussianEvent"),
        (GossipOnce, {"event": event, "steps": 0}, "steps"),
        (GossipOnce, {"event": event, "steps": 1, "weights": np.eye(3)}, "must be Weights"),
        (MaskedSums, {"event": LaplaceEvent(scale=1, sensitivity=1)}, "GaussianEvent"),
        (MaskedSums, {"event": event, "rounds": 0}, "rounds"),
        (FreshNoise, {"event": "gauss"}, "event"),
        (FreshNoise, {"event": event, "rounds": 1.5}, "rounds"),
    ]
    for kind, given, words in bad:
        with pytest.raises(ParameterError, match=words):
            kind(**given)
    other = Weights(make_graph("path", 2), [[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(ParameterError, match="another graph"):
        GossipOnce(event=event, steps=1, weights=other).measure(CREDITORS, "1")
