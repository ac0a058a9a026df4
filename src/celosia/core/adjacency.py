"""When two data sets are neighbours.

A guarantee has a meaning only with a neighbouring relation: what may differ between two inputs. ``AddRemove``
(unbounded): one privacy unit is present or absent. ``ReplaceOne`` (bounded): one privacy unit changes its values, the
number of units is public. ``SameChanges``: as ReplaceOne, but only between histories whose memoised answers change and
return at the same times. Dwork and Roth, *The Algorithmic Foundations of Differential Privacy*, 2014; Kifer and
Machanavajjhala, 2011.
"""

from enum import Enum
from typing import Final, Literal

from celosia.core.errors import GuaranteeMismatchError, ParameterError
from celosia.core.exact import safe_repr


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


def exact_adjacency(value: Adjacency | str, *, histories: bool = False) -> Adjacency:
    """Return the adjacency that ``value`` names: AddRemove, ReplaceOne or its string in a record.

    ``SameChanges`` is accepted only with ``histories=True``, for guarantees: data sets have no such neighbours.
    """
    try:
        found = Adjacency(value)
    except ValueError as error:
        raise ParameterError(f"adjacency must be AddRemove or ReplaceOne, not {safe_repr(value)}.") from error
    if found is SameChanges and not histories:
        raise ParameterError(
            "adjacency must be AddRemove or ReplaceOne: SameChanges is for guarantees of memoised reports only."
        )
    return found


def refuse_same_changes(adjacency: Adjacency, what: str) -> None:
    """Raise ``GuaranteeMismatchError`` if a guarantee holds only between histories that change at the same times."""
    if adjacency is SameChanges:
        raise GuaranteeMismatchError(
            f"{what} cannot be for SameChanges: that holds only between histories whose memoised answers change at the "
            "same times. What holds between any two histories is a protocol's plain_lifetime."
        )
