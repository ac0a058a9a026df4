"""The skewness attack: a class whose values are distributed unlike those of the file tells something of its members.

If one in a hundred persons has a disease and half of a class, being found in the class makes it fifty times as likely,
however diverse the class is. t-closeness bounds it: with a distance of at most t, a value of share p in the file has at
most p + t in a class, and its gain is at most 1 + t / p, which for rare values is not little. Li, Li and
Venkatasubramanian 2007.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from celosia.anonymity import Microdata
from celosia.anonymity.risk.classes import count_values
from celosia.audit.releases.homogeneity import choose_sensitive
from celosia.audit.releases.sentences import draw_decline, write_sentences, write_share
from celosia.core.messages.message import Message, Numeral
from celosia.plots import Labels

if TYPE_CHECKING:
    import altair as alt
    from numpy.typing import NDArray

_LARGE_GAIN: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Skewness:
    """How much likelier a sensitive value becomes by knowing the class. See ``measure_skewness``.

    Attributes
    ----------
    column
        The sensitive column.
    gains
        For each record, the largest ratio between the share of a value in its class and in the file.
    distances
        For each record, half the sum of the differences between the two distributions: the t of its class.
    """

    column: str
    gains: "NDArray[np.float64]" = field(repr=False)
    distances: "NDArray[np.float64]" = field(repr=False)

    @property
    def highest(self) -> float:
        """The largest gain of all classes; 1 if no class differs from the file."""
        return float(self.gains.max())

    @property
    def rate(self) -> float:
        """The share of records in a class where some value is at least twice as frequent as in the file."""
        return float((self.gains >= _LARGE_GAIN).mean())

    @property
    def sentences(self) -> tuple[Message, ...]:
        """What the attack shows, without values."""
        return (
            Message(
                "audit.skewed_most",
                column=self.column,
                ratio=Numeral(f"{self.highest:,.{0 if self.highest >= 100 else 1}f}".removesuffix(".0")),
            ),
            Message("audit.skewed_records", share=write_share(self.rate)),
        )

    def describe(self, language: str = "en") -> str:
        """Return the sentences in a language."""
        return write_sentences(self.sentences, language)

    def __str__(self) -> str:
        return self.describe()

    def draw(self, *, language: str = "en") -> "alt.LayerChart":
        """Draw the share of records in classes with at least such a gain."""
        labels = Labels(
            title=Message("audit.skewed_title", column=self.column),
            x=Message("audit.skewed_gain"),
            y=Message("audit.records_share"),
            language=language,
        )
        return draw_decline({Message("audit.records_share"): self.gains}, labels)


def measure_skewness(
    released: Microdata, column: str | None = None, *, values: Iterable[str] | None = None
) -> Skewness:
    """Return how much likelier sensitive values are in a class than in the file.

    Parameters
    ----------
    released
        The file.
    column
        The sensitive column; it can be left out if there is one.
    values
        The values that matter, such as the stigmatizing ones; all by default.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from celosia.anonymity import Roles, read_microdata
    >>> file = pa.table({"age": [1, 1, 2, 2, 2, 2], "test": ["+", "-", "-", "-", "-", "-"]})
    >>> released = read_microdata(file, roles=Roles(quasi_identifiers=["age"], sensitive=["test"]))
    >>> print(measure_skewness(released))
    In some class a value of 'test' is 3 times as frequent as in the file.
    33.3 % of the records are in a class where some value is at least twice as frequent.
    """
    name = choose_sensitive(released, column)
    found = count_values(released, name)
    (coded,) = released.encode([name])
    whole = np.bincount(coded.codes + 1, minlength=len(found.labels)).astype(np.float64)
    if released.roles.nulls == "wildcard":
        whole[0] = 0
    prior = whole / max(whole.sum(), 1.0)
    classes, totals = found.classes, np.where(found.totals > 0, found.totals, 1.0)
    shares = found.counts / totals[classes]
    wanted = None if values is None else {str(value) for value in values}
    matters = np.array([wanted is None or label in wanted for label in found.labels])[found.values]
    # The empty class tells nothing: its gain is 1.
    gains = np.where(found.totals > 0, 0.0, 1.0)
    np.maximum.at(gains, classes[matters], (shares / prior[found.values])[matters])
    above = np.bincount(classes, weights=np.maximum(shares - prior[found.values], 0), minlength=len(gains))
    return Skewness(column=name, gains=gains[found.ids], distances=above.astype(np.float64)[found.ids])
