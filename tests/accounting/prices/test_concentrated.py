"""rho against the largest Rényi divergence per order of brute-force tables, and the rules of structures."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from celosia.accounting import rho
from celosia.core import (
    ZCDP,
    ApproxDP,
    ComposedEvent,
    Event,
    ExponentialEvent,
    FixedSampledEvent,
    GaussianDP,
    GaussianEvent,
    GroupEvent,
    GuaranteedEvent,
    LaplaceEvent,
    NotPricedError,
    ParallelEvent,
    PermuteAndFlipEvent,
    PoissonSampledEvent,
    PureDP,
    RandomizedResponseEvent,
    RenyiDP,
    RepeatedEvent,
    ReplacedEvent,
    ReplaceOne,
    ShuffledEvent,
)
from celosia.testing import Witness, witnesses

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table: TypeAlias = NDArray[np.float64]

NOISE = GaussianEvent(variance=100, sensitivity_squared=1)
SLOW = GaussianEvent(variance=100, sensitivity_squared=4)
ORDERS = (1 + 1e-6, 1.5, 2.0, 5.0, 32.0, 1000.0)


def divergence(here: Table, there: Table, order: float) -> float:
    """Return the larger Rényi divergence of both directions, by its definition."""
    with np.errstate(divide="ignore"):
        logs = np.log(here), np.log(there)
    ways = []
    for p, q in (logs, logs[::-1]):
        seen = p > -np.inf
        if np.isneginf(q[seen]).any():
            return np.inf
        ways.append(float(special.logsumexp(order * p[seen] + (1 - order) * q[seen])) / (order - 1))
    return max(ways)


def test_gaussian_noise_costs_half_its_squared_ratio() -> None:
    assert rho(NOISE) == Fraction(1, 200)
    assert rho(GaussianEvent(variance="1/3", sensitivity_squared=2, dimension=7)) == 3


@given(st.fractions(Fraction(1, 10**6), 40, max_denominator=10**6))
def test_a_pure_mechanism_costs_epsilon_times_the_tangent_rounded_up(epsilon: Fraction) -> None:
    with mpmath.workdps(50):
        exact = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        truth = exact * mpmath.tanh(exact / 2)
        found = rho(GuaranteedEvent(guarantee=PureDP(epsilon=epsilon)))
        found = mpmath.mpf(found.numerator) / found.denominator
        assert truth <= found <= truth * (1 + mpmath.mpf(10) ** -15)
        assert found <= exact**2 / 2 * (1 + mpmath.mpf(10) ** -15)


def test_an_epsilon_beyond_all_reason_costs_itself() -> None:
    assert rho(LaplaceEvent(scale="1e-12", sensitivity=1)) == 10**12
    assert 999 < rho(GuaranteedEvent(guarantee=PureDP(epsilon="999.5"))) <= Fraction("999.5")


def test_a_bounded_range_is_cheaper() -> None:
    assert rho(ExponentialEvent(epsilon=1)) == Fraction(1, 8)
    assert rho(ExponentialEvent(epsilon=100)) <= 100  # where epsilon^2 / 8 would be more than pure privacy
    assert rho(PermuteAndFlipEvent(epsilon=1)) > Fraction(4, 10)


def check_rho_covers_the_divergence_of_every_table_at_every_order(witness: Witness) -> None:
    try:
        bound = float(rho(witness.event))
    except NotPricedError:
        return
    for order in ORDERS:
        assert divergence(witness.here, witness.there, order) <= bound * order * (1 + 1e-9) + 1e-9


def test_rho_covers_the_divergence_of_every_table_at_every_order() -> None:
    for witness in witnesses():
        check_rho_covers_the_divergence_of_every_table_at_every_order(witness)


def test_the_price_of_a_pure_mechanism_is_tight() -> None:
    [coin] = [one for one in witnesses() if one.event == RandomizedResponseEvent(epsilon=1)]
    assert divergence(coin.here, coin.there, 1 + 1e-6) == pytest.approx(float(rho(coin.event)), rel=1e-5)


def test_structures() -> None:
    cases: list[tuple[Event, Fraction | int]] = [
        (GuaranteedEvent(guarantee=ZCDP(rho="0.3")), Fraction(3, 10)),
        (GuaranteedEvent(guarantee=GaussianDP(mu=3)), Fraction(9, 2)),
        (RepeatedEvent(event=NOISE, times=10**6), 5000),
        (ComposedEvent(events=(NOISE, SLOW, NOISE)), Fraction(6, 200)),
        (GroupEvent(event=NOISE, size=3), Fraction(9, 200)),
        (ReplacedEvent(event=NOISE), Fraction(4, 200)),
        (ParallelEvent(events=(NOISE, SLOW, NOISE)), Fraction(4, 200)),
        (GroupEvent(event=ParallelEvent(events=(NOISE, SLOW)), size=3), Fraction(36, 200)),
        (ReplacedEvent(event=ParallelEvent(events=(NOISE, SLOW))), Fraction(16, 200)),
    ]
    for event, expected in cases:
        assert rho(event) == expected


def test_parts_under_replace_one_cost_the_two_largest() -> None:
    parts = [GaussianEvent(variance=100, sensitivity_squared=s, adjacency=ReplaceOne) for s in (1, 2, 3)]
    assert rho(ParallelEvent(events=parts)) == Fraction(5, 200)
    assert rho(ParallelEvent(events=parts, fixed=True)) == Fraction(3, 200)
    assert rho(ParallelEvent(events=[parts[2]] * 9)) == Fraction(6, 200)


def test_samples_of_what_is_pure_are_priced_and_others_are_not() -> None:
    count = LaplaceEvent(scale=1, sensitivity=1)
    assert rho(PoissonSampledEvent(event=count, probability="0.01")) < rho(count) / 50
    answer = RandomizedResponseEvent(epsilon=1)
    assert rho(FixedSampledEvent(event=answer, size=1, population=100)) < rho(answer) / 50
    assert rho(ShuffledEvent(event=answer, reports=1000)) == rho(answer)
    with pytest.raises(NotPricedError):
        rho(PoissonSampledEvent(event=NOISE, probability="0.01"))


def test_what_has_no_rho_is_not_priced() -> None:
    cases: list[Event] = [
        GuaranteedEvent(guarantee=ApproxDP(epsilon=1, delta="1e-6")),
        GuaranteedEvent(guarantee=RenyiDP(orders=(2,), epsilons=(1,))),
    ]
    for event in cases:
        with pytest.raises(NotPricedError, match="GuaranteedEvent cannot be priced"):
            rho(event)
