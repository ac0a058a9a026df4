"""The rows that contribution limits cut off, cell by cell, where no person has more than a public number of rows.

Unlike other measures it is not bounded by the limits, for it is about what is beyond them: over all cells together one
person adds at most ``most`` rows. The proof is in ``proofs/cut-off.md``.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from celosia.core.exact import whole
from celosia.statistics.contribution import Footprint
from celosia.statistics.estimate import Estimate
from celosia.statistics.measures import RowCount

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from celosia.statistics.noise import Noise

__all__ = ["CutRows"]


@dataclass(frozen=True, slots=True)
class CutRows(RowCount):
    """The number of rows cut off; one person has at most ``most`` of them, in all cells together.

    Take its sensitivity for one cell and one row of a unit: the footprint is that of a person.

    >>> from celosia.statistics.contribution import Bounding
    >>> CutRows(most=638).sensitivity(Bounding(unit="person"))
    Sensitivity(l1=638, l2_squared=407044)
    """

    most: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", whole(self.most, name="most"))

    @property
    def footprint(self) -> Footprint:
        """All of a person's rows in one cell, or none."""
        most = self.most
        return Footprint(l1=most, l2_squared=most**2, across_l1=most, across_l2_squared=most**2)

    def answer(self, quantity: str, noisy: "NDArray[np.int64]", noise: "Noise") -> Estimate:
        """Return the rows cut off; there are never fewer than none.

        >>> import numpy as np
        >>> from celosia.statistics.contribution import Bounding
        >>> from celosia.statistics.noise import Noise
        >>> rows = CutRows(most=10)
        >>> noise = Noise.laplace(1, rows.sensitivity(Bounding()), 2, 1, Bounding(cells=2))
        >>> rows.answer("count", np.array([[120], [-7]]), noise).value.tolist()
        [120, 0]
        """
        self._check(quantity)
        found = noisy[:, 0]

        def interval(level: float) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
            reach = noise.margin(level)
            return (found - reach).clip(0), (found + reach).clip(0)

        return Estimate(value=found.clip(0), interval=interval)
