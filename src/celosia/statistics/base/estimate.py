"""Estimates from a noisy summary: a value for every cell, and the confidence intervals of the noise.

An estimate is computed from noisy numbers and public parameters alone, so it costs no privacy. Its values are always
finite, whatever the noise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Values: TypeAlias = NDArray[Any]
Interval: TypeAlias = Callable[[float], tuple[Values, Values]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimate:
    """Values in the caller's units, one (or one row of several) for each cell, and their intervals.

    ``interval(level)`` gives the lower and the upper ends: each covers the answer of the exact summary with probability
    ``level`` or more. It is None where there is none.

    >>> estimate = Estimate.within(np.array([112]), lambda level: 3)
    >>> [end.tolist() for end in estimate.interval(0.95)]
    [[109], [115]]
    """

    value: Values
    interval: Interval | None = None

    def ends(self, level: float) -> tuple[Values, Values]:
        """Return the ends of the interval; the whole line where there is none.

        >>> Estimate(value=np.array([3.0])).ends(0.95)
        (array([-inf]), array([inf]))
        """
        if self.interval is None:
            nowhere = np.full(len(self.value), np.inf)
            return -nowhere, nowhere
        return self.interval(level)

    @classmethod
    def around(cls, value: Values, between: Interval) -> "Estimate":
        """Return values with intervals that are widened, if need be, to contain them.

        Very unlikely noise can move a value out of its own confidence set.

        >>> estimate = Estimate.around(np.array([3.0]), lambda level: (np.array([1.0]), np.array([2.0])))
        >>> estimate.interval(0.95)
        (array([1.]), array([3.]))
        """

        def interval(level: float) -> tuple[Values, Values]:
            low, high = between(level)
            return np.minimum(low, value), np.maximum(high, value)

        return cls(value=value, interval=interval)

    @classmethod
    def within(cls, centre: Values, margin: Callable[[float], Any], value: Values | None = None) -> "Estimate":
        """Return values whose intervals reach ``margin(level)`` to both sides of ``centre``, by default the values.

        >>> Estimate.within(np.array([0.5]), lambda level: level).interval(0.5)
        (array([0.]), array([1.]))
        """

        def interval(level: float) -> tuple[Values, Values]:
            reach = np.asarray(margin(level))
            return centre - reach, centre + reach

        return cls(value=centre if value is None else value, interval=interval)
