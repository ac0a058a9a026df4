"""scikit-learn's own checks: without privacy, and with noise.

Without privacy an estimator must pass all of them; a quick run takes one estimator of each base class. With noise the
same checks run on the code that adds it: every fit draws from the same stream, so that two fits of the same records
are equal, and the noise is small, because the checks have a few dozen records. A quick run leaves out estimators that
share all of their noisy code with another. What differential privacy forbids is listed with its reason.
"""

import warnings
from collections.abc import Iterator, Mapping
from itertools import product
from types import MappingProxyType
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import celosia as cl
from celosia import learn
from celosia.core import CelosiaError, InputError, ParameterError, ReplaceOne, TuningWarning, UnboundedDataError
from celosia.learn.base import estimator as base
from celosia.learn.base.estimator import spend
from celosia.ledger import InMemoryBudget
from celosia.noise import Seeded

_EPSILON = 1000.0  # so little noise that a few dozen records tell the classes apart
_PLAIN = float("inf")


def _private(name: str, **given: Any) -> Any:
    """An estimator whose bounds and classes are those of scikit-learn's checks."""
    kind = getattr(learn, name)
    known = kind().get_params()
    for parameter, value in {"bounds": (-5, 5), "bounds_y": (-5, 5), "classes": "public"}.items():
        if parameter in known and not (parameter == "bounds" and "categories" in known):
            given.setdefault(parameter, value)
    if "categories" in known:
        given.setdefault("categories", 32)
    if "PNSGD" in name:  # normal noise: no pure privacy
        given.setdefault("delta", 1e-5)
    return kind(**given)


NAMES = (
    "CategoricalNB", "FuzzyCMeans", "GaussianNB", "KMeans", "LinearRegression", "LogisticRegression", "PCA",
    "PNSGDClassifier", "PNSGDRegressor", "Ridge", "StandardScaler",
)  # fmt: skip
CHECKED = (*NAMES, "FunctionalMechanism")  # which has coefficients, but predicts nothing by itself
CLUSTERERS = ("FuzzyCMeans", "KMeans")
BASES = ("FunctionalMechanism", "GaussianNB", "KMeans", "LinearRegression", "PNSGDClassifier", "StandardScaler")
"""One estimator of each base class."""
TWINS = ("FuzzyCMeans", "PNSGDRegressor", "Ridge")
"""Estimators whose noisy code is that of another."""


def _thorough(case: Any) -> Any:
    return pytest.param(case, marks=pytest.mark.thorough)


def _without_privacy(name: str) -> Any:
    kind = getattr(learn, name)
    return kind(epsilon=_PLAIN, **({"classes": "public"} if "classes" in kind().get_params() else {}))


def _searches(epsilon: float) -> list[Any]:
    bayes, ridge = _private("GaussianNB"), _private("Ridge")
    return [
        learn.PrivateSearchCV(bayes, {"var_smoothing": [1e-9, 1e-8]}, epsilon=epsilon, repetitions=2),
        learn.PrivateSearchCV(ridge, {"alpha": [0.1, 1.0]}, epsilon=epsilon, repetitions=2),
    ]


_LABELS = "labels_ would be what is known of each record: a private model keeps none; predict tells them"


def _run_checks(estimator: Any, expected: Mapping[str, str] = MappingProxyType({})) -> None:
    """Run all checks on an estimator; those that are expected to fail, and no others, must do so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, expected_failed_checks=dict(expected), on_skip=None, on_fail=None)
    failed = [(one["check_name"], one["exception"]) for one in results if one["status"] == "failed"]
    assert not failed
    assert {one["check_name"] for one in results if one["expected_to_fail"]} == expected.keys()
    assert all(one["status"] == "xfail" for one in results if one["expected_to_fail"])
    assert sum(one["status"] == "passed" for one in results) >= 40


def _not_for_private(name: str) -> dict[str, str]:
    return {"check_clustering": _LABELS} if name in CLUSTERERS else {}


@pytest.mark.parametrize("name", [name if name in BASES else _thorough(name) for name in CHECKED])
def test_without_privacy_estimators_pass_the_checks(name: str) -> None:
    _run_checks(_without_privacy(name))


@pytest.mark.parametrize("place", [0, _thorough(1)])
def test_without_privacy_searches_pass_the_checks(place: int) -> None:
    _run_checks(_searches(_PLAIN)[place])


@pytest.fixture
def the_same_noise() -> Iterator[None]:
    """Every fit draws from the same stream, and nobody says that it does not."""

    def repeated(budget: Any, source: Any, *rest: Any, **named: Any) -> Any:
        return spend(budget, Seeded(1) if source is None else source, *rest, **named)

    plainly = base.PrivateEstimator.__sklearn_tags__

    def repeatable(self: Any) -> Any:
        found = plainly(self)
        found.non_deterministic = False
        return found

    with (
        mock.patch.object(base, "spend", repeated),
        mock.patch.object(base.PrivateEstimator, "__sklearn_tags__", repeatable),
    ):
        yield


@pytest.mark.parametrize("name", [_thorough(name) if name in TWINS else name for name in CHECKED])
@pytest.mark.usefixtures("the_same_noise")
def test_with_noise_estimators_pass_the_checks(name: str) -> None:
    _run_checks(_private(name, epsilon=_EPSILON), _not_for_private(name))


@pytest.mark.parametrize("place", [0, _thorough(1)])
@pytest.mark.usefixtures("the_same_noise")
def test_with_noise_searches_pass_the_checks(place: int) -> None:
    _run_checks(_searches(_EPSILON)[place])


# ---- what the checks do not ask


_RANDOM = np.random.default_rng(11)
_ROWS = _RANDOM.uniform(0, 1, (240, 3))
_LABELS_OF_ROWS = (_ROWS[:, 0] > 0.5).astype(np.int64)


def _fitting(name: str, **given: Any) -> Any:
    narrow: dict[str, Any] = {"bounds": (0, 1), "bounds_y": (0, 1), "classes": [0, 1], "n_clusters": 2}
    known = getattr(learn, name)().get_params()
    if "categories" in known:
        narrow = {"categories": [32, 32, 32], "classes": [0, 1]}
    return _private(name, **{key: value for key, value in narrow.items() if key in known}, **given)


def _rows(name: str) -> NDArray[Any]:
    return np.floor(_ROWS * 32) if name == "CategoricalNB" else _ROWS


def _target(name: str) -> NDArray[Any]:
    return _ROWS[:, 0] if name in ("LinearRegression", "PNSGDRegressor", "Ridge") else _LABELS_OF_ROWS


def test_frames_have_names_and_give_the_same_model() -> None:
    frame_cases: list[Any] = [pd.DataFrame, pl.DataFrame, pa.table]
    for name in NAMES:
        plain = _fitting(name, source=Seeded(3)).fit(_rows(name), _target(name))
        for frame in frame_cases:
            columns = dict(zip(["age", "height", "weight"], _rows(name).T, strict=True))
            named = _fitting(name, source=Seeded(3)).fit(frame(columns), _target(name))
            assert named.feature_names_in_.tolist() == ["age", "height", "weight"]
            assert not hasattr(plain, "feature_names_in_")
            verb = "predict" if hasattr(named, "predict") else "transform"
            told, expected = getattr(named, verb)(frame(columns)), getattr(plain, verb)(_rows(name))
            np.testing.assert_allclose(np.asarray(told), expected, rtol=1e-9)  # columns are summed in another order
            assert named.n_features_in_ == 3
            with pytest.raises(ValueError, match="feature names should match"):
                getattr(named, verb)(frame({key.upper(): value for key, value in columns.items()}))


def test_every_model_tells_what_it_promises() -> None:
    for name, adjacency in product(NAMES, (cl.AddRemove, ReplaceOne)):
        model = _fitting(name, epsilon=2, adjacency=adjacency, source=Seeded(3))
        if "PNSGD" in name:
            model.set_params(adjacency=ReplaceOne)
        model.fit(_rows(name), _target(name))
        assert model.guarantee_.epsilon == 2
        assert model.guarantee_.adjacency is (ReplaceOne if "PNSGD" in name else adjacency)
        assert model.event_.adjacency is model.guarantee_.adjacency
        assert model.seeded_
        assert np.all(np.asarray(model.noise_scale_) > 0)


def test_what_cannot_be_private_is_refused_and_nothing_is_spent() -> None:
    for name in NAMES:
        account = InMemoryBudget(cl.PureDP(epsilon=10))
        wrong: list[tuple[Any, Any]] = [
            (sparse.csr_matrix(_rows(name)), _target(name)),
            (np.where(_ROWS < 0.01, np.nan, _rows(name)), _target(name)),
            (np.where(_ROWS < 0.01, np.inf, _rows(name)), _target(name)),
            (_rows(name)[:, 0], _target(name)),
            (_rows(name)[:, :0], _target(name)),
            (np.full((240, 3), "Ana", dtype=object), _target(name)),
        ]
        if is_classifier(_fitting(name)) or is_regressor(_fitting(name)):
            wrong += [(_rows(name), None), (_rows(name), _target(name)[:-1]), (_rows(name), np.full(240, np.nan))]
        for x, y in wrong:
            with pytest.raises((CelosiaError, ValueError, TypeError)) as caught:
                _fitting(name, budget=account).fit(x, y)
            assert isinstance(caught.value, CelosiaError)
            assert "Ana" not in str(caught.value)
        with pytest.raises(TypeError, match="sample_weight"):
            _fitting(name, budget=account).fit(_rows(name), _target(name), sample_weight=np.ones(240))
        for changes in ({"epsilon": 0}, {"epsilon": -1}, {"epsilon": True}, {"epsilon": None}, {"delta": 2}):
            with pytest.raises(ParameterError):
                _fitting(name, budget=account).set_params(**changes).fit(_rows(name), _target(name))
        assert account.remaining == cl.PureDP(epsilon=10)
        assert not account.history


def test_without_bounds_or_classes_nothing_is_read() -> None:
    for name in NAMES:
        known = _fitting(name).get_params()
        for parameter in ("categories",) if "categories" in known else ("bounds", "bounds_y", "classes"):
            if parameter in known:
                with pytest.raises(UnboundedDataError, match=parameter):
                    _fitting(name).set_params(**{parameter: None}).fit(_rows(name), _target(name))


def test_parameters_go_round() -> None:
    for name in NAMES:
        model = _fitting(name, epsilon=2)
        twin = clone(model)
        assert {key: repr(value) for key, value in twin.get_params().items()} == {
            key: repr(value) for key, value in model.get_params().items()
        }
        assert twin.set_params(epsilon=3).epsilon == 3
        assert name in model._repr_html_()
        assert name in repr(model)
        assert model._repr_html_() != model.fit(_rows(name), _target(name))._repr_html_()


@pytest.mark.parametrize("name", [name for name in NAMES if hasattr(getattr(learn, name), "set_output")])
def test_transformers_have_names_out_and_give_frames(name: str) -> None:
    frame = pd.DataFrame(_rows(name), columns=["age", "height", "weight"])
    for library, kind in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        model = _fitting(name, source=Seeded(3)).set_output(transform=library)
        told = model.fit(frame).transform(frame)
        assert isinstance(told, kind)
        assert list(told.columns) == list(model.get_feature_names_out())


# ---- tuning


_GRID = {"var_smoothing": [1e-9, 1e-3]}


def _bayes(**given: Any) -> Any:
    return learn.GaussianNB(bounds=(0, 1), classes=[0, 1], **given)


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.thorough)])  # starting two takes seconds
def test_scikit_learns_own_search_works_and_warns_once(jobs: int) -> None:
    with pytest.warns(TuningWarning, match="PrivateSearchCV") as caught:
        search = GridSearchCV(_bayes(epsilon=5), _GRID, cv=2, n_jobs=jobs).fit(_ROWS, _LABELS_OF_ROWS)
    assert len([one for one in caught if one.category is TuningWarning]) == 1
    assert search.best_estimator_.guarantee_.epsilon == 5
    with pytest.warns(TuningWarning) as caught:
        cross_val_score(_bayes(epsilon=5), _ROWS, _LABELS_OF_ROWS, cv=3, n_jobs=jobs)
    assert len([one for one in caught if one.category is TuningWarning]) == 1


def test_a_pipeline_pays_for_each_step_and_is_searched_with_a_warning() -> None:
    account = InMemoryBudget(cl.PureDP(epsilon=100))
    pipe = make_pipeline(
        learn.StandardScaler(bounds=(0, 1), budget=account), _bayes(budget=account).set_params(bounds=(-3, 3))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipe.fit(_ROWS, _LABELS_OF_ROWS)
    assert account.remaining == cl.PureDP(epsilon=98)
    with pytest.warns(TuningWarning):
        GridSearchCV(pipe, {"gaussiannb__var_smoothing": [1e-9, 1e-3]}, cv=2).fit(_ROWS, _LABELS_OF_ROWS)
    assert account.remaining == cl.PureDP(epsilon=98 - 2 * 5)  # two folds of two candidates, and once more at the end


@pytest.mark.filterwarnings("ignore::celosia.core.errors.TuningWarning")
def test_the_budget_is_charged_for_every_fit_and_never_copied() -> None:
    account = InMemoryBudget(cl.PureDP(epsilon=10))
    GridSearchCV(_bayes(budget=account), _GRID, cv=3, error_score="raise").fit(_ROWS, _LABELS_OF_ROWS)
    assert account.remaining == cl.PureDP(epsilon=3)
    assert len(account.history) == 7
    with pytest.raises(Exception, match="pickle") as caught:  # joblib's own, with ours as its cause
        GridSearchCV(_bayes(budget=account), _GRID, cv=3, n_jobs=2, error_score="raise").fit(_ROWS, _LABELS_OF_ROWS)
    assert "n_jobs=1" in str(caught.value.__cause__)
    assert account.remaining == cl.PureDP(epsilon=3)
    with pytest.raises(cl.core.BudgetExceededError):
        GridSearchCV(_bayes(budget=account), _GRID, cv=3, error_score="raise").fit(_ROWS, _LABELS_OF_ROWS)
    assert account.remaining == cl.PureDP(epsilon=0)


def test_fitting_one_estimator_again_is_no_tuning() -> None:
    model = _bayes(epsilon=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(_ROWS, _LABELS_OF_ROWS).fit(_ROWS, _LABELS_OF_ROWS)
        clone(model).fit(_ROWS, _LABELS_OF_ROWS)


def test_labels_that_are_not_declared_are_refused_without_being_quoted() -> None:
    for name in NAMES:
        if is_classifier(_fitting(name)):
            secret = np.where(_LABELS_OF_ROWS == 1, "Ana", "nobody")
            with pytest.raises(InputError) as caught:
                _fitting(name).set_params(classes=["nobody", "somebody"]).fit(_rows(name), secret)
            assert "Ana" not in str(caught.value)
