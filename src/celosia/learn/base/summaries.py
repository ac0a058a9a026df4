"""Estimators that learn from sums: one pass over the records, exact integers, one noise, then a solution.

Because sums add up, the records may come in chunks (``partial_fit``, then ``finish``) or stay in a database
(``session.fit``): the exact numbers are the same, and only noisy ones are ever solved. What is summed is decided from
public knowledge, the ``FitSpec``, before a record is looked at.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from celosia.core.errors import InputError, ParameterError
from celosia.data.schema.columns import Kind
from celosia.learn.base.estimator import PrivateEstimator
from celosia.learn.base.fit_spec import FitSpec, read_spec
from celosia.learn.base.reading import public_classes, read_features, read_labels, read_target
from celosia.learn.privacy.parameters import ends_of, feature_kinds, target_kind
from celosia.noise.source import Seeded
from celosia.statistics.base.noise import ContributionBounds
from celosia.statistics.base.summary_request import Provenance, SummaryRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from celosia.learn.base.exact import ExactSums


@dataclass(kw_only=True, eq=False, repr=False)
class SummaryEstimator(PrivateEstimator):
    """The base of the estimators that learn from sums; a subclass states the sums, and solves.

    >>> from celosia.learn import StandardScaler
    >>> issubclass(StandardScaler, SummaryEstimator)
    True
    """

    learns: ClassVar[Literal["features", "number", "classes"]] = "features"
    bounds: Any = None
    bounds_y: Any = field(init=False)  # a parameter where a number is learned, and classes where they are
    classes: Any = field(init=False)

    classes_: NDArray[Any] = field(init=False)
    provenance_: dict[str, str] = field(init=False)

    @abstractmethod
    def build_request(self, spec: FitSpec) -> SummaryRequest:
        """Return the request for the sums: usually ``spec.request(parts, row_sensitivity)``."""

    @abstractmethod
    def solve_noisy(self, noisy: NDArray[np.int64], request: SummaryRequest, spec: FitSpec) -> None:
        """Set the learned attributes from noisy numbers; ``noise_scale_`` too."""

    @abstractmethod
    def solve_exact(self, values: NDArray[np.float64], target: NDArray[Any] | None) -> None:
        """Set the learned attributes without privacy; ``target`` holds numbers, or places in ``classes_``."""

    # ------------------------------------------------------------------------------------------- rows in memory

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803 - scikit-learn's names
        """Learn from records: pay, read them once, add noise once, and solve."""
        with self._rollback_on_error():
            self._clear_sums()
            values, target = self.read_data(X, y, getattr(self, "classes", None), first=True)
            self._release(self._begin(values.shape[1]), values, target)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:  # noqa: N803 - scikit-learn's names
        """Add records to the exact sums. Nothing is released, and nothing paid for, until ``finish``.

        ``classes`` may be given with the first records, as in scikit-learn, instead of to the constructor.
        """
        first = "_held" not in vars(self)
        known = getattr(self, "classes", None) if classes is None else classes
        with self._rollback_on_error():
            values, target = self.read_data(X, y, known if first else getattr(self, "classes_", None), first=first)
            if first:
                self._held = self._begin(values.shape[1])
            self._held.add(*_together(self._held, values, target))
        return self

    def finish(self) -> Self:
        """Pay, add noise to the sums of all records so far, and solve. The exact sums are gone after that."""
        held = vars(self).get("_held")
        if held is None:
            raise InputError("learn.no_records_yet", estimator=type(self).__name__)
        with self._rollback_on_error():
            self._release(held)
        return self

    # ------------------------------------------------------------------------------------ rows of several holders

    def plan_sums(self, X: Any, y: Any = None) -> SummaryRequest:  # noqa: N803 - scikit-learn's names
        """Return the request for sums over records with these columns; other holders sum theirs for the same request.

        >>> from celosia.learn import LinearRegression
        >>> model = LinearRegression(epsilon=1, bounds=(0, 1), bounds_y=(0, 1))
        >>> model.plan_sums([[0.1, 0.2]], [0.3]).event
        LaplaceEvent(scale=..., sensitivity=..., dimension=...)
        """
        with self._rollback_on_error():
            values, _ = self.read_data(X, y, getattr(self, "classes", None), first=True)
            held = self._begin(values.shape[1])
        if isinstance(held, _Plain):
            raise ParameterError("learn.sums_need_privacy")
        request: SummaryRequest = held.request
        return request

    def sum_records(self, X: Any, y: Any, request: SummaryRequest) -> "ExactSums":  # noqa: N803 - scikit-learn's names
        """Return the exact sums of records for a planned request, which are not noised yet; nothing is paid for.

        The columns are those that the request was planned with. The noisy sums of all holders go to ``finish_fit``.
        """
        from celosia.learn.base.exact import ExactSums

        with self._rollback_on_error():
            values, target = self.read_data(X, y, getattr(self, "classes_", None), first=False)
            held = ExactSums(request, read_spec(request).kinds)
            held.add(*_together(held, values, target))
        return held

    def _release(self, held: Any, values: NDArray[np.float64] | None = None, target: Any = None) -> None:
        """Pay for the sums, add the last rows, add noise, and solve."""
        self.__dict__.pop("provenance_", None)  # that of another fit
        if isinstance(held, _Plain):
            if values is not None:
                held.add(values, target)
            self.solve_exact(*held.all())
            self._mark_non_private()
            self._clear_sums()
            return
        request, spec = held.request, read_spec(held.request)
        with self._spend(spec.privacy, request.event, features=len(spec.features)) as payment:
            if values is not None:
                held.add(*_together(held, values, target))
            noisy = request.release(held.combine(), payment.source)
            self.solve_noisy(noisy, request, spec)
            payment.deliver(noisy)
        self._clear_sums()

    def read_data(
        self,
        X: Any,  # noqa: N803 - scikit-learn's names
        y: Any,
        classes: Any,
        *,
        first: bool,
    ) -> tuple[NDArray[np.float64], NDArray[Any] | None]:
        """Return validated rows and their target."""
        values = self._read(X, reset=first)
        target, found = self._read_y(y, len(values), classes)
        if found is not None:
            self.classes_ = found
        self._check_values(values)
        return values, target

    def _check_values(self, values: NDArray[np.float64]) -> None:
        """Raise ``InputError`` for records that cannot be learned from."""

    def _begin(self, count: int) -> Any:
        privacy = self.find_privacy_target()
        names = getattr(self, "feature_names_in_", None)
        if not privacy.private:
            return _Plain(() if self.bounds is None else self._kinds(count, names), self._target_bounds())
        spec = FitSpec(
            features=self._kinds(count, names),
            privacy=privacy,
            bounding=privacy.bounding,
            target=target_kind(self.bounds_y) if self.learns == "number" else None,
            classes=tuple(self.classes_.tolist()) if self.learns == "classes" else None,
            names=None if names is None else tuple(names),
        )
        from celosia.learn.base.exact import ExactSums  # loads Numba, which a fitted model does not need

        return ExactSums(_check_noise(self.build_request(spec)), spec.kinds)

    def _target_bounds(self) -> Kind | None:
        known = self.learns == "number" and self.bounds_y is not None
        return target_kind(self.bounds_y) if known else None

    def _read(self, X: Any, *, reset: bool) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's names
        """Return the features as doubles, rows by columns."""
        return read_features(self, X, reset=reset)

    def _kinds(self, count: int, names: "Sequence[str] | None") -> tuple[Kind, ...]:
        """Return the public kinds of the features."""
        return feature_kinds(self.bounds, count, names)

    def _read_y(self, y: Any, rows: int, classes: Any) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
        """Return the target, for classes their places, and the classes."""
        if self.learns == "features":
            return None, None
        if self.learns == "number":
            return read_target(y, rows, self), None
        labels = read_labels(y, rows, self)
        known = public_classes(classes, y, labels)
        return np.searchsorted(known, labels).astype(np.int64), known

    def _clear_sums(self) -> None:
        self.__dict__.pop("_held", None)

    # ------------------------------------------------------------------------------------- rows in a database

    def plan_fit(
        self,
        features: Mapping[str, Kind],
        target: Kind | None = None,
        *,
        bounding: ContributionBounds | None = None,
        droppable: bool = False,
        exact: bool = True,
    ) -> SummaryRequest:
        """Return the request for sums over columns of these kinds, which a session sums in its database."""
        bounding = ContributionBounds() if bounding is None else bounding
        wanted = self.learns != "features"
        if wanted != (target is not None):
            raise ParameterError(
                "learn.target_missing" if wanted else "learn.target_not_used", estimator=type(self).__name__
            )
        for name in ("bounds", "bounds_y"):
            if getattr(self, name, None) is not None:
                raise ParameterError("learn.bounds_already_in_schema", name=name)
        privacy = self._target(adjacency=bounding.adjacency, unit=bounding.unit, exact=exact)
        if not privacy.private:
            raise ParameterError("learn.session_needs_privacy")
        classes = None
        if target is not None and self.learns == "classes":
            classes = target.domain()
            if classes is None or len(classes) < 2:
                raise ParameterError("learn.target_without_classes", kind=repr(target))
            classes = tuple(np.unique(np.array(classes)).tolist())  # in the order that classes_ has in memory
            self._check_classes(classes)
        spec = FitSpec(
            features=tuple(features.values()),
            privacy=privacy,
            bounding=bounding,
            target=target_kind(target) if self.learns == "number" else None,
            classes=classes,
            names=tuple(features),
            droppable=droppable,
        )
        return _check_noise(self.build_request(spec))

    def _check_classes(self, classes: tuple[Any, ...]) -> None:
        given = self.classes
        if given is not None and given != "public" and sorted(map(str, given)) != sorted(map(str, classes)):
            raise ParameterError("learn.classes_already_in_schema")

    def finish_fit(self, noisy: NDArray[np.int64], request: SummaryRequest, provenance: Provenance) -> Self:
        """Take noisy numbers that were summed and paid for elsewhere, and solve."""
        spec = read_spec(request)
        with self._rollback_on_error():
            self._clear_sums()
            self._take_over(noisy, request, spec)
            self.event_, self.guarantee_, self.seeded_ = request.event, request.guarantee, provenance.seeded
        known = {name: getattr(provenance, name) for name in ("schema", "table", "where")}
        self.provenance_ = {name: text for name, text in known.items() if text is not None}
        return self

    def _take_over(self, noisy: NDArray[np.int64], request: SummaryRequest, spec: FitSpec) -> None:
        self.n_features_in_ = len(spec.features)
        if spec.names is not None:
            self.feature_names_in_ = np.array(spec.names, dtype=object)
        if spec.classes is not None:
            self.classes_ = np.array(spec.classes)
        self.solve_noisy(noisy, request, spec)


class _Plain:
    """Rows for a fit without privacy."""

    def __init__(self, kinds: tuple[Kind, ...], target: Kind | None) -> None:
        self._ends, self._target_ends = [ends_of(kind) for kind in kinds], None if target is None else ends_of(target)
        self._values: list[NDArray[np.float64]] = []
        self._targets: list[NDArray[Any]] = []

    def add(self, values: NDArray[np.float64], target: NDArray[Any] | None = None) -> None:
        """Keep rows, clipped to the bounds if there are any."""
        if self._ends:
            values = np.clip(values, *np.array(self._ends).T)
        self._values.append(values)
        if target is not None:
            self._targets.append(target if self._target_ends is None else np.clip(target, *self._target_ends))

    def all(self) -> tuple[NDArray[np.float64], NDArray[Any] | None]:
        """Return all rows and their targets."""
        return np.concatenate(self._values), np.concatenate(self._targets) if self._targets else None


def _together(held: "ExactSums | _Plain", values: NDArray[np.float64], target: NDArray[Any] | None) -> tuple[Any, ...]:
    """Return rows as they are added up: a target that is a number is the last column."""
    if target is None or isinstance(held, _Plain) or read_spec(held.request).target is None:
        return values, target
    return (np.column_stack([values, target]),)


def _check_noise(request: SummaryRequest) -> SummaryRequest:
    """Return a request after a trial draw on zeros: whether its noise can be drawn follows from its scale alone."""
    request.release(np.zeros(request.width, dtype=np.int64), Seeded(0))
    return request
