"""The protocol of a step: one change of a file, described by its parameters, which a plan can write and replay."""

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from celosia.anonymity.microdata.microdata import Microdata

if TYPE_CHECKING:
    from celosia.core.mechanism import Source


@runtime_checkable
class Step(Protocol):
    """Protocol of a method that changes a file.

    Implementations are frozen dataclasses, whose fields are numbers, strings, booleans, and lists or dictionaries of
    these, so that a plan can write them. The order of the rows must not matter.

    >>> from celosia.anonymity import Mondrian
    >>> isinstance(Mondrian(k=5), Step)
    True
    """

    def apply(self, data: Microdata, *, source: "Source | None" = None) -> Microdata:
        """Return the changed file. ``source`` draws what is random; steps that are not random ignore it."""
