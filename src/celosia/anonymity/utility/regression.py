"""Would an analyst conclude the same from both files? The overlap of confidence intervals of a regression.

The same linear regression is fitted to both files. For each coefficient, the overlap of its intervals is averaged over
their two lengths (Karr et al. 2006): 1 if they are equal, below 0 if they are apart.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity.microdata import Microdata

if TYPE_CHECKING:
    from numpy.typing import NDArray


def measure_overlap(
    original: Microdata, masked: Microdata, *, target: str, features: Sequence[str], level: float = 0.95
) -> Mapping[str, float]:
    """Return the overlap of the confidence intervals of each coefficient, the intercept under ``""``.

    All columns must be numeric in both files; records with a null are left out, and weights are those of the files.

    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> data = read_microdata(pa.table({"x": [1, 2, 3, 4], "y": [1.0, 2, 2, 4]}), roles=Roles(sensitive=["x", "y"]))
    >>> measure_overlap(data, data, target="y", features=["x"])
    {'': 1.0, 'x': 1.0}
    """
    one = _fit(original, target, features, level)
    two = _fit(masked, target, features, level)
    low, high = np.maximum(one[0], two[0]), np.minimum(one[1], two[1])
    with np.errstate(invalid="ignore", divide="ignore"):
        overlap = ((high - low) / (one[1] - one[0]) + (high - low) / (two[1] - two[0])) / 2
    return dict(zip(("", *features), overlap.tolist(), strict=True))


def _fit(
    data: Microdata, target: str, features: Sequence[str], level: float
) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
    """Return the ends of the confidence intervals of weighted least squares; NaN where they do not exist."""
    from scipy.stats import t as student

    numbers = np.column_stack([data.get_numbers(name) for name in (target, *features)])
    known = ~np.isnan(numbers).any(axis=1)
    y, x = numbers[known, 0], np.column_stack([np.ones(int(known.sum())), numbers[known, 1:]])
    weights = data.weights[known] / data.weights[known].mean() if known.any() else np.empty(0)
    freedom = len(y) - x.shape[1]
    if freedom < 1 or np.linalg.matrix_rank(x) < x.shape[1]:
        return np.full(x.shape[1], math.nan), np.full(x.shape[1], math.nan)
    inverse = np.linalg.inv((x * weights[:, None]).T @ x)
    found = inverse @ (x * weights[:, None]).T @ y
    residual = float((weights * (y - x @ found) ** 2).sum()) / freedom
    reach = student.ppf((1 + level) / 2, freedom) * np.sqrt(residual * np.diag(inverse))
    return found - reach, found + reach
