from __future__ import annotations

from fractions import Fraction

import pytest

from celosia.cli.costs import cost, spent
from celosia.core import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP


@pytest.mark.parametrize(
    ("guarantee", "expected"),
    [
        (PureDP(epsilon="1/3"), "ε = 1/3"),
        (PureDP(epsilon=Fraction(10**12 + 1, 3 * 10**12)), "ε ≤ 0.333334"),
        (ApproxDP(epsilon="0.5", delta="1e-6"), "ε = 0.5, δ = 1e-6"),
        (ApproxDP(epsilon="0.5", delta=0), "ε = 0.5"),
        (ZCDP(rho="0.01"), "ρ = 0.01"),
        (GaussianDP(mu=1), "GaussianDP(mu=1)"),
    ],
)
def test_the_numbers_of_a_guarantee_are_written_out(guarantee: Guarantee, expected: str) -> None:
    assert cost(guarantee) == expected


def test_numbers_for_json_are_never_below() -> None:
    assert spent(PureDP(epsilon="0.1")) == {"epsilon": 0.1}
    assert spent(ZCDP(rho=2)) == {"rho": 2.0}
    assert spent(GaussianDP(mu="0.5")) == {"mu": 0.5}
    for denominator in range(3, 200):
        number = Fraction(1, denominator)
        found = spent(ApproxDP(epsilon=number, delta=number))
        assert found["epsilon"] == found["delta"] == pytest.approx(float(number), rel=1e-15)
        assert Fraction(found["epsilon"]) >= number or Fraction(repr(found["epsilon"])) == number
