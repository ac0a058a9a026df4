"""How far off logistic regression would be: tried on made-up records, with noise that is always the same.

The error depends on the noise relative to the number of records alone, so a few thousand records stand for any number,
with noise that is as much smaller. Features are points of a lattice, spread evenly between their bounds (Weyl 1916);
they matter alike, and classes overlap. Nothing is read and nothing is spent.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.adjacency import AddRemove
from celosia.learn.functional.sums import Sense, logistic_request, solve_logistic
from celosia.learn.linear_model.gradient_plan import GradientPlan
from celosia.learn.linear_model.noisy_gradient import Scaling, descend
from celosia.learn.linear_model.objective_perturbation import Perturbation, minimiser
from celosia.noise.source import Seeded
from celosia.statistics.base.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from celosia.core import Source
    from celosia.learn.base.fit_spec import FitSpec

SUPPOSED = 300
"""Records that methods are compared for, because how many there are is private."""

_RECORDS = 2_000
_REPEATED = 8
_FEW_REPEATED = 3
_MAX_TARGET = 2**15
_STRENGTH = 3.0  # the length of the true weights, for features from -1 to 1


def gradient_error(plan: GradientPlan, records: int, penalty: float = 0.0, *, repeated: int = _REPEATED) -> float:
    """Return the root mean square of how far noisy gradient descent puts a coefficient, for features from -1 to 1."""
    scaling = Scaling.of(np.full(plan.features, -1.0), np.ones(plan.features), intercept=plan.intercept)

    def learn(
        values: "NDArray[np.float64]", codes: "NDArray[np.int64]", times: Fraction, source: "Source"
    ) -> "NDArray[np.float64]":
        tried = replace(plan, target=_spending(plan.target, times))
        known = None if plan.target.adjacency is AddRemove else len(values)
        return descend(values, codes, tried, scaling, source, records=known, penalty=penalty / float(times)).coef

    return _try_records(learn, records, plan.features, plan.classes, repeated)


def functional_error(spec: "FitSpec", records: int, *, fit_intercept: bool, sensitivity: Sense) -> float:
    """Return the same for the functional mechanism; the features of the spec run from -1 to 1."""

    def learn(
        values: "NDArray[np.float64]", codes: "NDArray[np.int64]", times: Fraction, source: "Source"
    ) -> "NDArray[np.float64]":
        tried = replace(spec, privacy=_spending(spec.privacy, times))
        request = logistic_request(tried, fit_intercept=fit_intercept, sensitivity=sensitivity)
        from celosia.learn.base.exact import ExactSums

        held = ExactSums(request, tried.kinds)
        held.add(values, codes)
        noisy = request.release(held.combine(), source)
        return solve_logistic(noisy, request, fit_intercept=fit_intercept, sensitivity=sensitivity).coef

    return _try_records(learn, records, len(spec.features), len(spec.classes or ()))


def objective_error(
    perturbation: Perturbation, records: int, features: int, *, fit_intercept: bool, repeated: int = _REPEATED
) -> float:
    """Return the same for objective perturbation."""
    width = features + int(fit_intercept)

    def learn(
        values: "NDArray[np.float64]", codes: "NDArray[np.int64]", times: Fraction, source: "Source"
    ) -> "NDArray[np.float64]":
        # Losses of so many times as many records outweigh the penalty and the vector as much more.
        rows = np.column_stack([values, np.ones((len(values), int(fit_intercept)))]) / math.sqrt(width)
        vector = perturbation.draw(width, source) / float(times)
        weights = minimiser(rows, codes, perturbation.stiffness / float(times), vector)
        return weights[None, :features] / math.sqrt(width)

    return _try_records(learn, records, features, 2, repeated)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A method, and the reason if it was chosen."""

    method: str
    reason: str = ""

    @property
    def sentence(self) -> str:
        """Both in one sentence; empty without a reason."""
        return f'Method "{self.method}": {self.reason}.' if self.reason else ""


def choose_method(
    target: Target, features: int, *, intercept: bool, penalty: float = 0.0, allows_real: bool = True
) -> Choice:
    """Return the method with the smaller forecast for two classes and a pure target: it reads no records."""
    if not allows_real:
        return Choice(method="gradient", reason="the budget refuses real arithmetic")
    gradient, objective = errors_of_methods(target, features, intercept=intercept, penalty=penalty)
    if objective < gradient:
        reason = "objective perturbation, in real arithmetic, is forecast to be off by"
        return Choice(
            method="objective",
            reason=f"{reason} {objective:.2g}, noisy gradients by {gradient:.2g}, with {SUPPOSED} records",
        )
    reason = f"noisy gradients are forecast to be off by {gradient:.2g}, objective perturbation by {objective:.2g}"
    return Choice(method="gradient", reason=f"{reason}, with {SUPPOSED} records")


@lru_cache(maxsize=256)
def errors_of_methods(target: Target, features: int, *, intercept: bool, penalty: float = 0.0) -> tuple[float, float]:
    """Return the errors of noisy gradient descent and of objective perturbation, for two classes and few records."""
    plan = GradientPlan.of(target, features=features, classes=2, intercept=intercept)
    perturbation = Perturbation.of(target, stiffness=penalty / (features + int(intercept)))
    return (
        gradient_error(plan, SUPPOSED, penalty, repeated=_FEW_REPEATED),
        objective_error(perturbation, SUPPOSED, features, fit_intercept=intercept, repeated=_FEW_REPEATED),
    )


def _try_records(
    learn: "Callable[[NDArray[np.float64], NDArray[np.int64], Fraction, Source], NDArray[np.float64]]",
    records: int,
    features: int,
    classes: int,
    repeated: int = _REPEATED,
) -> float:
    """Return the root mean square of how far learned weights are from the true ones; each record stands for several."""
    few = min(records, _RECORDS)
    values, codes, truth = _made_up(few, features, classes)
    squares, repeated = 0.0, max(2, min(repeated, 400 // features))  # many features are a mean by themselves
    for seed in range(repeated):
        found = learn(values, codes, Fraction(records, few), Seeded(seed))
        if len(found) > 1:  # weights of all classes may be moved together
            found = found - found.mean(axis=0)
        squares += float(((found - truth) ** 2).mean())
    return math.sqrt(squares / repeated)


def _spending(target: Target, times: Fraction) -> Target:
    """Return a target whose noise is smaller by a factor."""
    if target.kind == "pure":
        return replace(target, epsilon=min(target.epsilon * times, Fraction(_MAX_TARGET)))
    rho = min(target.total_rho * times**2, Fraction(_MAX_TARGET))
    return replace(target, epsilon=Fraction(0), delta=Fraction(0), rho=rho)


def _made_up(
    records: int, features: int, classes: int
) -> tuple["NDArray[np.float64]", "NDArray[np.int64]", "NDArray[np.float64]"]:
    """Return records, their classes, and the weights behind them."""
    places = np.arange(1, records + 1)[:, None]
    points = places * np.sqrt(_primes(features + 1)) % 1.0
    values = np.ascontiguousarray(2 * points[:, :features] - 1)
    owners = np.arange(features) % classes
    truth = (owners == np.arange(classes)[:, None]) * 1.0 - 1 / classes
    if classes == 2:
        truth = truth[1:] - truth[:1]
    truth *= _STRENGTH / max(float(np.linalg.norm(truth, axis=1).max()), 1e-9)
    scores = values @ truth.T
    if classes == 2:
        scores = np.column_stack([np.zeros(records), scores])
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    reached = np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)
    codes = np.minimum((points[:, -1:] > reached).sum(axis=1), classes - 1)
    return values, codes.astype(np.int64), truth


def _primes(count: int) -> "NDArray[np.float64]":
    """The first prime numbers: their roots are no fractions of each other."""
    most = max(20, int(count * (math.log(count + 1) + math.log(math.log(count + 2) + 1) + 2)))
    sieve = np.ones(most, dtype=bool)
    sieve[:2] = False
    for number in range(2, math.isqrt(most) + 1):
        sieve[number * number :: number] = False
    return np.flatnonzero(sieve)[:count].astype(np.float64)
