"""Rank swapping: values change places with values of nearby rank.

Margins stay exactly the same, and someone who looks for a value finds the record of another person. How near the
values are limits the damage to statistics, and the protection: a swap within a window does not give an attacker a
success of 1/k or less; ``ProbabilisticSwap`` does. It is *not* differential privacy. Moore 1996.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity.coding import encode
from celosia.anonymity.masking.draws import draw_uniform
from celosia.anonymity.masking.parts import check_names, split_rows
from celosia.anonymity.microdata import Microdata
from celosia.core.errors import ParameterError
from celosia.core.exact import exact_level, exact_positive
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSwap:
    """Swap each value with a random one of nearby rank, column by column and within strata.

    From the lowest rank up, each value that was not swapped changes places with a random one above it that was not
    either. At the end a value may stay alone. Nulls stay in place.

    Parameters
    ----------
    columns
        The columns, of any type whose values have an order.
    share
        How far apart ranks may be, as a part of the number of records.
    distance
        Instead: how far apart the *values* may be, for numeric columns.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity.microdata import Roles, read_microdata
    >>> frame = pa.table({"temperature": [36.9, 37.9, 38.8, 39.2, 38.2, 37.2]})
    >>> data = read_microdata(frame, roles=Roles(sensitive=["temperature"]))
    >>> RankSwap(columns=["temperature"], distance=0.54).apply(data).get_numbers("temperature").tolist()
    [37.2, 38.2, 39.2, 38.8, 37.9, 36.9]
    """

    columns: Sequence[str]
    share: float | None = None
    distance: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", check_names(self.columns, name="columns"))
        if (self.share is None) == (self.distance is None):
            raise ParameterError("anonymity_masking.share_or_distance")
        if self.share is not None:
            exact_level(self.share, name="share")
        if self.distance is not None:
            exact_positive(self.distance, name="distance")

    def apply(self, data: Microdata, *, source: "Source | None" = None) -> Microdata:
        """Return the file with swapped values."""
        import pyarrow as pa

        drawn = source_or_system(source)
        changed = {}
        for name in self.columns:
            coded = encode(data.get_column(name), name=name)
            numbers = None if self.distance is None else data.get_numbers(name)
            origins = np.arange(len(data))
            for rows in split_rows(data, [name]):
                known = rows[coded.codes[rows] >= 0]
                origins[known] = known[self._pair(None if numbers is None else numbers[known], known.size, drawn)]
            changed[name] = data.get_column(name).take(pa.array(origins))
        return data.replace_columns(changed)

    def _pair(self, values: "NDArray[np.float64] | None", count: int, source: "Source") -> "NDArray[np.int64]":
        """Return the partner of each rank."""
        from celosia.anonymity.masking.rank_kernels import pair_ranks

        if values is None:
            window = max(1, int(count * float(self.share or 0)))
            ends = np.minimum(np.arange(count) + window + 1, count)
        else:
            ends = np.searchsorted(values, values + float(self.distance or 0), side="right").astype(np.int64)
        return pair_ranks(ends, draw_uniform(count, source))
