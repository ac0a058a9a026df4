"""The forecast of logistic regression: near what is found on data of that kind, however many records there are."""

from typing import Any

import numpy as np
import pytest

from celosia.core import AddRemove, ReplaceOne
from celosia.core.adjacency import Adjacency
from celosia.data.schema.columns import Real
from celosia.learn.base.fit_spec import FitSpec
from celosia.learn.linear_model.gradient_plan import GradientPlan
from celosia.learn.linear_model.logistic import LogisticRegression
from celosia.learn.linear_model.logistic_forecast import (
    _made_up,
    _primes,
    functional_error,
    gradient_error,
    objective_error,
)
from celosia.learn.linear_model.noisy_gradient import Scaling, descend
from celosia.learn.linear_model.objective_perturbation import Perturbation
from celosia.noise import Seeded
from celosia.statistics.base.target import Target

AMOUNTS: list[dict[str, Any]] = [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-5"}, {"rho": "0.1"}]


@pytest.mark.parametrize("amount", AMOUNTS)
@pytest.mark.parametrize("adjacency", [AddRemove, ReplaceOne])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.sampled(4)
def test_more_records_and_more_privacy(amount: dict[str, Any], adjacency: Adjacency, classes: int) -> None:
    plan = GradientPlan.of(Target.of(adjacency=adjacency, **amount), features=4, classes=classes)
    errors = [gradient_error(plan, n) for n in (100, 2_000, 50_000)]
    assert errors[0] > max(errors[1:])
    assert min(errors) > 0


@pytest.mark.parametrize("amount", AMOUNTS[:2])
def test_it_is_near_what_is_found(amount: dict[str, Any]) -> None:
    plan = GradientPlan.of(Target.of(**amount), features=3, classes=2)
    rng = np.random.default_rng(5)
    truth = np.array([-1.0, 1.0, -1.0]) * 3 / 3**0.5
    errors = []
    for seed in range(12):
        values = rng.uniform(-1, 1, (10_000, 3))
        codes = (rng.random(10_000) < 1 / (1 + np.exp(-values @ truth))).astype(np.int64)
        scaling = Scaling.of(np.full(3, -1.0), np.ones(3), intercept=True)
        errors.append(descend(values, codes, plan, scaling, Seeded(seed)).coef[0] - truth)
    found = float(np.sqrt(np.mean(np.square(errors))))
    assert 0.4 < gradient_error(plan, 10_000) / found < 2.5


def test_made_up_records_are_spread_evenly() -> None:
    values, codes, truth = _made_up(2_000, 5, 3)
    assert values.shape == (2_000, 5)
    assert truth.shape == (3, 5)
    assert np.abs(values.mean(axis=0)).max() < 0.02
    assert np.abs(values.var(axis=0) - 1 / 3).max() < 0.02
    assert np.bincount(codes).min() > 300


def test_primes() -> None:
    for count in (1, 2, 50, 700):
        assert len(_primes(count)) == count
        assert _primes(count)[-1] == {1: 2, 2: 3, 50: 229, 700: 5279}[count]


def test_huge_numbers_of_records() -> None:
    plan = GradientPlan.of(Target.of(epsilon=1), features=2, classes=2)
    assert 0 < gradient_error(plan, 10**9) < 1


def test_other_methods_are_near_what_is_found_too() -> None:
    rng = np.random.default_rng(5)
    truth, n = np.array([-1.0, 1.0, -1.0]) * 3 / 3**0.5, 6_000
    privacy = Target.of(epsilon=1)
    spec = FitSpec(features=(Real(-1, 1),) * 3, privacy=privacy, bounding=privacy.bounding, classes=(0, 1))
    expected = {
        "functional": functional_error(spec, n, fit_intercept=True, sensitivity="tight"),
        "objective": objective_error(Perturbation.of(privacy), n, 3, fit_intercept=True),
    }
    for method, error in expected.items():
        found = []
        for seed in range(12):
            values = rng.uniform(-1, 1, (n, 3))
            labels = rng.random(n) < 1 / (1 + np.exp(-values @ truth))
            model = LogisticRegression(epsilon=1, bounds=(-1, 1), method=method, source=Seeded(seed))
            found.append(model.fit(values, labels).coef_[0] - truth)
        assert 0.4 < error / float(np.sqrt(np.mean(np.square(found)))) < 2.5
