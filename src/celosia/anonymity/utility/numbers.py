"""How far masked numbers are from the original ones, and what became of their moments.

Only records that are in both files and have a value in both count for distances; moments are of each file by itself,
with its sampling weights.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity.microdata import Microdata
from celosia.anonymity.utility.pairs import find_rows, list_numeric

if TYPE_CHECKING:
    from numpy.typing import NDArray


def measure_il1s(original: Microdata, masked: Microdata, columns: Sequence[str] | None = None) -> float:
    """Return IL1s (Mateo-Sanz, Sebé and Domingo-Ferrer 2004): the mean distance, in units of the spread.

    It is the mean over all cells of ``|x - y| / (sqrt(2) s)``, where ``s`` is the standard deviation of the original
    column. Cells without a value in one of the files, and columns that do not vary, are left out; NaN if nothing is
    left.

    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> data = read_microdata(pa.table({"x": [0.0, 2.0]}), roles=Roles(sensitive=["x"]))
    >>> masked = data.replace_columns({"x": pa.array([1.0, 1.0])})
    >>> round(measure_il1s(data, masked), 6)
    0.5
    """
    places, parts = find_rows(original, masked), []
    for name in list_numeric(original, masked) if columns is None else columns:
        before, after = original.get_numbers(name), masked.get_numbers(name)
        known = before[~np.isnan(before)]
        deviation = float(known.std(ddof=1)) if len(known) > 1 else 0.0
        if deviation > 0:
            parts.append(np.abs(before[places] - after) / (math.sqrt(2) * deviation))
    cells = np.concatenate(parts) if parts else np.empty(0)
    cells = cells[~np.isnan(cells)]
    return float(cells.mean()) if len(cells) else math.nan


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Moments:
    """Weighted means, variances (of a sample) and correlations of numeric columns; NaN where they do not exist."""

    columns: tuple[str, ...]
    means: "NDArray[np.float64]"
    variances: "NDArray[np.float64]"
    correlations: "NDArray[np.float64]"


def compute_moments(data: Microdata, columns: Sequence[str]) -> Moments:
    """Return the moments of some columns. Means and variances leave out nulls; correlations records with any null.

    With weights, the variance is ``sum w (x - mean)^2 / (sum w - sum w^2 / sum w)``.

    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> data = read_microdata(pa.table({"x": [1, 2, 3], "y": [3, 2, 1]}), roles=Roles(sensitive=["x", "y"]))
    >>> moments = compute_moments(data, ["x", "y"])
    >>> moments.means.tolist(), moments.variances.tolist(), round(float(moments.correlations[0, 1]), 6)
    ([2.0, 2.0], [1.0, 1.0], -1.0)
    """
    numbers = np.column_stack([data.get_numbers(name) for name in columns]) if columns else np.empty((len(data), 0))
    weights = data.weights
    single = [_describe(numbers[:, place], weights) for place in range(len(columns))]
    whole = ~np.isnan(numbers).any(axis=1)
    return Moments(
        columns=tuple(columns),
        means=np.array([mean for mean, _ in single]),
        variances=np.array([variance for _, variance in single]),
        correlations=_correlate(numbers[whole], weights[whole]),
    )


def _describe(values: "NDArray[np.float64]", weights: "NDArray[np.float64]") -> tuple[float, float]:
    known = ~np.isnan(values)
    x, w = values[known], weights[known]
    if not len(x):
        return math.nan, math.nan
    mean = float(np.average(x, weights=w))
    freedom = float(w.sum() - (w**2).sum() / w.sum())
    return mean, float((w * (x - mean) ** 2).sum()) / freedom if len(x) > 1 else math.nan


def _correlate(numbers: "NDArray[np.float64]", weights: "NDArray[np.float64]") -> "NDArray[np.float64]":
    width = numbers.shape[1]
    if len(numbers) < 2 or not width:
        return np.full((width, width), math.nan)
    centred = numbers - np.average(numbers, axis=0, weights=weights)
    products = (centred * weights[:, None]).T @ centred
    scales = np.sqrt(np.diag(products))
    scales[scales == 0] = math.nan
    found: NDArray[np.float64] = np.clip(products / np.outer(scales, scales), -1.0, 1.0)
    return found


def compare_eigenvalues(original: Microdata, masked: Microdata, columns: Sequence[str] | None = None) -> float:
    """Return the mean relative difference of the eigenvalues of the covariances, in standardized units.

    Both files are divided by the standard deviations of the original, so that no column weighs by its unit. It is the
    mean of ``|a - b| / a`` over the eigenvalues ``a`` of the original that are above 0, and ``b`` of the masked file,
    both from large to small. NaN if there are no two columns that vary.

    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> data = read_microdata(pa.table({"x": [1.0, 2, 3], "y": [1.0, 3, 2]}), roles=Roles(sensitive=["x", "y"]))
    >>> round(compare_eigenvalues(data, data), 6)
    0.0
    """
    names = list_numeric(original, masked) if columns is None else tuple(columns)
    before, after = compute_moments(original, names), compute_moments(masked, names)
    varying = np.flatnonzero(before.variances > 0)
    if len(varying) < 2:
        return math.nan
    scales = np.sqrt(np.nan_to_num(after.variances[varying]) / before.variances[varying])
    correlations = np.where(np.eye(len(varying)) > 0, 1.0, np.nan_to_num(after.correlations[np.ix_(varying, varying)]))
    first = np.linalg.eigvalsh(before.correlations[np.ix_(varying, varying)])[::-1]
    second = np.linalg.eigvalsh(correlations * np.outer(scales, scales))[::-1]
    used = first > 1e-9
    return float(np.mean(np.abs(first - second)[used] / first[used]))


def compare_moments(original: Microdata, masked: Microdata) -> Mapping[str, float]:
    """Return the mean relative change of means and variances, and the mean change of correlations, in absolute value.

    The change of a mean is measured in standard deviations of the original.

    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> data = read_microdata(pa.table({"x": [1.0, 3.0]}), roles=Roles(sensitive=["x"]))
    >>> compare_moments(data, data.replace_columns({"x": pa.array([2.0, 4.0])}))["variances"]
    0.0
    """
    names = list_numeric(original, masked)
    before, after = compute_moments(original, names), compute_moments(masked, names)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.abs(after.means - before.means) / np.sqrt(before.variances)
        variances = np.abs(after.variances - before.variances) / before.variances
    pairs = np.abs(after.correlations - before.correlations)[np.triu_indices(len(names), 1)]
    return {"means": _average(means), "variances": _average(variances), "correlations": _average(pairs)}


def _average(values: "NDArray[np.float64]") -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan
