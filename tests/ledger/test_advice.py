"""The number that is named is the one that does not fit."""

from __future__ import annotations

import pytest

from celosia.core import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP
from celosia.ledger.advice import exceeded_number


@pytest.mark.parametrize(
    ("cost", "left", "number"),
    [
        (PureDP(epsilon=2), PureDP(epsilon=1), "epsilon"),
        (PureDP(epsilon=2), PureDP(epsilon=0), None),
        (ZCDP(rho=2), ZCDP(rho=1), "rho"),
        (ZCDP(rho=2), ZCDP(rho=0), None),
        (GaussianDP(mu=2), GaussianDP(mu=0), None),
        (ApproxDP(epsilon=2, delta="1e-6"), ApproxDP(epsilon=1, delta="1e-6"), "epsilon"),
        (ApproxDP(epsilon=1, delta="1e-6"), ApproxDP(epsilon=1, delta="1e-7"), "delta"),
        (ApproxDP(epsilon=1, delta="1e-6"), ApproxDP(epsilon=0, delta=0), None),
    ],
)
def test_the_number_that_is_too_large(cost: Guarantee, left: Guarantee, number: str | None) -> None:
    assert exceeded_number(cost, left) == number
