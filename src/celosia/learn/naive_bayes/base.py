"""What naive Bayes classifiers share: classes predicted from the joint log likelihood of a class and a record.

Columns are taken to be independent within a class, so a record's likelihood is a product over columns (Hand and Yu
2001). Nothing here looks at training records: predictions are made of noisy parameters alone.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.learn.base.summaries import SummaryEstimator

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(kw_only=True, eq=False, repr=False)
class NaiveBayes(ClassifierMixin, SummaryEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """The base of the naive Bayes classifiers; a subclass gives the joint log likelihood.

    >>> from celosia.learn.naive_bayes.gaussian import GaussianNB
    >>> issubclass(GaussianNB, NaiveBayes)
    True
    """

    learns: ClassVar[Literal["features", "number", "classes"]] = "classes"
    classes: Any = None
    method: str = "auto"

    @abstractmethod
    def _joint_log_likelihood(self, values: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """Return the logarithm of a class's probability times that of a record in it, rows by classes."""

    def predict_joint_log_proba(self, X: Any) -> "NDArray[np.float64]":  # noqa: N803 - scikit-learn's names
        """Return the joint log probability of each record and each class, rows by classes."""
        check_is_fitted(self)
        return self._joint_log_likelihood(self._read(X, reset=False))

    def predict(self, X: Any) -> "NDArray[Any]":  # noqa: N803 - scikit-learn's names
        """Return the likeliest class of each record."""
        places = self.predict_joint_log_proba(X).argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[places]
        return predicted

    def predict_log_proba(self, X: Any) -> "NDArray[np.float64]":  # noqa: N803 - scikit-learn's names
        """Return the logarithm of each class's probability given the record, rows by classes."""
        joint = self.predict_joint_log_proba(X)
        normed: NDArray[np.float64] = joint - logsumexp(joint, axis=1, keepdims=True)
        return normed

    def predict_proba(self, X: Any) -> "NDArray[np.float64]":  # noqa: N803 - scikit-learn's names
        """Return each class's probability given the record, rows by classes."""
        chances: NDArray[np.float64] = np.exp(self.predict_log_proba(X))
        return chances

    def _class_count(self) -> int:
        """The number of classes of a forecast: listed or learned, else two."""
        if self.classes is not None and not isinstance(self.classes, str):
            return len(self.classes)
        return len(getattr(self, "classes_", (0, 1)))


def check_priors(priors: Any, classes: int, *, name: str = "priors") -> "NDArray[np.float64]":
    """Return given probabilities of the classes; refuse what are none."""
    try:
        given = np.asarray(priors, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.shape != (classes,) or not (np.isfinite(given).all() and (given >= 0).all()):
        raise ParameterError("learn.malformed_priors", name=name, wanted=classes, value=safe_repr(priors))
    if not np.isclose(given.sum(), 1.0):
        raise ParameterError("learn.priors_sum_not_one", name=name, found=safe_repr(float(given.sum())))
    return given
