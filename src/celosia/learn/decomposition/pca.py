"""Principal components of a noisy covariance matrix: counts, sums and second moments in one pass, under one noise.

Every distinct product is noised once (the upper triangle), together with the sums and the number of rows; the matrix is
symmetric because its lower triangle is a copy. Dwork, Talwar, Thakurta and Zhang, *Analyze Gauss*, 2014, for rows in a
box instead of a ball, with the exact sensitivities of the triangle (proofs/pca.md). What follows is post-processing:
means are cut at the bounds, and the covariance is replaced by the nearest matrix without negative eigenvalues.
"""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_is_fitted

from celosia.core.adjacency import ReplaceOne
from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.learn.base.fit_spec import FitSpec
from celosia.learn.base.forecast import ExpectedError
from celosia.learn.base.reading import read_features
from celosia.learn.base.summaries import SummaryEstimator
from celosia.learn.privacy.parameters import axis_of, ends_of, feature_kinds
from celosia.statistics.base.noise import RowSensitivity
from celosia.statistics.base.products import REACH, Products, moments_up_to
from celosia.statistics.base.summary_request import Part, SummaryRequest

if TYPE_CHECKING:
    from celosia.statistics.base.target import Target


@dataclass(kw_only=True, eq=False, repr=False)
class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SummaryEstimator):  # type: ignore[misc] # no types
    """Principal components, learned with differential privacy.

    ``bounds_`` is what the bounds of the features become along the components, two rows that the next step of a
    pipeline can be given; ``transform`` itself clips nothing. See ``celosia.learn`` for the parameters that are
    not listed.

    Parameters
    ----------
    n_components
        How many components: an integer, a share of the variance between 0 and 1, or None for all.
    whiten
        Whether ``transform`` divides each component by its standard deviation.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> even = np.linspace(-1, 1, 10_000)
    >>> model = PCA(n_components=1, epsilon=1, bounds=(-1, 1), source=Seeded(7))
    >>> model.fit(np.column_stack([even, even])).components_.round(2).tolist()
    [[0.71, 0.71]]
    >>> print(PCA(bounds=(0, 1)).preview(10_000, 1, n_features=3))
    With 10000 rows and PureDP(epsilon=1): a covariance, in units of half-ranges, is off by about 0.00115, supposing
    features that are not correlated, with means in the middle of their bounds.
    """

    learns: ClassVar[Literal["features", "number", "classes"]] = "features"
    least_rows = 2
    n_components: float | None = None
    whiten: bool = False

    components_: NDArray[np.float64] = field(init=False)
    explained_variance_: NDArray[np.float64] = field(init=False)
    explained_variance_ratio_: NDArray[np.float64] = field(init=False)
    singular_values_: NDArray[np.float64] = field(init=False)
    mean_: NDArray[np.float64] = field(init=False)
    noise_variance_: float = field(init=False)
    n_components_: int = field(init=False)
    n_samples_: float = field(init=False)
    bounds_: NDArray[np.float64] | None = field(init=False)

    # --------------------------------------------------------------------------------------------------- learning

    def build_request(self, spec: FitSpec) -> SummaryRequest:
        """Return the request for the sums of this fit."""
        count = len(spec.features)
        self._check(count)
        axes = tuple(axis_of(kind) for kind in spec.features)
        monomials = moments_up_to(2, count)
        rows, sums = _weights(count, pure=spec.privacy.kind == "pure")
        if spec.bounding.adjacency is ReplaceOne and not spec.droppable:  # no neighbour has another count
            rows = REACH**2
        weights = tuple((rows, sums, 1)[len(monomial)] for monomial in monomials)
        measure = Products(axes, monomials, weights)
        return spec.request(
            [Part(measure=measure, columns=tuple(range(count)))], triangle_row_sensitivity(measure.reaches, rows, sums)
        )

    def solve_noisy(self, noisy: NDArray[np.int64], request: SummaryRequest, spec: FitSpec) -> None:
        """Set the learned attributes from noisy sums."""
        measure = request.parts[0].measure
        assert isinstance(measure, Products)  # noqa: S101 - for the type checker
        size, weights = len(spec.features), np.array(measure.weights, dtype=np.float64)
        reaches, halves = np.array(measure.reaches, dtype=np.float64), np.array(measure.halves)
        moments = noisy / weights
        self.n_samples_ = max(float(moments[0]), 2.0)  # of fewer rows there is no covariance
        means = np.clip(moments[1 : size + 1] / (self.n_samples_ * reaches), -1.0, 1.0)
        second = np.empty((size, size))
        upper = np.triu_indices(size)
        second[upper] = moments[size + 1 :] / self.n_samples_
        second.T[upper] = second[upper]
        second /= np.outer(reaches, reaches)
        covariance = _nearest(second - np.outer(means, means)) * (self.n_samples_ / (self.n_samples_ - 1))
        self.mean_ = np.array(measure.middles) + means * halves
        self.noise_scale_ = math.sqrt(request.noise.variance) / float(reaches.max()) ** 2
        values, vectors = np.linalg.eigh(covariance * np.outer(halves, halves))
        self._keep(values[::-1], vectors.T[::-1])
        middles = np.array(measure.middles)
        self.bounds_ = self._project_bounds(middles - halves, middles + halves)

    def solve_exact(self, values: NDArray[np.float64], target: NDArray[Any] | None) -> None:  # noqa: ARG002 - none
        """Set the learned attributes without privacy."""
        from sklearn.decomposition import PCA as PlainPCA  # noqa: N811 - the same name

        self._check(values.shape[1])
        plain = PlainPCA(n_components=min(values.shape), svd_solver="full").fit(values)
        self.n_samples_, self.mean_ = float(len(values)), plain.mean_
        self._keep(plain.explained_variance_, plain.components_)
        self.bounds_ = None
        if self.bounds is not None:
            kinds = self._kinds(values.shape[1], getattr(self, "feature_names_in_", None))
            self.bounds_ = self._project_bounds(*np.array([ends_of(kind) for kind in kinds]).T)

    def _project_bounds(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return between what the coordinates of rows within bounds lie, along each component."""
        ends = np.array([(side - self.mean_) * self.components_ for side in (low, high)])
        bounds: NDArray[np.float64] = np.array([ends.min(axis=0).sum(axis=1), ends.max(axis=0).sum(axis=1)])
        return bounds / self._scales() if self.whiten else bounds

    def _keep(self, variances: NDArray[np.float64], components: NDArray[np.float64]) -> None:
        """Keep the first components, largest first, each with its largest entry positive as scikit-learn has it."""
        variances = np.maximum(variances, 0.0)
        shares = variances / max(variances.sum(), np.finfo(np.float64).tiny)
        kept = self._count_components(shares)
        _, self.components_ = svd_flip(None, components[:kept].copy(), u_based_decision=False)
        self.explained_variance_ = variances[:kept].copy()
        self.explained_variance_ratio_ = shares[:kept].copy()
        self.singular_values_ = np.sqrt(self.explained_variance_ * (self.n_samples_ - 1))
        self.noise_variance_ = float(variances[kept:].mean()) if kept < len(variances) else 0.0
        self.n_components_ = kept

    def _count_components(self, shares: NDArray[np.float64]) -> int:
        if self.n_components is None:
            return len(shares)
        if isinstance(self.n_components, float):
            return min(int(np.searchsorted(np.cumsum(shares), self.n_components, side="right")) + 1, len(shares))
        return min(self.n_components, len(shares))

    def _check(self, count: int) -> None:
        wanted: Any = self.n_components
        if not isinstance(self.whiten, bool):
            raise ParameterError("learn.whiten_not_boolean", value=safe_repr(self.whiten))
        if wanted is None or (isinstance(wanted, float) and 0.0 < wanted < 1.0):
            return
        if isinstance(wanted, float | str) or exact_integer(wanted, name="n_components") > count:
            raise ParameterError("learn.components_out_of_range", most=count, value=safe_repr(wanted))

    # ------------------------------------------------------------------------------------------------------ using

    def transform(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's names
        """Return the coordinates of rows along the components."""
        check_is_fitted(self)
        values = read_features(self, X, reset=False)
        projected: NDArray[np.float64] = (values - self.mean_) @ self.components_.T
        return projected / self._scales() if self.whiten else projected

    def inverse_transform(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's names
        """Return rows from their coordinates along the components."""
        check_is_fitted(self)
        coordinates = np.asarray(X, dtype=np.float64)
        if self.whiten:
            coordinates = coordinates * self._scales()
        rows: NDArray[np.float64] = coordinates @ self.components_ + self.mean_
        return rows

    def _scales(self) -> NDArray[np.float64]:
        scales: NDArray[np.float64] = np.sqrt(self.explained_variance_)
        scales[scales < np.finfo(np.float64).eps] = np.finfo(np.float64).eps
        return scales

    def get_covariance(self) -> NDArray[np.float64]:
        """Return the covariance matrix that the kept components, and equal variances beyond them, stand for."""
        check_is_fitted(self)
        beyond = np.maximum(self.explained_variance_ - self.noise_variance_, 0.0)
        covariance: NDArray[np.float64] = (self.components_.T * beyond) @ self.components_
        covariance.flat[:: len(covariance) + 1] += self.noise_variance_
        return covariance

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def expect_error(self, rows: int, privacy: "Target", n_features: int | None) -> ExpectedError:
        """Return how far off an entry of the covariance matrix would be."""
        count, scale = self._feature_count(n_features), 0.0
        if privacy.private:
            kinds = feature_kinds(self.bounds, count, getattr(self, "feature_names_in_", None))
            request = self.build_request(FitSpec(features=kinds, privacy=privacy, bounding=privacy.bounding))
            scale = math.sqrt(request.noise.variance) / REACH**2
        return ExpectedError(
            error=scale / rows,
            noise_scale=scale,
            what="a covariance, in units of half-ranges,",
            assumption="features that are not correlated, with means in the middle of their bounds",
        )


def triangle_row_sensitivity(reaches: tuple[int, ...], rows: int, sums: int) -> RowSensitivity:
    """Return how far one row moves the count times ``rows``, the sums times ``sums``, and the distinct products.

    The proof is in ``proofs/pca.md``. Between two rows the count does not move; the largest distances are
    (sum of squares + sums^2)^2 squared, and one that is attained where rows differ a little more than from 0.
    """
    reach, squares, count = sum(reaches), sum(far**2 for far in reaches), len(reaches)
    triangle = (reach**2 + squares) // 2
    return RowSensitivity(
        l1=rows + sums * reach + triangle,
        l2_squared=rows**2 + sums**2 * squares + (squares**2 + sum(far**4 for far in reaches)) // 2,
        replace_l1=sums * reach + triangle + (sums**2 * count) // (2 * (count + 1)),
        replace_l2_squared=(squares + sums**2) ** 2,
    )


def _weights(count: int, *, pure: bool) -> tuple[int, int]:
    """Return the weights of the count and of the sums beside products of weight 1.

    They make the error of the covariance about as small as can be for means at a third and variances at a fifth of what
    they could be; neither is given more than the products, so that sums of 2^30 rows fit in 64 bits.
    """
    if pure:
        rows, sums = (count**2 * (count + 1) / 200) ** (1 / 3), (count * (count + 1) / 90) ** (1 / 3)
    else:
        rows, sums = math.sqrt(count * math.sqrt(count + 1) / 14), math.sqrt(count / 10)
    return round(min(rows, 1.0) * REACH**2), round(min(sums, 1.0) * REACH)


def _nearest(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest symmetric matrix (in sums of squares) that has no negative eigenvalues."""
    values, vectors = np.linalg.eigh(matrix)
    nearest: NDArray[np.float64] = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return nearest
