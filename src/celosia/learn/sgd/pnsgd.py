"""Least squares and logistic regression by projected noisy gradient descent, of which only the end is released.

See ``noisy_descent`` for the algorithm and its guarantee. Where sums are enough, ``LinearRegression`` and
``LogisticRegression`` are quicker and their noise is exact; these two show amplification by iteration at work.
"""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from celosia.core.errors import InputError
from celosia.learn.base.reading import public_classes, read_features, read_labels, read_target
from celosia.learn.optimize.losses import LogisticLoss, SquaredLoss
from celosia.learn.privacy.parameters import target_kind
from celosia.learn.sgd.model import PNSGDModel
from celosia.learn.sgd.unit_rows import interval_of


@dataclass(kw_only=True, eq=False, repr=False)
class PNSGDRegressor(RegressorMixin, PNSGDModel):  # type: ignore[misc] # scikit-learn ships no types
    """Least squares by projected noisy gradient descent.

    Parameters
    ----------
    epsilon, delta, rho, renyi
        What may be spent: an epsilon with a delta, a rho, or a `RenyiDP` curve, for `ReplaceOne`. ``float("inf")``
        is the minimum without privacy: scikit-learn's, or that of the set if a ``projection`` is given.
    sigma
        Instead: the noise itself, with a delta or without; ``guarantee_`` then follows from it.
    bounds, bounds_y
        Public bounds of the features and of the target; what lies outside is clipped.
    projection
        The set of the weights, `Ball`, `Box`, `Simplex` or your own. Weights are those of centred features (from -1 to
        1), divided by ``data_norm``, the intercept last. Left out: a ball with every line that stays within the bounds.
    lipschitz
        Residuals, in half-ranges of the target, are cut here (Huber's loss beyond): 1 if left out. No bound above the
        set's own, R + 1 for a ball, has an effect.
    data_norm
        The length by which centred rows, with their 1 for the intercept, are divided; longer ones are shortened to it.
        Left out: the root of their number of entries, which shortens none.
    fit_intercept
        Whether there is an intercept.
    step_size, epochs
        Chosen from the number of rows, which is public, and the noise, if left out.
    order, stop, amplification
        See `PNSGD`. ``amplification="iteration"`` is the default because it is what makes many epochs affordable; its
        event says ``arithmetic="real"``. Ledgers that refuse that take ``amplification="none"``.
    adjacency, budget, source
        Who are neighbours (`ReplaceOne` only), who pays, and where the noise comes from.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> X = np.linspace(0, 10, 2000)[:, None]
    >>> model = PNSGDRegressor(epsilon=2, delta=1e-6, bounds=(0, 10), bounds_y=(0, 30), source=Seeded(7))
    >>> model.fit(X, 5 + 2 * X[:, 0]).predict([[5.0]]).round().tolist()
    [15.0]
    """

    _loss = SquaredLoss()
    _reach = 1
    bounds_y: Any = None

    intercept_: float = field(init=False)

    def _targets(self, y: Any, rows: int) -> NDArray[np.float64]:
        middle, half = self._centre()
        numbers = read_target(y, rows, self)
        if self.bounds_y is None:  # only without privacy
            return numbers
        return np.clip((np.clip(numbers, middle - half, middle + half) - middle) / half, -1.0, 1.0)

    def _centre(self) -> tuple[float, float]:
        if self.bounds_y is None and not self.find_privacy_target().private:
            return 0.0, 1.0
        low, high = interval_of(target_kind(self.bounds_y))
        return low / 2 + high / 2, high / 2 - low / 2

    def _keep(self, coefficients: NDArray[np.float64], constant: float) -> None:
        middle, half = self._centre()
        self.coef_, self.intercept_ = coefficients * half, middle + constant * half

    def _fit_free(self, values: NDArray[np.float64], targets: NDArray[np.float64]) -> None:
        from sklearn.linear_model import LinearRegression

        found = LinearRegression(fit_intercept=self.fit_intercept).fit(values, targets)
        self._keep(found.coef_, float(found.intercept_))

    def predict(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's names
        """Return the predicted targets of rows."""
        check_is_fitted(self)
        values = read_features(self, X, reset=False)
        predicted: NDArray[np.float64] = values @ self.coef_ + self.intercept_
        return predicted


@dataclass(kw_only=True, eq=False, repr=False)
class PNSGDClassifier(ClassifierMixin, PNSGDModel):  # type: ignore[misc] # scikit-learn ships no types
    """Logistic regression, for two classes, by projected noisy gradient descent.

    Parameters
    ----------
    classes
        The two labels, public; ``"public"`` if everybody may know which occur. More than two are refused.
    epsilon, delta, rho, renyi, sigma, bounds, projection, lipschitz, data_norm, fit_intercept
        As in `PNSGDRegressor`. Slopes of the logistic loss are at most 1. The default set is a ball of four times the
        length of a row.
    step_size, epochs, order, stop, amplification, adjacency, budget, source
        As in `PNSGDRegressor`.

    Examples
    --------
    >>> from celosia.noise import Seeded
    >>> X = np.linspace(0, 10, 2000)[:, None]
    >>> model = PNSGDClassifier(epsilon=2, delta=1e-6, bounds=(0, 10), classes=["low", "top"], source=Seeded(7))
    >>> model.fit(X, np.where(X[:, 0] > 5, "top", "low")).predict([[1.0], [9.0]]).tolist()
    ['low', 'top']
    """

    _loss = LogisticLoss()
    _reach = 4
    classes: Any = None

    classes_: NDArray[Any] = field(init=False)
    intercept_: NDArray[np.float64] = field(init=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _targets(self, y: Any, rows: int) -> NDArray[np.float64]:
        labels = read_labels(y, rows, self)
        known = public_classes(self.classes, y, labels)
        if len(known) > 2:
            raise InputError("learn.more_than_two_classes")
        self.classes_ = known
        return np.where(labels == known[1], 1.0, -1.0)

    def _keep(self, coefficients: NDArray[np.float64], constant: float) -> None:
        self.coef_, self.intercept_ = coefficients[None, :], np.array([constant])

    def _fit_free(self, values: NDArray[np.float64], targets: NDArray[np.float64]) -> None:
        from sklearn.linear_model import LogisticRegression

        if (targets == targets[0]).all():
            raise InputError("learn.only_one_class")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # separable classes have no minimum
            model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000, fit_intercept=self.fit_intercept)
            found = model.fit(values, targets)
        self._keep(found.coef_[0], float(np.ravel(found.intercept_)[0]))

    def decision_function(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's names
        """Return the log-odds of the second class."""
        check_is_fitted(self)
        values = read_features(self, X, reset=False)
        odds: NDArray[np.float64] = values @ self.coef_[0] + self.intercept_[0]
        return odds

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's names
        """Return the probability of each class."""
        second = special.expit(self.decision_function(X))
        return np.column_stack([1.0 - second, second])

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's names
        """Return the logarithm of the probability of each class."""
        odds = self.decision_function(X)
        return np.column_stack([special.log_expit(-odds), special.log_expit(odds)])

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803 - scikit-learn's names
        """Return the likelier class of each row."""
        second = self.decision_function(X) > 0
        chosen: NDArray[Any] = self.classes_[second.astype(np.int64)]
        return chosen
