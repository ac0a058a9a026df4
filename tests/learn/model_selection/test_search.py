"""Private search: what it finds, what it pays, what it never shows."""

import warnings
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import celosia as cl
from celosia.accounting import basic, simplify
from celosia.core import (
    BudgetExceededError,
    CelosiaError,
    InputError,
    ParameterError,
    PrivateSelectionEvent,
    ReplaceOne,
)
from celosia.experiments.baselines import PublishedGaussianNB
from celosia.learn.linear_model.linear import LinearRegression
from celosia.learn.linear_model.logistic import LogisticRegression
from celosia.learn.model_selection.search import PrivateSearchCV
from celosia.learn.naive_bayes.gaussian import GaussianNB
from celosia.learn.preprocessing.standard_scaler import StandardScaler
from celosia.ledger import InMemoryBudget
from celosia.mechanisms.repetition import Repetitions
from celosia.noise import Seeded

_RANDOM = np.random.default_rng(5)
_Y = _RANDOM.integers(0, 2, 2000)
_X = np.clip(_RANDOM.normal(0.4 + 0.25 * _Y[:, None], 0.15, (2000, 2)), 0, 1)
_GRID = {"priors": [[0.5, 0.5], [0.6, 0.4], [1.0, 0.0]]}  # the last one always says the same
_MODEL = GaussianNB(bounds=(0, 1), classes=[0, 1])


def _search(**changes: Any) -> PrivateSearchCV:
    plain: dict[str, Any] = {"epsilon": 2, "source": Seeded(1)}
    return PrivateSearchCV(**({"estimator": _MODEL, "param_grid": _GRID} | plain | changes))


@pytest.mark.parametrize("adjacency", [None, ReplaceOne])
@pytest.mark.parametrize("spent", [{"epsilon": 2}, {"epsilon": 2, "delta": 1e-5}, {"epsilon": None, "rho": "0.5"}])
def test_a_search_finds_a_good_model_within_its_promise(
    spent: dict[str, Any], adjacency: Any, *, thorough: bool
) -> None:
    found = [
        _search(**spent, adjacency=adjacency, repetitions=Repetitions(mean=12, eta=3), source=Seeded(seed)).fit(_X, _Y)
        for seed in range(3 if thorough else 1)
    ]
    for search in found:
        assert search.best_params_["priors"][0] < 1
        assert search.score(_X, _Y) > 0.8
        assert search.best_score_ == pytest.approx(search.score(_X, _Y), abs=0.1)
        guarantee = search.guarantee_
        assert guarantee is not None
        assert guarantee.adjacency is (adjacency or cl.AddRemove)
        # The model that was chosen carries the promise of the search that chose it.
        assert (search.best_estimator_.event_, search.best_estimator_.guarantee_) == (search.event_, guarantee)
        assert search.seeded_


def test_the_event_is_one_selection_whatever_the_grid() -> None:
    event = _search(epsilon=1).fit(_X, _Y).event_
    assert isinstance(event, PrivateSelectionEvent)
    assert basic(simplify(event))[0] <= 1


def test_nothing_tells_of_the_other_runs() -> None:
    search = _search(source=None).fit(_X, _Y)
    public = {name for name in vars(search) if not name.startswith("_")} - set(search.get_params(deep=False))
    assert public == {
        "best_estimator_", "best_params_", "best_score_", "classes_", "event_", "guarantee_", "n_features_in_",
        "noise_scale_", "seeded_",
    }  # fmt: skip
    assert search.best_estimator_.source is None
    assert search.best_estimator_.budget is None


def test_the_same_stream_finds_the_same_model() -> None:
    one, other = (_search(source=Seeded(9)).fit(_X, _Y) for _ in range(2))
    assert one.best_score_ == other.best_score_
    assert np.array_equal(one.best_estimator_.theta_, other.best_estimator_.theta_)


def test_the_budget_is_charged_once() -> None:
    account = InMemoryBudget(cl.PureDP(epsilon=3))
    _search(budget=account, source=None).fit(_X, _Y)
    assert 1 <= account.remaining.epsilon <= 1.02  # type: ignore[attr-defined]
    assert [one.state for one in account.history] == ["committed"]
    approximate = InMemoryBudget(cl.ApproxDP(epsilon=3, delta="1e-5"))
    _search(budget=approximate, delta="1e-6", source=None).fit(_X, _Y)
    assert approximate.remaining == cl.ApproxDP(epsilon=1, delta="1e-6")
    with pytest.raises(BudgetExceededError):
        _search(budget=approximate, delta="1e-6", source=None).fit(_X, _Y)


def test_nothing_is_spent_on_what_makes_no_sense() -> None:
    cases: list[tuple[dict[str, Any], Any, Any]] = [
        ({}, _X[:, 0], _Y),
        ({}, np.full((10, 2), np.nan), _Y[:10]),
        ({}, _X, _Y[:-1]),
        ({}, _X, np.where(_Y == 1, 7, 0)),
        ({}, _X, None),
        ({"param_grid": {"var_smoothing": [1.0, -1.0]}}, _X, _Y),
        ({"param_grid": {"method": ["auto", "wrong"]}}, _X, _Y),
        ({"param_grid": {"epsilon": [1, 2]}}, _X, _Y),
        ({"estimator": GaussianNB(classes=[0, 1])}, _X, _Y),
        ({"estimator": GaussianNB(bounds=(0, 1))}, _X, _Y),
        ({"estimator": StandardScaler(bounds=(0, 1))}, _X, _Y),
        ({"estimator": make_pipeline(_MODEL)}, _X, _Y),
        ({"epsilon": -1}, _X, _Y),
        ({"rho": 1}, _X, _Y),
        ({"holdout": 1}, _X, _Y),
        ({"scoring": "r2"}, _X, _Y),
        ({"repetitions": 1}, _X, _Y),
    ]
    for changes, x, y in cases:
        account = InMemoryBudget(cl.PureDP(epsilon=3))
        search = _search(budget=account, source=None).set_params(**changes)
        with pytest.raises(CelosiaError):
            search.fit(x, y)
        assert account.remaining == cl.PureDP(epsilon=3)
        assert not account.history
        assert not hasattr(search, "best_estimator_")


def test_a_search_without_any_run_stays_paid_for() -> None:
    account = InMemoryBudget(cl.PureDP(epsilon=3))
    law = Repetitions(mean="0.001", distribution="poisson")
    with pytest.raises(InputError, match="no run at all"):
        _search(budget=account, repetitions=law).fit(_X, _Y)
    assert [one.state for one in account.history] == ["failed"]


def test_coins_that_leave_nobody_to_fit_are_no_error_where_the_number_of_records_is_private() -> None:
    models = (
        LogisticRegression(bounds=(0, 1), classes=[0, 1]),
        LinearRegression(bounds=(0, 1), bounds_y=(0, 1)),
    )
    for seed in range(6):  # one record, held out with probability 9/10
        for model in models:
            search = PrivateSearchCV(model, {"fit_intercept": [True, False]}, holdout="0.9", source=Seeded(seed))
            assert search.fit(_X[:1], _Y[:1]).predict(_X).shape == (2000,)


def test_noise_in_real_numbers_is_said_beforehand() -> None:
    model = LogisticRegression(bounds=(0, 1), classes=[0, 1])
    event = PrivateSearchCV(model, {"method": ["objective", "functional"]}, source=Seeded(1)).fit(_X, _Y).event_
    assert event is not None
    assert event.arithmetic == "real"


class _Loud(GaussianNB):
    """A model that says something at every fit."""

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803 - scikit-learn's names
        warnings.warn("Fitted.", UserWarning, stacklevel=2)
        return super().fit(X, y)


def test_no_warning_tells_how_many_runs_there_were() -> None:
    counts = []
    for mean in (2, 30):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = _Loud(bounds=(0, 1), classes=[0, 1])
            PrivateSearchCV(model, _GRID, repetitions=Repetitions(mean=mean, eta=5), source=Seeded(1)).fit(_X, _Y)
        counts.append(len(caught))
    assert counts == [3, 3]  # of the three candidates, rehearsed on made-up records


@pytest.mark.filterwarnings("ignore::celosia.core.errors.NotPrivateWarning")
def test_settings_that_are_not_private_are_refused() -> None:
    account = InMemoryBudget(cl.PureDP(epsilon=3, adjacency=ReplaceOne))
    with pytest.raises(ParameterError, match="less private than a run must be"):
        _search(estimator=PublishedGaussianNB(bounds=(0, 1), classes=[0, 1]), budget=account, source=None).fit(_X, _Y)
    assert not account.history


def test_without_privacy_every_candidate_is_tried() -> None:
    search = _search(epsilon=float("inf")).fit(_X, _Y)
    assert search.event_ is None
    assert search.guarantee_ is None
    assert search.best_params_["priors"][0] < 1


def test_regressors_are_searched_too() -> None:
    x = np.random.default_rng(2).uniform(0, 1, (2000, 2))
    y = np.clip(x @ [1.0, -1.0] + 1, 0, 2)
    model = LinearRegression(bounds=(0, 1), bounds_y=(0, 2))
    search = PrivateSearchCV(model, {"fit_intercept": [True, False]}, epsilon=5, source=Seeded(4)).fit(x, y)
    assert search.best_score_ > 0.95
    assert search.predict(x).shape == (2000,)
    assert not hasattr(search, "predict_proba")


def test_it_is_an_estimator_like_any_other() -> None:
    search = _search(source=None)
    with pytest.raises(NotFittedError):
        search.predict(_X)
    twin = clone(search)
    assert twin.get_params()["estimator__bounds"] == (0, 1)
    assert "PrivateSearchCV" in search._repr_html_()
    frame = pd.DataFrame(_X, columns=["a", "b"])
    pipe = make_pipeline(search)
    pipe.fit(frame, _Y)
    assert pipe[-1].feature_names_in_.tolist() == ["a", "b"]
    assert pipe.predict_proba(frame).shape == (2000, 2)
    assert search.decision_function is not None if hasattr(_MODEL, "decision_function") else True


def test_a_search_is_no_tuning_that_must_be_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _search(repetitions=20).fit(_X, _Y)


def test_a_forecast_is_that_of_one_run() -> None:
    whole, alone = _search().preview(4000, n_features=2), _MODEL.preview(4000, 2, n_features=2)
    assert whole.rows == 3000
    assert whole.error > alone.error


def test_settings_are_refused_by_name() -> None:
    with pytest.raises(ParameterError, match="var_smoothing"):
        _search().set_params(param_grid={"var_smoothing": ["much"]}).fit(_X, _Y)
