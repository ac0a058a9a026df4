"""Multiplicative noise: each value is multiplied by a random factor with mean 1, so that large values change most.

The factors are log-normal: values keep their sign, and 0 stays 0. Means are kept in expectation. It is *not*
differential privacy: whoever knows the factor's distribution knows a value to some percent. See
``celosia.mechanisms.Laplace`` for noise that is. Kim and Winkler 2003.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity.masking.draws import draw_normal
from celosia.anonymity.masking.parts import check_names, order_rows
from celosia.anonymity.microdata import Microdata
from celosia.core.exact import exact_positive
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from celosia.core.mechanism import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiplyNoise:
    """Multiply numeric columns by log-normal factors. This is not differential privacy; ``Laplace`` noise is.

    Nulls stay nulls, zeros stay zeros, and integers become real numbers.

    Parameters
    ----------
    columns
        The columns.
    alpha
        The variance of the factors, whose mean is 1: a deviation of 10 % is ``alpha=0.01``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity.microdata import Roles, read_microdata
    >>> from celosia.noise import Seeded
    >>> data = read_microdata(pa.table({"pay": [2700, 0, 3500]}), roles=Roles(sensitive=["pay"]))
    >>> masked = MultiplyNoise(columns=["pay"], alpha=0.01).apply(data, source=Seeded(7))
    >>> masked.get_numbers("pay").round().tolist()
    [2511.0, 0.0, 3151.0]
    """

    columns: Sequence[str]
    alpha: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", check_names(self.columns, name="columns"))
        exact_positive(self.alpha, name="alpha")

    def apply(self, data: Microdata, *, source: "Source | None" = None) -> Microdata:
        """Return the file with multiplied columns."""
        import pyarrow as pa

        drawn, order = source_or_system(source), order_rows(data, self.columns)
        variance = np.log1p(self.alpha)
        changed = {}
        for name in self.columns:
            factors = np.empty(len(data))
            factors[order] = np.exp(np.sqrt(variance) * draw_normal(len(data), drawn) - variance / 2)
            changed[name] = pa.array(data.get_numbers(name) * factors, from_pandas=True)
        return data.replace_columns(changed)
