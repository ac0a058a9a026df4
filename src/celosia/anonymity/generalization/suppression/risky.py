"""Suppression of one column in the records that are at risk.

A quick measure where few records stand out by one known column. The others may still be found by their other columns:
measure again. ``LocalSuppression`` chooses the cells, and guarantees the sizes of classes.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity.coding import count_matches, group_rows
from celosia.anonymity.generalization.recoding.columns import replace_column
from celosia.anonymity.microdata import Microdata
from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class SuppressRisky:
    """Replace the values of one quasi-identifier by null where the risk of a record is above a threshold.

    The risk is one over the number of persons that match the record's quasi-identifiers, counted by their sampling
    weights: the chance that someone who knows these finds the person.

    Parameters
    ----------
    column
        The quasi-identifier.
    threshold
        The largest risk that stays, between 0 and 1.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> data = read_microdata(pa.table({"age": [30, 30, 40]}), roles=Roles(quasi_identifiers=["age"]))
    >>> SuppressRisky(column="age", threshold=0.5).apply(data).get_column("age").to_pylist()
    [30, 30, None]
    """

    column: str
    threshold: float

    def __post_init__(self) -> None:
        """Raise unless the threshold is a probability."""
        if not 0 < self.threshold <= 1:
            raise ParameterError("anonymity_recoding.threshold_no_probability", value=safe_repr(self.threshold))

    def apply(self, data: Microdata, *, source: "Source | None" = None) -> Microdata:  # noqa: ARG002 - nothing is drawn
        """Return the file with suppressed values; their spread is 1."""
        import pyarrow as pa
        import pyarrow.compute as pc

        names = data.roles.quasi_identifiers
        if self.column not in names:
            known = ", ".join(map(safe_repr, names))
            raise ParameterError("anonymity_recoding.not_a_quasi_identifier", name=safe_repr(self.column), known=known)
        values = data.get_column(self.column)
        risky = _count_persons(data) * self.threshold < 1 - 1e-9
        risky &= values.is_valid().to_numpy(zero_copy_only=False)
        hidden = pc.if_else(pa.array(risky), None, values)
        return replace_column(data, self.column, hidden, risky.astype(np.float64))


def _count_persons(data: Microdata) -> "NDArray[np.float64]":
    """Return the sum of the weights of the records that match each one."""
    columns = data.encode_quasi_identifiers()
    if data.roles.nulls == "wildcard":
        return count_matches(columns, data.weights)
    groups = group_rows(columns)
    return np.bincount(groups.ids, weights=data.weights, minlength=groups.count).astype(np.float64)[groups.ids]
