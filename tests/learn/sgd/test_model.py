"""What both estimators share: who is protected, what is paid, what is seen, and what a forecast says."""

import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import celosia as cl
from celosia.core import (
    ZCDP,
    AddRemove,
    ApproxDP,
    BudgetExceededError,
    InputError,
    ParameterError,
    RenyiDP,
    ReplaceOne,
    UnboundedDataError,
)
from celosia.core.iterations import PNSGDEvent
from celosia.learn.optimize.descent import descend
from celosia.learn.optimize.projections import Ball
from celosia.learn.sgd import noisy_descent
from celosia.learn.sgd.noisy_descent import PNSGD
from celosia.learn.sgd.pnsgd import PNSGDClassifier, PNSGDRegressor
from celosia.learn.sgd.unit_rows import shorten_rows
from celosia.ledger import InMemoryBudget, Policy
from celosia.noise import Seeded

RNG = np.random.default_rng(1)
X = RNG.uniform(0, 10, (60, 2))
Y = X @ [1.0, -0.5] + 5
LABELS = np.where(Y > 7.5, "high", "low")
KNOWN: dict[str, Any] = {"rho": "0.5", "bounds": (0, 10), "epochs": 2}


def regressor(**given: Any) -> PNSGDRegressor:
    return PNSGDRegressor(**{"bounds_y": (0, 15), **KNOWN, **given})


def classifier(**given: Any) -> PNSGDClassifier:
    return PNSGDClassifier(**{"classes": ["high", "low"], **KNOWN, **given})


MODELS: list[tuple[Callable[..., Any], Any]] = [(regressor, Y), (classifier, LABELS)]
both = pytest.mark.parametrize(("make", "target"), MODELS, ids=["regressor", "classifier"])


# ------------------------------------------------------------------------------------------------------ what is seen


def values_in(thing: Any, seen: set[int]) -> list[Any]:
    """Every value that can be reached from an object's attributes."""
    if id(thing) in seen or isinstance(thing, type) or callable(thing):
        return []
    seen.add(id(thing))
    inner: list[Any] = []
    if isinstance(thing, dict):
        inner = list(thing.values())
    elif isinstance(thing, list | tuple | set):
        inner = list(thing)
    elif hasattr(thing, "__dict__"):
        inner = list(vars(thing).values())
    elif hasattr(thing, "__slots__"):
        inner = [getattr(thing, name) for name in thing.__slots__ if hasattr(thing, name)]
    return [thing, *(value for part in inner for value in values_in(part, seen))]


@both
@pytest.mark.parametrize("kind", [{}, {"stop": "secret uniform", "epochs": 1}, {"amplification": "none"}])
def test_nothing_but_the_last_weights_can_be_reached(
    make: Any,
    target: Any,
    kind: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Weights after every chunk are noted by a spy: none of them, nor order nor stop, is found on the model."""
    passed: list[Any] = []

    def spy(rows: Any, targets: Any, order: Any, noise: Any, weights: Any, run: Any, **own: Any) -> None:
        descend(rows, targets, order, noise, weights, run, **own)
        passed.extend([weights.copy(), order])

    monkeypatch.setattr(noisy_descent, "descend", spy)
    monkeypatch.setattr(noisy_descent, "_DRAWN", 30)
    model = make(source=Seeded(5), **kind).fit(X, target)
    assert len(passed) > 4
    sizes = {np.shape(weights) for weights in passed[::2]}
    arrays = [value for value in values_in(vars(model), set()) if isinstance(value, np.ndarray)]
    assert not [array for array in arrays if array.shape in sizes]  # coefficients have one entry less
    assert not [array for array in arrays if array.dtype.kind == "i" or len(array) >= 30]
    numbers = {value for value in values_in(vars(model), set()) if isinstance(value, float)}
    assert not numbers & {float(entry) for weights in passed[:-4:2] for entry in weights}


@both
def test_a_fit_that_fails_keeps_nothing(make: Any, target: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ValueError(float(Y[0]))

    monkeypatch.setattr(noisy_descent, "descend", broken)
    model = make(source=Seeded(5))
    before = set(vars(model))
    with pytest.raises(cl.CelosiaError) as caught:
        model.fit(X, target)
    assert str(float(Y[0])) not in str(caught.value)
    assert caught.value.__context__ is None
    assert set(vars(model)) == before


def test_a_fit_that_is_refused_leaves_the_model_as_it_was() -> None:
    for make, target in MODELS:
        model = make(budget=InMemoryBudget(ZCDP(rho="0.5", adjacency=ReplaceOne)), source=Seeded(5)).fit(X, target)
        before = model.predict(X)
        with pytest.raises(BudgetExceededError):
            model.fit(X[:, :1], target)
        assert np.array_equal(model.predict(X), before)


def test_a_fitted_model_can_be_copied() -> None:
    for make, target in MODELS:
        model = make().fit(X, target)
        twin = pickle.loads(pickle.dumps(model))
        assert np.array_equal(twin.predict(X), model.predict(X))


# ------------------------------------------------------------------------------------------------------- neighbours


@settings(max_examples=40)
@given(
    rows=st.lists(st.tuples(st.floats(-50, 50), st.floats(-50, 50), st.floats(-50, 50)), min_size=1, max_size=6),
    weights=st.tuples(*[st.floats(-5, 5)] * 3),
    norm=st.sampled_from([None, "0.5", 3]),
    lipschitz=st.sampled_from([None, "0.3", 100]),
)
def test_no_gradient_is_longer_than_the_bound(
    rows: list[tuple[float, ...]],
    weights: tuple[float, ...],
    norm: Any,
    lipschitz: Any,
) -> None:
    """One step from anywhere in the set, without noise, is never longer than step times bound."""
    table = np.array(rows)
    for model, target in (
        (regressor(data_norm=norm, lipschitz=lipschitz), table[:, 2]),
        (classifier(data_norm=norm, lipschitz=lipschitz), np.where(table[:, 2] > 0, "high", "low")),
    ):
        scaling = model._scaling(2)
        run, _ = model._run(model.find_privacy_target(), len(table), scaling)
        scaled = shorten_rows(scaling.rows(table[:, :2]))
        goals = np.clip(model._targets(target, len(table)), -1, 1)
        for row, goal in zip(scaled, goals, strict=True):
            start = run.projection.project(np.array(weights))
            slope = run.loss.slope(float(row @ start), float(goal))
            cut = min(max(slope, -float(run.bound)), float(run.bound))
            assert math.hypot(*(cut * row)) <= float(run.bound)
            if lipschitz == 100:  # then it is the constant of the loss itself that holds
                assert abs(slope) <= float(run.bound) * (1 + 1e-12)


# -------------------------------------------------------------------------------------------------------- what is paid


def test_what_was_run_is_told() -> None:
    for make, target in MODELS:
        model = make(order="fixed", epochs=1, source=Seeded(3)).fit(X, target)
        assert model.guarantee_ == ZCDP(rho="0.5", adjacency=ReplaceOne)
        assert isinstance(model.event_, PNSGDEvent)
        assert model.event_.arithmetic == "real"
        assert model.lipschitz_ == 1
        assert model.noise_scale_ == model.sigma_ == pytest.approx(2.0, rel=1e-5)
        assert model.n_epochs_ == 1
        for place in (1, 30, 60):
            stated = 2 * model.lipschitz_**2 / (model.sigma_**2 * (60 + 1 - place))
            assert float(model.record_guarantee(place).rho) == pytest.approx(stated)
        plain = make(amplification="none").fit(X, target)
        assert plain.event_.arithmetic == "integer"
        assert plain.sigma_ == pytest.approx(2 * math.sqrt(2), rel=1e-5)


def test_a_budget_pays_once() -> None:
    for make, target in MODELS:
        account = InMemoryBudget(ZCDP(rho=1, adjacency=ReplaceOne))
        make(budget=account, source=Seeded(1)).fit(X, target)
        assert float(account.spent.rho) == pytest.approx(0.5, rel=1e-3)  # type: ignore[attr-defined] # of its kind
        make(budget=account, source=Seeded(1)).fit(X, target)
        with pytest.raises(BudgetExceededError):
            make(budget=account, source=Seeded(1)).fit(X, target)


def test_a_ledger_refuses_real_arithmetic_unless_it_is_allowed() -> None:
    ledger = cl.open_ledger("memory://")
    ledger.set_budget(ZCDP(rho=1, adjacency=ReplaceOne), dataset="heights")
    account = ledger.account("heights")
    with pytest.raises(cl.CelosiaError, match="real"):
        regressor(budget=account).fit(X, Y)
    regressor(budget=account, amplification="none").fit(X, Y)
    assert float(account.spent.rho) == pytest.approx(0.5, rel=1e-3)  # type: ignore[attr-defined] # of its kind


@both
@pytest.mark.parametrize(
    "kind", [{}, {"stop": "secret uniform", "epochs": 1}, {"order": "fixed"}, {"amplification": "none"}]
)
def test_an_epsilon_budget_takes_the_pair_that_was_meant(make: Any, target: Any, kind: dict[str, Any]) -> None:
    account = InMemoryBudget(ApproxDP(epsilon=2, delta="1e-5", adjacency=ReplaceOne))
    given = {"rho": None, "epsilon": 1, "delta": "1e-6", "budget": account, "source": Seeded(1), **kind}
    make(**given).fit(X, target)
    make(**given).fit(X, target)
    assert [account.cost(one.event) for one in account.history] == [
        ApproxDP(epsilon=1, delta="1e-6", adjacency=ReplaceOne) for _ in range(2)
    ]
    assert account.spent <= ApproxDP(epsilon=2, delta="2e-6", adjacency=ReplaceOne)  # divergences may leave more
    with pytest.raises(BudgetExceededError):
        make(**given | {"epsilon": 3}).fit(X, target)
    assert len(account.history) == 2


def test_a_ledger_that_allows_real_arithmetic_takes_the_default() -> None:
    ledger = cl.open_ledger("memory://")
    limit = ApproxDP(epsilon=2, delta="1e-5", adjacency=ReplaceOne)
    ledger.set_budget(Policy(limit=limit, allow_real=True), dataset="heights")
    account = ledger.account("heights")
    given = {"rho": None, "epsilon": None, "delta": "1e-6", "sigma": 8, "budget": account}
    model = regressor(**given).fit(X, Y)
    assert account.spent == model.guarantee_
    assert getattr(model.event_, "arithmetic", None) == "real"


@both
def test_noise_may_be_given_instead(make: Any, target: Any) -> None:
    alone = make(rho=None, epsilon=None, sigma=4, order="fixed", epochs=1).fit(X, target)
    assert alone.guarantee_.rho == pytest.approx(Fraction(1, 8))
    for order in ("fixed", "secret permutation"):
        paired = make(rho=None, sigma=4, delta="1e-6", order=order).fit(X, target)
        assert isinstance(paired.guarantee_, ApproxDP)
        assert paired.guarantee_.delta == Fraction(1, 10**6)
        again = make(rho=None, epsilon=paired.guarantee_.epsilon, delta="1e-6", order=order).fit(X, target)
        assert again.sigma_ == pytest.approx(4, rel=2e-3)
    for more in ({}, {"rho": None, "epsilon": math.inf}, {"rho": None, "epsilon": 2, "delta": "1e-6"}):
        with pytest.raises(ParameterError, match="sigma stands alone"):
            make(sigma=4, **more).fit(X, target)


def test_a_curve_may_be_given_instead() -> None:
    curve = RenyiDP(orders=[2, 16], epsilons=["0.5", 4], adjacency=ReplaceOne)
    model = regressor(rho=None, renyi=curve, order="fixed", epochs=1).fit(X, Y)
    assert model.guarantee_ == curve
    assert model.sigma_ == pytest.approx(math.sqrt(2 * 16 / 4), rel=1e-3)
    for wrong in (3, RenyiDP(orders=[2], epsilons=[1])):
        with pytest.raises(ParameterError, match="renyi"):
            regressor(rho=None, renyi=wrong).fit(X, Y)
    with pytest.raises(ParameterError, match="alone"):
        regressor(renyi=curve).fit(X, Y)


@both
def test_a_forecast_spends_nothing_and_is_about_right(make: Any, target: Any) -> None:
    assert make().preview(10**4, n_features=2).error < make().preview(10**2, n_features=2).error
    assert make().preview(100, n_features=2).guarantee == ZCDP(rho="0.5", adjacency=ReplaceOne)
    assert make().preview(100, 2, delta="1e-6", n_features=2).guarantee == ApproxDP(
        epsilon=2, delta="1e-6", adjacency=ReplaceOne
    )
    assert make(rho=None, epsilon=math.inf).preview(100, n_features=2).error == 0
    other = ApproxDP(epsilon=2, delta="1e-6", adjacency=ReplaceOne)
    noise = make(rho=None, epsilon=None, sigma=4)
    assert noise.preview(100, 2, delta="1e-6", n_features=2).guarantee == other
    assert noise.preview(100, n_features=2).noise_scale == 4
    curve = make(rho=None, renyi=RenyiDP(orders=[2], epsilons=["0.5"], adjacency=ReplaceOne))
    assert curve.preview(100, 2, delta="1e-6", n_features=2).guarantee == other
    assert curve.preview(100, n_features=2).guarantee == curve.renyi
    with pytest.raises(ParameterError, match="n_features"):
        make().preview(100)
    del target


def test_a_forecast_is_what_happens() -> None:
    rng = np.random.default_rng(5)
    table = rng.uniform(-1, 1, (1000, 2))
    y = table @ [1 / 3, -1 / 3] + 1 / 3
    given: dict[str, Any] = {"rho": "0.1", "bounds": (-1, 1), "bounds_y": (-1, 1), "epochs": 40}
    errors = [PNSGDRegressor(source=Seeded(seed), **given).fit(table, y).coef_ - [1 / 3, -1 / 3] for seed in range(20)]
    found = np.sqrt(np.mean(np.square(errors)))
    assert PNSGDRegressor(**given).preview(1000, n_features=2).error == pytest.approx(found, rel=0.35)


# ----------------------------------------------------------------------------------------------------------- refusals


def test_parameters_that_make_no_sense_cost_nothing() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"adjacency": AddRemove}, "ReplaceOne"),
        ({"rho": None}, "delta"),
        ({"rho": -1}, "rho"),
        ({"bounds": (1, 0)}, "bounds|low"),
        ({"projection": 3}, "projection"),
        ({"fit_intercept": "yes"}, "fit_intercept"),
        ({"data_norm": 0}, "data_norm"),
        ({"lipschitz": -1}, "lipschitz"),
        ({"step_size": 100}, "step_size"),
        ({"epochs": 0}, "epochs"),
        ({"order": "random"}, "order"),
        ({"stop": "secret uniform", "epochs": 3}, "epochs"),
        ({"amplification": "all"}, "amplification"),
    ]
    for (make, target), (changes, match) in product(MODELS, cases):
        account = InMemoryBudget(ZCDP(rho=1, adjacency=ReplaceOne))
        with pytest.raises(cl.CelosiaError, match=match):
            make(budget=account, **changes).fit(X, target)
        assert not account.history


def test_data_that_cannot_be_read_cost_nothing() -> None:
    for make, target in MODELS:
        account = InMemoryBudget(ZCDP(rho=1, adjacency=ReplaceOne))
        model = make(budget=account)
        for rows, goals in [(X[:5], target), (X * math.nan, target), (X[:0], target[:0]), (X, None), (X[:, 0], target)]:
            with pytest.raises(InputError):
                model.fit(rows, goals)
        with pytest.raises(UnboundedDataError, match="bounds"):
            make(budget=account, bounds=None).fit(X, target)
        assert not account.history


def test_a_budget_for_added_records_is_refused() -> None:
    with pytest.raises(ParameterError, match="ReplaceOne"):
        regressor(budget=InMemoryBudget(ZCDP(rho=1))).fit(X, Y)


def test_without_privacy_no_record_is_promised_anything() -> None:
    model = PNSGDRegressor(epsilon=math.inf).fit(X, Y)
    with pytest.raises(ParameterError, match="Without privacy"):
        model.record_guarantee(1)
    assert model.event_ is None


def test_the_default_set_holds_every_line_within_the_bounds() -> None:
    model = regressor()
    run, _ = model._run(model.find_privacy_target(), 60, model._scaling(2))
    assert isinstance(run, PNSGD)
    assert isinstance(run.projection, Ball)
    assert float(run.projection.radius) >= math.sqrt(3)
