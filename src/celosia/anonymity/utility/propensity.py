"""The propensity score: whether a model can tell masked records from original ones.

Both files are joined, and a logistic regression predicts which file a record is from. If it cannot, all predictions
are the share of masked records, and the mean squared difference from it, pMSE, is small (Woo et al. 2009). A synthetic
file from the true model still has some pMSE by chance; its expected value gives the scale (Snoke et al. 2018).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.anonymity.coding import Coded, group_rows
from celosia.anonymity.microdata import Microdata
from celosia.anonymity.utility.pairs import encode_jointly, is_numeric, list_compared

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_CATEGORIES: Final = 50
_RIDGE: Final = 1e6  # so little penalty that it only keeps separable files finite


@dataclass(frozen=True, slots=True, kw_only=True)
class Propensity:
    """pMSE, its expected value of a synthetic file from the true model, and their ratio."""

    pmse: float
    expected: float
    parameters: int

    @property
    def ratio(self) -> float:
        """How many times larger pMSE is than by chance."""
        return self.pmse / self.expected if self.expected > 0 else math.nan


def measure_propensity(original: Microdata, masked: Microdata, columns: Sequence[str] | None = None) -> Propensity:
    """Return pMSE of a logistic regression on some columns, by default all but identifiers and weights.

    Numbers enter by their value, other columns by an indicator for each of the most frequent values; a null has an
    indicator too. The expected value is ``(p - 1) (1 - c)^2 c / N`` for ``p`` coefficients with the intercept, ``N``
    records of both files and a share ``c`` of masked ones. It is that of a synthetic file drawn from the true model,
    fitted to the original. An independent sample has ``1 / (1 - c)`` times as much; a file masked value by value has
    less, as it repeats the original's own chance.

    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> data = read_microdata(pa.table({"age": [20, 30, 40]}), roles=Roles(quasi_identifiers=["age"]))
    >>> measure_propensity(data, data).pmse < 1e-9
    True
    """
    names = list_compared(original) if columns is None else tuple(columns)
    pooled = len(original) + len(masked)
    parts = [_make_features(original, masked, name) for name in names]
    features = np.column_stack(parts) if parts else np.empty((pooled, 0))
    rows, ids = _merge_equal(features)
    mass = np.bincount(ids, minlength=len(rows)).astype(np.float64)
    above = np.bincount(ids[len(original) :], minlength=len(rows)).astype(np.float64)
    share = len(masked) / pooled
    centred = rows - np.average(rows, axis=0, weights=mass)
    spread = np.sqrt(np.average(centred**2, axis=0, weights=mass))
    centred = centred[:, spread > 0] / spread[spread > 0]
    parameters = int(np.linalg.matrix_rank((centred * mass[:, None]).T @ centred, hermitian=True)) + 1
    if parameters == 1:
        return Propensity(pmse=0.0, expected=0.0, parameters=1)
    scores = _predict(centred, mass, above)
    expected = (parameters - 1) * (1 - share) ** 2 * share / pooled
    pmse = float(np.average((scores - share) ** 2, weights=mass))
    return Propensity(pmse=pmse, expected=expected, parameters=parameters)


def _predict(
    features: "NDArray[np.float64]", mass: "NDArray[np.float64]", above: "NDArray[np.float64]"
) -> "NDArray[np.float64]":
    """Return the probability that a record with some features is masked; ``above`` of each ``mass`` are."""
    from sklearn.linear_model import LogisticRegression

    twice, labels = np.vstack([features, features]), np.repeat([0, 1], len(features))
    weights = np.append(mass - above, above)
    used = weights > 0
    model = LogisticRegression(C=_RIDGE, solver="newton-cholesky")
    model.fit(twice[used], labels[used], sample_weight=weights[used])
    scores: NDArray[np.float64] = model.predict_proba(features)[:, 1]
    return scores


def _merge_equal(features: "NDArray[np.float64]") -> "tuple[NDArray[np.float64], NDArray[np.int64]]":
    """Return the different rows, and which of them each row is."""
    import pyarrow as pa

    columns = [np.unique(column, return_inverse=True) for column in features.T]
    groups = group_rows(
        [Coded(ids.astype(np.int32), pa.nulls(len(found))) for found, ids in columns], rows=len(features)
    )
    return features[groups.find_examples()], groups.ids.astype(np.int64)


def _make_features(original: Microdata, masked: Microdata, name: str) -> "NDArray[np.float64]":
    """Return the features of a column, for the records of both files."""
    if is_numeric(original, name) and is_numeric(masked, name):
        numbers = np.concatenate([original.get_numbers(name), masked.get_numbers(name)])
        missing = np.isnan(numbers)
        middle = float(numbers[~missing].mean()) if not missing.all() else 0.0
        return np.column_stack([np.where(missing, middle, numbers), missing])
    one, two = encode_jointly(original, masked, name)
    codes = np.concatenate([one.codes, two.codes])
    frequent = np.argsort(-np.bincount(codes[codes >= 0], minlength=len(one.labels)), kind="stable")[:_MAX_CATEGORIES]
    return np.column_stack([codes == code for code in (-1, *frequent[1:])]).astype(np.float64)
