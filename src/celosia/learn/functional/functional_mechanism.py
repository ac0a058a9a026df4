"""The functional mechanism for any polynomial objective (Zhang, Zhang, Xiao, Yang and Winslett 2012).

The objective is a sum over records of a polynomial in the weights. Its coefficients are all that depends on the
records: every distinct one is rounded to a grid, record by record, summed exactly and noised once, and the noisy
polynomial is minimised. How far one record can move the coefficients is bounded over the box of all possible records
(``objective``), and the rounding is paid for with a step for each coefficient. ``proofs/functional.md``.
"""

import math
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer, exact_positive, safe_repr
from celosia.learn.base.estimator import PrivateEstimator
from celosia.learn.base.forecast import ExpectedError
from celosia.learn.base.reading import read_features, read_target
from celosia.learn.functional.coefficients import Coefficients
from celosia.learn.functional.objective import Loss, Objective, linear_objective, logistic_objective, objective_of
from celosia.learn.optimize.minimise import ball_minimum, quadratic_of, quadratic_on_ball, trimmed_minimum
from celosia.learn.privacy.parameters import axis_of, feature_kinds, target_kind
from celosia.noise.source import Seeded

if TYPE_CHECKING:
    from celosia.core.exact import Exact
    from celosia.data.schema.columns import Kind
    from celosia.statistics.base.target import Target

Range: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]
"""The lower and the upper bounds of columns."""

_NAMED = ("linear", "logistic")


@dataclass(eq=False, repr=False)
class FunctionalMechanism(PrivateEstimator):
    """Minimise a sum of polynomials over private records, by noise in its coefficients.

    Records are scaled to lie between 0 and 1 by their bounds: the weights that are found belong to scaled records.

    Parameters
    ----------
    objective
        ``"linear"`` for least squares, ``"logistic"`` for the Taylor polynomial of the logistic loss at 0, an
        ``Objective``, or a Python function of ``w``, ``x`` and ``y`` that is made of ``+ - * **`` and numbers.
    degree
        The highest degree in the weights: where the Taylor polynomial ends; an objective of a higher one is refused.
    bounds, bounds_y
        The public bounds of the features and of the target; labels of ``"logistic"`` are 0 and 1.
    fit_intercept
        Whether ``x[0]`` is 1 and ``w[0]`` an intercept.
    radius
        The length that weights may have. It is needed for degrees other than 2, where a polynomial may have no
        minimum. Without it a quadratic is repaired: its diagonal is raised by four standard deviations of the noise and
        what bends downwards is trimmed.
    epsilon, delta, rho, adjacency, budget, source
        As for all estimators: see ``celosia.learn``.

    Attributes
    ----------
    monomials_, coefficients_
        The noisy polynomial: products of weights, and the number before each.
    coef_, minimum_
        The weights at which it is least.
    noise_scale_
        The standard deviation of the noise of each coefficient.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> X, y = np.linspace(0, 1, 1000)[:, None], np.linspace(0, 0.5, 1000)
    >>> model = FunctionalMechanism("linear", epsilon=10, bounds=(0, 1), bounds_y=(0, 1), source=Seeded(7)).fit(X, y)
    >>> model.monomials_, model.coef_.round(1).tolist()
    (['w0', 'w0 w0'], [0.5])
    >>> print(FunctionalMechanism("linear", bounds=(0, 1), bounds_y=(0, 1)).preview(1000, 1, n_features=1))
    With 1000 rows and PureDP(epsilon=1): a weight of scaled records is off by about 0.00849, supposing ...
    """

    objective: str | Objective | Loss = "linear"
    degree: int = 2
    _: KW_ONLY
    bounds: Any = None
    bounds_y: Any = None
    fit_intercept: bool = False
    radius: "Exact | None" = None

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - scikit-learn's names
        """Pay, sum the coefficients over records, add noise, and minimise."""
        with self._rollback_on_error():
            return self._fit(X, y)

    def _fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - scikit-learn's names
        values = read_features(self, X, reset=True)
        target = read_target(y, len(values), self)
        privacy = self.find_privacy_target()
        objective, radius = self._objective(values.shape[1]), self._radius()
        if not privacy.private:
            return self._fit_plain(objective, values, target, radius)
        bounds, last = self._feature_range(values.shape[1]), self._target_range()
        sums = Coefficients.of(objective, privacy.adjacency)
        noise = sums.noise(privacy)
        noise.release(np.zeros((1, len(sums.noised)), dtype=np.int64), Seeded(0))  # can it be drawn? before it is paid
        with self._spend(privacy, privacy.event(noise.event), features=values.shape[1]) as payment:
            exact = sums.sums(_scale(values, bounds), _scale(target[:, None], last)[:, 0])
            noisy = noise.release(exact.reshape(1, -1), payment.source)[0]
            self.noise_scale_ = np.zeros(len(objective.terms))
            self.noise_scale_[list(sums.noised)] = math.sqrt(noise.variance) * np.abs(sums.worth)
            self._settle(objective, sums.polynomial(noisy, len(values)), radius)
            payment.deliver(noisy)
        return self

    def expect_error(self, rows: int, privacy: "Target", n_features: int | None) -> ExpectedError:
        """Return how far off a weight would be."""
        objective = self._objective(self._feature_count(n_features))
        sums = Coefficients.of(objective, privacy.adjacency)
        deviation = math.sqrt(sums.noise(privacy).variance) if privacy.private else 0.0
        scales = np.zeros(len(objective.terms))
        scales[list(sums.noised)] = deviation * np.abs(sums.worth)
        return ExpectedError(
            error=_weight_error(objective, scales, rows),
            noise_scale=float(scales.max()),
            what="a weight of scaled records",
            assumption="columns that are independent and spread evenly between their bounds, and small weights",
        )

    def _fit_plain(
        self, objective: Objective, values: NDArray[np.float64], target: NDArray[np.float64], radius: float | None
    ) -> Self:
        """Minimise without privacy; records are scaled and clipped if there are bounds."""
        if self.bounds is not None:
            values = _scale(values, self._feature_range(values.shape[1]))
        if self.bounds_y is not None:
            target = _scale(target[:, None], self._target_range())[:, 0]
        self._mark_non_private()
        self.noise_scale_ = np.zeros(len(objective.terms))
        self._settle(objective, objective.coefficients(values, target).sum(axis=0), radius)
        return self

    def _settle(self, objective: Objective, coefficients: NDArray[np.float64], radius: float | None) -> None:
        """Set the noisy polynomial and its minimiser."""
        self.monomials_ = list(objective.names)
        self.coefficients_ = coefficients
        count = objective.weights
        if objective.degree > 2:
            self.minimum_ = ball_minimum(objective.monomials, coefficients, count, radius or 1.0)
        else:
            matrix, vector = quadratic_of(objective.monomials, coefficients, count)
            if radius is None:
                raised = max((s for m, s in zip(objective.monomials, self.noise_scale_, strict=True) if len(m) == 2))
                self.minimum_ = trimmed_minimum(matrix, vector, float(raised), free=self.fit_intercept)
            else:
                self.minimum_ = quadratic_on_ball(matrix, vector, radius)
        self.coef_ = self.minimum_.copy()

    def _objective(self, features: int) -> Objective:
        degree = exact_integer(self.degree, name="degree")
        given: Any = self.objective
        if isinstance(given, Objective):
            found = given
        elif callable(given):
            found = objective_of(given, features, fit_intercept=self.fit_intercept)
        elif not isinstance(given, str) or given not in _NAMED:
            raise ParameterError("learn.unknown_objective", value=safe_repr(given))
        elif given == "linear":
            found = linear_objective(features, fit_intercept=self.fit_intercept)
        else:
            found = logistic_objective(features, degree=degree, fit_intercept=self.fit_intercept)
        if found.features != features:
            raise ParameterError("learn.objective_feature_mismatch", in_objective=found.features, in_data=features)
        if found.degree > degree:
            raise ParameterError("learn.objective_degree_mismatch", degree=safe_repr(self.degree), found=found.degree)
        if self.radius is None and found.degree != 2:
            raise ParameterError("learn.missing_radius", degree=found.degree)
        return found

    def _radius(self) -> float | None:
        return None if self.radius is None else float(exact_positive(self.radius, name="radius"))

    def _feature_range(self, features: int) -> Range:
        return _range(feature_kinds(self.bounds, features, getattr(self, "feature_names_in_", None)))

    def _target_range(self) -> Range:
        if self.bounds_y is None and isinstance(self.objective, str) and self.objective == "logistic":
            return _range((target_kind((0, 1)),))  # labels are 0 and 1
        return _range((target_kind(self.bounds_y),))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _range(kinds: "tuple[Kind, ...]") -> Range:
    """Return the bounds of columns, in doubles; refuse those that doubles do not tell apart."""
    axes = [axis_of(kind) for kind in kinds]
    lows = np.array([float(getattr(kind, "low", axis.low)) for kind, axis in zip(kinds, axes, strict=True)])
    highs = np.array([float(getattr(kind, "high", axis.high)) for kind, axis in zip(kinds, axes, strict=True)])
    if not (lows < highs).all():
        raise ParameterError("learn.bounds_equal_as_doubles")
    return lows, highs


def _scale(values: NDArray[np.float64], bounds: Range) -> NDArray[np.float64]:
    """Return columns between 0 and 1, which are their bounds."""
    lows, highs = bounds
    inside = np.clip(values, lows, highs)
    return np.clip((inside - lows) / (highs - lows), 0.0, 1.0)


def _weight_error(objective: Objective, scales: NDArray[np.float64], rows: int) -> float:
    """Return the root of the mean square error of a weight near 0, for columns spread evenly."""
    expected = [rows * sum(float(number) * _even(places) for places, number in terms) for _, terms in objective.terms]
    keep = [place for place, monomial in enumerate(objective.monomials) if len(monomial) <= 2]
    monomials = tuple(objective.monomials[place] for place in keep)
    matrix, _ = quadratic_of(monomials, np.array(expected)[keep], objective.weights)
    slopes = np.zeros(objective.weights)
    for place in keep:
        if len(objective.monomials[place]) == 1:
            slopes[objective.monomials[place][0]] = scales[place]
    spread = np.linalg.pinv(2 * matrix) * slopes
    return float(np.sqrt((spread**2).sum(axis=1).mean()))


def _even(places: tuple[int, ...]) -> float:
    return math.prod(1 / (places.count(column) + 1) for column in set(places))
