"""diffprivlib's models on the shared data: accuracy over the shared splits, and the time of a fit."""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from diffprivlib import models

from benchmarks.peers.people import EPSILONS, load, splits
from benchmarks.peers.stopwatch import seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["MODEL_CASES"]

# A linear fit of a million rows takes more than five minutes.
ROWS, FEATURES, CLUSTERS = 20_000, 20, 8


def _scores(name: str, score: Callable[..., float]) -> float:
    warnings.simplefilter("ignore")
    people = load(name)
    unit = people.unit()
    found = [
        score(unit[train], people.y[train], unit[test], people.y[test], seed)
        for seed, (train, test) in enumerate(splits(len(unit)))
    ]
    return float(np.mean(found))


def logistic(name: str, epsilon: float) -> float:
    """Mean accuracy of logistic regression."""

    def score(X: Any, y: Any, X_new: Any, y_new: Any, seed: int) -> float:  # noqa: N803 - the field's names
        model = models.LogisticRegression(
            epsilon=epsilon, data_norm=X.shape[1] ** 0.5, random_state=seed, max_iter=1000
        )
        return float(model.fit(X, y).score(X_new, y_new))

    return _scores(name, score)


def bayes(name: str, epsilon: float) -> float:
    """Mean accuracy of Gaussian naive Bayes."""

    def score(X: Any, y: Any, X_new: Any, y_new: Any, seed: int) -> float:  # noqa: N803 - the field's names
        model = models.GaussianNB(epsilon=epsilon, bounds=(0, 1), random_state=seed)
        return float(model.fit(X, y).score(X_new, y_new))

    return _scores(name, score)


def linear(name: str, epsilon: float) -> float:
    """Mean R^2 of linear regression."""
    bounds = load(name)

    def score(X: Any, y: Any, X_new: Any, y_new: Any, seed: int) -> float:  # noqa: N803 - the field's names
        model = models.LinearRegression(
            epsilon=epsilon, bounds_X=(0, 1), bounds_y=(bounds.y_low, bounds.y_high), random_state=seed
        )
        return float(model.fit(X, y).score(X_new, y_new))

    return _scores(name, score)


def clusters(name: str, epsilon: float, count: int = 2) -> float:
    """Mean of the inertia over the best that k-means finds, on all rows, over twenty seeds."""
    from sklearn.cluster import KMeans

    warnings.simplefilter("ignore")
    unit = load(name).unit()
    best = KMeans(count, n_init=20, random_state=0).fit(unit).inertia_
    found = []
    for seed in range(20):
        model = models.KMeans(count, epsilon=epsilon, bounds=(0, 1), random_state=seed).fit(unit)
        distances = ((unit[:, None, :] - model.cluster_centers_[None]) ** 2).sum(axis=2)
        found.append(distances.min(axis=1).sum() / best)
    return float(np.mean(found))


def _large() -> tuple[NDArray[Any], NDArray[Any]]:
    X = np.random.default_rng(0).uniform(0, 1, (ROWS, FEATURES))  # noqa: N806 - the field's name
    return X, X @ np.linspace(-1, 1, FEATURES)


def _fits(make: Callable[[], Any], *, labels: bool = False) -> float:
    warnings.simplefilter("ignore")
    X, y = _large()  # noqa: N806 - the field's name
    target = (y > 0).astype(int) if labels else y
    return seconds(lambda: make().fit(X, target), repeats=2, warm=False)


MODEL_CASES: dict[str, Callable[[], float]] = {
    f"{model.__name__}-{name}-{epsilon:g}": functools.partial(model, name, epsilon)
    for model, names in (
        (logistic, ("pima", "breast", "wages", "juice")),
        (bayes, ("pima2", "breast", "juice")),
        (linear, ("auto", "earnings")),
        (clusters, ("pima", "breast")),
    )
    for name in names
    for epsilon in EPSILONS
} | {
    "linear-fit": lambda: _fits(lambda: models.LinearRegression(epsilon=1, bounds_X=(0, 1), bounds_y=(-10, 10))),
    "bayes-fit": lambda: _fits(lambda: models.GaussianNB(epsilon=1, bounds=(0, 1)), labels=True),
    "pca-fit": lambda: _fits(lambda: models.PCA(5, epsilon=1, data_norm=FEATURES**0.5, bounds=(0, 1), centered=False)),
    "scaler-fit": lambda: _fits(lambda: models.StandardScaler(epsilon=1, bounds=(0, 1))),
    "clusters-fit": lambda: _fits(lambda: models.KMeans(CLUSTERS, epsilon=1, bounds=(0, 1))),
    "logistic-fit": lambda: _fits(lambda: models.LogisticRegression(epsilon=1, data_norm=FEATURES**0.5), labels=True),
}
