"""A certificate is believed only when the noise inside is enough for it."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.accounting import (
    BasicAccountant,
    Filter,
    GDPAccountant,
    PLDAccountant,
    ZCDPAccountant,
    basic,
    best,
    certificate_holds,
    mu,
    renyi,
    rho,
)
from celosia.accounting.gaussian import largest_rho
from celosia.core import (
    ApproxDP,
    CertifiedEvent,
    ComposedEvent,
    GaussianEvent,
    GroupEvent,
    LaplaceEvent,
    NotPriced,
    PoissonSampledEvent,
    RepeatedEvent,
    ReplacedEvent,
)

NOISE = GaussianEvent(variance=25, sensitivity_squared=1)
DELTA = Fraction(1, 10**6)


@given(st.fractions(min_value="1/100", max_value=8), st.integers(2, 12), st.integers(1, 5))
def test_what_the_largest_rho_allows_is_certified_and_a_tenth_more_is_not(
    epsilon: Fraction, digits: int, parts: int
) -> None:
    delta = Fraction(1, 10**digits)
    variance = 1 / (2 * largest_rho(epsilon, delta) / parts)
    noise = [GaussianEvent(variance=variance, sensitivity_squared=1) for _ in range(parts)]
    assert certificate_holds(CertifiedEvent(event=ComposedEvent(events=noise), epsilon=epsilon, delta=delta))
    less = [GaussianEvent(variance=variance / Fraction(11, 10), sensitivity_squared=1) for _ in range(parts)]
    event = CertifiedEvent(event=ComposedEvent(events=less), epsilon=epsilon, delta=delta)
    assert not certificate_holds(event)
    with pytest.raises(NotPriced, match="not enough"):
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
