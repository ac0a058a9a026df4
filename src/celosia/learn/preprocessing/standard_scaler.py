"""Standardising columns: noisy means and deviations, measured at once for all columns.

Scaling reads the data, so it is paid for like anything else. Counts, sums and second moments of all columns are noised
in one mechanism (``class_moments``, ``proofs/class-moments.md``); with the noisy mean and deviation the public bounds
of a column become public bounds of what it is scaled to, for the next step.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.preprocessing import StandardScaler as PlainScaler
from sklearn.utils.validation import check_is_fitted

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.learn.base.class_moments import UNIT, expect_mean_error, moments_of, moments_request
from celosia.learn.base.class_normals import column_normals
from celosia.learn.base.estimator import check_method
from celosia.learn.base.fit_spec import FitSpec
from celosia.learn.base.forecast import ExpectedError
from celosia.learn.base.reading import read_features
from celosia.learn.base.summaries import SummaryEstimator
from celosia.learn.privacy.parameters import ends_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.statistics.base.summary_request import SummaryRequest
    from celosia.statistics.base.target import Target


@dataclass(kw_only=True, eq=False, repr=False)
class StandardScaler(OneToOneFeatureMixin, TransformerMixin, SummaryEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """Private standardisation, used like scikit-learn's.

    ``fit`` clips to the bounds; ``transform`` scales what it is given and clips nothing. ``bounds_`` is what the bounds
    of the features become, two rows of numbers that the next step of a pipeline can take as its ``bounds``: public, as
    the noisy means and deviations are. A variance that is smaller than three deviations of its noise is set to that (or
    to what a column has that is spread evenly between its bounds, if that is less), so that no column is blown up by
    noise. See ``celosia.learn`` for the parameters that are not listed.

    Parameters
    ----------
    method
        ``"auto"``, there is no other.
    with_mean, with_std
        Whether to centre, and whether to scale.

    Examples
    --------
    >>> import numpy as np
    >>> from celosia.noise import Seeded
    >>> ages = np.arange(0, 100, 0.05).reshape(-1, 1)
    >>> scaler = StandardScaler(epsilon=1, bounds=(0, 120), source=Seeded(7)).fit(ages)
    >>> scaler.mean_.round().tolist(), scaler.scale_.round().tolist()
    ([50.0], [29.0])
    >>> scaler.bounds_.round(1).tolist()
    [[-1.7], [2.4]]
    >>> StandardScaler(bounds=(0, [1, 120])).preview(1000, epsilon=1).error < 0.003
    True
    """

    method: str = "auto"
    with_mean: bool = True
    with_std: bool = True

    mean_: "NDArray[np.float64] | None" = field(init=False)
    var_: "NDArray[np.float64] | None" = field(init=False)
    scale_: "NDArray[np.float64] | None" = field(init=False)
    bounds_: "NDArray[np.float64] | None" = field(init=False)
    n_samples_seen_: int = field(init=False)

    def transform(self, X: Any) -> "NDArray[np.float64]":  # noqa: N803 - scikit-learn's names
        """Return (X - mean) / deviation."""
        check_is_fitted(self)
        values = read_features(self, X, reset=False)
        return self._scale(values)

    def inverse_transform(self, X: Any) -> "NDArray[np.float64]":  # noqa: N803 - scikit-learn's names
        """Return X times the deviation plus the mean."""
        check_is_fitted(self)
        values = np.array(read_features(_Reader(self.n_features_in_), X, reset=False))
        if self.scale_ is not None:
            values *= self.scale_
        if self.with_mean and self.mean_ is not None:
            values += self.mean_
        return values

    def _scale(self, values: "NDArray[np.float64]") -> "NDArray[np.float64]":
        scaled = np.array(values)
        if self.with_mean and self.mean_ is not None:
            scaled -= self.mean_
        if self.scale_ is not None:
            scaled /= self.scale_
        return scaled

    def expect_error(self, rows: int, privacy: "Target", n_features: int | None) -> ExpectedError:
        """Return how far off a mean would be."""
        error, scale = 0.0, 0.0
        if privacy.private:
            error, scale = expect_mean_error(rows, privacy, self._feature_count(n_features))
        return ExpectedError(
            error=error,
            noise_scale=scale,
            what="a mean, as a part of the feature's range,",
            assumption="means spread evenly between the bounds",
        )

    # --------------------------------------------------------------------------------------------------- learning

    def _check_parameters(self) -> None:
        check_method(self.method, ("auto",))
        for name in ("with_mean", "with_std"):
            given = getattr(self, name)
            if not isinstance(given, bool | np.bool_):
                raise ParameterError("core.not_a_boolean", name=name, value=safe_repr(given))

    def _begin(self, count: int) -> Any:
        self._check_parameters()
        return super()._begin(count)

    def build_request(self, spec: FitSpec) -> "SummaryRequest":
        """Return the request for the sums of this fit."""
        self._check_parameters()
        return moments_request(spec)

    def solve_noisy(self, noisy: "NDArray[np.int64]", request: "SummaryRequest", spec: FitSpec) -> None:  # noqa: ARG002 - the parent's
        """Set the learned attributes from noisy sums."""
        moments = moments_of(request)
        read = moments.read(noisy, request.noise)
        normals = column_normals(read)
        middle, half = np.array(moments.products.middles), np.array(moments.products.halves)
        self.noise_scale_ = float(request.noise.variance**0.5 / UNIT)
        self.n_samples_seen_ = max(round(float(read.counts[0])), 0)
        self.mean_ = middle + normals.means[0] * half
        self.var_ = normals.variances[0] * half**2 if self.with_std else None
        self.scale_ = None if self.var_ is None else np.sqrt(self.var_)
        self.bounds_ = self._scale(np.array([middle - half, middle + half]))

    def solve_exact(self, values: "NDArray[np.float64]", target: "NDArray[Any] | None") -> None:  # noqa: ARG002 - the parent's
        """Set the learned attributes without privacy."""
        plain = PlainScaler(with_mean=self.with_mean, with_std=self.with_std).fit(values)
        self.mean_, self.var_, self.scale_ = plain.mean_, plain.var_, plain.scale_
        self.n_samples_seen_ = int(plain.n_samples_seen_)
        self.bounds_ = None
        if self.bounds is not None:
            kinds = self._kinds(values.shape[1], getattr(self, "feature_names_in_", None))
            self.bounds_ = self._scale(np.array([ends_of(kind) for kind in kinds]).T)


class _Reader(BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """A stand-in for a fitted estimator with a number of unnamed features."""

    def __init__(self, features: int) -> None:
        self.n_features_in_ = features
