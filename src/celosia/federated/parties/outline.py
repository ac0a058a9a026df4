"""What is public of a party's records before anything is paid for: their columns, and perhaps their number.

A preview plans from this alone, so that no record is read before its cost is reserved. The number of records is public
under replace-one only.
"""

from collections.abc import Sized
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outline:
    """The columns of X and y, with their names and types and without a row; and how many rows X has, if it says.

    >>> outline = Outline.of([[0.1, 2.0], [0.4, 3.0]], [1, 2])
    >>> outline.X.shape, outline.y.shape, outline.count
    ((0, 2), (0,), 2)
    """

    X: Any
    y: Any
    count: int | None = None

    @classmethod
    def of(cls, X: Any, y: Any) -> "Outline":  # noqa: N803 - scikit-learn's names
        """Return the outline of records."""
        return cls(X=_drop_rows(X), y=None if y is None else _drop_rows(y), count=_count_rows(X))


def _drop_rows(records: Any) -> Any:
    """Return an array or a frame without its rows; what can neither be cut nor states its shape is returned as it is.

    A list has the shape of its first entry.
    """
    if isinstance(records, list | tuple):
        first = records[0] if records else 0.0
        return np.zeros((0, *([len(first)] if isinstance(first, list | tuple | np.ndarray) else [])))
    if hasattr(records, "iloc"):  # pandas may take the numbers of a slice for labels
        return records.iloc[:0]
    try:
        # Blocks of an Arrow column may each have their own categories.
        return (records.unify_dictionaries() if hasattr(records, "unify_dictionaries") else records)[:0]
    except (TypeError, IndexError, KeyError, ValueError, NotImplementedError):
        return records


def _count_rows(records: Any) -> int | None:
    try:
        return len(records) if isinstance(records, Sized) else None
    except TypeError:  # of an array without dimensions
        return None
