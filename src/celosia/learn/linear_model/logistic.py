"""Private logistic regression, for two classes or several, used like scikit-learn's.

By default noisy gradient descent (``noisy_gradient``), or objective perturbation, a theorem about real numbers, where
its forecast is better; or the functional mechanism, which sees the records once and can run in a database.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from celosia.core.adjacency import ReplaceOne
from celosia.core.errors import InputError, ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.data.schema.columns import Real
from celosia.learn.base.estimator import check_method
from celosia.learn.base.fit_spec import FitSpec
from celosia.learn.base.forecast import ExpectedError
from celosia.learn.base.summaries import SummaryEstimator
from celosia.learn.functional.sums import Sense, logistic_request, solve_logistic
from celosia.learn.linear_model.gradient_plan import MAX_GRADIENT_NORM, GradientPlan
from celosia.learn.linear_model.logistic_forecast import (
    Choice,
    choose_method,
    functional_error,
    gradient_error,
    objective_error,
)
from celosia.learn.linear_model.noisy_gradient import Scaling, descend
from celosia.learn.linear_model.objective_perturbation import Perturbation, minimiser
from celosia.learn.privacy.parameters import axis_of
from celosia.ledger.budget_account import as_account

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.statistics.base.summary_request import SummaryRequest
    from celosia.statistics.base.target import Target

_METHODS = ("auto", "gradient", "functional", "published", "objective")


@dataclass(kw_only=True, eq=False, repr=False)
class LogisticRegression(ClassifierMixin, SummaryEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """Private logistic regression, used like scikit-learn's.

    Gaussian noise (a delta, or rho) is much better than Laplace noise. See ``celosia.learn`` for the parameters that
    are not listed.

    Parameters
    ----------
    method
        ``"gradient"``: noisy gradient descent, in memory. ``"objective"``: objective perturbation, two classes, a
        theorem about real numbers (see ``event_.arithmetic``). ``"functional"``: the functional mechanism, one pass
        over the records. ``"published"``: the same with the published, looser constants, two classes.
        ``"auto"``: in memory ``"gradient"``, or for epsilon alone and two classes ``"objective"`` where its forecast is
        better and the budget allows real arithmetic; ``method_`` is the choice, ``card`` gives the reason. In a
        database (``session.fit``) and in chunks (``partial_fit``) ``"auto"`` is ``"functional"``. ``preview`` takes
        ``"auto"`` for what it is in memory.
    C
        The inverse of the penalty on squared weights, as in scikit-learn. None: 1 without privacy; with privacy no
        more than the noise needs. With privacy it applies to features that run from -1 to 1 between their bounds,
        and one pass (``"functional"``, ``"published"``) has none.
    fit_intercept
        Whether there is one. Without, the decision is 0 where all features are.
    steps
        How many noisy gradients are taken; None: 50; where epsilon stands alone 5, or epsilon if that is more.
    tol, max_iter
        scikit-learn's, without privacy only.

    Examples
    --------
    >>> import numpy as np
    >>> from celosia.noise import Seeded
    >>> X = np.linspace(0, 10, 2000)[:, None]
    >>> y = X[:, 0] > 4
    >>> model = LogisticRegression(epsilon=1, delta=1e-6, bounds=(0, 10), source=Seeded(7)).fit(X, y)
    >>> model.predict([[2.0], [6.0]]).tolist()
    [False, True]
    >>> model.guarantee_
    ApproxDP(epsilon=1, delta=1e-06)
    >>> forecast = LogisticRegression(bounds=(0, 10), delta=1e-6).preview(100_000, epsilon=1, n_features=7)
    >>> forecast.error < 0.1
    True
    """

    learns: ClassVar[Literal["features", "number", "classes"]] = "classes"

    _allows_real = True  # a search whose budget does not sets it to False

    classes: Any = None
    method: str = "auto"
    C: float | None = None
    fit_intercept: bool = True
    steps: int | None = None
    tol: float = 1e-4
    max_iter: int = 100

    method_: str = field(init=False)
    method_reason_: str = field(init=False)
    coef_: "NDArray[np.float64]" = field(init=False)
    intercept_: "NDArray[np.float64]" = field(init=False)
    n_iter_: "NDArray[np.int32]" = field(init=False)

    # --------------------------------------------------------------------------------------------------- learning

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803 - scikit-learn's names
        """Learn from records: pay, read them, add noise, and return the model."""
        method = self._check_parameters()
        privacy = self.find_privacy_target()
        if method in {"functional", "published"} or not privacy.private:
            return super().fit(X, y)
        with self._rollback_on_error():
            self._clear_sums()
            self.__dict__.pop("provenance_", None)  # that of another fit
            values, codes = self.read_data(X, y, self.classes, first=True)
            assert codes is not None  # noqa: S101 - for the type checker: a classifier has labels
            kinds = self._kinds(values.shape[1], getattr(self, "feature_names_in_", None))
            axes = [axis_of(kind) for kind in kinds]
            low, high = (np.array([float(getattr(axis, side)) for axis in axes]) for side in ("low", "high"))
            scaling = Scaling.of(low, high, intercept=self.fit_intercept)
            choice = self._choice(privacy, len(low), len(self.classes_))
            self.method_, self.method_reason_ = choice.method, choice.reason
            method = choice.method
            if method == "objective" or not self.fit_intercept:  # else the scaling clips to the very same bounds
                values = np.clip(values, low, high)
            if method == "objective":
                self._perturb(values, codes, scaling, privacy)
            else:
                self._descend(values, codes, scaling, privacy)
        return self

    def _descend(
        self, values: "NDArray[np.float64]", codes: "NDArray[np.int64]", scaling: Scaling, privacy: "Target"
    ) -> None:
        plan = self._plan(privacy, values.shape[1], len(self.classes_))
        plan.check()
        with self._spend(privacy, plan.event, features=plan.features) as payment:
            found = descend(
                values,
                codes,
                plan,
                scaling,
                payment.source,
                records=len(values) if privacy.adjacency is ReplaceOne else None,
                penalty=self._penalty(),
            )
            self._take(found.coef, found.intercept, found.noise_scale, plan.steps)
            payment.deliver(found.coef)

    def _perturb(
        self, values: "NDArray[np.float64]", codes: "NDArray[np.int64]", scaling: Scaling, privacy: "Target"
    ) -> None:
        width = values.shape[1] + int(self.fit_intercept)
        longest = np.sqrt(width) * (1 + 1e-12)
        perturbation = self._perturbation(privacy, values.shape[1], len(self.classes_))
        with self._spend(privacy, perturbation.event, features=values.shape[1]) as payment:
            vector = perturbation.draw(width, payment.source)
            rows = np.clip((values - scaling.table[0]) / scaling.table[1], -1, 1)
            if self.fit_intercept:
                rows = np.column_stack([rows, np.ones(len(rows))])
            weights = minimiser(rows / longest, codes, perturbation.stiffness, vector) / longest
            coef = weights[: values.shape[1]] / scaling.table[1]
            start = weights[-1] - coef @ scaling.table[0] if self.fit_intercept else 0.0
            self._take(coef[None], np.array([start]), perturbation.scale, 1)
            payment.deliver(coef)

    def build_request(self, spec: FitSpec) -> "SummaryRequest":
        """Return the request for the sums of this fit."""
        method = self._check_parameters()
        if method not in {"auto", "functional", "published"}:
            raise ParameterError("learn.method_needs_several_passes", method=safe_repr(method))
        for name, value in (("C", self.C), ("steps", self.steps)):
            if value is not None:
                raise ParameterError("learn.parameter_needs_several_passes", name=name, value=safe_repr(value))
        return logistic_request(spec, fit_intercept=self.fit_intercept, sensitivity=self._sensitivity)

    def solve_noisy(self, noisy: "NDArray[np.int64]", request: "SummaryRequest", spec: FitSpec) -> None:  # noqa: ARG002 - the parent's
        """Set the learned attributes from noisy sums."""
        found = solve_logistic(noisy, request, fit_intercept=self.fit_intercept, sensitivity=self._sensitivity)
        self._take(np.atleast_2d(found.coef), np.atleast_1d(found.intercept), found.noise_scale, 1)
        self.method_, self.method_reason_ = "published" if self.method == "published" else "functional", ""

    def solve_exact(self, values: "NDArray[np.float64]", target: "NDArray[Any] | None") -> None:
        """Set the learned attributes without privacy."""
        from sklearn.linear_model import LogisticRegression as Plain

        assert target is not None  # noqa: S101 - for the type checker: a classifier has one
        for name in ("method_", "method_reason_"):  # of an earlier fit with privacy
            self.__dict__.pop(name, None)
        if len(np.unique(target)) != len(self.classes_):
            raise InputError("learn.class_missing_in_y")
        plain = Plain(
            C=1.0 if self.C is None else self.C, fit_intercept=self.fit_intercept, tol=self.tol, max_iter=self.max_iter
        ).fit(values, target)
        self._take(plain.coef_, plain.intercept_, 0.0, int(plain.n_iter_.max()))

    def set_coefficients(self, coef: "NDArray[np.float64]", intercept: float, *, noise_scale: float) -> None:
        """Set the weights of two classes from noisy ones that were computed and paid for elsewhere."""
        self._take(np.atleast_2d(coef), np.atleast_1d(intercept), noise_scale, 1)

    def _take(self, coef: Any, intercept: Any, scale: float, steps: int) -> None:
        self.coef_ = np.asarray(coef, dtype=np.float64)
        self.intercept_ = np.asarray(intercept, dtype=np.float64)
        self.noise_scale_ = float(scale)
        self.n_iter_ = np.array([steps], dtype=np.int32)

    # ------------------------------------------------------------------------------------------------- parameters

    def _check_parameters(self) -> str:
        """Return the method; refuse parameters that make no sense before anything is read."""
        method = check_method(self.method, _METHODS)
        fit_intercept: object = self.fit_intercept
        if not isinstance(fit_intercept, bool | np.bool_):
            raise ParameterError("learn.intercept_not_boolean", value=safe_repr(fit_intercept))
        for name, value in (("C", self.C), ("tol", self.tol)):
            if value is not None and not _positive(value):
                raise ParameterError("learn.number_too_small", name=name, value=safe_repr(value))
        exact_integer(self.max_iter, name="max_iter")
        if self.steps is not None:
            exact_integer(self.steps, name="steps")
            if method not in {"auto", "gradient"}:
                raise ParameterError(
                    "learn.steps_without_descent", steps=safe_repr(self.steps), method=safe_repr(method)
                )
        return method

    def _choice(self, privacy: "Target", features: int, classes: int) -> Choice:
        """Return the method of a fit in memory, and why; it follows from parameters, never from records."""
        if self.method != "auto":
            return Choice(method=self.method)
        if privacy.kind != "pure" or classes != 2 or self.steps is not None:
            return Choice(method="gradient")
        real = self._allows_real and (self.budget is None or as_account(self.budget).allows_real)
        return choose_method(
            privacy, features, intercept=bool(self.fit_intercept), penalty=self._penalty(), allows_real=real
        )

    def _penalty(self) -> float:
        return 0.0 if self.C is None else 1 / float(self.C)

    def _plan(self, privacy: "Target", features: int, classes: int) -> GradientPlan:
        return GradientPlan.of(
            privacy, features=features, classes=classes, steps=self.steps, intercept=bool(self.fit_intercept)
        )

    def _perturbation(self, privacy: "Target", features: int, classes: int) -> Perturbation:
        if classes != 2:
            raise ParameterError("learn.objective_needs_two_classes", found=classes)
        return Perturbation.of(privacy, stiffness=self._penalty() / (features + int(self.fit_intercept)))

    @property
    def _sensitivity(self) -> Sense:
        return "published" if self.method == "published" else "tight"

    def expect_error(self, rows: int, privacy: "Target", n_features: int | None) -> ExpectedError:
        """Return how far off a coefficient would be.

        By simulation, always on the same made-up records and with the same noise.
        """
        error, scale, chosen = 0.0, 0.0, Choice(method=self._check_parameters())
        if privacy.private:
            known = self.classes if self.classes is not None and not isinstance(self.classes, str) else (0, 1)
            classes = len(getattr(self, "classes_", known))
            features = self._feature_count(n_features)
            chosen = self._choice(privacy, features, classes)
            error, scale = self._expected_error(chosen.method, privacy, rows, features, classes)
        return ExpectedError(
            error=error,
            noise_scale=scale,
            what="a coefficient, times half the range of its feature,",
            assumption="features spread evenly between their bounds, that matter alike (a simulation)",
            method=chosen.sentence,
        )

    def _expected_error(
        self, method: str, privacy: "Target", rows: int, features: int, classes: int
    ) -> tuple[float, float]:
        """Return how far off a coefficient would be, and the size of the noise."""
        if method == "gradient":
            plan = self._plan(privacy, features, classes)
            return gradient_error(plan, rows, self._penalty()), plan.step_noise().variance ** 0.5 / MAX_GRADIENT_NORM
        if method == "objective":
            perturbation = self._perturbation(privacy, features, classes)
            error = objective_error(perturbation, rows, features, fit_intercept=self.fit_intercept)
            return error, perturbation.scale
        kinds = (Real(-1, 1),) * features
        spec = FitSpec(features=kinds, privacy=privacy, bounding=privacy.bounding, classes=tuple(range(classes)))
        request = self.build_request(spec)
        sensitivity = self._sensitivity
        nothing = solve_logistic(
            np.zeros(request.width, dtype=np.int64), request, fit_intercept=self.fit_intercept, sensitivity=sensitivity
        )
        error = functional_error(spec, rows, fit_intercept=self.fit_intercept, sensitivity=sensitivity)
        return error, nothing.noise_scale

    # ------------------------------------------------------------------------------------------------- prediction

    def decision_function(self, X: Any) -> "NDArray[np.float64]":  # noqa: N803 - scikit-learn's names
        """Return the scores: of the second class, if there are two, else rows by classes."""
        check_is_fitted(self)
        scores: NDArray[np.float64] = self._read(X, reset=False) @ self.coef_.T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> "NDArray[Any]":  # noqa: N803 - scikit-learn's names
        """Return the likeliest class of each record."""
        scores = self.decision_function(X)
        places = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[places]
        return predicted

    def predict_log_proba(self, X: Any) -> "NDArray[np.float64]":  # noqa: N803 - scikit-learn's names
        """Return the logarithm of each class's probability given the record, rows by classes."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return -np.logaddexp(0.0, np.column_stack([scores, -scores]))
        from scipy.special import log_softmax

        logs: NDArray[np.float64] = log_softmax(scores, axis=1)
        return logs

    def predict_proba(self, X: Any) -> "NDArray[np.float64]":  # noqa: N803 - scikit-learn's names
        """Return each class's probability given the record, rows by classes."""
        chances: NDArray[np.float64] = np.exp(self.predict_log_proba(X))
        return chances


def _positive(value: object) -> bool:
    # Of anything less the inverse could be no number any more.
    return (
        isinstance(value, int | float | np.integer | np.floating)
        and not isinstance(value, bool)
        and bool(value >= 1e-100)
    )
