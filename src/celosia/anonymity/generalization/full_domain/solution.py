"""What a search found."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """The levels of least loss that a search found.

    ``suppressed`` is the number of records that violate the models there, and ``classes`` that of the classes of the
    others. ``nodes`` is how many nodes of the lattice were looked at. ``optimal`` says that no other node has less
    loss; otherwise none has less than ``lower_bound``.

    >>> Solution(
    ...     levels={"age": 1}, suppressed=0, loss=0.5, classes=4, nodes=3, optimal=False, lower_bound=0.4
    ... ).gap
    0.1
    """

    levels: Mapping[str, int]
    suppressed: int
    loss: float
    classes: int
    nodes: int
    optimal: bool
    lower_bound: float

    @property
    def gap(self) -> float:
        """How much less the least loss may be."""
        return round(self.loss - self.lower_bound, 12)
