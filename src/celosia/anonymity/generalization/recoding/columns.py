"""A column whose values become others: by one label for each different value, and how much each label stands for."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity.coding import Coded
from celosia.anonymity.hierarchies import Hierarchy
from celosia.anonymity.microdata import Microdata
from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray


def replace_labels(
    data: Microdata,
    name: str,
    coded: Coded,
    labels: "pa.Array",
    shares: "ArrayLike",
    *,
    null: "pa.Scalar | None" = None,
    hierarchy: Hierarchy | None = None,
) -> Microdata:
    """Return the file where value ``i`` of a column is ``labels[i]``, which stands for ``shares[i]`` of its domain.

    Nulls stay, unless they become ``null``, which stands for the whole domain. ``hierarchy`` is that of the labels.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = coded.codes < 0
    column = labels.take(pa.array(coded.codes, mask=missing))
    if null is not None:
        column = pc.fill_null(column, null)
    padded = np.append(np.asarray(shares, dtype=np.float64), 0.0 if null is None else 1.0)
    return replace_column(data, name, column, padded[coded.codes], hierarchy=hierarchy)


def replace_column(
    data: Microdata,
    name: str,
    column: "pa.Array",
    spread: "NDArray[np.float64]",
    *,
    hierarchy: Hierarchy | None = None,
) -> Microdata:
    """Return the file with another column; a value that was generalized before keeps the larger spread."""
    before = data.spreads.get(name)
    return data.replace_columns(
        {name: column},
        spreads={name: spread if before is None else np.maximum(spread, before)},
        hierarchies={name: hierarchy},
    )


def count_shares(ids: "NDArray[np.int64]") -> "NDArray[np.float64]":
    """Return for each value the part of the values that become the same as it; 0 for a value that is alone.

    >>> count_shares(np.array([0, 0, 1, 2])).tolist()
    [0.5, 0.5, 0.0, 0.0]
    """
    sizes = np.bincount(ids)[ids]
    return np.where(sizes > 1, sizes / max(len(ids), 1), 0.0)


def check_names(names: Iterable[str], *, role: str) -> tuple[str, ...]:
    """Return the names of columns as a tuple of at least one, or raise ``ParameterError``."""
    if isinstance(names, str):
        raise ParameterError("anonymity.names_not_a_list", role=role, value=safe_repr(names))
    found = tuple(names)
    if not found:
        raise ParameterError("anonymity_recoding.no_column_given", name=role)
    return found
