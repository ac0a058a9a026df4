"""Gaussian naive Bayes with the published noise, which depends on the private size of each class.

Vaidya, Shafiq, Basu and Hong 2013 add noise to the mean and the deviation of each column and class. The scale of the
noise shrinks with the number of rows of the class, and the class sizes are released as they are, so the method gives
no guarantee. ``celosia.learn.GaussianNB`` is the private estimator.
"""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import NotPrivateWarning, ParameterError
from celosia.learn.naive_bayes.gaussian import GaussianNB, class_statistics
from celosia.learn.privacy.parameters import axis_of
from celosia.mechanisms.laplace import Laplace
from celosia.noise.source import source_or_system
from celosia.statistics.base.target import Target

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.learn.base.fit_spec import FitSpec
    from celosia.statistics.base.summary_request import SummaryRequest

_GRID = "1/1048576"


class PublishedGaussianNB(GaussianNB):
    """Gaussian naive Bayes with noise by the private class size: **not private**, for comparison.

    The parameters are those of ``celosia.learn.GaussianNB``, with an epsilon alone and no budget.

    >>> import warnings
    >>> X, y = np.array([[1.0], [2.0], [8.0], [9.0]]), [0, 0, 1, 1]
    >>> with warnings.catch_warnings(action="ignore"):
    ...     model = PublishedGaussianNB(epsilon=1, bounds=(0, 10), classes=[0, 1]).fit(X, y)
    >>> model.guarantee_ is None
    True
    """

    def find_privacy_target(self) -> Target:
        """Return a target without privacy: what was published has no guarantee."""
        found = super().find_privacy_target()
        if found.private and (found.kind != "pure" or self.budget is not None):
            raise ParameterError("experiments.no_guarantee_to_pay")
        return Target.of(epsilon=float("inf"))

    def _begin(self, count: int) -> Any:
        self._kinds(count, getattr(self, "feature_names_in_", None))  # the noise needs bounds
        return super()._begin(count)

    def build_request(self, spec: "FitSpec") -> "SummaryRequest":  # noqa: ARG002 - the parent's
        """Raise: no session gives exact means and deviations."""
        raise ParameterError("experiments.no_fit_in_session")

    def solve_exact(self, values: "NDArray[np.float64]", target: "NDArray[Any] | None") -> None:
        """Set the learned attributes from exact statistics with the published noise."""
        assert target is not None  # noqa: S101 - for the type checker: a classifier has one
        counts, means, variances = class_statistics(values, target, len(self.classes_))
        privacy = super().find_privacy_target()
        if privacy.private:
            means, variances = self._add_noise(privacy, counts, means, variances)
        self._take_normals(counts, counts / counts.sum(), means, variances, float(values.var(axis=0).max()))

    def _add_noise(
        self,
        privacy: Target,
        counts: "NDArray[np.float64]",
        means: "NDArray[np.float64]",
        variances: "NDArray[np.float64]",
    ) -> tuple["NDArray[np.float64]", "NDArray[np.float64]"]:
        """Add noise of (u - l)/(n + 1) and sqrt(n)(u - l)/(n + 1) over epsilon to means and deviations of n rows."""
        message = (
            "PublishedGaussianNB scales its noise by the private size of each class and releases the sizes as they "
            "are: it is not private. It is for comparison."
        )
        warnings.warn(message, NotPrivateWarning, stacklevel=5)
        kinds = self._kinds(means.shape[1], getattr(self, "feature_names_in_", None))
        ranges = np.array([float(axis_of(kind).high - axis_of(kind).low) for kind in kinds])
        n = counts[:, None]
        unit = np.stack([ranges / (n + 1), np.sqrt(n) * ranges / (n + 1)])
        deviations = np.sqrt(variances * n / np.maximum(n - 1, 1))
        unit[1] = np.where(n > 0, unit[1], unit[0])  # an empty class has a sensitivity of 0, which is no scale
        mechanism = Laplace(epsilon=privacy.epsilon, sensitivity=1, grid=_GRID)
        noise = np.asarray(mechanism.release(np.zeros(unit.size), source=source_or_system(self.source)).value)
        noisy = np.stack([means, deviations]) + noise.reshape(unit.shape) * unit
        return noisy[0], np.maximum(noisy[1], 1e-6 * ranges) ** 2
