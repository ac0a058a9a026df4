"""Rules of a data set for its analysts: a least cost, a share of the budget, and approval above a cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import celosia as cl
from celosia.core import GaussianEvent
from celosia.core.errors import ApprovalRequiredError, BudgetExceededError, FormatError, ParameterError
from celosia.core.guarantees import GaussianDP, RenyiDP
from celosia.ledger import Policy, Request, Window
from celosia.ledger.budgets.policy_json import policy_from_json, policy_to_json

if TYPE_CHECKING:
    from fractions import Fraction

    from celosia.core.events import Event
    from celosia.ledger import Ledger

LIMITS = [
    cl.PureDP(epsilon=2),
    cl.ApproxDP(epsilon=2, delta="1e-6"),
    cl.ZCDP(rho=2),
    GaussianDP(mu=2),
    RenyiDP(orders=(2, 4), epsilons=(2, 3)),
]


def rules(limit: Any, **given: Any) -> Policy:
    return Policy(limit=limit, **given)


def laplace(epsilon: Any) -> Event:
    return cl.mechanisms.Laplace(epsilon=epsilon, sensitivity=1).event


def open_with(policy: Policy) -> Ledger:
    ledger = cl.open_ledger("memory://")
    ledger.set_budget(policy, dataset="d")
    return ledger


def reserve(ledger: Ledger, epsilon: Any, analyst: str | None = "ana", **options: Any) -> Any:
    return ledger.reserve(laplace(epsilon), dataset="d", analyst=analyst, question="?", **options)


def test_a_question_below_the_least_cost_is_refused() -> None:
    ledger = open_with(rules(cl.PureDP(epsilon=1), least_cost="0.01"))
    with pytest.raises(ParameterError, match="less than the least cost"):
        reserve(ledger, "0.0099")
    assert ledger.statement()[0].spent == cl.PureDP(epsilon=0)
    assert not ledger.reservations()
    reserve(ledger, "0.01")
    reserve(ledger, "0.0001", analyst=None)  # the owner


def test_a_question_above_the_threshold_needs_an_approval() -> None:
    ledger = open_with(rules(cl.PureDP(epsilon=3), approval_above="0.5"))
    plain, approved = Request(key="k", digest="d"), Request(key="k", digest="d", approval="a1")
    for request in (None, plain):
        with pytest.raises(ApprovalRequiredError, match="more than the"):
            reserve(ledger, "0.6", request=request)
    assert not ledger.reservations()
    reserve(ledger, "0.5")
    reserve(ledger, 1, analyst=None)
    reservation = reserve(ledger, "0.6", request=approved)
    [line] = [line for line in ledger.entries() if line.body.get("id") == reservation.id]
    assert line.body["request"] == {"key": "k", "digest": "d", "approval": "a1"}
    assert reserve(ledger, "0.6", request=plain).id == reservation.id  # a retry of the same request
    assert ledger.verify().ok


def test_what_exceeds_the_limit_is_refused_before_an_approval() -> None:
    month = Window(seconds=30 * 86_400, limit=cl.PureDP(epsilon=1))
    ledger = open_with(rules(cl.PureDP(epsilon=3), approval_above="0.5", window=month))
    approved = Request(key="k", digest="d", approval="a1")
    for epsilon, refused in (("1.5", ApprovalRequiredError), ("3.5", BudgetExceededError)):
        with pytest.raises(refused):
            reserve(ledger, epsilon)
    with pytest.raises(BudgetExceededError, match="until"):  # the window renews
        reserve(ledger, "1.5", request=approved)
    ledger.set_budget(cl.PureDP(epsilon=1), analyst="ana")
    with pytest.raises(BudgetExceededError):
        reserve(ledger, "1.5")


def test_the_numbers_of_a_rule_are_written_in_the_language() -> None:
    ledger = open_with(rules(cl.PureDP(epsilon=3), approval_above="0.5", least_cost="0.001"))
    for epsilon, error, words in (
        ("1e-4", ParameterError, "el coste mínimo de 0,001 por"),
        ("0.6", ApprovalRequiredError, "más de los 0,5 que"),
        ("3.5", BudgetExceededError, "un epsilon de 3 como mucho"),
    ):
        with pytest.raises(error) as caught:
            reserve(ledger, epsilon)
        assert words in caught.value.message.render("es")
    reserve(ledger, "0.25")
    with pytest.raises(BudgetExceededError) as exceeded:
        reserve(ledger, 3)
    assert "un epsilon de 2,75 como mucho" in exceeded.value.message.render("es")
    assert "an epsilon of at most 2.75," in str(exceeded.value)


def test_stored_answers_need_no_approval() -> None:
    ledger = open_with(Policy(limit=cl.PureDP(epsilon=3)))
    count = cl.mechanisms.Laplace(epsilon=1, sensitivity=1)
    first = ledger.reserve(count.event, dataset="d", analyst="ana", question="?", fingerprint="f")
    ledger.commit(first, count.release(3), text="3")
    ledger.set_budget(rules(cl.PureDP(epsilon=3), approval_above="0.5", least_cost=2), dataset="d")
    again = ledger.reserve(count.event, dataset="d", analyst="bea", question="?", fingerprint="f")
    assert again.state == "repeated"


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: type(limit).__name__)
def test_an_analyst_has_a_share_unless_given_a_budget(limit: Any) -> None:
    """The share follows the data set's limit, holds across processes, and gives way to the analyst's own budget."""
    gaussian = GaussianEvent(variance=20, sensitivity_squared=1)
    event = laplace("0.1") if isinstance(limit, cl.PureDP | cl.ApproxDP) else gaussian
    ledger = open_with(rules(limit, analyst_share="1/4"))
    spent = 0
    while ledger.account("d", "ana").admits(event):
        ledger.reserve(event, dataset="d", analyst="ana", question="?")
        spent += 1
    assert spent > 0
    with pytest.raises(BudgetExceededError, match="'ana' on data set 'd'"):
        ledger.reserve(event, dataset="d", analyst="ana", question="?")
    ledger.reserve(event, dataset="d", analyst="bea", question="?")
    shares = [line for line in ledger.statement("d", "ana") if line.scope.analyst == "ana"]
    assert len(shares) == 1
    replayed = type(ledger.state)(ledger.state.store, ledger.state.clock)
    with replayed.reading() as fresh:  # as another process has it
        assert fresh.state.tracker(shares[0].scope).remaining == shares[0].remaining
    ledger.set_budget(limit, dataset="d", analyst="ana")
    ledger.reserve(event, dataset="d", analyst="ana", question="?")
    assert not [line for line in ledger.statement("d") if line.scope.analyst == "bea"]


def test_the_share_follows_the_limit() -> None:
    ledger = open_with(rules(cl.PureDP(epsilon=4), analyst_share="0.25"))
    reserve(ledger, 1)
    with pytest.raises(BudgetExceededError):
        reserve(ledger, "0.5")
    ledger.set_budget(rules(cl.PureDP(epsilon=8), analyst_share="0.25"), dataset="d")
    reserve(ledger, "0.5")
    assert ledger.account("d", "ana").remaining == cl.PureDP(epsilon="0.5")
    ledger.set_budget(cl.PureDP(epsilon=8), dataset="d")
    assert ledger.account("d", "ana").remaining == cl.PureDP(epsilon="6.5")


RULES = st.one_of(st.none(), st.fractions("1/1000", 1))


@given(st.sampled_from(LIMITS[:4]), RULES, RULES, RULES)
def test_rules_round_trip(limit: Any, least: Fraction | None, share: Fraction | None, above: Fraction | None) -> None:
    policy = rules(limit, least_cost=least, analyst_share=share, approval_above=above)
    written = policy_to_json(policy)
    assert policy_from_json(written) == policy
    assert (least is None) == ("least_cost" not in written)  # policies without rules are written as before


def test_bad_input() -> None:
    ledger, limit = cl.open_ledger("memory://"), cl.PureDP(epsilon=1)
    wrongs: list[dict[str, Any]] = [
        {name: value}
        for name in ("least_cost", "analyst_share", "approval_above")
        for value in (0, -1, "x", float("nan"))
    ]
    for wrong in [*wrongs, {"analyst_share": "1.1"}]:
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            rules(limit, **wrong)
    with pytest.raises(ParameterError, match="Rényi"):
        rules(LIMITS[4], least_cost=1)
    with pytest.raises(ParameterError, match="rules of a data set"):
        ledger.set_budget(rules(limit, least_cost="0.1"), analyst="ana")
    assert not ledger.budgets
    for wrong_json in ({"least_cost": 1}, {"least": "1"}, {"least_cost": None}):
        with pytest.raises((FormatError, ParameterError)):
            policy_from_json({**policy_to_json(Policy(limit=limit)), **wrong_json})
