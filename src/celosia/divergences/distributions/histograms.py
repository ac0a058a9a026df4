"""A data set as its histogram: how often each value of the universe occurs, and how far two data sets are apart.

The l1 distance of histograms, ||D - D'||_1, counts the records to add or remove to turn one data set into the other
(the Rényi thesis, definition 3.1.2): at most 1 for add-remove neighbours, 0 or 2 for replace-one neighbours. Both
functions see true data. They are for analysis and tests: their results are not private.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from celosia.core.errors import InputError, ParameterError


def histogram(dataset: object, universe: Iterable[Hashable] | None = None) -> dict[Any, int]:
    """Count the records of ``dataset``: an array, an Arrow or pandas column, or a sequence of hashable values.

    Rows of a two-dimensional array are records. ``universe`` fixes the keys and their order, and a value outside of it
    is an error; without one the keys are the values that occur. Table 3.1 of the Rényi thesis, eight blood groups:

    >>> blood = ["A+", "A+", "AB-", "B+", "A-", "AB+", "O+", "O+"]
    >>> list(histogram(blood, universe=["A+", "A-", "B+", "B-", "AB+", "AB-", "O+", "O-"]).values())
    [2, 1, 1, 0, 1, 1, 2, 0]
    """
    counts = _counts(dataset)
    if universe is None:
        return counts
    keys = list(universe)
    full = dict.fromkeys(keys, 0)
    if len(full) != len(keys) or not keys:
        raise ParameterError("divergences.universe_empty_or_repeated")
    if not counts.keys() <= full.keys():
        raise InputError("divergences.values_outside_universe")
    return full | counts


def distance(first: object, second: object) -> int:
    """Return ||D - D'||_1: how many records to add or remove to turn one data set into the other.

    >>> distance([1, 2, 2, 3], [2, 3, 1]), distance([1, 2], [1, 5])
    (1, 2)
    """
    one, other = _counts(first), _counts(second)
    return sum(abs(one.get(key, 0) - other.get(key, 0)) for key in one.keys() | other.keys())


def _counts(dataset: object) -> dict[Any, int]:
    if isinstance(dataset, (str, bytes, Mapping)) or not (
        isinstance(dataset, (Sequence, set, frozenset)) or hasattr(dataset, "__array__")
    ):
        raise InputError("divergences.not_a_dataset", type=type(dataset).__name__)
    if np.ma.is_masked(dataset):
        raise InputError("divergences.masked_records")
    array = np.asarray(dataset) if hasattr(dataset, "__array__") else None
    if array is None:
        return _count_hashable(list(cast("Iterable[Any]", dataset)))
    if array.dtype.kind in "OV" and array.ndim in {1, 2}:  # objects, or rows with named fields
        return _count_hashable([tuple(row) for row in array.tolist()] if array.ndim == 2 else array.tolist())
    if array.ndim not in {1, 2}:
        raise InputError("divergences.too_many_dataset_dimensions", dimensions=array.ndim)
    if array.dtype.kind in "fcmM" and (array != array).any():  # noqa: PLR0124 - what differs from itself is NaN or NaT
        raise InputError("divergences.nan_in_dataset")
    values, counts = np.unique(array, axis=0, return_counts=True)
    keys = [tuple(row) for row in values.tolist()] if array.ndim == 2 else values.tolist()
    return dict(zip(keys, counts.tolist(), strict=True))


def _count_hashable(records: list[Any]) -> dict[Any, int]:
    from collections import Counter

    try:
        counts = Counter(records)
    except TypeError as error:
        raise InputError("divergences.records_not_hashable") from error
    # Only the different values are looked at, not the records.
    if any(map(_missing, counts)):
        raise InputError("divergences.missing_values_in_dataset")
    return dict(counts)


def _missing(key: object) -> bool:
    """Return whether a record is or holds None, NaN or pandas' NA, which do not equal themselves."""
    if isinstance(key, (tuple, frozenset)):  # equal to itself already because its parts are the same objects
        return any(map(_missing, key))
    equal: object = key == key  # noqa: PLR0124 - that is the question
    return key is None or not isinstance(equal, (bool, np.bool_)) or not equal
