"""mu against the inverse normal distribution in many digits, and curves that must lie above those of tables."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.accounting import mu
from celosia.accounting.prices.trade_off import gaussian_profile
from celosia.core import (
    ZCDP,
    ApproxDP,
    ComposedEvent,
    GaussianDP,
    GaussianEvent,
    GroupEvent,
    GuaranteedEvent,
    LaplaceEvent,
    NotPricedError,
    ParallelEvent,
    PoissonSampledEvent,
    PureDP,
    RandomizedResponseEvent,
    RenyiDP,
    RepeatedEvent,
    ReplacedEvent,
    ReplaceOne,
    ShuffledEvent,
)
from celosia.testing import Witness, divergence, witnesses

if TYPE_CHECKING:
    from celosia.core import Event

NOISE = GaussianEvent(variance=10**12, sensitivity_squared=10**12)
WIDE = GaussianEvent(variance=10**12, sensitivity_squared=4 * 10**12)


@given(st.one_of(st.floats(1e-12, 1e-3), st.floats(1e-3, 60)))
def test_a_pure_mechanism_s_mu_is_right_and_rounded_up(epsilon: float) -> None:
    found = mu(GuaranteedEvent(guarantee=PureDP(epsilon=epsilon)))
    with mpmath.workdps(60):
        # 2 Phi^-1(e^epsilon / (1 + e^epsilon)) <= found, by Phi, which grows.
        smaller = 1 / (1 + mpmath.exp(mpmath.mpf(epsilon)))
        assert mpmath.ncdf(-mpmath.mpf(found) / 2) <= smaller
        assert mpmath.ncdf(-mpmath.mpf(found) * (1 - mpmath.mpf(10) ** -11) / 2) >= smaller


def test_known_values() -> None:
    assert mu(GuaranteedEvent(guarantee=PureDP(epsilon=0))) == 0
    assert mu(GaussianEvent(variance=4, sensitivity_squared=1, arithmetic="real")) == pytest.approx(0.5, rel=1e-12)
    assert mu(GuaranteedEvent(guarantee=GaussianDP(mu="0.7"))) == pytest.approx(0.7, rel=1e-12)
    assert mu(NOISE) == pytest.approx(1, rel=1e-9)
    assert mu(NOISE) >= 1


def check_the_curve_of_mu_covers_every_table(witness: Witness) -> None:
    try:
        distance = mu(witness.event)
    except NotPricedError:
        return
    epsilons = np.linspace(0, 5, 41)
    bounds = gaussian_profile(distance, epsilons)
    for epsilon, bound in zip(epsilons, bounds, strict=True):
        assert divergence([witness], epsilon) <= bound + 1e-14


def test_the_curve_of_mu_covers_every_table() -> None:
    for witness in witnesses():
        check_the_curve_of_mu_covers_every_table(witness)


def test_structures() -> None:
    cases: list[tuple[Event, float]] = [
        (RepeatedEvent(event=NOISE, times=10**6), 1000),
        (ComposedEvent(events=(NOISE, WIDE, NOISE)), 6**0.5),
        (GroupEvent(event=NOISE, size=3), 3),
        (ReplacedEvent(event=NOISE), 2),
        (ParallelEvent(events=(NOISE, WIDE, NOISE)), 2),
        (GroupEvent(event=ParallelEvent(events=(NOISE, WIDE)), size=3), 6),
        (ReplacedEvent(event=ParallelEvent(events=(NOISE, WIDE))), 4),
    ]
    for event, expected in cases:
        assert mu(event) == pytest.approx(expected, rel=1e-8)
        assert mu(event) >= expected


def test_parts_under_replace_one_cost_the_two_largest() -> None:
    parts = [GaussianEvent(variance=10**12, sensitivity_squared=s * 10**12, adjacency=ReplaceOne) for s in (4, 9, 16)]
    assert mu(ParallelEvent(events=parts)) == pytest.approx(5, rel=1e-8)
    assert mu(ParallelEvent(events=parts, fixed=True)) == pytest.approx(4, rel=1e-8)


def test_what_is_sampled_has_a_mu_only_when_it_is_pure() -> None:
    count = LaplaceEvent(scale=1, sensitivity=1)
    sampled = PoissonSampledEvent(event=count, probability="0.01")
    assert mu(sampled) < mu(count) / 50
    answer = RandomizedResponseEvent(epsilon=1)
    assert mu(ShuffledEvent(event=answer, reports=10)) == mu(answer)
    with pytest.raises(NotPricedError):
        mu(PoissonSampledEvent(event=NOISE, probability="0.01"))


def test_what_has_no_mu_is_not_priced() -> None:
    cases: list[Event] = [
        GaussianEvent(variance="0.001", sensitivity_squared=1),  # noise that hardly ever moves a step
        GuaranteedEvent(guarantee=ZCDP(rho=1)),
        GuaranteedEvent(guarantee=ApproxDP(epsilon=1, delta="1e-6")),
        GuaranteedEvent(guarantee=RenyiDP(orders=(2,), epsilons=(1,))),
    ]
    for event in cases:
        with pytest.raises(NotPricedError, match="cannot be priced by Gaussian privacy"):
            mu(event)


def test_shifts_are_whole() -> None:
    fractional = GaussianEvent(variance=100, sensitivity_squared=Fraction(19, 10))
    assert mu(fractional) == mu(GaussianEvent(variance=100, sensitivity_squared=1))
    assert mu(GaussianEvent(variance=100, sensitivity_squared=Fraction(1, 2))) == 0
