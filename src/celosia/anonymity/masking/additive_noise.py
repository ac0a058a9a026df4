"""Additive noise: normal noise in proportion to the variance of a column, alone or correlated as the columns are.

It hides exact values from someone who looks them up elsewhere, and keeps means, and correlations if the noise is
correlated. It is weak against record linkage on many columns. It is *not* differential privacy: the noise is real and
follows the data. See ``celosia.mechanisms.Laplace`` for noise that is. Kim 1986; Brand 2002.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity.masking.draws import draw_normal
from celosia.anonymity.masking.parts import check_names, order_rows
from celosia.anonymity.microdata import Microdata
from celosia.core.errors import InputError
from celosia.core.exact import exact_positive
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class AddNoise:
    """Add normal noise to numeric columns. This is not differential privacy; ``celosia.mechanisms.Laplace`` is.

    Nulls stay nulls, and integers become real numbers. Variances are those of the known values; the covariances of
    correlated noise are those of the records that are known in all columns.

    Parameters
    ----------
    columns
        The columns.
    alpha
        The variance of the noise, as a part of the variance of the column; between 0.1 and 0.5 as a rule.
    correlated
        Whether the noise has the correlations of the columns, which then stay as they are in expectation.
    keep_variance
        Whether values are drawn back towards the mean, so that variances stay as they were in expectation (Kim 1986).

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity.microdata import Roles, read_microdata
    >>> from celosia.noise import Seeded
    >>> frame = pa.table({"weight": [76.5, 54.6, 59.8, 81.2, 91.5, 50.9]})
    >>> data = read_microdata(frame, roles=Roles(quasi_identifiers=["weight"]))
    >>> masked = AddNoise(columns=["weight"], alpha=0.1).apply(data, source=Seeded(7))
    >>> masked.get_numbers("weight").round(1).tolist()
    [74.3, 51.1, 54.6, 83.5, 99.4, 50.9]
    """

    columns: Sequence[str]
    alpha: float
    correlated: bool = False
    keep_variance: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", check_names(self.columns, name="columns"))
        exact_positive(self.alpha, name="alpha")

    def apply(self, data: Microdata, *, source: "Source | None" = None) -> Microdata:
        """Return the file with noise in the columns."""
        import pyarrow as pa

        order = order_rows(data, self.columns)
        values = np.column_stack([data.get_numbers(name)[order] for name in self.columns])
        root = self._find_root(values)
        noise = draw_normal(values.size, source_or_system(source)).reshape(values.shape)
        means = np.nanmean(values, axis=0)
        noisy = values + noise @ root.T
        if self.keep_variance:
            noisy = means + (noisy - means) / np.sqrt(1 + self.alpha)
        out = np.empty_like(noisy)
        out[order] = noisy
        return data.replace_columns(
            {name: pa.array(out[:, place], from_pandas=True) for place, name in enumerate(self.columns)}
        )

    def _find_root(self, values: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """Return the matrix that gives standard normal vectors the covariance of the noise."""
        if (np.count_nonzero(~np.isnan(values), axis=0) < 2).any():
            raise InputError("anonymity_masking.too_few_complete_records")  # one value has no variance
        if not self.correlated:
            return np.diag(np.sqrt(self.alpha * np.nanvar(values, axis=0, ddof=1)))
        complete = values[~np.isnan(values).any(axis=1)]
        if len(complete) < 2:
            raise InputError("anonymity_masking.too_few_complete_records")
        covariance = self.alpha * np.atleast_2d(np.cov(complete, rowvar=False))
        sizes, directions = np.linalg.eigh(covariance)
        return np.asarray(directions * np.sqrt(np.maximum(sizes, 0)))
