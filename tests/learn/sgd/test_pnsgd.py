"""PNSGDRegressor and PNSGDClassifier: they learn, they are private, and without privacy they are scikit-learn's."""

import math
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import celosia.learn
from celosia.core import ApproxDP, InputError, ReplaceOne, UnboundedDataError
from celosia.learn.optimize.projections import Ball, Box, OwnSet, Simplex
from celosia.learn.sgd.noisy_descent import PNSGD
from celosia.learn.sgd.pnsgd import PNSGDClassifier, PNSGDRegressor
from celosia.noise import Seeded

INF = float("inf")
RNG = np.random.default_rng(7)
N = 4000
X = np.clip(RNG.normal(5, 1.7, (N, 3)), 0, 10)
Y = np.clip(X @ [2.0, -1.0, 0.5] + 10 + RNG.normal(0, 1, N), 0, 30)
ODDS = (X - 5) @ [1.5, -1.0, 0.5]
LABELS = np.where(ODDS + RNG.logistic(size=N) > 0, "yes", "no")
NUMBERS: dict[str, Any] = {"bounds": (0, 10), "bounds_y": (0, 30)}
CLASSES: dict[str, Any] = {"bounds": (0, 10), "classes": ["no", "yes"]}


def cube(w: Any) -> Any:
    return np.minimum(np.maximum(w, -2.0), 2.0)


# ------------------------------------------------------------------------------------------------------- it learns


@pytest.mark.parametrize(("epsilon", "epochs", "least"), [(1, 200, 0.7), (3, 100, 0.84)])
def test_a_regressor_is_near_least_squares(epsilon: float, epochs: int, least: float) -> None:
    plain = LinearRegression().fit(X, Y).score(X, Y)
    assert plain == pytest.approx(0.941, abs=0.02)
    model = PNSGDRegressor(epsilon=epsilon, delta="1e-6", epochs=epochs, source=Seeded(1), **NUMBERS).fit(X, Y)
    assert model.score(X, Y) > least


def test_a_classifier_is_near_logistic_regression() -> None:
    plain = LogisticRegression(C=np.inf).fit(X, LABELS).score(X, LABELS)
    model = PNSGDClassifier(epsilon=1, delta="1e-6", epochs=100, source=Seeded(1), **CLASSES).fit(X, LABELS)
    assert model.score(X, LABELS) > plain - 0.03


@pytest.mark.parametrize("kind", [{"order": "fixed"}, {"amplification": "none"}])
def test_the_other_ways_of_running_learn_too(kind: dict[str, Any]) -> None:
    model = PNSGDClassifier(epsilon=20, delta="1e-6", epochs=20, source=Seeded(1), **kind, **CLASSES).fit(X, LABELS)
    assert model.score(X, LABELS) > 0.65


@pytest.mark.parametrize("shape", [Ball(2), Box(-1, 2), Simplex(2), OwnSet(cube, diameter=8)], ids=range(4))
def test_every_set_takes_part(shape: Any) -> None:
    model = PNSGDRegressor(rho=5, projection=shape, epochs=20, source=Seeded(1), **NUMBERS).fit(X, Y)
    scaling = model._scaling(3)
    theta = model.coef_ * scaling.halves / 15  # of centred features, for targets between -1 and 1
    constant = (model.intercept_ - 15 + model.coef_ @ scaling.middles) / 15
    weights = np.array([*theta, constant]) * scaling.norm
    assert shape.project(weights) == pytest.approx(weights, abs=1e-9)
    assert np.isfinite(model.predict(X)).all()


# -------------------------------------------------------------------------------------------------- without privacy


def test_without_privacy_a_regressor_is_scikit_learns() -> None:
    for fit_intercept, bounded in product((True, False), (True, False)):
        centre: dict[str, Any] = {"bounds": (0, 10), "bounds_y": (-30, 30)} if bounded else {}
        ours = PNSGDRegressor(epsilon=INF, fit_intercept=fit_intercept, **centre).fit(X, Y)
        theirs = LinearRegression(fit_intercept=fit_intercept).fit(X, Y)
        assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-6)
        assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-6)
        assert ours.predict(X) == pytest.approx(theirs.predict(X), abs=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_privacy_a_classifier_is_scikit_learns(fit_intercept: bool) -> None:  # noqa: FBT001 - a case
    ours = PNSGDClassifier(epsilon=INF, fit_intercept=fit_intercept, **CLASSES).fit(X, LABELS)
    theirs = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000, fit_intercept=fit_intercept).fit(X, LABELS)
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-6)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-6)
    assert ours.predict_log_proba(X) == pytest.approx(theirs.predict_log_proba(X), abs=1e-5)
    assert (ours.predict(X) == theirs.predict(X)).all()


def test_with_a_set_it_is_the_minimum_over_the_set() -> None:
    wide = PNSGDRegressor(epsilon=INF, projection=Ball(100), **NUMBERS).fit(X, Y)
    assert wide.coef_ == pytest.approx(LinearRegression().fit(X, Y).coef_, abs=1e-6)
    narrow = PNSGDRegressor(epsilon=INF, projection=Ball("0.5"), **NUMBERS).fit(X, Y)
    private = PNSGDRegressor(rho=60_000, projection=Ball("0.5"), epochs=100, source=Seeded(2), **NUMBERS).fit(X, Y)
    assert np.abs(narrow.coef_).sum() < np.abs(wide.coef_).sum()
    assert private.predict(X) == pytest.approx(narrow.predict(X), abs=0.2)


# ------------------------------------------------------------------------------------------------------ it is private


def lower_bound(draw: Any, tries: int, delta: float) -> float:
    """A lower bound of epsilon from fits to two neighbours, which holds but once in a thousand times."""
    hits = [sum(draw(end) for _ in range(tries)) for end in (1.0, -1.0)]
    likely = stats.beta.ppf(0.0005, hits[0], tries - hits[0] + 1)
    unlikely = stats.beta.ppf(0.9995, hits[1] + 1, tries - hits[1])
    return math.log(max(likely - delta, 1e-9) / unlikely)


@pytest.mark.parametrize("amplification", ["iteration", "none"])
def test_fits_to_neighbours_are_as_alike_as_promised(amplification: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Seeded(3)

    def seen(end: float) -> bool:
        model = PNSGDRegressor(
            epsilon=1, delta="0.01", bounds=(-1, 1), bounds_y=(-1, 1), fit_intercept=False, order="fixed", epochs=1,
            amplification=amplification, source=source,
        )  # fmt: skip
        return bool(model.fit([[1.0]], [end]).coef_[0] > 0)

    assert lower_bound(seen, 50, 0.01) <= 1
    honest = PNSGD._noise
    monkeypatch.setattr(PNSGD, "_noise", lambda run, steps, source: honest(run, steps, source) / 10)
    assert lower_bound(seen, 50, 0.01) > 1


def test_repeatable_noise_repeats() -> None:
    models = [PNSGDRegressor(rho=1, epochs=3, source=Seeded(5), **NUMBERS).fit(X, Y) for _ in range(2)]
    assert np.array_equal(models[0].coef_, models[1].coef_)
    assert models[0].seeded_
    fresh = [PNSGDRegressor(rho=1, epochs=1, **NUMBERS).fit(X, Y) for _ in range(2)]
    assert not np.array_equal(fresh[0].coef_, fresh[1].coef_)
    assert not fresh[0].seeded_


# ------------------------------------------------------------------------------------------------ as in scikit-learn


def test_frames_pipelines_and_clones() -> None:
    names = ["a", "b", "c"]
    given: dict[str, Any] = {"rho": 1, "epochs": 1, **NUMBERS}
    array = PNSGDRegressor(source=Seeded(1), **given).fit(X, Y)
    for frame, column in [
        (pd.DataFrame(X, columns=names), pd.Series(Y)),
        (pl.DataFrame(X, schema=names), pl.Series(Y)),
    ]:
        model = PNSGDRegressor(source=Seeded(1), **given).fit(frame, column)
        assert np.array_equal(model.coef_, array.coef_)
        assert model.feature_names_in_.tolist() == names
    piped = make_pipeline(FunctionTransformer(), PNSGDRegressor(source=Seeded(1), **given)).fit(X, Y)
    assert np.array_equal(piped.predict(X), array.predict(X))
    twin = clone(PNSGDRegressor(projection=Ball(2), **given))
    assert twin.get_params()["projection"] == Ball(2)
    assert celosia.learn.PNSGD is PNSGD


def test_classes_are_public() -> None:
    with pytest.raises(UnboundedDataError, match="classes"):
        PNSGDClassifier(rho=1, bounds=(0, 10)).fit(X, LABELS)
    with pytest.raises(InputError, match="binary"):
        PNSGDClassifier(rho=1, bounds=(0, 10), classes=["no", "yes", "maybe"]).fit(X, LABELS)
    one = PNSGDClassifier(rho=1, epochs=1, source=Seeded(1), **CLASSES).fit(X[:20], ["no"] * 20)
    assert one.classes_.tolist() == ["no", "yes"]
    assert one.predict_proba(X[:5]).sum(axis=1) == pytest.approx(np.ones(5))
    with pytest.raises(InputError, match="class"):
        PNSGDClassifier(epsilon=INF, **CLASSES).fit(X[:20], ["no"] * 20)


def test_targets_are_bounded() -> None:
    with pytest.raises(UnboundedDataError, match="bounds_y"):
        PNSGDRegressor(rho=1, bounds=(0, 10)).fit(X, Y)
    with pytest.raises(NotFittedError):
        PNSGDRegressor().predict(X)
    with pytest.raises(NotFittedError):
        PNSGDClassifier().predict(X)


def test_one_row_is_enough() -> None:
    model = PNSGDRegressor(epsilon=1, delta="1e-6", source=Seeded(1), **NUMBERS).fit(X[:1], Y[:1])
    assert model.guarantee_ == ApproxDP(epsilon=1, delta="1e-6", adjacency=ReplaceOne)
    assert np.isfinite(model.predict(X)).all()
