"""Linear regression and ridge regression, from noisy sums of products: one pass, one joint noise.

The moments of all columns are summed exactly, noised together and solved (``least_squares``). A
fitted model keeps the noisy moments, from which confidence intervals are computed, and nothing exact. Other methods
are for comparison: adaptive sufficient statistics as published (Wang 2018) and the functional mechanism (Zhang, Zhang,
Xiao, Yang and Winslett 2012).
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.learn.base.estimator import check_method
from celosia.learn.base.fit_spec import FitSpec
from celosia.learn.base.reading import read_features
from celosia.learn.base.summaries import SummaryEstimator
from celosia.learn.linear_model.adassp import AdaSSPRequest, adassp_request
from celosia.learn.linear_model.least_squares import LeastSquares, Moments, plan_for
from celosia.learn.privacy.parameters import axis_of, feature_kinds, target_kind
from celosia.statistics.base.products import Products

if TYPE_CHECKING:
    from celosia.core.exact import Exact
    from celosia.learn.base.forecast import ExpectedError
    from celosia.statistics.base.summary_request import SummaryRequest
    from celosia.statistics.base.target import Target

Numbers = NDArray[np.float64]


@dataclass(kw_only=True, eq=False, repr=False)
class LinearRegression(RegressorMixin, SummaryEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """Private least squares, used like scikit-learn's.

    Directions in which the noise hides the features are damped (see ``least_squares``). With few rows or a small
    epsilon the line becomes flat, at the noisy mean. See ``celosia.learn`` for the parameters that are not listed.

    Parameters
    ----------
    bounds_y
        (low, high) of the target, public. Values outside are clipped.
    method
        ``"auto"``; ``"adassp"`` (Wang 2018); ``"functional"`` (Zhang et al. 2012); ``"published"``: the functional
        mechanism with the published constant 2(d + 1)^2, which is looser, and no repair of the noisy polynomial.
    fit_intercept
        Whether the line may miss the origin.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> X = np.linspace(0, 10, 2000)[:, None]
    >>> y = 3 * X[:, 0] + 5
    >>> model = LinearRegression(epsilon=1, bounds=(0, 10), bounds_y=(0, 40), source=Seeded(7)).fit(X, y)
    >>> model.predict([[5.0]]).round(), model.guarantee_
    (array([20.]), PureDP(epsilon=1))
    >>> (low, _), (high, _) = model.confidence_interval(0.95)
    >>> bool(low[0] < 3 < high[0])
    True
    >>> LinearRegression(bounds=(0, 1), bounds_y=(0, 1)).preview(10_000, epsilon=1, n_features=3).error < 0.05
    True
    """

    learns = "number"
    _methods: ClassVar[tuple[str, ...]] = ("auto", "adassp", "functional", "published")

    bounds_y: Any = None
    method: str = "auto"
    fit_intercept: bool = True

    coef_: Numbers = field(init=False)
    intercept_: float = field(init=False)
    lambda_: float = field(init=False)
    noisy_moments_: Numbers = field(init=False)
    column_ranges_: Numbers = field(init=False)
    noise_kind_: str = field(init=False)

    def predict(self, X: Any) -> Numbers:  # noqa: N803 - scikit-learn's names
        """Return the line's values for new records, which get no privacy of their own."""
        check_is_fitted(self)
        values: Numbers = read_features(self, X, reset=False) @ self.coef_ + self.intercept_
        return values

    def confidence_interval(self, level: "Exact" = 0.95) -> tuple[tuple[Numbers, float], tuple[Numbers, float]]:
        """Return the lowest and the highest (coef, intercept), each with probability ``level`` on its own.

        The intervals cover sampling error and privacy noise of least squares, without any penalty. Where the noise
        leaves a coefficient open its ends are infinite.
        """
        from celosia.learn.linear_model.coefficient_intervals import coefficient_intervals

        check_is_fitted(self)
        if "noisy_moments_" not in vars(self):
            raise ParameterError("learn.method_without_intervals", method=safe_repr(self.method))
        values, variance, carried = self.noisy_moments_
        moments = Moments(values=values, variance=variance, carried=float(carried[1, 1]), noise=self.noise_kind_)
        middles, halves = self.column_ranges_.T
        combinations = np.eye(len(halves) - 1 + int(self.fit_intercept))
        if self.fit_intercept:
            combinations[0, 1:] = -middles[:-1] / halves[:-1]
        low, high = coefficient_intervals(moments, combinations, level, through=self._origin(self.column_ranges_))
        starts = (0.0, 0.0)
        if self.fit_intercept:
            starts = float(middles[-1] + halves[-1] * low[0]), float(middles[-1] + halves[-1] * high[0])
            low, high = low[1:], high[1:]
        scale = halves[-1] / halves[:-1]
        # A damped line may lie outside its interval: the interval is widened to hold it.
        below, above = np.minimum(low * scale, self.coef_), np.maximum(high * scale, self.coef_)
        return (below, min(starts[0], self.intercept_)), (above, max(starts[1], self.intercept_))

    def expect_error(self, rows: int, privacy: "Target", n_features: int | None) -> "ExpectedError":
        """Return how far off a coefficient would be.

        The error is that of fits to expected moments with seeded noise, against the same fit without noise, and the
        sampling error by formula.
        """
        from celosia.learn.linear_model.linear_forecast import expect_line_error

        kinds = feature_kinds(self.bounds, self._feature_count(n_features))
        spec = FitSpec(features=kinds, target=target_kind(self.bounds_y), privacy=privacy, bounding=privacy.bounding)
        self._check_parameters()
        ranges = _column_ranges(Products(tuple(axis_of(kind) for kind in spec.kinds), ((),)))
        return expect_line_error(
            self, spec, rows, ranges=ranges, origin=self._origin(ranges), penalty=self._penalty / ranges[:-1, 1] ** 2
        )

    # --------------------------------------------------------------------------------------------------- learning

    @property
    def _penalty(self) -> float:
        return 0.0

    @property
    def _sensitivity(self) -> Literal["tight", "published"]:
        return "published" if self.method == "published" else "tight"

    def _check_parameters(self) -> str:
        """Return the method; raise for parameters that make no sense, before anything is paid for."""
        if not isinstance(self.fit_intercept, bool | np.bool_):
            raise ParameterError("learn.intercept_not_boolean", value=safe_repr(self.fit_intercept))
        _ = self._penalty
        return check_method(self.method, self._methods)

    def build_request(self, spec: FitSpec) -> "SummaryRequest":
        """Return the request for the sums of this fit."""
        method = self._check_parameters()
        if method == "adassp":
            return adassp_request(spec)
        if method != "auto":
            from celosia.learn.functional.sums import linear_request

            return linear_request(spec, fit_intercept=bool(self.fit_intercept), sensitivity=self._sensitivity)
        centred = all(axis.low + axis.high == 0 for axis in map(axis_of, spec.kinds))
        return plan_for(spec, linear=bool(self.fit_intercept) or not centred).request(spec)

    def solve_noisy(self, noisy: NDArray[np.int64], request: "SummaryRequest", spec: FitSpec) -> None:  # noqa: ARG002 - the parent's
        """Set the line from noisy sums."""
        for name in ("noisy_moments_", "column_ranges_", "noise_kind_"):  # of an earlier fit, perhaps without privacy
            self.__dict__.pop(name, None)
        if not isinstance(request, LeastSquares | AdaSSPRequest):
            from celosia.learn.functional.sums import solve_linear

            found = solve_linear(noisy, request, fit_intercept=bool(self.fit_intercept), sensitivity=self._sensitivity)
            self.coef_, self.intercept_, self.noise_scale_ = found.coef, float(found.intercept), found.noise_scale
            self.lambda_ = 4 * found.noise_scale if self._sensitivity == "tight" else 0.0
            return
        measure = request.parts[0].measure
        assert isinstance(measure, Products)  # noqa: S101 - for the type checker: both requests sum products
        ranges = _column_ranges(measure)
        origin, penalty = self._origin(ranges), self._penalty / ranges[:-1, 1] ** 2
        moments, line = request.solve(noisy, through=origin, penalty=penalty)
        self._keep_moments(moments, ranges)
        middles, halves = ranges.T
        self.coef_ = line.slopes * halves[-1] / halves[:-1]
        self.intercept_ = 0.0
        if self.fit_intercept:
            self.intercept_ = float(middles[-1] + halves[-1] * line.constant - self.coef_ @ middles[:-1])
        self.lambda_, self.noise_scale_ = line.floor, float(np.sqrt(moments.variance[1, -1]))

    def set_coefficients(self, coef: Numbers, intercept: float, *, noise_scale: float) -> None:
        """Set the line from noisy coefficients that were computed and paid for elsewhere."""
        for name in ("noisy_moments_", "column_ranges_", "noise_kind_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self.coef_, self.intercept_ = np.asarray(coef, dtype=np.float64), float(intercept)
        self.lambda_, self.noise_scale_ = 0.0, float(noise_scale)

    def solve_exact(self, values: Numbers, target: NDArray[Any] | None) -> None:
        """Set the line without privacy, by scikit-learn."""
        from sklearn import linear_model

        assert target is not None  # noqa: S101 - for the type checker: a regression has one
        self._check_parameters()
        fit_intercept = bool(self.fit_intercept)
        if self._penalty > 0:
            model = linear_model.Ridge(alpha=self._penalty, fit_intercept=fit_intercept)
        else:
            model = linear_model.LinearRegression(fit_intercept=fit_intercept)
        model.fit(values, target)
        self.coef_, self.intercept_, self.lambda_ = model.coef_, float(model.intercept_), 0.0
        together = np.column_stack([values, target])
        low, high = together.min(axis=0), together.max(axis=0)
        ranges = np.column_stack([(low + high) / 2, np.where(high > low, (high - low) / 2, 1.0)])
        scaled = np.column_stack([np.ones(len(together)), (together - ranges[:, 0]) / ranges[:, 1]])
        moments = scaled.T @ scaled
        self._keep_moments(Moments(values=moments, variance=np.zeros_like(moments), noise="none"), ranges)

    def _keep_moments(self, moments: Moments, ranges: Numbers) -> None:
        """Store the noisy moments, the variance of their noise, and the share of the count's noise in each."""
        carried = np.zeros_like(moments.values)
        np.fill_diagonal(carried, moments.carried)
        carried[0, 0] = 1.0
        self.noisy_moments_ = np.stack([moments.values, moments.variance, carried])
        self.column_ranges_, self.noise_kind_ = ranges, moments.noise

    def _origin(self, ranges: Numbers) -> Numbers | None:
        """Return the caller's origin in columns between -1 and 1 if the line goes through it, else None."""
        if self.fit_intercept:
            return None
        middles, halves = ranges.T
        origin: Numbers = -middles / halves
        return origin


def _column_ranges(products: Products) -> Numbers:
    """Return the middle and the half range of every column."""
    return np.column_stack([products.middles, products.halves])


@dataclass(kw_only=True, eq=False, repr=False)
class Ridge(LinearRegression):
    """Private ridge regression, used like scikit-learn's: least squares plus ``alpha`` times the squared coefficients.

    The penalty is in scikit-learn's units and adds to the damping of the noise. Other parameters are those of
    ``LinearRegression``.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> X = np.linspace(0, 10, 2000)[:, None]
    >>> y = 3 * X[:, 0] + 5
    >>> Ridge(alpha=1e8, epsilon=1, bounds=(0, 10), bounds_y=(0, 40), source=Seeded(7)).fit(X, y).coef_.round(1)
    array([0.])
    """

    _methods = ("auto", "adassp")

    alpha: float = 1.0

    @property
    def _penalty(self) -> float:
        alpha: object = self.alpha
        if (
            isinstance(alpha, bool)
            or not isinstance(alpha, int | float | np.integer | np.floating)
            or not 0 <= alpha < float("inf")
        ):
            raise ParameterError("learn.alpha_negative", value=safe_repr(alpha))
        return float(alpha)
