"""Checks that several protocols share: on numbers of people, and on stored counts that no reports can add up to."""

import math
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer, safe_repr

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HALF = 32


def check_crowd(reports: int, count: float = 0.0, squares: float | None = None) -> None:
    """Refuse numbers of people that cannot be.

    ``count`` of ``reports`` hold a value, the others' counts have squares.
    """
    most = exact_integer(reports, name="reports", least=0)
    if not _is_number(count) or not 0 <= count <= most:
        raise ParameterError(f"count must be a number from 0 to the number of reports, {most}, not {safe_repr(count)}.")
    if squares is not None and (not _is_number(squares) or not 0 <= squares < math.inf):
        raise ParameterError(f"squares must be a number that is at least 0, not {safe_repr(squares)}.")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def exact_total(counts: "NDArray[np.int64]") -> int:
    """Return the sum of counts as a Python integer: that of stored counts could pass 64 bits, and come out right."""
    return (int((counts >> _HALF).sum()) << _HALF) + int((counts & ((1 << _HALF) - 1)).sum())


def are_sums_of_signs(sums: "NDArray[np.int64]", reports: "NDArray[np.int64]") -> bool:
    """Tell whether so many reports, of one sign each, can add up to each row of sums."""
    sizes = np.abs(sums)
    spread = sizes.sum(axis=-1)
    rough = sizes.astype(np.float64).sum(axis=-1)  # the exact sum of forged numbers could pass 64 bits
    return bool(((rough <= 1.01 * reports) & (spread <= reports) & (spread % 2 == reports % 2)).all())
