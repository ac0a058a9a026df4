from __future__ import annotations

import pickle
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celosia.core import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from celosia.core.errors import ParameterError
from celosia.query.planning.strategy import read_target
from celosia.statistics.base.target import Target

if TYPE_CHECKING:
    from celosia.core.guarantees import Guarantee

epsilons = st.one_of(
    st.fractions(Fraction(1, 1000), 10), st.floats(1e-6, 10), st.decimals("0.001", 10, places=3), st.integers(1, 10)
)
deltas = st.one_of(st.fractions(0, Fraction(1, 10)), st.floats(1e-300, 0.1), st.just("1e-6"))


# ------------------------------------------------------------------------------------------------------------- epsilon


def test_an_epsilon_is_exact_however_it_is_written() -> None:
    for epsilon in ("0.5", 0.5, Fraction(1, 2), Decimal("0.5"), np.float32(0.5), "1/2"):
        target = read_target(PureDP(epsilon=3), epsilon=epsilon)  # type: ignore[arg-type] # NumPy's too
        assert target == Target(epsilon=Fraction(1, 2))
        assert pickle.loads(pickle.dumps(target)) == target
        assert hash(target) == hash(Target(epsilon=Fraction(1, 2), delta=Fraction(0), rho=None))


def test_one_tenth_is_one_tenth() -> None:
    assert read_target(PureDP(epsilon=3), epsilon="0.1").epsilon == Fraction(1, 10)
    assert read_target(PureDP(epsilon=3), epsilon=0.1).epsilon == Fraction(0.1) != Fraction(1, 10)


def test_an_epsilon_that_promises_nothing_is_refused() -> None:
    epsilon_cases: list[object] = [
        0,
        -1,
        -0.0,
        float("nan"),
        float("inf"),
        float("-inf"),
        5e-324,
        1e308,
        "1e-400",
        "1e-99999",
        True,
        "",
        "x",
        [1],
    ]
    budget_cases: list[Guarantee] = [PureDP(epsilon=1), ApproxDP(epsilon=1, delta="1e-6")]
    for epsilon in epsilon_cases:
        for budget in budget_cases:
            with pytest.raises(ParameterError, match="epsilon"):
                read_target(budget, epsilon=epsilon)  # type: ignore[arg-type] # wrong on purpose


def test_the_smallest_and_the_largest_epsilon_are_exact() -> None:
    for epsilon in ("1e-100", 2**16):
        assert read_target(PureDP(epsilon=1), epsilon=epsilon).epsilon == Fraction(epsilon)


# --------------------------------------------------------------------------------------------------------------- delta


@given(epsilons, deltas, epsilons)
def test_a_delta_not_given_is_in_proportion_and_never_above_the_budget_s(
    total: float | Fraction | Decimal, delta: float | Fraction | str, spent: float | Fraction | Decimal
) -> None:
    budget = ApproxDP(epsilon=total, delta=delta)
    target = read_target(budget, epsilon=spent)
    share = budget.delta * min(Fraction(spent) / budget.epsilon, Fraction(1))
    assert target.delta <= share <= budget.delta
    if share >= Fraction(1, 10**200):
        assert target.delta >= share * (1 - Fraction(1, 2**126))
    else:
        assert target.delta == 0
    if share.denominator.bit_length() <= 1000 and target.delta:
        assert target.delta == share


@given(epsilons, st.lists(st.fractions(Fraction(1, 1000), 1), min_size=1, max_size=8))
def test_queries_that_fit_the_epsilon_fit_the_delta(total: float | Fraction, parts: list[Fraction]) -> None:
    budget = ApproxDP(epsilon=total, delta="1e-6")
    spent = [budget.epsilon * part / sum(parts) for part in parts]
    targets = [read_target(budget, epsilon=epsilon) for epsilon in spent]
    assert sum(target.epsilon for target in targets) == budget.epsilon
    assert sum(target.delta for target in targets) <= budget.delta


def test_a_share_that_is_too_long_to_be_written_down_is_rounded_down() -> None:
    budget = ApproxDP(epsilon=Fraction(3**1000, 3**1000 + 1), delta=Fraction(1, 7**200))
    spent = Fraction(5**400, 5**400 + 2)
    target = read_target(budget, epsilon=spent)
    share = budget.delta * spent / budget.epsilon
    assert share * (1 - Fraction(1, 2**126)) <= target.delta < share
    # It can be divided further and still be written down.
    assert ApproxDP(epsilon=1, delta=target.delta / 30_000).delta == target.delta / 30_000


def test_a_delta_that_is_given_is_taken_as_it_is() -> None:
    cases: list[tuple[float | str, Fraction]] = [
        ("1e-7", Fraction(1, 10**7)),
        (0, Fraction(0)),
        ("1e-200", Fraction(1, 10**200)),
    ]
    for delta, exactly in cases:
        assert read_target(ApproxDP(epsilon=1, delta="1e-6"), epsilon=1, delta=delta).delta == exactly


def test_a_delta_that_makes_no_sense_is_refused() -> None:
    cases: list[object] = [1, 2, -1, "1e-201", float("nan"), float("inf"), 5e-324, True, "x"]
    for delta in cases:
        with pytest.raises(ParameterError, match="delta"):
            read_target(ApproxDP(epsilon=1, delta="1e-6"), epsilon=1, delta=delta)  # type: ignore[arg-type] # wrong on purpose


def test_a_tiny_share_is_no_delta_at_all() -> None:
    assert read_target(ApproxDP(epsilon=1, delta="1e-200"), epsilon="0.5").delta == 0
    assert read_target(ApproxDP(epsilon=1, delta="1e-200"), epsilon=1).delta == Fraction(1, 10**200)
    assert read_target(ApproxDP(epsilon=1, delta="1e-250"), epsilon=2).delta == 0
    assert read_target(ApproxDP(epsilon=0, delta="1e-6"), epsilon=2).delta == Fraction(1, 10**6)


def test_a_budget_of_delta_1_is_refused() -> None:
    with pytest.raises(ParameterError, match="delta of 1 promises nothing"):
        read_target(ApproxDP(epsilon=1, delta=1), epsilon=1)


def test_a_pure_budget_has_no_delta() -> None:
    assert read_target(PureDP(epsilon=1), epsilon=1, delta=0).delta == 0
    with pytest.raises(ParameterError, match="no delta"):
        read_target(PureDP(epsilon=1), epsilon=1, delta="1e-9")
    with pytest.raises(ParameterError, match="delta"):
        read_target(PureDP(epsilon=1), epsilon=1, delta=-1)


# ----------------------------------------------------------------------------------------------------------------- rho


def test_a_rho_is_exact() -> None:
    assert read_target(ZCDP(rho=1), rho="0.01") == Target(rho=Fraction(1, 100))


def test_a_rho_that_promises_nothing_is_refused() -> None:
    cases: list[object] = [0, -1, float("nan"), float("inf"), 5e-324, 1e308, "1e-400", 2**16 + 1, True, "x"]
    for rho in cases:
        with pytest.raises(ParameterError, match="rho"):
            read_target(ZCDP(rho=1), rho=rho)  # type: ignore[arg-type] # wrong on purpose


# -------------------------------------------------------------------------------------------------------------- mixing


def test_a_budget_of_rho_is_spent_by_rho_alone() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "query.query_must_spend_rho"),
        ({"epsilon": 1}, "query.query_must_spend_rho"),
        ({"rho": 1, "epsilon": 1}, "core.rho_stands_alone"),
        ({"rho": 1, "delta": "1e-6"}, "core.rho_stands_alone"),
    ]
    for given_, code in cases:
        with pytest.raises(ParameterError) as caught:
            read_target(ZCDP(rho=1), **given_)
        assert caught.value.code == code


def test_the_same_mistake_has_the_same_code_as_in_an_estimator() -> None:
    cases: list[tuple[Guarantee, dict[str, Any], str]] = [
        (PureDP(epsilon=1), {"epsilon": "1e-101"}, "core.target_too_small"),
        (PureDP(epsilon=1), {"epsilon": 2**17}, "core.privacy_loss_too_large"),
        (ZCDP(rho=1), {"rho": "1e-101"}, "core.target_too_small"),
        (ZCDP(rho=1), {"rho": 1, "epsilon": 2}, "core.rho_stands_alone"),
        (ApproxDP(epsilon=1, delta="1e-6"), {"epsilon": 1, "delta": 1}, "core.delta_out_of_range"),
        (ApproxDP(epsilon=1, delta="1e-6"), {"epsilon": 1, "delta": -1}, "core.negative_number"),
    ]
    for budget, given_, code in cases:
        for read in (read_target, lambda budget, **given_: Target.of(budget=budget, **given_)):
            with pytest.raises(ParameterError) as caught:
                read(budget, **given_)
            assert caught.value.code == code


def test_a_budget_of_epsilon_is_spent_by_epsilon() -> None:
    wrong_targets: list[dict[str, Any]] = [{}, {"rho": 1}, {"rho": 1, "epsilon": 1}, {"delta": "1e-6"}]
    budget_cases: list[Guarantee] = [PureDP(epsilon=1), ApproxDP(epsilon=1, delta="1e-6")]
    for given_ in wrong_targets:
        for budget in budget_cases:
            with pytest.raises(ParameterError, match="give epsilon="):
                read_target(budget, **given_)


def test_other_budgets_are_refused() -> None:
    cases: list[object] = [GaussianDP(mu=1), RenyiDP(orders=(2,), epsilons=(1,)), 3, None, "PureDP(epsilon=1)"]
    for budget in cases:
        with pytest.raises(ParameterError, match="budget must be a PureDP, an ApproxDP or a ZCDP"):
            read_target(budget, epsilon=1)  # type: ignore[arg-type] # wrong on purpose
