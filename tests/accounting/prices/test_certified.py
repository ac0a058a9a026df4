"""A certificate is believed only when the noise inside is enough for it."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.accounting import (
    BasicAccountant,
    Filter,
    GDPAccountant,
    PLDAccountant,
    RenyiAccountant,
    ZCDPAccountant,
    basic,
    best,
    certificate_holds,
    mu,
    renyi,
    rho,
)
from celosia.accounting.prices.certified import certified_rhos
from celosia.accounting.prices.gaussian import largest_rho
from celosia.accounting.prices.trade_off import gaussian_mu_for
from celosia.core import (
    ApproxDP,
    CertifiedEvent,
    ComposedEvent,
    GaussianEvent,
    GroupEvent,
    GuaranteedEvent,
    LaplaceEvent,
    NotPricedError,
    PoissonSampledEvent,
    PrivateSelectionEvent,
    RepeatedEvent,
    ReplacedEvent,
    ReplaceOne,
)
from celosia.core.iterations import PNSGDEvent

NOISE = GaussianEvent(variance=25, sensitivity_squared=1)
DELTA = Fraction(1, 10**6)


@given(st.fractions(min_value="1/100", max_value=8), st.integers(2, 12), st.integers(1, 5))
def test_what_the_largest_rho_allows_is_certified_and_more_than_exact_is_not(
    epsilon: Fraction, digits: int, parts: int
) -> None:
    delta = Fraction(1, 10**digits)
    variance = 1 / (2 * largest_rho(epsilon, delta) / parts)
    noise = [GaussianEvent(variance=variance, sensitivity_squared=1) for _ in range(parts)]
    assert certificate_holds(CertifiedEvent(event=ComposedEvent(events=noise), epsilon=epsilon, delta=delta))
    too_much = Fraction(gaussian_mu_for(epsilon, delta) ** 2 / 2) * Fraction(101, 100)
    less = [GaussianEvent(variance=parts / (2 * too_much), sensitivity_squared=1) for _ in range(parts)]
    event = CertifiedEvent(event=ComposedEvent(events=less), epsilon=epsilon, delta=delta)
    assert not certificate_holds(event)
    with pytest.raises(NotPricedError, match="not enough"):
        basic(event)


def test_sums_take_the_certificate_and_others_look_inside() -> None:
    event = CertifiedEvent(event=NOISE, epsilon=1, delta=DELTA)
    assert basic(event) == (Fraction(1), DELTA)
    assert rho(event) == rho(NOISE)
    assert mu(event) == mu(NOISE)
    orders = np.array([2.0, 8.0])
    assert (renyi(event, orders) == renyi(NOISE, orders)).all()
    assert PLDAccountant().spend(event).epsilon(1e-6) == PLDAccountant().spend(NOISE).epsilon(1e-6)
    assert best([event], delta=1e-6).epsilon < 1


def test_a_filter_of_sums_admits_it_as_often_as_the_budget_says() -> None:
    event = CertifiedEvent(event=NOISE, epsilon=1, delta=DELTA)
    watch = Filter(BasicAccountant(), ApproxDP(epsilon=3, delta=3 * DELTA))
    for _ in range(3):
        watch.spend(event)
    assert not watch.admits(event)
    assert ZCDPAccountant().spend(event).guarantee() == ZCDPAccountant().spend(NOISE).guarantee()
    assert GDPAccountant().spend(event).guarantee() == GDPAccountant().spend(NOISE).guarantee()


def test_groups_and_samples_keep_the_certificate() -> None:
    event = CertifiedEvent(event=NOISE, epsilon=1, delta=DELTA)
    group = ApproxDP(epsilon=1, delta=DELTA).group(2)
    assert basic(GroupEvent(event=event, size=2)) == (group.epsilon, group.delta)
    assert basic(ReplacedEvent(event=event)) == (group.epsilon, group.delta)
    assert basic(RepeatedEvent(event=event, times=3)) == (Fraction(3), 3 * DELTA)
    epsilon, delta = basic(PoissonSampledEvent(event=event, probability="0.1"))
    assert epsilon < Fraction(1, 5)
    assert delta == DELTA / 10
    assert rho(GroupEvent(event=event, size=2)) == 4 * rho(NOISE)


def test_pure_noise_is_certified_by_its_concentrated_privacy() -> None:
    assert certificate_holds(CertifiedEvent(event=LaplaceEvent(scale=10, sensitivity=1), epsilon=1, delta=DELTA))
    assert certificate_holds(CertifiedEvent(event=LaplaceEvent(scale=10, sensitivity=0), epsilon=1, delta=0))


SECRETS = [
    {"order": "secret permutation"},
    {"stop": "secret uniform"},
    {"order": "secret permutation", "stop": "secret uniform"},
    {"order": "secret permutation", "epochs": 5, "diameter": 2},
]


@pytest.mark.parametrize("secret", SECRETS)
def test_secret_orders_and_stops_are_certified_by_their_curve(secret: dict[str, Any]) -> None:
    """The rho, which is that of the worst place, would ask for much more: it certifies nothing near the truth."""
    run = PNSGDEvent(records=500, step_size="0.1", lipschitz=1, smoothness=1, variance=25, **secret)
    fixed = PNSGDEvent(**{**_fields(run), "order": "fixed", "stop": "fixed"})
    least = Fraction(RenyiAccountant().spend(run).epsilon(DELTA))
    assert not certificate_holds(CertifiedEvent(event=fixed, epsilon=least * Fraction(11, 10), delta=DELTA))
    assert certificate_holds(CertifiedEvent(event=run, epsilon=least * Fraction(1001, 1000), delta=DELTA))
    for wrong in (
        CertifiedEvent(event=run, epsilon=least * Fraction(99, 100), delta=DELTA),
        CertifiedEvent(event=run, epsilon=least * Fraction(1001, 1000), delta=DELTA / 2),
        CertifiedEvent(
            event=PNSGDEvent(**{**_fields(run), "variance": Fraction(20)}),
            epsilon=least * Fraction(1001, 1000),
            delta=DELTA,
        ),
    ):
        assert not certificate_holds(wrong)
        with pytest.raises(NotPricedError, match="not enough"):
            basic(wrong)


def test_an_account_of_sums_takes_such_a_run() -> None:
    run = PNSGDEvent(records=500, step_size="0.1", lipschitz=1, smoothness=1, variance=100, order="secret permutation")
    event = CertifiedEvent(event=run, epsilon=1, delta=DELTA)
    watch = Filter(BasicAccountant(), ApproxDP(epsilon=2, delta=3 * DELTA, adjacency=ReplaceOne))
    watch.spend(event)
    watch.spend(event)
    assert not watch.admits(event)


def test_a_search_that_has_no_rho_is_certified_by_its_curve() -> None:
    search = PrivateSelectionEvent(event=NOISE, distribution="poisson", mean=5)
    with pytest.raises(NotPricedError):
        rho(search)
    assert certificate_holds(CertifiedEvent(event=search, epsilon=3, delta=DELTA))
    assert not certificate_holds(CertifiedEvent(event=search, epsilon=1, delta=DELTA))


def test_what_has_neither_rho_nor_curve_is_not_believed() -> None:
    unknown = GuaranteedEvent(guarantee=ApproxDP(epsilon=1, delta=DELTA))
    with pytest.raises(NotPricedError):
        certificate_holds(CertifiedEvent(event=unknown, epsilon=8, delta="0.1"))


def _fields(run: PNSGDEvent) -> dict[str, Any]:
    names = ("records", "step_size", "lipschitz", "smoothness", "variance", "epochs", "diameter", "order", "stop")
    return {name: getattr(run, name) for name in names}


@given(st.fractions(min_value="1/20", max_value=8), st.integers(4, 9), st.integers(1, 4))
def test_the_rhos_begin_with_the_exact_one_and_end_with_one_that_holds(
    epsilon: Fraction, digits: int, parts: int
) -> None:
    delta = Fraction(1, 10**digits)
    rhos = list(certified_rhos(epsilon, delta))
    assert rhos == sorted(rhos, reverse=True)
    assert rhos[-1] == largest_rho(epsilon, delta)
    assert certificate_holds(certified(rhos[-1], epsilon, delta, parts))
    exact = Fraction(gaussian_mu_for(epsilon, delta) ** 2 / 2)
    assert rhos[0] < exact < Fraction(1001, 1000) * rhos[0]
    fine = certified(rhos[0], epsilon, delta, parts, scale=10**6)  # a grid that is as good as real numbers
    assert certificate_holds(fine)
    assert not certificate_holds(certified(exact * Fraction(1003, 1000), epsilon, delta, parts, scale=10**6))


def certified(rho: Fraction, epsilon: Fraction, delta: Fraction, parts: int, scale: int = 1) -> CertifiedEvent:
    """Return noise that spends a rho in equal parts, under a certificate."""
    variance = scale * scale * parts / (2 * rho)
    noise = [GaussianEvent(variance=variance, sensitivity_squared=scale * scale) for _ in range(parts)]
    return CertifiedEvent(event=ComposedEvent(events=noise), epsilon=epsilon, delta=delta)


def test_exact_certificates_save_noise() -> None:
    """Balle and Wang 2018: the analytic Gaussian mechanism needs 4.2247 at (1, 1e-6), by concentration 4.53."""
    rhos = list(certified_rhos(Fraction(1), DELTA))
    assert float(1 / (2 * rhos[0])) ** 0.5 == pytest.approx(4.2247, rel=1e-3)
    assert float(1 / (2 * rhos[-1])) ** 0.5 == pytest.approx(4.5306, rel=1e-3)
