"""The price of a private search, against the exact law of the best of K runs on small examples.

A run is a distribution over a few ordered answers. The best of K of them has the probabilities f(Q(<= y)) - f(Q(< y)),
f being the generating function of K; that is checked by summing over K itself, with the probabilities of K as Papernot
and Steinke 2022 define them. Then divergences are plain sums, and no bound may be below one of them.
"""

import math
from fractions import Fraction
from itertools import permutations

import mpmath  # type: ignore[import-untyped] # it ships no types
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import norm

from celosia.accounting import (
    PureAccountant,
    RenyiAccountant,
    basic,
    best,
    calibrate,
    certificate_holds,
    expected_runs,
    renyi,
    rho,
    simplify,
)
from celosia.accounting.prices.renyi import ORDERS
from celosia.accounting.prices.selection import chances
from celosia.core import (
    ApproxDP,
    CertifiedEvent,
    FixedSampledEvent,
    GaussianEvent,
    GroupEvent,
    GuaranteedEvent,
    LaplaceEvent,
    NotPricedError,
    ParallelEvent,
    PrivateSelectionEvent,
    PureDP,
    RandomizedResponseEvent,
    RenyiDP,
    ReplacedEvent,
    ReplaceOne,
)

Array = NDArray[np.float64]

_AT = np.array([1.2, 1.5, 2.0, 3.0, 5.0, 8.0, 16.0, 50.0, 200.0])
_LAWS = [(Fraction(1), Fraction(1, 10)), (Fraction(0), Fraction(1, 20)), (Fraction(-1, 2), Fraction(1, 50)),
         (Fraction(3), Fraction(1, 5)), (Fraction(5, 2), Fraction(1, 2)), (Fraction(1), Fraction(1, 1000))]  # fmt: skip


def masses_of_runs(event: PrivateSelectionEvent, most: int) -> Array:
    """Return P(K = 0), P(K = 1) … up to ``most``, from the definition."""
    runs = np.arange(1, most + 1)
    if event.mean is not None:
        mu = float(event.mean)
        logs = runs * math.log(mu) - mu - np.array([math.lgamma(k + 1) for k in runs])
        return np.append(math.exp(-mu), np.exp(logs))
    assert event.eta is not None
    assert event.gamma is not None
    eta, gamma = float(event.eta), float(event.gamma)
    if eta == 0:
        return np.append(0.0, np.exp(runs * math.log(1 - gamma)) / (runs * -math.log(gamma)))
    product = np.cumprod((runs - 1 + eta) / runs)
    return np.append(0.0, np.exp(runs * math.log(1 - gamma)) * product / (gamma**-eta - 1))


def generating(event: PrivateSelectionEvent, x: Array) -> Array:
    if event.mean is not None:
        return np.exp(float(event.mean) * (x - 1))
    assert event.eta is not None
    assert event.gamma is not None
    eta, gamma = float(event.eta), float(event.gamma)
    inside = np.log1p(-(1 - gamma) * x)
    return inside / math.log(gamma) if eta == 0 else np.expm1(-eta * inside) / math.expm1(-eta * math.log(gamma))


def best_of(event: PrivateSelectionEvent, one: Array) -> Array:
    """Return the law of the best answer, the last one being the best; no run at all is an answer of its own."""
    below = np.append(0.0, np.cumsum(one))
    below[-1] = 1.0
    values = generating(event, below)
    return np.append(values[0], np.diff(values)) if event.mean is not None else np.diff(values)


def divergence(p: Array, q: Array, orders: Array = _AT) -> Array:
    logs = orders[:, None] * np.log(p) - (orders[:, None] - 1) * np.log(q)
    top = logs.max(axis=1)
    return np.asarray((top + np.log(np.exp(logs - top[:, None]).sum(axis=1))) / (orders - 1))


def both(event: PrivateSelectionEvent, p: Array, q: Array) -> Array:
    one, other = best_of(event, p), best_of(event, q)
    return np.maximum(divergence(one, other), divergence(other, one))


def searches(base: object) -> list[PrivateSelectionEvent]:
    binomial = [PrivateSelectionEvent(event=base, eta=eta, gamma=gamma) for eta, gamma in _LAWS]  # type: ignore[arg-type]
    return binomial + [
        PrivateSelectionEvent(event=base, distribution="poisson", mean=mean)  # type: ignore[arg-type]
        for mean in ("0.3", 1, 4, 30)
    ]


def test_the_law_of_the_best_is_that_of_a_sum_over_the_number_of_runs() -> None:
    for event in searches(LaplaceEvent(scale=1, sensitivity=1)):
        one = np.array([0.3, 0.05, 0.4, 0.25])
        runs = masses_of_runs(event, 40_000)
        assert runs.sum() == pytest.approx(1, abs=1e-9)
        assert runs @ np.arange(runs.size) == pytest.approx(expected_runs(event), rel=1e-9)
        for place, below in enumerate(np.cumsum(one)):
            summed = runs @ np.minimum(below, 1.0) ** np.arange(runs.size)
            assert best_of(event, one)[: place + 1 + (event.mean is not None)].sum() == pytest.approx(summed, abs=1e-9)


def test_the_mean_has_all_its_digits_at_the_ends_of_its_range() -> None:
    eta_cases: list[Fraction] = [Fraction(1, 10**13), Fraction(-1, 10**13), Fraction(0), Fraction(2), Fraction(1, 3)]
    gamma_cases: list[Fraction] = [
        Fraction(1, 10**9),
        Fraction(1, 1000),
        1 - Fraction(1, 10**9),
        1 - Fraction(1, 10**30),
    ]
    for eta in eta_cases:
        for gamma in gamma_cases:
            event = PrivateSelectionEvent(event=LaplaceEvent(scale=1, sensitivity=1), eta=eta, gamma=gamma)
            with mpmath.workdps(80):
                power, chance = (
                    mpmath.mpf(eta.numerator) / eta.denominator,
                    mpmath.mpf(gamma.numerator) / gamma.denominator,
                )
                limit = power / (1 - chance**power) if eta else -1 / mpmath.log(chance)
                exact = float((1 / chance - 1) * limit)
            assert expected_runs(event) == pytest.approx(exact, rel=1e-14)


def test_no_search_over_randomized_response_leaks_more_than_its_price() -> None:
    for epsilon in ("0.01", "0.3", "1", "3"):
        for categories in (2, 4):
            base = RandomizedResponseEvent(epsilon=epsilon, categories=categories)
            rate = math.exp(float(Fraction(epsilon)))
            p, q = np.ones(categories), np.ones(categories)
            p[0], q[1] = rate, rate
            p, q = p / p.sum(), q / q.sum()
            for event in searches(base):
                price, most = renyi(event, _AT), float(basic(event)[0])
                for order in permutations(range(categories)):
                    places = list(order)
                    assert (both(event, p[places], q[places]) <= price + 1e-12).all()
                    ratio = np.log(best_of(event, p[places]) / best_of(event, q[places]))
                    assert np.abs(ratio).max() <= most + 1e-9


def test_the_pure_price_of_two_answers_is_reached_as_closely_as_it_can_be() -> None:
    # One run better than another by a hair, for half of the ways to be better: the worst case of the proof.
    base = LaplaceEvent(scale=1, sensitivity=1)
    for eta, gamma in _LAWS:
        event = PrivateSelectionEvent(event=base, eta=eta, gamma=gamma)
        p = 1 / (1 + math.e)
        sliver = 1e-7
        one = np.array([1 - p - math.e * sliver, math.e * sliver, p])
        other = np.array([p - sliver, sliver, 1 - p])
        loss = float(np.max(np.abs(np.log(best_of(event, one) / best_of(event, other)))))
        assert loss == pytest.approx(float(basic(event)[0]), rel=1e-3)
        assert basic(event)[0] <= (2 + eta) * 1


def test_no_search_over_gaussian_noise_leaks_more_than_its_price() -> None:
    for variance in (1, 4, 100):
        x = np.arange(-2 * math.isqrt(variance) - 1, 2 * math.isqrt(variance) + 3)
        wide = np.arange(x[0] - 40 * variance, x[-1] + 40 * variance + 1)
        # Numbers beyond the window count as its ends: post-processing, and no probability is too small for its digits.
        p, q = (_clipped(np.exp(-((wide - shift) ** 2) / (2 * variance)), wide, x) for shift in (0, 1))
        for event in searches(GaussianEvent(variance=variance, sensitivity_squared=1)):
            price = renyi(event, _AT)
            assert (both(event, p, q) <= price).all()
            assert (both(event, p[::-1], q[::-1]) <= price).all()


def _clipped(masses: Array, at: NDArray[np.int64], window: NDArray[np.int64]) -> Array:
    places = np.clip(at, window[0], window[-1]) - window[0]
    return np.bincount(places, weights=masses / masses.sum()).astype(np.float64)


_masses = st.lists(st.floats(0.05, 1), min_size=2, max_size=6)


@settings(max_examples=60, deadline=None)
@given(_masses, st.data(), st.sampled_from(range(10)))
def test_no_search_over_any_mechanism_leaks_more_than_its_price(
    weights: list[float], data: st.DataObject, law: int
) -> None:
    others = data.draw(st.lists(st.floats(0.05, 1), min_size=len(weights), max_size=len(weights)))
    p, q = (np.array(values) / sum(values) for values in (weights, others))
    orders = np.array([1.1, 1.3, 1.6, 2.0, 2.5, 3, 4, 5, 6, 8, 12, 16, 24, 50, 100, 200, 1000])
    curve = np.maximum(divergence(p, q, orders), divergence(q, p, orders)) * (1 + 1e-9) + 1e-12
    known = GuaranteedEvent(guarantee=RenyiDP(orders=orders.tolist(), epsilons=np.maximum(curve, 0).tolist()))
    event = searches(known)[law]
    price = renyi(event, orders)
    one, other = best_of(event, p), best_of(event, q)
    assert (divergence(one, other, orders) <= price).all()
    assert (divergence(other, one, orders) <= price).all()


def theorem_2(slope: float, eta: float, gamma: float, mean: float, orders: Array) -> Array:
    """Return the bound of theorem 2 of Papernot and Steinke 2022, as it stands there, at the best second order."""
    second = 1 + np.geomspace(1e-3, 1e6, 4000)
    cost = np.min((1 + eta) * ((1 - 1 / second) * slope * second + math.log(1 / gamma) / second))
    return slope * orders + cost + math.log(mean) / (orders - 1)


def test_the_price_is_never_above_theorem_2_and_often_well_below() -> None:
    for eta, gamma in _LAWS:
        for variance in (1, 25, 1000):
            event = PrivateSelectionEvent(
                event=GaussianEvent(variance=variance, sensitivity_squared=1), eta=eta, gamma=gamma
            )
            printed = theorem_2(1 / (2 * variance), float(eta), float(gamma), expected_runs(event), ORDERS)
            price = renyi(event, ORDERS)
            assert (price <= printed * (1 + 1e-2)).all()
            middle = (ORDERS > 2) & (ORDERS < 20)
            assert (price[middle] < 0.95 * printed[middle]).any()


def test_theorem_6_is_nearly_the_price_of_a_poisson_search() -> None:
    event = PrivateSelectionEvent(
        event=GaussianEvent(variance=400, sensitivity_squared=1), distribution="poisson", mean=4
    )
    for order in (2.0, 4.0, 8.0):
        rate = math.log(1 + 1 / (order - 1))
        delta = RenyiAccountant().spend(event.event).delta(rate)
        printed = order / 800 + 4 * delta + math.log(4) / (order - 1)
        # Without any run the answer is the same, which the printed bound leaves out.
        assert float(renyi(event, np.array([order]))[0]) <= printed + math.exp(-4) / (order - 1)


def test_a_mutant_without_one_of_the_terms_is_caught() -> None:
    p, q = np.array([0.9, 0.1]), np.array([0.72, 0.28])
    rate = max(math.log(0.28 / 0.1), math.log(0.9 / 0.72))
    base = GuaranteedEvent(guarantee=PureDP(epsilon=rate))
    event = PrivateSelectionEvent(event=base, gamma="0.1")
    exact = both(event, p, q)
    assert (exact <= renyi(event, _AT)).all()
    one = np.maximum(divergence(p, q), divergence(q, p))
    assert (exact > one).any()  # the search is not free
    sliver = 1e-6
    half = 1 / (1 + math.exp(rate))
    near = np.array([1 - half - math.exp(rate) * sliver, math.exp(rate) * sliver, half])
    far = np.array([half - sliver, sliver, 1 - half])
    loss = float(np.max(np.abs(np.log(best_of(event, near) / best_of(event, far)))))
    assert rate * 1.5 < loss <= float(basic(event)[0])  # not the price of one run, and not of one and a half


def test_chances_hold_for_mechanisms_that_are_known_exactly() -> None:
    a, b = chances(RandomizedResponseEvent(epsilon=1))
    assert (np.diff(a) > 0).all()
    assert (b >= a).all()
    assert b[np.searchsorted(a, 1 / (1 + math.e))] >= math.e / (1 + math.e)
    a, b = chances(GaussianEvent(variance=10**6, sensitivity_squared=10**6))
    assert (b >= norm.cdf(norm.ppf(a) + 1) - 1e-12).all()


def test_concentrated_privacy_of_a_search_covers_its_curve() -> None:
    for event in searches(GaussianEvent(variance=50, sensitivity_squared=1))[: len(_LAWS)]:
        price = float(rho(event))
        # The divergence grows with its order, so that a smaller one is at most the next.
        curve = np.minimum.accumulate(renyi(event, ORDERS)[::-1])[::-1]
        assert (curve <= price * ORDERS * (1 + 1e-9)).all()
    pure = PrivateSelectionEvent(event=LaplaceEvent(scale=10, sensitivity=1), gamma="0.1")
    assert float(rho(pure)) < float(basic(pure)[0]) ** 2 / 2


def test_what_is_not_known_is_not_priced() -> None:
    event = PrivateSelectionEvent(
        event=GaussianEvent(variance=50, sensitivity_squared=1), distribution="poisson", mean=3
    )
    with pytest.raises(NotPricedError):
        rho(event)
    with pytest.raises(NotPricedError):
        basic(event)
    with pytest.raises(NotPricedError):
        PureAccountant().spend(event)
    known = GuaranteedEvent(guarantee=ApproxDP(epsilon=1, delta="1e-6"))
    with pytest.raises(NotPricedError):
        renyi(PrivateSelectionEvent(event=known, gamma="0.1"), ORDERS)


def test_every_accountant_knows_a_pure_search() -> None:
    event = PrivateSelectionEvent(event=LaplaceEvent(scale=10, sensitivity=1), gamma="0.1")
    answer = best(event, "1e-6")
    assert set(answer.epsilons) == {name for name, value in answer.epsilons.items() if value is not None}
    assert answer.epsilon <= 0.3


def test_groups_are_groups_of_each_run() -> None:
    base = LaplaceEvent(scale=10, sensitivity=1)
    event = PrivateSelectionEvent(event=base, eta=2, gamma="0.1")
    tripled = PrivateSelectionEvent(event=LaplaceEvent(scale=10, sensitivity=3), eta=2, gamma="0.1")
    assert simplify(GroupEvent(event=event, size=3)) == tripled
    replaced = simplify(ReplacedEvent(event=event))
    assert replaced.adjacency is ReplaceOne
    assert basic(ReplacedEvent(event=event)) == basic(replaced)


def test_no_partition_counts_as_fixed_in_a_search_on_a_sample() -> None:
    count = LaplaceEvent(scale=10, sensitivity=1, adjacency=ReplaceOne)
    for fixed in (True, False):
        cells = ParallelEvent(events=(count, count), fixed=fixed)
        search = PrivateSelectionEvent(event=cells, gamma="0.1")
        sample = FixedSampledEvent(event=search, size=10, population=20)
        loose = PrivateSelectionEvent(event=ParallelEvent(events=(count, count)), gamma="0.1")
        assert basic(sample) == basic(FixedSampledEvent(event=loose, size=10, population=20))


def test_a_certificate_of_a_search_is_checked() -> None:
    event = PrivateSelectionEvent(event=GaussianEvent(variance=400, sensitivity_squared=1), gamma="0.1")
    epsilon = RenyiAccountant().spend(event).epsilon("1e-5")
    assert certificate_holds(CertifiedEvent(event=event, epsilon=epsilon * 1.02, delta="1e-5"))
    assert not certificate_holds(CertifiedEvent(event=event, epsilon=epsilon * 0.9, delta="1e-5"))
    with pytest.raises(NotPricedError):
        basic(CertifiedEvent(event=event, epsilon=epsilon * 0.9, delta="1e-5"))


def test_noise_is_calibrated_for_a_whole_search() -> None:
    found = calibrate(
        lambda scale: PrivateSelectionEvent(event=LaplaceEvent(scale=scale, sensitivity=1), gamma="0.1"),
        PureDP(epsilon=1),
    )
    assert 2.5 < found.noise < 3
