"""What all estimators have: the promise, who pays, clones that know each other, and nothing half done."""

import copy
import pickle
import warnings
from typing import Any, Self

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import celosia as cl
from celosia.core import CelosiaError, EngineError, ParameterError, TuningWarning
from celosia.learn.base.estimator import PrivateEstimator, check_method
from celosia.learn.base.lineage import Lineage
from celosia.ledger import InMemoryBudget
from celosia.mechanisms import Laplace
from celosia.noise import Seeded


class Count(PrivateEstimator):
    """Releases how many rows there are: the smallest estimator."""

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: Any = None,
        rho: Any = None,
        bounds: Any = None,
        adjacency: Any = None,
        budget: Any = None,
        source: Any = None,
        fails: Exception | None = None,
    ) -> None:
        self.epsilon, self.delta, self.rho, self.bounds = epsilon, delta, rho, bounds
        self.adjacency, self.budget, self.source, self.fails = adjacency, budget, source, fails

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803, ARG002 - scikit-learn's names
        """Release the number of rows."""
        with self._rollback_on_error():
            target = self.find_privacy_target()
            self.begun_ = True
            laplace = Laplace(epsilon=target.epsilon or 1, sensitivity=1, adjacency=target.adjacency, unit=target.unit)
            with self._spend(target, target.event(laplace.event), features=1) as payment:
                if self.fails is not None:
                    raise self.fails
                self.rows_ = laplace.release(len(X), source=payment.source).value
                payment.deliver(self.rows_)
        return self


def test_after_a_fit_it_is_known_what_was_promised() -> None:
    account = InMemoryBudget(cl.PureDP(epsilon=1))
    model = Count(epsilon="0.25", budget=account, source=Seeded(7)).fit([1, 2, 3])
    assert model.guarantee_ == cl.PureDP(epsilon="0.25")
    assert model.event_ == Laplace(epsilon="0.25", sensitivity=1).event
    assert model.seeded_
    assert account.history[0].question == "Fit Count on 1 features"
    assert account.history[0].kind == "model"


def test_what_fails_leaves_the_estimator_as_it_was() -> None:
    account = InMemoryBudget(cl.PureDP(epsilon=3))
    model = Count(budget=account).fit([1])
    before = dict(vars(model))
    model.fails = ValueError("Ana is 34")
    with pytest.raises(EngineError) as caught:
        model.fit([1, 2])
    assert caught.value.__context__ is None
    model.fails = None
    assert vars(model) == before
    fresh = Count(epsilon=-1)
    with pytest.raises(ParameterError):
        fresh.fit([1])
    assert "begun_" not in vars(fresh)


def test_a_clone_shares_the_budget_and_the_source() -> None:
    account, source = InMemoryBudget(cl.PureDP(epsilon=3)), Seeded(1)
    model = Count(budget=account, source=source, bounds=[0, 1])
    twin = clone(model)
    assert twin.budget is account
    assert twin.source is source
    assert twin.bounds == [0, 1]
    assert twin.bounds is not model.bounds
    assert not hasattr(twin, "event_")


def test_fitting_several_clones_is_tuning_and_said_once() -> None:
    model = Count()
    first, second = clone(model), clone(model)
    first.fit([1])
    with pytest.warns(TuningWarning, match="PrivateSearchCV") as caught:
        second.fit([1])
    assert len(caught) == 1
    clone(model).fit([1])  # an error if it warned again
    model.fit([1])
    model.fit([1])
    lineage = Lineage(quiet=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lineage.count_fit()
        lineage.count_fit()
    assert lineage.fits == 2


def test_many_clones_are_said_here_for_they_may_be_fitted_elsewhere() -> None:
    model, plain = Count(), Count(epsilon=float("inf"))
    with pytest.warns(TuningWarning, match="PrivateSearchCV") as caught:
        twins = [clone(model) for _ in range(5)]
    assert len(caught) == 1
    sent = pickle.loads(pickle.dumps(twins[0]))
    sent.fit([1])
    clone(sent).fit([1])  # an error if it warned again
    for _ in range(5):
        clone(plain)


def test_without_privacy_there_is_nothing_to_pay_for() -> None:
    with pytest.raises(ParameterError):
        Count(epsilon=float("inf")).fit([1])


def test_a_budget_that_rows_in_memory_would_not_keep_is_refused() -> None:
    cases: list[tuple[dict[str, Any], cl.Guarantee, str]] = [
        ({"epsilon": float("inf")}, cl.PureDP(epsilon=1), "nothing to pay for"),
        ({}, cl.PureDP(epsilon=1, unit="person"), "does not tell whose a row is"),
        ({"adjacency": cl.AddRemove}, cl.PureDP(epsilon=1, adjacency=cl.ReplaceOne), "adjacency"),
    ]
    for given, budget, said in cases:
        account = InMemoryBudget(budget)
        with pytest.raises(CelosiaError, match=said):
            Count(budget=account, **given).fit([1])
        assert account.history == ()


def test_it_is_fitted_when_something_was_learned() -> None:
    model = Count()
    model.n_features_in_ = 3
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    check_is_fitted(model.fit([1]))


def test_how_many_features_a_forecast_is_for() -> None:
    assert Count()._feature_count(3) == 3
    assert Count(bounds=(0, [1, 2]))._feature_count(None) == 2
    for wrong in (None, 0, "many"):
        with pytest.raises(CelosiaError):
            Count()._feature_count(wrong)  # type: ignore[arg-type]


def test_an_estimator_without_an_expected_error_makes_no_forecasts() -> None:
    with pytest.raises(ParameterError, match="Count makes no forecasts"):
        Count().preview(100)


def test_methods() -> None:
    assert check_method("auto", ("auto",)) == "auto"
    for wrong in ("best", None, 3):
        with pytest.raises(ParameterError, match="method must be one of 'auto'"):
            check_method(wrong, ("auto",))


def test_a_copy_of_a_fitted_model_is_the_model() -> None:
    model = Count(source=Seeded(7)).fit(np.zeros(5))
    assert copy.deepcopy(model).rows_ == model.rows_
