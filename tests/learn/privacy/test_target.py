"""What a fit may spend."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import celosia as cl
from celosia.accounting.prices.gaussian import largest_rho
from celosia.core import (
    AddRemove,
    CertifiedEvent,
    GaussianEvent,
    LaplaceEvent,
    NotPricedError,
    ParameterError,
    ReplaceOne,
)
from celosia.learn import PCA
from celosia.learn.io.model_file import MODELS
from celosia.ledger import InMemoryBudget
from celosia.statistics import Sensitivity
from celosia.statistics.base.target import Target


def test_parameters_name_a_promise() -> None:
    cases: list[tuple[dict[str, Any], str, cl.Guarantee | None]] = [
        ({"epsilon": "0.5"}, "pure", cl.PureDP(epsilon="0.5")),
        ({"epsilon": 1, "delta": 0}, "pure", cl.PureDP(epsilon=1)),
        ({"epsilon": 1, "delta": "1e-6"}, "approximate", cl.ApproxDP(epsilon=1, delta="1e-6")),
        ({"rho": "0.1"}, "concentrated", cl.ZCDP(rho="0.1")),
        ({"rho": "0.1", "epsilon": None}, "concentrated", cl.ZCDP(rho="0.1")),
        ({"epsilon": float("inf")}, "none", None),
    ]
    for given, kind, guarantee in cases:
        target = Target.of(**given)
        assert (target.kind, target.guarantee) == (kind, guarantee)
        assert target.private == (guarantee is not None)


def test_nonsense_is_refused() -> None:
    cases: list[dict[str, Any]] = [
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": float("nan")},
        {"epsilon": None},
        {"epsilon": -float("inf")},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": -1},
        {"epsilon": 1, "delta": "1e-300"},
        {"rho": 0},
        {"rho": 1, "epsilon": 2},
        {"rho": 1, "delta": 0.1},
        {"epsilon": 1, "adjacency": "swap"},
        {"rho": 2**17},
    ]
    for given in cases:
        with pytest.raises(ParameterError):
            Target.of(**given)


def test_neighbours_and_unit_are_those_of_the_budget() -> None:
    budget = cl.PureDP(epsilon=1, adjacency=cl.ReplaceOne, unit="person")
    target = Target.of(epsilon=1, budget=budget)
    assert (target.adjacency, target.unit) == (cl.ReplaceOne, "person")
    assert Target.of(epsilon=1, adjacency=cl.AddRemove, budget=budget).adjacency is cl.AddRemove


def test_a_share_is_of_epsilon_or_of_rho() -> None:
    sensitivity = Sensitivity(l1=4, l2_squared=8)
    laplace = Target.of(epsilon=2).noise(sensitivity, 3, Fraction(1, 4)).event
    assert isinstance(laplace, LaplaceEvent)
    assert laplace.scale == 8
    gaussian = Target.of(rho=2).noise(sensitivity, 3, Fraction(1, 4)).event
    assert isinstance(gaussian, GaussianEvent)
    assert gaussian.variance == 8


def test_a_delta_goes_to_the_smaller_noise() -> None:
    target = Target.of(epsilon=1, delta="1e-6")
    narrow, wide = Sensitivity(l1=1, l2_squared=1), Sensitivity(l1=100, l2_squared=100)
    assert isinstance(target.noise(narrow, 1).event, LaplaceEvent)
    assert isinstance(target.noise(wide, 100).event, GaussianEvent)


def test_the_event_keeps_the_promise_whoever_prices_it() -> None:
    target = Target.of(epsilon=1, delta="1e-6")
    parts = [target.noise(Sensitivity(l1=100, l2_squared=100), 100, Fraction(1, 2)).event for _ in range(2)]
    event = target.event(*parts)
    assert isinstance(event, CertifiedEvent)
    account = InMemoryBudget(cl.ApproxDP(epsilon=1, delta="1e-6"))
    assert account.admits(event)


def test_gaussian_noise_is_certified_exactly_whatever_shares_it_is_divided_into() -> None:
    cases: list[tuple[int | str, str, float]] = [(1, "1e-6", 0.94), ("0.1", "1e-6", 0.93), (20, "1e-6", 0.96)]
    for epsilon, delta, less in cases:
        budget = cl.ApproxDP(epsilon=epsilon, delta=delta)
        target, sensitivity = (
            Target.of(epsilon=epsilon, delta=delta, budget=budget),
            Sensitivity(l1=4**10, l2_squared=4**10),
        )
        shares = [Fraction(1, 10), Fraction(9, 1000), *[Fraction(891, 1000) / 6] * 6]
        event = target.event(*(target.noise(sensitivity, 9, share).event for share in shares))
        assert InMemoryBudget(budget).cost(event) == budget
        assert InMemoryBudget(budget).admits(event)
        # One noise more, or noise that is a thousandth smaller, has no certificate.
        more = target.event(event.event, target.noise(sensitivity, 9, Fraction(1, 100)).event)  # type: ignore[attr-defined]
        with pytest.raises(NotPricedError, match="not enough"):
            InMemoryBudget(budget).admits(more)
        variance = target.noise(sensitivity, 9, Fraction(1, 2)).event.variance * Fraction(999, 1000)  # type: ignore[union-attr]
        half = GaussianEvent(variance=variance, sensitivity_squared=4**10, dimension=9)
        with pytest.raises(NotPricedError, match="not enough"):
            InMemoryBudget(budget).admits(target.event(half, half))
        through_rho = replace(target, exact=False).noise(sensitivity, 9, shares[0])
        assert target.noise(sensitivity, 9, shares[0]).variance < less**2 * through_rho.variance


def test_noise_of_one_step_keeps_its_certificate_in_shares() -> None:
    target = Target.of(epsilon=60, delta="1e-6")
    noises = [target.noise(Sensitivity(l1=1, l2_squared=1), 50, Fraction(1, 2)).event for _ in range(2)]
    assert InMemoryBudget(cl.ApproxDP(epsilon=60, delta="1e-6")).admits(target.event(*noises))


def test_a_budget_that_is_a_rho_pays_no_more_than_the_rho_that_implies_the_target() -> None:
    rho = largest_rho(Fraction(1), Fraction(1, 10**6))
    for budget in (cl.ZCDP(rho=rho), cl.ZCDP(rho=2 * rho)):
        target = Target.of(epsilon=1, delta="1e-6", budget=budget)
        event = target.event(target.noise(Sensitivity(l1=4**10, l2_squared=4**10), 9).event)
        assert InMemoryBudget(budget).cost(event).rho <= rho  # type: ignore[attr-defined]
        assert InMemoryBudget(budget).admits(event)
    assert target.total_rho == rho < Target.of(epsilon=1, delta="1e-6").total_rho


def test_a_forecast_changes_the_amount_only() -> None:
    target = Target.of(epsilon=1, adjacency=cl.ReplaceOne)
    assert target.with_amount(2).guarantee == cl.PureDP(epsilon=2, adjacency=cl.ReplaceOne)
    assert target.with_amount(None).guarantee == target.guarantee
    assert target.with_amount(None, "1e-6").kind == "approximate"
    assert target.with_amount(None, rho=1).kind == "concentrated"
    assert not target.with_amount(float("inf")).private


def test_a_pure_target_has_no_rho() -> None:
    with pytest.raises(ParameterError, match="give a delta"):
        _ = Target.of(epsilon=1).total_rho


def test_too_little_or_too_much_is_told_of_what_was_given() -> None:
    name_cases: list[str] = ["epsilon", "rho"]
    amount_cases: list[Any] = [1e-300, "1e-101", 5e-324, "1e-400", 1e300, 10**400, 65537]
    for name in name_cases:
        for amount in amount_cases:
            other: dict[str, Any] = {"epsilon": None} if name == "rho" else {}
            for delta in (None, "1e-6") if name == "epsilon" else (None,):
                with pytest.raises(ParameterError, match=f"^{name} must be "):
                    Target.of(**other, delta=delta, **{name: amount})
            with pytest.raises(ParameterError, match=f"^{name} must be "):
                Target.of(epsilon=1).with_amount(**{"epsilon": None} | {name: amount})


def test_every_estimator_speaks_of_epsilon_and_not_of_a_scale() -> None:
    cases: list[str] = [*MODELS, "PrivateSearchCV"]
    for name in cases:
        rows, target = np.full((4, 1), 0.5), [0, 1, 0, 1]
        for epsilon in (1e-300, "1e-99", 1e300):
            account = InMemoryBudget(
                cl.ApproxDP(epsilon=1, delta="1e-6", adjacency=AddRemove if "PNSGD" not in name else ReplaceOne)
            )
            known = {"bounds": (0, 1), "bounds_y": (0, 1), "classes": [0, 1], "n_clusters": 2, "categories": [2]}
            kind = getattr(cl.learn, name if name in MODELS else "Ridge")
            given = {key: value for key, value in known.items() if key in kind().get_params()}
            if "categories" in given:
                del given["bounds"]
            more = {"delta": "1e-6"} if "PNSGD" in name else {}
            if name in MODELS:
                model = kind(epsilon=epsilon, budget=account, **given | more)
            else:
                model = cl.learn.PrivateSearchCV(kind(**given), {"alpha": [1.0, 2.0]}, epsilon=epsilon, budget=account)
            said = "epsilon"
            try:
                model.fit(np.floor(rows) if name == "CategoricalNB" else rows, target)
            except ParameterError as error:
                said = str(error)
            assert "epsilon" in said
            assert "scale" not in said
            assert not account.history or epsilon == "1e-99"  # noise that can be drawn all the same


def test_a_session_certifies_exactly_where_its_budget_is_an_epsilon() -> None:
    rho, scales = largest_rho(Fraction(1), Fraction(1, 10**6)), []
    names = list("abcdefgh")
    rows = pa.table({name: np.arange(50) / 50 for name in names})
    table = cl.table(rows, schema=cl.Schema(dict.fromkeys(names, cl.Real(0, 1))), name="rows")
    for budget in (cl.ApproxDP(epsilon=1, delta="1e-6"), cl.ZCDP(rho=rho)):
        session = cl.Session(table, budget=budget)
        model = session.fit(PCA(n_components=1, epsilon=1, delta="1e-6"), features=names)
        assert isinstance(model.event_, CertifiedEvent)
        assert isinstance(model.event_.event, GaussianEvent)
        scales.append(model.event_.event.variance)
    assert session.spent.rho <= rho  # type: ignore[attr-defined]
    assert scales[0] < Fraction(88, 100) * scales[1]  # 7 % less noise
