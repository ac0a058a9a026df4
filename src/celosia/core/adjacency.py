"""When two data sets are neighbours.

A guarantee has a meaning only with a neighbouring relation: what may differ between two inputs. ``AddRemove``
(unbounded): one privacy unit is present or absent. ``ReplaceOne`` (bounded): one privacy unit changes its values, the
number of units is public. ``SameChanges``: as ReplaceOne, but only between histories whose memoised answers change and
return at the same times. Dwork and Roth, *The Algorithmic Foundations of Differential Privacy*, 2014; Kifer and
Machanavajjhala, 2011.
"""

from enum import Enum
from typing import Final, Literal


class Adjacency(Enum):
    """The neighbouring relation of a guarantee.

    >>> Adjacency("add-remove") is AddRemove
    True
    """

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"
    SAME_CHANGES = "same-changes"

    def __repr__(self) -> str:
        return "".join(word.capitalize() for word in self.value.split("-"))


AddRemove: Final[Literal[Adjacency.ADD_REMOVE]] = Adjacency.ADD_REMOVE
"""One unit more or less."""

ReplaceOne: Final[Literal[Adjacency.REPLACE_ONE]] = Adjacency.REPLACE_ONE
"""One unit with other values; the size of the data set is public."""

SameChanges: Final[Literal[Adjacency.SAME_CHANGES]] = Adjacency.SAME_CHANGES
"""One unit with another history of values, whose memoised answers change and return at the same times.

It is a condition on both histories, so such a guarantee does not cover a history that changes at other times. No ledger
or accountant accepts it, and no event contains it. See ``celosia.local.Memoised.lifetime``.
"""
