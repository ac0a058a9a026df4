"""How much detail generalization and suppression took away.

These measures look at classes and spreads alone. They say how coarse a file is, not whether its statistics are right.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity.coding import group_rows
from celosia.anonymity.microdata import Microdata
from celosia.anonymity.utility.pairs import find_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray


def measure_loss(original: Microdata, masked: Microdata) -> Mapping[str, float]:
    """Return the normalized certainty penalty of each quasi-identifier (Xu et al. 2006), from 0 to 1.

    It is the mean part of the domain that a value stands for: 0 for exact values, 1 for suppressed ones and dropped
    records. The mean over the columns is the usual figure of a file.

    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> data = read_microdata(pa.table({"age": [30, 40]}), roles=Roles(quasi_identifiers=["age"]))
    >>> measure_loss(data, data.keep_rows(np.array([0])))
    {'age': 0.5}
    """
    dropped = len(original) - len(find_rows(original, masked))
    return {
        name: (float(masked.spreads[name].sum() if name in masked.spreads else 0.0) + dropped) / len(original)
        for name in original.roles.quasi_identifiers
    }


def measure_discernibility(original: Microdata, masked: Microdata) -> float:
    """Return the discernibility metric (Bayardo and Agrawal 2005): the sum of the squared sizes of the classes.

    A dropped record counts as many as the original has. Nulls are values of their own here.

    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> data = read_microdata(pa.table({"age": [30, 30, 40]}), roles=Roles(quasi_identifiers=["age"]))
    >>> measure_discernibility(data, data), measure_discernibility(data, data.keep_rows(np.array([0, 1])))
    (5.0, 7.0)
    """
    sizes = _count_classes(masked)
    dropped = len(original) - len(find_rows(original, masked))
    return float((sizes.astype(np.float64) ** 2).sum() + dropped * len(original))


def measure_class_size(masked: Microdata, *, k: int = 1) -> float:
    """Return the average class size, as a multiple of ``k`` (C_avg of LeFevre et al. 2006): 1 is the best.

    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> data = read_microdata(pa.table({"age": [30, 30, 40, 40, 40]}), roles=Roles(quasi_identifiers=["age"]))
    >>> measure_class_size(data, k=2)
    1.25
    """
    return len(masked) / (len(_count_classes(masked)) * k)


def _count_classes(data: Microdata) -> "NDArray[np.int64]":
    return group_rows(data.encode_quasi_identifiers()).sizes


def count_suppressed(original: Microdata, masked: Microdata) -> Mapping[str, int]:
    """Return how many values of each quasi-identifier became null, apart from dropped records.

    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> data = read_microdata(pa.table({"age": [30, None]}), roles=Roles(quasi_identifiers=["age"]))
    >>> count_suppressed(data, data.replace_columns({"age": pa.array([None, None], pa.int64())}))
    {'age': 1}
    """
    places = find_rows(original, masked)
    return {
        name: int((~_is_null(original, name)[places] & _is_null(masked, name)).sum())
        for name in original.roles.quasi_identifiers
    }


def _is_null(data: Microdata, name: str) -> "NDArray[np.bool_]":
    empty: NDArray[np.bool_] = data.get_column(name).is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    return empty
