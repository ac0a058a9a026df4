"""Naive Bayes with categories: how often each category occurs in each class, all counts noised at once.

A record is one count in one category of every feature, in one class: 1 in each of d histograms, whatever it holds. So
d is how far an added or removed record moves all counts together, 2d a replaced one (squared lengths d and 2d). The
size of a class is not measured: every histogram adds up to it, and the noisy histograms are made to agree (Hay,
Rastogi, Miklau and Suciu 2010). The proof is in ``proofs/class-moments.md``.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import safe_repr
from celosia.data.schema.columns import Category, Kind
from celosia.learn.base.class_normals import least_count
from celosia.learn.base.estimator import check_method
from celosia.learn.base.fit_spec import FitSpec
from celosia.learn.base.forecast import ExpectedError
from celosia.learn.base.reading import read_values
from celosia.learn.naive_bayes.base import NaiveBayes, check_priors
from celosia.learn.naive_bayes.categories import category_kinds, places_in
from celosia.statistics.base.noise import ContributionBounds, RowSensitivity
from celosia.statistics.base.summary_request import Part, SummaryRequest
from celosia.statistics.moments.measures import Bins

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from celosia.statistics.base.target import Target

_NUMBERS = int | float | np.integer | np.floating
_LEAST_ALPHA = 1e-10  # below, the logarithm of a count of 0 would not be a number
_HALF = 0.5  # of the noise's deviation: what every category gets from those of all classes, before logarithms


@dataclass(kw_only=True, eq=False, repr=False)
class CategoricalNB(NaiveBayes):
    """Private naive Bayes for features that are categories, used like scikit-learn's.

    A category that was not declared is refused in ``fit`` and ignored in ``predict``, where its feature then says
    nothing about the record. See ``celosia.learn`` for the parameters that are not listed.

    Parameters
    ----------
    categories
        The categories of each feature, public: a list of values, or how many there are (then they are 0, 1, ...); one
        number for all features alike.
        Features of texts may be given as texts, or as their places in the list.
    bounds
        Instead of ``categories``, a Schema (or a mapping of names to kinds) that lists them.
    method
        ``"auto"``, there is no other.
    alpha
        Additive smoothing, as in scikit-learn.
    fit_prior, class_prior
        Whether to learn the probabilities of the classes (else they are all the same), or what they are.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> X = [["red", "round"], ["green", "long"]] * 300
    >>> model = CategoricalNB(
    ...     epsilon=1, categories=[["green", "red"], ["long", "round"]], classes=["apple", "bean"], source=Seeded(7)
    ... )
    >>> model.fit(X, ["apple", "bean"] * 300).predict([["red", "long"], ["red", "round"]]).tolist()[1]
    'apple'
    >>> round(CategoricalNB(categories=[2, 3], classes=["a", "b"]).preview(1000, epsilon=1).error, 4)
    0.0056
    """

    categories: Any = None
    alpha: float = 1.0
    fit_prior: bool = True
    class_prior: Any = None

    n_categories_: "NDArray[np.int64]" = field(init=False)
    category_count_: "list[NDArray[np.float64]]" = field(init=False)
    feature_log_prob_: "list[NDArray[np.float64]]" = field(init=False)
    class_count_: "NDArray[np.float64]" = field(init=False)
    class_log_prior_: "NDArray[np.float64]" = field(init=False)

    def expect_error(self, rows: int, privacy: "Target", n_features: int | None) -> ExpectedError:
        """Return how far off the probability of a category would be."""
        classes, error, scale = self._class_count(), 0.0, 0.0
        if privacy.private:
            known = len(self.categories) if n_features is None and hasattr(self.categories, "__len__") else n_features
            features = (Category(0, 1),) * self._feature_count(known)  # how many categories makes no difference
            spec = FitSpec(features=features, privacy=privacy, bounding=privacy.bounding, classes=tuple(range(classes)))
            scale = float(_histogram_request(spec).noise.variance ** 0.5)
            error = min(scale / max(rows / classes, 1.0), 1.0)
        return ExpectedError(
            error=error,
            noise_scale=scale,
            what="the probability of a category in a class",
            assumption=f"{classes} classes of the same size",
        )

    # ---------------------------------------------------------------------------------------------------- reading

    def _read(self, X: Any, *, reset: bool) -> "NDArray[np.float64]":  # noqa: N803 - scikit-learn's names
        """Return the places of the categories, as doubles; -1 for any other value."""
        values = read_values(self, X, reset=reset)
        return places_in(values, self._domains(values.shape[1]))

    def _check_values(self, values: "NDArray[np.float64]") -> None:
        if (values < 0).any():
            raise InputError("learn.undeclared_category")

    def _domains(self, count: int) -> "list[Sequence[Any] | None]":
        if self.categories is None and self.bounds is None:
            learned = getattr(self, "domains_", None)  # of a model that was fitted in a session
            if learned is not None:
                return list(learned)
            if not self.find_privacy_target().private:
                return [None] * count  # scikit-learn's: integers from 0
        return [kind.domain() for kind in self._kinds(count, getattr(self, "feature_names_in_", None))]

    def _kinds(self, count: int, names: "Sequence[str] | None") -> tuple[Kind, ...]:
        return category_kinds(self.categories, self.bounds, count, names)

    # --------------------------------------------------------------------------------------------------- learning

    def _begin(self, count: int) -> Any:
        self._check_parameters(len(self.classes_))
        return super()._begin(count)

    def _check_parameters(self, classes: int) -> float:
        """Return the smoothing; refuse parameters that make no sense before anything is paid for."""
        check_method(self.method, ("auto",))
        if self.class_prior is not None:
            check_priors(self.class_prior, classes, name="class_prior")
        alpha: object = self.alpha
        if isinstance(alpha, bool) or not isinstance(alpha, _NUMBERS) or not 0 <= alpha < float("inf"):
            raise ParameterError("learn.alpha_negative", value=safe_repr(alpha))
        return max(float(alpha), _LEAST_ALPHA)

    def plan_fit(
        self,
        features: "Mapping[str, Kind]",
        target: Kind | None = None,
        *,
        bounding: ContributionBounds | None = None,
        droppable: bool = False,
        exact: bool = True,
    ) -> SummaryRequest:
        """Return the request for sums over columns of these kinds, which a session sums in its database."""
        if self.categories is not None:
            raise ParameterError("learn.categories_already_in_schema")
        return super().plan_fit(features, target, bounding=bounding, droppable=droppable, exact=exact)

    def build_request(self, spec: FitSpec) -> SummaryRequest:
        """Return the request for the sums of this fit."""
        self._check_parameters(len(spec.classes or ()))
        return _histogram_request(spec)

    def solve_noisy(self, noisy: "NDArray[np.int64]", request: SummaryRequest, spec: FitSpec) -> None:
        """Set the learned attributes from noisy sums."""
        sizes = [part.measure.width for part in request.parts]
        cut = np.cumsum([size * request.cells for size in sizes])[:-1]
        tables = [table.reshape(request.cells, -1).astype(np.float64) for table in np.split(noisy, cut)]
        self.noise_scale_ = float(request.noise.variance**0.5)
        counts, agreed = _agreeing(tables)
        least = least_count(self.noise_scale_ / sum(1 / size for size in sizes) ** 0.5)
        self.domains_ = [list(kind.domain() or ()) for kind in spec.features]
        self._take_counts(np.maximum(counts, least), [np.maximum(table, 0.0) for table in agreed])
        self.class_count_ = np.maximum(counts, 0.0)

    def solve_exact(self, values: "NDArray[np.float64]", target: "NDArray[Any] | None") -> None:
        """Set the learned attributes without privacy."""
        assert target is not None  # noqa: S101 - for the type checker: a classifier has one
        self.noise_scale_ = 0.0
        domains = self._domains(values.shape[1])
        sizes = [int(values[:, j].max()) + 1 if known is None else len(known) for j, known in enumerate(domains)]
        cells, places = len(self.classes_), values.astype(np.int64)
        tables = [
            np.bincount(target * size + places[:, j], minlength=cells * size).reshape(cells, size).astype(np.float64)
            for j, size in enumerate(sizes)
        ]
        self._take_counts(np.bincount(target, minlength=cells).astype(np.float64), tables)

    def _take_counts(self, counts: "NDArray[np.float64]", tables: "list[NDArray[np.float64]]") -> None:
        alpha = self._check_parameters(len(counts))
        self.class_count_, self.category_count_ = counts, tables
        self.n_categories_ = np.array([table.shape[1] for table in tables])
        self.feature_log_prob_ = [_log_chances(table, alpha, self.noise_scale_) for table in tables]
        priors = counts / counts.sum() if self.fit_prior else np.full(len(counts), 1 / len(counts))
        if self.class_prior is not None:
            priors = check_priors(self.class_prior, len(counts), name="class_prior")
        with np.errstate(divide="ignore"):  # a class without rows has the probability 0
            self.class_log_prior_ = np.log(priors)

    def _joint_log_likelihood(self, values: "NDArray[np.float64]") -> "NDArray[np.float64]":
        places = values.astype(np.int64)
        joint = np.tile(self.class_log_prior_, (len(values), 1))
        for j, table in enumerate(self.feature_log_prob_):
            known = (places[:, j] >= 0) & (places[:, j] < table.shape[1])
            joint[known] += table.T[places[known, j]]
        return joint

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        return tags


def _histogram_request(spec: FitSpec) -> SummaryRequest:
    """Return one histogram for every feature, class by class."""
    domains = [kind.domain() for kind in spec.features]
    if not all(domains):
        place = next(place for place, domain in enumerate(domains) if not domain)
        raise ParameterError("learn.feature_not_a_category", kind=repr(spec.features[place]))
    parts = [
        Part(measure=Bins(len(domain or ())), columns=(place,), by_class=True) for place, domain in enumerate(domains)
    ]
    d = len(parts)
    return spec.request(parts, RowSensitivity(l1=d, l2_squared=d, replace_l1=2 * d, replace_l2_squared=2 * d))


def _agreeing(
    tables: "list[NDArray[np.float64]]",
) -> "tuple[NDArray[np.float64], list[NDArray[np.float64]]]":
    """Return the sizes of the classes that all histograms tell together, and the nearest histograms that agree."""
    weights = np.array([1 / table.shape[1] for table in tables])  # a sum over more categories has more noise
    totals = np.array([table.sum(axis=1) for table in tables])
    counts: NDArray[np.float64] = weights @ totals / weights.sum()
    agreed = [table + (counts - total)[:, None] / table.shape[1] for table, total in zip(tables, totals, strict=True)]
    return counts, agreed


def _log_chances(table: "NDArray[np.float64]", alpha: float, noise: float) -> "NDArray[np.float64]":
    """Return log probabilities of categories in classes.

    Beside ``alpha``, half the noise's deviation is shared out as the categories of all classes together are: what
    noise made of a rare category is then alike in all classes, and matters little. It vanishes with the noise.
    """
    pooled = table.sum(axis=0) + alpha
    smooth = table + alpha + _HALF * noise * table.shape[1] * pooled / pooled.sum()
    chances: NDArray[np.float64] = np.log(smooth) - np.log(smooth.sum(axis=1, keepdims=True))
    return chances
