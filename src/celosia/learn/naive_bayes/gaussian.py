"""Naive Bayes with normal columns: a noisy count, mean and variance for every class and column, measured at once.

One mechanism noises counts, sums and second moments of all classes together, so that nothing about a class, its size
included, is read for free (``class_moments``, ``proofs/class-moments.md``). The noise of Vaidya, Shafiq, Basu
and Hong 2013 shrinks with the private size of a class, which is not private: ``celosia.experiments.baselines`` has it.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.learn.base.class_moments import UNIT, expect_mean_error, moments_of, moments_request
from celosia.learn.base.class_normals import class_normals
from celosia.learn.base.estimator import check_method
from celosia.learn.base.fit_spec import FitSpec
from celosia.learn.base.forecast import ExpectedError
from celosia.learn.naive_bayes.base import NaiveBayes, check_priors
from celosia.statistics.base.summary_request import SummaryRequest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.statistics.base.target import Target

_NUMBERS = int | float | np.integer | np.floating


@dataclass(kw_only=True, eq=False, repr=False)
class GaussianNB(NaiveBayes):
    """Private Gaussian naive Bayes, used like scikit-learn's.

    Means and variances are shrunk according to the noise (see ``class_normals``): with few rows or a small
    epsilon the classes become alike, and only their noisy shares differ. See ``celosia.learn`` for the
    parameters that are not listed.

    Parameters
    ----------
    method
        ``"auto"``, the only one.
    priors
        Probabilities of the classes, if they are known; else they are learned.
    var_smoothing
        The part of the largest variance, of those learned, that is added to all; how much that is stands in
        ``epsilon_``, which is scikit-learn's name for it and no privacy parameter.

    Examples
    --------
    >>> import numpy as np
    >>> from celosia.noise import Seeded
    >>> X = np.repeat([[1.0, 9.0], [8.0, 2.0]], 500, axis=0)
    >>> y = np.repeat(["a", "b"], 500)
    >>> model = GaussianNB(epsilon=1, bounds=(0, 10), classes=["a", "b"], source=Seeded(7)).fit(X, y)
    >>> model.predict([[0.5, 8.0], [9.0, 1.0]]).tolist()
    ['a', 'b']
    >>> model.guarantee_
    PureDP(epsilon=1)
    >>> GaussianNB(bounds=(0, 10), classes=["a", "b"]).preview(1000, epsilon=1, n_features=2).error < 0.01
    True
    """

    priors: Any = None
    var_smoothing: float = 1e-9

    theta_: "NDArray[np.float64]" = field(init=False)
    var_: "NDArray[np.float64]" = field(init=False)
    class_prior_: "NDArray[np.float64]" = field(init=False)
    class_count_: "NDArray[np.float64]" = field(init=False)
    epsilon_: float = field(init=False)

    def expect_error(self, rows: int, privacy: "Target", n_features: int | None) -> ExpectedError:
        """Return how far off a mean of a class would be."""
        classes, error, scale = self._class_count(), 0.0, 0.0
        if privacy.private:
            error, scale = expect_mean_error(rows, privacy, self._feature_count(n_features), classes)
        return ExpectedError(
            error=error,
            noise_scale=scale,
            what="a mean of a class, as a part of the feature's range,",
            assumption=f"{classes} classes of the same size and means spread evenly between the bounds",
        )

    # --------------------------------------------------------------------------------------------------- learning

    def _check_parameters(self, classes: int) -> float:
        """Return the smoothing; refuse parameters that make no sense before anything is paid for."""
        check_method(self.method, ("auto",))
        if self.priors is not None:
            check_priors(self.priors, classes)
        smoothing: object = self.var_smoothing
        if isinstance(smoothing, bool) or not isinstance(smoothing, _NUMBERS) or not 0 <= smoothing < float("inf"):
            raise ParameterError("learn.smoothing_negative", value=safe_repr(smoothing))
        return float(smoothing)

    def build_request(self, spec: FitSpec) -> SummaryRequest:
        """Return the request for the sums of this fit."""
        self._check_parameters(len(spec.classes or ()))
        return moments_request(spec)

    def solve_noisy(self, noisy: "NDArray[np.int64]", request: SummaryRequest, spec: FitSpec) -> None:  # noqa: ARG002 - the parent's
        """Set the learned attributes from noisy sums."""
        moments = moments_of(request)
        read = moments.read(noisy, request.noise)
        normals = class_normals(read)
        half = np.array(moments.products.halves)
        means = np.array(moments.products.middles) + normals.means * half
        self.noise_scale_ = float(request.noise.variance**0.5 / UNIT)
        self._take_normals(np.maximum(read.counts, 0.0), normals.shares, means, normals.variances * half**2)

    def solve_exact(self, values: "NDArray[np.float64]", target: "NDArray[Any] | None") -> None:
        """Set the learned attributes without privacy."""
        assert target is not None  # noqa: S101 - for the type checker: a classifier has one
        counts, means, variances = class_statistics(values, target, len(self.classes_))
        self._take_normals(counts, counts / counts.sum(), means, variances, float(values.var(axis=0).max()))

    def _take_normals(
        self,
        counts: "NDArray[np.float64]",
        shares: "NDArray[np.float64]",
        means: "NDArray[np.float64]",
        variances: "NDArray[np.float64]",
        largest: float | None = None,
    ) -> None:
        if largest is None:  # of all rows: within classes, and between their means
            middle = shares @ means
            largest = float((shares @ (variances + (means - middle) ** 2)).max())
        self.epsilon_ = self._check_parameters(len(counts)) * largest
        self.class_count_ = counts
        self.class_prior_ = shares if self.priors is None else check_priors(self.priors, len(counts))
        self.theta_, self.var_ = means, variances + self.epsilon_

    def _joint_log_likelihood(self, values: "NDArray[np.float64]") -> "NDArray[np.float64]":
        out = np.empty((len(values), len(self.classes_)))
        with np.errstate(divide="ignore"):  # a class without rows has the probability 0
            priors = np.log(self.class_prior_)
        for place, (mean, variance) in enumerate(zip(self.theta_, self.var_, strict=True)):
            constant = priors[place] - 0.5 * np.log(2 * np.pi * variance).sum()
            out[:, place] = constant - 0.5 * ((values - mean) ** 2 / variance).sum(axis=1)
        return out


def class_statistics(
    values: "NDArray[np.float64]", target: "NDArray[np.int64]", classes: int
) -> "tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]":
    """Return the exact size, means and variances of each class; an empty class has those of all rows."""
    counts = np.bincount(target, minlength=classes).astype(np.float64)
    means = np.tile(values.mean(axis=0), (classes, 1))
    variances = np.tile(values.var(axis=0), (classes, 1))
    for place in np.flatnonzero(counts):
        rows = values[target == place]
        means[place], variances[place] = rows.mean(axis=0), rows.var(axis=0)
    return counts, means, variances
