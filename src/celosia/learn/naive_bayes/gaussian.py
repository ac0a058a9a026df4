"""Naive Bayes with normal columns: a noisy count, mean and variance for every class and column, measured at once.

One mechanism noises counts, sums and second moments of all classes together, so that nothing about a class, its size
included, is read for free (``class_moments``, ``proofs/class-moments.md``). The formulas of Vaidya, Shafiq, Basu and
Hong 2013, whose noise shrinks with the private size of a class, are there for comparison as ``method="seed"``: they do
not keep their promise.
"""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.core.warnings import NotPrivateWarning
from celosia.data.schema.columns import Real
from celosia.learn.base.class_moments import UNIT, moments_of, moments_request
from celosia.learn.base.class_normals import class_normals
from celosia.learn.base.estimator import one_of_the_methods
from celosia.learn.base.forecast import Forecast
from celosia.learn.base.summaries import FitSpec
from celosia.learn.naive_bayes.base import NaiveBayes, checked_priors
from celosia.learn.privacy.bounds import axis_of
from celosia.learn.privacy.target import Target
from celosia.mechanisms.laplace import Laplace
from celosia.noise.source import source_or_system
from celosia.statistics.base.summary_request import SummaryRequest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core import Source
    from celosia.core.adjacency import Adjacency
    from celosia.core.exact import Exact

_NUMBERS = int | float | np.integer | np.floating


class GaussianNB(NaiveBayes):
    """Private Gaussian naive Bayes, used like scikit-learn's.

    Means and variances are shrunk as far as the noise asks for (see ``class_normals``): with few rows or a small
    epsilon the classes become alike and what is left are their noisy shares.

    Parameters
    ----------
    epsilon, delta, rho
        What may be spent: epsilon alone (Laplace noise), epsilon and delta, or rho (Gaussian noise);
        ``epsilon=float("inf")`` is scikit-learn's classifier, without privacy.
    bounds
        (low, high) of the features, public: two numbers, two arrays, or a Schema. Values outside are clipped.
    classes
        The labels, public; ``"public"`` if everybody may know which occur.
    method
        ``"auto"``; ``"seed"`` adds noise to means and deviations by the private class size, which is **not private**.
    priors
        Probabilities of the classes, if they are known; else they are learned.
    var_smoothing
        The part of the largest variance, of those learned, that is added to all; how much that is stands in
        ``epsilon_``, which is scikit-learn's name for it and no privacy parameter.
    adjacency, budget, source
        Which neighbours are protected; who pays; where the noise comes from.

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
    """

    theta_: "NDArray[np.float64]"
    var_: "NDArray[np.float64]"
    class_prior_: "NDArray[np.float64]"
    class_count_: "NDArray[np.float64]"
    epsilon_: float

    def __init__(  # noqa: PLR0913 - the parameters of an estimator
        self,
        *,
        epsilon: "Exact | None" = 1.0,
        delta: "Exact | None" = None,
        rho: "Exact | None" = None,
        bounds: Any = None,
        classes: Any = None,
        method: str = "auto",
        priors: Any = None,
        var_smoothing: float = 1e-9,
        adjacency: "Adjacency | str | None" = None,
        budget: Any = None,
        source: "Source | None" = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.classes = classes
        self.method = method
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.adjacency = adjacency
        self.budget = budget
        self.source = source

    def preview(
        self,
        n: int,
        epsilon: "Exact | None" = None,
        *,
        delta: "Exact | None" = None,
        rho: "Exact | None" = None,
        n_features: int | None = None,
    ) -> Forecast:
        """Return what a fit on ``n`` rows would cost and how far off a mean would be; nothing is spent.

        >>> GaussianNB(bounds=(0, 10), classes=["a", "b"]).preview(1000, epsilon=1, n_features=2).error < 0.01
        True
        """
        rows, privacy = int(exact_integer(n, name="n")), self._forecast_target(epsilon, delta, rho)
        classes, error, scale = self._class_count(), 0.0, 0.0
        if privacy.private:
            kinds = (Real(-1, 1),) * self._feature_count(n_features)  # the noise in half ranges is the same for all
            spec = FitSpec(features=kinds, privacy=privacy, bounding=privacy.bounding, classes=tuple(range(classes)))
            request = moments_request(spec)
            moments = moments_of(request)
            noisy = moments.read(np.zeros(classes * moments.width, dtype=np.int64), request.noise)
            scale = float(noisy.sum_noise[0])
            error = min(float(np.hypot(scale, noisy.count_noise / 3**0.5)) / max(rows / classes, 1.0), 1.0) / 2
        return Forecast(
            rows=rows,
            guarantee=privacy.guarantee,
            noise_scale=scale,
            error=error,
            what="a mean of a class, as a part of the feature's range,",
            assumption=f"{classes} classes of the same size and means spread evenly between the bounds",
        )

    # --------------------------------------------------------------------------------------------------- learning

    def _privacy(self) -> Target:
        found = super()._privacy()
        if self.method != "seed" or not found.private:
            return found
        if found.kind != "pure" or self.budget is not None:
            raise ParameterError(
                'method="seed" takes an epsilon alone and no budget: it promises nothing that could be paid for.'
            )
        return Target.of(epsilon=float("inf"))

    def _begin(self, count: int) -> Any:
        method = one_of_the_methods(self.method, ("auto", "seed"))
        self._checked(len(self.classes_))
        if method == "seed" and super()._privacy().private:
            self._kinds(count, getattr(self, "feature_names_in_", None))  # its noise needs bounds, too
        return super()._begin(count)

    def _checked(self, classes: int) -> float:
        """Return the smoothing; refuse parameters that make no sense before anything is paid for."""
        if self.priors is not None:
            checked_priors(self.priors, classes)
        smoothing: object = self.var_smoothing
        if isinstance(smoothing, bool) or not isinstance(smoothing, _NUMBERS) or not 0 <= smoothing < float("inf"):
            raise ParameterError(f"var_smoothing must be a number of 0 or more, not {safe_repr(smoothing)}.")
        return float(smoothing)

    def build_request(self, spec: FitSpec) -> SummaryRequest:
        """Return the request for the sums of this fit."""
        if one_of_the_methods(self.method, ("auto", "seed")) == "seed":
            raise ParameterError(
                'method="seed" reads exact means and deviations, which no session gives: fit in memory.'
            )
        self._checked(len(spec.classes or ()))
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
        counts = np.bincount(target, minlength=len(self.classes_)).astype(np.float64)
        means = np.tile(values.mean(axis=0), (len(counts), 1))  # of a class that does not occur: those of all
        variances = np.tile(values.var(axis=0), (len(counts), 1))
        for place in np.flatnonzero(counts):
            rows = values[target == place]
            means[place], variances[place] = rows.mean(axis=0), rows.var(axis=0)
        if self.method == "seed" and super()._privacy().private:
            means, variances = self._seed_noise(counts, means, variances)
        largest = float(values.var(axis=0).max())
        self._take_normals(counts, counts / counts.sum(), means, variances, largest)

    def _seed_noise(
        self, counts: "NDArray[np.float64]", means: "NDArray[np.float64]", variances: "NDArray[np.float64]"
    ) -> tuple["NDArray[np.float64]", "NDArray[np.float64]"]:
        """Add noise of (u - l)/(n + 1) and sqrt(n)(u - l)/(n + 1) over epsilon to means and deviations of n rows."""
        message = (
            'method="seed" scales its noise by the private size of each class and shows the sizes as they are: '
            "nothing is promised. It is there for comparison."
        )
        warnings.warn(message, NotPrivateWarning, stacklevel=5)
        kinds = self._kinds(means.shape[1], getattr(self, "feature_names_in_", None))
        ranges = np.array([float(axis_of(kind).high - axis_of(kind).low) for kind in kinds])
        n = counts[:, None]
        unit = np.stack([ranges / (n + 1), np.sqrt(n) * ranges / (n + 1)])
        deviations = np.sqrt(variances * n / np.maximum(n - 1, 1))
        unit[1] = np.where(n > 0, unit[1], unit[0])  # a class without rows has a sensitivity of 0, which is no scale
        mechanism = Laplace(epsilon=super()._privacy().epsilon, sensitivity=1, grid="1/1048576")
        noise = np.asarray(mechanism.release(np.zeros(unit.size), source=source_or_system(self.source)).value)
        noisy = np.stack([means, deviations]) + noise.reshape(unit.shape) * unit
        return noisy[0], np.maximum(noisy[1], 1e-6 * ranges) ** 2

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
        self.epsilon_ = self._checked(len(counts)) * largest
        self.class_count_ = counts
        self.class_prior_ = shares if self.priors is None else checked_priors(self.priors, len(counts))
        self.theta_, self.var_ = means, variances + self.epsilon_

    def _joint_log_likelihood(self, values: "NDArray[np.float64]") -> "NDArray[np.float64]":
        out = np.empty((len(values), len(self.classes_)))
        with np.errstate(divide="ignore"):  # a class without rows has the probability 0
            priors = np.log(self.class_prior_)
        for place, (mean, variance) in enumerate(zip(self.theta_, self.var_, strict=True)):
            constant = priors[place] - 0.5 * np.log(2 * np.pi * variance).sum()
            out[:, place] = constant - 0.5 * ((values - mean) ** 2 / variance).sum(axis=1)
        return out
