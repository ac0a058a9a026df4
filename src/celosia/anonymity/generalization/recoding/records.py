"""Suppression of whole columns and of the records in small classes.

The bluntest methods: what is left out reveals nothing, but its absence may (a reader of the file can count who is
missing), and statistics of the rest are biased towards common people.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity.coding import count_matches, group_rows
from celosia.anonymity.generalization.recoding.columns import check_names
from celosia.anonymity.microdata import Microdata
from celosia.core.errors import InfeasibleError
from celosia.core.exact import exact_integer

if TYPE_CHECKING:
    from celosia.core.mechanism import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppress:
    """Replace all values of columns by null.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> frame = pa.table({"street": ["Main Street", "High Street"], "age": [30, 40]})
    >>> data = read_microdata(frame, roles=Roles(quasi_identifiers=["street", "age"]))
    >>> Suppress(columns=["street"]).apply(data).get_column("street").to_pylist()
    [None, None]
    """

    columns: Sequence[str]

    def __post_init__(self) -> None:
        """Raise unless there is a column."""
        check_names(self.columns, role="columns")

    def apply(self, data: Microdata, *, source: "Source | None" = None) -> Microdata:  # noqa: ARG002 - nothing is drawn
        """Return the file without these values; their spread is 1."""
        import pyarrow as pa

        empty = {name: pa.nulls(len(data), data.get_column(name).type) for name in self.columns}
        return data.replace_columns(empty, spreads={name: np.ones(len(data)) for name in self.columns})


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRecords:
    """Drop the records whose class, or number of matches if nulls are wildcards, is smaller than ``k``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> data = read_microdata(pa.table({"age": [30, 30, 40]}), roles=Roles(quasi_identifiers=["age"]))
    >>> len(DropRecords(k=2).apply(data))
    2
    """

    k: int

    def __post_init__(self) -> None:
        """Raise unless ``k`` is a positive integer."""
        exact_integer(self.k, name="k", least=1)

    def apply(self, data: Microdata, *, source: "Source | None" = None) -> Microdata:  # noqa: ARG002 - nothing is drawn
        """Return the file without the records of small classes; one must be left."""
        while True:
            # A dropped record may have been a wildcard match of one that stayed, so this is repeated.
            columns = data.encode_quasi_identifiers()
            if data.roles.nulls == "wildcard":
                kept = count_matches(columns) >= self.k
            else:
                groups = group_rows(columns)
                kept = (groups.sizes >= self.k)[groups.ids]
            if kept.all():
                return data
            if not kept.any():
                raise InfeasibleError("anonymity_recoding.all_classes_small", k=self.k)
            data = data.keep_rows(kept)
