"""How much of a summary one privacy unit can change: contribution bounds, and the sensitivity that follows.

Summaries are sums over rows of integer features. A ``RowSensitivity`` bounds how far one row's features lie from 0,
which stands for an absent row, and how far two rows lie apart. A unit's part of one cell is bounded by that times its
rows there, also when its rows are averaged towards 0. From this follows what adding, removing or replacing a unit
changes. Everything is an integer number of steps. The proof is in ``proofs/moments.md``.
"""

from dataclasses import dataclass

from celosia.core.adjacency import AddRemove, Adjacency, exact_adjacency
from celosia.core.errors import ParameterError
from celosia.core.exact import exact_integer, safe_repr
from celosia.core.record import exact_text

_EXACT = 2**51  # what a unit's rows are averaged to is exact in doubles up to here


@dataclass(frozen=True, slots=True, kw_only=True)
class ContributionBounds:
    """What one unit contributes at the most: ``rows`` rows in each of ``groups`` cells of the ``cells`` there are.

    The cells are those of a GROUP BY; without one there is one. Whether there is more than one decides whether a
    replaced unit can leave a cell and enter another.

    >>> ContributionBounds(groups=2, rows=3, cells=32, unit="person")
    ContributionBounds(groups=2, rows=3, adjacency=AddRemove, unit='person', cells=32)
    """

    groups: int = 1
    rows: int = 1
    adjacency: Adjacency = AddRemove
    unit: str = "row"
    cells: int = 1

    def __post_init__(self) -> None:
        for name in ("groups", "rows", "cells"):
            object.__setattr__(self, name, exact_integer(getattr(self, name), name=name))
        object.__setattr__(self, "adjacency", exact_adjacency(self.adjacency))
        object.__setattr__(self, "unit", exact_text(self.unit, name="unit"))
        if self.groups > self.cells:
            raise ParameterError(
                f"groups must be at most the number of cells, {self.cells}, not {safe_repr(self.groups)}."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """How far apart the summaries of neighbours are at the most, over all cells and coordinates, in steps.

    ``l2_squared`` is the square of the Euclidean distance: whole, where the distance is not.

    >>> Sensitivity(l1=2, l2_squared=2)
    Sensitivity(l1=2, l2_squared=2)
    """

    l1: int
    l2_squared: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSensitivity:
    """Where one row's features can lie: how far from 0 (an absent row), and how far from each other or from 0.

    >>> age = RowSensitivity(l1=120, l2_squared=120**2, replace_l1=240, replace_l2_squared=2 * 120**2)
    >>> age.sensitivity(ContributionBounds())
    Sensitivity(l1=120, l2_squared=14400)
    """

    l1: int
    l2_squared: int
    replace_l1: int
    replace_l2_squared: int

    def sensitivity(self, bounding: ContributionBounds) -> Sensitivity:
        """Return what one unit can change under the bounding's adjacency.

        An added or removed unit changes ``groups`` cells by up to ``rows`` rows. A replaced one changes cells that it
        keeps by the width of the row_sensitivity, and may instead leave ``groups`` cells and enter as many others.

        >>> from celosia.core import ReplaceOne
        >>> RowSensitivity(l1=1, l2_squared=1, replace_l1=1, replace_l2_squared=1).sensitivity(
        ...     ContributionBounds(groups=2, rows=3, cells=32, adjacency=ReplaceOne)
        ... )
        Sensitivity(l1=12, l2_squared=36)
        """
        if self.l1 * bounding.rows > _EXACT:
            raise ParameterError(
                f"rows must be smaller than {safe_repr(bounding.rows)}: one unit would contribute more than 2^51 "
                "steps. Allow fewer rows of a unit in a group, or declare a coarser grid."
            )
        l1, l2_squared = self.l1, self.l2_squared
        if bounding.adjacency is not AddRemove:
            l1, l2_squared = self.replace_l1, self.replace_l2_squared
            if bounding.cells > 1:
                l1, l2_squared = max(l1, 2 * self.l1), max(l2_squared, 2 * self.l2_squared)
        return Sensitivity(
            l1=bounding.groups * bounding.rows * l1, l2_squared=bounding.groups * bounding.rows**2 * l2_squared
        )
