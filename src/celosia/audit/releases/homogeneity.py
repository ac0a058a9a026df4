"""The homogeneity attack: a class whose records share a sensitive value tells it of all its members.

k-anonymity hides which record is whose; it does not ask whether the records differ. An attacker who knows that a person
is in the class needs no record. l-diversity, with l of at least 2, excludes it. Machanavajjhala, Kifer, Gehrke and
Venkitasubramaniam 2007.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from celosia.anonymity import Microdata
from celosia.anonymity.risk.classes import ClassValues, count_values
from celosia.audit.releases.sentences import draw_decline, write_sentences, write_share
from celosia.core.errors import ParameterError
from celosia.core.exact import safe_repr
from celosia.core.messages.message import Message
from celosia.plots import Labels

if TYPE_CHECKING:
    import altair as alt
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Homogeneity:
    """How sure an attacker is of a sensitive value, class by class. See ``find_homogeneity``.

    Attributes
    ----------
    column
        The sensitive column.
    classes
        The number of classes with a known value.
    homogeneous
        The number of those in which all records agree.
    confidences
        For each record, the part of its class with the most frequent value; 0 if nothing is known of it.
    """

    column: str
    classes: int
    homogeneous: int
    confidences: "NDArray[np.float64]" = field(repr=False)

    @property
    def exposed(self) -> "NDArray[np.bool_]":
        """The records of whose class one value is certain."""
        certain: NDArray[np.bool_] = self.confidences == 1
        return certain

    @property
    def rate(self) -> float:
        """The share of records of whose class one value is certain."""
        return float(self.exposed.mean())

    @property
    def sentences(self) -> tuple[Message, ...]:
        """What the attack shows, without values."""
        return (
            Message("audit.homogeneous", count=self.homogeneous, classes=self.classes, column=self.column),
            Message(
                "audit.homogeneous_records",
                count=int(self.exposed.sum()),
                records=len(self.confidences),
                share=write_share(self.rate),
            ),
        )

    def describe(self, language: str = "en") -> str:
        """Return the sentences in a language."""
        return write_sentences(self.sentences, language)

    def __str__(self) -> str:
        return self.describe()

    def draw(self, *, language: str = "en") -> "alt.LayerChart":
        """Draw the share of records in classes of which an attacker is at least so sure."""
        labels = Labels(
            title=Message("audit.homogeneous_title", column=self.column),
            x=Message("audit.homogeneous_confidence"),
            y=Message("audit.records_share"),
            language=language,
        )
        return draw_decline({Message("audit.records_share"): self.confidences}, labels)


def find_homogeneity(released: Microdata, column: str | None = None) -> Homogeneity:
    """Find the classes whose records share a sensitive value.

    Parameters
    ----------
    released
        The file. An unknown value says nothing if nulls are wildcards: the others of the class decide.
    column
        The sensitive column; it can be left out if there is one.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> file = pa.table({"age": ["20-45"] * 3 + [">70"] * 3, "illness": ["mono"] * 3 + ["cancer", "mono", "covid"]})
    >>> released = read_microdata(file, roles=Roles(quasi_identifiers=["age"], sensitive=["illness"]))
    >>> print(find_homogeneity(released))
    In 1 of the 2 classes all records agree on 'illness'.
    They have 3 of the 6 records (50 %), whose value is learned without finding the record.
    """
    name = choose_sensitive(released, column)
    found = count_values(released, name)
    confidences = measure_confidences(found)
    known = (found.totals > 0) & (found.records > 0)
    return Homogeneity(
        column=name,
        classes=int(known.sum()),
        homogeneous=int((known & (confidences == 1)).sum()),
        confidences=confidences[found.ids],
    )


def choose_sensitive(released: Microdata, column: str | None) -> str:
    """Return a sensitive column of a file: the one that is named, or the only one."""
    names = released.roles.sensitive
    if column is None and len(names) == 1:
        return names[0]
    if column not in names:
        raise ParameterError("audit.not_sensitive", name=safe_repr(column), known=", ".join(map(safe_repr, names)))
    return column


def measure_confidences(found: ClassValues) -> "NDArray[np.float64]":
    """Return for each class the part of its most frequent value; 0 if it has none."""
    totals = found.totals
    most = np.zeros(len(totals))
    np.maximum.at(most, found.classes, found.counts)
    return most / np.where(totals > 0, totals, 1.0)
