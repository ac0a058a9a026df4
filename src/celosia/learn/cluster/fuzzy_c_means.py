"""Private fuzzy c-means: every record belongs to every cluster, to a degree that only the holder of a point computes.

The centres are means of records weighed by their memberships to the power m (Dunn 1973; Bezdek 1981). The weights of
one record sum to at most 1 over all clusters, so a pass costs no more than that of k-means, however many clusters there
are: ``proofs/clustering.md``. Memberships of the records are never released; ``predict_membership`` is for new points.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances, pairwise_distances_argmin

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.learn.base.estimator import check_method
from celosia.learn.cluster.base import Clusterer
from celosia.mechanisms.laplace import Laplace
from celosia.noise.source import Seeded
from celosia.statistics.base.target import Target

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core import Source
    from celosia.learn.cluster.passes import Add

_GRID = Fraction(1, 2**20)
_ITERATIONS = 10  # of the method of Algorithm 6 in its source, which names no number
_MAX_ITERATIONS = 10_000
_CONVERGED = 1e-10
_MAX_FUZZINESS = 1000  # of two memberships of a half to that power, doubles still tell something


@dataclass(kw_only=True, eq=False, repr=False)
class FuzzyCMeans(Clusterer):
    """Find ``n_clusters`` centres, and tell how far new points belong to each.

    Parameters
    ----------
    n_clusters, m
        How many centres, and the fuzziness: above 1 (near k-means), usually 2, at most 1000.
    epsilon, delta, rho
        What may be spent: epsilon alone (Laplace noise), a rho (Gaussian), or epsilon with a delta (whichever moves
        centres less). ``epsilon=inf`` is the plain algorithm, run until it converges, with ``labels_``.
    bounds
        Public bounds of the features: (low, high), numbers or arrays, or a schema. What lies outside is clipped.
        Distances are in the units of the features: scale them before if they should count alike.
    method
        ``"auto"``: noisy passes over bounded displacements. ``"published"``: noise on distances and on centres in the
        unit cube (Ortiz Rosas 2025, Algorithm 6), with an epsilon alone. It keeps its guarantee, but the noise of each
        centre is a multiple of the whole cube: for comparison.
    max_iter
        How many passes refine the centres once all are there. By default 3 to 15, the more the larger epsilon and
        ``expected_rows`` are. For ``"published"``, and without privacy, all iterations; 10 for ``"published"``.
    expected_rows
        About how many records there will be, if that is public. Left out: 250 a cluster are supposed, because the
        number of records is private; for ``adjacency="replace-one"``, where it is not, it is the number itself.
    n_init, random_state
        For ``epsilon=inf`` only: of scikit-learn's ``KMeans``, whose centres the plain algorithm starts from.
    adjacency, budget, source
        As for all estimators: see ``celosia.learn``.

    Examples
    --------
    >>> import numpy as np
    >>> from celosia.noise import Seeded
    >>> X = np.repeat([[1.0, 9.0], [8.0, 2.0]], 500, axis=0)
    >>> model = FuzzyCMeans(n_clusters=2, epsilon=1, bounds=(0, 10), source=Seeded(7)).fit(X)
    >>> bool(model.predict_membership([[1.0, 9.0]]).max() > 0.95)
    True
    """

    n_clusters: int = 2
    m: float = 2.0

    _whole = 2**17

    def _rows_of_a_cluster(self, privacy: Target, rows: int) -> float:
        """Records lie between centres: their shares to the power m are all that a cluster has of them."""
        return super()._rows_of_a_cluster(privacy, rows) / int(self.n_clusters)

    def predict_membership(self, X: Any) -> "NDArray[np.float64]":  # noqa: N803 - scikit-learn's names
        """Return how far each point belongs to each cluster: shares that sum to 1.

        A point that lies on centres belongs to them alone, in equal parts.
        """
        return self._memberships(self._squares(self._points(X), self.cluster_centers_))

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002, N803 - scikit-learn's names
        """Return minus the sum of squared distances weighed by memberships to the power m: of these points."""
        squares = self._squares(self._points(X), self.cluster_centers_)
        return -float((self._memberships(squares) ** self.m * squares).sum())

    def _check_parameters(self) -> None:
        super()._check_parameters()
        m: object = self.m
        known = isinstance(m, int | float | np.integer | np.floating) and not isinstance(m, bool)
        if not known or not 1 < m <= _MAX_FUZZINESS or float(m) == 1:  # type: ignore[operator,arg-type] # a number
            raise ParameterError("learn.fuzziness_out_of_range", most=_MAX_FUZZINESS, value=safe_repr(m))
        check_method(self.method, ("auto", "published"))

    def _add(self) -> "Add":
        from celosia.learn.cluster.kernels import add_fuzzy

        kernel: Add = add_fuzzy

        def add(*arrays: Any) -> None:
            kernel(*arrays, float(self.m), self._whole)

        return add

    def _memberships(self, squares: "NDArray[np.float64]", power: float | None = None) -> "NDArray[np.float64]":
        """Return memberships from squared distances, each to the power 1/(m - 1) of the nearest one's share."""
        nearest = squares.min(axis=1, keepdims=True)
        ratio = np.ones_like(squares)
        np.divide(nearest, squares, out=ratio, where=squares > nearest)
        shares = ratio ** (1 / (float(self.m) - 1) if power is None else power)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    @staticmethod
    def _squares(points: "NDArray[np.float64]", centres: "NDArray[np.float64]") -> "NDArray[np.float64]":
        return np.asarray(euclidean_distances(points, centres, squared=True))

    # ------------------------------------------------------------------------------------------------- no privacy

    def _plain(self, values: "NDArray[np.float64]") -> None:
        from sklearn.cluster import KMeans

        start = KMeans(self.n_clusters, n_init=self.n_init, random_state=self.random_state).fit(values)
        centres: NDArray[np.float64] = start.cluster_centers_
        most = _MAX_ITERATIONS if self.max_iter is None else self.max_iter
        self.n_iter_, moving = 0, True
        while moving and self.n_iter_ < most:
            before, centres = centres, self._means(values, self._memberships(self._squares(values, centres)))
            moving = bool(np.abs(centres - before).max() > _CONVERGED * np.abs(centres).max())
            self.n_iter_ += 1
        self.cluster_centers_ = centres
        self.labels_ = pairwise_distances_argmin(values, centres).astype(np.int32)

    def _means(self, values: "NDArray[np.float64]", memberships: "NDArray[np.float64]") -> "NDArray[np.float64]":
        weights = memberships ** float(self.m)
        return np.asarray(weights.T @ values / np.maximum(weights.sum(axis=0), 1e-300)[:, None])

    # --------------------------------------------------------------------------------------- the published method

    def _learn(self, values: "NDArray[np.float64]", privacy: Target) -> None:
        if self.method == "auto" or not privacy.private:
            super()._learn(values, privacy)
            return
        box, published = self._box(values.shape[1]), self._published_noise(values.shape[1], privacy)
        published.noise.release(np.zeros((int(self.n_clusters), values.shape[1])), source=Seeded(0))  # can it be drawn?
        event = published.spent.event(*[published.noise.event] * published.iterations)
        with self._spend(published.spent, event, features=values.shape[1]) as payment:
            unit = (np.clip(values, box.low, box.high) - box.low) / (box.high - box.low)
            centres = box.low + self._iterate_published(unit, published, payment.source) * (box.high - box.low)
            payment.deliver(centres)
        self.cluster_centers_, self.n_iter_ = centres, published.iterations
        self.noise_scale_ = published.deviation

    def _forecast(self, rows: int, features: int, privacy: Target) -> tuple[float, float]:
        if self.method == "auto":
            return super()._forecast(rows, features, privacy)
        box, noise = self._box(features), self._published_noise(features, privacy).deviation
        return min(noise, 1.0) * float(np.sqrt((box.half**2).sum())), noise

    def _published_noise(self, features: int, privacy: Target) -> "_PublishedNoise":
        """Return the noise of the published method. Centres lie in the unit cube: no more of it has to be hidden."""
        if privacy.kind != "pure":
            raise ParameterError("learn.published_clustering_only_epsilon")
        clusters = int(self.n_clusters)
        iterations = _ITERATIONS if self.max_iter is None else int(self.max_iter)
        part = privacy.epsilon / (iterations * clusters * (2 + features))
        noise = Laplace(
            epsilon=part * clusters * features / 3,
            sensitivity=clusters * features,
            grid=_GRID,
            dimension=clusters * features,
            adjacency=privacy.adjacency,
            unit=privacy.unit,
        )
        return _PublishedNoise(
            part=part, iterations=iterations, noise=noise, spent=privacy.with_amount(noise.epsilon * iterations)
        )

    def _iterate_published(
        self, unit: "NDArray[np.float64]", published: "_PublishedNoise", source: "Source"
    ) -> "NDArray[np.float64]":
        """Iterate as published: its distances have noise of 3 sqrt(d)/part, and the exponent 1/(m - 1)."""
        shape = (int(self.n_clusters), unit.shape[1])
        centres = (source.words(shape[0] * shape[1]) / 2.0**64).reshape(shape)
        one = Laplace(epsilon=1, sensitivity=1, grid=_GRID)
        scale, power = 3 * shape[1] ** 0.5 / float(published.part), 1 / (float(self.m) - 1)
        for _ in range(published.iterations):
            distances = np.sqrt(self._squares(unit, centres))
            noise = np.asarray(one.release(np.zeros(distances.shape), source=source).value) * scale
            # A power of a negative number has no meaning: the sign of a noisy distance is dropped.
            memberships = self._memberships(np.abs(distances + noise), power)
            means = np.clip(self._means(unit, memberships), 0.0, 1.0)
            centres = np.clip(published.noise.release(means, source=source).value, 0.0, 1.0)
        return centres


@dataclass(frozen=True, slots=True, kw_only=True)
class _PublishedNoise:
    """The noise of the published method: of each of ``iterations`` on all centres, and the part of epsilon it names."""

    part: Fraction
    iterations: int
    noise: Laplace
    spent: Target

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of one coordinate, in widths of the cube."""
        return float(2**0.5 * 3 / self.part)
