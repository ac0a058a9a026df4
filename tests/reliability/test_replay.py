"""Transcripts replayed on neighbours, for every estimator: in no step do exact numbers differ by more than declared."""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pytest

from celosia import learn
from celosia.core import ReplaceOne
from celosia.learn.base.estimator import PrivateEstimator
from celosia.learn.model_selection.search_plan import Plan
from celosia.learn.sgd import noisy_descent
from celosia.statistics.base.noise import Sensitivity
from celosia.statistics.base.target import Target
from tests.reliability.replaying import Pair, replay
from tests.reliability.test_learn_audit import not_clipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from celosia.core import Source
    from celosia.statistics.base.noise import Noise

LINE: dict[str, Any] = {"bounds": (-1, 2), "bounds_y": (-1, 3)}
LABELS: dict[str, Any] = {"bounds": (-1, 2), "classes": [0, 1, 2]}
TWO: dict[str, Any] = {"bounds": (-1, 2), "classes": [0, 1]}
PNSGD: dict[str, Any] = {"bounds": (-1, 2), "epochs": 2, "adjacency": ReplaceOne, "delta": 1e-5}

REGISTRY: dict[str, list[dict[str, Any]]] = {
    "CategoricalNB": [{"categories": 3, "classes": [0, 1, 2]}],
    "FunctionalMechanism": [LINE, {**LINE, "fit_intercept": True}],
    "FuzzyCMeans": [
        {"bounds": (-1, 2), "n_clusters": 3},
        {"bounds": (-1, 2), "n_clusters": 2, "m": 1.3, "max_iter": 2},
        {"bounds": (-1, 2), "n_clusters": 2, "method": "published", "max_iter": 2},
    ],
    "GaussianNB": [LABELS],
    "KMeans": [{"bounds": (-1, 2), "n_clusters": count} for count in (1, 2, 5)],
    "LinearRegression": [LINE, *[{**LINE, "method": name} for name in ("adassp", "functional", "published")]],
    "LogisticRegression": [
        {**LABELS, "method": "gradient"},
        *[{**TWO, "method": name} for name in ("gradient", "functional", "objective", "auto", "published")],
        {**TWO, "method": "gradient", "fit_intercept": False, "steps": 3},
    ],
    "PCA": [{"bounds": (-1, 2)}],
    "PNSGDClassifier": [{**PNSGD, "classes": [0, 1], "amplification": name} for name in ("none", "iteration")],
    "PNSGDRegressor": [{**PNSGD, "bounds_y": (-1, 3), "amplification": name} for name in ("none", "iteration")],
    "PrivateSearchCV": [{"estimator": learn.GaussianNB(**TWO), "param_grid": {"var_smoothing": [1e-3, 1e-1]}}],
    "Ridge": [{**LINE, "alpha": 2.0}],
    "StandardScaler": [{"bounds": (-1, 2)}],
}
"""Every estimator, with the parameters that it is replayed with: one that is not here makes a test fail."""

GAUSSIAN: Any = vars(noisy_descent.PNSGD)["_gaussian"].fget
PURE = {"published", "objective"}  # methods that know no rho


def estimators() -> set[str]:
    kinds = {name: getattr(learn, name) for name in learn.__all__}
    return {name for name, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, PrivateEstimator)}


def amounts(name: str, given: dict[str, Any]) -> list[dict[str, Any]]:
    """What a fit may spend, in all kinds that the estimator takes."""
    if name.startswith("PNSGD"):
        return [{"epsilon": 2}]
    if given.get("method") in PURE:
        return [{"epsilon": 2}]
    several: list[dict[str, Any]] = [{"epsilon": 1}, {"epsilon": "0.5", "delta": 1e-5}, {"rho": "0.3"}]
    return several[1:] if given.get("method") == "adassp" else several


def numbers(random: np.random.Generator, size: tuple[int, ...]) -> Any:
    """Return numbers inside the bounds, at their ends and far beyond, where a bound that is too small shows."""
    ends = random.choice([-1.0, 2.0, -1e9, 1e300, 0.5, -0.0, 1e-300], size=size)
    return np.where(random.random(size) < random.choice([0.1, 0.9]), ends, random.uniform(-1.5, 2.5, size))


def drawn(name: str, random: np.random.Generator) -> tuple[Callable[[Source | None], Any], Pair]:
    """Draw the parameters of an estimator, and a pair of neighbours."""
    given = REGISTRY[name][random.integers(len(REGISTRY[name]))]
    options = amounts(name, given)
    spending = options[random.integers(len(options))]
    swapped = given.get("adjacency") is ReplaceOne or bool(random.integers(2))
    rows, features = int(random.integers(7, 16)), int(random.integers(1, 6))
    labels = len(given["classes"]) if "classes" in given else 2
    if name == "CategoricalNB":
        X: Any = random.integers(0, 3, (rows + 1, features))  # noqa: N806 - the field's name
    else:
        X = numbers(random, (rows + 1, features))  # noqa: N806 - the field's name
    is_line = "bounds_y" in given
    y = (
        numbers(random, (rows + 1,))
        if is_line
        else np.append(np.arange(labels), random.integers(0, labels, rows + 1 - labels))
    )
    place = int(random.integers(rows)) if is_line else int(random.integers(labels, rows))
    near = {} if "adjacency" in given else {"adjacency": "replace-one" if swapped else "add-remove"}
    other = (X[-1], y[-1]) if swapped else None
    kind = getattr(learn, name)

    def make(source: Source | None) -> Any:
        return kind(**given, **spending, **near, source=source)

    return make, Pair(X[:-1], y[:-1], place, other)


def convict(name: str, pairs: int, seed: int = 0) -> str:
    """Return what is wrong in the first pair where something is."""
    for number in range(pairs):
        make, pair = drawn(name, np.random.default_rng([seed, number]))
        with warnings.catch_warnings(action="ignore"):
            words = replay(make, pair)
        if words:
            return f"pair {number}, {make(None)!r}: {words}"
    return ""


def test_every_estimator_is_replayed() -> None:
    assert estimators() == set(REGISTRY)


@pytest.mark.parametrize("name", sorted(REGISTRY))
@pytest.mark.sampled(2)
def test_neighbours_differ_by_what_is_declared_in_every_step(name: str) -> None:
    assert not convict(name, 12)


@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_thousands_of_neighbours_differ_by_what_is_declared_in_every_step(name: str) -> None:
    assert not convict(name, 300, seed=1)


# ---- mutants


@contextlib.contextmanager
def declared_by_half() -> Iterator[None]:
    """Noise is drawn, and paid for, as if one record moved sums half as far."""
    plain = Target.noise

    def halved(target: Target, sensitivity: Sensitivity, *rest: Any) -> Noise:
        half = Sensitivity(l1=max(sensitivity.l1 // 2, 1), l2_squared=max(sensitivity.l2_squared // 4, 1))
        return plain(target, half, *rest)

    with mock.patch.object(Target, "noise", halved):
        yield


NOT_BY_TARGET = ("PNSGDClassifier", "PNSGDRegressor", "PrivateSearchCV")


@pytest.mark.parametrize("name", sorted(set(REGISTRY) - set(NOT_BY_TARGET)))
def test_half_of_the_sensitivity_is_convicted(name: str) -> None:
    with declared_by_half():
        assert "is declared" in convict(name, 40)


@pytest.mark.parametrize(("name", "squared"), [("PNSGDClassifier", 2**38), ("PNSGDRegressor", 2**40)])
def test_a_gradient_that_is_taken_to_move_less_than_twice_is_convicted(name: str, squared: int) -> None:
    once = property(lambda run: replace(GAUSSIAN(run), sensitivity_squared=squared))
    with mock.patch.object(noisy_descent.PNSGD, "_gaussian", once):
        assert "is declared" in convict(name, 40)


def test_a_search_whose_parts_overlap_is_convicted() -> None:
    with mock.patch.object(Plan, "split", lambda plan, _: (plan.rows, plan.target) * 2):
        assert "fitted to and scored" in convict("PrivateSearchCV", 5)


@pytest.mark.parametrize("name", ["GaussianNB", "LinearRegression", "PCA", "Ridge", "StandardScaler"])
def test_records_that_are_not_clipped_are_convicted(name: str) -> None:
    with not_clipped():
        assert "is declared" in convict(name, 40)
