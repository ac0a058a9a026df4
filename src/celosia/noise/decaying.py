"""The base of the distributions that are drawn from cells: one number, or an array of them.

Discrete Laplace, discrete Gaussian and geometric noise differ in their weights alone; drawing is the same.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from celosia.core.exact import exact_integer
from celosia.noise.cells import Cells
from celosia.noise.source import source_or_system

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from celosia.core.mechanism import Source


@dataclass(frozen=True, slots=True, init=False)
class Decaying:
    """The base of ``DiscreteLaplace``, ``DiscreteGaussian`` and ``Geometric``.

    >>> from celosia.noise import DiscreteLaplace
    >>> isinstance(DiscreteLaplace(1), Decaying)
    True
    """

    _cells: Cells = field(repr=False, compare=False)

    def draw(self, source: "Source | None" = None) -> int:
        """Draw one number, of any size.

        >>> from celosia.noise import DiscreteLaplace, Seeded
        >>> DiscreteLaplace(10).draw(Seeded(7))
        53
        """
        return self._cells.draw(source_or_system(source))

    def sample(self, count: int, source: "Source | None" = None) -> "NDArray[np.int64]":
        """Draw ``count`` independent numbers.

        >>> from celosia.noise import DiscreteGaussian
        >>> DiscreteGaussian(100).sample(1000).shape
        (1000,)
        """
        return self._cells.sample(exact_integer(count, name="count", least=0), source_or_system(source))
