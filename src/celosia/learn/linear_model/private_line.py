"""A line learned from noisy sums: what linear and ridge regression share.

Moments of all columns are summed exactly, noised together and solved (``least_squares``, ``noisy_moments``); the noisy
moments are kept, for confidence intervals are made from them. Nothing exact is.
"""

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.learn.base.estimator import one_of_the_methods
from celosia.learn.base.forecast import Forecast
from celosia.learn.base.reading import read_features
from celosia.learn.base.summaries import FitSpec, SummaryEstimator
from celosia.learn.linear_model.adassp import AdaSSPRequest, thirds_for
from celosia.learn.linear_model.least_squares import LeastSquares, expected_sums, plan_for
from celosia.learn.linear_model.noisy_moments import Moments
from celosia.learn.privacy.bounds import axis_of, feature_kinds, target_kind
from celosia.noise.source import Seeded
from celosia.statistics.base.products import Products
from celosia.statistics.base.summary_request import Provenance, SummaryRequest

if TYPE_CHECKING:
    from celosia.core.exact import Exact

Numbers = NDArray[np.float64]

_DRAWS = 64
_RESIDUAL = 0.2  # what a forecast supposes to be left over, in half ranges of the target


class PrivateLine(RegressorMixin, SummaryEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """What both regressions have: how a line is fitted, used, and how sure its coefficients are.

    >>> from celosia.learn import LinearRegression
    >>> issubclass(LinearRegression, PrivateLine)
    True
    """

    learns = "number"
    _methods: ClassVar[tuple[str, ...]]

    method: str
    fit_intercept: bool
    coef_: Numbers
    intercept_: float
    lambda_: float
    noisy_moments_: Numbers
    column_ranges_: Numbers
    noise_kind_: str

    @property
    def _penalty(self) -> float:
        return 0.0

    @property
    def _sense(self) -> Literal["tight", "seed"]:
        return "seed" if self.method == "seed" else "tight"

    def predict(self, X: Any) -> Numbers:  # noqa: N803 - scikit-learn's names
        """Return the line's values for new records; they need no privacy of their own."""
        check_is_fitted(self)
        values: Numbers = read_features(self, X, reset=False) @ self.coef_ + self.intercept_
        return values

    def confidence_interval(self, level: "Exact" = 0.95) -> tuple[tuple[Numbers, float], tuple[Numbers, float]]:
        """Return the lowest and the highest (coef, intercept), each with probability ``level`` for itself.

        Sampling error and privacy noise are in them; they are of least squares, without any penalty. Where the noise
        leaves a coefficient open its ends are infinite.
        """
        from celosia.learn.linear_model.coefficient_intervals import coefficient_intervals

        check_is_fitted(self)
        if "noisy_moments_" not in vars(self):
            raise ParameterError(
                f"method={safe_repr(self.method)} keeps nothing to make intervals from: take method='auto'."
            )
        low, high = coefficient_intervals(
            self._moments(), self._combinations(), level, through=self._through(self.column_ranges_)
        )
        scale = _to_units(self.column_ranges_)
        starts = (0.0, 0.0)
        if self.fit_intercept:
            middle, half = self.column_ranges_[-1]
            starts = tuple(float(middle + half * end) for end in (low[0], high[0]))  # type: ignore[assignment] # two
            low, high = low[1:], high[1:]
        # A line that was drawn towards a flat one may lie outside; what is shown is always inside.
        below, above = np.minimum(low * scale, self.coef_), np.maximum(high * scale, self.coef_)
        return (below, min(starts[0], self.intercept_)), (above, max(starts[1], self.intercept_))

    def preview(
        self,
        n: int,
        epsilon: "Exact | None" = None,
        *,
        delta: "Exact | None" = None,
        rho: "Exact | None" = None,
        n_features: int | None = None,
    ) -> Forecast:
        """Return what a fit on ``n`` rows would cost and how far off a coefficient would be; nothing is spent.

        The error is that of fits to expected moments with seeded noise, against the same fit without noise, and the
        sampling error by formula.

        >>> from celosia.learn import LinearRegression
        >>> LinearRegression(bounds=(0, 1), bounds_y=(0, 1)).preview(10_000, epsilon=1, n_features=3).error < 0.05
        True
        """
        rows = int(exact_integer(n, name="n"))
        privacy = self._forecast_target(epsilon, delta, rho)
        kinds = feature_kinds(self.bounds, self._feature_count(n_features))
        spec = FitSpec(features=kinds, target=target_kind(self.bounds_y), privacy=privacy, bounding=privacy.bounding)
        ranges = _ranges(Products(tuple(axis_of(kind) for kind in spec.kinds), ((),)))
        self._checked()
        errors, noise_scale = self._expected_errors(spec, ranges, rows) if privacy.private else (0.0, 0.0)
        sampling = 3 * _RESIDUAL**2 / rows * _to_units(ranges) ** 2
        return Forecast(
            rows=rows,
            guarantee=privacy.guarantee,
            noise_scale=noise_scale,
            error=float(np.sqrt(np.mean(errors + sampling))),
            what="a coefficient",
            assumption="features spread evenly between their bounds, a line in them, and residuals of a tenth of the "
            "target's range",
        )

    def _expected_errors(self, spec: FitSpec, ranges: Numbers, rows: int) -> tuple[Any, float]:
        """Return the mean squared error of each coefficient over draws of the noise, and the noise of one product."""
        through, penalty = self._through(ranges), self._penalty / ranges[:-1, 1] ** 2
        values = rows * _expected_moments(len(spec.features), through)
        request = self.build_request(spec)
        measure = request.parts[0].measure
        assert isinstance(measure, Products)  # noqa: S101 - for the type checker: all methods sum products
        exact, source = request.combine([expected_sums(measure, values)]), Seeded(0)
        plain = Moments(values=values, variance=np.zeros_like(values)).fit(through=through, penalty=penalty)
        twin, provenance = type(self)(**self.get_params(deep=False)), Provenance(seeded=True)
        found = [twin.finish_fit(request.release(exact, source), request, provenance).coef_ for _ in range(_DRAWS)]
        errors = np.mean((np.array(found) - plain.slopes * _to_units(ranges)) ** 2, axis=0)
        return errors, float(twin.noise_scale_)

    # --------------------------------------------------------------------------------------------------- learning

    def _begin(self, count: int) -> Any:
        self._checked()
        return super()._begin(count)

    def _checked(self) -> str:
        """Return the method; refuse parameters that make no sense before anything is paid for."""
        if not isinstance(self.fit_intercept, bool | np.bool_):
            raise ParameterError(f"fit_intercept must be True or False, not {safe_repr(self.fit_intercept)}.")
        _ = self._penalty
        return one_of_the_methods(self.method, self._methods)

    def build_request(self, spec: FitSpec) -> SummaryRequest:
        """Return the request for the sums of this fit."""
        method = self._checked()
        if method == "adassp":
            return thirds_for(spec)
        if method != "auto":
            from celosia.learn.functional.sums import linear_request

            return linear_request(spec, fit_intercept=bool(self.fit_intercept), sensitivity=self._sense)
        centred = all(axis.low + axis.high == 0 for axis in map(axis_of, spec.kinds))
        return plan_for(spec, linear=bool(self.fit_intercept) or not centred).request(spec)

    def solve_noisy(self, noisy: NDArray[np.int64], request: SummaryRequest, spec: FitSpec) -> None:  # noqa: ARG002 - the parent's
        """Set the learned attributes from noisy sums."""
        for name in ("noisy_moments_", "column_ranges_", "noise_kind_"):  # another fit's, perhaps without privacy
            self.__dict__.pop(name, None)
        if not isinstance(request, LeastSquares | AdaSSPRequest):
            from celosia.learn.functional.sums import solve_linear

            found = solve_linear(noisy, request, fit_intercept=bool(self.fit_intercept), sensitivity=self._sense)
            self.coef_, self.intercept_, self.noise_scale_ = found.coef, float(found.intercept), found.noise_scale
            self.lambda_ = 4 * found.noise_scale if self._sense == "tight" else 0.0
            return
        measure = request.parts[0].measure
        assert isinstance(measure, Products)  # noqa: S101 - for the type checker: both requests sum products
        ranges = _ranges(measure)
        through, penalty = self._through(ranges), self._penalty / ranges[:-1, 1] ** 2
        if isinstance(request, AdaSSPRequest):
            moments, line = request.moments(noisy), request.solve(noisy, through=through, penalty=penalty)
        else:
            moments = request.plan.moments(noisy, request.noise)
            line = moments.fit(through=through, penalty=penalty)
        self._keep(moments, ranges)
        self._take(line.slopes, line.constant)
        self.lambda_, self.noise_scale_ = line.floor, float(np.sqrt(moments.variance[1, -1]))

    def solve_exact(self, values: Numbers, target: NDArray[Any] | None) -> None:
        """Set the learned attributes without privacy."""
        from sklearn import linear_model

        assert target is not None  # noqa: S101 - for the type checker: a regression has one
        self._checked()
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
        self._keep(Moments(values=moments, variance=np.zeros_like(moments), noise="none"), ranges)

    def _keep(self, moments: Moments, ranges: Numbers) -> None:
        """Keep what intervals are made from: noisy moments, the variance of their noise, and the count's part in it."""
        carried = np.zeros_like(moments.values)
        np.fill_diagonal(carried, moments.carried)
        carried[0, 0] = 1.0
        self.noisy_moments_ = np.stack([moments.values, moments.variance, carried])
        self.column_ranges_, self.noise_kind_ = ranges, moments.noise

    def _moments(self) -> Moments:
        values, variance, carried = self.noisy_moments_
        return Moments(values=values, variance=variance, carried=float(carried[1, 1]), noise=self.noise_kind_)

    def _take(self, slopes: Numbers, constant: float) -> None:
        """Set the line in the caller's units."""
        middles, halves = self.column_ranges_.T
        self.coef_ = slopes * halves[-1] / halves[:-1]
        self.intercept_ = 0.0
        if self.fit_intercept:
            self.intercept_ = float(middles[-1] + halves[-1] * constant - self.coef_ @ middles[:-1])

    def _through(self, ranges: Numbers) -> Numbers | None:
        """Return the caller's origin in columns between -1 and 1, if the line goes through it."""
        if self.fit_intercept:
            return None
        middles, halves = ranges.T
        origin: Numbers = -middles / halves
        return origin

    def _combinations(self) -> Numbers:
        """Return which combinations of (constant, slopes) are the intercept and the coefficients."""
        count = len(self.column_ranges_) - 1
        if not self.fit_intercept:
            return np.eye(count)
        rows = np.eye(count + 1)
        middles, halves = self.column_ranges_[:-1].T
        rows[0, 1:] = -middles / halves
        return rows


def _ranges(products: Products) -> Numbers:
    """Return the middle and the half range of every column."""
    return np.column_stack([products.middles, products.halves])


def _to_units(ranges: Numbers) -> Numbers:
    """Return what a slope between columns of -1 to 1 is in the caller's units."""
    slopes: Numbers = ranges[-1, 1] / ranges[:-1, 1]
    return slopes


def _expected_moments(count: int, through: Numbers | None) -> Numbers:
    """Return the moments of one row of (1, features, target) that a forecast supposes.

    Features are spread evenly and independent; slopes are such that together they move the target over its range. The
    line goes ``through`` a point, if there is one and that can be within the bounds.
    """
    slopes = np.where(np.arange(count) % 2, -1.0, 1.0) / (2 * count**0.5)
    height = 0.0 if through is None else min(max(float(through[-1] - slopes @ through[:-1]), -1.0), 1.0)
    values = np.diag(np.concatenate([[1.0], np.full(count, 1 / 3), [float(slopes @ slopes) / 3 + _RESIDUAL**2]]))
    values[1:-1, -1] = values[-1, 1:-1] = slopes / 3
    values[0, -1] = values[-1, 0] = height
    values[-1, -1] += height**2
    return values
