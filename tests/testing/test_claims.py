"""Claims are implied by the guarantee, and excesses are what a brute-force sum gives."""

from __future__ import annotations

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant

from celosia.core import ZCDP, ApproxDP, GaussianDP, Guarantee, ParameterError, PureDP, RenyiDP
from celosia.testing import claims, excess

HALF, MOST = np.log([0.5, 0.5]), np.log([0.75, 0.25])
ONE_SIDED = np.array([0.0, -np.inf])


def gaussian_logs(shift: int, variance: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    logs = -((np.arange(-200, 201) - shift) ** 2) / (2 * variance)
    return np.asarray(logs - np.log(np.exp(logs).sum()))


def test_pure_and_approximate_claims_are_themselves() -> None:
    assert claims(PureDP(epsilon="0.5")) == ((0.5, 0.0),)
    assert claims(ApproxDP(epsilon=2, delta="1e-5")) == ((2.0, 1e-5),)


@pytest.mark.parametrize("rho", [0.001, 0.1, 0.5, 5])
def test_zcdp_claims_hold_for_the_gaussian_that_reaches_rho(rho: float) -> None:
    event = dp_accounting.GaussianDpEvent(1 / math.sqrt(2 * rho))
    accountant = rdp_privacy_accountant.RdpAccountant([1 + 10 ** (k / 20) for k in range(-40, 61)])
    accountant.compose(event)
    exact = dp_accounting.pld.PLDAccountant(value_discretization_interval=1e-3)
    exact.compose(event)
    for epsilon, delta in claims(ZCDP(rho=rho)):
        assert epsilon >= exact.get_epsilon(delta) - 2e-3
        assert epsilon == pytest.approx(accountant.get_epsilon(delta), rel=0.02, abs=1e-9)


@pytest.mark.parametrize("mu", [0.1, 1, 4])
def test_gaussian_claims_are_tight(mu: float) -> None:
    exact = dp_accounting.pld.PLDAccountant(value_discretization_interval=1e-3)
    exact.compose(dp_accounting.GaussianDpEvent(1 / mu))
    for epsilon, delta in claims(GaussianDP(mu=mu)):
        assert epsilon == pytest.approx(exact.get_epsilon(delta), abs=3e-3)


def test_no_difference_claims_nothing_above_zero() -> None:
    assert {epsilon for epsilon, _ in claims(GaussianDP(mu=0))} == {0.0}


def test_renyi_claims_use_the_orders_given() -> None:
    orders = (2, 8, 32)
    curve = RenyiDP(orders=orders, epsilons=[order / 2 for order in orders])
    for (coarse, _), (fine, _) in zip(claims(curve), claims(ZCDP(rho="0.5")), strict=True):
        assert fine <= coarse < fine + 2


def test_pure_excess_is_the_largest_log_ratio() -> None:
    assert excess(PureDP(epsilon=1), HALF, MOST) == pytest.approx(math.log(2))
    assert excess(PureDP(epsilon=1), MOST, HALF) == pytest.approx(math.log(2))
    assert excess(PureDP(epsilon=1), HALF, ONE_SIDED) == math.inf
    assert excess(PureDP(epsilon=0), HALF, HALF) == 0
    assert excess(PureDP(epsilon=1), ONE_SIDED, ONE_SIDED) == 0


def test_approximate_excess_is_the_hockey_stick() -> None:
    assert excess(ApproxDP(epsilon=0, delta="0.25"), HALF, MOST) == pytest.approx(1)
    assert excess(ApproxDP(epsilon=0, delta="0.125"), MOST, HALF) == pytest.approx(2)
    assert excess(ApproxDP(epsilon=1, delta=0), HALF, ONE_SIDED) == math.inf
    # The loss is on one side only, whichever is given first; and a hair above the claim is above it.
    assert excess(ApproxDP(epsilon="0.5", delta="0.05"), HALF, MOST) == pytest.approx(1.756, abs=1e-3)
    assert excess(ApproxDP(epsilon="0.5", delta="0.05"), MOST, HALF) == pytest.approx(1.756, abs=1e-3)
    assert excess(ApproxDP(epsilon=0, delta="0.24"), HALF, MOST) > 1


def test_renyi_excess_of_the_gaussian_is_alpha_over_two_variances() -> None:
    here, there = gaussian_logs(0, 16.0), gaussian_logs(1, 16.0)
    assert excess(RenyiDP(orders=(2,), epsilons=("1/16",)), here, there) == pytest.approx(1, rel=1e-6)
    assert excess(ZCDP(rho="1/32"), here, there) == pytest.approx(1, rel=1e-6)
    assert excess(ZCDP(rho="1/64"), here, there) == pytest.approx(2, rel=1e-6)
    assert excess(ZCDP(rho=1), HALF, ONE_SIDED) == math.inf


def test_gaussian_excess_compares_the_privacy_profiles() -> None:
    here, there = gaussian_logs(0, 400.0), gaussian_logs(20, 400.0)
    assert excess(GaussianDP(mu="1.1"), here, there) < 1
    assert excess(GaussianDP(mu="0.9"), here, there) > 1


def test_an_unknown_guarantee_is_asked_to_register() -> None:
    class Unknown:
        pass

    unknown: Guarantee = Unknown()  # type: ignore[assignment]  # what a third party might pass
    with pytest.raises(ParameterError, match="register"):
        claims(unknown)
    with pytest.raises(ParameterError, match="register"):
        excess(unknown, HALF, HALF)
