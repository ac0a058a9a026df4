"""Noise that several parties add together: each a share, so that the sum has enough.

Masks hide all but the sum, so no party needs to add the noise that its message alone would need. Of n parties, t may
collude and know their own shares, and d may fall silent: each adds discrete Gaussian noise of variance V / (n - t - d),
and the honest survivors' shares add up to V or more. Kairouz, Liu and Steinke 2021; ``proofs/summed-gaussian.md``.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.errors import ParameterError
from celosia.core.events import SummedGaussianEvent
from celosia.core.exact import Exact, exact_integer, exact_positive
from celosia.noise.gaussian import DiscreteGaussian

if TYPE_CHECKING:
    from celosia.core import Source


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class NoiseShares:
    """Shares of Gaussian noise for ``parties``, of which some may collude and some may fall silent.

    Parameters
    ----------
    variance
        The parameter of the noise in the sum that the colluding parties do not know, in squared steps.
    parties, colluders, silent
        How many parties there are, how many of them may tell their noise, and how many others may fall silent.

    Examples
    --------
    >>> shares = NoiseShares(variance=100, parties=10, colluders=2, silent=3)
    >>> shares.parts, shares.share
    (5, Fraction(20, 1))
    >>> shares.make_event(sensitivity_squared=4, dimension=3)
    SummedGaussianEvent(parts=5, variance=100, sensitivity_squared=4, dimension=3)
    """

    variance: Fraction
    parties: int
    colluders: int
    silent: int

    def __init__(self, *, variance: Exact, parties: int, colluders: int = 0, silent: int = 0) -> None:
        checked = {
            "variance": exact_positive(variance, name="variance"),
            "parties": exact_integer(parties, name="parties"),
            "colluders": exact_integer(colluders, name="colluders", least=0),
            "silent": exact_integer(silent, name="silent", least=0),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if self.parts < 1:
            raise ParameterError(
                "federated.no_party_left_for_noise", parties=parties, colluders=colluders, silent=silent
            )

    @property
    def parts(self) -> int:
        """How many unknown shares are certainly in the sum."""
        return self.parties - self.colluders - self.silent

    @property
    def share(self) -> Fraction:
        """The variance of each party's noise."""
        return self.variance / self.parts

    def draw(self, size: int, source: "Source | None" = None) -> NDArray[np.int64]:
        """Return the noise that one party adds to its numbers."""
        return DiscreteGaussian(self.share).sample(size, source)

    def make_event(
        self,
        *,
        sensitivity_squared: Exact,
        dimension: int = 1,
        grid: Exact = 1,
        adjacency: Adjacency = AddRemove,
        unit: str = "row",
    ) -> SummedGaussianEvent:
        """Return what the sum costs, against the server and the colluding parties."""
        needed: dict[str, Any] = {"sensitivity_squared": sensitivity_squared, "dimension": dimension, "grid": grid}
        where: dict[str, Any] = {"adjacency": adjacency, "unit": unit}
        return SummedGaussianEvent(parts=self.parts, variance=self.variance, **needed, **where)
