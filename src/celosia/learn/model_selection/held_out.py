"""How good a model is on records that were held out: a noisy sum of scores between 0 and 1, one for each record.

Scores are integer numbers of steps, so that one record moves the sum by a known number of them. Where the number of
records is private, those that speak for the model and those that speak against it are summed side by side: a record
divides one whole between the two, so both together have the sensitivity of one count, and their total says how many
records there are. Every score looks at one record alone.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from celosia.core.adjacency import AddRemove
from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.learn.privacy.parameters import axis_of, target_kind
from celosia.statistics.base.noise import Sensitivity

if TYPE_CHECKING:
    from celosia.core import Source
    from celosia.core.adjacency import Adjacency
    from celosia.statistics.base.noise import Noise

SCORES = ("accuracy", "brier", "squared error", "absolute error")
"""What models are compared by; each is 1 for a perfect answer and 0 for the worst one."""

_FINE = 2**10  # steps of a score that is not just right or wrong


def scoring_for(scoring: object, kind: Literal["classifier", "regressor"]) -> "Scoring":
    """Return the requested score, or the usual one of classifiers and regressors."""
    fitting = SCORES[:2] if kind == "classifier" else SCORES[2:]
    if isinstance(scoring, str) and scoring in ("auto", *fitting):
        return Scoring(name=fitting[0] if scoring == "auto" else scoring)
    code = "learn.unknown_classifier_scoring" if kind == "classifier" else "learn.unknown_regressor_scoring"
    raise ParameterError(code, first=repr(fitting[0]), second=repr(fitting[1]), value=safe_repr(scoring))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """One of the ``SCORES``."""

    name: str

    @property
    def steps(self) -> int:
        """Integers that a score is divided into."""
        return 1 if self.name == "accuracy" else _FINE

    @property
    def sensitivity(self) -> Sensitivity:
        """How far one record can move the sums, whichever way it changes."""
        return Sensitivity(l1=self.steps, l2_squared=self.steps**2)

    def width(self, adjacency: "Adjacency") -> int:
        """Return how many sums there are: two where the number of records is private."""
        return 2 if adjacency is AddRemove else 1

    def of_records(self, model: Any, rows: Any, target: NDArray[Any]) -> NDArray[np.int64]:
        """Return the score of each record in whole steps; what is no number counts as the worst answer."""
        if not len(target):
            return np.zeros(0, dtype=np.int64)
        with np.errstate(all="ignore"):  # a model may be anything, and a warning would speak of the data
            values = np.nan_to_num(self._of_records(model, rows, target), nan=0.0, posinf=0.0, neginf=0.0)
        return np.floor(np.clip(values, 0.0, 1.0) * self.steps + 0.5).astype(np.int64)

    def _of_records(self, model: Any, rows: Any, target: NDArray[Any]) -> NDArray[np.float64]:
        if self.name == "accuracy":
            return np.asarray(model.predict(rows) == target, dtype=np.float64)
        if self.name == "brier":
            missed = model.predict_proba(rows) - (np.asarray(model.classes_) == target[:, None])
            return np.asarray(1 - (missed**2).sum(axis=1) / 2)
        axis = axis_of(target_kind(model.bounds_y))
        low, high = float(axis.low), float(axis.high)
        off = np.abs(np.clip(target, low, high) - model.predict(rows)) / (high - low)
        return np.asarray(1 - off**2 if self.name == "squared error" else 1 - off)

    def release(self, scores: NDArray[np.int64], noise: "Noise", source: "Source") -> NDArray[np.int64]:
        """Return the noisy sums: of the scores and, where there are two, of what they fall short of the best."""
        total = int(scores.sum())
        sums = [total] if noise.width == 1 else [total, self.steps * scores.size - total]
        noisy: NDArray[np.int64] = noise.release(np.array([sums], dtype=np.int64), source)[0]
        return noisy

    def rank(self, noisy: NDArray[np.int64]) -> int:
        """Return what models are ordered by: the larger, the better."""
        return int(noisy[0]) if noisy.size == 1 else int(noisy[0]) - int(noisy[1])

    def mean(self, noisy: NDArray[np.int64], records: int) -> float:
        """Return the noisy mean score; ``records`` counts where it is public."""
        whole = self.steps * records if noisy.size == 1 else int(noisy.sum())
        return float(np.clip(noisy[0] / max(whole, 1), 0.0, 1.0))
