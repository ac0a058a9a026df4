"""Private k-means: a few noisy passes of Lloyd's algorithm, each record in the cluster of its nearest centre.

A record belongs to one cluster at a time, so a pass costs the same however many there are. Sums are of displacements
from the centre, cut off where that costs less than noise: ``cluster_passes`` has the method, ``proofs/clustering.md``
what one record changes. After Blum, Dwork, McSherry and Nissim 2005, and Su, Cao, Li, Bertino and Jin 2016.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from celosia.learn.base.estimator import check_method
from celosia.learn.cluster.base import Clusterer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from celosia.learn.cluster.passes import Add


@dataclass(kw_only=True, eq=False, repr=False)
class KMeans(Clusterer):
    """Find ``n_clusters`` centres with a small sum of squared distances to the nearest.

    See ``celosia.learn`` for the parameters that are not listed.

    Parameters
    ----------
    n_clusters
        How many centres.
    epsilon, delta, rho
        What may be spent: epsilon alone (Laplace noise), a rho (Gaussian), or epsilon with a delta (whichever moves
        centres less). ``epsilon=inf`` is scikit-learn's own ``KMeans``, with its ``labels_`` and ``inertia_``.
    bounds
        Public bounds of the features: (low, high), numbers or arrays, or a schema. What lies outside is clipped.
        Distances are in the units of the features, as in scikit-learn: scale them before if they should count alike.
    method
        ``"auto"``: one centre that is doubled until there are enough, then refined. There is no other.
    max_iter
        How many passes refine the centres once all are there. By default 3 to 15, the more the larger epsilon and
        ``expected_rows`` are. Without privacy, scikit-learn's limit.
    expected_rows
        About how many records there will be, if that is public. Left out: 250 a cluster are supposed, because the
        number of records is private; for ``adjacency="replace-one"``, where it is not, it is the number itself.
    n_init, random_state
        For ``epsilon=inf`` only: scikit-learn's.

    Examples
    --------
    >>> import numpy as np
    >>> from celosia.noise import Seeded
    >>> X = np.repeat([[1.0, 9.0], [8.0, 2.0]], 500, axis=0)
    >>> model = KMeans(n_clusters=2, epsilon=1, bounds=(0, 10), source=Seeded(7)).fit(X)
    >>> bool(abs(np.sort(model.cluster_centers_, axis=0) - [[1, 2], [8, 9]]).max() < 1)
    True
    >>> model.guarantee_
    PureDP(epsilon=1)
    >>> KMeans(n_clusters=2, bounds=(0, 10)).preview(1000, epsilon=1, n_features=2).error < 0.5
    True
    """

    inertia_: float = field(init=False)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_method(self.method, ("auto",))

    def _add(self) -> "Add":
        from celosia.learn.cluster.kernels import add_nearest

        found: Add = add_nearest
        return found

    def _plain(self, values: "NDArray[np.float64]") -> None:
        from sklearn.cluster import KMeans as Plain

        more = {} if self.max_iter is None else {"max_iter": self.max_iter}
        found = Plain(self.n_clusters, n_init=self.n_init, random_state=self.random_state, **more).fit(values)
        self.cluster_centers_, self.n_iter_ = found.cluster_centers_, int(found.n_iter_)
        self.labels_, self.inertia_ = found.labels_, float(found.inertia_)
