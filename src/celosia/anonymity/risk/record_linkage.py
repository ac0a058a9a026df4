"""Record linkage: an intruder with the original values looks for the masked record of each person, and the reverse.

This is the worst intruder, who knows the original values without errors and not who is who in the masked file. Each
masked record is linked to the nearest original one; of several that are equally near, the intruder picks one by lot.
The share of links that are right bounds what an intruder with less knowledge gets by distance; it is no bound on other
ways. Numbers alone are compared by Euclidean distance in units of their standard deviation, numbers and categories
together by Gower's. Domingo-Ferrer and Torra 2001.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity.microdata import Microdata
from celosia.anonymity.microdata.figures import Figure, write_figures, write_number, write_percent
from celosia.anonymity.risk.nearest import TOLERANCE, find_originals, is_numeric, measure_nearest
from celosia.core.errors import SchemaError
from celosia.core.exact import safe_repr
from celosia.core.messages.message import Message

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordLinkage:
    """How many masked records are linked to their originals. ``link_records`` makes one.

    Attributes
    ----------
    columns
        The columns that were compared.
    distances
        The distance of each masked record to the nearest original one.
    ties
        How many original records are that near.
    probabilities
        The probability that the link of each masked record is right: 0, or one over the ties.
    originals
        The number of original records.
    """

    columns: tuple[str, ...]
    distances: "NDArray[np.float64]" = field(repr=False)
    ties: "NDArray[np.float64]" = field(repr=False)
    probabilities: "NDArray[np.float64]" = field(repr=False)
    originals: int

    @property
    def rate(self) -> float:
        """The expected share of links that are right."""
        return float(self.probabilities.mean())

    @property
    def expected(self) -> float:
        """The expected number of links that are right."""
        return float(self.probabilities.sum())

    @property
    def certain(self) -> int:
        """The number of masked records whose only nearest original is the right one."""
        return int((self.probabilities == 1).sum())

    @property
    def by_chance(self) -> float:
        """The share of links that an intruder gets right by lot."""
        return 1 / self.originals

    @property
    def figures(self) -> tuple[Figure, ...]:
        """What the table shows: the name of each figure, and its value."""
        return (
            (Message("anonymity_risk.masked_records"), write_number(len(self.ties))),
            (Message("anonymity_risk.linked"), write_number(self.expected)),
            (Message("anonymity_risk.linked_rate"), write_percent(self.rate)),
            (Message("anonymity_risk.linked_certain"), write_number(self.certain)),
            (Message("anonymity_risk.linked_by_chance"), write_percent(self.by_chance)),
        )

    def describe(self, language: str = "en") -> str:
        """Return the table in a language."""
        return write_figures(self.figures, language)

    def __str__(self) -> str:
        return self.describe()


def link_records(original: Microdata, masked: Microdata, columns: Iterable[str] | None = None) -> RecordLinkage:
    """Link each masked record to the nearest original one; the right one is known by the rows of the files.

    Numbers alone take about n log n steps; with categories, every two different records are compared.

    Parameters
    ----------
    original, masked
        The file before and after masking.
    columns
        The columns that the intruder knows; by default the quasi-identifiers.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> original = read_microdata(pa.table({"age": [20, 30, 60]}), roles=Roles(quasi_identifiers=["age"]))
    >>> masked = original.replace_columns({"age": pa.array([22, 28, 28])})
    >>> link_records(original, masked).probabilities.tolist()
    [1.0, 1.0, 0.0]
    """
    names = _choose_columns(original, columns)
    places = find_originals(original, masked)
    numeric = [name for name in names if is_numeric(original, name)]
    for name in names:
        if (name in numeric) != is_numeric(masked, name):
            one, other = (str(data.get_column(name).type) for data in (original, masked))
            raise SchemaError("anonymity_risk.column_of_other_type", name=safe_repr(name), type=one, other=other)
    categories = [name for name in names if name not in numeric]
    distances, ties, own = measure_nearest(original, masked, places, numeric, categories)
    return RecordLinkage(
        columns=names,
        distances=distances,
        ties=ties,
        probabilities=np.where(own <= distances + TOLERANCE, 1 / ties, 0.0),
        originals=len(original),
    )


def _choose_columns(data: Microdata, columns: Iterable[str] | None) -> tuple[str, ...]:
    names = data.roles.quasi_identifiers if columns is None else tuple(columns)
    if not names:
        raise SchemaError("anonymity.no_quasi_identifier")
    return names
