"""A refusal names the number that does not fit, one that does, and whom to ask."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from celosia.core import ZCDP, ApproxDP, GaussianDP, GaussianEvent, Guarantee, LaplaceEvent, PureDP, RenyiDP
from celosia.core.messages.message import Message
from celosia.core.structure import GuaranteedEvent
from celosia.ledger.budgets.advice import describe_refusal
from celosia.ledger.budgets.policy import Policy

if TYPE_CHECKING:
    from celosia.accounting import Filter
    from celosia.core import Event

OWNER = "ask the owner of the data for more"


@pytest.mark.parametrize(
    ("cost", "left", "advice"),
    [
        (PureDP(epsilon=2), PureDP(epsilon=1), f"ask for an epsilon of at most 1, or {OWNER}"),
        (PureDP(epsilon=2), PureDP(epsilon="1/3"), f"ask for an epsilon of at most 0.333, or {OWNER}"),
        (PureDP(epsilon=2), PureDP(epsilon=0), f"it is used up, so {OWNER}"),
        (ZCDP(rho=2), ZCDP(rho="0.01"), f"ask for a rho of at most 0.01, or {OWNER}"),
        (ZCDP(rho=2), ZCDP(rho=0), f"it is used up, so {OWNER}"),
        (ApproxDP(epsilon=2, delta="1e-6"), ApproxDP(epsilon=1, delta="1e-6"), f"an epsilon of at most 1, or {OWNER}"),
        (ApproxDP(epsilon=1, delta="1e-6"), ApproxDP(epsilon=1, delta="1e-7"), f"a delta of at most 1e-07, or {OWNER}"),
        (ApproxDP(epsilon=1, delta="1e-6"), ApproxDP(epsilon=1, delta="1e-6"), f"a smaller delta, or {OWNER}"),
        (ApproxDP(epsilon=1, delta="1e-6"), ApproxDP(epsilon=1, delta=0), "its delta is used up, so give delta=0"),
        (ApproxDP(epsilon=1, delta="1e-6"), ApproxDP(epsilon=0, delta=0), f"it is used up, so {OWNER}"),
    ],
)
def test_what_to_do(cost: Guarantee, left: Guarantee, advice: str) -> None:
    sentence = describe_refusal(cost, left, Message("ledger.scope_budget"), lambda _: False)
    assert f"costs {cost}, and the budget has {left} left: " in sentence
    assert advice in sentence
    later = describe_refusal(cost, left, Message("ledger.scope_budget"), lambda _: False, until="tomorrow")
    assert later == sentence.replace(" left: ", " left until tomorrow: ")[:-1] + ", or wait."


def opened(limit: Guarantee, accountant: str) -> Filter:
    return Policy(limit=limit, accountant=accountant).open()


@pytest.mark.parametrize("accountant", ["basic", "combined", "renyi", "gdp"])
def test_what_is_advised_fits_and_little_more_does_not(accountant: str) -> None:
    limit = ApproxDP(epsilon=3, delta="1e-6")
    watch = opened(limit, accountant)
    event: Event = (
        GaussianEvent(variance=400, sensitivity_squared=1)
        if accountant == "gdp"
        else LaplaceEvent(scale=10, sensitivity=1)
    )
    while watch.admits(event, 2):
        watch.spend(event)
    cost = watch.cost(LaplaceEvent(scale=1, sensitivity=3))
    sentence = describe_refusal(cost, watch.remaining, Message("ledger.scope_budget"), watch.admits)
    assert "orders" not in sentence
    assert "mu=" not in sentence
    most = re.search(r"an epsilon of at most (\S+),", sentence)
    assert most is not None
    assert watch.admits(GuaranteedEvent(guarantee=PureDP(epsilon=most[1])))
    assert not watch.admits(GuaranteedEvent(guarantee=PureDP(epsilon=str(1.02 * float(most[1])))))


def test_other_kinds_are_used_up_as_well() -> None:
    for limit in (GaussianDP(mu=1), RenyiDP(orders=(2, 4), epsilons=(1, 2))):
        watch = Policy(limit=limit).open()
        watch.count(GaussianEvent(variance=1, sensitivity_squared=9))
        sentence = describe_refusal(
            watch.spent, watch.remaining, Message("ledger.scope_analyst", analyst="'ana'"), watch.admits
        )
        assert sentence == f"The question costs more than analyst 'ana' has left: it is used up, so {OWNER}."
