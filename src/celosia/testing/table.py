"""Checks on a mechanism that states its output probabilities.

A table lets neighbours be compared without sampling: to the last digit, tails and impossible outputs included. But a
table is only a claim. So the draws of the mechanism are compared with it, which catches a table that differs from the
sampler.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from celosia.audit import Draws, gather
from celosia.core import ConformanceError, Guarantee, Tabulated
from celosia.testing.claims import excess
from celosia.testing.distributions import chi_square

_TOLERANCE = 1e-9


def check_table(mechanism: Tabulated, guarantee: Guarantee, a: Any, b: Any) -> float | None:
    """Return the fraction of a guarantee that the tabulated probabilities of two neighbours use up.

    None if the mechanism has no table for these values. Raises ``ConformanceError`` if the probabilities do not add up
    to one or the guarantee is exceeded.
    """
    sides = mechanism.outputs(a), mechanism.outputs(b)
    if sides[0] is None or sides[1] is None:
        return None
    outputs = _union(list(sides[0]), list(sides[1]))
    here, there = (np.asarray(mechanism.log_masses(value, outputs), dtype=np.float64) for value in (a, b))
    for logs in (here, there):
        total = float(np.exp(logs).sum())
        if not abs(total - 1) <= _TOLERANCE:
            raise ConformanceError("testing.table_does_not_sum_to_one", total=total)
    used = excess(guarantee, here, there)
    if not used <= 1 + _TOLERANCE:
        raise ConformanceError("testing.table_exceeds_guarantee", used=used, guarantee=repr(guarantee))
    return used


def check_table_draws(mechanism: Tabulated, value: Any, draws: Draws, *, failure: float) -> float | None:
    """Return the p-value of a mechanism's draws under its own table, or None where there is no table."""
    stated = mechanism.outputs(value)
    if stated is None:
        return None
    outputs = list(stated)
    masses = np.exp(np.asarray(mechanism.log_masses(value, outputs), dtype=np.float64))
    observed, outside = _counts(_keys(gather(outputs)), _keys(draws))
    p_value = chi_square(observed, masses, outside=outside)
    if p_value < failure:
        raise ConformanceError("testing.table_draws_do_not_fit", draws=len(draws), p_value=p_value)
    return p_value


def _keys(draws: Draws) -> NDArray[np.uint64]:
    # A table may write 0 and 1 for answers that are False and True.
    is_bool = isinstance(draws.raw, np.ndarray) and draws.raw.dtype.kind == "b"
    return gather(draws.raw.astype(np.int64)).keys if is_bool else draws.keys


def _counts(keys: NDArray[np.uint64], drawn: NDArray[np.uint64]) -> tuple[NDArray[np.int64], int]:
    """Return the count of each key, and the number of draws with none of them."""
    order = np.argsort(keys)
    place = order[np.minimum(np.searchsorted(keys, drawn, sorter=order), keys.size - 1)]
    known = keys[place] == drawn
    return np.bincount(place[known], minlength=keys.size).astype(np.int64), int((~known).sum())


def _union(first: list[Any], second: list[Any]) -> list[Any]:
    known = set(gather(first).keys.tolist())
    return first + [item for item, key in zip(second, gather(second).keys.tolist(), strict=True) if key not in known]
