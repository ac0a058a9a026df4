"""What private clustering has in common: parameters, fitting in passes, and what centres say about new points.

A fitted model holds noisy centres. With privacy it has no ``labels_`` and no ``inertia_``: they are functions of the
records themselves. The holder of records may call ``predict`` on them; the result belongs to the holder, and is not
part of the model.
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.metrics import pairwise_distances_argmin, pairwise_distances_argmin_min
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.validation import check_is_fitted

from celosia.core.adjacency import AddRemove
from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.learn.base.estimator import PrivateEstimator
from celosia.learn.base.forecast import ExpectedError
from celosia.learn.base.reading import read_features
from celosia.learn.cluster.passes import Extent, Passes, check_rows
from celosia.learn.privacy.parameters import axis_of, feature_kinds
from celosia.statistics.base.target import Target

if TYPE_CHECKING:
    from celosia.learn.cluster.passes import Add

_REFINING = 3
_MAX_EXTRA_PASSES = 5  # beyond `_REFINING`, with many clusters
_MAX_DEFAULT_PASSES = 15
_ROWS_OF_A_CLUSTER = 250  # supposed where no number is public
_MAX_REFINING_PASSES = 1000
_MAX_CLUSTERS = 2**16


@dataclass(kw_only=True, eq=False, repr=False)
class Clusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, PrivateEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """The base of ``KMeans`` and ``FuzzyCMeans``; a subclass shares a record out among centres.

    >>> from celosia.learn.cluster.k_means import KMeans
    >>> issubclass(KMeans, Clusterer)
    True
    """

    n_clusters: int = 8
    bounds: Any = None
    method: str = "auto"
    max_iter: int | None = None
    expected_rows: int | None = None
    n_init: Any = "auto"
    random_state: Any = None

    cluster_centers_: NDArray[np.float64] = field(init=False)
    n_iter_: int = field(init=False)
    labels_: NDArray[np.int32] = field(init=False)

    _whole = 1

    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense."""
        exact_integer(self.n_clusters, name="n_clusters")
        if self.max_iter is not None:
            exact_integer(self.max_iter, name="max_iter")
        if self.expected_rows is not None:
            exact_integer(self.expected_rows, name="expected_rows")

    def _add(self) -> "Add":
        """Return the kernel that adds rows to sums."""
        raise NotImplementedError

    def _plain(self, values: NDArray[np.float64]) -> None:
        """Set the centres without privacy, and the labels of the records."""
        raise NotImplementedError

    # --------------------------------------------------------------------------------------------------- learning

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002, N803 - scikit-learn's names
        """Learn centres from records: pay, and pass over them as often as was paid for.

        Without privacy, fewer records than clusters are refused. With privacy they are not, because that would tell
        their number: centres that no record is near to are noise.
        """
        with self._rollback_on_error():
            self._check_parameters()
            privacy = self.find_privacy_target()
            values = read_features(self, X, reset=True, least=1 if privacy.private else int(self.n_clusters))
            check_rows(len(values))
            for name in ("labels_", "inertia_"):  # of an earlier fit without privacy
                self.__dict__.pop(name, None)
            self._learn(values, privacy)
        return self

    def _learn(self, values: NDArray[np.float64], privacy: Target) -> None:
        if not privacy.private:
            if self.bounds is not None:
                box = self._box(values.shape[1])
                values = np.clip(values, box.low, box.high)
            self._plain(values)
            self._mark_non_private()
            return
        passes = self._passes(values.shape[1], privacy, len(values))
        with self._spend(privacy, passes.event, features=values.shape[1]) as payment:
            centres = passes.run(values, self._add(), payment.source)
            payment.deliver(centres)
        self.cluster_centers_, self.n_iter_ = centres, len(passes.sizes)
        self.noise_scale_ = passes.count_noise

    def _passes(self, features: int, privacy: Target, rows: int) -> Passes:
        """Return the passes of a fit. With a delta, noise is Gaussian, or Laplace where that moves a centre less.

        There are as many as the noise bears; that follows from public numbers only: see ``_rows_of_a_cluster``.
        """
        more = min(int(self.n_clusters) // 4, _MAX_EXTRA_PASSES)  # many centres are not all in the right place at once
        refining = _REFINING + more if self.max_iter is None else int(self.max_iter)
        if refining > _MAX_REFINING_PASSES:
            raise ParameterError("learn.too_many_iterations", most=_MAX_REFINING_PASSES, value=safe_repr(self.max_iter))
        if self.n_clusters > _MAX_CLUSTERS:  # a public limit, whatever the number of records
            raise ParameterError("learn.too_many_clusters", most=_MAX_CLUSTERS, value=safe_repr(self.n_clusters))
        targets = [privacy]
        if privacy.kind == "approximate":
            targets.append(replace(privacy, delta=Fraction(0)))
        plans = [self._plan_passes(features, target, refining) for target in targets]
        found, target = min(zip(plans, targets, strict=True), key=lambda plan: plan[0].push)
        if self.max_iter is None:
            most = min(found.bears(refining, self._rows_of_a_cluster(privacy, rows)), _MAX_DEFAULT_PASSES)
            found = self._plan_passes(features, target, refining, max(most - refining, 0))
        found.check()
        return found

    def _rows_of_a_cluster(self, privacy: Target, rows: int) -> float:
        """How many records a cluster may be supposed to have: their number is private, unless neighbours share it."""
        if self.expected_rows is not None:
            return int(self.expected_rows) / int(self.n_clusters)
        return _ROWS_OF_A_CLUSTER if privacy.adjacency is AddRemove else rows / int(self.n_clusters)

    def _plan_passes(self, features: int, privacy: Target, refining: int, more: int = 0) -> Passes:
        return Passes.plan(
            privacy,
            self._box(features, euclidean=privacy.kind != "pure"),
            clusters=int(self.n_clusters),
            whole=self._whole,
            refining=refining,
            more=more,
        )

    def _box(self, features: int, *, euclidean: bool = False) -> Extent:
        axes = [
            axis_of(kind) for kind in feature_kinds(self.bounds, features, getattr(self, "feature_names_in_", None))
        ]
        low, high = (np.array([float(getattr(axis, side)) for axis in axes]) for side in ("low", "high"))
        return Extent(low, high, euclidean=euclidean)

    def expect_error(self, rows: int, privacy: Target, n_features: int | None) -> ExpectedError:
        """Return how far noise would move a centre."""
        self._check_parameters()
        error = scale = 0.0
        if privacy.private:
            error, scale = self._forecast(rows, self._feature_count(n_features), privacy)
        return ExpectedError(
            error=error,
            noise_scale=scale,
            what="a cluster's centre",
            assumption="clusters of the same size, a quarter as wide as the bounds",
        )

    def _forecast(self, rows: int, features: int, privacy: Target) -> tuple[float, float]:
        """Return how far noise moves a centre, and ``noise_scale_``."""
        passes = self._passes(features, privacy, rows)
        return passes.error(rows / int(self.n_clusters)), passes.count_noise

    # ------------------------------------------------------------------------------------------ what centres say

    def predict(self, X: Any) -> NDArray[np.int32]:  # noqa: N803 - scikit-learn's names
        """Return the cluster whose centre is nearest, for each point."""
        found = pairwise_distances_argmin(self._points(X), self.cluster_centers_)
        return np.asarray(found, dtype=np.int32)

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.int32]:  # noqa: N803 - scikit-learn's names
        """Fit, and tell the holder of the records the nearest centre of each. Labels of records are not private."""
        self.fit(X, y)
        return self.labels_ if hasattr(self, "labels_") else self.predict(X)

    def transform(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's names
        """Return the distance to each centre, for each point."""
        return np.asarray(euclidean_distances(self._points(X), self.cluster_centers_))

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002, N803 - scikit-learn's names
        """Return minus the sum of squared distances to the nearest centres: a function of these points, not private."""
        found = pairwise_distances_argmin_min(self._points(X), self.cluster_centers_, metric="sqeuclidean")
        return -float(found[1].sum())

    def _points(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's names
        check_is_fitted(self, "cluster_centers_")
        return read_features(self, X, reset=False)

    @property
    def _n_features_out(self) -> int:
        return int(self.cluster_centers_.shape[0])
