"""Checks that several protocols share: of parameters, numbers of people, and stored counts."""

import math
from typing import TYPE_CHECKING

import numpy as np

from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer, safe_repr

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HALF = 32


def exact_at_most(value: int, most: int, *, name: str, least: int = 1) -> int:
    """Return an integer from ``least`` to ``most``, or raise ``ParameterError``."""
    number = exact_integer(value, name=name, least=least)
    if number > most:
        raise ParameterError("core.above_maximum", name=name, most=most, value=safe_repr(value))
    return number


def check_crowd(reports: int, count: float = 0.0, squares: float | None = None) -> None:
    """Raise ``ParameterError`` for impossible numbers of people.

    ``count`` of ``reports`` people hold a value; ``squares`` is the sum of the squared counts of other values.
    """
    most = exact_integer(reports, name="reports", least=0)
    if not _is_number(count) or not 0 <= count <= most:
        raise ParameterError("local.count_out_of_range", most=most, value=safe_repr(count))
    if squares is not None and (not _is_number(squares) or not 0 <= squares < math.inf):
        raise ParameterError("local.squares_negative", value=safe_repr(squares))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def exact_total(counts: "NDArray[np.int64]") -> int:
    """Return the sum of counts as a Python integer: a sum of stored counts in 64 bits could overflow."""
    return (int((counts >> _HALF).sum()) << _HALF) + int((counts & ((1 << _HALF) - 1)).sum())


def are_sums_of_signs(sums: "NDArray[np.int64]", reports: "NDArray[np.int64]") -> bool:
    """Return whether the given numbers of reports, of one sign each, can add up to each row of sums."""
    sizes = np.abs(sums)
    spread = sizes.sum(axis=-1)
    rough = sizes.astype(np.float64).sum(axis=-1)  # the exact sum of forged numbers could overflow 64 bits
    return bool(((rough <= 1.01 * reports) & (spread <= reports) & (spread % 2 == reports % 2)).all())
