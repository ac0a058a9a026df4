"""When two data sets are neighbours.

A guarantee means nothing until it says what may differ between two inputs. ``AddRemove`` (unbounded): one privacy unit
is present or absent. ``ReplaceOne`` (bounded): one privacy unit changes its values, the number of units is public.
Dwork and Roth, *The Algorithmic Foundations of Differential Privacy*, 2014; Kifer and Machanavajjhala, 2011.
"""

from enum import Enum
from typing import Final, Literal

from celosia.core.errors import ParameterError
from celosia.core.exact import quote

__all__ = ["AddRemove", "Adjacency", "ReplaceOne", "exact_adjacency"]


class Adjacency(Enum):
    """The neighbouring relation of a guarantee.

    >>> Adjacency("add-remove") is AddRemove
    True
    """

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"

    def __repr__(self) -> str:
        return "AddRemove" if self is Adjacency.ADD_REMOVE else "ReplaceOne"


AddRemove: Final[Literal[Adjacency.ADD_REMOVE]] = Adjacency.ADD_REMOVE
"""One unit more or less."""

ReplaceOne: Final[Literal[Adjacency.REPLACE_ONE]] = Adjacency.REPLACE_ONE
"""One unit with other values; the size of the data set is public."""


def exact_adjacency(value: Adjacency | str) -> Adjacency:
    """Return the adjacency that ``value`` names: one of the two, or its text in a record.

    >>> exact_adjacency("replace-one")
    ReplaceOne
    """
    try:
        return Adjacency(value)
    except ValueError as error:
        message = f"adjacency must be AddRemove or ReplaceOne, not {quote(value)}."
        raise ParameterError(message) from error
