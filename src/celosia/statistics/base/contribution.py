"""Contribution bounds of one privacy unit, and the sensitivity of a summary that follows from them.

Summaries are sums over rows of integer features. A row's features lie in a *region* around 0, which stands for an
absent row; a unit's part of one cell lies in that region times the rows it may have there, also when its rows were
averaged down. From how far the region reaches, and how far it is across, follows what adding, removing or replacing a
unit can do. Everything is an integer number of steps. The proof is in ``proofs/moments.md``.
"""

from dataclasses import dataclass

from celosia.core.adjacency import AddRemove, Adjacency
from celosia.core.errors import ParameterError
from celosia.core.exact import exact_adjacency, exact_integer, exact_text, safe_repr

_MAX_STEPS_PER_UNIT = 2**51  # averages of a unit's rows are exact in doubles up to here


@dataclass(frozen=True, slots=True, kw_only=True)
class ContributionBounds:
    """Bounds on one unit's contribution: ``rows`` rows in each of ``groups`` out of ``cells`` cells.

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
    """The largest distance of neighbours' summaries, over all cells and coordinates, in steps.

    ``l2_squared`` is the square of the Euclidean distance, which is an integer.

    >>> Sensitivity(l1=2, l2_squared=2)
    Sensitivity(l1=2, l2_squared=2)
    """

    l1: int
    l2_squared: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSensitivity:
    """Distances of one row's features: from 0 (an absent row), and from another row's or 0.

    >>> age = RowSensitivity(l1=120, l2_squared=120**2, replace_l1=240, replace_l2_squared=2 * 120**2)
    >>> age.sensitivity(ContributionBounds())
    Sensitivity(l1=120, l2_squared=14400)
    """

    l1: int
    l2_squared: int
    replace_l1: int
    replace_l2_squared: int

    def sensitivity(self, bounding: ContributionBounds) -> Sensitivity:
        """Return the sensitivity to one unit under the adjacency of the bounds.

        An added or removed unit changes ``groups`` cells by up to ``rows`` rows. A replaced one changes cells that it
        keeps by the width of the row_sensitivity, and may instead leave ``groups`` cells and enter as many others.

        >>> from celosia.core import ReplaceOne
        >>> RowSensitivity(l1=1, l2_squared=1, replace_l1=1, replace_l2_squared=1).sensitivity(
        ...     ContributionBounds(groups=2, rows=3, cells=32, adjacency=ReplaceOne)
        ... )
        Sensitivity(l1=12, l2_squared=36)
        """
        if self.l1 * bounding.rows > _MAX_STEPS_PER_UNIT:
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
